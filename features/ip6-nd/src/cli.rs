// SPDX-License-Identifier: Apache-2.0
//! The commands: parse, call.

use crate::dad::{Dad, Settings};
use crate::protocol::Nd;
use crate::proxy::Proxies;
use crate::ra::{Advertiser, RaConfig, RaPrefix, domain, usual_lifetime};
use crate::rd::{Backoff, Receiver};
use crate::{show, verbs};
use cli::{Command, Error, Matches, Result};
use graph::World;
use net::args::interface;
use wire::Ip6Prefix;
use wire::nd::PrefixInfo;

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
    "ip6 nd address autoconfig", "<interface:interface> [default-route] [disable]" => autoconfig;
    /// Ask routers for an advertisement: first and longest pause, number, time (seconds; 0: no
    /// limit)
    "ip6 nd router-solicitation",
    "<interface:interface> [stop] [irt <irt:u32>] [mrt <mrt:u32>] [mrc <mrc:u32>] [mrd <mrd:u32>]"
        => solicit;
    /// Answer for a host behind this interface where it is asked for on others
    "set ip6 nd proxy", "<interface:interface> [del] <host:ip6>" => proxy;
    /// Answer on this interface for all that are routed by others
    "set interface ip6-nd proxy", "<interface:interface> [enable|disable]" => proxy_all;
    /// Send unsolicited neighbour advertisements for our addresses when they come or move
    "set ip6 nd announce", "<state:on|off>" => set_announce;
    /// Ask whether somebody has an address before it is used; `link-local': also those made of MAC
    /// addresses
    "set ip6 dad enable",
    "[transmits <transmits:u8>] [delay <delay:f64>] [link-local]" => dad_enable;
    /// Use addresses without asking whether somebody has them
    "set ip6 dad disable" => dad_disable;
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

fn autoconfig(w: &World, m: &Matches) -> Result<()> {
    let sw_if = interface(w, m, "interface")?;
    w.get::<Receiver>().autoconfig(w, sw_if, !m.flag("disable"), m.flag("default-route"))
}

fn solicit(w: &World, m: &Matches) -> Result<()> {
    let number = |name: &str, usual| Ok::<u32, Error>(m.opt(name)?.unwrap_or(usual));
    let backoff = Backoff {
        initial: number("irt", 1)?,
        longest: number("mrt", 120)?,
        count: number("mrc", 0)?,
        duration: number("mrd", 0)?,
    };
    w.get::<Receiver>().solicit(
        w,
        interface(w, m, "interface")?,
        (!m.flag("stop")).then_some(backoff),
    )
}

fn proxy(w: &World, m: &Matches) -> Result<()> {
    w.get::<Proxies>().set_host(w, interface(w, m, "interface")?, m.req("host")?, !m.flag("del"))
}

fn proxy_all(w: &World, m: &Matches) -> Result<()> {
    w.get::<Proxies>().enable(w, interface(w, m, "interface")?, !m.flag("disable"))
}

fn set_announce(w: &World, m: &Matches) -> Result<()> {
    w.get::<Nd>().set_announces(m.str("state") == "on");
    Ok(())
}

fn dad_enable(w: &World, m: &Matches) -> Result<()> {
    let dad = w.get::<Dad>();
    let now = dad.settings();
    let transmits = m.opt("transmits")?.unwrap_or(now.transmits);
    let delay = m.opt("delay")?.unwrap_or(now.delay);
    dad.set(w, Settings { enabled: true, transmits, delay, link_local: m.flag("link-local") })
}

fn dad_disable(w: &World, _: &Matches) -> Result<()> {
    let dad = w.get::<Dad>();
    dad.set(w, Settings::default())
}
