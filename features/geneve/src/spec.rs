// SPDX-License-Identifier: Apache-2.0
//! A GENEVE tunnel as tunnels of all kinds see it.

use crate::encap::GeneveCodec;
use crate::input::{To, read};
use crate::model::Geneve;
use buffer::Buffer;
use cli::retval::{self, Retval};
use graph::{NodeIndex, World};
use net::{FloodRole, IfKind};
use sync::Turn;
use tunnel::{Codec, Datagrams, HeaderMarking, Key, Nothing, OWN, Own, Spec, TunnelEndpoints};
use wire::{Geneve as Header, IpProtocol, MacAddr};
use zerocopy::{FromBytes, IntoBytes};

impl Spec for Geneve {
    const PREFIX: &'static str = "geneve_tunnel";
    const DRIVER: &'static str = "GENEVE";
    const EXISTS: Retval = retval::TUNNEL_EXIST;
    const STARTS_UP: bool = true;

    fn encap(&self) -> &'static str {
        if self.ends.local.is_ipv6() {
            GeneveCodec::<true>::NAME
        } else {
            GeneveCodec::<false>::NAME
        }
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
        IfKind::Ethernet
    }

    fn mac(&self, instance: u32) -> MacAddr {
        if self.layer3 { tunnel::numbered_mac(instance) } else { self.derived_mac() }
    }

    fn protocol(&self) -> IpProtocol {
        IpProtocol::UDP
    }

    fn header(&self) -> Vec<u8> {
        tunnel::udp(0, Header::PORT, Header::new(self.vni).as_bytes())
    }

    fn next(&self, world: &World) -> Option<NodeIndex> {
        self.next.node(world)
    }

    fn flood_role(&self) -> FloodRole {
        self.datagram_flood_role()
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
