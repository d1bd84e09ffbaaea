// SPDX-License-Identifier: Apache-2.0
//! The commands, and the lines that save what they set.

use crate::state::{Settings, State};
use crate::version::Icmp;
use cli::{Command, Error, Matches, Output};
use graph::{Phase, RunningConfig, World};
use ip::Redirects;
use net::{Column, Interfaces};
use serde_json::json;
use wire::{Ip4, Ip6};

pub const COMMANDS: &[Command<World>] = cli::commands! {
    /// Set the number of ICMP errors that a thread sends in a second; which echo requests are
    /// answered; where redirects are sent
    "set ip icmp",
    "error-rate <rate:0-1000000> [burst <burst:1-65535>] | echo {enable|disable} | echo-broadcast {enable|disable} \
     | redirect <interface:interface> {enable|disable}" => set::<Ip4>;
    /// Set the number of ICMPv6 errors that a thread sends in a second; which echo requests are
    /// answered; where redirects are sent
    "set ip6 icmp",
    "error-rate <rate:0-1000000> [burst <burst:1-65535>] | echo {enable|disable} | echo-multicast {enable|disable} \
     | redirect <interface:interface> {enable|disable}" => set::<Ip6>;
    /// Settings of ICMP
    "show ip icmp" => show::<Ip4>;
    /// Settings of ICMPv6
    "show ip6 icmp" => show::<Ip6>;
};

fn set<F: Icmp>(w: &World, m: &Matches) -> Result<(), Error> {
    let (rate, burst) = (m.opt("rate")?, m.opt("burst")?);
    if let Some(sw_if) = net::args::given_interface(w, m, "interface")? {
        w.get::<Column<Redirects<F>>>().set(w, sw_if, Redirects::new(m.flag("enable")))?;
    }
    w.get::<State<F>>().change(|s| {
        s.rate = rate.unwrap_or(s.rate);
        s.burst = burst.unwrap_or(s.burst);
        if m.flag("echo") {
            s.echo = m.flag("enable");
        }
        if m.flag("echo-broadcast") || m.flag("echo-multicast") {
            s.echo_broadcast = m.flag("enable");
        }
    });
    Ok(())
}

fn show<F: Icmp>(w: &World, _: &Matches) -> Result<Output, Error> {
    let s = w.get::<State<F>>().settings();
    let on = |on| if on { "enabled" } else { "disabled" };
    let column = w.get::<Column<Redirects<F>>>();
    let names = w.get::<Interfaces>().names().into_iter();
    let wanted = names.filter(|(_, sw_if)| column.get(*sw_if).on);
    let redirecting: Vec<String> = wanted.map(|(name, _)| name).collect();
    let redirects = match &redirecting[..] {
        [] => "redirect disabled".to_string(),
        some => format!("redirect enabled on {}", some.join(" ")),
    };
    let groups = if F::IS_V6 { "multicast" } else { "broadcast" };
    let text = format!(
        "error-rate {} burst {} (for each kind and thread)\necho {}\necho-{groups} {}\n{redirects}\n",
        s.rate,
        s.burst,
        on(s.echo),
        on(s.echo_broadcast)
    );
    let json = json!({
        "error_rate": s.rate,
        "error_burst": s.burst,
        "echo": s.echo,
        (format!("echo_{groups}")): s.echo_broadcast,
        "redirects": redirecting,
    });
    Ok(Output::both(text, json))
}

/// Writes the commands of the ICMP settings that differ from the defaults.
pub fn write_config(world: &World, config: &mut RunningConfig) {
    of::<Ip4>(world, config);
    of::<Ip6>(world, config);
}

fn of<F: Icmp>(world: &World, config: &mut RunningConfig) {
    let (now, usual) = (world.get::<State<F>>().settings(), Settings::usual::<F>());
    let set = if F::IS_V6 { "set ip6 icmp" } else { "set ip icmp" };
    if (now.rate, now.burst) != (usual.rate, usual.burst) {
        let line = |s: &Settings| format!("{set} error-rate {} burst {}", s.rate, s.burst);
        config.push(Phase::SETTINGS, line(&now), line(&usual));
    }
    let word = |on| if on { "enable" } else { "disable" };
    let groups = if F::IS_V6 { "echo-multicast" } else { "echo-broadcast" };
    let switches =
        [("echo", now.echo, usual.echo), (groups, now.echo_broadcast, usual.echo_broadcast)];
    for (what, now, usual) in switches.into_iter().filter(|(_, now, usual)| now != usual) {
        config.value(Phase::SETTINGS, &format!("{set} {what}"), word(now), word(usual));
    }
    let all = world.get::<Interfaces>().indices();
    config.list(Phase::FEATURES, all, move |world, sw_if, lines| {
        if world.get::<Column<Redirects<F>>>().get(sw_if).on {
            let line = format!("{set} redirect {}", world.get::<Interfaces>().word(sw_if));
            lines.value(&line, "enable", "disable");
        }
    });
}
