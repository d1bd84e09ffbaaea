// SPDX-License-Identifier: Apache-2.0
//! `ip4-options`: headers with options (RFC 791 3.1, RFC 1812 4.2.2.1 and 5.3.13).

use crate::family::{IpTrace, arc};
use crate::input::enter;
use buffer::Buffer;
use graph::{ArcIndex, Build, Cx, Next, Node, NodeIndex, ThreadIndex, World};
use net::{Addresses, AdjKind, Adjacencies, Fib, Interfaces, IpMeta, TableIndex};
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};
use sync::Turn;
use wire::{Header, Icmp4Type, Ip4, Ip4OptionKind, IpHeader, IpProtocol, Ipv4Header};

pub struct Options {
    fib: Arc<Fib<Ip4>>,
    adjacencies: Arc<Adjacencies>,
    addresses: Arc<Addresses<Ip4>>,
    interfaces: Arc<Interfaces>,
    unicast: ArcIndex,
    multicast: ArcIndex,
}

#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
pub enum To {
    #[next("ip4-lookup")]
    Lookup,
    #[next("ip4-mfib-forward-lookup")]
    Multicast,
    /// ip4 router alert for a protocol that we speak
    #[next("ip4-local", count)]
    RouterAlert,
    #[dynamic]
    Feature(NodeIndex),
    /// ip4 options are malformed
    #[next("ip4-icmp-error", reason)]
    Malformed,
    /// ip4 source routes are not followed (RFC 7126 4.3)
    #[drop]
    SourceRoute,
    /// ip4 length < header length
    #[drop]
    TooShort,
}

impl Build for Options {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self {
            fib: world.get(),
            adjacencies: world.get(),
            addresses: world.get(),
            interfaces: world.get(),
            unicast: arc::<Ip4>(world, "{ip}-unicast"),
            multicast: arc::<Ip4>(world, "{ip}-multicast"),
        }
    }
}

/// Options of one header at most: 40 bytes of no less than 2 each.
const MOST: usize = 20;

/// An option that forwarding writes into.
#[derive(Clone, Copy, Default)]
struct Slot {
    kind: u8,
    /// Offset of its kind byte in the packet.
    at: usize,
    /// Bytes, kind and length included.
    len: usize,
}

/// The options of a packet that are acted on.
#[derive(Default)]
struct ParsedOptions {
    slots: [Slot; MOST],
    used: usize,
    alert: bool,
    source_route: bool,
}

/// Reads all options.
///
/// # Errors
/// Offset of the error from the packet's first byte, for the pointer of an ICMP "parameter
/// problem".
fn read(packet: &[u8]) -> Result<ParsedOptions, u8> {
    let mut found = ParsedOptions::default();
    for option in Ipv4Header::options(packet) {
        let option = option.map_err(|e| (20 + e.offset) as u8)?;
        let (at, len) = (20 + option.offset, option.data.len() + 2);
        match option.kind {
            Ip4OptionKind::RECORD_ROUTE | Ip4OptionKind::TIMESTAMP => {
                let least = if option.kind == Ip4OptionKind::TIMESTAMP { 4 } else { 3 };
                if len < least {
                    return Err(at as u8 + 1);
                }
                // The pointer counts from 1, the kind byte, and can't point at what stands before
                // the data.
                if usize::from(option.data[0]) <= least {
                    return Err(at as u8 + 2);
                }
                let slot = found.slots.get_mut(found.used).ok_or(at as u8)?;
                *slot = Slot { kind: option.kind, at, len };
                found.used += 1;
            }
            Ip4OptionKind::LOOSE_SOURCE_ROUTE | Ip4OptionKind::STRICT_SOURCE_ROUTE => {
                if len < 3 || option.data[0] < 4 {
                    return Err(at as u8 + 1);
                }
                found.source_route = true;
            }
            // Any other value is reserved, and to be ignored (RFC 2113 2.1).
            Ip4OptionKind::ROUTER_ALERT => found.alert = option.data == [0, 0],
            // Unknown ones are passed on as they are (RFC 1812 5.3.13.1).
            _ => {}
        }
    }
    Ok(found)
}

/// Writes our address into a "record route" (RFC 791 3.1), if there is room.
///
/// # Errors
/// Offset of the error from the first byte of the option.
fn record_route(option: &mut [u8], address: [u8; 4]) -> Result<(), u8> {
    let at = usize::from(option[2]) - 1;
    if at >= option.len() {
        // Full: passed on as it is.
        return Ok(());
    }
    option.get_mut(at..at + 4).ok_or(2)?.copy_from_slice(&address);
    option[2] += 4;
    Ok(())
}

