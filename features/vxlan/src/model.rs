// SPDX-License-Identifier: Apache-2.0
//! The parameters of a VXLAN tunnel.

use graph::SwIfIndex;
use tunnel::{HeaderMarking, Next, TunnelEndpoints};

/// A VXLAN tunnel.
#[derive(Clone, PartialEq, Debug)]
pub struct Vxlan {
    /// The ends. The other one may be a group.
    pub ends: TunnelEndpoints,
    /// The settings of outer headers.
    pub marks: HeaderMarking,
    /// The network identifier.
    pub vni: u32,
    /// The port that datagrams come to.
    pub source_port: u16,
    /// The port that they are sent to.
    pub destination_port: u16,
    /// IP packets instead of frames.
    pub layer3: bool,
    /// The interface that datagrams to a group leave by.
    pub group_interface: Option<SwIfIndex>,
    /// The next node of decapsulated packets.
    pub next: Next,
}
