// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `ip6_nd`: router advertisements received, and router solicitations.

use super::{proxy, ra};
use crate::rd::{Backoff, ReceivedAdvertisement, Receiver};
use cli::Result;
use graph::World;
use msg::{Caller, Messages, Module};
use net::api::{InterfaceIndex, Ip6Address, Prefix};
use wire::nd::{NdOption, NdOptions, PrefixInfo, RouterAdvertisement};

/// The module.
pub static API: Module<World> = Module::core("ip6_nd", messages);

fn messages(m: &mut Messages<World>) {
    ra::messages(m);
    proxy::messages(m);
    m.call(send_router_solicitation);
    m.call_by(want);
    m.answer::<Ip6RaEvent>();
}

msg::messages! {
    /// Solicits routers until one advertises itself, or stops that (RFC 7559; times in seconds, 0
    /// for no limit).
    Ip6ndSendRouterSolicitation,
    /// Asks for events of router advertisements.
    WantIp6RaEvents,
    /// A prefix that a router advertised.
    Ip6RaPrefixInfo,
    /// A router has advertised itself.
    Ip6RaEvent,
}

fn send_router_solicitation(w: &World, r: Ip6ndSendRouterSolicitation) -> Result<()> {
    let backoff = Backoff { initial: r.irt, longest: r.mrt, count: r.mrc, duration: r.mrd };
    w.get::<Receiver>().solicit(w, r.sw_if_index.existing(w)?, (!r.stop).then_some(backoff))
}

fn want(_: &World, c: &Caller<'_, World>, r: WantIp6RaEvents) -> Result<()> {
    c.hub.subscribe::<Ip6RaEvent>(c, r.pid, r.enable);
    Ok(())
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
