// SPDX-License-Identifier: Apache-2.0
//! Router advertisements that we send.

use crate::ra::{Advertiser, RaConfig, RaPrefix, usual_lifetime};
use cli::{Error, Result};
use graph::{SwIfIndex, World};
use msg::{Messages, retval};
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

msg::messages! {
    /// Configures router advertisements of an interface: fields that aren't 0 are set, or reset
    /// with `is_no`.
    SwInterfaceIp6ndRaConfig,
    /// Starts or stops advertising a prefix on an interface.
    SwInterfaceIp6ndRaPrefix,
    /// Asks for the router advertisements of an interface, or of all.
    SwInterfaceIp6ndRaDump,
    /// A prefix that is advertised.
    Ip6ndRaPrefix,
    /// Router advertisements of an interface. Times are seconds of the instance's clock.
    SwInterfaceIp6ndRaDetails,
}

fn config(w: &World, r: SwInterfaceIp6ndRaConfig) -> Result<()> {
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

fn prefix(w: &World, r: SwInterfaceIp6ndRaPrefix) -> Result<()> {
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

fn dump(w: &World, r: SwInterfaceIp6ndRaDump) -> Result<Vec<SwInterfaceIp6ndRaDetails>> {
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
