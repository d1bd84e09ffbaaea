// SPDX-License-Identifier: Apache-2.0
//! The saved configuration: what is in force. Drafts aren't saved.

use crate::control::Firewall;
use crate::log::Logs;
use crate::sets::Set;
use crate::settings::{Limit, Settings, Timer};
use crate::show::member_words;
use crate::state::{Config, Pair};
use cli::quote;
use graph::{Phase, RunningConfig, Script, Section, SwIfIndex, World};
use net::Interfaces;
use object::{Arguments, Choice};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use syslog::sender::PORT;

/// Zones, sets and policies. Interfaces are there.
pub const PHASE: Phase = Phase { name: "firewall", after: &["acls"], before: &["features"] };

/// Members of a set in a line.
const IN_A_LINE: usize = 16;

/// Commands that set what is kept here, for the tests that save and restore it.
pub const EXAMPLES: &[Script] = &[Script::here(
    "zone firewall",
    "create loopback interface
     create loopback interface
     create loopback interface
     firewall zone lan sessions 1000 rate 50
     firewall zone wan
     firewall zone dmz
     firewall zone dmz del
     firewall set servers add network 10.1.0.0/16 10.2.0.1 2001:db8:1::/48
     firewall set servers remove network 10.2.0.1
     firewall set web add port 80 443 8000-8099
     firewall set uplinks add interface loop1 loop2
     firewall set other add network 192.0.2.0/24
     firewall set other del
     firewall set later add port
     set interface firewall zone loop0 lan
     set interface firewall zone loop1 wan
     set interface firewall zone loop2 wan
     set interface firewall zone loop2 none
     firewall policy from lan to wan default reject log
     firewall rule from lan to wan 10 accept name web dst servers proto tcp dport web log
     firewall rule from lan to wan 20 accept src 10.0.0.0/8 proto udp sport 1024-65535 dport 53 rate 100
     firewall rule from lan to wan 30 drop proto icmp icmp 8/0 dscp 46 length 100-1500
     firewall rule from lan to wan 40 reject proto tcp tcp-flags syn/syn,ack out uplinks
     firewall rule from lan to wan 50 drop src 2001:db8::/32 dst 2001:db8:2::1
     firewall rule from lan to wan 50 del
     firewall policy from wan to lan loose
     firewall begin
     firewall draft zone guests
     firewall draft set hosts add network 10.3.0.1
     firewall draft policy from guests to wan log
     firewall draft rule from wan to lan all del
     firewall draft rule from wan to lan 7 drop in uplinks src hosts
     firewall commit
     firewall begin
     firewall draft rule from wan to lan 8 drop
     firewall abort
     firewall policy from self to wan default accept
     firewall policy from lan to self
     firewall policy from lan to self del
     firewall timeout tcp-established 600
     firewall timeout udp 20
     firewall limit sessions 5000
     firewall limit half-open 500
     firewall limit source-sessions 100
     firewall limit source-rate 20
     firewall log server 127.0.0.1 port 5514
     firewall log local on
     firewall log no-policy off",
)];

/// Writes lines for all that isn't as at the start.
pub fn write_config(world: &World, config: &mut RunningConfig) {
    settings(&world.get::<Settings>(), &world.get::<Logs>(), config);
    let running = Arc::new(world.get::<Firewall>().running());
    let zones: Vec<_> =
        running.zones.iter().map(|(name, zone)| (name.clone(), zone.limits)).collect();
    config.list(PHASE, zones, |world, (name, limits), lines| {
        let line = format!("firewall zone {name}{}", limits.words(world));
        lines.push(line, format!("firewall zone {name} del"));
    });
    let sets: Vec<(String, Set)> = running.sets.clone().into_iter().collect();
    config.list(PHASE, sets, |world, (name, set), lines| {
        let kind = set.members.kind();
        let words: Vec<_> =
            member_words(world, &set.members).iter().map(|word| quote(word)).collect();
        // A set without members has a line, too.
        let mut chunks: Vec<_> = words.chunks(IN_A_LINE).collect();
        if chunks.is_empty() {
            chunks.push(&[]);
        }
        for (at, some) in chunks.into_iter().enumerate() {
            let of = [kind].into_iter().chain(some.iter().map(String::as_str));
            let of = of.collect::<Vec<_>>().join(" ");
            let line = format!("firewall set {name} add {of}");
            let undo = match at {
                0 => format!("firewall set {name} del"),
                _ => format!("firewall set {name} remove {of}"),
            };
            lines.push(line, undo);
        }
    });
    // Each policy, and then its rules one by one.
    let mut all: Vec<(Pair, Option<u32>)> = Vec::new();
    for pair in running.pairs() {
        let rules = running.policies.get(&pair).into_iter().flat_map(|policy| policy.rules.keys());
        all.extend(
            std::iter::once(None).chain(rules.map(|rule| Some(*rule))).map(|rule| (pair, rule)),
        );
    }
    let of = running.clone();
    config.list(PHASE, all, move |world, item, lines| policy(world, &of, item, lines));
    let interfaces: Vec<(SwIfIndex, u16)> =
        running.interfaces.iter().map(|(sw_if, zone)| (*sw_if, *zone)).collect();
    config.list(Phase::FEATURES, interfaces, move |world, (sw_if, zone), lines| {
        let name = quote(&world.get::<Interfaces>().name(sw_if));
        let line = format!("set interface firewall zone {name}");
        lines.push(format!("{line} {}", running.zone_name(zone)), format!("{line} none"));
    });
}

fn policy(
    world: &World,
    config: &Config,
    (pair, number): (Pair, Option<u32>),
    lines: &mut Section<'_>,
) {
    let Some(policy) = config.policies.get(&pair) else { return };
    let [from, to] = pair.map(|zone| config.zone_name(zone));
    let of = format!("from {from} to {to}");
    let Some(number) = number else {
        let line = format!("firewall policy {of}");
        return lines.push(line.clone() + &policy.options.words(world), line + " del");
    };
    if let Some(counted) = policy.rules.get(&number) {
        let line = format!("firewall rule {of} {number}");
        lines.push(line.clone() + &counted.rule.words(world), line + " del");
    }
}

fn settings(settings: &Settings, logs: &Logs, config: &mut RunningConfig) {
    let mut push = |words: String, value: u32, default: u32| {
        if value != default {
            let line = |value| format!("firewall {words} {value}");
            config.push(Phase::SETTINGS, line(value), line(default));
        }
    };
    for (word, timer) in Timer::ALL {
        push(format!("timeout {word}"), settings.seconds(*timer), timer.default_seconds());
    }
    for (word, limit) in Limit::ALL {
        push(format!("limit {word}"), settings.limit(*limit), limit.default_value());
    }
    if let Some(server) = logs.server.get() {
        let port = match server.port() {
            PORT => String::new(),
            port => format!(" port {port}"),
        };
        let line = format!("firewall log server {}{port}", server.ip());
        config.push(Phase::SETTINGS, line, "firewall log server none");
    }
    if logs.local.load(Ordering::Relaxed) {
        config.push(Phase::SETTINGS, "firewall log local on", "firewall log local off");
    }
    if !logs.records.no_policy.load(Ordering::Relaxed) {
        config.push(Phase::SETTINGS, "firewall log no-policy off", "firewall log no-policy on");
    }
}
