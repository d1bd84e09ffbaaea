// SPDX-License-Identifier: Apache-2.0
//! Datagrams that the router itself sends: reports of the control thread to a collector. They are
//! routed as other packets are, in the table of their sender.

use buffer::Flags;
use graph::{ThreadIndex, World};
use ip::Ip;
use net::{AdjKind, Adjacencies, Fib, TableIndex};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, AtomicU64, Ordering};
use wire::checksum::Sum;
use wire::{Family, IpHeader as _, IpProtocol, Ipv4Header, Ipv6Header, U16, UdpHeader};
use zerocopy::IntoBytes as _;

/// Bytes of a UDP header.
const UDP: usize = 8;
/// Tables that a route leads through at most.
const TABLES: usize = 8;

/// The sender and the receiver of datagrams. Both addresses are of one IP version.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ends {
    /// The source: an address of this router, and a port.
    pub from: SocketAddr,
    /// The destination.
    pub to: SocketAddr,
    /// Index of the table in which the destination is looked up.
    pub table: TableIndex,
    /// Datagrams of IPv4 have a checksum; those of IPv6 always have one (RFC 8200 8.1).
    pub checksum: bool,
}

/// Counters of datagrams.
#[derive(Default, Debug)]
pub struct Counts {
    /// Handed to the graph.
    pub sent: AtomicU64,
    /// Not sent: no route leads to the destination.
    pub unreachable: AtomicU64,
    /// Not sent: no packet buffer was left, or the payload is too long for a datagram.
    pub no_buffer: AtomicU64,
}

/// A datagram from its IP header on; `None` if the payload is too long for it, or the ends are of
/// different versions. `id` is the identification of IPv4, so that routers may fragment it.
pub fn datagram(ends: &Ends, id: u16, payload: &[u8]) -> Option<Vec<u8>> {
    let len = u16::try_from(payload.len() + UDP).ok()?;
    let mut udp = UdpHeader::new(ends.from.port(), ends.to.port(), payload.len() as u16);
    let (head, pseudo) = match (ends.from.ip(), ends.to.ip()) {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            len.checked_add(20)?;
            let mut header = Ipv4Header::new(from, to, IpProtocol::UDP, len);
            header.id = U16::new(id);
            header.set_checksum();
            (
                header.as_bytes().to_vec(),
                ends.checksum.then(|| header.pseudo_sum(IpProtocol::UDP, len.into())),
            )
        }
        (IpAddr::V6(from), IpAddr::V6(to)) => {
            let header = Ipv6Header::new(from, to, IpProtocol::UDP, len);
            (header.as_bytes().to_vec(), Some(header.pseudo_sum(IpProtocol::UDP, len.into())))
        }
        _ => return None,
    };
    if let Some(pseudo) = pseudo {
        let sum = pseudo + Sum::of(udp.as_bytes()) + Sum::of(payload);
        // RFC 768: a checksum of zero is sent as all ones.
        udp.checksum = U16::new(Some(sum.finish()).filter(|sum| *sum != 0).unwrap_or(u16::MAX));
    }
    Some([&head, udp.as_bytes(), payload].concat())
}

/// Sends datagrams with these payloads, from the main thread. A datagram that can't be sent is
/// counted; the caller never waits.
pub fn send(world: &World, ends: &Ends, payloads: Vec<Vec<u8>>, counts: &Arc<Counts>) {
    static ID: AtomicU16 = AtomicU16::new(0);
    let is_v6 = ends.to.is_ipv6();
    let lookup = world.node(if is_v6 { "ip6-lookup" } else { "ip4-lookup" });
    let Some(lookup) = lookup.filter(|_| leads_somewhere(world, ends)) else {
        counts.unreachable.fetch_add(payloads.len() as u64, Ordering::Relaxed);
        return;
    };
    let packet = |payload: Vec<u8>| datagram(ends, ID.fetch_add(1, Ordering::Relaxed), &payload);
    let packets: Vec<_> = payloads.into_iter().map(packet).collect();
    let (table, counts) = (ends.table.0, counts.clone());
    world.on_thread(ThreadIndex(0), move |rt| {
        for packet in packets {
            let buffer = packet.and_then(|bytes| {
                let mut b = rt.cache().alloc_own()?;
                if !b.append_bytes(&bytes, rt.cache()) {
                    rt.cache().free(b);
                    return None;
                }
                Some(b)
            });
            let Some(mut b) = buffer else {
                counts.no_buffer.fetch_add(1, Ordering::Relaxed);
                continue;
            };
            b.mark_l3();
            (b.rx_if, b.tx_if, b.flow_hash) = (0, table, 0);
            let marks = Flags::LOCAL.union(Flags::TABLE);
            b.flags.insert(marks.union(Flags::IP4_CSUM_OK).union(Flags::L4_CSUM_OK));
            counts.sent.fetch_add(1, Ordering::Relaxed);
            rt.inject(lookup, b);
        }
    });
}

/// True if a route leads to the destination. A neighbour that doesn't answer isn't known of.
fn leads_somewhere(world: &World, ends: &Ends) -> bool {
    match ends.to.ip() {
        IpAddr::V4(to) => leads::<wire::Ip4>(world, ends.table, to),
        IpAddr::V6(to) => leads::<wire::Ip6>(world, ends.table, to),
    }
}

fn leads<F: Ip>(world: &World, mut table: TableIndex, to: <F as Family>::Addr) -> bool {
    let (fib, adjacencies) = (world.get::<Fib<F>>(), world.get::<Adjacencies>());
    for _ in 0..TABLES {
        let route = fib.covering(table, to);
        let Some(adj) = route.and_then(|route| Some(route.sources.first()?.adj)) else {
            return false;
        };
        let Some(first) = adjacencies.members(adj).into_iter().next() else { return false };
        match first.adj.kind {
            AdjKind::Lookup => table = TableIndex(first.adj.table),
            AdjKind::Receive | AdjKind::Glean => return true,
            kind => return kind.forwards(),
        }
    }
    false
}
