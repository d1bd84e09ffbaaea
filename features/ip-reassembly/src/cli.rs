// SPDX-License-Identifier: Apache-2.0
//! The commands, and the lines that save what they set.

use crate::control;
use crate::state::{Kind, Settings};
use crate::store::PendingDatagram;
use cli::{Cell, Command, Matches, Output, Result, Table, Writer};
use graph::{Phase, RunningConfig, World};
use net::Interfaces;
use serde_json::json;

const LIMITS: &str = "[timeout <timeout:0-4294967295>] [max-reassemblies <datagrams:0-4294967295>] \
     [max-reassembly-length <fragments:0-4294967295>] [expire-walk-interval <interval:0-4294967295>]";

/// A command that sets limits.
const fn set_limits(path: &'static str, run: Run) -> Command<World> {
    let help = "Limits: milliseconds until a datagram is given up, datagrams on a thread, fragments of one, milliseconds \
                between two looks for what is late";
    Command { path, usage: LIMITS, help, run }
}

/// A command that shows them.
const fn show_limits(path: &'static str, run: Run) -> Command<World> {
    let help = "Limits of reassembly, and datagrams whose fragments haven't all come";
    Command { path, usage: "[details]", help, run }
}

type Run = fn(&World, &Matches<'_>) -> Result<Output>;

pub const COMMANDS: &[Command<World>] = cli::commands! {
    { set_limits("set ip4-full-reassembly", |w, m| set(w, m, Kind::Full, false)) };
    { set_limits("set ip6-full-reassembly", |w, m| set(w, m, Kind::Full, true)) };
    { set_limits("set ip4-sv-reassembly", |w, m| set(w, m, Kind::Shallow, false)) };
    { set_limits("set ip6-sv-reassembly", |w, m| set(w, m, Kind::Shallow, true)) };
    { show_limits("show ip4-full-reassembly", |w, m| show(w, m, Kind::Full, false)) };
    { show_limits("show ip6-full-reassembly", |w, m| show(w, m, Kind::Full, true)) };
    { show_limits("show ip4-sv-reassembly", |w, m| show(w, m, Kind::Shallow, false)) };
    { show_limits("show ip6-sv-reassembly", |w, m| show(w, m, Kind::Shallow, true)) };
    /// Put datagrams together that are for us
    "set ip local-reassembly", "{ip4|ip6} {enable|disable}"
        => |w, m| control::set_local(w, m.flag("ip6"), m.flag("enable"));
    /// Let fragments pass shallow reassembly once the first and the last of their datagram have
    /// come
    "set ip reassembly extended", "{ip4|ip6} {on|off}" => |w, m| {
        control::set_extended(w, m.flag("ip6"), m.flag("on"));
        Ok(())
    };
    /// Put datagrams together that come in by an interface, before they are routed
    "set interface reassembly", "<interface:interface> <what:on|off|ip4|ip6>"
        => |w, m| enable(w, m, Kind::Full);
    /// Virtual reassembly: features see the ports of fragments that an interface receives, and
    /// datagrams aren't put together
    "set interface virtual-reassembly", "<interface:interface> <what:on|off|ip4|ip6>"
        => |w, m| enable(w, m, Kind::Shallow);
};

fn set(w: &World, m: &Matches, kind: Kind, v6: bool) -> Result<Output> {
    let now = control::settings(w, kind, v6);
    let new = Settings {
        timeout_ms: m.opt("timeout")?.unwrap_or(now.timeout_ms),
        max_reassemblies: m.opt("datagrams")?.unwrap_or(now.max_reassemblies),
        max_reassembly_length: m.opt("fragments")?.unwrap_or(now.max_reassembly_length),
        expire_walk_interval_ms: m.opt("interval")?.unwrap_or(now.expire_walk_interval_ms),
    };
    control::configure(w, kind, v6, new);
    Ok(Output::empty())
}

fn enable(w: &World, m: &Matches, kind: Kind) -> Result<()> {
    let sw_if = net::args::interface(w, m, "interface")?;
    let what = m.str("what");
    control::enable(w, sw_if, kind, false, matches!(what, "on" | "ip4"))?;
    control::enable(w, sw_if, kind, true, matches!(what, "on" | "ip6"))
}

fn show(w: &World, m: &Matches, kind: Kind, v6: bool) -> Result<Output> {
    let (now, count) = (control::settings(w, kind, v6), control::under_way(w, kind, v6));
    if !m.flag("details") {
        return Ok(Output::both(limits(kind, v6, now, count), describe(kind, now, count)));
    }
    Ok(control::query(w, kind, v6).then(move |answers| {
        let all = answers.into_iter().flatten().flatten();
        Ok(Output::record(
            [None].into_iter().chain(all.map(Some)),
            move |_: &World, item, out: &mut Writer| {
                let Some(u): Option<PendingDatagram> = item else {
                    out.text(|text| *text += &limits(kind, v6, now, count));
                    if let serde_json::Value::Object(members) = describe(kind, now, count) {
                        members.into_iter().for_each(|(key, value)| out.field(&key, value));
                    }
                    out.array("datagrams");
                    let table =
                        Table::new().right("thread").right("fib_index").left("src").left("dst");
                    let table = table.right("frag_id").right("proto");
                    out.table(&table.right("fragments").right("bytes").right("age").key("age_ms"));
                    return Ok(());
                };
                let (src, dst, id) = u.key;
                out.row([
                    u.thread.0.into(),
                    u.fib.into(),
                    Cell::show(src),
                    Cell::show(dst),
                    id.into(),
                    u.protocol.into(),
                    u.fragments.0.into(),
                    u.fragments.1.into(),
                    Cell::new(format!("{} ms", u.age_ms), u.age_ms),
                ]);
                Ok(())
            },
        ))
    }))
}

fn limits(kind: Kind, v6: bool, s: Settings, count: u32) -> String {
    let ip = if v6 { "IP6" } else { "IP4" };
    let kind = match kind {
        Kind::Full => "full",
        Kind::Shallow => "shallow virtual",
    };
    let line = "-".repeat(21);
    format!(
        "{line}\n{ip} reassembly status\n{line}\n\
         Current {kind} {ip} reassemblies count: {count}\n\
         Maximum configured concurrent {kind} {ip} reassemblies per worker-thread: {}\n\
         Maximum configured amount of fragments per {kind} {ip} reassembly: {}\n\
         Maximum configured {kind} {ip} reassembly timeout: {}ms\n\
         Maximum configured {kind} {ip} reassembly expire walk interval: {}ms\n",
        s.max_reassemblies, s.max_reassembly_length, s.timeout_ms, s.expire_walk_interval_ms
    )
}

fn describe(kind: Kind, s: Settings, count: u32) -> serde_json::Value {
    json!({
        "kind": kind.name(),
        "under_way": count,
        "max_reassemblies": s.max_reassemblies,
        "max_reassembly_length": s.max_reassembly_length,
        "timeout_ms": s.timeout_ms,
        "expire_walk_interval_ms": s.expire_walk_interval_ms,
    })
}

/// Writes the settings that differ from the defaults, and the interfaces with reassembly.
pub fn write_config(world: &World, config: &mut RunningConfig) {
    for (ip, v6) in [("ip4", false), ("ip6", true)] {
        if !control::is_local(world, v6) {
            let line = format!("set ip local-reassembly {ip}");
            config.value(Phase::SETTINGS, &line, "disable", "enable");
        }
        if control::is_extended(world, v6) {
            let line = format!("set ip reassembly extended {ip}");
            config.value(Phase::SETTINGS, &line, "on", "off");
        }
    }
    for kind in Kind::ALL {
        write_limits(world, kind, false, config);
        write_limits(world, kind, true, config);
        let word = match kind {
            Kind::Full => "reassembly",
            Kind::Shallow => "virtual-reassembly",
        };
        let all = world.get::<Interfaces>().indices();
        config.list(Phase::FEATURES, all, move |world, sw_if, lines| {
            let on = |v6| control::is_enabled(world, sw_if, kind, v6);
            let what = match (on(false), on(true)) {
                (false, false) => return,
                (true, false) => "ip4",
                (false, true) => "ip6",
                (true, true) => "on",
            };
            let name = world.get::<Interfaces>().word(sw_if);
            lines.value(&format!("set interface {word} {name}"), what, "off");
        });
    }
}

fn write_limits(world: &World, kind: Kind, v6: bool, config: &mut RunningConfig) {
    let (now, usual) = (control::settings(world, kind, v6), kind.usual());
    let values = |s: Settings| {
        [
            ("timeout", s.timeout_ms),
            ("max-reassemblies", s.max_reassemblies),
            ("max-reassembly-length", s.max_reassembly_length),
            ("expire-walk-interval", s.expire_walk_interval_ms),
        ]
    };
    let ip = if v6 { "ip6" } else { "ip4" };
    for ((word, now), (_, usual)) in
        values(now).into_iter().zip(values(usual)).filter(|(a, b)| a != b)
    {
        let line = format!("set {ip}-{}-reassembly {word}", kind.name());
        config.value(Phase::SETTINGS, &line, now, usual);
    }
}
