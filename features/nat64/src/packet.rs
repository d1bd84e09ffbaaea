// SPDX-License-Identifier: Apache-2.0
//! Packets of both versions: the fields that translation reads.

use crate::key::{End, has_ports};
use net::L4;
use std::net::{Ipv4Addr, Ipv6Addr};
use wire::{
    ExtHeaders, Header, Icmp4Type, Icmp6Type, Ip6Fragment, IpHeader, IpProtocol, Ipv4Header,
    Ipv6Header, TcpFlags,
};

/// Bytes of the headers without options and extensions.
pub const HEADER4: usize = 20;
/// See there.
pub const HEADER6: usize = 40;
/// Bytes of IPv6's fragment header.
pub const FRAGMENT: usize = 8;
/// Offset of the flags of TCP.
const TCP_FLAGS: usize = 13;
/// Offset of the identifier of an ICMP query.
pub const ICMP_ID: usize = 4;
/// Options of IPv4 that name the routers on the way: loose and strict source route.
const SOURCE_ROUTES: [u8; 2] = [131, 137];

/// The part of a datagram that a fragment is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Part {
    /// Identification of the datagram.
    pub id: u32,
    /// Offset in the datagram, a multiple of 8.
    pub offset: u16,
    /// More fragments follow.
    pub more: bool,
}

/// The fields of a packet from `from` to `to`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Packet<A> {
    /// Source.
    pub from: A,
    /// Destination.
    pub to: A,
    /// Offset of the upper layer from the IP header.
    pub upper: usize,
    /// Offset of the packet's end, as its header has it.
    pub end: usize,
    /// The upper layer's protocol; ICMP for ICMPv6 too.
    pub protocol: IpProtocol,
    /// Ports; for an ICMP query, both are its identifier; 0 for protocols without.
    pub ports: (u16, u16),
    /// Flags of TCP, or the type of ICMP.
    pub kind: u8,
    /// Set in a fragment.
    pub part: Option<Part>,
    /// DSCP and ECN.
    pub class: u8,
    /// Remaining hops.
    pub hops: u8,
    /// IPv4: routers must not fragment the packet.
    pub whole: bool,
    /// IPv4: an option names routers that the packet has to pass yet.
    pub routed: bool,
}

/// The reason why a packet can't be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// Bytes are missing, or contradict each other.
    Malformed,
    /// A header that can't be translated.
    Protocol,
}

fn word(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..at + 2).map(|two| u16::from_be_bytes([two[0], two[1]]))
}

/// Bytes of the header of an upper layer that a packet has to have.
#[inline(always)]
const fn least(protocol: IpProtocol) -> usize {
    match protocol {
        IpProtocol::TCP => 20,
        IpProtocol::UDP | IpProtocol::ICMP => 8,
        _ => 0,
    }
}

impl<A: Copy> Packet<A> {
    /// True for a fragment other than the first: the upper layer's header isn't here.
    #[inline(always)]
    pub fn is_later(&self) -> bool {
        self.part.is_some_and(|part| part.offset != 0)
    }

    /// True for a segment that may begin a connection: SYN without ACK.
    #[inline(always)]
    pub fn is_opening(&self) -> bool {
        let flags = TcpFlags(self.kind);
        flags.contains(TcpFlags::SYN) && !flags.contains(TcpFlags::ACK)
    }

    /// The flags of a TCP segment.
    #[inline(always)]
    pub fn flags(&self) -> Option<TcpFlags> {
        let flags = if self.is_later() { 0 } else { self.kind };
        (self.protocol == IpProtocol::TCP).then_some(TcpFlags(flags))
    }

    /// Takes the ports from the packet itself, or from `l4`, which has those of fragments.
    /// `quoted`: what it quotes may end behind the ports.
    #[inline(always)]
    fn find_ports(
        &mut self,
        bytes: &[u8],
        l4: Option<L4>,
        (quoted, echo): (bool, fn(u8) -> bool),
    ) -> Result<(), Fault> {
        if let Some(l4) = l4 {
            self.kind = l4.kind;
            if has_ports(self.protocol) {
                self.ports = (l4.src_port, l4.dst_port);
            }
            let there = self.is_later() || bytes.len() >= self.upper + least(self.protocol);
            return if there { Ok(()) } else { Err(Fault::Malformed) };
        }
        if !has_ports(self.protocol) {
            return Ok(());
        }
        let upper = bytes.get(self.upper..self.end.min(bytes.len())).ok_or(Fault::Malformed)?;
        if self.is_later() || !quoted && upper.len() < least(self.protocol) {
            return Err(Fault::Malformed);
        }
        if self.protocol == IpProtocol::ICMP {
            self.kind = *upper.first().ok_or(Fault::Malformed)?;
            if echo(self.kind) {
                let id = word(upper, ICMP_ID).ok_or(Fault::Malformed)?;
                self.ports = (id, id);
            }
            return Ok(());
        }
        let ports = word(upper, 0).zip(word(upper, 2));
        self.ports = ports.ok_or(Fault::Malformed)?;
        if self.protocol == IpProtocol::TCP {
            self.kind = upper.get(TCP_FLAGS).copied().unwrap_or(0);
        }
        Ok(())
    }
}

/// True for a query of ICMP or its answer.
#[inline(always)]
pub fn is_echo4(kind: u8) -> bool {
    kind == Icmp4Type::ECHO_REQUEST.0 || kind == Icmp4Type::ECHO_REPLY.0
}

