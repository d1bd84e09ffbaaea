// SPDX-License-Identifier: Apache-2.0
//! A VXLAN-GPE tunnel as tunnels of all kinds see it.

use crate::encap::GpeCodec;
use crate::input::{NshReader, To, read};
use crate::model::{Gpe, Protocol};
use buffer::Buffer;
use cli::Result;
use cli::retval::{self, Retval};
use graph::{SwIfIndex, World};
use net::{Addresses, Fib, IfKind, Implied, Net};
use sync::Turn;
use tunnel::{Codec, Datagrams, OWN, Own, Spec};
use wire::{Ip4, Ip6, MacAddr, VxlanGpe as Header};
use zerocopy::{FromBytes, IntoBytes};

impl Spec for Gpe {
    tunnel::in_datagrams!();

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

    fn carries(&self) -> IfKind {
        if self.protocol == Protocol::Ethernet { IfKind::Ethernet } else { IfKind::Ip }
    }

    fn mac(&self, _: u32) -> MacAddr {
        if self.carries() == IfKind::Ip { MacAddr::ZERO } else { self.derived_mac() }
    }

    fn header(&self) -> Vec<u8> {
        let header = Header::new(self.vni, self.protocol.number());
        tunnel::udp(0, self.remote_port, header.as_bytes())
    }
}

impl Datagrams for Gpe {
    const WORD: &'static str = "vxlan-gpe";
    const PORT: u16 = Header::PORT;
    const NUMBER: &'static str = "vni";
    const INPUT: &'static str = "vxlan{4|6}-gpe-input";
    const BYPASS: &'static str = "{ip}-vxlan-gpe-bypass";
    const DECISIVE: Option<[u8; OWN]> = Some([!0; OWN]);
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
