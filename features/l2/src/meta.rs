// SPDX-License-Identifier: Apache-2.0
//! What the nodes tell each other of a frame.

use crate::features::Features;
use crate::state::NO_DOMAIN;
use buffer::Buffer;

/// See [`L2Meta::place`].
const LIMITED: u32 = 1 << 24;

/// The part of [`L2Meta::place`] that is the same for all frames of a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place(u32);

impl Place {
    /// For frames in the domain with this index; storm control limits what the port floods, or doesn't.
    pub const fn of(domain: u16, is_limited: bool) -> Self {
        Self(domain as u32 | if is_limited { LIMITED } else { 0 })
    }
}

buffer::scratch! {
    /// Valid from `l2-input` to `l2-output`.
    pub struct L2Meta {
        /// The features that follow: [`Features`].
        pub features: u32,
        /// Bits 0 to 15: the domain's index, [`NO_DOMAIN`] in a cross-connect. Bits 16 to 23: the split-horizon group, 0 for none.
        /// [`LIMITED`]: storm control has yet to pass the frame if it is flooded.
        pub place: u32,
        /// Generation numbers of the domain (bits 8 to 15) and of the receiving port (bits 0 to 7).
        pub generation: u32,
    }
}

impl L2Meta {
    /// For a frame of a bridge domain.
    #[inline(always)]
    pub const fn bridged(features: Features, domain: Place, shg: u8, generation: u16) -> Self {
        Self { features: features.0, place: domain.0 | (shg as u32) << 16, generation: generation as u32 }
    }

    /// For a frame of a cross-connect.
    #[inline(always)]
    pub const fn crossed(features: Features) -> Self {
        Self::bridged(features, Place::of(NO_DOMAIN, false), 0, 0)
    }

    /// The domain's index.
    #[inline(always)]
    pub const fn domain(self) -> u16 {
        self.place as u16
    }

    /// The split-horizon group.
    #[inline(always)]
    pub const fn shg(self) -> u8 {
        (self.place >> 16) as u8
    }

    /// Whether storm control has yet to pass the frame if it is flooded.
    #[inline(always)]
    pub const fn is_limited(self) -> bool {
        self.place & LIMITED != 0
    }

    /// With storm control behind it.
    #[inline(always)]
    pub const fn passed(self) -> Self {
        Self { place: self.place & !LIMITED, ..self }
    }

    /// The features that follow.
    #[inline(always)]
    pub const fn features(self) -> Features {
        Features(self.features)
    }
}

/// Prepares a frame that `l2-input` has not seen, for example a routed one that keeps its layer-2 header, for `l2-output`, which sends it
/// to this interface whatever domain that is in. The frame is in no split-horizon group.
#[inline(always)]
pub fn address_frame(b: &mut Buffer, to: u32) {
    b.tx_if = to;
    b.set_scratch(L2Meta::crossed(Features::NONE));
}
