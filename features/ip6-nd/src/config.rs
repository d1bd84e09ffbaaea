// SPDX-License-Identifier: Apache-2.0
//! The configuration, as commands.

use crate::dad::{Dad, Settings};
use crate::protocol::Nd;
use crate::proxy::Proxies;
use crate::ra::{Advertiser, RaConfig, RaPrefix, usual_lifetime};
use crate::rd::Receiver;
use cli::quote;
use graph::{Phase, RunningConfig, World};
use net::{Addresses, Interfaces};
use wire::Ip6;
use wire::nd::PrefixInfo;

/// Writes the configuration.
pub fn write_config(world: &World, config: &mut RunningConfig) {
    let (dad, usual) = (world.get::<Dad>().settings(), Settings::default());
    if dad != usual && dad.enabled {
        let link_local = if dad.link_local { " link-local" } else { "" };
        let line = format!(
            "set ip6 dad enable transmits {} delay {}{link_local}",
            dad.transmits, dad.delay
        );
        config.push(Phase::SETTINGS, line, "set ip6 dad disable");
    }
    if world.get::<Nd>().announces() {
        config.push(Phase::SETTINGS, "set ip6 nd announce on", "set ip6 nd announce off");
    }
    let interfaces = world.get::<Interfaces>();
    config.list(Phase::FEATURES, interfaces.indices(), |world, sw_if, lines| {
        let link = world.get::<Advertiser>().link(sw_if);
        let name = quote(&world.get::<Interfaces>().name(sw_if));
        for (set, unset) in advertised(&link.config, world.clock.now()) {
            let line = |rest: String| format!("ip6 nd {name} {rest}");
            lines.push(line(set), line(unset));
        }
    });
    config.list(Phase::FEATURES, interfaces.indices(), |world, sw_if, lines| {
        let (interfaces, link) = (world.get::<Interfaces>(), world.get::<Receiver>().link(sw_if));
        if !link.autoconfig {
            return;
        }
        let name = quote(&interfaces.name(sw_if));
        let line = format!("ip6 nd address autoconfig {name}");
        let route = if link.default_route { " default-route" } else { "" };
        lines.push(format!("{line}{route}"), format!("{line} disable"));
        let addresses = world.get::<Addresses<Ip6>>();
        let mut own = addresses.own(sw_if);
        own.retain(|prefix| !addresses.is_learned(sw_if, *prefix));
        if own.is_empty() && !addresses.is_enabled(sw_if) {
            // Autoconfiguration enabled IPv6 here, and an operator disabled it afterwards.
            let line = format!("disable ip6 interface {name}");
            lines.push(line.clone(), line);
        }
    });
    let proxies = world.get::<Proxies>();
    config.list(Phase::FEATURES, proxies.hosts(), |world, (sw_if, ip), lines| {
        let line = format!("set ip6 nd proxy {}", quote(&world.get::<Interfaces>().name(sw_if)));
        lines.push(format!("{line} {ip}"), format!("{line} del {ip}"));
    });
    config.list(Phase::FEATURES, proxies.enabled(), |world, sw_if, lines| {
        let line =
            format!("set interface ip6-nd proxy {}", quote(&world.get::<Interfaces>().name(sw_if)));
        lines.push(format!("{line} enable"), format!("{line} disable"));
    });
}

/// The rest of each line that sets, and of the line that resets it.
fn advertised(c: &RaConfig, now: u64) -> Vec<(String, String)> {
    let usual = RaConfig::default();
    let mut lines = Vec::new();
    if !c.suppress {
        lines.push(("no ra-suppress".to_string(), "ra-suppress".to_string()));
    }
    for (word, on) in [
        ("ra-managed-config-flag", c.managed),
        ("ra-other-config-flag", c.other),
        ("ra-suppress-link-layer", c.no_link),
        ("ra-send-unicast", c.unicast),
        ("ra-cease", c.cease),
    ] {
        if on {
            lines.push((word.to_string(), format!("no {word}")));
        }
    }
    // The interval first: the lifetime has to go with it.
    if (c.max_interval, c.min_interval) != (usual.max_interval, usual.min_interval) {
        let interval = format!("ra-interval {} {}", c.max_interval, c.min_interval);
        lines.push((interval, "no ra-interval".into()));
    }
    if c.lifetime != usual_lifetime(c.max_interval) {
        lines.push((format!("ra-lifetime {}", c.lifetime), "no ra-lifetime".into()));
    }
    if (c.initial_count, c.initial_interval) != (usual.initial_count, usual.initial_interval) {
        let initial = format!("ra-initial {} {}", c.initial_count, c.initial_interval);
        lines.push((initial, "no ra-initial".into()));
    }
    if c.hop_limit != usual.hop_limit {
        lines.push((format!("ra-hop-limit {}", c.hop_limit), "no ra-hop-limit".into()));
    }
    for (prefix, p) in &c.prefixes {
        lines.push((format!("prefix {prefix}{}", words(p, now)), format!("no prefix {prefix}")));
    }
    for (server, lifetime) in &c.servers {
        lines.push((format!("ra-dns {server} lifetime {lifetime}"), format!("no ra-dns {server}")));
    }
    for (domain, lifetime) in &c.domains {
        lines.push((
            format!("ra-search {domain} lifetime {lifetime}"),
            format!("no ra-search {domain}"),
        ));
    }
    lines
}

fn words(p: &RaPrefix, now: u64) -> String {
    let usual = RaPrefix::default();
    // An absolute lifetime is written as its remaining seconds.
    let mut words = match (p.left(p.valid, now), p.left(p.preferred, now)) {
        (PrefixInfo::INFINITE, PrefixInfo::INFINITE) => " infinite".to_string(),
        both if both == (usual.valid, usual.preferred) => String::new(),
        (valid, preferred) => format!(" {valid} {preferred}"),
    };
    for (word, on) in [
        (" absolute", p.since.is_some()),
        (" no-advertise", p.no_advertise),
        (" off-link", p.off_link),
        (" no-autoconfig", p.no_autoconfig),
        (" no-onlink", p.no_onlink),
    ] {
        if on {
            words += word;
        }
    }
    words
}
