// SPDX-License-Identifier: Apache-2.0
//! Packets: the fields that translation reads, and their change in place.

use crate::key::{End, Key};
use buffer::{Buffer, Flags};
use net::{IpMeta, L4};
use std::net::Ipv4Addr;
use wire::checksum::{Sum, update, update_udp};
use wire::icmp::code4;
use wire::{Header, Icmp4Type, IpHeader, IpProtocol, Ipv4Header, TcpFlags, UpperLayer};

/// Offsets of the checksums of TCP, UDP and ICMP, and of the identifier of an ICMP query.
const TCP_CHECKSUM: usize = 16;
const UDP_CHECKSUM: usize = 6;
const ICMP_CHECKSUM: usize = 2;
const ICMP_ID: usize = 4;
/// Offset of the flags of TCP.
const TCP_FLAGS: usize = 13;

/// The fields of a packet that translation reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Packet {
    /// Offset of its IP header in the buffer.
    pub at: usize,
    /// Offset of its upper layer in the buffer.
    pub upper: usize,
    /// Where it comes from and where it goes.
    pub from: End,
    /// See there.
    pub to: End,
    /// The upper layer's protocol.
    pub protocol: IpProtocol,
    /// Flags of TCP, or the type of ICMP.
    pub kind: u8,
    /// True for a fragment other than the first: its upper layer's header isn't here.
    pub later: bool,
    /// The packet's remaining hops.
    pub ttl: u8,
}

impl Packet {
    /// Reads the packet whose IP header is `at` bytes into the buffer. `l4` has the ports of
    /// fragments. `None` if there are none, or less than the headers.
    #[inline(always)]
    pub fn read(b: &Buffer, at: usize, l4: Option<L4>) -> Option<Self> {
        let bytes = b.data().get(at..)?;
        let ip = Ipv4Header::view(bytes)?;
        let (source, destination, ttl) = (ip.src(), ip.dst(), ip.ttl());
        let l4 = match l4 {
            Some(l4) => l4,
            None => ports_of(bytes)?,
        };
        let protocol = IpProtocol(l4.protocol);
        if !l4.later && bytes.len() < usize::from(l4.offset) + least(protocol) {
            return None;
        }
        let packet = Self {
            at,
            upper: at + usize::from(l4.offset),
            from: End::new(source, l4.src_port),
            to: End::new(destination, l4.dst_port),
            protocol,
            kind: l4.kind,
            later: l4.later,
            ttl,
        };
        Some(packet.without_other_ports())
    }

    /// Ports of protocols whose ports aren't translated don't count.
    #[inline(always)]
    fn without_other_ports(mut self) -> Self {
        if !crate::key::has_ports(self.protocol) {
            (self.from.port, self.to.port) = (0, 0);
        }
        self
    }

    /// The key of its flow.
    #[inline(always)]
    pub fn key(&self, fib: u32) -> Key {
        Key::new(self.from, self.to, fib, self.protocol)
    }

    /// The key of packets the other way.
    #[inline(always)]
    pub fn reversed(&self, fib: u32) -> Key {
        Key::new(self.to, self.from, fib, self.protocol)
    }

    /// True for messages of ICMP that belong to a query.
    #[inline(always)]
    pub fn is_echo(&self) -> bool {
        self.kind == Icmp4Type::ECHO_REQUEST.0 || self.kind == Icmp4Type::ECHO_REPLY.0
    }

    /// True for errors of ICMP, which quote a packet (RFC 792; RFC 1122 3.2.2).
    #[inline(always)]
    pub fn is_error(&self) -> bool {
        self.protocol == IpProtocol::ICMP && Icmp4Type(self.kind).is_error()
    }

    /// True for a segment that may begin a connection: SYN without ACK.
    #[inline(always)]
    pub fn is_opening(&self) -> bool {
        let flags = TcpFlags(self.kind);
        flags.contains(TcpFlags::SYN) && !flags.contains(TcpFlags::ACK)
    }
}

/// Bytes of the header of an upper layer: a first fragment with less would leave its checksum to a
/// later one (RFC 1858).
#[inline(always)]
const fn least(protocol: IpProtocol) -> usize {
    match protocol {
        IpProtocol::TCP => 20,
        IpProtocol::UDP | IpProtocol::ICMP => 8,
        _ => 0,
    }
}

