// SPDX-License-Identifier: Apache-2.0
//! Hosts that we answer for.

use crate::proxy::Proxies;
use graph::{SwIfIndex, World};
use msg::Messages;
use net::api::{InterfaceIndex, Ip6Address};
use std::net::Ipv6Addr;

pub fn messages(m: &mut Messages<World>) {
    m.call(|w, r: Ip6ndProxyAddDel| {
        let (sw_if, host) = (r.sw_if_index.existing(w)?, Ipv6Addr::from(r.ip.0));
        w.get::<Proxies>().set_host(w, sw_if, host, r.is_add)
    });
    m.call(|w, r: Ip6ndProxyEnableDisable| {
        w.get::<Proxies>().enable(w, r.sw_if_index.existing(w)?, r.is_enable)
    });
    m.dump(|w, _: Ip6ndProxyDump| {
        let details = |(sw_if, ip): (SwIfIndex, Ipv6Addr)| Ip6ndProxyDetails {
            sw_if_index: sw_if.into(),
            ip: Ip6Address(ip.octets()),
        };
        Ok(w.get::<Proxies>().hosts().into_iter().map(details).collect::<Vec<_>>())
    });
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
