// SPDX-License-Identifier: Apache-2.0
//! The commands: parse, call, print.

use crate::control;
use crate::state::{Kind, Settings};
use crate::store::PendingDatagram;
use cli::{Cell, Command, Matches, Output, Result, Table, Writer};
use graph::World;
use net::Interfaces;
use serde_json::json;

const LIMITS: &str = "[timeout <timeout:0-4294967295>] [max-reassemblies <datagrams:0-4294967295>] \
     [max-reassembly-length <fragments:0-4294967295>] [expire-walk-interval <interval:0-4294967295>]";
const SET: &str = "Limits: milliseconds until a datagram is given up, datagrams on a thread, fragments of one, milliseconds \
     between two looks for what is late";
const SHOW: &str = "Limits of reassembly, and datagrams whose fragments haven't all come";

macro_rules! commands {
    ($($name:literal $kind:ident $v6:literal),*) => {
        &[
            $(Command { path: concat!("set ", $name), usage: LIMITS, help: SET, run: |w, m| set(w, m, Kind::$kind, $v6) },
            Command { path: concat!("show ", $name), usage: "[details]", help: SHOW, run: |w, m| show(w, m, Kind::$kind, $v6) },)*
            Command {
                path: "set ip local-reassembly",
                usage: "{ip4|ip6} {enable|disable}",
                help: "Put datagrams together that are for us",
                run: set_local,
            },
            Command {
                path: "set ip reassembly extended",
                usage: "{ip4|ip6} {on|off}",
                help: "Let fragments pass shallow reassembly once the first and the last of their datagram have come",
                run: set_extended,
            },
            Command {
                path: "set interface reassembly",
                usage: "<interface:interface> <what:on|off|ip4|ip6>",
                help: "Put datagrams together that come in by an interface, before they are routed",
                run: |w, m| enable(w, m, Kind::Full),
            },
            Command {
                path: "set interface virtual-reassembly",
                usage: "<interface:interface> <what:on|off|ip4|ip6>",
                help: "Know ports of fragments that come in by an interface, without putting datagrams together",
                run: |w, m| enable(w, m, Kind::Shallow),
            },
        ]
    };
}

pub const COMMANDS: &[Command<World>] = commands! {
    "ip4-full-reassembly" Full false,
    "ip6-full-reassembly" Full true,
    "ip4-sv-reassembly" Shallow false,
    "ip6-sv-reassembly" Shallow true
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

fn set_local(w: &World, m: &Matches) -> Result<Output> {
    control::set_local(w, m.flag("ip6"), m.flag("enable"))?;
    Ok(Output::empty())
}

fn set_extended(w: &World, m: &Matches) -> Result<Output> {
    control::set_extended(w, m.flag("ip6"), m.flag("on"));
    Ok(Output::empty())
}

fn enable(w: &World, m: &Matches, kind: Kind) -> Result<Output> {
    let sw_if =
        w.get::<Interfaces>().find(m.str("interface")).map_err(|e| e.at(m.span("interface")))?;
    let what = m.str("what");
    control::enable(w, sw_if, kind, false, matches!(what, "on" | "ip4"))?;
    control::enable(w, sw_if, kind, true, matches!(what, "on" | "ip6"))?;
    Ok(Output::empty())
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
    let (ip, kind) = (
        if v6 { "IP6" } else { "IP4" },
        match kind {
            Kind::Full => "full",
            Kind::Shallow => "shallow virtual",
        },
    );
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
