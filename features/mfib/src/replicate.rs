// SPDX-License-Identifier: Apache-2.0
//! `ip4-replicate`, `ip6-replicate`: one packet for each output of an entry.

use crate::MfibMeta;
use buffer::{Buffer, Flags, Owned};
use graph::{Build, Copies, Cx, Next, Node, NodeIndex, ThreadIndex, Trace, World, copy_to_each};
use ip::{Ip, finish_checksum};
use net::mfib::{Mroute, MrouteOutput, Mroutes};
use net::{AdjIndex, AdjKind, Adjacencies, IpMeta};
use stats::CombinedLane;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use wire::{Header, IpHeader};

pub struct Replicate<F: Ip> {
    mroutes: Arc<Mroutes>,
    adjacencies: Arc<Adjacencies>,
    counters: CombinedLane,
    /// By adjacency.
    sent: CombinedLane,
    copies: Copies,
    version: PhantomData<F>,
}

#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
#[allow(
    dead_code,
    reason = "packets go by the adjacency's own node; the picture of the graph shows these"
)]
pub enum To {
    #[dynamic]
    Node(NodeIndex),
    #[next("{ip}-local")]
    Local,
    /// {ip} multicast copies made
    #[next("{ip}-rewrite-mcast", count)]
    Copied,
    /// {ip} multicast copies that there was no buffer for
    #[next("{ip}-drop", count)]
    #[counter("Buffer Allocation Failure")]
    NoBuffer,
    /// {ip} multicast waits until copies of others have left
    #[next("{ip}-replicate", count)]
    Again,
    /// To several outputs, now or when copies of others have left.
    #[keep]
    Copy,
    /// {ip} multicast that nobody listens to
    #[drop]
    NoOutput,
    /// {ip} multicast of a link is not forwarded ({RFC 5771 4|RFC 4291 2.7})
    #[drop]
    Confined,
    /// {ip} multicast entry is gone
    #[drop]
    Gone,
}

#[derive(Clone, Copy)]
pub struct ReplicateTrace {
    route: u32,
    outputs: usize,
    copies: usize,
}

impl Trace for ReplicateTrace {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "entry {} outputs {} copies {}", self.route, self.outputs, self.copies)
    }
}

impl<F: Ip> Build for Replicate<F> {
    fn build(world: &World, thread: ThreadIndex) -> Self {
        let mroutes: Arc<Mroutes> = world.get();
        let counters = mroutes.counters.lane(thread.at());
        let adjacencies: Arc<Adjacencies> = world.get();
        let sent = adjacencies.counters.lane(thread.at());
        Self {
            mroutes,
            adjacencies,
            counters,
            sent,
            copies: Copies::default(),
            version: PhantomData,
        }
    }
}

/// Which outputs a packet may take.
#[derive(Clone, Copy)]
struct OutputFilter {
    rx_if: u32,
    is_own: bool,
    is_confined: bool,
}

impl OutputFilter {
    #[inline(always)]
    fn of<F: Ip>(b: &Buffer) -> Self {
        let is_own = b.flags.contains(Flags::LOCAL);
        let stays = F::Header::view(b.data()).is_none_or(|ip| F::stays_on_link(ip.dst()));
        Self { rx_if: b.rx_if, is_own, is_confined: !is_own && (stays || F::is_confined(b)) }
    }

    #[inline(always)]
    fn has(self, output: &MrouteOutput) -> bool {
        output.is_local() || self.is_own || !self.is_confined && output.tx_if != self.rx_if
    }
}

impl<F: Ip> Replicate<F> {
    /// Where a packet goes for an adjacency, which it takes along.
    #[inline(always)]
    fn lead<const TRACED: bool>(
        &self,
        b: &mut Buffer,
        adj: AdjIndex,
        fib: u32,
        cx: &Cx<'_, TRACED>,
    ) -> To {
        b.set_scratch(IpMeta::of(adj, fib));
        let Some(adj) = self.adjacencies.get(adj, cx.turn) else { return To::Gone };
        // To a neighbour alone, as a unicast packet is sent: its rewrite neither counts, nor takes
        // what came to a group of layer 2.
        if matches!(adj.kind, AdjKind::Rewrite | AdjKind::Incomplete) {
            b.flags.remove(Flags::L2_BROADCAST | Flags::L2_MULTICAST);
            self.sent.add(adj.counter as usize, 1, b.packet_len() as u64);
        }
        To::Node(adj.next)
    }

    /// Sends copies to all outputs that a packet may take. A packet that its head holds is itself
    /// the last of them.
    fn copy(
        &self,
        mut b: Owned,
        (route, fib): (&Mroute, u32),
        reach: OutputFilter,
        cx: &mut Cx<'_, false>,
    ) {
        // Bytes behind the head can't be changed any more. Segmentation makes the checksums of its
        // segments.
        if !b.flags.contains(Flags::GSO) {
            finish_checksum(&mut b);
        }
        let outputs = route.outputs.iter().filter(|output| reach.has(output));
        let copied = copy_to_each(b, outputs, To::Gone, cx, |b, output, cx| {
            self.lead(b, output.adj, fib, cx)
        });
        cx.count(To::Copied, copied.copies as u64);
        cx.count(To::NoBuffer, copied.missing as u64);
    }
}

impl<F: Ip> Node for Replicate<F> {
    const NAME: &'static str = "{ip}-replicate";
    const DROP: &'static str = "{ip}-drop";
    const V6: Option<bool> = Some(F::IS_V6);
    const HOT: bool = true;
    type Next = To;
    type Trace = ReplicateTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        if self.copies.are_enough() {
            return To::Copy;
        }
        let found = b.scratch::<MfibMeta>();
        let Some(route) = self.mroutes.get(found.route(), cx.turn) else { return To::Gone };
        self.counters.add(found.route as usize, 1, b.packet_len() as u64);
        let reach = OutputFilter::of::<F>(b);
        let mut outputs = route.outputs.iter().filter(|output| reach.has(output));
        let (first, more) = (outputs.next(), outputs.count());
        if TRACED {
            let copies = usize::from(first.is_some()) + more;
            cx.trace(
                b,
                ReplicateTrace { route: found.route, outputs: route.outputs.len(), copies },
            );
        }
        match (first, more) {
            (None, _) if reach.is_confined && !route.outputs.is_empty() => To::Confined,
            (None, _) => To::NoOutput,
            (Some(only), 0) => self.lead(b, only.adj, found.fib, cx),
            (Some(_), more) => {
                self.copies.plan(more + 1);
                To::Copy
            }
        }
    }

    fn keep(&mut self, b: Owned, cx: &mut Cx<'_, false>) {
        if !self.copies.take() {
            return cx.emit(To::Again, b);
        }
        let found = b.scratch::<MfibMeta>();
        let Some(route) = self.mroutes.get(found.route(), cx.turn) else {
            return cx.emit(To::Gone, b);
        };
        let reach = OutputFilter::of::<F>(&b);
        self.copy(b, (route, found.fib), reach, cx);
    }

    #[inline(always)]
    fn end<const TRACED: bool>(&mut self, _: &mut Cx<'_, TRACED>) {
        self.copies.end();
    }
}
