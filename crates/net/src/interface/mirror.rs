// SPDX-License-Identifier: Apache-2.0
//! Pairs of an interface and its mirror: another interface, whose other end is an interface of the
//! host's kernel. Programs of the host use the kernel's as if it were ours.

use super::{Interface, Property};
use crate::view::{IfFlags, IfView};

/// The part that an interface has in a pair.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum MirrorRole {
    /// It is in no pair.
    #[default]
    None,
    /// It is mirrored: packets for us that nobody here takes go along its punt arc, datagrams too.
    Mirrored,
    /// It is the mirror: it receives frames for any MAC address, as it would send them.
    Host {
        /// True if the feature of pairs made it, and writes it to the configuration.
        is_owned: bool,
    },
}

impl Property for MirrorRole {
    fn show(&self, _: &Interface, _: IfFlags, view: &mut IfView) {
        view.flags.set(IfFlags::MIRRORED, *self == Self::Mirrored);
        view.flags.set(IfFlags::MIRROR, matches!(self, Self::Host { .. }));
    }
}
