// SPDX-License-Identifier: Apache-2.0
//! The parts of packets that rules and sessions are about.

use crate::tcp::Segment;
use acl::packet::{PacketUpper, Part, Tuple};
use net::L4;
use wire::{
    Address, Family, Header, Icmp4Type, Icmp6Type, IcmpHeader, IpHeader, IpProtocol, TcpFlags,
    TcpHeader, TcpOptionKind, UdpHeader, UpperLayer,
};

/// The reason why a packet can't be judged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Malformed {
    /// Its headers are cut or contradict each other.
    Header,
    /// A later fragment whose first fragment isn't known.
    Fragment,
}

/// The kind of an ICMP message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Icmp {
    /// It asks, or answers: it has an identifier.
    Query {
        /// False for an answer.
        asks: bool,
    },
    /// It is about a packet that it quotes.
    Error,
    /// It neither asks nor answers.
    Other,
}

impl Icmp {
    /// Of the type of a message.
    pub fn of(protocol: IpProtocol, kind: u8) -> Self {
        // RFC 792, RFC 950: echo, timestamp, information, address mask.
        // RFC 4443 4, RFC 4620: echo, node information.
        let (asks, answers, is_error): (&[u8], &[u8], bool) = if protocol == IpProtocol::ICMP {
            (&[8, 13, 15, 17], &[0, 14, 16, 18], Icmp4Type(kind).is_error())
        } else {
            (&[128, 139], &[129, 140], Icmp6Type(kind).is_error())
        };
        match kind {
            kind if asks.contains(&kind) => Self::Query { asks: true },
            kind if answers.contains(&kind) => Self::Query { asks: false },
            _ if is_error => Self::Error,
            _ => Self::Other,
        }
    }
}

/// The type of the request that a message answers, for both to have one session.
pub fn request_of(protocol: u8, kind: u8) -> u8 {
    match (IpProtocol(protocol), kind) {
        (IpProtocol::ICMP, 0) => 8,
        (IpProtocol::ICMP, 14 | 16 | 18) | (IpProtocol::ICMP6, 129 | 140) => kind - 1,
        _ => kind,
    }
}

/// A packet.
#[derive(Clone, Copy, Debug)]
pub struct Packet<A> {
    /// Addresses, protocol and ports, which compiled rules are held against.
    pub tuple: Tuple<A>,
    /// Identifier of an ICMP query.
    pub id: u16,
    /// Kind of the message, if it is ICMP.
    pub icmp: Option<Icmp>,
    /// Its differentiated services code point.
    pub dscp: u8,
    /// Bytes of the packet, as its header has it.
    pub length: u16,
    /// Bytes from its IP header to the upper layer.
    pub upper_at: usize,
    /// A fragment other than the first.
    pub later: bool,
    /// A fragment with others behind it.
    pub more: bool,
}

impl<A: Address> Packet<A> {
    /// No packet.
    pub const NOTHING: Self = Self {
        tuple: Tuple { source: A::ZERO, destination: A::ZERO, upper: PacketUpper::NONE },
        id: 0,
        icmp: None,
        dscp: 0,
        length: 0,
        upper_at: 0,
        later: false,
        more: false,
    };
}

impl<A> Packet<A> {
    /// Its protocol.
    #[inline(always)]
    pub fn protocol(&self) -> IpProtocol {
        IpProtocol(self.tuple.upper.protocol)
    }
}

/// Reads the packet whose IP header is at `bytes[0]`. `l4` is what shallow reassembly knows of it.
///
/// # Errors
/// Headers that contradict each other or aren't there.
#[inline(always)]
pub fn read<F: Family>(bytes: &[u8], l4: Option<L4>) -> Result<Packet<F::Addr>, Malformed> {
    let ip = F::Header::view(bytes).ok_or(Malformed::Header)?;
    let upper = UpperLayer::of::<F>(bytes).map_err(|_| Malformed::Header)?;
    let protocol = upper.protocol;
    let mut packet = Packet {
        tuple: Tuple {
            source: ip.src(),
            destination: ip.dst(),
            upper: PacketUpper { protocol: protocol.0, part: Part::Whole, ..PacketUpper::NONE },
        },
        id: 0,
        icmp: None,
        dscp: ip.dscp(),
        length: u16::try_from(ip.packet_len()).unwrap_or(u16::MAX),
        upper_at: upper.offset,
        later: upper.fragment_offset != 0,
        more: upper.more_fragments,
    };
    if packet.later {
        later(&mut packet, l4.ok_or(Malformed::Fragment)?);
    } else {
        let rest = bytes.get(upper.offset..upper.end.min(bytes.len())).unwrap_or_default();
        first(&mut packet, protocol, rest).ok_or(Malformed::Header)?;
    }
    Ok(packet)
}

