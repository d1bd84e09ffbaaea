// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `ipip` about 6RD.

use super::{Domain, SixRd, SixRds, Tunnel};
use crate::api::IpipTunnel;
use cli::{Error, Result, retval};
use graph::{SwIfIndex, World};
use msg::Messages;
use net::api::{InterfaceIndex, Ip4Address, Ip4Prefix, Ip6Prefix};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use wire::Ip4;

/// Adds the messages.
pub fn messages(m: &mut Messages<World>) {
    m.call(add);
    m.call(|w, r: Ipip6rdDelTunnel| w.get::<SixRds>().delete(w, SwIfIndex(r.sw_if_index.0)));
}

impl From<Tunnel> for IpipTunnel {
    fn from(tunnel: Tunnel) -> Self {
        Self {
            instance: tunnel.instance,
            src: IpAddr::from(tunnel.config.local).into(),
            dst: IpAddr::from(Ipv4Addr::UNSPECIFIED).into(),
            sw_if_index: tunnel.sw_if.into(),
            table_id: tunnel.config.table4,
            ..Self::default()
        }
    }
}

msg::messages! {
    /// Makes a 6RD tunnel.
    Ipip6rdAddTunnel,
    /// Deletes a 6RD tunnel.
    Ipip6rdDelTunnel,
}

fn add(w: &World, r: Ipip6rdAddTunnel) -> Result<SwIfIndex> {
    let wrong = || Error::parse("a network has no such length").retval(retval::INVALID_VALUE);
    let ip6 = wire::Ip6Prefix::new(Ipv6Addr::from(r.ip6_prefix.address.0), r.ip6_prefix.len);
    let ip4 = wire::Ip4Prefix::new(Ipv4Addr::from(r.ip4_prefix.address.0), r.ip4_prefix.len);
    let config = SixRd {
        domain: Domain::new(ip6.ok_or_else(wrong)?, ip4.ok_or_else(wrong)?)?,
        local: r.ip4_src.0.into(),
        table4: r.ip4_table_id,
        table6: r.ip6_table_id,
        security_check: r.security_check,
        tos: r.tc_tos,
    };
    crate::spec::register::<Ip4>(w)?;
    w.get::<SixRds>().create(w, config, None)
}
