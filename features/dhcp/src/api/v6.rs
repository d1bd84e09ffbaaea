// SPDX-License-Identifier: Apache-2.0
//! Messages of the DHCPv6 clients.
#![allow(non_snake_case, reason = "fields have the names of VPP's messages")]

use super::bad_argument;
use crate::v6::association::{Answer, Kind, Lease};
use crate::v6::client::Clients6;
use crate::v6::message::kind;
use crate::v6::ports::Request;
use crate::v6::transmission::Pace;
use cli::{Error, Result, retval};
use graph::{SwIfIndex, World};
use msg::{Caller, Message, Messages, Module};
use net::Addresses;
use net::api::{InterfaceIndex, Ip6Address, Ip6AddressWithPrefix, Ip6Prefix};
use std::net::Ipv6Addr;
use wire::{Ip6, Prefix};

/// Starts or ends a client of an interface. Its start enables IPv6, as programs expect; that
/// setting is saved by itself, and an operator may disable IPv6 again while the client is there.
fn set_client(w: &World, sw_if: SwIfIndex, kind: Kind, group: &str, on: bool) -> Result<()> {
    let clients = w.get::<Clients6>();
    if !on {
        return clients.disable(w, sw_if, kind);
    }
    clients.enable(w, sw_if, kind, group)?;
    w.get::<Addresses<Ip6>>().enable(w, sw_if, true)
}

/// The module of the client for addresses.
pub static ADDRESSES: Module<World> = Module::plugin("dhcp6_ia_na_client_cp", |m| {
    m.call(|w, r: Dhcp6ClientEnableDisable| {
        set_client(w, r.sw_if_index.existing(w)?, Kind::Addresses, "", r.enable)
    });
});

/// The module of the client for prefixes.
pub static PREFIXES: Module<World> = Module::plugin("dhcp6_pd_client_cp", |m| {
    m.call(|w, r: Dhcp6PdClientEnableDisable| {
        let sw_if = r.sw_if_index.existing(w)?;
        set_client(w, sw_if, Kind::Prefixes, r.prefix_group.as_str(), r.enable)
    });
    m.call(|w, r: Ip6AddDelAddressUsingPrefix| {
        let sw_if = r.sw_if_index.existing(w)?;
        let group = Some(r.prefix_group.as_str()).filter(|group| !group.is_empty());
        let Ip6AddressWithPrefix(Ip6Prefix { address, len }) = r.address_with_prefix;
        let address = prefix(address, len)?;
        w.get::<Clients6>().set_consumer(w, sw_if, group, address, r.is_add)
    });
});

pub fn messages(m: &mut Messages<World>) {
    m.order(|w, r: Dhcp6ClientsEnableDisable| w.get::<Clients6>().set_enabled(r.enable));
    m.order(|w, r: Dhcp6DuidLlSet| w.get::<Clients6>().set_duid(w, Some(r.duid_ll)));
    m.call(send_addresses);
    m.call(send_prefixes);
    m.call_by(|_, c: &Caller<'_, World>, r: WantDhcp6ReplyEvents| {
        want::<Dhcp6ReplyEvent>(c, r.pid, r.enable_disable != 0)
    });
    m.answer::<Dhcp6ReplyEvent>();
    m.call_by(|_, c: &Caller<'_, World>, r: WantDhcp6PdReplyEvents| {
        want::<Dhcp6PdReplyEvent>(c, r.pid, r.enable_disable)
    });
    m.answer::<Dhcp6PdReplyEvent>();
}

msg::messages! {
    /// A type of DHCPv6 messages.
    Dhcpv6MsgType,
    /// An address, and its lifetimes in seconds.
    Dhcp6AddressInfo,
    /// A prefix, and its lifetimes in seconds.
    Dhcp6PdPrefixInfo,
    /// Lets API clients send DHCPv6 messages, or ends that.
    Dhcp6ClientsEnableDisable,
    /// Sets the identifier of our DHCPv6 clients: of type 3, a link-layer address.
    Dhcp6DuidLlSet,
    /// Sends a message about addresses until it is answered, or stops that.
    Dhcp6SendClientMessage,
    /// Sends a message about prefixes until it is answered, or stops that.
    Dhcp6PdSendClientMessage,
    /// Subscribes to events of servers' answers about addresses.
    WantDhcp6ReplyEvents,
    /// Subscribes to events of servers' answers about prefixes.
    WantDhcp6PdReplyEvents,
    /// A server has answered about addresses. Servers of a link have numbers.
    Dhcp6ReplyEvent,
    /// A server has answered about prefixes.
    Dhcp6PdReplyEvent,
    /// Starts or ends the DHCPv6 client for addresses of an interface.
    Dhcp6ClientEnableDisable,
    /// Starts or ends the DHCPv6 client for delegated prefixes on an interface.
    Dhcp6PdClientEnableDisable,
    /// Gives an interface an address made of a group's delegated prefix, or takes it away; without
    /// a group, the address itself.
    Ip6AddDelAddressUsingPrefix,
}

