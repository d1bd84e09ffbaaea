// SPDX-License-Identifier: Apache-2.0
//! Records of packets.

use crate::engine::Outcome;
use std::fmt;

/// The record of a packet at a node that translates.
pub type NatTrace = ::nat::trace::NatTrace<Outcome>;

impl ::nat::trace::Outcome for Outcome {
    fn write_path(f: &mut fmt::Formatter<'_>, direction: &str, speed: &str) -> fmt::Result {
        write!(f, "NAT44_{direction}_ED_{speed}_PATH")
    }

    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Translated(at) => write!(f, "session {at}"),
            Self::Passed => f.write_str("not translated"),
            Self::Slow => f.write_str("no session"),
            Self::TimeExpired => f.write_str("time to live expired"),
            Self::Drop(reason) => write!(f, "dropped: {reason:?}"),
        }
    }
}
