// SPDX-License-Identifier: Apache-2.0
//! `arp-disabled`: the interface has no IPv4.

use buffer::Buffer;
use graph::{Build, Cx, Next, Node, ThreadIndex, World};

pub struct ArpDisabled;

#[derive(Next, Clone, Copy)]
pub enum To {
    /// ARP is disabled: the interface has no IPv4 address.
    #[drop]
    Disabled,
}

impl Build for ArpDisabled {
    fn build(_: &World, _: ThreadIndex) -> Self {
        Self
    }
}

impl Node for ArpDisabled {
    const NAME: &'static str = "arp-disabled";
    type Next = To;
    type Trace = ();

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, _: &mut Buffer, _: &mut Cx<'_, TRACED>) -> To {
        To::Disabled
    }
}
