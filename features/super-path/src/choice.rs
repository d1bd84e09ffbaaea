// SPDX-License-Identifier: Apache-2.0
//! Routes over several paths: the flow hash selects one for each packet.

use crate::forwarder::Forwarder;
use crate::next_hop::Protocol;
use crate::plan::Plan;
use crate::{Bits, ETHERNET, To};
use buffer::Buffer;
use graph::{Cx, Vector};
use ip::flow;
use ip::headers::BLOCK;
use net::{AdjIndex, AdjKind, Flow, SmallLoadBalance, TableIndex};

/// Adjacencies of a plan's packets, by their numbers, and the route that was followed there
/// ([`net::Adj::via`]).
pub struct Hops {
    pub to: [u32; BLOCK],
    pub via: [u32; BLOCK],
}

impl Hops {
    pub const NONE: Self = Self { to: [0; BLOCK], via: [0; BLOCK] };
}

impl<F: Protocol> Forwarder<F> {
    /// Selects a member for each packet in `which` whose hop is a load-balance; returns the mask of
    /// these packets.
    #[inline(always)]
    pub fn choose(
        &self,
        plan: &Plan<F>,
        which: u64,
        chosen: &mut Hops,
        v: &mut Vector<'_, To>,
        cx: &Cx<'_, false>,
    ) -> u64 {
        let (flow, records) =
            (self.fib.flow(TableIndex(plan.table), cx.turn), self.adjacencies.ordinaries());
        // Load-balances are read behind all hashes, so that each hash waits for its own packet
        // alone.
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
        // Padding behind the packet has no ports. It is cut off only for the hash: if the graph
        // handles the frame after all, it counts it.
        let len = b.len();
        b.truncate(ETHERNET + total as usize);
        let hash = flow::hash::<F>(b, ETHERNET, flow);
        b.set_len(len);
        hash
    }

    /// Returns the member that a hash selects, if the hop is a load-balance, and the route that was
    /// followed to it.
    #[inline(always)]
    pub(super) fn member(
        &self,
        hop: AdjIndex,
        hash: u32,
        cx: &Cx<'_, false>,
    ) -> Option<(AdjIndex, u32)> {
        match self.adjacencies.ordinaries().load_balance(hop) {
            Some(SmallLoadBalance { members, via }) => {
                Some((members[hash as usize % members.len()], via))
            }
            None => self.member_of_many(hop, hash, cx),
        }
    }

    /// The same for load-balances with more members than a compact record holds.
    #[inline(never)]
    fn member_of_many(
        &self,
        hop: AdjIndex,
        hash: u32,
        cx: &Cx<'_, false>,
    ) -> Option<(AdjIndex, u32)> {
        let adj =
            self.adjacencies.get(hop, cx.turn).filter(|adj| adj.kind == AdjKind::LoadBalance)?;
        Some((self.adjacencies.select(adj, hash, 0, cx.turn)?, adj.via))
    }
}
