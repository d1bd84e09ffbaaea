// SPDX-License-Identifier: Apache-2.0
//! Port mirroring: attachment of the feature that copies frames.

use crate::attach::{OutputFeatures, register_input, register_output};
use crate::bridge::Bridge;
use crate::features::Features;
use crate::meta::{DomainBits, L2Meta};
use crate::ordinary::Origin;
use crate::state::NO_DOMAIN;
use buffer::Buffer;
use graph::{SwIfIndex, World};

/// The frames of an interface that are mirrored while they are switched.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Mirrored {
    /// True if received frames are mirrored.
    pub received: bool,
    /// True if sent frames are mirrored.
    pub sent: bool,
}

/// Sends received frames of mirrored interfaces from `l2-input` to the node `input`, in front of
/// all other features, and frames that mirrored interfaces send to the node `output`, behind all
/// others. [`crate::InputSteps`] has the next nodes of `input`; that of `output` is the output of
/// the interface.
///
/// # Errors
/// A node that doesn't exist; another feature that has registered before.
pub fn register_mirror(world: &World, input: &str, output: &str) -> Result<(), String> {
    register_input(world, Features::SPAN, input)?;
    register_output(world, OutputFeatures::SPAN, output)
}

impl Bridge {
    /// Mirrors switched frames of an interface, or ends that.
    pub fn set_mirrored(&self, world: &World, sw_if: SwIfIndex, mirrored: Mirrored) {
        self.set_input_feature(world, sw_if, Features::SPAN, mirrored.received);
        self.set_output_feature(world, sw_if, OutputFeatures::SPAN, mirrored.sent);
    }
}

impl Origin {
    /// Gives a frame the metadata that copies of it need ([`address_mirror_copy`]).
    pub fn mark(&self, b: &mut Buffer) {
        let domain = DomainBits::of(NO_DOMAIN, false);
        b.set_scratch(L2Meta::bridged(Features::empty(), domain, self.group(), 0));
    }
}

/// Prepares a copy of a switched frame for `l2-output`, which sends it to this interface whatever
/// domain that is in. The copy keeps its split-horizon group.
#[inline(always)]
pub fn address_mirror_copy(copy: &mut Buffer, to: u32) {
    let shg = copy.scratch::<L2Meta>().shg();
    copy.tx_if = to;
    copy.set_scratch(L2Meta::bridged(Features::empty(), DomainBits::of(NO_DOMAIN, false), shg, 0));
}
