// SPDX-License-Identifier: Apache-2.0
//! Replication: packets of which several copies leave, such as multicast and flooded frames.
//!
//! A node keeps such packets (`#[keep]`) and makes the copies at the end of the vector. The number
//! of copies at a time is bounded, so that few packets with many targets don't take all buffers:
//! packets beyond it go back to the node, behind the copies. A node that makes copies beside its
//! packets counts them by [`Copies::note`].

use crate::{Cx, Next};
use buffer::{Buffer, Owned};

/// Copies that the packets of a vector make at most, plus those of the packet that reaches this
/// number.
const AT_ONCE: usize = 1024;

/// Bytes of each copy that the next nodes may change. The copies share the rest.
const HEAD: usize = 256;

/// The copies that a node is going to make of the packets of a vector.
#[derive(Debug, Default)]
pub struct Copies {
    planned: usize,
    /// Kept packets of which copies are planned: the first of all kept packets.
    packets: usize,
}

impl Copies {
    /// Returns true if packets have to wait until the planned copies have left.
    #[inline(always)]
    pub fn are_enough(&self) -> bool {
        self.planned >= AT_ONCE
    }

    /// Plans copies of a packet, which the node then keeps.
    #[inline(always)]
    pub fn plan(&mut self, copies: usize) {
        self.planned += copies;
        self.packets += 1;
    }

    /// Notes copies that were made at once of a packet that the node doesn't keep.
    #[inline(always)]
    pub fn note(&mut self, copies: usize) {
        self.planned += copies;
    }

    /// For each kept packet in order: whether copies of it are planned. If not, it has to wait.
    #[inline(always)]
    pub fn take(&mut self) -> bool {
        let is_planned = self.packets > 0;
        self.packets -= usize::from(is_planned);
        is_planned
    }

    /// Ends the vector.
    #[inline(always)]
    pub fn end(&mut self) {
        self.planned = 0;
    }
}

/// The outcome of [`copy_to_each`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Copied {
    /// Copies made, without the packet itself.
    pub copies: usize,
    /// Copies that there was no buffer for.
    pub missing: usize,
}

/// Sends a copy of a packet to each target. The packet itself is the copy for the last target if
/// its head holds all of it. `lead` prepares a copy for a target and returns its next node; without
/// any target the packet goes to `nowhere`.
pub fn copy_to_each<T, N: Next>(
    packet: Owned,
    mut targets: impl Iterator<Item = T> + Clone,
    nowhere: N,
    cx: &mut Cx<'_, false>,
    lead: impl Fn(&mut Buffer, T, &Cx<'_, false>) -> N,
) -> Copied {
    let original = packet.into_original(HEAD);
    // Control may have removed targets since the packet was planned.
    let wanted = targets.clone().count().saturating_sub(original.is_whole().into());
    let mut copies = 0;
    for target in targets.by_ref().take(wanted) {
        let Some(mut copy) = original.copy(cx.cache()) else { continue };
        let to = lead(&mut copy, target, cx);
        cx.emit(to, copy);
        copies += 1;
    }
    if let Some(mut last) = original.finish(cx.cache()) {
        let to = targets.next().map_or(nowhere, |target| lead(&mut last, target, cx));
        cx.emit(to, last);
    }
    Copied { copies, missing: wanted - copies }
}
