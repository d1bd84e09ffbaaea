// SPDX-License-Identifier: Apache-2.0
//! Whole packets that leave, in the fast path. Fragments go to the node.

use super::upper;
use crate::fragment::{Fragments, Part};
use buffer::Field;
use graph::{Build, ChainStep, Cx, ThreadIndex, World};
use net::{L4, PacketColumns, Stage};

/// Lets whole packets pass. What nodes in front have noted of their upper layer may have changed:
/// nodes behind read it from the packet itself.
pub struct Whole {
    l4: Field<L4>,
}

impl Build for Whole {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self { l4: world.field() }
    }
}

impl<F: Fragments> Stage<F> for Whole {
    fn pass(
        &mut self,
        packets: &mut PacketColumns<'_, F>,
        _: ChainStep<'_>,
        _: &Cx<'_, false>,
    ) -> u64 {
        packets.mask(|packets, i| {
            let bytes = packets.packet(i);
            let part = F::part(bytes, bytes.len());
            let is_whole = matches!(part, Ok(Part::Whole | Part::Atomic(_)));
            let passes = is_whole && upper::read(bytes).is_some();
            if passes {
                packets.buffer(i).clear_field(self.l4);
            }
            passes
        })
    }
}
