// SPDX-License-Identifier: Apache-2.0
//! Reverse path checks of many packets at once, without a visit to the node.

use crate::check::{To, Urpf, exempt};
use crate::config::Config;
use graph::{ChainStep, Node, World};
use net::{AdjIndex, Check, Checks, Net, PacketColumns};
use simd::{Isa, variants};
use std::sync::Arc;
use sync::Turn;
use wire::Address;

/// Packets of one call at most.
const MOST: usize = u64::BITS as usize;

/// The function [`passing`], compiled for an instruction set.
type Passing<F, const STRICT: bool> =
    fn(&Urpf<F, false, STRICT>, &PacketColumns<'_, F>, Config, &Turn<'_>) -> u64;

/// The check of `{ip}-rx-urpf-strict` or `{ip}-rx-urpf-loose`.
struct Batch<F: Net, const STRICT: bool> {
    urpf: Urpf<F, false, STRICT>,
    passing: Passing<F, STRICT>,
}

impl<F: Net, const STRICT: bool> Check<F> for Batch<F, STRICT> {
    fn passing(&self, packets: &PacketColumns<'_, F>, step: ChainStep<'_>, turn: &Turn<'_>) -> u64 {
        (self.passing)(&self.urpf, packets, step.config::<Urpf<F, false, STRICT>>(), turn)
    }
}

/// A mask of the packets whose sources pass. All sources are looked up together, as in the node.
#[inline(always)]
fn passing<I: Isa, F: Net, const STRICT: bool>(
    urpf: &Urpf<F, false, STRICT>,
    packets: &PacketColumns<'_, F>,
    config: Config,
    turn: &Turn<'_>,
) -> u64 {
    let &PacketColumns { rx_if, table, sources, .. } = packets;
    let fib = config.table().unwrap_or(table);
    if config.deny_default {
        let passes =
            |src| exempt::<F>(src) || urpf.without_default(src, fib, rx_if, turn) == To::Next;
        return packets.mask(|i| passes(sources[i]));
    }
    let Some(routes) = urpf.fib.table(fib, turn) else { return 0 };
    let n = sources.len().min(MOST);
    let (mut keys, mut hops) = ([F::key(F::Addr::ZERO); MOST], [0; MOST]);
    keys.iter_mut().zip(sources).for_each(|(key, src)| *key = F::key(*src));
    if urpf.look_up::<I>(routes, &keys[..n], &mut hops, rx_if, turn) {
        return u64::MAX;
    }
    packets.mask(|i| {
        let (src, hop) = (sources[i], AdjIndex(hops[i]));
        exempt::<F>(src) || urpf.judge(hop, src, fib, rx_if, turn) == To::Next
    })
}

variants! {
    /// [`passing`].
    fn passing_variants<I: Isa, F: Net, const STRICT: bool>(
        urpf: &Urpf<F, false, STRICT>,
        packets: &PacketColumns<'_, F>,
        config: Config,
        turn: &Turn<'_>
    ) -> u64 = passing::<I, F, STRICT>;
}

/// Registers the checks of both modes.
///
/// # Errors
/// A node that doesn't exist.
pub fn register<F: Net>(world: &World) -> Result<(), String> {
    of_mode::<F, false>(world)?;
    of_mode::<F, true>(world)
}

fn of_mode<F: Net, const STRICT: bool>(world: &World) -> Result<(), String> {
    let urpf = Urpf::new(world);
    let passing = passing_variants::<F, STRICT>().best();
    let name = graph::filled(<Urpf<F, false, STRICT> as Node>::NAME, F::IS_V6);
    world.get::<Checks<F>>().register(world, &name, Arc::new(Batch { urpf, passing }))
}
