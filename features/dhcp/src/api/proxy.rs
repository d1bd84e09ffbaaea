// SPDX-License-Identifier: Apache-2.0
//! Messages of the relays.

use super::bad_argument;
use crate::relay::config::{Proxy, Relay, Server};
use crate::relay::vss::Vss;
use cli::{Error, Result, retval};
use graph::World;
use msg::Messages;
use net::Net;
use net::api::Address;
use std::net::IpAddr;
use wire::{Ip4, Ip6};

pub fn messages(m: &mut Messages<World>) {
    m.call(config);
    m.call(set_vss);
    m.dump(|w, r: DhcpProxyDump| Ok(net::by_version!(r.is_ip6, details(w))));
}

msg::messages! {
    /// The kind of a VPN's identifier (RFC 6607 3.1).
    VssType,
    /// A server, and the id of the table in which it is reached.
    DhcpServer,
    /// Adds or removes a server of clients in a table. Tables that aren't there are made.
    DhcpProxyConfig,
    /// Sets the VPN of a table's clients, or sets none.
    DhcpProxySetVss,
    /// Asks for the relay's tables of an IP version.
    DhcpProxyDump,
    /// A table with its servers and its VPN; the type of VPN 123 is none.
    DhcpProxyDetails,
}

fn config(w: &World, r: DhcpProxyConfig) -> Result<()> {
    let (server, source) = (IpAddr::from(r.dhcp_server), IpAddr::from(r.dhcp_src_address));
    if server.is_ipv6() != source.is_ipv6() {
        return Err(bad_argument(format!("{server} and {source} are of two IP versions")));
    }
    net::by_version!(server.is_ipv6(), set(w, &r, server, source))
}

fn set<F: Net>(w: &World, r: &DhcpProxyConfig, server: IpAddr, source: IpAddr) -> Result<()> {
    let (Some(server), Some(source)) = (F::of_ip(server), F::of_ip(source)) else {
        return Err(bad_argument("an address of another IP version"));
    };
    let relay = w.get::<Relay<F>>();
    match r.is_add {
        true => relay.add(w, r.rx_vrf_id, source, server, r.server_vrf_id),
        false => relay.remove(w, r.rx_vrf_id, server, r.server_vrf_id),
    }
}

fn set_vss(w: &World, r: DhcpProxySetVss) -> Result<()> {
    let vss = match (r.is_add, r.vss_type) {
        (false, _) => None,
        (true, VssType::Ascii) => Some(Vss::Name(r.vpn_ascii_id.as_str().into())),
        (true, VssType::VpnId) => Some(Vss::Id { oui: r.oui, index: r.vpn_index }),
        (true, VssType::Default) => Some(Vss::Default),
        (true, VssType::Invalid) => {
            return Err(
                Error::parse("the type of VPN is 0, 1 or 255").retval(retval::INVALID_VALUE)
            );
        }
    };
    match r.is_ipv6 {
        true => w.get::<Relay<Ip6>>().set_vss(w, r.tbl_id, vss),
        false => w.get::<Relay<Ip4>>().set_vss(w, r.tbl_id, vss),
    }
}

fn details<F: Net>(w: &World) -> Vec<DhcpProxyDetails> {
    let address = |ip: F::Addr| Address::from(ip.into());
    let of = |(proxy, vss): (Proxy<F::Addr>, Option<Vss>)| {
        let (oui, index) = match vss {
            Some(Vss::Id { oui, index }) => (oui, index),
            _ => (0, 0),
        };
        let server = |s: &Server<F::Addr>| DhcpServer {
            server_vrf_id: s.table_id,
            dhcp_server: address(s.addr),
        };
        DhcpProxyDetails {
            rx_vrf_id: proxy.rx_table_id,
            vss_oui: oui,
            vss_fib_id: index,
            vss_type: match vss {
                None => VssType::Invalid,
                Some(Vss::Default) => VssType::Default,
                Some(Vss::Id { .. }) => VssType::VpnId,
                Some(Vss::Name(_)) => VssType::Ascii,
            },
            is_ipv6: F::IS_V6,
            vss_vpn_ascii_id: match &vss {
                Some(Vss::Name(name)) => name.as_str().into(),
                _ => "".into(),
            },
            dhcp_src_address: address(proxy.source),
            servers: proxy.servers.iter().map(server).collect(),
        }
    };
    w.get::<Relay<F>>().proxies().into_iter().map(of).collect()
}
