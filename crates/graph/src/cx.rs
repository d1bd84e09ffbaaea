// SPDX-License-Identifier: Apache-2.0
//! The context of a node while it works on a packet.

use crate::arcs::ArcTable;
use crate::core::Core;
use crate::node::dynamic_code;
use crate::slot::NodeRuntime;
use crate::{
    ArcIndex, Configured, ErrorIndex, Next, NodeIndex, Reason, SwIfIndex, ThreadIndex, Trace,
};
use buffer::{Buffer, Cache, Flags, Frame, Owned};
use sync::Turn;

/// The node's surroundings: this thread's buffers, clocks, counters and traces.
///
/// `TRACED` is a constant of the loop: without a trace, [`Self::trace`] is no code at all.
pub struct Cx<'a, const TRACED: bool> {
    pub(crate) core: &'a mut Core,
    pub(crate) node: &'a NodeRuntime,
    pub(crate) arcs: &'a ArcTable,
    /// The turn of this thread's loop: what snapshots and slots are read with.
    pub turn: &'a Turn<'a>,
}

impl<'a, const TRACED: bool> Cx<'a, TRACED> {
    /// The thread that this is.
    #[inline(always)]
    pub fn thread(&self) -> ThreadIndex {
        self.core.thread
    }

    /// The node that this is.
    #[inline(always)]
    pub fn node(&self) -> NodeIndex {
        self.node.index
    }

    /// Calls this node's [`tick`](crate::Node::tick) at the end of the turn, or of the next one if
    /// it is called from there: for work that is done in portions. The thread doesn't sleep
    /// until then.
    #[inline]
    pub fn again(&mut self) {
        if !self.core.again.contains(&self.node.index) {
            self.core.again.push(self.node.index);
        }
    }

    /// Sets the alarm of a node on this thread: its [`tick`](crate::Node::tick) is called once the
    /// instance's clock has reached this time, in nanoseconds, and the thread sleeps no longer. It
    /// replaces the node's last alarm; `None` only ends that. For timers that mustn't wait for
    /// control. Ticks for other reasons come as well.
    #[inline]
    pub fn tick_at(&mut self, node: NodeIndex, at: Option<u64>) {
        self.core.set_alarm(node, at);
    }

    /// The instance's clock at the start of this turn, in nanoseconds since the start.
    #[inline(always)]
    pub fn now(&self) -> u64 {
        self.core.now
    }

    /// A pseudorandom number; not for secrets.
    #[inline(always)]
    pub fn random(&mut self) -> u64 {
        self.core.random()
    }

    /// A fresh, empty buffer; `None` when all are in use (it is counted).
    #[inline(always)]
    pub fn alloc(&mut self) -> Option<Owned> {
        self.core.cache.alloc()
    }

    /// A buffer for a packet of the router's own, such as a question for a neighbour: there is one
    /// when forwarding finds none.
    #[inline]
    pub fn alloc_own(&mut self) -> Option<Owned> {
        self.core.cache.alloc_own()
    }

    /// Appends up to `n` fresh buffers to the frame; returns how many.
    #[inline(always)]
    pub fn alloc_frame(&mut self, frame: &mut Frame, n: usize) -> usize {
        self.core.cache.alloc_frame(frame, n)
    }

    /// This thread's buffers, for the functions that take them.
    #[inline(always)]
    pub fn cache(&mut self) -> &mut Cache {
        &mut self.core.cache
    }

    /// Frees a packet.
    #[inline(always)]
    pub fn free(&mut self, buffer: Owned) {
        self.core.cache.free(buffer);
    }

    /// Sends one more packet along an edge of this node: a reply, a fragment, a clone, a packet
    /// that an input brings.
    #[inline]
    pub fn emit<N: Next>(&mut self, next: N, mut buffer: Owned) {
        debug_assert!(self.node.is_of::<N>(), "a way out of another node");
        let mut code = next.code();
        if N::FEATURE && code == crate::FEATURE_CODE {
            code = self.next_step(&mut buffer);
        }
        if self.core.trace.marking(self.node.index) {
            let (to, now) = (self.node.to(code), self.core.clock.now());
            self.core.trace.mark(self.node.index, to, &mut buffer, now, self.turn);
        }
        self.core.send_one(self.node, code, buffer);
    }