/// Reads the ports of a packet that didn't pass reassembly; a fragment has none.
#[cold]
pub fn ports_of(bytes: &[u8]) -> Option<L4> {
    let upper = UpperLayer::find4(bytes).ok()?;
    if upper.fragment_offset != 0 {
        return None;
    }
    let body = bytes.get(upper.offset..upper.end.min(bytes.len()))?;
    let mut l4 = L4 { protocol: upper.protocol.0, offset: upper.offset as u16, ..L4::default() };
    let word = |at: usize| body.get(at..at + 2).map(|two| u16::from_be_bytes([two[0], two[1]]));
    match upper.protocol {
        IpProtocol::TCP => {
            (l4.src_port, l4.dst_port) = (word(0)?, word(2)?);
            // A quoted segment may be cut behind its ports.
            l4.kind = body.get(TCP_FLAGS).copied().unwrap_or(0);
        }
        IpProtocol::UDP => (l4.src_port, l4.dst_port) = (word(0)?, word(2)?),
        IpProtocol::ICMP => {
            l4.kind = *body.first()?;
            if l4.kind == Icmp4Type::ECHO_REQUEST.0 || l4.kind == Icmp4Type::ECHO_REPLY.0 {
                let id = word(ICMP_ID)?;
                (l4.src_port, l4.dst_port) = (id, id);
            }
        }
        _ => {}
    }
    Some(l4)
}

/// The bytes of an address pair.
fn addresses(from: Ipv4Addr, to: Ipv4Addr) -> Sum {
    Sum::ZERO.with_u32(from.to_bits()).with_u32(to.to_bits())
}

/// Changes a checksum that covers a pseudo-header without the rest: it isn't complemented.
fn update_partial(field: u16, removed: Sum, added: Sum) -> u16 {
    !update(!field, removed, added)
}

fn put(bytes: &mut [u8], at: usize, value: u16) {
    if let Some(two) = bytes.get_mut(at..at + 2) {
        two.copy_from_slice(&value.to_be_bytes());
    }
}

fn get(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..at + 2).map(|two| u16::from_be_bytes([two[0], two[1]]))
}

/// Changes the addresses and ports of the IP packet at `bytes[0]`, with its checksums (RFC 1624).
/// `upper` is the offset of the upper layer; `None` leaves it alone. With `partial` the upper
/// layer's checksum covers the pseudo-header only so far.
///
/// A quoted packet may end anywhere: what isn't there isn't changed.
pub fn change(
    bytes: &mut [u8],
    (upper, partial): (Option<usize>, bool),
    protocol: IpProtocol,
    (old, new): ((End, End), (End, End)),
) {
    let (removed, added) = (addresses(old.0.addr, old.1.addr), addresses(new.0.addr, new.1.addr));
    if let Some(ip) = Ipv4Header::view_mut(bytes) {
        ip.src = new.0.addr.octets();
        ip.dst = new.1.addr.octets();
        ip.checksum.set(update(ip.checksum.get(), removed, added));
    }
    let Some(at) = upper else { return };
    let Some(upper) = bytes.get_mut(at..) else { return };
    let ports = |(from, to): (End, End)| Sum::ZERO.with_u16(from.port).with_u16(to.port);
    match protocol {
        IpProtocol::TCP | IpProtocol::UDP => {
            put(upper, 0, new.0.port);
            put(upper, 2, new.1.port);
            let is_udp = protocol == IpProtocol::UDP;
            let field = if is_udp { UDP_CHECKSUM } else { TCP_CHECKSUM };
            let Some(checksum) = get(upper, field) else { return };
            let with_ports = (removed + ports(old), added + ports(new));
            let changed = match (partial, is_udp) {
                (true, _) => update_partial(checksum, removed, added),
                (_, true) => update_udp(checksum, with_ports.0, with_ports.1),
                _ => update(checksum, with_ports.0, with_ports.1),
            };
            put(upper, field, changed);
        }
        IpProtocol::ICMP => {
            // The identifier alone is covered: ICMP has no pseudo-header.
            put(upper, ICMP_ID, new.0.port);
            let Some(checksum) = get(upper, ICMP_CHECKSUM) else { return };
            let id = |end: End| Sum::ZERO.with_u16(end.port);
            put(upper, ICMP_CHECKSUM, update(checksum, id(old.0), id(new.0)));
        }
        _ => {}
    }
}

/// Gives a packet other ends.
#[inline(always)]
pub fn rewrite(b: &mut Buffer, packet: &Packet, new: (End, End)) {
    let partial =
        b.flags.contains(Flags::CSUM_PARTIAL) && usize::from(b.offload.csum_start) == packet.upper;
    let upper = (!packet.later).then_some(packet.upper - packet.at);
    let old = (packet.from, packet.to);
    if let Some(bytes) = b.data_mut().get_mut(packet.at..) {
        change(bytes, (upper, partial), packet.protocol, (old, new));
    }
}

/// Has `ip4-icmp-error` report to the sender that the packet's time to live is used up.
#[inline(always)]
pub fn report_time_exceeded(b: &mut Buffer) {
    b.set_scratch(IpMeta::error(Icmp4Type::TIME_EXCEEDED.0, code4::TTL_IN_TRANSIT, 0));
}
