// SPDX-License-Identifier: Apache-2.0
//! Routed packets in the fast path, many at a time: those that a rule permits, and those of
//! sessions that are there.

use crate::judge::Judge;
use crate::list::{FindMany, List, Listed, find_variants};
use crate::lookup::{BLOCK, NONE};
use crate::node::Place;
use crate::packet::{Tuple, read};
use crate::policy::Policy;
use crate::rule::Action;
use crate::session::Key;
use graph::{Build, ChainStep, Cx, ErrorIndex, ThreadIndex, World, filled};
use net::{PacketColumns, Stage};
use std::marker::PhantomData;

/// The stage of a node, by its place.
pub struct Permitted<F: Listed, P> {
    judge: Judge<F>,
    find: FindMany<F>,
    checked: ErrorIndex,
    permit: ErrorIndex,
    existing: ErrorIndex,
    restarted: ErrorIndex,
    thread: ThreadIndex,
    tuples: [Tuple<F::Addr>; BLOCK],
    place: PhantomData<P>,
}

impl<F: Listed, P: Place> Build for Permitted<F, P> {
    fn build(world: &World, thread: ThreadIndex) -> Self {
        let node = filled(P::NAME, F::IS_V6);
        let of = |reason| world.reason_index(&node, reason).expect("a counter of this plugin");
        Self {
            judge: Judge::new(world, thread),
            find: find_variants::<F>().best(),
            checked: of("checked packets"),
            permit: of("ACL permit packets"),
            existing: of("existing session packets"),
            restarted: of("restart session timer"),
            thread,
            tuples: [Tuple::NOTHING; BLOCK],
            place: PhantomData,
        }
    }
}

impl<F: Listed, P: Place> Stage<F> for Permitted<F, P> {
    fn pass(
        &mut self,
        packets: &mut PacketColumns<'_, F>,
        _: ChainStep<'_>,
        cx: &Cx<'_, false>,
    ) -> u64 {
        let policy = self.judge.policies.get(packets.sw_if, cx.turn);
        let Some(policy) = policy else { return u64::MAX };
        let Some(list) = policy.list(P::AT.direction) else { return u64::MAX };
        let settings = &self.judge.settings;
        // Headers are whole here.
        packets.mask(|packets, i| {
            let tuple = read::<F>(packets.packet(i), &settings.skipped);
            tuple.into_iter().for_each(|tuple| self.tuples[i % BLOCK] = tuple);
            true
        });
        let passed = if policy.reflects() { self.by_sessions(policy, packets, cx) } else { 0 };
        let passing = passed | self.by_rules((policy, list), packets, packets.which & !passed, cx);
        let n = (passing & packets.which).count_ones().into();
        cx.count_for(self.checked, n);
        cx.count_for(self.permit, n);
        passing
    }
}

impl<F: Listed, P: Place> Permitted<F, P> {
    /// A mask of packets of sessions that were judged by these lists.
    fn by_sessions(
        &self,
        policy: &Policy,
        packets: &mut PacketColumns<'_, F>,
        cx: &Cx<'_, false>,
    ) -> u64 {
        let (sw_if, now) = (packets.sw_if, cx.now());
        let Some(mut sessions) = self.judge.sessions.of(self.thread, cx.turn) else { return 0 };
        let (flows, settings) = (sessions.of::<F>(), &self.judge.settings);
        let (mut keys, mut found) = ([Key::NOTHING; BLOCK], [NONE; BLOCK]);
        let n = BLOCK - packets.which.leading_zeros() as usize;
        let of_flows = packets.mask(|_, i| {
            let key = Key::of(&self.tuples[i % BLOCK], sw_if, P::AT.direction);
            key.is_some_and(|key| {
                keys[i % BLOCK] = key;
                true
            })
        });
        flows.find_many(&keys[..n], &mut found[..n]);
        let mut restarted = 0;
        let passed = packets.mask(|_, i| {
            let tuple = &self.tuples[i % BLOCK];
            // A flow has its session on the thread that owns it: it isn't found on others.
            let session = flows.alive(found[i % BLOCK], now).filter(|_| of_flows >> i & 1 != 0);
            let Some((at, session)) = session else { return false };
            if session.generation != policy.generation {
                return false;
            }
            let upper = (tuple.upper.protocol, tuple.upper.flags);
            restarted += u64::from(flows.note(at, upper, P::AT.direction, (now, settings)));
            true
        });
        cx.count_for(self.existing, passed.count_ones().into());
        cx.count_for(self.restarted, restarted);
        passed
    }

    /// A mask of packets that rules permit without a session.
    fn by_rules(
        &self,
        (policy, list): (&Policy, &List),
        packets: &PacketColumns<'_, F>,
        which: u64,
        cx: &Cx<'_, false>,
    ) -> u64 {
        let n = BLOCK - which.leading_zeros() as usize;
        let mut found = [NONE; BLOCK];
        (self.find)(list, &self.tuples[..n], &mut found[..n], cx.turn);
        let mut passing = 0;
        for (i, found) in found.iter().enumerate().take(n) {
            let Some(hit) = list.hit(*found) else { continue };
            if which >> i & 1 == 0 || hit.action == Action::Deny {
                continue;
            }
            // It may have a session on another thread, or make one.
            if policy.reflects()
                && Key::of(&self.tuples[i], packets.sw_if, P::AT.direction).is_some()
            {
                continue;
            }
            let bytes = packets.lengths.get(i).copied().unwrap_or_default();
            self.judge.count(list, hit, bytes as usize);
            passing |= 1 << i;
        }
        passing
    }
}