    /// Sends packets along an edge of this node: for packets that an input brings. Leaves the frame
    /// empty.
    #[inline]
    pub fn emit_frame<N: Next>(&mut self, next: N, frame: &mut Box<Frame>) {
        debug_assert!(self.node.is_of::<N>(), "a way out of another node");
        if self.core.trace.marking(self.node.index) {
            self.mark_frame(next.code(), frame);
        }
        self.core.send_all(self.node, next.code(), frame);
    }

    /// Sends packets that came in on one interface to the first feature of an arc there, or on
    /// `otherwise` if none is enabled: what a driver's input does with `device-input`. Leaves
    /// the frame empty.
    #[inline]
    pub fn emit_frame_on<N: Next>(
        &mut self,
        arc: ArcIndex,
        sw_if: SwIfIndex,
        otherwise: N,
        frame: &mut Box<Frame>,
    ) {
        let Some(at) = self.arcs.start(arc, sw_if) else {
            return self.emit_frame(otherwise, frame);
        };
        if self.core.trace.marking(self.node.index) {
            self.mark_frame(otherwise.code(), frame);
        }
        for b in frame.iter_mut() {
            b.feature = at + 1;
        }
        if let Some(node) = self.arcs.node(at) {
            self.core.send_frame(node, frame);
        }
    }

    #[cold]
    fn mark_frame(&mut self, code: u32, frame: &mut Frame) {
        let (to, now) = (self.node.to(code), self.core.clock.now());
        let mut traced = frame.traced;
        for b in frame.iter_mut() {
            self.core.trace.mark(self.node.index, to, b, now, self.turn);
            traced |= b.flags.contains(Flags::TRACED);
        }
        frame.traced = traced;
    }

    /// The reason that a buffer's `error` names.
    pub fn reason(&self, error: u32) -> Option<&Reason> {
        self.core.reasons.get(error, self.turn)
    }

    /// Counts on an edge without sending anything: events that aren't packets.
    #[inline(always)]
    pub fn count<N: Next>(&mut self, next: N, n: u64) {
        debug_assert!(self.node.is_of::<N>(), "a way out of another node");
        if let Some(edge) = self.node.edges.get(next.code() as usize) {
            self.core.errors.add(edge.error.at(), n);
        }
    }

    /// Counts packets that this node has processed in place of another node, for a reason of that
    /// one ([`crate::World::reason_index`]).
    #[inline(always)]
    pub fn count_for(&self, reason: ErrorIndex, n: u64) {
        self.core.errors.add(reason.at(), n);
    }

