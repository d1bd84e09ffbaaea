// SPDX-License-Identifier: Apache-2.0
//! A GENEVE tunnel: its parameters, and what tunnels of all kinds ask it. Nodes: `geneve4-encap`,
//! `geneve6-encap`. Nothing of the header differs from packet to packet.

use crate::input::{To, read};
use buffer::Buffer;
use cli::retval::{self, Retval};
use graph::{NodeIndex, World};
use net::IfKind;
use object::Arguments;
use std::fmt;
use sync::Turn;
use tunnel::{
    Codec, Datagrams, EncapTrace, HeaderMarking, Next, Nothing, OWN, Own, Spec, TunnelEndpoints,
};
use wire::{Geneve as Header, MacAddr};
use zerocopy::{FromBytes, IntoBytes};

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

impl Spec for Geneve {
    tunnel::in_datagrams!(GeneveCodec);

    const PREFIX: &'static str = "geneve_tunnel";
    const DRIVER: &'static str = "GENEVE";
    const EXISTS: Retval = retval::TUNNEL_EXIST;
    const STARTS_UP: bool = true;

    fn carries(&self) -> IfKind {
        IfKind::Ethernet
    }

    fn mac(&self, instance: u32) -> MacAddr {
        if self.layer3 { tunnel::numbered_mac(instance) } else { self.derived_mac() }
    }

    fn header(&self) -> Vec<u8> {
        tunnel::udp(0, Header::PORT, Header::new(self.vni).as_bytes())
    }

    fn next(&self, world: &World) -> Option<NodeIndex> {
        self.next.node(world)
    }
}

impl Datagrams for Geneve {
    const WORD: &'static str = "geneve";
    const PORT: u16 = Header::PORT;
    const NUMBER: &'static str = "vni";
    const INPUT: &'static str = "geneve{4|6}-input";
    const BYPASS: &'static str = "{ip}-geneve-bypass";
    const DECISIVE: Option<[u8; OWN]> = Some([!0; OWN]);
    type To = To;
    type Reader = Nothing;

    #[inline(always)]
    fn number_in(header: &[u8; OWN]) -> u32 {
        Header::ref_from_bytes(header).map_or(0, Header::vni)
    }

    fn number(&self) -> u32 {
        self.vni
    }

    #[inline(always)]
    fn read(_: &Nothing, b: &Buffer, at: usize, h: &[u8; OWN], _: &Turn<'_>) -> Result<Own, To> {
        read(b, at, h)
    }
}

#[derive(Clone, Copy)]
pub enum GeneveCodec<const V6: bool> {}

impl<const V6: bool> Codec for GeneveCodec<V6> {
    type Spec = Geneve;
    const NAME: &'static str = if V6 { "geneve6-encap" } else { "geneve4-encap" };
    const UDP: bool = true;

    fn trace(f: &mut fmt::Formatter<'_>, trace: &EncapTrace<Self>) -> fmt::Result {
        write!(f, "GENEVE encap to geneve_tunnel{} vni {}", trace.instance, trace.id)
    }
}
