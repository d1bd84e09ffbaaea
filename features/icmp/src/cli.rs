// SPDX-License-Identifier: Apache-2.0
//! The commands.

use crate::state::State;
use crate::version::Icmp;
use cli::{Command, Error, Matches, Output};
use graph::World;
use net::Interfaces;
use serde_json::json;
use wire::{Ip4, Ip6};

pub const COMMANDS: &[Command<World>] = &[
    Command {
        path: "set ip icmp",
        usage: "error-rate <rate:0-1000000> [burst <burst:1-65535>] | echo {enable|disable} | echo-broadcast {enable|disable} \
                | redirect <interface:interface> {enable|disable}",
        help: "How many ICMP errors a thread sends in a second; which echo requests are answered; where redirects are sent",
        run: set::<Ip4>,
    },
    Command {
        path: "set ip6 icmp",
        usage: "error-rate <rate:0-1000000> [burst <burst:1-65535>] | echo {enable|disable} | echo-multicast {enable|disable} \
                | redirect <interface:interface> {enable|disable}",
        help: "How many ICMPv6 errors a thread sends in a second; which echo requests are answered; where redirects are sent",
        run: set::<Ip6>,
    },
    Command { path: "show ip icmp", usage: "", help: "What is set for ICMP", run: show::<Ip4> },
    Command { path: "show ip6 icmp", usage: "", help: "What is set for ICMPv6", run: show::<Ip6> },
];

fn set<F: Icmp>(w: &World, m: &Matches) -> Result<Output, Error> {
    let (rate, burst) = (m.opt("rate")?, m.opt("burst")?);
    let find = || w.get::<Interfaces>().find(m.str("interface")).map_err(|e| e.at(m.span("interface")));
    let interface = m.has("interface").then(find).transpose()?;
    w.get::<State<F>>().change(|s| {
        s.rate = rate.unwrap_or(s.rate);
        s.burst = burst.unwrap_or(s.burst);
        if m.flag("echo") {
            s.echo = m.flag("enable");
        }
        if m.flag("echo-broadcast") || m.flag("echo-multicast") {
            s.echo_broadcast = m.flag("enable");
        }
        match interface {
            Some(sw_if) if m.flag("enable") => {
                s.no_redirects.remove(&sw_if);
            }
            Some(sw_if) => {
                s.no_redirects.insert(sw_if);
            }
            None => {}
        }
    });
    Ok(Output::empty())
}

fn show<F: Icmp>(w: &World, _: &Matches) -> Result<Output, Error> {
    let s = w.get::<State<F>>().settings();
    let on = |on| if on { "enabled" } else { "disabled" };
    let interfaces = w.get::<Interfaces>();
    let quiet: Vec<String> = s.no_redirects.iter().map(|sw_if| interfaces.name(*sw_if)).collect();
    let redirects =
        if quiet.is_empty() { String::new() } else { format!("redirect disabled on {}\n", quiet.join(" ")) };
    let groups = if F::IS_V6 { "multicast" } else { "broadcast" };
    let text = format!(
        "error-rate {} burst {} (for each kind and thread)\necho {}\necho-{groups} {}\n{redirects}",
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
        "no_redirects": quiet,
    });
    Ok(Output::both(text, json))
}
