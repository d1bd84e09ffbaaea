// SPDX-License-Identifier: Apache-2.0
//! Router advertisements that we send.

use crate::ra::{Advertiser, RaConfig, RaPrefix, usual_lifetime};
use cli::{Error, Result};
use graph::{SwIfIndex, World};
use msg::{Caller, Message, Messages, Wire, retval};
use net::api::{InterfaceIndex, Prefix};
use net::{IfKind, Interfaces, IpBinding, MtuKind};
use std::collections::BTreeSet;
use std::net::IpAddr;
use wire::Ip6;
use wire::nd::PrefixInfo;

pub fn messages(m: &mut Messages<World>) {
    m.call(config);
    m.call(prefix);
    m.dump(dump);
}

/// Configures router advertisements of an interface: fields that aren't 0 are set, or reset with
/// `is_no`.
#[derive(Message)]
pub struct SwInterfaceIp6ndRaConfig {
    /// The interface.
    pub sw_if_index: InterfaceIndex,
    /// No advertisements are sent.
    pub suppress: u8,
    /// Addresses come by DHCPv6.
    pub managed: u8,
    /// Other things come by DHCPv6.
    pub other: u8,
    /// The option with our link-layer address is left out.
    pub ll_option: u8,
    /// A host that solicits is answered by unicast.
    pub send_unicast: u8,
    /// The advertised router lifetime is 0: no default router any longer.
    pub cease: u8,
    /// Reset, not set.
    pub is_no: bool,
    /// `lifetime` counts, also if it is 0.
    pub default_router: u8,
    /// Seconds between two advertisements at most.
    pub max_interval: u32,
    /// Seconds between two advertisements at least.
    pub min_interval: u32,
    /// Seconds that we are a default router.
    pub lifetime: u32,
    /// Number of initial advertisements, which come sooner.
    pub initial_count: u32,
    /// Seconds between initial advertisements at most.
    pub initial_interval: u32,
}

fn config(w: &World, _: &Caller<'_, World>, r: SwInterfaceIp6ndRaConfig) -> Result<()> {
    let sw_if = r.sw_if_index.existing(w)?;
    w.get::<Advertiser>().change(w, sw_if, |c| {
        let (on, usual) = (!r.is_no, RaConfig::default());
        for (asked, flag) in [
            (r.suppress, &mut c.suppress),
            (r.managed, &mut c.managed),
            (r.other, &mut c.other),
            (r.ll_option, &mut c.no_link),
            (r.send_unicast, &mut c.unicast),
            (r.cease, &mut c.cease),
        ] {
            if asked != 0 {
                *flag = on;
            }
        }
        let of = |value: u32, usual: u32| if on { value } else { usual };
        if r.max_interval != 0 {
            let max = of(r.max_interval, usual.max_interval);
            let min = match of(r.min_interval, usual.min_interval) {
                0 => (max.saturating_mul(3) / 4).max(3),
                min => min,
            };
            c.set_intervals(max, min);
        } else if r.min_interval != 0 {
            c.min_interval = of(r.min_interval, usual.min_interval);
        }
        if r.lifetime != 0 || r.default_router != 0 {
            c.lifetime = of(r.lifetime, usual_lifetime(c.max_interval));
        }
        if r.initial_count != 0 {
            c.initial_count = of(r.initial_count, usual.initial_count);
        }
        if r.initial_interval != 0 {
            c.initial_interval = of(r.initial_interval, usual.initial_interval);
        }
        Ok(())
    })
}

/// Starts or stops advertising a prefix on an interface.
#[derive(Message)]
pub struct SwInterfaceIp6ndRaPrefix {
    /// The interface.
    pub sw_if_index: InterfaceIndex,
    /// The prefix.
    pub prefix: Prefix,
    /// With the usual lifetimes.
    pub use_default: bool,
    /// It isn't advertised.
    pub no_advertise: bool,
    /// Its addresses are not on the link, but routed to it.
    pub off_link: bool,
    /// Hosts don't make addresses of it.
    pub no_autoconfig: bool,
    /// Its addresses are not on the link.
    pub no_onlink: bool,
    /// Stop, not start.
    pub is_no: bool,
    /// Seconds that it is valid; all ones for ever.
    pub val_lifetime: u32,
    /// Seconds that its addresses are preferred; all ones for ever.
    pub pref_lifetime: u32,
}

