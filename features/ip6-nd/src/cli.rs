// SPDX-License-Identifier: Apache-2.0
//! The commands, and the lines that save what they set.

use crate::dad::{Dad, Settings};
use crate::protocol::Nd;
use crate::proxy::Proxies;
use crate::ra::{Advertiser, RaConfig, RaPrefix, domain, usual_lifetime};
use crate::rd::{Backoff, Receiver};
use crate::{show, verbs};
use cli::{Command, Error, Matches, Result};
use graph::{Phase, RunningConfig, World};
use net::args::{interface, write_switches};
use net::{Addresses, Interfaces};
use wire::nd::PrefixInfo;
use wire::{Ip6, Ip6Prefix};

pub const COMMANDS: &[Command<World>] = cli::commands! {
    /// Set the contents of router advertisements on an interface; `no' is for all words of the line
    "ip6 nd",
    "<interface:interface> {no | ra-suppress | ra-managed-config-flag | ra-other-config-flag \
     | ra-suppress-link-layer | ra-send-unicast | ra-cease \
     | ra-lifetime [<lifetime:u32>] | ra-initial [<count:u32> <interval:u32>] \
     | ra-interval [<max:u32> [<min:u32>]] | ra-hop-limit [<hops:u8>] \
     | ra-dns <server:ip6> [lifetime <seconds:u32>] | ra-search <domain:word> [lifetime <seconds:u32>] \
     | prefix <prefix:prefix6> [<valid:u32> <preferred:u32>] [infinite] [default] [absolute] \
     [no-advertise] [off-link] [no-autoconfig] [no-onlink]}..." => nd;
    /// Make addresses of the prefixes that routers tell, and a default route
    "ip6 nd address autoconfig", "<interface:interface> [default-route] [disable]" => |w, m| {
        let (on, default_route) = (!m.flag("disable"), m.flag("default-route"));
        w.get::<Receiver>().autoconfig(w, interface(w, m, "interface")?, on, default_route)
    };
    /// Ask routers for an advertisement: first and longest pause, number, time (seconds; 0: no
    /// limit)
    "ip6 nd router-solicitation",
    "<interface:interface> [stop] [irt <irt:u32>] [mrt <mrt:u32>] [mrc <mrc:u32>] [mrd <mrd:u32>]"
        => solicit;
    /// Answer for a host behind this interface where it is asked for on others
    "set ip6 nd proxy", "<interface:interface> [del] <host:ip6>" => |w, m| {
        let (sw_if, host) = (interface(w, m, "interface")?, m.req("host")?);
        w.get::<Proxies>().set_host(w, sw_if, host, !m.flag("del"))
    };
    /// Answer on this interface for all that are routed by others
    "set interface ip6-nd proxy", "<interface:interface> [enable|disable]"
        => |w, m| w.get::<Proxies>().enable(w, interface(w, m, "interface")?, !m.flag("disable"));
    /// Send unsolicited neighbour advertisements for our addresses when they come or move
    "set ip6 nd announce", "<state:on|off>" => |w, m| {
        w.get::<Nd>().set_announces(m.str("state") == "on");
        Ok(())
    };
    /// Ask whether somebody has an address before it is used; `link-local': also those made of MAC
    /// addresses
    "set ip6 dad enable",
    "[transmits <transmits:u8>] [delay <delay:f64>] [link-local]" => dad_enable;
    /// Use addresses without asking whether somebody has them
    "set ip6 dad disable" => |w, _| w.get::<Dad>().set(w, Settings::default());
    /// State of duplicate address detection, and addresses that are still tentative
    "show ip6 dad" => show::dad;
    /// Addresses, groups and router advertisements of interfaces with IPv6
    "show ip6 interface", "[<interface:interface>]" => show::interface;
    /// Stations of the groups of IPv6 that interfaces listen to
    "show interface secondary-mac-address", "[<interface:interface>]" => show::stations;
    /// Router advertisements that are sent
    "show ip6 ra", "[<interface:interface>]" => show::ra;
    /// Addresses and default routers that router advertisements told
    "show ip6 nd autoconfig", "[<interface:interface>]" => show::autoconfig;
    /// Hosts that are answered for, and the interfaces where all others are
    "show ip6 nd proxy" => show::proxy;
};

fn nd(w: &World, m: &Matches) -> Result<()> {
    let (sw_if, on) = (interface(w, m, "interface")?, !m.flag("no"));
    if m.turns().all(|option| option.flag("no")) {
        return Err(Error::usage("`no' needs a word that it takes back").at(m.span("no")));
    }
    w.get::<Advertiser>()
        .change(w, sw_if, |c| m.turns().try_for_each(|option| set(c, &option, on)))?;
    for option in m.turns().filter(|option| option.flag("prefix")) {
        let prefix: Ip6Prefix = option.req("prefix")?;
        verbs::set_prefix(w, sw_if, prefix, if on { Some(ra_prefix(w, &option)?) } else { None })?;
    }
    Ok(())
}

