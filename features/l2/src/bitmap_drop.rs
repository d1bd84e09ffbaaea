// SPDX-License-Identifier: Apache-2.0
//! `feature-bitmap-drop`: frames for which no feature is left.

use buffer::Buffer;
use graph::{Build, Cx, Next, Node, ThreadIndex, World};

pub struct FeatureBitmapDrop;

#[derive(Next, Clone, Copy)]
pub enum To {
    /// bridge domain or interface forwards no such frames
    #[drop]
    #[counter("L2 feature forwarding disabled")]
    Disabled,
}

impl Build for FeatureBitmapDrop {
    fn build(_: &World, _: ThreadIndex) -> Self {
        Self
    }
}

impl Node for FeatureBitmapDrop {
    const NAME: &'static str = "feature-bitmap-drop";
    type Next = To;
    type Trace = ();

    fn packet<const TRACED: bool>(&mut self, _: &mut Buffer, _: &mut Cx<'_, TRACED>) -> To {
        To::Disabled
    }
}