fn prefix(w: &World, _: &Caller<'_, World>, r: SwInterfaceIp6ndRaPrefix) -> Result<()> {
    let sw_if = r.sw_if_index.existing(w)?;
    let wrong = || Error::parse("no prefix of IPv6").retval(retval::INVALID_VALUE);
    let IpAddr::V6(addr) = IpAddr::from(r.prefix.address) else { return Err(wrong()) };
    let prefix = wire::Prefix::new(addr, r.prefix.len).ok_or_else(wrong)?;
    let usual = RaPrefix::default();
    // As in VPP, a prefix that is there has the message's lifetimes all the same, if there are any.
    let known = w.get::<Advertiser>().link(sw_if).config.prefix(prefix).is_some();
    let of = |value: u32, usual: u32| {
        if r.use_default && !(known && value != 0) { usual } else { value }
    };
    let (valid, preferred) =
        (of(r.val_lifetime, usual.valid), of(r.pref_lifetime, usual.preferred));
    let new = RaPrefix {
        valid,
        preferred,
        no_advertise: r.no_advertise,
        off_link: r.off_link,
        no_autoconfig: r.no_autoconfig,
        no_onlink: r.no_onlink,
        since: None,
    };
    crate::verbs::set_prefix(w, sw_if, prefix, (!r.is_no).then_some(new))
}

/// Asks for the router advertisements of an interface, or of all.
#[derive(Message)]
#[msg(details)]
pub struct SwInterfaceIp6ndRaDump {
    /// The interface; all bits set for all.
    pub sw_if_index: InterfaceIndex,
}

/// A prefix that is advertised.
#[derive(Wire, Clone, Copy, Debug, Default, PartialEq)]
pub struct Ip6ndRaPrefix {
    /// The prefix.
    pub prefix: Prefix,
    /// Its addresses are on the link.
    pub onlink_flag: bool,
    /// Hosts make addresses of it.
    pub autonomous_flag: bool,
    /// Seconds that it is valid.
    pub val_lifetime: u32,
    /// Seconds that its addresses are preferred.
    pub pref_lifetime: u32,
    /// Seconds until it ends, if its lifetime is absolute.
    pub valid_lifetime_expires: f64,
    /// Seconds until its addresses are preferred no longer, if that is absolute.
    pub pref_lifetime_expires: f64,
    /// Its lifetimes are absolute.
    pub decrement_lifetime_flag: bool,
    /// It isn't advertised.
    pub no_advertise: bool,
}

/// Router advertisements of an interface. Times are seconds of the instance's clock.
#[derive(Message)]
pub struct SwInterfaceIp6ndRaDetails {
    /// The interface.
    pub sw_if_index: InterfaceIndex,
    /// Hop limit for packets of hosts.
    pub cur_hop_limit: u8,
    /// Addresses come by DHCPv6.
    pub adv_managed_flag: bool,
    /// Other things come by DHCPv6.
    pub adv_other_flag: bool,
    /// Seconds that we are a default router.
    pub adv_router_lifetime: u16,
    /// Milliseconds; 0: unspecified.
    pub adv_neighbor_reachable_time: u32,
    /// Milliseconds; 0: unspecified.
    pub adv_retransmit_interval: u32,
    /// Bytes of a packet at most.
    pub adv_link_mtu: u32,
    /// Advertisements are sent.
    pub send_radv: bool,
    /// The advertised router lifetime is 0: no default router any longer.
    pub cease_radv: bool,
    /// A host that solicits is answered by unicast.
    pub send_unicast: bool,
    /// The option with our link-layer address is sent.
    pub adv_link_layer_address: bool,
    /// Seconds between two advertisements at most.
    pub max_radv_interval: f64,
    /// Seconds between two advertisements at least.
    pub min_radv_interval: f64,
    /// When the last solicitation that is answered came in; 0 for never.
    pub last_radv_time: f64,
    /// When the last was sent to all; 0 for never.
    pub last_multicast_time: f64,
    /// When the next is sent to all; 0 for never.
    pub next_multicast_time: f64,
    /// Number of initial advertisements, which come sooner.
    pub initial_adverts_count: u32,
    /// Seconds between initial advertisements at most.
    pub initial_adverts_interval: f64,
    /// True if the initial advertisements were sent.
    pub initial_adverts_sent: bool,
    /// Advertisements sent.
    pub n_advertisements_sent: u32,
    /// Solicitations received.
    pub n_solicitations_rcvd: u32,
    /// Solicitations received, but not answered.
    pub n_solicitations_dropped: u32,
    /// The prefixes.
    #[count(n_prefixes: u32)]
    pub prefixes: Vec<Ip6ndRaPrefix>,
}

