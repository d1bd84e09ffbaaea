// SPDX-License-Identifier: Apache-2.0
//! A VXLAN tunnel as tunnels of all kinds see it.

use crate::encap::VxlanCodec;
use crate::input::To;
use crate::model::Vxlan;
use buffer::Buffer;
use cli::retval::{self, Retval};
use graph::{NodeIndex, World};
use net::IfKind;
use sync::Turn;
use tunnel::{Datagrams, Nothing, OWN, Own, Spec};
use wire::{MacAddr, Vxlan as Header};
use zerocopy::{FromBytes, IntoBytes};

impl Spec for Vxlan {
    tunnel::in_datagrams!(VxlanCodec);

    const PREFIX: &'static str = "vxlan_tunnel";
    const DRIVER: &'static str = "VXLAN";
    const EXISTS: Retval = retval::TUNNEL_EXIST;
    const STARTS_UP: bool = true;

    fn carries(&self) -> IfKind {
        if self.layer3 { IfKind::Ip } else { IfKind::Ethernet }
    }

    fn mac(&self, _: u32) -> MacAddr {
        if self.layer3 { MacAddr::ZERO } else { self.derived_mac() }
    }

    fn header(&self) -> Vec<u8> {
        tunnel::udp(0, self.destination_port, Header::new(self.vni).as_bytes())
    }

    fn next(&self, world: &World) -> Option<NodeIndex> {
        self.next.node(world)
    }
}

impl Datagrams for Vxlan {
    const WORD: &'static str = "vxlan";
    const PORT: u16 = Header::PORT;
    const NUMBER: &'static str = "vni";
    const INPUT: &'static str = "vxlan{4|6}-input";
    const BYPASS: &'static str = "{ip}-vxlan-bypass";
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

    fn port(&self) -> u16 {
        self.source_port
    }

    #[inline(always)]
    fn read(_: &Nothing, _: &Buffer, _: usize, h: &[u8; OWN], _: &Turn<'_>) -> Result<Own, To> {
        // RFC 7348 5: the I flag is set; VPP takes no other.
        if h[0] != Header::VALID {
            return Err(To::BadFlags);
        }
        Ok(Own { len: OWN, payload: None })
    }
}
