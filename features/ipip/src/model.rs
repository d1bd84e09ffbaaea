// SPDX-License-Identifier: Apache-2.0
//! The parameters of an IP in IP tunnel.

use object::Arguments;
use tunnel::{HeaderMarking, TunnelEndpoints};

/// An IP in IP tunnel.
#[derive(Arguments, Clone, PartialEq, Debug)]
pub struct IpIp {
    /// The ends; the other one is unspecified for a tunnel with several.
    #[words("{src <source:ip>} [dst <destination:ip>] [outer-table-id <table:u32>]")]
    pub ends: TunnelEndpoints,
    /// Several other ends.
    #[words("[p2mp]")]
    pub multipoint: bool,
    /// The settings of outer headers.
    #[part]
    pub marks: HeaderMarking,
}
