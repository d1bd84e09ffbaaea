// SPDX-License-Identifier: Apache-2.0
//! The nodes of IP packets: `acl-plugin-in-ip4-fa` and its kind.

use crate::judge::{Judge, Verdict};
use crate::list::{Direction, FindMany, Hit, List, Listed, find_variants};
use crate::lookup::{BLOCK, NONE};
use crate::packet::{Part, Tuple, read};
use crate::session::AT_A_TICK;
use buffer::{Buffer, Owned};
use graph::{Build, Cx, Next, Node, ThreadIndex, Trace, Vector, World};
use simd::Isa;
use std::fmt;
use std::net::IpAddr;
use std::ops::Range;
use wire::Ethernet;

/// Where a node stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct At {
    /// The direction of the packets.
    pub direction: Direction,
    /// True for packets of switched frames.
    pub switched: bool,
}

/// A node's place, as a type.
pub trait Place: Send + 'static {
    /// The node's name.
    const NAME: &'static str;
    /// The place.
    const AT: At;
}

macro_rules! places {
    ($($(#[$doc:meta])* $name:ident = $node:literal, $direction:ident, $switched:literal;)*) => {
        $(
            $(#[$doc])*
            pub struct $name;
            impl Place for $name {
                const NAME: &'static str = $node;
                const AT: At = At { direction: Direction::$direction, switched: $switched };
            }
        )*
    };
}

places! {
    /// Received packets that are routed.
    RoutedIn = "acl-plugin-in-{ip}-fa", Input, false;
    /// Routed packets that leave.
    RoutedOut = "acl-plugin-out-{ip}-fa", Output, false;
    /// Packets of received frames that are switched.
    SwitchedIn = "acl-plugin-in-{ip}-l2", Input, true;
    /// Packets of switched frames that leave.
    SwitchedOut = "acl-plugin-out-{ip}-l2", Output, true;
}

#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
pub enum To {
    #[next_feature]
    Next,
    /// ACL deny packets
    #[drop]
    #[counter("ACL deny packets")]
    Deny,
    /// too many sessions to add new
    #[drop]
    #[counter("too many sessions to add new")]
    TooMany,
    /// To the thread that owns the flow.
    #[keep]
    Elsewhere,
    /// ACL permit packets
    #[count]
    #[counter("ACL permit packets")]
    Permit,
    /// new sessions added
    #[count]
    #[counter("new sessions added")]
    New,
    /// existing session packets
    #[count]
    #[counter("existing session packets")]
    Existing,
    /// checked packets
    #[count]
    #[counter("checked packets")]
    Checked,
    /// restart session timer
    #[count]
    #[counter("restart session timer")]
    Restarted,
}

/// A node. What it does is in [`Checker`], which is compiled once for all places.
pub struct AclNode<F: Listed, P> {
    checker: Checker<F>,
    place: std::marker::PhantomData<fn() -> P>,
}

impl<F: Listed, P: Place> Build for AclNode<F, P> {
    fn build(world: &World, thread: ThreadIndex) -> Self {
        Self { checker: Checker::new(world, thread, P::AT), place: std::marker::PhantomData }
    }
}

/// Checks packets at a place.
struct Checker<F: Listed> {
    at: At,
    judge: Judge<F>,
    find: FindMany<F>,
}

/// The interface whose lists a packet is held against.
#[inline(always)]
fn interface(b: &Buffer, at: At) -> u32 {
    match at.direction {
        Direction::Input => b.rx_if,
        Direction::Output => b.tx_if,
    }
}

/// The packet, from its IP header on.
#[inline(always)]
fn packet(b: &Buffer, at: At) -> &[u8] {
    let start = if at.switched {
        Ethernet::l3_at(b.data()).map_or(usize::MAX, |(start, _)| start)
    } else if at.direction == Direction::Output {
        b.l3_at()
    } else {
        0
    };
    b.data().get(start..).unwrap_or_default()
}

impl<F: Listed> Checker<F> {
    fn new(world: &World, thread: ThreadIndex, at: At) -> Self {
        Self { at, judge: Judge::new(world, thread), find: find_variants::<F>().best() }
    }

    /// The edge of a packet, for which all is counted. What another thread judges is counted
    /// there.
    #[inline(always)]
    fn conclude<const TRACED: bool>(
        &self,
        b: &Buffer,
        list: &List,
        verdict: Verdict,
        cx: &mut Cx<'_, TRACED>,
    ) -> To {
        if verdict == Verdict::Elsewhere {
            return To::Elsewhere;
        }
        cx.count(To::Checked, 1);
        if let Some(hit) = verdict.hit() {
            self.judge.count(list, hit, b.packet_len());
        }
        match verdict {
            Verdict::Deny(_) => return To::Deny,
            Verdict::Full(_) => return To::TooMany,
            Verdict::Session { restarted } => {
                cx.count(To::Existing, 1);
                cx.count(To::Restarted, restarted.into());
            }
            Verdict::New(_) => cx.count(To::New, 1),
            Verdict::Permit(_) | Verdict::Elsewhere => {}
        }
        cx.count(To::Permit, 1);
        To::Next
    }

    /// Checks one packet.
    #[inline(never)]
    fn one<const TRACED: bool>(&self, b: &Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        let sw_if = interface(b, self.at);
        let tuple = read::<F>(packet(b, self.at), &self.judge.settings.skipped);
        let Some(policy) = self.judge.policies.get(sw_if, cx.turn) else { return To::Next };
        let Some(list) = policy.list(self.at.direction) else { return To::Next };
        // A packet without a whole header matches no rule.
        let verdict = tuple.map_or(Verdict::Deny(None), |tuple| {
            let at = (sw_if, self.at.direction);
            self.judge.judge((policy, list), &tuple, at, (cx.turn, cx.now()))
        });
        if TRACED && verdict != Verdict::Elsewhere {
            let acl = |hit: Hit| list.acls.get(usize::from(hit.position)).copied();
            let rule = verdict.hit().and_then(|hit| Some((acl(hit)?, hit.rule)));
            cx.trace(b, AclTrace::new(sw_if, rule, &verdict, tuple));
        }
        self.conclude(b, list, verdict, cx)
    }

    /// Checks a vector.
    #[inline(never)]
    fn all(&self, v: &mut Vector<'_, To>, cx: &mut Cx<'_, false>) {
        let mut from = 0;
        while from < v.len() {
            let sw_if = interface(v.get(from), self.at);
            let end = v.len().min(from + BLOCK);
            let other = (from + 1..end).find(|i| interface(v.get(*i), self.at) != sw_if);
            let to = other.unwrap_or(end);
            self.block(v, from..to, sw_if, cx);
            from = to;
        }
    }

    /// Takes over a packet whose flow another thread owns.
    fn hand_off(&self, b: Owned, cx: &mut Cx<'_, false>) {
        let tuple = read::<F>(packet(&b, self.at), &self.judge.settings.skipped);
        let at = (interface(&b, self.at), self.at.direction);
        match tuple.and_then(|tuple| self.judge.owner(&tuple, at)) {
            Some(thread) => cx.handoff(thread, cx.node(), b),
            None => cx.emit(To::Deny, b),
        }
    }

    /// Judges packets of one interface, [`BLOCK`] at most.
    fn block(
        &self,
        v: &mut Vector<'_, To>,
        range: Range<usize>,
        sw_if: u32,
        cx: &mut Cx<'_, false>,
    ) {
        let policy = self.judge.policies.get(sw_if, cx.turn);
        let list = policy.and_then(|policy| policy.list(self.at.direction));
        let (Some(policy), Some(list)) = (policy, list) else {
            return range.for_each(|i| v.set(i, To::Next));
        };
        let mut tuples = [Tuple::<F::Addr>::NOTHING; BLOCK];
        let mut whole = 0_u64;
        let packets = v.range_mut_ahead(range.start, range.end);
        for (i, (b, tuple)) in packets.zip(&mut tuples).enumerate() {
            if let Some(read) = read::<F>(packet(b, self.at), &self.judge.settings.skipped) {
                *tuple = read;
                whole |= 1 << i;
            }
        }
        let mut found = [NONE; BLOCK];
        if !policy.reflects() {
            (self.find)(list, &tuples[..range.len()], &mut found[..range.len()], cx.turn);
        }
        let packets = range.clone().zip(tuples.iter().zip(&found)).enumerate();
        for (bit, (i, (tuple, found))) in packets {
            // A packet without a whole header matches no rule.
            let verdict = if whole >> bit & 1 == 0 {
                Verdict::Deny(None)
            } else if policy.reflects() {
                let at = (sw_if, self.at.direction);
                self.judge.judge((policy, list), tuple, at, (cx.turn, cx.now()))
            } else {
                Verdict::of_rule(list.hit(*found))
            };
            let to = self.conclude(v.get(i), list, verdict, cx);
            v.set(i, to);
        }
    }
}

impl<F: Listed, P: Place> Node for AclNode<F, P> {
    const NAME: &'static str = P::NAME;
    const V6: Option<bool> = Some(F::IS_V6);
    type Next = To;
    type Trace = AclTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        self.checker.one(b, cx)
    }

    #[inline(always)]
    fn stages<I: Isa>(&mut self, v: &mut Vector<'_, To>, cx: &mut Cx<'_, false>) {
        self.checker.all(v, cx);
    }

    fn keep(&mut self, b: Owned, cx: &mut Cx<'_, false>) {
        self.checker.hand_off(b, cx);
    }

    fn tick(&mut self, cx: &mut Cx<'_, false>) {
        if P::AT == RoutedIn::AT && self.checker.judge.expire((cx.turn, cx.now()), AT_A_TICK) {
            cx.again();
        }
    }
}

/// A record of a judgement.
#[derive(Clone, Copy)]
pub struct AclTrace {
    sw_if: u32,
    /// ACL and number of the rule that has decided.
    rule: Option<(u32, u32)>,
    word: &'static str,
    ends: Option<[(IpAddr, u16); 2]>,
    protocol: u8,
    part: Part,
    flags: u8,
}

impl AclTrace {
    fn new<A: Into<IpAddr>>(
        sw_if: u32,
        rule: Option<(u32, u32)>,
        verdict: &Verdict,
        tuple: Option<Tuple<A>>,
    ) -> Self {
        let upper = tuple.as_ref().map_or(crate::packet::PacketUpper::NONE, |tuple| tuple.upper);
        let ends = tuple.map(|tuple| {
            let (source, destination) = (tuple.source.into(), tuple.destination.into());
            [(source, upper.source), (destination, upper.destination)]
        });
        Self {
            sw_if,
            rule,
            word: verdict.word(),
            ends,
            protocol: upper.protocol,
            part: upper.part,
            flags: upper.flags,
        }
    }
}

impl Trace for AclTrace {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sw_if_index {}, action: {}, match: ", self.sw_if, self.word)?;
        match self.rule {
            Some((acl, rule)) => write!(f, "acl {acl} rule {rule}")?,
            None => f.write_str("none")?,
        }
        let Some([(source, from), (destination, to)]) = self.ends else {
            return f.write_str("\nno whole IP header");
        };
        let Self { protocol, flags, .. } = self;
        write!(f, "\n{source} {from} -> {destination} {to}, protocol {protocol}")?;
        match self.part {
            Part::Whole => write!(f, ", tcp flags 0x{flags:02x}"),
            Part::LaterFragment => f.write_str(", later fragment"),
            Part::Cut => f.write_str(", upper layer cut"),
        }
    }
}
