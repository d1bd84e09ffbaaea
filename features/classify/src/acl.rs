// SPDX-License-Identifier: Apache-2.0
//! `ip4-inacl`, `ip4-outacl`, `ip4-punt-acl`, and those of IPv6: a chain of tables lets packets
//! pass, drops them, or sends them elsewhere.

use crate::hook::{Hook, Links, NumberedNode, NumberedNodes};
use crate::key::read_around;
use crate::state::Classifier;
use crate::table::{Action, Table, Verdict, walk};
use crate::trace::AclTrace;
use buffer::{Buffer, Field, FieldValue, Flags, HEADROOM};
use graph::{
    Build, ChainStep, Configured, Cx, ErrorIndex, Next, Node, NodeIndex, ThreadIndex, World, filled,
};
use ip::{Ip, table_of};
use net::{Interfaces, PacketColumns, Stage};
use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::Arc;
use sync::Turn;
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// The result of a session match, in a field of the packet.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub struct Classified {
    /// The session's opaque number.
    pub opaque: u32,
    /// The session's metadata: the index of a segment routing policy.
    pub metadata: u32,
}

impl FieldValue for Classified {
    const RARE: bool = true;
}

/// Offset of the first byte that a driver delivers, from the packet's first byte on.
#[inline(always)]
pub fn fresh(b: &Buffer) -> i64 {
    HEADROOM as i64 - b.headroom() as i64
}

/// Moves the start of a packet forward, or back if negative. Returns false if there are too few
/// bytes.
#[inline(always)]
pub fn advance(b: &mut Buffer, by: i32) -> bool {
    match usize::try_from(by) {
        Ok(by) => b.pull(by),
        Err(_) => b.rewind(by.unsigned_abs() as usize),
    }
}

/// The index of a table of routes that doesn't exist: no lookup finds it.
const NO_TABLE: u32 = u32::MAX;

/// State that the nodes with a classifier lookup share.
pub struct Lookup {
    pub classifier: Arc<Classifier>,
    pub field: Option<Field<Classified>>,
    numbers: NumberedNodes,
}

impl Lookup {
    pub fn new(world: &World, hook: Hook) -> Self {
        Self {
            classifier: world.get(),
            field: world.pool.field(),
            numbers: NumberedNodes::new(world, hook),
        }
    }

    /// Looks a packet up; `base` is the offset of a table's first vector, without skipped vectors.
    #[inline(always)]
    pub fn find<'t>(
        &'t self,
        first: u32,
        b: &mut Buffer,
        by: (usize, u64),
        turn: &'t Turn<'_>,
        base: impl Fn(&Table, &Buffer) -> i64,
    ) -> Option<Verdict<'t>> {
        let verdict = self.peek(first, b, turn, base)?;
        self.note_hit(&verdict, by, turn);
        Some(verdict)
    }

    /// As [`Self::find`], without a note of the hit.
    #[inline(always)]
    fn peek<'t>(
        &'t self,
        first: u32,
        b: &mut Buffer,
        turn: &'t Turn<'_>,
        base: impl Fn(&Table, &Buffer) -> i64,
    ) -> Option<Verdict<'t>> {
        let key = |table: &Table| {
            let from = base(table, b) + table.skipped() as i64;
            read_around(b, from, table.vectors)
        };
        walk(&self.classifier.tables, first, turn, key)
    }

    /// Counts a packet of a session, if it is one: `by` a thread, and when.
    #[inline(always)]
    fn note_hit(&self, verdict: &Verdict<'_>, (thread, now): (usize, u64), turn: &Turn<'_>) {
        if let Some((at, _)) = verdict.session
            && let Some(table) = self.classifier.tables.get(verdict.table, turn)
        {
            table.sessions.note_hit(thread, at, now, turn);
        }
    }

    /// Where the packet goes.
    #[inline(always)]
    pub fn numbered_node(&self, next: u16, turn: &Turn<'_>) -> NumberedNode {
        let links: &Links = &self.classifier.links;
        self.numbers.numbered_node(links, next, turn)
    }

    /// Applies a session, except for its next node. Returns false if the start of the packet can't
    /// move so far.
    #[inline(always)]
    pub fn note(&self, b: &mut Buffer, verdict: &Verdict<'_>) -> bool {
        let Some((_, session)) = verdict.session else { return true };
        if let Some(field) = self.field {
            let metadata = match session.action {
                Action::Metadata(n) | Action::Redirect(n) => n,
                _ => 0,
            };
            b.set_field(field, Classified { opaque: session.opaque, metadata });
        }
        session.advance == 0 || advance(b, session.advance)
    }
}

/// The edges of an ACL's node, whichever counters it has.
pub trait AclEdges: Next {
    fn node(node: NodeIndex) -> Self;
    const PASS: Self;
    const DENY: Self;
    const MISS: Self;
    const MOVED: Self;
    const LOOPED: Self;
    const HIT: Self;
    const CHAIN_HIT: Self;
    const MISSED: Self;
}

