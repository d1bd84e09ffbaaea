// SPDX-License-Identifier: Apache-2.0
//! `udp4o4-encap`, `udp6o4-encap`, `udp4o6-encap`, `udp6o6-encap`: a packet becomes the payload of
//! a UDP datagram. The first number is the IP version of the packet, the second that of the
//! datagram.

use crate::control::{Outer, Udp, WorkerEncap, name};
use crate::decap::Decapsulated;
use buffer::{Buffer, Field, Flags};
use graph::{Build, Cx, Next, Node, NodeIndex, ThreadIndex, Trace, World};
use ip::{Ip, Onward};
use net::{Adjacencies, Fib, IpMeta, L4, TableIndex};
use stats::CombinedLane;
use std::fmt;
use std::sync::Arc;
use sync::Turn;
use wire::{Header, UdpHeader, l4};
use zerocopy::IntoBytes;

/// The lowest source port that is derived from a flow (RFC 7510 3).
const ENTROPY: u16 = 0xc000;

pub struct Encap<I: Ip, O: Ip> {
    udp: Arc<Udp>,
    adjacencies: Arc<Adjacencies>,
    fib: Arc<Fib<I>>,
    onward: Onward<O>,
    counters: CombinedLane,
    l4: Field<L4>,
    decapsulated: Field<Decapsulated>,
    /// Identification of the next datagram of IPv4 (RFC 791 3.2).
    id: u16,
}

#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
pub enum To {
    #[dynamic]
    Node(NodeIndex),
    /// encapsulation is gone
    #[drop]
    Gone,
    /// no route to the encapsulation's destination
    #[drop]
    NoRoute,
    /// no room for another header
    #[drop]
    NoHeadroom,
    /// datagram would be longer than 65535 bytes
    #[drop]
    TooLong,
    /// super-packets can't be put into datagrams
    #[drop]
    Super,
    /// hop limit ran out on the way through datagrams
    #[drop]
    Expired,
}

#[derive(Clone, Copy)]
pub struct EncapTrace {
    id: u32,
    source_port: u16,
}

impl Trace for EncapTrace {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "udp-encap {} src-port {}", self.id, self.source_port)
    }
}

impl<I: Ip, O: Ip> Build for Encap<I, O> {
    fn build(world: &World, thread: ThreadIndex) -> Self {
        let udp: Arc<Udp> = world.get();
        Self {
            counters: udp.counters.lane(thread.at()),
            udp,
            adjacencies: world.get(),
            fib: world.get(),
            onward: Onward::new(world, thread),
            l4: world.field(),
            decapsulated: world.field(),
            id: 0,
        }
    }
}

/// Puts the headers in front of a packet.
#[inline(always)]
fn put(b: &mut Buffer, work: &WorkerEncap, source_port: u16, id: u16) -> Result<(), To> {
    let len = b.packet_len();
    let header = if let Outer::V4(_) = work.outer { 20 } else { 40 };
    // IPv6 doesn't count its own header.
    let longest = if header == 20 { 65_535 - 28 } else { 65_535 - 8 };
    if len > longest {
        return Err(To::TooLong);
    }
    let udp = UdpHeader::new(source_port, work.destination_port, len as u16);
    let Some(to) = b.push_slice(header + UdpHeader::LEN) else { return Err(To::NoHeadroom) };
    to[header..].copy_from_slice(udp.as_bytes());
    match work.outer {
        Outer::V4(mut ip) => {
            ip.total_len.set((len + 28) as u16);
            ip.id.set(id);
            ip.set_checksum();
            to[..header].copy_from_slice(ip.as_bytes());
        }
        Outer::V6(mut ip) => {
            ip.payload_len.set((len + 8) as u16);
            to[..header].copy_from_slice(ip.as_bytes());
            let sum = l4::compute_parts(b.data(), b.segments().skip(1));
            let is_written = sum.is_ok_and(|(at, sum)| b.write_u16(at, sum));
            debug_assert!(is_written, "of the headers that were just written");
        }
    }
    Ok(())
}

impl<I: Ip, O: Ip> Encap<I, O> {
    #[inline(always)]
    fn wrap(&mut self, b: &mut Buffer, id: u32, turn: &Turn<'_>) -> Result<(To, u16), To> {
        let Some(work) = self.udp.work(id, turn) else { return Err(To::Gone) };
        if b.flags.contains(Flags::GSO) {
            return Err(To::Super);
        }
        // From datagram to datagram no router takes one from the hop limit, and packets could
        // circulate for ever.
        if b.find_field(self.decapsulated).is_some() && !I::pass(b) {
            return Err(To::Expired);
        }
        ip::finish_checksum(b);
        // Left only on a packet too short for the checksum, which its receiver drops. The offsets
        // are not those of the datagram.
        b.flags.remove(Flags::CSUM_PARTIAL);
        let source_port = if work.source_port == 0 {
            let table = TableIndex(b.scratch::<IpMeta>().fib);
            // The highest 14 bits. The lowest bits choose the path, so they are the same for all
            // flows on a path.
            ENTROPY | (ip::flow_hash::<I>(b, 0, self.fib.flow(table, turn)) >> 18) as u16
        } else {
            work.source_port
        };
        let bytes = b.packet_len() as u64;
        put(b, work, source_port, self.id)?;
        self.counters.add(id as usize, 1, bytes);
        self.id = self.id.wrapping_add(1);
        b.clear_field(self.l4);
        b.clear_field(self.decapsulated);
        b.flags.remove(Flags::L2_BROADCAST | Flags::L2_MULTICAST | Flags::VLAN | Flags::L4_CSUM_OK);
        // The datagram is one of our own.
        b.flags.insert(Flags::LOCAL | Flags::IP4_CSUM_OK);
        let next = self.onward.go(b, work.route.adj, work.route.table, turn);
        Ok((next.map_or(To::NoRoute, To::Node), source_port))
    }
}

impl<I: Ip, O: Ip> Node for Encap<I, O> {
    const NAME: &'static str = name(I::IS_V6, O::IS_V6);
    const DROP: &'static str = if O::IS_V6 { "ip6-drop" } else { "ip4-drop" };
    type Next = To;
    type Trace = EncapTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        let turn = cx.turn;
        let adj = self.adjacencies.get(b.scratch::<IpMeta>().adj(), turn);
        let Some(id) = adj.map(|adj| adj.table) else { return To::Gone };
        match self.wrap(b, id, turn) {
            Ok((to, source_port)) => {
                cx.trace(b, EncapTrace { id, source_port });
                to
            }
            Err(to) => to,
        }
    }
}
