// SPDX-License-Identifier: Apache-2.0
//! `l2-input-acl`, `l2-output-acl`, `l2-input-classify`, `l2-output-classify`: tables classify
//! switched frames.

use crate::acl::Lookup;
use crate::hook::{Hook, NumberedNode};
use crate::state::{Classifier, Direction};
use crate::table::{Table, Verdict};
use crate::trace::{AclTrace, ClassifyTrace};
use buffer::Buffer;
use graph::{Build, Cx, Next, Node, NodeIndex, ThreadIndex, World};
use l2::{Features, InputSteps, OutputFeatures, OutputSteps};
use net::Interfaces;
use std::sync::Arc;
use sync::Turn;

/// The nodes behind a feature.
struct NextNodes {
    input: InputSteps,
    output: OutputSteps,
    interfaces: Arc<Interfaces>,
}

impl NextNodes {
    fn new(world: &World) -> Self {
        Self {
            input: InputSteps::new(world),
            output: OutputSteps::new(world),
            interfaces: world.get(),
        }
    }

    /// The next node of a frame that goes on.
    #[inline(always)]
    fn next(
        &self,
        (input, output): (Features, OutputFeatures),
        tx: bool,
        b: &Buffer,
        turn: &Turn<'_>,
    ) -> NodeIndex {
        if tx { self.output.behind(output, b, turn) } else { self.input.behind(input, b) }
    }

    /// The node that a number leads to; `None` for none.
    #[inline(always)]
    fn node(
        &self,
        numbered_node: NumberedNode,
        next: NodeIndex,
        b: &Buffer,
        turn: &Turn<'_>,
    ) -> Option<NodeIndex> {
        match numbered_node {
            NumberedNode::GoOn => Some(next),
            NumberedNode::Node(node) => Some(node),
            NumberedNode::Output => {
                Some(self.interfaces.views(turn).get(b.tx_if as usize).unwrap_or_default().output)
            }
            NumberedNode::Deny | NumberedNode::Absent => None,
        }
    }
}

/// Offset of a table's first vector in a frame, without skipped vectors.
#[inline(always)]
fn base(table: &Table, _: &Buffer) -> i64 {
    table.offset.map_or(0, i64::from)
}

/// The edges of features of switched frames, whichever counters they have.
pub trait SwitchedEdges: Next {
    fn node(node: NodeIndex) -> Self;
    const DENY: Self;
    const MISS: Self;
    const ABSENT: Self;
    const MOVED: Self;
    const LOOPED: Self;
    const HIT: Self;
    const CHAIN_HIT: Self;
    const MISSED: Self;
    /// Frames that the node got, if it counts them.
    const VALID: Option<Self>;
}

/// The constants that all have.
macro_rules! common {
    ($deny:ident, $miss:ident) => {
        #[inline(always)]
        fn node(node: NodeIndex) -> Self {
            Self::Node(node)
        }
        const DENY: Self = Self::$deny;
        const MISS: Self = Self::$miss;
        const ABSENT: Self = Self::Absent;
        const MOVED: Self = Self::Moved;
        const LOOPED: Self = Self::Looped;
        const HIT: Self = Self::Hit;
        const CHAIN_HIT: Self = Self::ChainHit;
        const MISSED: Self = Self::Missed;
    };
}

