// SPDX-License-Identifier: Apache-2.0
//! The parameters of a VXLAN-GPE tunnel.

use object::{Arguments, Choice};
use tunnel::{HeaderMarking, TunnelEndpoints};
use wire::VxlanGpe as Header;

/// The payload that a tunnel is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Protocol {
    /// IPv4 packets.
    Ip4,
    /// IPv6 packets.
    Ip6,
    /// Ethernet frames.
    Ethernet,
    /// Packets with a network service header.
    Nsh,
}

impl Choice for Protocol {
    const ALL: &'static [(&'static str, Self)] = &[
        ("next-ip4", Self::Ip4),
        ("next-ip6", Self::Ip6),
        ("next-ethernet", Self::Ethernet),
        ("next-nsh", Self::Nsh),
    ];
}

impl Protocol {
    /// Its name.
    pub fn name(self) -> &'static str {
        self.word().trim_start_matches("next-")
    }

    /// Its number in headers and in the API.
    pub const fn number(self) -> u8 {
        match self {
            Self::Ip4 => Header::IP4,
            Self::Ip6 => Header::IP6,
            Self::Ethernet => Header::ETHERNET,
            Self::Nsh => Header::NSH,
        }
    }

    /// The protocol of a number.
    pub fn of_number(number: u8) -> Option<Self> {
        Self::ALL.iter().map(|(_, it)| *it).find(|it| it.number() == number)
    }
}

/// A VXLAN-GPE tunnel.
#[derive(Arguments, Clone, PartialEq, Debug)]
pub struct Gpe {
    /// The ends. The other one may be a group.
    #[words(
        "{local <local:ip>} {remote <remote:ip> | group <group:ip> <interface:interface>} \
         [encap-vrf-id <table:u32>]"
    )]
    pub ends: TunnelEndpoints,
    /// The port that datagrams come to.
    #[words("[src_port <sourceport:u16>]", default = Header::PORT, then = tunnel::chosen_port::<Gpe>)]
    pub local_port: u16,
    /// The port that they are sent to.
    #[words("[dst_port <destinationport:u16>]", default = Header::PORT, then = tunnel::chosen_port::<Gpe>)]
    pub remote_port: u16,
    /// The network identifier.
    #[words("{vni <vni:0-16777215>}", then = tunnel::vni)]
    pub vni: u32,
    /// The payload that it is for.
    #[words("[next-ip4] [next-ip6] [next-ethernet] [next-nsh]", default = Protocol::Ip4)]
    pub protocol: Protocol,
    /// Id of the table that a new tunnel's interface is in.
    #[words("[decap-vrf-id <decaptable:u32>]", default)]
    pub decap_table: u32,
    /// The settings of outer headers.
    #[part]
    pub marks: HeaderMarking,
}
