// SPDX-License-Identifier: Apache-2.0
//! Types of the binary API that the modules of tunnels share.

use crate::model::Flags;

msg::messages! {
    /// The fields copied between inner and outer headers.
    flags TunnelEncapDecapFlags,
    /// One other end, or several.
    flags TunnelMode,
    /// A DSCP (RFC 2474).
    flags IpDscp,
}

impl From<TunnelEncapDecapFlags> for Flags {
    fn from(flags: TunnelEncapDecapFlags) -> Self {
        Self::from_bits_retain(flags.0)
    }
}

impl From<Flags> for TunnelEncapDecapFlags {
    fn from(flags: Flags) -> Self {
        Self(flags.bits())
    }
}