/// The packets that an ACL is for.
pub trait AclKind: Send + Sync + 'static {
    const NAME: &'static str;
    /// Sent packets start with their layer-2 header, and keep the table of routes that they were
    /// found in.
    const TX: bool;
    type To: AclEdges;
    fn hook(v6: bool) -> Hook;
}

macro_rules! acl_edges {
    ($name:ident, $acl:tt, $hits:tt, $chain:tt, $misses:tt, $deny:tt, $deny_text:tt, $miss:tt, $miss_text:tt) => {
        #[doc = concat!("Next nodes of an ", $acl, " ACL.")]
        #[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
        pub enum $name {
            #[next_feature]
            Pass,
            /// A node that a session or a table names.
            #[dynamic]
            Node(NodeIndex),
            #[doc = $deny_text]
            #[drop]
            #[counter($deny, of = "{ip}-input")]
            Deny,
            #[doc = $miss_text]
            #[drop]
            #[counter($miss, of = "{ip}-input")]
            Miss,
            /// packet has fewer bytes than the session advances
            #[drop]
            Moved,
            /// packet has come back too often
            #[drop]
            Looped,
            /// packets that matched a session
            #[count]
            #[counter($hits)]
            Hit,
            /// packets that matched a session of a table behind the first
            #[count]
            #[counter($chain)]
            ChainHit,
            /// packets that matched no session
            #[count]
            #[counter($misses)]
            Missed,
        }

        impl AclEdges for $name {
            #[inline(always)]
            fn node(node: NodeIndex) -> Self {
                Self::Node(node)
            }
            const PASS: Self = Self::Pass;
            const DENY: Self = Self::Deny;
            const MISS: Self = Self::Miss;
            const MOVED: Self = Self::Moved;
            const LOOPED: Self = Self::Looped;
            const HIT: Self = Self::Hit;
            const CHAIN_HIT: Self = Self::ChainHit;
            const MISSED: Self = Self::Missed;
        }
    };
}

acl_edges! { InTo, "input", "input ACL hits", "input ACL hits after chain walk", "input ACL misses",
"inacl_session_deny", "input ACL session deny drops", "inacl_table_miss", "input ACL table-miss drops" }
acl_edges! { OutTo, "output", "output ACL hits", "output ACL hits after chain walk", "output ACL misses",
"outacl_session_deny", "output ACL session deny drops", "outacl_table_miss", "output ACL table-miss drops" }

/// Received packets.
pub struct InputAcl;
/// Sent packets.
pub struct OutputAcl;
/// Punted packets.
pub struct PuntAcl;

impl AclKind for InputAcl {
    const NAME: &'static str = "{ip}-inacl";
    const TX: bool = false;
    type To = InTo;
    fn hook(v6: bool) -> Hook {
        Hook::In(v6)
    }
}

impl AclKind for OutputAcl {
    const NAME: &'static str = "{ip}-outacl";
    const TX: bool = true;
    type To = OutTo;
    fn hook(v6: bool) -> Hook {
        Hook::Out(v6)
    }
}

impl AclKind for PuntAcl {
    const NAME: &'static str = "{ip}-punt-acl";
    const TX: bool = false;
    type To = InTo;
    fn hook(v6: bool) -> Hook {
        Hook::Punt(v6)
    }
}

/// The node.
pub struct Acl<F, S> {
    lookup: Lookup,
    interfaces: Arc<Interfaces>,
    of: PhantomData<fn() -> (F, S)>,
}

impl<F: Ip, S: AclKind> Build for Acl<F, S> {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self {
            lookup: Lookup::new(world, S::hook(F::IS_V6)),
            interfaces: world.get(),
            of: PhantomData,
        }
    }
}

/// The first table.
impl<F: Ip, S: AclKind> Configured for Acl<F, S> {
    type Config = u32;
}

impl<F: Ip, S: AclKind> Acl<F, S> {
    /// Offset of a table's first vector, without skipped vectors.
    #[inline(always)]
    fn base(table: &Table, b: &Buffer) -> i64 {
        match table.offset {
            Some(offset) if S::TX => b.l3_at() as i64 + i64::from(offset),
            Some(offset) => offset.into(),
            None => fresh(b),
        }
    }
}

