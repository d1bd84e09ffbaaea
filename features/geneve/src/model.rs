// SPDX-License-Identifier: Apache-2.0
//! The parameters of a GENEVE tunnel.

use object::Arguments;
use tunnel::{HeaderMarking, Next, TunnelEndpoints};

/// A GENEVE tunnel.
#[derive(Arguments, Clone, PartialEq, Debug)]
pub struct Geneve {
    /// The ends. The other one may be a group.
    #[words(
        "{local <local:ip>} {remote <remote:ip> | group <group:ip> <interface:interface>} \
         [encap-vrf-id <table:u32>]"
    )]
    pub ends: TunnelEndpoints,
    /// The network identifier.
    #[words("{vni <vni:0-16777215>}", then = tunnel::vni)]
    pub vni: u32,
    /// The next node of decapsulated packets.
    #[words("[decap-next <next:l2|drop|node> [<node:word>]]", json = "decap_next")]
    pub next: Next,
    /// The interface's MAC address follows from its number.
    #[words("[l3-mode]")]
    pub layer3: bool,
    /// The settings of outer headers.
    #[part]
    pub marks: HeaderMarking,
}
