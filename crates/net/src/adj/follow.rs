// SPDX-License-Identifier: Apache-2.0
//! Load-balances followed to the adjacencies behind them.

use super::{Adj, AdjIndex, AdjInfo, AdjKind, Adjacencies};
use std::collections::BTreeSet;
use sync::Turn;

/// Maximum number of load-balances one behind the other: recursive routes over several paths each.
const DEPTH: u32 = 16;

impl Adjacencies {
    /// Selects the bucket of a load-balance for a flow hash. `step` is the number of load-balances
    /// that the packet has passed: each takes other bits, or nested ones would select by the same.
    #[inline(always)]
    pub fn select(&self, adj: &Adj, hash: u32, step: u32, turn: &Turn<'_>) -> Option<AdjIndex> {
        let bucket = hash.rotate_right(step * 5) & adj.table;
        self.buckets(adj, turn).get(bucket as usize).copied()
    }

    /// The adjacency that packets of one flow take behind load-balances: for features that need any
    /// output.
    pub fn any_member<'t>(&'t self, index: AdjIndex, turn: &'t Turn<'_>) -> Option<&'t Adj> {
        let mut adj = self.get(index, turn)?;
        for step in 0..DEPTH {
            if adj.kind != AdjKind::LoadBalance {
                return Some(adj);
            }
            adj = self.get(self.select(adj, 0, step, turn)?, turn)?;
        }
        None
    }

    /// Calls `f` on the adjacencies behind load-balances until it returns true; returns true if it
    /// did.
    pub fn find_member(
        &self,
        index: AdjIndex,
        turn: &Turn<'_>,
        f: &mut dyn FnMut(&Adj) -> bool,
    ) -> bool {
        self.find_within(index, turn, f, DEPTH)
    }

    fn find_within(
        &self,
        index: AdjIndex,
        turn: &Turn<'_>,
        f: &mut dyn FnMut(&Adj) -> bool,
        depth: u32,
    ) -> bool {
        let Some(adj) = self.get(index, turn).filter(|_| depth > 0) else { return false };
        if adj.kind != AdjKind::LoadBalance {
            return f(adj);
        }
        let buckets = self.buckets(adj, turn);
        // A path has several buckets beside each other, as its weight says.
        let mut members =
            buckets.iter().enumerate().filter(|(i, b)| *i == 0 || buckets[i - 1] != **b);
        members.any(|(_, bucket)| self.find_within(*bucket, turn, f, depth - 1))
    }

    /// The adjacencies behind load-balances, each once, for control.
    pub fn members(&self, index: AdjIndex) -> Vec<AdjInfo> {
        let (mut left, mut seen, mut all) = (vec![index], BTreeSet::new(), Vec::new());
        while let Some(info) = left.pop().and_then(|index| self.info(index)) {
            if info.adj.kind != AdjKind::LoadBalance {
                all.push(info);
                continue;
            }
            let mut buckets = self.buckets_of(AdjIndex(info.adj.counter));
            buckets.retain(|bucket| seen.insert(*bucket));
            left.extend(buckets.into_iter().rev());
        }
        all
    }
}