fn ra_prefix(w: &World, m: &Matches) -> Result<RaPrefix> {
    let usual = RaPrefix::default();
    let (valid, preferred) = match (m.flag("infinite"), m.opt("valid")?) {
        (true, _) => (PrefixInfo::INFINITE, PrefixInfo::INFINITE),
        (false, Some(valid)) if !m.flag("default") => (valid, m.req("preferred")?),
        _ => (usual.valid, usual.preferred),
    };
    Ok(RaPrefix {
        valid,
        preferred,
        no_advertise: m.flag("no-advertise"),
        off_link: m.flag("off-link"),
        no_autoconfig: m.flag("no-autoconfig"),
        no_onlink: m.flag("no-onlink"),
        since: m.flag("absolute").then(|| w.clock.now()),
    })
}

fn set(c: &mut RaConfig, m: &Matches, on: bool) -> Result<()> {
    let usual = RaConfig::default();
    let number = |name: &str, usual: u32| -> Result<u32> {
        match (on, m.opt(name)?) {
            (true, Some(number)) => Ok(number),
            (true, None) => Err(Error::usage(format!("<{name}> is missing"))),
            (false, _) => Ok(usual),
        }
    };
    for (word, flag) in [
        ("ra-suppress", &mut c.suppress),
        ("ra-managed-config-flag", &mut c.managed),
        ("ra-other-config-flag", &mut c.other),
        ("ra-suppress-link-layer", &mut c.no_link),
        ("ra-send-unicast", &mut c.unicast),
        ("ra-cease", &mut c.cease),
    ] {
        if m.flag(word) {
            *flag = on;
        }
    }
    if m.flag("ra-lifetime") {
        c.lifetime = number("lifetime", usual_lifetime(c.max_interval))?;
    }
    if m.flag("ra-initial") {
        c.initial_count = number("count", usual.initial_count)?;
        c.initial_interval = number("interval", usual.initial_interval)?;
    }
    if m.flag("ra-interval") {
        let max = number("max", usual.max_interval)?;
        let least = (max.saturating_mul(3) / 4).max(3);
        c.set_intervals(max, if on { m.opt("min")?.unwrap_or(least) } else { usual.min_interval });
    }
    if m.flag("ra-hop-limit") {
        c.hop_limit = number("hops", usual.hop_limit.into())? as u8;
    }
    // Three times the longest interval (RFC 8106 5.1).
    let seconds = m.opt("seconds")?.unwrap_or(3 * c.max_interval);
    if let Some(server) = m.opt("server")? {
        let _ = if on { c.servers.insert(server, seconds) } else { c.servers.remove(&server) };
    }
    if m.has("domain") {
        let name = domain(m.str("domain")).map_err(m.at("domain"))?;
        let _ = if on { c.domains.insert(name, seconds) } else { c.domains.remove(&name) };
    }
    Ok(())
}

fn solicit(w: &World, m: &Matches) -> Result<()> {
    let number = |name: &str, usual| Ok::<u32, Error>(m.opt(name)?.unwrap_or(usual));
    let backoff = Backoff {
        initial: number("irt", 1)?,
        longest: number("mrt", 120)?,
        count: number("mrc", 0)?,
        duration: number("mrd", 0)?,
    };
    let sw_if = interface(w, m, "interface")?;
    w.get::<Receiver>().solicit(w, sw_if, (!m.flag("stop")).then_some(backoff))
}

fn dad_enable(w: &World, m: &Matches) -> Result<()> {
    let dad = w.get::<Dad>();
    let now = dad.settings();
    let transmits = m.opt("transmits")?.unwrap_or(now.transmits);
    let delay = m.opt("delay")?.unwrap_or(now.delay);
    dad.set(w, Settings { enabled: true, transmits, delay, link_local: m.flag("link-local") })
}

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
        let name = world.get::<Interfaces>().word(sw_if);
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
        let name = interfaces.word(sw_if);
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
        let line = format!("set ip6 nd proxy {}", world.get::<Interfaces>().word(sw_if));
        lines.push(format!("{line} {ip}"), format!("{line} del {ip}"));
    });
    let line = "set interface ip6-nd proxy";
    write_switches(config, Phase::FEATURES, proxies.enabled(), line, ["enable", "disable"]);
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