/// Writes the time, and our address where it is asked for, into a "timestamp" (RFC 791 3.1).
///
/// # Errors
/// As [`record_route`].
fn timestamp(option: &mut [u8], address: [u8; 4], now: [u8; 4]) -> Result<(), u8> {
    const ONLY_TIMES: u8 = 0;
    const WITH_ADDRESSES: u8 = 1;
    const PRESPECIFIED: u8 = 3;
    let (overflow, flag) = (option[3] >> 4, option[3] & 15);
    let at = usize::from(option[2]) - 1;
    if at >= option.len() {
        // Full: counted. Too many to count is an error.
        let more = overflow + 1;
        if flag != PRESPECIFIED {
            if more > 15 {
                return Err(3);
            }
            option[3] = more << 4 | flag;
        }
        return Ok(());
    }
    let with_address = match flag {
        ONLY_TIMES => false,
        WITH_ADDRESSES => true,
        PRESPECIFIED if option.get(at..at + 4).ok_or(2u8)? == address => true,
        // The next address in the list is another node's.
        PRESPECIFIED => return Ok(()),
        _ => return Err(3),
    };
    let len = if with_address { 8 } else { 4 };
    let room = option.get_mut(at..at + len).ok_or(2)?;
    if with_address {
        room[..4].copy_from_slice(&address);
    }
    room[len - 4..].copy_from_slice(&now);
    option[2] += len as u8;
    Ok(())
}

/// Milliseconds since midnight UT.
fn now() -> [u8; 4] {
    let day =
        SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() % 86_400_000;
    (day as u32).to_be_bytes()
}

impl Options {
    #[inline(always)]
    fn handle<const TRACED: bool>(&self, b: &mut Buffer, cx: &Cx<'_, TRACED>) -> To {
        let Some(&ip) = Ipv4Header::view(b.data()) else { return To::TooShort };
        if ip.header_len() > b.len() {
            return To::TooShort;
        }
        let problem = |b: &mut Buffer, at: u8| {
            b.set_scratch(IpMeta::error(Icmp4Type::PARAMETER_PROBLEM.0, 0, u32::from(at) << 24));
            To::Malformed
        };
        let found = match read(b.data()) {
            Ok(found) => found,
            Err(at) => return problem(b, at),
        };
        if found.source_route {
            return To::SourceRoute;
        }
        // Alerts of a protocol with a listener are delivered (RFC 2113 2.2), others forwarded (RFC
        // 6398 4.1).
        if found.alert && ip.protocol == IpProtocol::IGMP {
            return To::RouterAlert;
        }
        if found.used > 0
            && let Some(address) = self.leaving_by(b, &ip, cx.turn)
            && let Err(at) = write(b.data_mut(), &found, address)
        {
            return problem(b, at);
        }
        let to_group = ip.dst().is_multicast();
        enter(b, to_group, self.unicast, self.multicast, cx)
            .map_or(if to_group { To::Multicast } else { To::Lookup }, To::Feature)
    }

    /// Our address on the interface that the packet will leave by (RFC 1812 5.3.13.5); `None` if it
    /// won't leave.
    fn leaving_by(&self, b: &Buffer, ip: &Ipv4Header, turn: &Turn<'_>) -> Option<Ipv4Addr> {
        let fib = self.interfaces.views(turn).get(b.rx_if as usize).map_or(0, |view| view.fib4);
        let index = self.fib.adj(TableIndex(fib), ip.dst(), turn)?;
        let adj = self.adjacencies.any_member(index, turn)?;
        if !matches!(adj.kind, AdjKind::Rewrite | AdjKind::Incomplete | AdjKind::Glean) {
            return None;
        }
        self.addresses.of(adj.tx_if, turn).first().map(|p| p.addr())
    }
}

/// Writes addresses and times into the options, and recomputes the checksum.
fn write(packet: &mut [u8], found: &ParsedOptions, address: Ipv4Addr) -> Result<(), u8> {
    for slot in &found.slots[..found.used] {
        let Some(option) = packet.get_mut(slot.at..slot.at + slot.len) else {
            return Err(slot.at as u8);
        };
        let written = match slot.kind {
            Ip4OptionKind::RECORD_ROUTE => record_route(option, address.octets()),
            _ => timestamp(option, address.octets(), now()),
        };
        written.map_err(|at| slot.at as u8 + at)?;
    }
    Ipv4Header::set_checksum_at(packet);
    Ok(())
}

impl Node for Options {
    const NAME: &'static str = "ip4-options";
    const DROP: &'static str = "ip4-drop";
    type Next = To;
    type Trace = IpTrace<Ip4>;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        if TRACED {
            cx.trace(b, IpTrace::<Ip4>::of(b));
        }
        self.handle(b, cx)
    }
}
