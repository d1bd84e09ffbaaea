// SPDX-License-Identifier: Apache-2.0
//! Metadata of a frame between nodes.

use crate::features::Features;
use crate::state::NO_DOMAIN;
use buffer::Buffer;

/// See [`L2Meta::domain_bits`].
const LIMITED: u32 = 1 << 24;

/// The part of [`L2Meta::domain_bits`] that is the same for all frames of a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DomainBits(u32);

impl DomainBits {
    /// Returns the bits of frames in the domain with this index; `is_limited` if storm control
    /// limits the port's flooding.
    pub const fn of(domain: u16, is_limited: bool) -> Self {
        Self(domain as u32 | if is_limited { LIMITED } else { 0 })
    }
}

buffer::scratch! {
    /// Valid from `l2-input` to `l2-output`.
    pub struct L2Meta {
        /// The features that follow: [`Features`].
        pub features: u32,
        /// Bits 0 to 15: the domain's index, [`NO_DOMAIN`] in a cross-connect. Bits 16 to 23: the
        /// split-horizon group, 0 for none.
        /// [`LIMITED`]: storm control has yet to pass the frame if it is flooded.
        pub domain_bits: u32,
        /// Generation numbers of the domain (bits 8 to 15) and of the receiving port (bits 0 to 7).
        pub generation: u32,
    }
}

impl L2Meta {
    /// Returns the metadata of a frame in a bridge domain.
    #[inline(always)]
    pub const fn bridged(features: Features, domain: DomainBits, shg: u8, generation: u16) -> Self {
        Self {
            features: features.bits(),
            domain_bits: domain.0 | (shg as u32) << 16,
            generation: generation as u32,
        }
    }

    /// Returns the metadata of a frame in a cross-connect.
    #[inline(always)]
    pub const fn crossed(features: Features) -> Self {
        Self::bridged(features, DomainBits::of(NO_DOMAIN, false), 0, 0)
    }

    /// Returns the domain's index.
    #[inline(always)]
    pub const fn domain(self) -> u16 {
        self.domain_bits as u16
    }

    /// Returns the split-horizon group.
    #[inline(always)]
    pub const fn shg(self) -> u8 {
        (self.domain_bits >> 16) as u8
    }

    /// Returns true if storm control has yet to pass the frame if it is flooded.
    #[inline(always)]
    pub const fn is_limited(self) -> bool {
        self.domain_bits & LIMITED != 0
    }

    /// Returns the metadata after storm control has passed the frame.
    #[inline(always)]
    pub const fn passed(self) -> Self {
        Self { domain_bits: self.domain_bits & !LIMITED, ..self }
    }

    /// Returns the features that follow.
    #[inline(always)]
    pub const fn features(self) -> Features {
        Features::from_bits_retain(self.features)
    }
}

/// Prepares a frame that `l2-input` has not seen, for example a routed one that keeps its layer-2
/// header, for `l2-output`, which sends it to this interface whatever domain that is in. The frame
/// is in no split-horizon group.
#[inline(always)]
pub fn address_frame(b: &mut Buffer, to: u32) {
    b.tx_if = to;
    b.set_scratch(L2Meta::crossed(Features::empty()));
}
