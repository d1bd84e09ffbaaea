// SPDX-License-Identifier: Apache-2.0
//! From a feature's node straight to the transmit node: for nodes that send many packets.

use crate::exits::{Exits, Outward};
use crate::family::Ip;
use crate::lookup::Onward;
use crate::rewrite::NextHop;
use buffer::{Buffer, Flags};
use graph::{Cx, NodeIndex, ThreadIndex, World};
use net::{AdjIndex, IpMeta, PathMtus, SuperPaths, TableIndex};
use std::sync::Arc;
use sync::Turn;

/// As [`Onward`]; an ordinary packet over an ordinary adjacency gets its layer-2 header here and
/// goes straight to the transmit node.
pub struct Departure<F: Ip> {
    onward: Onward<F>,
    path_mtus: Arc<PathMtus<F>>,
    super_paths: Arc<SuperPaths>,
    outward: Outward,
    exits: Exits,
    /// The adjacency of the packet before, which mostly is the next one's too.
    last: Option<(AdjIndex, Option<Way>)>,
    /// Packets that have left over it and aren't counted yet, and their bytes: for the interface
    /// with layer-2 headers, and without them for adjacency, interface and routes.
    left: (u64, u64),
    sent: (u64, u64),
}

/// The way of ordinary packets over an adjacency. It holds within one frame.
#[derive(Clone, Copy)]
pub struct Way {
    adj: AdjIndex,
    next_hop: NextHop,
    tx: NodeIndex,
}

impl Way {
    /// Bytes of the longest packet that fits.
    #[inline(always)]
    pub fn most(&self) -> usize {
        self.next_hop.most()
    }

    /// Bytes of the layer-2 header.
    #[inline(always)]
    pub fn header_len(&self) -> usize {
        self.next_hop.header_len()
    }

    /// First and last 8 bytes of the layer-2 header, of 8 to 16 bytes.
    #[inline(always)]
    pub fn ends(&self) -> [[u8; 8]; 2] {
        self.next_hop.ends()
    }

    /// Marks a packet that begins with the layer-2 header, and whose hop limit is the one that it
    /// leaves with, as sent, and returns the transmit node.
    #[inline(always)]
    pub fn send(&self, b: &mut Buffer) -> NodeIndex {
        b.tx_if = self.next_hop.tx_if;
        self.tx
    }
}

impl<F: Ip> Departure<F> {
    /// Creates it for a node of this thread.
    pub fn new(world: &World, thread: ThreadIndex) -> Self {
        Self {
            onward: Onward::new(world, thread),
            path_mtus: world.get(),
            super_paths: world.get(),
            outward: Outward::new::<F>(world, thread),
            exits: Exits::new(),
            last: None,
            left: (0, 0),
            sent: (0, 0),
        }
    }

    /// The way over an adjacency, if it is an ordinary one that packets of all flows take. It is
    /// looked up once for packets in a row that take it, whatever tunnels they are in.
    #[inline(always)]
    pub fn way<const TRACED: bool>(&mut self, at: AdjIndex, cx: &Cx<'_, TRACED>) -> Option<Way> {
        if self.last.is_none_or(|(last, _)| last != at) {
            self.settle(cx.turn);
            self.last = Some((at, self.look(at, cx)));
        }
        self.last.and_then(|(_, way)| way)
    }

    fn look<const TRACED: bool>(&mut self, at: AdjIndex, cx: &Cx<'_, TRACED>) -> Option<Way> {
        if !self.super_paths.on() {
            return None;
        }
        let adj = self.onward.0.adjacencies.get(at, cx.turn)?;
        let next_hop = NextHop::to_station(adj, self.path_mtus.known(cx.turn).least())?;
        let views = self.onward.0.interfaces.views(cx.turn);
        let exit = self.outward.find(&mut self.exits, (adj.tx_if, adj.output), views, cx)?;
        let is_plain = exit.to.tags.count() == 0;
        is_plain.then_some(Way { adj: at, next_hop, tx: exit.to.tx })
    }

    /// Counts packets that [`Way::send`] has sent: their number, and their bytes without layer-2
    /// header.
    #[inline(always)]
    pub fn count<const TRACED: bool>(&mut self, way: &Way, sent: (u64, u64), cx: &Cx<'_, TRACED>) {
        if self.last.is_some_and(|(last, _)| last == way.adj) {
            self.sent.0 += sent.0;
            self.sent.1 += sent.1;
        } else {
            self.count_now(way, sent, cx.turn);
        }
    }

    fn count_now(&self, way: &Way, (packets, bytes): (u64, u64), turn: &Turn<'_>) {
        let lookup = &self.onward.0;
        let Some(adj) = lookup.adjacencies.get(way.adj, turn).filter(|_| packets != 0) else {
            return;
        };
        lookup.counters.add(adj.counter as usize, packets, bytes);
        lookup.count_via(adj, packets, bytes, turn);
        let frames = bytes + packets * way.header_len() as u64;
        self.outward.lanes.tx.unicast(way.next_hop.tx_if as usize, packets, frames);
    }

    /// As [`Onward::go_with`]. Traced packets take the graph, and so do all if super-paths are off.
    #[inline(always)]
    pub fn go_with<const TRACED: bool>(
        &mut self,
        b: &mut Buffer,
        adj: AdjIndex,
        table: TableIndex,
        flow: Option<u32>,
        cx: &Cx<'_, TRACED>,
    ) -> Option<NodeIndex> {
        let next = self.onward.find(b, adj, table, flow, cx.turn)?.next;
        if TRACED || b.flags.contains(Flags::TRACED) {
            return Some(next);
        }
        let at = b.scratch::<IpMeta>().adj();
        if let Some(way) = self.way(at, cx)
            && way.next_hop.take::<F>(b).is_some()
        {
            self.left.0 += 1;
            self.left.1 += b.packet_len() as u64;
            return Some(way.tx);
        }
        Some(next)
    }

    /// Counts what has left. To be called at the end of each frame, as interfaces and routes may
    /// change after it.
    #[inline(always)]
    pub fn end(&mut self, turn: &Turn<'_>) {
        self.settle(turn);
        self.exits.settle(&self.outward.lanes);
    }

    /// Counts the packets that have left over the last adjacency, and forgets it.
    #[inline(always)]
    fn settle(&mut self, turn: &Turn<'_>) {
        let (packets, bytes) = std::mem::take(&mut self.left);
        let sent = std::mem::take(&mut self.sent);
        let Some((_, Some(way))) = self.last.take() else { return };
        self.count_now(&way, sent, turn);
        if packets != 0 {
            self.outward.lanes.tx.unicast(way.next_hop.tx_if as usize, packets, bytes);
        }
    }
}
