// SPDX-License-Identifier: Apache-2.0
//! Routes over several paths: each packet takes one by its flow.

use super::plan::Plan;
use super::way::Protocol;
use super::ways::Ways;
use super::{Bits, ETHERNET, To};
use crate::flow;
use crate::headers::BLOCK;
use buffer::Buffer;
use graph::{Cx, Vector};
use net::{AdjIndex, AdjKind, Choice, Flow, TableIndex};

/// Where packets of a plan go, by their numbers, and the route that was followed there ([`net::Adj::via`]).
pub struct Hops {
    pub to: [u32; BLOCK],
    pub via: [u32; BLOCK],
}

impl Hops {
    pub const NONE: Self = Self { to: [0; BLOCK], via: [0; BLOCK] };
}

impl<F: Protocol> Ways<F> {
    /// Chooses for those packets of a plan whose hop leaves a choice; says which these are.
    #[inline(always)]
    pub fn choose(
        &self,
        plan: &Plan<F>,
        which: u64,
        chosen: &mut Hops,
        v: &mut Vector<'_, To>,
        cx: &Cx<'_, false>,
    ) -> u64 {
        let (flow, records) = (self.fib.flow(TableIndex(plan.table), cx.turn), self.adjacencies.ordinaries());
        // What is chosen from is asked for behind all hashes, so that each waits for its own packet alone.
        for i in Bits(which) {
            chosen.to[i] = Self::hash(v.get_mut(plan.at(i)), plan.onward(i).total, flow);
        }
        let mut left = 0;
        for i in Bits(which) {
            let Some((member, via)) = self.member(AdjIndex(plan.hops[i]), chosen.to[i], cx) else {
                left |= 1 << i;
                continue;
            };
            records.prefetch(member);
            (chosen.to[i], chosen.via[i]) = (member.0, via);
        }
        which & !left
    }

    /// The hash of a frame whose packet has so many bytes.
    #[inline(always)]
    pub(super) fn hash(b: &mut Buffer, total: u32, flow: Flow) -> u32 {
        // The rest of the frame behind the packet has no ports. It stays for now: who takes the frame in place of the super-path counts it.
        let len = b.len();
        b.truncate(ETHERNET + total as usize);
        let hash = flow::hash::<F>(b, ETHERNET, flow);
        b.set_len(len);
        hash
    }

    /// What a hash chooses, if the hop leaves a choice, and the route that was followed to it.
    #[inline(always)]
    pub(super) fn member<const TRACED: bool>(
        &self,
        hop: AdjIndex,
        hash: u32,
        cx: &Cx<'_, TRACED>,
    ) -> Option<(AdjIndex, u32)> {
        match self.adjacencies.ordinaries().choice(hop) {
            Some(Choice { members, via }) => Some((members[hash as usize % members.len()], via)),
            None => self.member_of_many(hop, hash, cx),
        }
    }

    /// The same for more than a record has.
    #[inline(never)]
    fn member_of_many<const TRACED: bool>(
        &self,
        hop: AdjIndex,
        hash: u32,
        cx: &Cx<'_, TRACED>,
    ) -> Option<(AdjIndex, u32)> {
        let adj = self.adjacencies.get(hop, cx.turn).filter(|adj| adj.kind == AdjKind::LoadBalance)?;
        let member = self.adjacencies.buckets(adj, cx.turn).get((hash & adj.table) as usize)?;
        Some((*member, adj.via))
    }
}
