// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `ip6_nd`: router advertisements received, and router solicitations.

use super::{proxy, ra};
use crate::rd::{Backoff, ReceivedAdvertisement, Receiver};
use cli::Result;
use graph::World;
use msg::{Caller, Message, Messages, Module, Wire};
use net::api::{InterfaceIndex, Ip6Address, Prefix};
use wire::nd::{NdOption, NdOptions, PrefixInfo, RouterAdvertisement};

/// The module.
pub static API: Module<World> =
    Module { name: "ip6_nd", version: "1.1.0", crc: 0x5f19_a809, core: true, messages };

fn messages(m: &mut Messages<World>) {
    ra::messages(m);
    proxy::messages(m);
    m.call(send_router_solicitation);
    m.call(want);
    m.answer::<Ip6RaEvent>();
}

/// Solicits routers until one advertises itself, or stops that (RFC 7559; times in seconds, 0 for
/// no limit).
#[derive(Message)]
pub struct Ip6ndSendRouterSolicitation {
    /// Until the second solicitation.
    pub irt: u32,
    /// Between two solicitations at most.
    pub mrt: u32,
    /// Solicitations at most.
    pub mrc: u32,
    /// From the first solicitation to the last at most.
    pub mrd: u32,
    /// The interface.
    pub sw_if_index: InterfaceIndex,
    /// Stop soliciting.
    pub stop: bool,
}

fn send_router_solicitation(
    w: &World,
    _: &Caller<'_, World>,
    r: Ip6ndSendRouterSolicitation,
) -> Result<()> {
    let backoff = Backoff { initial: r.irt, longest: r.mrt, count: r.mrc, duration: r.mrd };
    w.get::<Receiver>().solicit(w, r.sw_if_index.existing(w)?, (!r.stop).then_some(backoff))
}

/// Asks for events of router advertisements.
#[derive(Message)]
#[msg(events(Ip6RaEvent))]
pub struct WantIp6RaEvents {
    /// Ask, not stop asking.
    pub enable: bool,
    /// Comes back with every event.
    pub pid: u32,
}

fn want(_: &World, c: &Caller<'_, World>, r: WantIp6RaEvents) -> Result<()> {
    c.hub.subscribe::<Ip6RaEvent>(c, r.pid, r.enable);
    Ok(())
}

/// A prefix that a router advertised.
#[derive(Wire, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ip6RaPrefixInfo {
    /// The prefix.
    pub prefix: Prefix,
    /// 0x80 on the link, 0x40 for addresses of hosts' own making; no other bit.
    pub flags: u8,
    /// Seconds.
    pub valid_time: u32,
    /// Seconds.
    pub preferred_time: u32,
}

/// A router has advertised itself.
#[derive(Message)]
pub struct Ip6RaEvent {
    /// The interface.
    pub sw_if_index: InterfaceIndex,
    /// The router.
    pub router_addr: Ip6Address,
    /// Hop limit for packets of hosts.
    pub current_hop_limit: u8,
    /// 0x80 addresses, 0x40 other things come by DHCPv6.
    pub flags: u8,
    /// Seconds that it is a default router.
    pub router_lifetime_in_sec: u16,
    /// Milliseconds.
    pub neighbor_reachable_time_in_msec: u32,
    /// Milliseconds.
    pub time_in_msec_between_retransmitted_neighbor_solicitations: u32,
    /// Its prefixes.
    #[count(n_prefixes: u32)]
    pub prefixes: Vec<Ip6RaPrefixInfo>,
}

/// Publishes a router's advertisement to clients.
pub fn publish(
    w: &World,
    heard: &ReceivedAdvertisement,
    fixed: &RouterAdvertisement,
    options: &[u8],
) {
    if !w.api.has_subscribers::<Ip6RaEvent>() {
        return;
    }
    let prefixes = NdOptions::new(options).flatten().filter_map(|option| {
        let NdOption::Prefix(info) = NdOption::from(option) else { return None };
        Some(Ip6RaPrefixInfo {
            prefix: info.network()?.into(),
            flags: info.flags & (PrefixInfo::ON_LINK | PrefixInfo::AUTONOMOUS),
            valid_time: info.valid.get(),
            preferred_time: info.preferred.get(),
        })
    });
    w.api.publish(&Ip6RaEvent {
        sw_if_index: InterfaceIndex(heard.sw_if),
        router_addr: Ip6Address(heard.from.octets()),
        current_hop_limit: fixed.hop_limit,
        flags: fixed.flags,
        router_lifetime_in_sec: fixed.lifetime.get(),
        neighbor_reachable_time_in_msec: fixed.reachable.get(),
        time_in_msec_between_retransmitted_neighbor_solicitations: fixed.retransmit.get(),
        prefixes: prefixes.collect(),
    });
}
