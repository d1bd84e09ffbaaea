// SPDX-License-Identifier: Apache-2.0
//! The parameters of a VXLAN-GPE tunnel.

use graph::SwIfIndex;
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

impl Protocol {
    /// All, with their names.
    pub const ALL: [(&'static str, Self); 4] =
        [("ip4", Self::Ip4), ("ip6", Self::Ip6), ("ethernet", Self::Ethernet), ("nsh", Self::Nsh)];

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::ALL[self as usize].0
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
        Self::ALL.into_iter().map(|(_, it)| it).find(|it| it.number() == number)
    }
}

/// A VXLAN-GPE tunnel.
#[derive(Clone, PartialEq, Debug)]
pub struct Gpe {
    /// The ends. The other one may be a group.
    pub ends: TunnelEndpoints,
    /// The settings of outer headers.
    pub marks: HeaderMarking,
    /// The network identifier.
    pub vni: u32,
    /// The payload that it is for.
    pub protocol: Protocol,
    /// Id of the table that a new tunnel's interface is in.
    pub decap_table: u32,
    /// The port that datagrams come to.
    pub local_port: u16,
    /// The port that they are sent to.
    pub remote_port: u16,
    /// The interface that datagrams to a group leave by.
    pub group_interface: Option<SwIfIndex>,
}
