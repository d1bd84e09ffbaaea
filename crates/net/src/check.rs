// SPDX-License-Identifier: Apache-2.0
//! Checks: features of received packets that decide about many packets at once, without a visit to
//! their node.

use crate::{Net, TableIndex};
use graph::{ChainStep, NodeIndex, Shared, World};
use std::fmt;
use std::sync::Arc;
use sync::{Snapshot, Turn};

/// At most 64 packets of one interface, in columns.
#[derive(Clone, Copy)]
pub struct PacketColumns<'a, F: Net> {
    /// The index of the receiving interface.
    pub rx_if: u32,
    /// The table of that interface.
    pub table: TableIndex,
    /// Source addresses.
    pub sources: &'a [F::Addr],
    /// IP packet lengths in bytes, header included.
    pub lengths: &'a [u32],
    /// Bytes of a packet from its IP header on. They aren't in the cache of a check that needs the
    /// columns only, and so aren't a column.
    pub packet: &'a dyn Fn(usize) -> Option<&'a [u8]>,
}

impl<F: Net> fmt::Debug for PacketColumns<'_, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let &Self { rx_if, table, sources, lengths, packet: _ } = self;
        let mut out = f.debug_struct("PacketColumns");
        out.field("rx_if", &rx_if).field("table", &table);
        out.field("sources", &sources).field("lengths", &lengths).finish_non_exhaustive()
    }
}

impl<F: Net> PacketColumns<'_, F> {
    /// A mask whose bit `i` is `passes(i)`.
    #[inline(always)]
    pub fn mask(&self, passes: impl Fn(usize) -> bool) -> u64 {
        let n = self.lengths.len().min(u64::BITS as usize);
        (0..n).fold(0, |mask, i| mask | u64::from(passes(i)) << i)
    }
}

/// A feature on `ip4-unicast` or `ip6-unicast` that neither changes packets nor keeps state about
/// them. Packets that its check accepts skip its node.
pub trait Check<F: Net>: Send + Sync {
    /// A mask. Bit `i` is set if the node would send packet `i` to the next feature without
    /// counting anything. The node decides about all other packets. Bits beyond the last packet
    /// are ignored. `step` has the feature's configuration on the interface.
    fn passing(&self, packets: &PacketColumns<'_, F>, step: ChainStep<'_>, turn: &Turn<'_>) -> u64;
}

/// The checks of all features, by node.
pub struct Checks<F: Net>(Snapshot<Vec<Option<Arc<dyn Check<F>>>>>);

impl<F: Net> Shared for Checks<F> {
    fn make(world: &World) -> Self {
        Self(Snapshot::new(world.qsbr.clone(), Vec::new()))
    }
}

impl<F: Net> Checks<F> {
    /// Registers the check of the feature `node`.
    ///
    /// # Errors
    /// A node that doesn't exist.
    pub fn register(
        &self,
        world: &World,
        node: &str,
        check: Arc<dyn Check<F>>,
    ) -> Result<(), String> {
        let at = world.node(node).ok_or_else(|| format!("no node is named {node}"))?.at();
        self.0.update(|checks| {
            let mut checks = checks.clone();
            checks.resize(checks.len().max(at + 1), None);
            checks[at] = Some(check);
            checks
        });
        Ok(())
    }

    /// Control: whether a node has a check.
    pub fn has(&self, node: NodeIndex) -> bool {
        self.0.read(|checks| checks.get(node.at()).is_some_and(Option::is_some))
    }

    /// The check of a node, if it has one.
    #[inline]
    pub fn of<'t>(&'t self, node: NodeIndex, turn: &'t Turn<'_>) -> Option<&'t dyn Check<F>> {
        self.0.get(turn).get(node.at())?.as_deref()
    }
}
