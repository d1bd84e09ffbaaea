// SPDX-License-Identifier: Apache-2.0
//! Lists of ACLs as packets are held against them.

use crate::lookup::{self, RuleSet, first_match};
use crate::packet::{Read, Tuple};
use crate::rule::{Action, Rule};
use cli::Result;
use net::Net;
use simd::{Isa, variants};
use stats::CombinedLane;
use std::sync::Arc;
use sync::Turn;
use tables::Forest;
use wire::{Ip4, Ip6};

/// A direction, as an interface sees packets.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Direction {
    /// Received packets.
    Input,
    /// Sent packets.
    Output,
}

impl Direction {
    /// Both.
    pub const BOTH: [Self; 2] = [Self::Input, Self::Output];

    /// Its word in commands.
    pub const fn name(self) -> &'static str {
        ["input", "output"][self as usize]
    }
}

/// A rule of a list of ACLs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hit {
    /// Position of its ACL in the list.
    pub position: u16,
    /// Its number in its ACL.
    pub rule: u32,
    /// Verdict of the matching rule.
    pub action: Action,
}

/// A protocol with lists.
pub trait Listed: Net + Read {
    /// The rules of a list for this protocol.
    fn rules(list: &List) -> &RuleSet<Self>;
}

impl Listed for Ip4 {
    #[inline(always)]
    fn rules(list: &List) -> &RuleSet<Self> {
        &list.ip4
    }
}

impl Listed for Ip6 {
    #[inline(always)]
    fn rules(list: &List) -> &RuleSet<Self> {
        &list.ip6
    }
}

/// ACLs one behind the other. Lists of the same ACLs are compiled once.
pub struct List {
    /// Numbers of the ACLs.
    pub acls: Vec<u32>,
    rules: Vec<Rule>,
    /// By position in `rules`.
    hits: Vec<Hit>,
    ip4: RuleSet<Ip4>,
    ip6: RuleSet<Ip6>,
    reflects: bool,
    fragments: bool,
    /// Counters of matches, by thread and position of the ACL.
    counters: Vec<Vec<CombinedLane>>,
}

impl List {
    /// Compiles a list of ACLs, each with its number and its rules. `fragments` is as in
    /// `RuleSet::new`.
    ///
    /// # Errors
    /// A list that would take too much memory.
    pub fn new(
        acls: &[(u32, Arc<[Rule]>)],
        fragments: bool,
        forest: &Arc<Forest>,
        counters: Vec<Vec<CombinedLane>>,
    ) -> Result<Self> {
        let (mut rules, mut hits) = (Vec::new(), Vec::new());
        for (position, (_, of_acl)) in (0..).zip(acls) {
            rules.extend_from_slice(of_acl);
            let of = (0..).zip(of_acl.iter());
            hits.extend(of.map(|(number, rule)| Hit {
                position,
                rule: number,
                action: rule.action,
            }));
        }
        Ok(Self {
            acls: acls.iter().map(|(number, _)| *number).collect(),
            ip4: RuleSet::new(&rules, fragments, forest)?,
            ip6: RuleSet::new(&rules, fragments, forest)?,
            reflects: rules.iter().any(|rule| rule.action == Action::Reflect),
            rules,
            hits,
            fragments,
            counters,
        })
    }

    /// True if a rule makes sessions.
    pub fn reflects(&self) -> bool {
        self.reflects
    }

    /// Number of rules.
    pub fn len(&self) -> usize {
        self.rules.len()
    }

    /// True if there are no rules.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Bytes that the compiled rules take, but for those of prefixes.
    pub fn memory(&self) -> usize {
        self.ip4.memory() + self.ip6.memory()
    }

    /// The rule at a position that a lookup has found; `None` for no rule: packets are denied.
    #[inline(always)]
    pub fn hit(&self, found: u32) -> Option<Hit> {
        self.hits.get(found as usize).copied()
    }

    /// The first rule that matches a packet. Not inlined: it contains the lookups of addresses.
    #[inline(never)]
    pub fn find<F: Listed>(&self, packet: &Tuple<F::Addr>, turn: &Turn<'_>) -> Option<Hit> {
        let mut found = [lookup::NONE];
        F::rules(self).find::<simd::V1>(std::slice::from_ref(packet), &mut found, turn);
        self.hit(found[0])
    }

    /// The same, rule by rule: for control, which has no turn.
    pub fn explain<F: Listed>(&self, packet: &Tuple<F::Addr>) -> Option<Hit> {
        let at = first_match::<F>(&self.rules, packet, self.fragments)?;
        self.hits.get(at).copied()
    }

    /// Counts a packet that a rule has decided.
    #[inline(always)]
    pub fn count(&self, thread: usize, hit: Hit, bytes: usize) {
        if let Some(lanes) = self.counters.get(thread)
            && let Some(lane) = lanes.get(usize::from(hit.position))
        {
            lane.add(hit.rule as usize, 1, bytes as u64);
        }
    }
}

/// `RuleSet::find` for packets of one protocol, compiled for an instruction set.
pub type FindMany<F> = fn(&List, &[Tuple<<F as wire::Family>::Addr>], &mut [u32], &Turn<'_>);

#[inline(always)]
fn find_many<I: Isa, F: Listed>(
    list: &List,
    packets: &[Tuple<F::Addr>],
    found: &mut [u32],
    turn: &Turn<'_>,
) {
    F::rules(list).find::<I>(packets, found, turn);
}

variants! {
    /// [`FindMany`].
    pub fn find_variants<I: Isa, F: Listed>(
        list: &List,
        packets: &[Tuple<F::Addr>],
        found: &mut [u32],
        turn: &Turn<'_>
    ) -> () = find_many::<I, F>;
}
