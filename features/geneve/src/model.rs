// SPDX-License-Identifier: Apache-2.0
//! The parameters of a GENEVE tunnel.

use graph::SwIfIndex;
use tunnel::{HeaderMarking, Next, TunnelEndpoints};

/// A GENEVE tunnel.
#[derive(Clone, PartialEq, Debug)]
pub struct Geneve {
    /// The ends. The other one may be a group.
    pub ends: TunnelEndpoints,
    /// The settings of outer headers.
    pub marks: HeaderMarking,
    /// The network identifier.
    pub vni: u32,
    /// The interface's MAC address follows from its number.
    pub layer3: bool,
    /// The interface that datagrams to a group leave by.
    pub group_interface: Option<SwIfIndex>,
    /// The next node of decapsulated packets.
    pub next: Next,
}
