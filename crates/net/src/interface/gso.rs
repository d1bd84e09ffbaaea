// SPDX-License-Identifier: Apache-2.0
//! The feature `gso`.

use super::{Interface, Property};
use crate::view::{IfFlags, IfView};

/// True if the feature `gso` is on. Super-packets are cut into segments in any case. With it no
/// segment is longer than 2048 bytes with its Ethernet header; and a packet whose segments wouldn't
/// fit the MTU is fragmented as a whole, if IPv4 lets it, instead of being cut into smaller
/// segments.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Gso(pub bool);

impl Property for Gso {
    fn show(&self, _: &Interface, _: IfFlags, view: &mut IfView) {
        view.flags.set(IfFlags::GSO, self.0);
    }
}
