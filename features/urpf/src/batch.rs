// SPDX-License-Identifier: Apache-2.0
//! Reverse path checks of many packets at once, in place of the node.

use crate::check::{Check, To, Urpf, exempt};
use crate::config::Config;
use graph::{Build, ChainStep, Cx, ThreadIndex, World};
use net::{AdjIndex, Net, PacketColumns, Stage};
use simd::{Isa, variants};
use sync::Turn;
use wire::Address;

/// Packets of one call at most.
const MOST: usize = u64::BITS as usize;

/// The function [`passing`], compiled for an instruction set.
type Passing<F> = fn(&Check<F>, &PacketColumns<'_, F>, Config, &Turn<'_>) -> u64;

/// The stage of a node.
pub struct Batch<F: Net, const TX: bool, const STRICT: bool> {
    check: Check<F>,
    passing: Passing<F>,
}

impl<F: Net, const TX: bool, const STRICT: bool> Build for Batch<F, TX, STRICT> {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self { check: Check::new(world, TX, STRICT), passing: passing_variants::<F>().best() }
    }
}

impl<F: Net, const TX: bool, const STRICT: bool> Stage<F> for Batch<F, TX, STRICT> {
    fn pass(
        &mut self,
        packets: &mut PacketColumns<'_, F>,
        step: ChainStep<'_>,
        cx: &Cx<'_, false>,
    ) -> u64 {
        (self.passing)(&self.check, packets, step.config::<Urpf<F, TX, STRICT>>(), cx.turn)
    }
}

/// A mask of the packets whose sources pass. All sources are looked up together,
/// so that the loads of the table's cells overlap. Most blocks are of sources behind one next hop.
#[inline(always)]
fn passing<I: Isa, F: Net>(
    check: &Check<F>,
    packets: &PacketColumns<'_, F>,
    config: Config,
    turn: &Turn<'_>,
) -> u64 {
    let &PacketColumns { sw_if, table, sources, .. } = packets;
    let fib = if check.is_tx {
        check.table_of(sw_if, config, turn)
    } else {
        config.table().unwrap_or(table)
    };
    if config.deny_default {
        let passes =
            |src| exempt::<F>(src) || check.without_default(src, fib, sw_if, turn) == To::Next;
        return mask(sources, passes);
    }
    let Some(routes) = check.fib.table(fib, turn) else { return 0 };
    let n = sources.len().min(MOST);
    let (mut keys, mut hops) = ([F::key(F::Addr::ZERO); MOST], [0; MOST]);
    keys.iter_mut().zip(sources).for_each(|(key, src)| *key = F::key(*src));
    if check.look_up::<I>(routes, &keys[..n], &mut hops, sw_if, turn) {
        return u64::MAX;
    }
    let mut hops = hops.iter();
    mask(sources, |src| {
        let hop = hops.next().map_or(AdjIndex::default(), |hop| AdjIndex(*hop));
        exempt::<F>(src) || check.judge(hop, src, fib, sw_if, turn) == To::Next
    })
}

/// A mask whose bit `i` says whether source `i` passes.
#[inline(always)]
fn mask<A: Copy>(sources: &[A], mut passes: impl FnMut(A) -> bool) -> u64 {
    let sources = sources.iter().take(MOST).enumerate();
    sources.fold(0, |mask, (i, src)| mask | u64::from(passes(*src)) << i)
}

variants! {
    /// [`passing`].
    fn passing_variants<I: Isa, F: Net>(
        check: &Check<F>,
        packets: &PacketColumns<'_, F>,
        config: Config,
        turn: &Turn<'_>
    ) -> u64 = passing::<I, F>;
}
