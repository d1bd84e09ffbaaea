// SPDX-License-Identifier: Apache-2.0
//! Features of received packets that can be asked about many packets at once, without their node.

use crate::{Net, TableIndex};
use graph::{ChainStep, NodeIndex, Shared, World};
use std::sync::Arc;
use sync::{Snapshot, Turn};

/// Packets that an interface has received, at most 64, by columns.
#[derive(Clone, Copy, Debug)]
pub struct Arrivals<'a, F: Net> {
    /// Its index.
    pub rx_if: u32,
    /// Its table.
    pub table: TableIndex,
    /// Their sources.
    pub sources: &'a [F::Addr],
    /// Their bytes from the IP header on.
    pub lengths: &'a [u32],
}

impl<F: Net> Arrivals<'_, F> {
    /// Bit `i` is what `passes` says of packet `i`.
    #[inline(always)]
    pub fn each(&self, passes: impl Fn(usize) -> bool) -> u64 {
        (0..self.lengths.len()).fold(0, |mask, i| mask | u64::from(passes(i)) << i)
    }
}

/// A feature on `ip4-unicast` or `ip6-unicast` that changes no packet and keeps nothing of it. It tells which packets its node would let pass, so that those
/// needn't visit the node.
pub trait Check<F: Net>: Send + Sync {
    /// Bit `i` says that the node would send packet `i` on to the next feature, and count nothing. The node decides about all other
    /// packets. Bits beyond the packets mean nothing. `step` has what is configured for the feature on the interface.
    fn passing(&self, packets: &Arrivals<'_, F>, step: ChainStep<'_>, turn: &Turn<'_>) -> u64;
}

/// The checks of all features.
pub struct Checks<F: Net>(Snapshot<Vec<Option<Arc<dyn Check<F>>>>>);

impl<F: Net> Shared for Checks<F> {
    fn make(world: &World) -> Self {
        Self(Snapshot::new(world.qsbr.clone(), Vec::new()))
    }
}

impl<F: Net> Checks<F> {
    /// Registers the check that `node` makes.
    ///
    /// # Errors
    /// A node that doesn't exist.
    pub fn register(&self, world: &World, node: &str, check: Arc<dyn Check<F>>) -> Result<(), String> {
        let at = world.node(node).ok_or_else(|| format!("no node is named {node}"))?.at();
        self.0.update(|checks| {
            let mut checks = checks.clone();
            checks.resize(checks.len().max(at + 1), None);
            checks[at] = Some(check.clone());
            checks
        });
        Ok(())
    }

    /// Control: whether a node makes a check.
    pub fn has(&self, node: NodeIndex) -> bool {
        self.0.read(|checks| checks.get(node.at()).is_some_and(Option::is_some))
    }

    /// The check that a node makes, if it is one.
    #[inline]
    pub fn of<'t>(&'t self, node: NodeIndex, turn: &'t Turn<'_>) -> Option<&'t dyn Check<F>> {
        self.0.get(turn).get(node.at())?.as_deref()
    }
}
