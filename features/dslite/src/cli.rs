// SPDX-License-Identifier: Apache-2.0
//! The commands, and the lines that save what they set.

use crate::control::{Control, Endpoint, Row};
use crate::session::{INWARD, OUTWARD};
use cli::{Command, Matches, Output, Result, Writer};
use graph::{Phase, RunningConfig, Script, World};
use nat::ranges::ranges;
use nat::timeouts::TICKS;
use serde_json::json;
use std::fmt::Write;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use wire::IpProtocol;

pub const COMMANDS: &[Command<World>] = cli::commands! {
    /// Add addresses that users behind B4s share, or remove them
    "dslite add pool address", "<first:ip4> [- <last:ip4>] [del]" => pool;
    /// Address of the AFTR: this router's, or for a B4 that of the other end; `::` for none
    "dslite set aftr-tunnel-endpoint-address", "<aftr:ip6>" => |w, m| {
        control(w).set_aftr(w, Endpoint { ip6: m.req("aftr")?, ..Endpoint::default() })
    };
    /// Address of this router as a B4; `::` for none
    "dslite set b4-tunnel-endpoint-address", "<b4:ip6>" => |w, m| {
        control(w).set_b4(w, Endpoint { ip6: m.req("b4")?, ..Endpoint::default() })
    };
    /// Addresses that users behind B4s share
    "show dslite pool" => show_pool;
    /// Address of the AFTR
    "show dslite aftr-tunnel-endpoint-address" => |w, _| {
        Ok(endpoint(control(w).read(|state| state.aftr)))
    };
    /// Address of this router as a B4, if it is one
    "show dslite b4-tunnel-endpoint-address" => |w, _| {
        Ok(endpoint(control(w).read(|state| state.b4)))
    };
    /// Sessions of users behind B4s
    "show dslite sessions" => sessions;
};

pub const EXAMPLES: &[Script] = &[Script::here(
    "AFTR with a pool",
    "dslite set aftr-tunnel-endpoint-address 2001:db8:85a3::8a2e:370:1
     dslite add pool address 192.0.2.1 - 192.0.2.3
     dslite add pool address 192.0.2.2 del
     dslite add pool address 198.51.100.7",
)];

fn control(w: &World) -> Arc<Control> {
    w.get()
}

fn pool(w: &World, m: &Matches) -> Result<()> {
    let first: Ipv4Addr = m.req("first")?;
    let last = m.opt("last")?.unwrap_or(first);
    control(w).set_range(w, (first, last), !m.flag("del"))
}

/// Writes the settings.
pub fn write_config(world: &World, config: &mut RunningConfig) {
    let control = control(world);
    let ends = control.read(|state| [("aftr", state.aftr.ip6), ("b4", state.b4.ip6)]);
    for (which, end) in ends.into_iter().filter(|(_, end)| !end.is_unspecified()) {
        let line = format!("dslite set {which}-tunnel-endpoint-address");
        config.push(Phase::FEATURES, format!("{line} {end}"), format!("{line} ::"));
    }
    let pool = control.read(|state| state.pool.clone());
    let ranges = ranges(pool.into_iter().map(|addr| (addr, ())));
    config.list(Phase::FEATURES, ranges, |_, (range, ()), lines| {
        lines.until(format!("dslite add pool address {range}"), "del");
    });
}

fn show_pool(w: &World, _: &Matches) -> Result<Output> {
    let pool = control(w).read(|state| state.pool.clone());
    let mut text = "DS-Lite pool:\n".to_string();
    // Writing to a String can't fail.
    pool.iter().for_each(|addr| _ = writeln!(text, "{addr}"));
    let all: Vec<_> = pool.iter().map(Ipv4Addr::to_string).collect();
    Ok(Output::both(text, json!(all)))
}

fn endpoint(end: Endpoint) -> Output {
    let given = Some(end.ip6).filter(|ip6| !ip6.is_unspecified());
    let value = given.as_ref().map(Ipv6Addr::to_string);
    Output::both(value.clone().unwrap_or_else(|| "none".into()), json!({ "address": value }))
}

fn protocol_name(protocol: IpProtocol) -> &'static str {
    match protocol {
        IpProtocol::TCP => "TCP",
        IpProtocol::UDP => "UDP",
        _ => "ICMP",
    }
}

fn sessions(w: &World, _: &Matches) -> Result<Output> {
    Ok(Control::sessions(w).then(|threads| {
        let mut rows: Vec<Row> = threads.into_iter().flatten().collect();
        rows.sort_by_key(|row| (row.keys[OUTWARD].b4(), row.keys[OUTWARD].end()));
        let mut last = None;
        Ok(Output::list(rows, move |_: &World, row: Row, out: &mut Writer| {
            let Row { keys, session, left } = row;
            let (b4, protocol) = (keys[OUTWARD].b4(), keys[OUTWARD].protocol());
            let (inside, outside) = (keys[OUTWARD].end(), keys[INWARD].end());
            let seconds = left / u64::from(TICKS);
            let is_other_b4 = last.replace(b4) != Some(b4);
            out.text(|text| {
                if is_other_b4 {
                    writeln!(text, "B4 {b4}")?;
                }
                writeln!(
                    text,
                    "  in {} port {} out {} port {} protocol {}\n       timeout in {seconds}\n       \
                     total pkts {}, total bytes {}",
                    inside.addr,
                    inside.port,
                    outside.addr,
                    outside.port,
                    protocol_name(protocol),
                    session.packets,
                    session.bytes
                )
            });
            out.value(|| {
                json!({
                    "b4": b4.to_string(),
                    "inside": { "address": inside.addr.to_string(), "port": inside.port },
                    "outside": { "address": outside.addr.to_string(), "port": outside.port },
                    "protocol": protocol.0,
                    "seconds_left": seconds,
                    "packets": session.packets,
                    "bytes": session.bytes,
                })
            });
            Ok(())
        }))
    }))
}