/// Reads the upper layer from its own bytes; `None` if they are cut.
#[inline(always)]
fn first<A>(packet: &mut Packet<A>, protocol: IpProtocol, rest: &[u8]) -> Option<()> {
    let upper = &mut packet.tuple.upper;
    match protocol {
        IpProtocol::TCP => {
            let tcp = TcpHeader::view(rest)?;
            // RFC 9293 3.1: five words at least. A first fragment has all of it (RFC 1858 3.2.1).
            if tcp.header_len() < TcpHeader::LEN || rest.len() < tcp.header_len() {
                return None;
            }
            (upper.source, upper.destination) = (tcp.src_port.get(), tcp.dst_port.get());
            upper.flags = tcp.flags.0;
        }
        IpProtocol::UDP => {
            let udp = UdpHeader::view(rest)?;
            (upper.source, upper.destination) = (udp.src_port.get(), udp.dst_port.get());
        }
        IpProtocol::ICMP | IpProtocol::ICMP6 => {
            let icmp = IcmpHeader::view(rest)?;
            (upper.source, upper.destination) = (icmp.kind.into(), icmp.code.into());
            packet.id = icmp.id.get();
            packet.icmp = Some(Icmp::of(protocol, icmp.kind));
        }
        _ => {}
    }
    Some(())
}

/// Takes the upper layer of a later fragment from what is known of the first one.
#[cold]
fn later<A>(packet: &mut Packet<A>, l4: L4) {
    let upper = &mut packet.tuple.upper;
    upper.protocol = l4.protocol;
    match IpProtocol(l4.protocol) {
        protocol @ (IpProtocol::ICMP | IpProtocol::ICMP6) => {
            upper.source = l4.kind.into();
            packet.id = l4.src_port;
            packet.icmp = Some(Icmp::of(protocol, l4.kind));
        }
        IpProtocol::TCP | IpProtocol::UDP => {
            (upper.source, upper.destination) = (l4.src_port, l4.dst_port);
            upper.flags = if l4.protocol == IpProtocol::TCP.0 { l4.kind } else { 0 };
        }
        _ => {}
    }
}

/// The TCP segment of a packet of which [`read`] has found the upper layer.
#[inline(always)]
pub fn segment<A>(packet: &Packet<A>, bytes: &[u8]) -> Option<Segment> {
    let rest = bytes.get(packet.upper_at..)?;
    let tcp = TcpHeader::view(rest)?;
    let payload = usize::from(packet.length).checked_sub(packet.upper_at + tcp.header_len())?;
    let shift = if tcp.flags.contains(TcpFlags::SYN) { shift(rest) } else { None };
    Some(Segment {
        seq: tcp.seq.get(),
        ack: tcp.ack.get(),
        window: tcp.window.get(),
        flags: tcp.flags,
        len: payload as u32,
        shift,
        cut: packet.more,
    })
}

/// The shift of windows that a SYN offers (RFC 7323 2.2).
fn shift(segment: &[u8]) -> Option<u8> {
    let options = TcpHeader::options(segment).map_while(Result::ok);
    let mut shifts = options.filter(|option| option.kind == TcpOptionKind::WINDOW_SCALE);
    shifts.next()?.data.first().copied()
}

/// The begin of a packet that an ICMP error quotes: addresses, protocol and ports.
#[derive(Clone, Copy, Debug)]
pub struct Quoted<A> {
    /// Addresses, protocol and ports, which compiled rules are held against.
    pub packet: Packet<A>,
    /// TCP's sequence number.
    pub seq: Option<u32>,
}

/// Reads what the ICMP error at `bytes[packet.upper_at]` quotes. Eight bytes of the upper layer are
/// enough (RFC 792).
pub fn quoted<F: Family>(packet: &Packet<F::Addr>, bytes: &[u8]) -> Option<Quoted<F::Addr>> {
    let quoted = bytes.get(packet.upper_at + size_of::<IcmpHeader>()..)?;
    let ip = F::Header::view(quoted)?;
    if ip.version() != F::VERSION {
        return None;
    }
    let upper = UpperLayer::of::<F>(quoted).ok()?;
    if upper.fragment_offset != 0 {
        return None;
    }
    let rest: &[u8; 8] = quoted.get(upper.offset..)?.first_chunk()?;
    let protocol = upper.protocol;
    let mut inner = Packet {
        tuple: Tuple {
            source: ip.src(),
            destination: ip.dst(),
            upper: PacketUpper { protocol: protocol.0, part: Part::Whole, ..PacketUpper::NONE },
        },
        id: 0,
        icmp: None,
        dscp: ip.dscp(),
        length: 0,
        upper_at: upper.offset,
        later: false,
        more: false,
    };
    let mut seq = None;
    match protocol {
        IpProtocol::TCP | IpProtocol::UDP => {
            let to = &mut inner.tuple.upper;
            to.source = u16::from_be_bytes([rest[0], rest[1]]);
            to.destination = u16::from_be_bytes([rest[2], rest[3]]);
            let number = u32::from_be_bytes([rest[4], rest[5], rest[6], rest[7]]);
            seq = (protocol == IpProtocol::TCP).then_some(number);
        }
        _ => first(&mut inner, protocol, rest)?,
    }
    Some(Quoted { packet: inner, seq })
}
