// SPDX-License-Identifier: Apache-2.0
//! `ip4-replicate`, `ip6-replicate`: one packet for each output of an entry.

use crate::Found;
use buffer::{Buffer, CLONE_HEAD, Flags};
use graph::{Build, Cx, Next, Node, NodeIndex, ThreadIndex, Trace, World};
use ip::{Ip, finish_checksum};
use net::mfib::{Mroute, MrouteOutput, Mroutes};
use net::{AdjIndex, Adjacencies, IpMeta};
use stats::CombinedLane;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use wire::{Header, IpHeader};

/// Copies that a frame makes at most before those leave that were made, but for the packet that reaches it.
const AT_ONCE: usize = 1024;

pub struct Replicate<F: Ip> {
    mroutes: Arc<Mroutes>,
    adjacencies: Arc<Adjacencies>,
    counters: CombinedLane,
    /// Copies of this frame.
    made: usize,
    version: PhantomData<F>,
}

#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
#[allow(dead_code, reason = "packets go by the adjacency's own node; the picture of the graph shows these")]
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
    NoBuffer,
    /// {ip} multicast waits until copies of others have left
    #[next("{ip}-replicate", count)]
    Again,
    /// The packet itself, once its copies are on their way.
    #[free]
    Done,
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
        Self { mroutes, adjacencies: world.get(), counters, made: 0, version: PhantomData }
    }
}

/// Which outputs a packet may take.
#[derive(Clone, Copy)]
struct Reach {
    rx_if: u32,
    is_own: bool,
    is_confined: bool,
}

impl Reach {
    #[inline(always)]
    fn of<F: Ip>(b: &Buffer) -> Self {
        let is_own = b.flags.has(Flags::LOCAL);
        let stays = F::Header::view(b.data()).is_none_or(|ip| F::stays_on_link(ip.dst()));
        Self { rx_if: b.rx_if, is_own, is_confined: !is_own && (stays || F::is_confined(b)) }
    }

    #[inline(always)]
    fn has(self, output: &MrouteOutput) -> bool {
        output.is_local() || self.is_own || !self.is_confined && output.tx_if != self.rx_if
    }
}

/// Where a packet goes for an adjacency, which it takes along.
#[inline(always)]
fn lead<const TRACED: bool>(
    adjacencies: &Adjacencies,
    b: &mut Buffer,
    adj: AdjIndex,
    fib: u32,
    cx: &Cx<'_, TRACED>,
) -> To {
    b.set_scratch(IpMeta::of(adj, fib));
    adjacencies.get(adj, cx.turn).map_or(To::Gone, |adj| To::Node(adj.next))
}

/// Sends copies to all outputs that a packet may take, of which there are several, and says how many could be made. A packet that
/// its head holds is itself the last of them.
#[inline(always)]
fn copy<const TRACED: bool>(
    adjacencies: &Adjacencies,
    b: &mut Buffer,
    (route, fib): (&Mroute, u32),
    (reach, outputs): (Reach, usize),
    cx: &mut Cx<'_, TRACED>,
) -> (usize, To) {
    // What lies behind the head can't be changed any more. Who cuts into segments makes their checksums.
    if !b.flags.has(Flags::GSO) {
        finish_checksum(b);
    }
    let head = b.split_head(CLONE_HEAD);
    let copies = outputs - usize::from(head.is_whole());
    let mut made = 0;
    let mut rest = route.outputs.iter().filter(|output| reach.has(output));
    for output in rest.by_ref().take(copies) {
        let Some(mut copy) = b.clone_with(&head, cx.cache()) else { continue };
        match lead(adjacencies, &mut copy, output.adj, fib, cx) {
            to @ To::Node(_) => cx.emit(to, copy),
            _ => cx.free(copy),
        }
        made += 1;
    }
    cx.count(To::Copied, made as u64);
    if made < copies {
        cx.count(To::NoBuffer, (copies - made) as u64);
    }
    let last = rest.next().map_or(To::Done, |last| lead(adjacencies, b, last.adj, fib, cx));
    (made, last)
}

impl<F: Ip> Node for Replicate<F> {
    const NAME: &'static str = "{ip}-replicate";
    const DROP: &'static str = "{ip}-drop";
    const V6: Option<bool> = Some(F::IS_V6);
    type Next = To;
    type Trace = ReplicateTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        if self.made >= AT_ONCE {
            return To::Again;
        }
        let found = b.scratch::<Found>();
        let Some(route) = self.mroutes.get(found.route(), cx.turn) else { return To::Gone };
        self.counters.add(found.route as usize, 1, b.packet_len() as u64);
        let reach = Reach::of::<F>(b);
        let mut outputs = route.outputs.iter().filter(|output| reach.has(output));
        let (first, more) = (outputs.next(), outputs.count());
        if TRACED {
            let copies = usize::from(first.is_some()) + more;
            cx.trace(b, ReplicateTrace { route: found.route, outputs: route.outputs.len(), copies });
        }
        match (first, more) {
            (None, _) if reach.is_confined && !route.outputs.is_empty() => To::Confined,
            (None, _) => To::NoOutput,
            (Some(only), 0) => lead(&self.adjacencies, b, only.adj, found.fib, cx),
            (Some(_), more) => {
                let which = (reach, more + 1);
                let (made, to) = copy(&self.adjacencies, b, (route, found.fib), which, cx);
                self.made += made;
                to
            }
        }
    }

    #[inline(always)]
    fn end<const TRACED: bool>(&mut self, _: &mut Cx<'_, TRACED>) {
        self.made = 0;
    }
}
