// SPDX-License-Identifier: Apache-2.0
//! `ip4-source-and-port-range-check-rx` and `-tx`.

use crate::ranges::Ranges;
use buffer::{Buffer, Field, Flags};
use graph::{Build, ChainStep, Configured, Cx, Next, Node, Shared, ThreadIndex, Trace, World};
use net::{L4, PacketColumns, Stage};
use std::fmt;
use std::net::Ipv4Addr;
use std::sync::Arc;
use sync::{Slots, Turn};
use wire::{Address, Header, Ip4, IpHeader, IpProtocol, Ipv4Header};
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// The numbers of the tables that packets of an interface are checked by in one direction; 0 where
/// they aren't checked.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub struct Tables {
    /// For TCP.
    pub tcp: u16,
    /// For UDP.
    pub udp: u16,
}

/// The tables, by number.
pub struct PublishedRanges(Slots<Arc<Ranges>>);

impl Shared for PublishedRanges {
    fn make(world: &World) -> Self {
        Self(Slots::new(world.qsbr.clone()))
    }
}

impl PublishedRanges {
    /// Adds a table.
    pub fn set(&self, number: u16, table: Arc<Ranges>) {
        self.0.set(number.into(), table);
    }
}

/// With `TX`, on the arc of packets that leave.
pub struct PortRange<const TX: bool> {
    tables: Arc<PublishedRanges>,
    l4: Field<L4>,
}

#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
pub enum To {
    #[next_feature]
    Next,
    /// ip4 source and port range check bad packets
    #[drop]
    #[counter("ip4 source and port range check bad packets")]
    CheckFail,
}

#[derive(Clone, Copy)]
pub struct CheckTrace {
    key: Option<LookupKey>,
    to: To,
}

/// The key of a lookup in a table.
#[derive(Clone, Copy)]
struct LookupKey {
    table: u16,
    source: Ipv4Addr,
    /// The destination port; 0, which no range has, if the packet doesn't have it.
    port: u16,
    protocol: IpProtocol,
}

impl Trace for CheckTrace {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(LookupKey { source, port, protocol, .. }) = self.key else {
            return f.write_str("not asked");
        };
        let may = if self.to == To::Next { "may" } else { "may not" };
        write!(f, "source {source} {may} send to {protocol} port {port}")
    }
}

impl<const TX: bool> Build for PortRange<TX> {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self { tables: world.get(), l4: world.field() }
    }
}

/// Lookup key of the IP packet `at` bytes into a buffer's data; `Err` with its next node if nothing
/// is looked up.
#[inline(always)]
fn key<const TX: bool>(
    b: &Buffer,
    at: usize,
    tables: Tables,
    l4: Field<L4>,
) -> Result<LookupKey, To> {
    let ip = Ipv4Header::view_at(b.data(), at).ok_or(To::CheckFail)?;
    let protocol = ip.protocol();
    let table = match protocol {
        IpProtocol::TCP => tables.tcp,
        IpProtocol::UDP => tables.udp,
        _ => 0,
    };
    let source = ip.src();
    let many = source.multicast() || source == Ipv4Addr::BROADCAST;
    if table == 0 || many || TX && b.flags.contains(Flags::LOCAL) {
        return Err(To::Next);
    }
    // RFC 791 3.1: the offset counts from the beginning of the datagram, where the ports are.
    let port = if let Some(l4) = b.find_field(l4) {
        l4.dst_port
    } else if ip.fragment_offset() == 0 {
        b.bytes::<4>(at + ip.header_len())
            .map_or(0, |ports| u16::from_be_bytes([ports[2], ports[3]]))
    } else {
        0
    };
    Ok(LookupKey { table, source, port, protocol })
}

impl<const TX: bool> PortRange<TX> {
    #[inline(always)]
    fn may_pass(&self, LookupKey { table, source, port, .. }: LookupKey, turn: &Turn<'_>) -> bool {
        let ranges = self.tables.0.get(table.into(), turn);
        ranges.is_some_and(|ranges| ranges.allow(source.to_bits(), port, turn))
    }
}

/// Packets that may pass.
impl Stage<Ip4> for PortRange<false> {
    fn pass(
        &mut self,
        packets: &mut PacketColumns<'_, Ip4>,
        step: ChainStep<'_>,
        cx: &Cx<'_, false>,
    ) -> u64 {
        let tables = step.config::<Self>();
        packets.mask(|packets, i| {
            let key = key::<false>(packets.buffer(i), net::IP_IN_STAGE, tables, self.l4);
            key.map_or_else(|to| to == To::Next, |key| self.may_pass(key, cx.turn))
        })
    }
}

impl<const TX: bool> Configured for PortRange<TX> {
    type Config = Tables;
}

impl<const TX: bool> Node for PortRange<TX> {
    const NAME: &'static str = if TX {
        "ip4-source-and-port-range-check-tx"
    } else {
        "ip4-source-and-port-range-check-rx"
    };
    const DROP: &'static str = "ip4-drop";
    type Next = To;
    type Trace = CheckTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        let at = if TX { b.l3_at() } else { 0 };
        let key = key::<TX>(b, at, cx.feature_config::<Self>(b), self.l4);
        let to = match key {
            Err(to) => to,
            Ok(key) if self.may_pass(key, cx.turn) => To::Next,
            Ok(_) => To::CheckFail,
        };
        if TRACED {
            cx.trace(b, CheckTrace { key: key.ok(), to });
        }
        to
    }
}