macro_rules! acl_ways {
    ($name:ident, $valid:tt, $hits:tt, $chain:tt, $misses:tt, $deny:tt, $miss:tt) => {
        /// Next nodes of an ACL.
        #[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
        pub enum $name {
            /// The next feature, or a node that a session or a table names.
            #[dynamic]
            Node(NodeIndex),
            #[doc = $deny]
            #[drop]
            #[counter($deny)]
            Deny,
            #[doc = $miss]
            #[drop]
            #[counter($miss)]
            Miss,
            /// next node of the session isn't built
            #[drop]
            Absent,
            /// frame has fewer bytes than the session advances
            #[drop]
            Moved,
            /// frame has come back too often
            #[drop]
            Looped,
            /// frames that the ACL was asked about
            #[count]
            #[counter($valid)]
            Valid,
            /// frames that matched a session
            #[count]
            #[counter($hits)]
            Hit,
            /// frames that matched a session of a table behind the first
            #[count]
            #[counter($chain)]
            ChainHit,
            /// frames that matched no session
            #[count]
            #[counter($misses)]
            Missed,
        }

        impl SwitchedEdges for $name {
            common! { Deny, Miss }
            const VALID: Option<Self> = Some(Self::Valid);
        }
    };
}

acl_ways! { InTo, "valid input ACL packets", "input ACL hits", "input ACL hits after chain walk", "input ACL misses",
"input ACL session deny drops", "input ACL table-miss drops" }
acl_ways! { OutTo, "valid output ACL packets", "output ACL hits", "output ACL hits after chain walk", "output ACL misses",
"output ACL session deny drops", "output ACL table-miss drops" }

/// Next nodes of classification.
#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClassifyTo {
    /// The next feature, or a node that a session or a table names.
    #[dynamic]
    Node(NodeIndex),
    /// session or table says so
    #[drop]
    #[counter("L2 Classify Drops")]
    Deny,
    /// next node of the session isn't built
    #[drop]
    Absent,
    /// frame has fewer bytes than the session advances
    #[drop]
    Moved,
    /// frame has come back too often
    #[drop]
    Looped,
    /// frames that matched a session
    #[count]
    #[counter("Classify hits")]
    Hit,
    /// frames that matched a session of a table behind the first
    #[count]
    #[counter("Classify hits after chain walk")]
    ChainHit,
    /// frames that matched no session
    #[count]
    #[counter("Classify misses")]
    Missed,
}

impl SwitchedEdges for ClassifyTo {
    common! { Deny, Deny }
    const VALID: Option<Self> = None;
}

/// Applies a verdict to a frame. Returns the next node.
#[inline(always)]
fn follow<N: SwitchedEdges, const TRACED: bool>(
    lookup: &Lookup,
    node: Option<NodeIndex>,
    numbered_node: NumberedNode,
    verdict: &Verdict<'_>,
    b: &mut Buffer,
    cx: &mut Cx<'_, TRACED>,
) -> N {
    cx.count(if verdict.session.is_some() { N::HIT } else { N::MISSED }, 1);
    if verdict.chained {
        cx.count(N::CHAIN_HIT, 1);
    }
    if !lookup.note(b, verdict) {
        return N::MOVED;
    }
    // It may be an earlier node.
    if let NumberedNode::Node(_) = numbered_node
        && !b.flags.count_return()
    {
        return N::LOOPED;
    }
    match node {
        Some(node) => N::node(node),
        None if numbered_node == NumberedNode::Absent => N::ABSENT,
        None if verdict.session.is_some() => N::DENY,
        None => N::MISS,
    }
}

/// The bits of a feature.
const ACL: (Features, OutputFeatures) = (Features::ACL, OutputFeatures::ACL);
const CLASSIFY: (Features, OutputFeatures) = (Features::CLASSIFY, OutputFeatures::CLASSIFY);

/// A direction, for a node.
pub trait FrameDirection: Send + Sync + 'static {
    const TX: bool;
    type To: SwitchedEdges;
}

/// Received frames.
pub struct Received;
/// Sent frames.
pub struct Sent;

impl FrameDirection for Received {
    const TX: bool = false;
    type To = InTo;
}

impl FrameDirection for Sent {
    const TX: bool = true;
    type To = OutTo;
}

/// `l2-input-acl`, `l2-output-acl`.
pub struct L2Acl<S> {
    lookup: Lookup,
    behind: NextNodes,
    side: std::marker::PhantomData<fn() -> S>,
}