fn prefix(address: Ip6Address, len: u8) -> Result<wire::Ip6Prefix> {
    let addr = Ipv6Addr::from(address.0);
    Prefix::new(addr, len).ok_or_else(|| {
        Error::parse(format!("{addr} has no network of {len} bits")).retval(retval::INVALID_VALUE)
    })
}

/// A server's identifier by the number that events have; all bits set are no server.
fn server(w: &World, sw_if: SwIfIndex, index: u32) -> Result<Option<Vec<u8>>> {
    let Some(index) = net::api::given(index) else { return Ok(None) };
    let clients = w.get::<Clients6>();
    let state = clients.state();
    let known = state.servers.get(&sw_if).and_then(|servers| servers.get(index));
    let none = || {
        Error::not_found(format!("no answer of a server {index} has come by the interface"))
            .retval(retval::INVALID_VALUE)
    };
    known.map(|id| Some(id.to_vec())).ok_or_else(none)
}

macro_rules! send {
    ($w:expr, $r:expr, $kind:expr, $leases:expr) => {{
        let sw_if = $r.sw_if_index.existing($w)?;
        let clients = $w.get::<Clients6>();
        if $r.stop {
            return clients.send($w, sw_if, $kind, None);
        }
        let request = Request {
            kind: $r.msg_type as u8,
            pace: Pace { initial: $r.irt, longest: $r.mrt, count: $r.mrc, duration: $r.mrd },
            server: server($w, sw_if, $r.server_index)?,
            times: ($r.T1, $r.T2),
            leases: $leases,
        };
        clients.send($w, sw_if, $kind, Some(request))
    }};
}

fn send_addresses(w: &World, r: Dhcp6SendClientMessage) -> Result<()> {
    let lease = |info: &Dhcp6AddressInfo| Lease {
        prefix: Prefix::host(info.address.0.into()),
        preferred: info.preferred_time,
        valid: info.valid_time,
    };
    send!(w, r, Kind::Addresses, leases(r.addresses.iter().map(|i| Ok(lease(i))))?)
}

fn send_prefixes(w: &World, r: Dhcp6PdSendClientMessage) -> Result<()> {
    let lease = |info: &Dhcp6PdPrefixInfo| -> Result<Lease> {
        Ok(Lease {
            prefix: prefix(info.prefix.address, info.prefix.len)?,
            preferred: info.preferred_time,
            valid: info.valid_time,
        })
    };
    send!(w, r, Kind::Prefixes, leases(r.prefixes.iter().map(lease))?)
}

/// The leases of a request: they have to fit into a packet.
fn leases(all: impl Iterator<Item = Result<Lease>>) -> Result<Vec<Lease>> {
    const MOST: usize = crate::v6::association::MOST_LEASES;
    let all = all.collect::<Result<Vec<_>>>()?;
    match all.len() {
        0..=MOST => Ok(all),
        n => Err(bad_argument(format!("{n} leases: {MOST} are possible"))),
    }
}

fn want<E: Message>(caller: &Caller<'_, World>, pid: u32, on: bool) -> Result<()> {
    let wants = caller.hub.subscriptions::<E>().iter().any(|(.., client)| *client == caller.client);
    if wants == on {
        let why = if on { "these events are wanted already" } else { "they aren't wanted" };
        return Err(Error::failed(why).retval(retval::INVALID_REGISTRATION));
    }
    caller.hub.subscribe::<E>(caller, pid, on);
    Ok(())
}

/// Sends clients a server's answer.
pub fn publish(w: &World, sw_if: SwIfIndex, kind: Kind, server_index: u32, answer: &Answer) {
    let msg_type = match answer.kind {
        kind::ADVERTISE => Dhcpv6MsgType::Advertise,
        _ => Dhcpv6MsgType::Reply,
    };
    let (sw_if_index, (t1, t2)) = (InterfaceIndex::from(sw_if), answer.times);
    let Answer { inner_status, status, preference, .. } = *answer;
    match kind {
        Kind::Addresses => {
            let address = |lease: &Lease| Dhcp6AddressInfo {
                address: Ip6Address(lease.prefix.addr().octets()),
                valid_time: lease.valid,
                preferred_time: lease.preferred,
            };
            w.api.publish(&Dhcp6ReplyEvent {
                sw_if_index,
                server_index,
                msg_type,
                T1: t1,
                T2: t2,
                inner_status_code: inner_status,
                status_code: status,
                preference,
                addresses: answer.leases.iter().map(address).collect(),
            });
        }
        Kind::Prefixes => {
            let prefix = |lease: &Lease| Dhcp6PdPrefixInfo {
                prefix: Ip6Prefix {
                    address: Ip6Address(lease.prefix.addr().octets()),
                    len: lease.prefix.len(),
                },
                valid_time: lease.valid,
                preferred_time: lease.preferred,
            };
            w.api.publish(&Dhcp6PdReplyEvent {
                sw_if_index,
                server_index,
                msg_type,
                T1: t1,
                T2: t2,
                inner_status_code: inner_status,
                status_code: status,
                preference,
                prefixes: answer.leases.iter().map(prefix).collect(),
            });
        }
    }
}
