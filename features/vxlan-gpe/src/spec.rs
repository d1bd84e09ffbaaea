// SPDX-License-Identifier: Apache-2.0
//! The parameters of a VXLAN-GPE tunnel.

use crate::encap::GpeCodec;
use crate::input::{NshReader, To, read};
use buffer::Buffer;
use cli::Result;
use cli::retval::{self, Retval};
use graph::{SwIfIndex, World};
use net::{Addresses, Fib, FloodRole, IfKind, Implied, Net};
use sync::Turn;
use tunnel::{Codec, Datagrams, HeaderMarking, Key, OWN, Own, Spec, TunnelEndpoints};
use wire::{Ip4, Ip6, IpProtocol, MacAddr, VxlanGpe as Header};
use zerocopy::{FromBytes, IntoBytes};

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

impl Spec for Gpe {
    const PREFIX: &'static str = "vxlan_gpe_tunnel";
    const DRIVER: &'static str = "VXLAN_GPE";
    const EXISTS: Retval = retval::TUNNEL_EXIST;
    const STARTS_UP: bool = true;

    fn implied(&self) -> Implied {
        let tables = match self.protocol {
            Protocol::Ip4 | Protocol::Ip6 => [self.decap_table; 2],
            Protocol::Ethernet | Protocol::Nsh => [0; 2],
        };
        Implied { up: Self::STARTS_UP, tables, ..Implied::default() }
    }

    fn encap(&self) -> &'static str {
        GpeCodec::NAME
    }

    fn ends(&self) -> TunnelEndpoints {
        self.ends
    }

    fn marks(&self) -> HeaderMarking {
        self.marks
    }

    fn key(&self, ends: &TunnelEndpoints, table: u32) -> Key {
        self.datagram_key(ends, table)
    }

    fn carries(&self) -> IfKind {
        if self.protocol == Protocol::Ethernet { IfKind::Ethernet } else { IfKind::Ip }
    }

    fn mac(&self, _: u32) -> MacAddr {
        if self.carries() == IfKind::Ip { MacAddr::ZERO } else { self.derived_mac() }
    }

    fn protocol(&self) -> IpProtocol {
        IpProtocol::UDP
    }

    fn header(&self) -> Vec<u8> {
        let header = Header::new(self.vni, self.protocol.number());
        tunnel::udp(0, self.remote_port, header.as_bytes())
    }

    fn group_interface(&self) -> Option<SwIfIndex> {
        self.group_interface
    }

    fn flood_role(&self) -> FloodRole {
        self.datagram_flood_role()
    }
}

impl Datagrams for Gpe {
    const WORD: &'static str = "vxlan-gpe";
    const NUMBER: &'static str = "vni";
    const INPUT: &'static str = "vxlan{4|6}-gpe-input";
    const BYPASS: &'static str = "{ip}-vxlan-gpe-bypass";
    type To = To;
    type Reader = NshReader;

    #[inline(always)]
    fn number_in(header: &[u8; OWN]) -> u32 {
        Header::ref_from_bytes(header).map_or(0, Header::vni)
    }

    fn number(&self) -> u32 {
        self.vni
    }

    fn port(&self) -> u16 {
        self.local_port
    }

    #[inline(always)]
    fn read(
        nsh: &NshReader,
        _: &Buffer,
        _: usize,
        header: &[u8; OWN],
        turn: &Turn<'_>,
    ) -> std::result::Result<Own, To> {
        read(nsh, header, turn)
    }

    fn check(&self, world: &World) -> Result<()> {
        let found = match self.protocol {
            Protocol::Ip4 => world.get::<Fib<Ip4>>().find_table(self.decap_table),
            Protocol::Ip6 => world.get::<Fib<Ip6>>().find_table(self.decap_table),
            Protocol::Ethernet | Protocol::Nsh => return Ok(()),
        };
        found.map(drop).map_err(|e| e.retval(retval::NO_SUCH_INNER_FIB))
    }
}

/// The id of the table that decapsulated packets of a tunnel are looked up in.
pub fn decap_table(w: &World, sw_if: SwIfIndex, protocol: Protocol) -> u32 {
    fn table_of<F: Net>(w: &World, sw_if: SwIfIndex) -> u32 {
        let index = w.get::<Addresses<F>>().table_of(sw_if).ok();
        index.and_then(|index| w.get::<Fib<F>>().table_id(index)).unwrap_or(0)
    }
    if protocol == Protocol::Ip6 { table_of::<Ip6>(w, sw_if) } else { table_of::<Ip4>(w, sw_if) }
}
