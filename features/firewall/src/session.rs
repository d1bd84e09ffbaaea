// SPDX-License-Identifier: Apache-2.0
//! Sessions: flows that a policy has accepted.
//!
//! A flow has one session, on the thread that owns it ([`net::FlowOwners`]), whichever of its
//! directions a packet goes in. Its key has the two ends in their order as numbers, and the two
//! zones: the direction of a packet is the side that its source has.

use crate::limits::SourceAt;
use crate::packet::{Icmp, Packet};
use crate::settings::Timer;
use crate::tcp::{Connection, Phase};
use acl::packet::{PacketUpper, Part, Tuple};
use tables::{Mixer, SessionKey};
use wire::{Address, IpProtocol};

/// The key of a flow's session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Key<A> {
    /// The two ends, the lower first.
    pub ends: [A; 2],
    /// Their ports; identifiers of ICMP queries.
    pub ports: [u16; 2],
    /// The two zones, the lower first.
    pub zones: [u16; 2],
    /// The upper layer's protocol.
    pub protocol: u8,
    /// Type of the request of ICMP queries.
    pub kind: u8,
}

impl<A: Address> SessionKey for Key<A> {
    #[inline(always)]
    fn mix(&self, mixer: Mixer) -> Mixer {
        let [a, b] = self.ends.map(Address::to_octets);
        let mixer = mixer.add_bytes(a.as_ref()).add_bytes(b.as_ref());
        let ports = u64::from(self.ports[0]) << 16 | u64::from(self.ports[1]);
        let zones = u64::from(self.zones[0]) << 16 | u64::from(self.zones[1]);
        mixer.add(ports << 32 | zones).add(u64::from(self.protocol) << 8 | u64::from(self.kind))
    }
}

impl<A: Address> Key<A> {
    /// Of no flow.
    pub const NOTHING: Self =
        Self { ends: [A::ZERO; 2], ports: [0; 2], zones: [0; 2], protocol: 0, kind: 0 };

    /// The key of a packet that goes between two zones, and the side of its source. `None` for ICMP
    /// messages that neither ask nor answer.
    #[inline(always)]
    pub fn of(packet: &Packet<A>, zones: [u16; 2]) -> Option<(Self, usize)> {
        let upper = packet.tuple.upper;
        let (ports, kind) = match packet.icmp {
            None => ([upper.source, upper.destination], 0),
            Some(Icmp::Query { .. }) => {
                let kind = crate::packet::request_of(upper.protocol, upper.source as u8);
                ([packet.id; 2], kind)
            }
            Some(Icmp::Error | Icmp::Other) => return None,
        };
        let (source, destination) = (packet.tuple.source, packet.tuple.destination);
        let [from, to] = ports;
        let side = usize::from((source, from) > (destination, to));
        let (ends, ports) = match side {
            0 => ([source, destination], [from, to]),
            _ => ([destination, source], [to, from]),
        };
        let zones = [zones[0].min(zones[1]), zones[0].max(zones[1])];
        Some((Self { ends, ports, zones, protocol: upper.protocol, kind }, side))
    }

    /// The end of a side, with its port.
    pub fn end(&self, side: usize) -> (A, u16) {
        (self.ends[side & 1], self.ports[side & 1])
    }
}

/// Fields of the packet that made a session, beside its key: it is judged again by them.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct First {
    /// From which zone to which.
    pub zones: [u16; 2],
    /// The interfaces by which it came and left.
    pub interfaces: [u32; 2],
    /// Bytes.
    pub length: u16,
    /// Differentiated services code point.
    pub dscp: u8,
    /// Flags of TCP.
    pub flags: u8,
    /// Code of ICMP.
    pub code: u8,
}

/// A session.
#[derive(Clone, Copy, Default, Debug)]
pub struct Session {
    /// The generation of the rules that it was last judged by.
    pub generation: u32,
    /// The timer that it has.
    pub timer: Timer,
    /// The side of the end that began it.
    pub origin: u8,
    /// True once a packet of the other end was seen.
    pub answered: bool,
    /// True for TCP, whose state `tcp` has.
    pub is_tcp: bool,
    /// Its creation and its end are logged.
    pub log: bool,
    /// State of TCP.
    pub tcp: Connection,
    /// Packets and bytes by side of their source.
    pub counts: [(u32, u64); 2],
    /// Tick of its creation.
    pub since: u32,
    /// The place of the host that began it among those with limits.
    pub source: SourceAt,
    /// Its share of the table.
    pub share: tables::Share,
    /// A mark of the turn in which packets of it went past the fast path to the node; 0 for none.
    pub aside: u32,
    /// The packet that made it.
    pub first: First,
    /// Number of the counters of the rule that accepted it.
    pub rule: u32,
}

impl Session {
    /// The timer that it ought to have.
    #[inline(always)]
    pub fn wanted(&self, protocol: u8) -> Timer {
        if self.is_tcp {
            return match self.tcp.phase() {
                Phase::SynSent | Phase::SynReceived => Timer::TcpOpening,
                Phase::Established => Timer::TcpEstablished,
                Phase::FinWait | Phase::CloseWait | Phase::LastAck => Timer::TcpClosing,
                Phase::TimeWait => Timer::TcpTimeWait,
                Phase::Closed => Timer::TcpClosed,
            };
        }
        match (IpProtocol(protocol), self.answered) {
            (IpProtocol::UDP, false) => Timer::Udp,
            (IpProtocol::UDP, true) => Timer::UdpAnswered,
            (IpProtocol::ICMP | IpProtocol::ICMP6, _) => Timer::Icmp,
            (_, false) => Timer::Other,
            (_, true) => Timer::OtherAnswered,
        }
    }

    /// Its state for people.
    pub fn word(&self) -> &'static str {
        match (self.is_tcp, self.answered) {
            (true, _) => self.tcp.phase().name(),
            (false, false) => "unanswered",
            (false, true) => "answered",
        }
    }

    /// The packet that made it, as rules see it.
    pub fn first_packet<A: Address>(&self, key: &Key<A>) -> Packet<A> {
        let side = usize::from(self.origin & 1);
        let (source, from) = key.end(side);
        let (destination, to) = key.end(1 - side);
        let is_icmp = matches!(IpProtocol(key.protocol), IpProtocol::ICMP | IpProtocol::ICMP6);
        let (from, to) =
            if is_icmp { (key.kind.into(), self.first.code.into()) } else { (from, to) };
        let upper = PacketUpper {
            protocol: key.protocol,
            part: Part::Whole,
            flags: self.first.flags,
            source: from,
            destination: to,
        };
        Packet {
            tuple: Tuple { source, destination, upper },
            id: key.ports[0],
            icmp: is_icmp.then_some(Icmp::Query { asks: true }),
            dscp: self.first.dscp,
            length: self.first.length,
            upper_at: 0,
            later: false,
            more: false,
        }
    }
}