    /// The same without traces, for packets that aren't traced.
    #[inline(always)]
    pub fn untraced(&mut self) -> Cx<'_, false> {
        Cx { core: self.core, node: self.node, arcs: self.arcs, turn: self.turn }
    }

    /// Starts a feature arc on an interface: the first node of it, or `None` if no feature is
    /// enabled there.
    #[inline(always)]
    pub fn start_arc(&self, arc: ArcIndex, sw_if: u32, b: &mut Buffer) -> Option<NodeIndex> {
        let at = self.arcs.start(arc, SwIfIndex(sw_if))?;
        b.feature = at + 1;
        self.arcs.node(at)
    }

    /// Returns true if packets are to be traced from some node on that is no input: a path beside
    /// the nodes must leave all packets to them.
    #[inline(always)]
    pub fn traces_inside(&self) -> bool {
        self.core.trace.is_inside()
    }

    /// Returns true if any feature of the arc is enabled on the interface.
    #[inline(always)]
    pub fn has_arc(&self, arc: ArcIndex, sw_if: u32) -> bool {
        self.arcs.start(arc, SwIfIndex(sw_if)).is_some()
    }

    /// The features that a packet at this position ([`Buffer::feature`], or [`Self::chain_start`])
    /// has still to pass, in order, and then the node at the arc's end. The caller has to stop at
    /// that node: steps of other interfaces may follow.
    #[inline(always)]
    pub fn chain(&self, at: u32) -> impl Iterator<Item = ChainStep<'a>> + use<'a, TRACED> {
        self.arcs.chain(at)
    }

    /// The position of packets of an interface at the start of an arc.
    #[inline(always)]
    pub fn chain_start(&self, arc: ArcIndex, sw_if: u32) -> u32 {
        self.arcs.start(arc, SwIfIndex(sw_if)).unwrap_or(u32::MAX)
    }

    /// Where [`next_feature`](crate::Target::NextFeature) would send the packet: the arc's next
    /// feature there, or its end.
    #[inline(always)]
    pub fn peek_feature(&self, b: &Buffer) -> Option<NodeIndex> {
        self.arcs.node(b.feature)
    }

    /// Configuration of this feature, whose node is `N`, on the packet's interface.
    #[inline(always)]
    pub fn feature_config<N: Configured>(&self, b: &Buffer) -> N::Config {
        debug_assert!(
            self.node.config.is::<N::Config>(),
            "{} has another configuration",
            self.node.name
        );
        self.arcs.config(b.feature.wrapping_sub(1))
    }

    #[inline(always)]
    pub(crate) fn next_step(&self, b: &mut Buffer) -> u32 {
        self.arcs.advance(b)
    }

    /// Adds this node's record to the packet's trace.
    #[inline(always)]
    pub fn trace<T: Trace>(&mut self, b: &Buffer, record: T) {
        if TRACED && b.flags.contains(Flags::TRACED) {
            self.core.trace.detail(record);
        }
    }

    /// Hands a packet to the node `to` on another thread. It leaves with others in a vector, at the
    /// end of this turn at the latest. A full ring drops it, and counts that as congestion.
    #[inline]
    pub fn handoff(&mut self, thread: ThreadIndex, to: NodeIndex, buffer: Owned) {
        self.core.handoff(thread, to, buffer);
    }

    /// Gives the nodes behind the same surroundings without a trace: for `keep` and `tick`.
    #[inline(always)]
    pub(crate) fn new(
        core: &'a mut Core,
        node: &'a NodeRuntime,
        arcs: &'a ArcTable,
        turn: &'a Turn<'a>,
    ) -> Self {
        Self { core, node, arcs, turn }
    }
}

/// A feature that packets of an interface pass: see [`Cx::chain`].
#[derive(Clone, Copy, Debug)]
pub struct ChainStep<'a> {
    arcs: &'a ArcTable,
    at: u32,
    /// Its node.
    pub node: NodeIndex,
}

impl ChainStep<'_> {
    /// Sends a packet to this feature, and then to those behind it: returns its node.
    #[inline(always)]
    pub fn enter(&self, b: &mut Buffer) -> NodeIndex {
        b.feature = self.at + 1;
        self.node
    }

    /// The position of packets in front of it, for [`Cx::chain`].
    #[inline(always)]
    pub fn at(&self) -> u32 {
        self.at
    }

    /// The feature's configuration on the interface. `N` must be the feature's node.
    #[inline(always)]
    pub fn config<N: Configured>(&self) -> N::Config {
        self.arcs.config(self.at)
    }
}

impl ArcTable {
    /// See [`Cx::chain`].
    #[inline(always)]
    pub(crate) fn chain(&self, at: u32) -> impl Iterator<Item = ChainStep<'_>> {
        (at..u32::MAX).map_while(move |at| Some(ChainStep { arcs: self, at, node: self.node(at)? }))
    }

    #[inline(always)]
    pub(crate) fn advance(&self, b: &mut Buffer) -> u32 {
        match self.node(b.feature) {
            Some(node) => {
                b.feature += 1;
                dynamic_code(node)
            }
            None => crate::node::UNSET,
        }
    }
}
