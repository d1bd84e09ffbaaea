// SPDX-License-Identifier: Apache-2.0
//! Messages of the DHCPv4 client.

use crate::v4::client::Clients;
use crate::v4::machine::State;
use crate::v4::status::{Config, Status};
use cli::Result;
use graph::{SwIfIndex, World};
use msg::{Caller, Messages};
use net::api::{Address, InterfaceIndex, MacAddress};
use std::net::{IpAddr, Ipv4Addr};
use tunnel_dscp::IpDscp;

pub fn messages(m: &mut Messages<World>) {
    m.call_by(config);
    m.dump(|w, _: DhcpClientDump| {
        Ok(w.get::<Clients>().list().into_iter().map(|status| details(&status)))
    });
    m.answer::<DhcpComplEvent>();
    m.call(|w, r: DhcpClientDetectEnableDisable| {
        let sw_if = r.sw_if_index.existing(w)?;
        w.get::<Clients>().set_detect(w, sw_if, r.enable)
    });
}

/// The type of DSCP values.
mod tunnel_dscp {
    msg::messages! {
        /// A DSCP value; the client's goes into the second byte of IP headers as it is.
        flags IpDscp,
    }
}

msg::messages! {
    /// The configuration of a client: name and identifier end at their first zero byte. `dscp` is
    /// the second byte of the IP headers of its messages, as in VPP.
    DhcpClient,
    /// The state of a client.
    DhcpClientState,
    /// A name server.
    DomainServer,
    /// The lease of a client.
    DhcpLease,
    /// Starts or ends the client of an interface.
    DhcpClientConfig,
    /// Asks for all clients.
    DhcpClientDump,
    /// A client and its lease.
    DhcpClientDetails,
    /// A client has a new lease, or a lease with other settings.
    DhcpComplEvent,
    /// Takes DHCP messages out of the packets that an interface receives, even if no client waits
    /// for them.
    DhcpClientDetectEnableDisable,
}

fn config(w: &World, caller: &Caller<'_, World>, r: DhcpClientConfig) -> Result<()> {
    let (clients, client) = (w.get::<Clients>(), r.client);
    let sw_if = SwIfIndex(client.sw_if_index.0);
    if !r.is_add {
        return clients.remove(w, sw_if);
    }
    let end = client.id.iter().position(|byte| *byte == 0).unwrap_or(client.id.len());
    let config = Config {
        hostname: client.hostname.as_str().into(),
        client_id: client.id[..end].to_vec(),
        broadcast: client.set_broadcast_flag,
        tos: client.dscp.0,
    };
    let subscriber = client.want_dhcp_event.then_some((caller.client, client.pid));
    clients.add(w, sw_if, config, subscriber)
}

fn client(status: &Status) -> DhcpClient {
    let Config { hostname, client_id, broadcast, tos } = &status.config;
    let mut id = [0; 64];
    let len = client_id.len().min(id.len());
    id[..len].copy_from_slice(&client_id[..len]);
    DhcpClient {
        sw_if_index: status.sw_if.into(),
        hostname: hostname.as_str().into(),
        id,
        want_dhcp_event: status.subscriber.is_some(),
        set_broadcast_flag: *broadcast,
        dscp: IpDscp(*tos),
        pid: status.subscriber.map_or(0, |(_, pid)| pid),
    }
}

fn lease(status: &Status) -> DhcpLease {
    let state = match status.state {
        State::Discover => DhcpClientState::Discover,
        State::Request { .. } => DhcpClientState::Request,
        State::Bound(_) => DhcpClientState::Bound,
    };
    let grant = status.lease().map(|lease| &lease.grant);
    let address = |ip: Ipv4Addr| Address::from(IpAddr::V4(ip));
    let servers = grant.map_or(&[][..], |grant| &grant.domain_servers);
    let unset = Ipv4Addr::UNSPECIFIED;
    DhcpLease {
        sw_if_index: InterfaceIndex::from(status.sw_if),
        state,
        is_ipv6: false,
        hostname: status.config.hostname.as_str().into(),
        mask_width: grant.map_or(0, |grant| grant.address.len()),
        host_address: address(grant.map_or(unset, |grant| grant.address.addr())),
        router_address: address(grant.and_then(|grant| grant.router).unwrap_or(unset)),
        host_mac: MacAddress::from(status.mac),
        domain_server: servers.iter().map(|ip| DomainServer { address: address(*ip) }).collect(),
    }
}

fn details(status: &Status) -> DhcpClientDetails {
    DhcpClientDetails { client: client(status), lease: lease(status) }
}

/// Sends a client's lease to the API client that wants to know it.
pub fn publish(w: &World, status: &Status) {
    if let Some((subscriber, pid)) = status.subscriber {
        w.api.publish_to(subscriber, pid, &DhcpComplEvent { lease: lease(status) });
    }
}
