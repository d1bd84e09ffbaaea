// SPDX-License-Identifier: Apache-2.0
//! The parameters of a VXLAN tunnel.

use object::Arguments;
use tunnel::{HeaderMarking, Next, TunnelEndpoints};
use wire::Vxlan as Header;

/// A VXLAN tunnel.
#[derive(Arguments, Clone, PartialEq, Debug)]
pub struct Vxlan {
    /// The ends. The other one may be a group.
    #[words(
        "{src <source:ip>} {dst <destination:ip> | group <group:ip> <interface:interface>} \
         [encap-vrf-id <table:u32>]"
    )]
    pub ends: TunnelEndpoints,
    /// The network identifier.
    #[words("{vni <vni:0-16777215>}", then = tunnel::vni)]
    pub vni: u32,
    /// The next node of decapsulated packets.
    #[words("[decap-next <next:l2|drop|node> [<node:word>]]", json = "decap_next")]
    pub next: Next,
    /// IP packets instead of frames.
    #[words("[l3]")]
    pub layer3: bool,
    /// The port that datagrams come to.
    #[words("[src_port <sourceport:u16>]", default = Header::PORT, then = tunnel::chosen_port::<Vxlan>)]
    pub source_port: u16,
    /// The port that they are sent to.
    #[words("[dst_port <destinationport:u16>]", default = Header::PORT, then = tunnel::chosen_port::<Vxlan>)]
    pub destination_port: u16,
    /// The settings of outer headers.
    #[part]
    pub marks: HeaderMarking,
}
