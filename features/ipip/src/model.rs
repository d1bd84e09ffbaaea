// SPDX-License-Identifier: Apache-2.0
//! The parameters of an IP in IP tunnel.

use tunnel::{HeaderMarking, TunnelEndpoints};

/// An IP in IP tunnel.
#[derive(Clone, PartialEq, Debug)]
pub struct IpIp {
    /// The ends; the other one is unspecified for a tunnel with several.
    pub ends: TunnelEndpoints,
    /// The settings of outer headers.
    pub marks: HeaderMarking,
    /// Several other ends.
    pub multipoint: bool,
}