impl<S: FrameDirection> Build for L2Acl<S> {
    fn build(world: &World, _: ThreadIndex) -> Self {
        let hook = if S::TX { Hook::L2Out } else { Hook::L2In };
        Self {
            lookup: Lookup::new(world, hook),
            behind: NextNodes::new(world),
            side: std::marker::PhantomData,
        }
    }
}

impl<S: FrameDirection> Node for L2Acl<S> {
    const NAME: &'static str = if S::TX { "l2-output-acl" } else { "l2-input-acl" };
    type Next = S::To;
    type Trace = AclTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> S::To {
        let (turn, by) = (cx.turn, (cx.thread().at(), cx.now()));
        let sw_if = if S::TX { b.tx_if } else { b.rx_if };
        S::To::VALID.into_iter().for_each(|valid| cx.count(valid, 1));
        let next = self.behind.next(ACL, S::TX, b, turn);
        let classifier: &Classifier = &self.lookup.classifier;
        let first = classifier.l2_acl[S::TX as usize].get(sw_if, turn).copied();
        let Some(verdict) = first.and_then(|first| self.lookup.find(first, b, by, turn, base))
        else {
            return S::To::node(next);
        };
        let numbered_node = self.lookup.numbered_node(verdict.next, turn);
        let node = self.behind.node(numbered_node, next, b, turn);
        if TRACED {
            cx.trace(b, AclTrace::new((sw_if, S::TX), &verdict, numbered_node, Some(next), 0));
        }
        follow(&self.lookup, node, numbered_node, &verdict, b, cx)
    }
}

/// `l2-input-classify`, `l2-output-classify`.
pub struct L2Classify<const TX: bool> {
    lookup: Lookup,
    behind: NextNodes,
}

impl<const TX: bool> Build for L2Classify<TX> {
    fn build(world: &World, _: ThreadIndex) -> Self {
        let hook = if TX { Hook::L2ClassifyOut } else { Hook::L2ClassifyIn };
        Self { lookup: Lookup::new(world, hook), behind: NextNodes::new(world) }
    }
}

/// The tables' position for what a frame carries, by the bytes behind its addresses.
#[inline(always)]
fn kind(b: &Buffer) -> usize {
    match b.bytes::<2>(12) {
        Some([0x08, 0x00]) => 0,
        Some([0x86, 0xdd]) => 1,
        _ => 2,
    }
}

impl<const TX: bool> Node for L2Classify<TX> {
    const NAME: &'static str = if TX { "l2-output-classify" } else { "l2-input-classify" };
    type Next = ClassifyTo;
    type Trace = ClassifyTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(
        &mut self,
        b: &mut Buffer,
        cx: &mut Cx<'_, TRACED>,
    ) -> ClassifyTo {
        let (turn, by) = (cx.turn, (cx.thread().at(), cx.now()));
        let direction = if TX { Direction::Output } else { Direction::Input };
        let sw_if = if TX { b.tx_if } else { b.rx_if };
        let next = self.behind.next(CLASSIFY, TX, b, turn);
        let classifier: &Classifier = &self.lookup.classifier;
        let tables = classifier.l2_classify[direction as usize].get(sw_if, turn);
        let first = tables.and_then(|tables| tables[kind(b)]);
        let Some(verdict) = first.and_then(|first| self.lookup.find(first, b, by, turn, base))
        else {
            if TRACED {
                cx.trace(b, ClassifyTrace::new(sw_if, None, NumberedNode::GoOn, Some(next)));
            }
            return ClassifyTo::Node(next);
        };
        let numbered_node = self.lookup.numbered_node(verdict.next, turn);
        let node = self.behind.node(numbered_node, next, b, turn);
        if TRACED {
            cx.trace(b, ClassifyTrace::new(sw_if, Some(&verdict), numbered_node, Some(next)));
        }
        follow(&self.lookup, node, numbered_node, &verdict, b, cx)
    }
}
