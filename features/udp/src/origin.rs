// SPDX-License-Identifier: Apache-2.0
//! Packets that the control thread sends through the graph, routed as other packets are: datagrams
//! with reports for a collector ([`send`]), and packets of any protocol ([`route`]).

use buffer::{Cache, Flags, Owned};
use graph::{ThreadIndex, World};
use net::{AdjInfo, AdjKind, Adjacencies, Fib, Net, TableIndex};
use stats::Simple;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use wire::checksum::Sum;
use wire::{Family, Ip4, Ip6, IpHeader as _, IpProtocol, Ipv4Header, Ipv6Header, U16, UdpHeader};
use zerocopy::IntoBytes as _;

/// The thread that sends.
const MAIN: ThreadIndex = ThreadIndex(0);
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

/// Counters of datagrams, in the stats segment.
#[derive(Clone)]
pub struct Counts {
    sent: Arc<Simple>,
    unreachable: Arc<Simple>,
    no_buffer: Arc<Simple>,
    cell: usize,
}

impl Counts {
    /// The cell of a sender in the counters `PREFIX/sent`, `PREFIX/unreachable` and
    /// `PREFIX/no-buffer`. It begins at zero.
    pub fn new(world: &World, prefix: &str, cell: usize) -> Self {
        let counter = |name| {
            let counter = world.stats.simple(&format!("{prefix}/{name}"));
            counter.start(cell);
            counter
        };
        let [sent, unreachable, no_buffer] = ["sent", "unreachable", "no-buffer"].map(counter);
        Self { sent, unreachable, no_buffer, cell }
    }

    /// Datagrams that were handed to the graph.
    pub fn sent(&self) -> u64 {
        self.sent.sum(self.cell)
    }

    /// Datagrams that weren't sent because no route leads to the destination.
    pub fn unreachable(&self) -> u64 {
        self.unreachable.sum(self.cell)
    }

    /// Datagrams that weren't sent because no packet buffer was free, or because the payload is too
    /// long for a datagram.
    pub fn no_buffer(&self) -> u64 {
        self.no_buffer.sum(self.cell)
    }

    /// Counts datagrams for which no route leads to the destination. On the control thread.
    pub fn add_unreachable(&self, n: usize) {
        self.unreachable.control().add(self.cell, n as u64);
    }
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
pub fn send(world: &World, ends: &Ends, payloads: Vec<Vec<u8>>, counts: &Counts) {
    static ID: AtomicU16 = AtomicU16::new(0);
    if !leads_somewhere(world, ends) {
        return counts.add_unreachable(payloads.len());
    }
    let n = payloads.len();
    let packet = |payload: Vec<u8>| datagram(ends, ID.fetch_add(1, Ordering::Relaxed), &payload);
    let packets: Vec<_> = payloads.into_iter().filter_map(packet).collect();
    counts.no_buffer.control().add(counts.cell, (n - packets.len()) as u64);
    let [sent, no_buffer] = [&counts.sent, &counts.no_buffer].map(|of| of.lane(MAIN.at()));
    let cell = counts.cell;
    // Not `alloc_own`: clients decide how many reports there are, and the buffers that are kept for
    // the router's protocols aren't for them.
    route(world, (ends.to.ip(), ends.table), packets, Cache::alloc, move |is_sent| {
        let count = if is_sent { &sent } else { &no_buffer };
        count.add(cell, 1);
    });
}

/// Sends packets, which begin with their IP header and have right checksums, from the main thread:
/// they are looked up in a table of the IP version of `to`. `alloc` allocates their buffers, and
/// `done` is called for each packet, with false if no buffer was free; both on the main thread.
pub fn route(
    world: &World,
    (to, table): (IpAddr, TableIndex),
    packets: Vec<Vec<u8>>,
    alloc: impl Fn(&mut Cache) -> Option<Owned> + Send + 'static,
    done: impl Fn(bool) + Send + 'static,
) {
    let lookup = world.node(if to.is_ipv6() { "ip6-lookup" } else { "ip4-lookup" });
    world.on_thread(MAIN, move |rt| {
        for packet in packets {
            let buffer = lookup.and_then(|lookup| Some((lookup, alloc(rt.cache())?)));
            let Some((lookup, mut b)) = buffer else {
                done(false);
                continue;
            };
            if !b.append_bytes(&packet, rt.cache()) {
                rt.cache().free(b);
                done(false);
                continue;
            }
            b.mark_l3();
            (b.rx_if, b.tx_if, b.flow_hash) = (0, table.0, 0);
            let checked = Flags::IP4_CSUM_OK.union(Flags::L4_CSUM_OK);
            b.flags.insert(Flags::LOCAL.union(Flags::TABLE).union(checked));
            done(true);
            rt.inject(lookup, b);
        }
    });
}

/// True if a route leads to the destination. A neighbour that doesn't answer isn't detected.
fn leads_somewhere(world: &World, ends: &Ends) -> bool {
    let adj = match ends.to.ip() {
        IpAddr::V4(to) => first_adjacency::<Ip4>(world, ends.table, to),
        IpAddr::V6(to) => first_adjacency::<Ip6>(world, ends.table, to),
    };
    adj.is_some_and(|info| {
        let kind = info.adj.kind;
        matches!(kind, AdjKind::Receive | AdjKind::Glean) || kind.forwards()
    })
}

/// The first of the adjacencies by which packets to a destination leave, behind routes that lead to
/// other tables. `None` without a route.
pub fn first_adjacency<F: Net>(
    world: &World,
    mut table: TableIndex,
    to: <F as Family>::Addr,
) -> Option<AdjInfo> {
    let (fib, adjacencies) = (world.get::<Fib<F>>(), world.get::<Adjacencies>());
    // Routes of tables may lead round in a circle.
    for _ in 0..TABLES {
        let route = fib.covering(table, to)?;
        let info = adjacencies.members(route.sources.first()?.adj).into_iter().next()?;
        match info.adj.kind {
            AdjKind::Lookup => table = TableIndex(info.adj.table),
            _ => return Some(info),
        }
    }
    None
}