fn dump(
    w: &World,
    _: &Caller<'_, World>,
    r: SwInterfaceIp6ndRaDump,
) -> Result<Vec<SwInterfaceIp6ndRaDetails>> {
    let only = r.sw_if_index.existing_or_all(w)?;
    let set: BTreeSet<SwIfIndex> =
        w.get::<Advertiser>().list().into_iter().map(|(sw_if, _)| sw_if).collect();
    let all = w.get::<Interfaces>().list().into_iter();
    let all = all.filter(|i| {
        set.contains(&i.sw_if)
            || i.kind == IfKind::Ethernet && IpBinding::of(w, i.sw_if).is_enabled::<Ip6>()
    });
    Ok(all
        .map(|i| i.sw_if)
        .filter(|i| only.is_none_or(|only| only == *i))
        .filter_map(|i| details(w, i))
        .collect())
}

fn details(w: &World, sw_if: SwIfIndex) -> Option<SwInterfaceIp6ndRaDetails> {
    let interface = w.get::<Interfaces>().get(sw_if).ok()?;
    let link = w.get::<Advertiser>().link(sw_if);
    let (c, s, now) = (&link.config, &link.schedule, w.clock.now());
    let time = |t: Option<u64>| t.map_or(0.0, |t| t as f64 / 1e9);
    let prefixes = c.prefixes.iter().map(|(prefix, p)| {
        let ends = |lifetime: u32| match p.since {
            Some(_) if lifetime != PrefixInfo::INFINITE => f64::from(p.left(lifetime, now)),
            _ => 0.0,
        };
        Ip6ndRaPrefix {
            prefix: (*prefix).into(),
            onlink_flag: p.on_link(),
            autonomous_flag: !p.no_autoconfig,
            val_lifetime: p.valid,
            pref_lifetime: p.preferred,
            valid_lifetime_expires: ends(p.valid),
            pref_lifetime_expires: ends(p.preferred),
            decrement_lifetime_flag: p.since.is_some(),
            no_advertise: p.no_advertise,
        }
    });
    Some(SwInterfaceIp6ndRaDetails {
        sw_if_index: sw_if.into(),
        cur_hop_limit: c.hop_limit,
        adv_managed_flag: c.managed,
        adv_other_flag: c.other,
        adv_router_lifetime: c.lifetime as u16,
        adv_neighbor_reachable_time: 0,
        adv_retransmit_interval: 0,
        adv_link_mtu: interface.mtu_of(MtuKind::Ip6).into(),
        send_radv: !c.suppress,
        cease_radv: c.cease,
        send_unicast: c.unicast,
        adv_link_layer_address: !c.no_link,
        max_radv_interval: c.max_interval.into(),
        min_radv_interval: c.min_interval.into(),
        last_radv_time: time(s.last_answer),
        last_multicast_time: time(s.last_multicast),
        next_multicast_time: time(s.next),
        initial_adverts_count: c.initial_count,
        initial_adverts_interval: c.initial_interval.into(),
        initial_adverts_sent: s.is_active() && s.initial == 0,
        n_advertisements_sent: s.counts.sent,
        n_solicitations_rcvd: s.counts.solicited,
        n_solicitations_dropped: s.counts.dropped,
        prefixes: prefixes.collect(),
    })
}