/// The same for ICMPv6.
#[inline(always)]
pub fn is_echo6(kind: u8) -> bool {
    kind == Icmp6Type::ECHO_REQUEST.0 || kind == Icmp6Type::ECHO_REPLY.0
}

impl Packet<Ipv4Addr> {
    /// Reads the packet that begins here. `l4` has the ports of fragments.
    ///
    /// # Errors
    /// It can't be read.
    #[inline(always)]
    pub fn read(bytes: &[u8], l4: Option<L4>, quoted: bool) -> Result<Self, Fault> {
        let ip = Ipv4Header::view(bytes).ok_or(Fault::Malformed)?;
        let (upper, end) = (ip.header_len(), ip.packet_len());
        if ip.version() != 4 || upper < HEADER4 || end < upper || bytes.len() < upper {
            return Err(Fault::Malformed);
        }
        let part = Part {
            id: ip.id.get().into(),
            offset: ip.fragment_offset() as u16,
            more: ip.more_fragments(),
        };
        let mut packet = Self {
            from: ip.src(),
            to: ip.dst(),
            upper,
            end,
            protocol: ip.protocol,
            ports: (0, 0),
            kind: 0,
            part: ip.is_fragment().then_some(part),
            class: ip.tos,
            hops: ip.ttl,
            whole: ip.dont_fragment(),
            routed: upper > HEADER4 && is_routed(bytes),
        };
        // The numbers of the other version's own protocols.
        if matches!(packet.protocol, IpProtocol::ICMP6 | IpProtocol::IGMP)
            || packet.protocol.is_ip6_extension()
        {
            return Err(Fault::Protocol);
        }
        packet.find_ports(bytes, l4, (quoted, is_echo4))?;
        Ok(packet)
    }

    /// Its source with the port.
    #[inline(always)]
    pub fn source(&self) -> End {
        End::new(self.from, self.ports.0)
    }

    /// Its destination with the port.
    #[inline(always)]
    pub fn destination(&self) -> End {
        End::new(self.to, self.ports.1)
    }

    /// True for errors of ICMP, which quote a packet.
    #[inline(always)]
    pub fn is_error(&self) -> bool {
        self.protocol == IpProtocol::ICMP && Icmp4Type(self.kind).is_error()
    }
}

/// True if routers have to be passed yet (RFC 7915 4.1).
#[cold]
fn is_routed(bytes: &[u8]) -> bool {
    let mut options = Ipv4Header::options(bytes).flatten();
    options.any(|option| {
        // The pointer counts from the kind byte, from 1 on.
        let left = option.data.first().is_some_and(|at| usize::from(*at) <= option.data.len() + 2);
        SOURCE_ROUTES.contains(&option.kind) && left
    })
}

impl Packet<Ipv6Addr> {
    /// Reads the packet that begins here. `l4` has the ports of fragments.
    ///
    /// # Errors
    /// It can't be read.
    #[inline(always)]
    pub fn read(bytes: &[u8], l4: Option<L4>, quoted: bool) -> Result<Self, Fault> {
        let ip = Ipv6Header::view(bytes).ok_or(Fault::Malformed)?;
        if ip.version() != 6 {
            return Err(Fault::Malformed);
        }
        let (protocol, upper, part) = match ip.next_header {
            next if !next.is_ip6_extension() => (next, HEADER6, None),
            _ => behind_extensions(bytes)?,
        };
        let mut packet = Self {
            from: ip.src(),
            to: ip.dst(),
            upper,
            end: ip.packet_len(),
            protocol: l4.map_or(protocol, |l4| IpProtocol(l4.protocol)),
            ports: (0, 0),
            kind: 0,
            part,
            class: ip.traffic_class(),
            hops: ip.hop_limit,
            whole: true,
            routed: false,
        };
        if packet.end < upper || bytes.len() < upper {
            return Err(Fault::Malformed);
        }
        packet.protocol = match packet.protocol {
            IpProtocol::ICMP6 => IpProtocol::ICMP,
            IpProtocol::ICMP | IpProtocol::IGMP | IpProtocol::NO_NEXT => {
                return Err(Fault::Protocol);
            }
            other if other.is_ip6_extension() => return Err(Fault::Protocol),
            other => other,
        };
        packet.find_ports(bytes, l4, (quoted, is_echo6))?;
        Ok(packet)
    }

    /// True for errors of ICMPv6, which quote a packet.
    #[inline(always)]
    pub fn is_error(&self) -> bool {
        self.protocol == IpProtocol::ICMP && Icmp6Type(self.kind).is_error()
    }
}

/// The upper layer behind extension headers: those in front of it are left out, but not
/// one that names routers on the way or signs the header (RFC 7915 5.1).
#[cold]
fn behind_extensions(bytes: &[u8]) -> Result<(IpProtocol, usize, Option<Part>), Fault> {
    let mut walk = ExtHeaders::new(bytes);
    let mut part = None;
    for header in walk.by_ref() {
        let header = header.map_err(|_| Fault::Malformed)?;
        match header.kind {
            IpProtocol::ROUTING if header.bytes[3] != 0 => return Err(Fault::Protocol),
            IpProtocol::FRAGMENT => {
                let of = Ip6Fragment::view(header.bytes).ok_or(Fault::Malformed)?;
                part = Some(Part {
                    id: of.id.get(),
                    offset: of.offset() as u16,
                    more: of.more_fragments(),
                });
            }
            IpProtocol::AH | IpProtocol::MOBILITY | IpProtocol::HIP | IpProtocol::SHIM6 => {
                return Err(Fault::Protocol);
            }
            _ => {}
        }
    }
    Ok((walk.protocol(), walk.offset(), part))
}
