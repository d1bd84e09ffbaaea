// SPDX-License-Identifier: Apache-2.0
//! Hosts that we answer for.

use crate::proxy::Proxies;
use cli::Result;
use graph::World;
use msg::Messages;
use net::api::{InterfaceIndex, Ip6Address};
use std::net::Ipv6Addr;

pub fn messages(m: &mut Messages<World>) {
    m.call(add_del);
    m.call(enable_disable);
    m.dump(dump);
}

msg::messages! {
    /// Starts or stops answering for a host.
    Ip6ndProxyAddDel,
    /// Starts or stops answering for all hosts that are routed by other interfaces.
    Ip6ndProxyEnableDisable,
    /// Asks for the hosts that are answered for.
    Ip6ndProxyDump,
    /// A host that is answered for.
    Ip6ndProxyDetails,
}

fn add_del(w: &World, r: Ip6ndProxyAddDel) -> Result<()> {
    w.get::<Proxies>().set_host(w, r.sw_if_index.existing(w)?, Ipv6Addr::from(r.ip.0), r.is_add)
}

fn enable_disable(w: &World, r: Ip6ndProxyEnableDisable) -> Result<()> {
    w.get::<Proxies>().enable(w, r.sw_if_index.existing(w)?, r.is_enable)
}

fn dump(w: &World, _: Ip6ndProxyDump) -> Result<Vec<Ip6ndProxyDetails>> {
    let hosts = w.get::<Proxies>().hosts().into_iter();
    Ok(hosts
        .map(|(i, ip)| Ip6ndProxyDetails { sw_if_index: i.into(), ip: Ip6Address(ip.octets()) })
        .collect())
}