impl<F: Ip, S: AclKind> Node for Acl<F, S> {
    const NAME: &'static str = S::NAME;
    const V6: Option<bool> = Some(F::IS_V6);
    const DROP: &'static str = "{ip}-drop";
    type Next = S::To;
    type Trace = AclTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> S::To {
        let first = cx.feature_config::<Self>(b);
        let sw_if = if S::TX { b.tx_if } else { b.rx_if };
        let (turn, by) = (cx.turn, (cx.thread().at(), cx.now()));
        let Some(verdict) = self.lookup.find(first, b, by, turn, Self::base) else {
            return S::To::PASS;
        };
        cx.count(if verdict.session.is_some() { S::To::HIT } else { S::To::MISSED }, 1);
        if verdict.chained {
            cx.count(S::To::CHAIN_HIT, 1);
        }
        let numbered_node = self.lookup.numbered_node(verdict.next, turn);
        let action = verdict.session.map_or(Action::None, |(_, session)| session.action);
        if let Action::Fib { v6, slot, .. } = action
            && !S::TX
            && v6 == F::IS_V6
        {
            b.flags.insert(Flags::TABLE);
            b.tx_if = self.lookup.classifier.vrfs.get(slot, turn).map_or(NO_TABLE, |index| index.0);
        }
        if TRACED {
            let fib = if S::TX { 0 } else { table_of::<F>(b, self.interfaces.views(turn)).0 };
            let next =
                if let NumberedNode::GoOn = numbered_node { cx.peek_feature(b) } else { None };
            cx.trace(b, AclTrace::new((sw_if, S::TX), &verdict, numbered_node, next, fib));
        }
        if !self.lookup.note(b, &verdict) {
            return S::To::MOVED;
        }
        match numbered_node {
            // Only numbers at layer 2 lead to an output, or to nodes that aren't there.
            NumberedNode::GoOn | NumberedNode::Output | NumberedNode::Absent => S::To::PASS,
            // It may be an earlier node.
            NumberedNode::Node(_) if !b.flags.count_return() => S::To::LOOPED,
            NumberedNode::Node(node) => S::To::node(node),
            NumberedNode::Deny if verdict.session.is_some() => S::To::DENY,
            NumberedNode::Deny => S::To::MISS,
        }
    }
}

/// The stage of an ACL's node: packets that pass as they are.
pub struct PassingAcl<F, S> {
    lookup: Lookup,
    hit: ErrorIndex,
    chain_hit: ErrorIndex,
    missed: ErrorIndex,
    of: PhantomData<fn() -> (F, S)>,
}

impl<F: Ip, S: AclKind> Build for PassingAcl<F, S> {
    fn build(world: &World, _: ThreadIndex) -> Self {
        let node = filled(S::NAME, F::IS_V6);
        let side = if S::TX { "output" } else { "input" };
        let of = |counter: &str| {
            let counter = format!("{side} ACL {counter}");
            world.reason_index(&node, &counter).expect("a counter of this plugin")
        };
        Self {
            lookup: Lookup::new(world, S::hook(F::IS_V6)),
            hit: of("hits"),
            chain_hit: of("hits after chain walk"),
            missed: of("misses"),
            of: PhantomData,
        }
    }
}

/// True if a table whose first vector begins at this offset of [`PacketColumns::buffer`] compares
/// bytes that a packet which leaves hasn't got yet: of the layer-2 header in front, or the hop
/// limit and its checksum.
#[inline(always)]
fn compares_rewritten<F: Ip>(table: &Table, from: i64) -> bool {
    let front = net::IP_IN_STAGE as i64 - from;
    let bit = |at: i64| u32::try_from(front + at).ok().and_then(|at| 1u128.checked_shl(at));
    let header = bit(0).map_or(if front < 0 { 0 } else { u128::MAX }, |bit| bit - 1);
    let changed: &[i64] = if F::IS_V6 { &[7] } else { &[8, 10, 11] };
    let all = changed.iter().filter_map(|at| bit(*at)).fold(header, |all, bit| all | bit);
    table.compared & all != 0
}

impl<F: Ip, S: AclKind> PassingAcl<F, S> {
    /// True if the packet passes, and then it is counted as the node would have counted it.
    #[inline(always)]
    fn passes(&self, first: u32, b: &mut Buffer, cx: &Cx<'_, false>) -> bool {
        let is_known = Cell::new(true);
        let base = |table: &Table, b: &Buffer| {
            let base = match table.offset {
                Some(offset) => net::IP_IN_STAGE as i64 + i64::from(offset),
                None => fresh(b),
            };
            if S::TX && compares_rewritten::<F>(table, base + table.skipped() as i64) {
                is_known.set(false);
            }
            base
        };
        let Some(verdict) = self.lookup.peek(first, b, cx.turn, base) else { return true };
        let stays = verdict.session.is_none_or(|(_, session)| {
            session.advance == 0 && (S::TX || !matches!(session.action, Action::Fib { .. }))
        });
        let next = self.lookup.numbered_node(verdict.next, cx.turn);
        if !is_known.get() || !stays || matches!(next, NumberedNode::Node(_) | NumberedNode::Deny) {
            return false;
        }
        self.lookup.note_hit(&verdict, (cx.thread().at(), cx.now()), cx.turn);
        cx.count_for(if verdict.session.is_some() { self.hit } else { self.missed }, 1);
        if verdict.chained {
            cx.count_for(self.chain_hit, 1);
        }
        self.lookup.note(b, &verdict)
    }
}

impl<F: Ip, S: AclKind> Stage<F> for PassingAcl<F, S> {
    fn pass(
        &mut self,
        packets: &mut PacketColumns<'_, F>,
        step: ChainStep<'_>,
        cx: &Cx<'_, false>,
    ) -> u64 {
        let first = step.config::<Acl<F, S>>();
        packets.mask(|packets, i| self.passes(first, packets.buffer(i), cx))
    }
}
