// SPDX-License-Identifier: Apache-2.0
//! The commands, and the lines that save what they set.

use crate::control::{self, Setting, Settings};
use cli::{Command, Error, Matches, Output, Result, Writer};
use graph::{Phase, RunningConfig, Script, SwIfIndex, World};
use net::Interfaces;
use net::args::{given_interface, interface};
use serde_json::{Value, json};

pub const COMMANDS: &[Command<World>] = cli::commands! {
    /// Lower the maximum segment size in TCP's SYN segments that an interface receives (rx), sends
    /// (tx) or both (enable)
    "set interface tcp-mss-clamp",
    "(<interface:interface> [ip4 <dir4:enable|disable|rx|tx>] [ip4-mss <mss4:u16>] \
     [ip6 <dir6:enable|disable|rx|tx>] [ip6-mss <mss6:u16>])" => set;
    /// Greatest segment sizes that interfaces let TCP connections ask for
    "show interface tcp-mss-clamp", "[<interface:interface>]" => show;
};

/// The setting of a protocol after a command; values that it doesn't name stay.
fn changed(m: &Matches, [dir, mss]: [&str; 2], old: Setting) -> Result<Setting> {
    let mss = m.opt(mss)?.unwrap_or(old.mss);
    let (rx, tx) = match m.has(dir).then(|| m.str(dir)) {
        Some("enable") => (true, true),
        Some("rx") => (true, false),
        Some("tx") => (false, true),
        Some(_) => (false, false),
        None => (old.rx, old.tx),
    };
    Ok(Setting { rx, tx, mss })
}

fn set(w: &World, m: &Matches) -> Result<()> {
    let sw_if = interface(w, m, "interface")?;
    if !["dir4", "mss4", "dir6", "mss6"].iter().any(|name| m.has(name)) {
        return Err(Error::parse("expected one of ip4, ip4-mss, ip6, ip6-mss at least"));
    }
    let old = control::get(w, sw_if);
    let settings = Settings {
        ip4: changed(m, ["dir4", "mss4"], old.ip4)?,
        ip6: changed(m, ["dir6", "mss6"], old.ip6)?,
    };
    control::set(w, sw_if, settings)
}

fn text(name: &str, setting: Setting) -> String {
    let Setting { rx, tx, mss } = setting;
    let directions = match (rx, tx) {
        (true, true) => "[RX TX]",
        (true, false) => "[RX]",
        (false, true) => "[TX]",
        (false, false) => return format!("{name}: disabled"),
    };
    format!("{name}: {mss} {directions}")
}

fn value(setting: Setting) -> Value {
    match setting.is_on() {
        true => json!({ "mss": setting.mss, "rx": setting.rx, "tx": setting.tx }),
        false => Value::Null,
    }
}

fn show(w: &World, m: &Matches) -> Result<Output> {
    let interfaces = w.get::<Interfaces>();
    let only = given_interface(w, m, "interface")?;
    let indices = only.map_or_else(|| interfaces.indices().collect(), |sw_if| vec![sw_if]);
    Ok(Output::list(indices, move |w: &World, sw_if: SwIfIndex, out: &mut Writer| {
        let settings = control::get(w, sw_if);
        if settings.is_on() || only.is_some() {
            let name = w.get::<Interfaces>().name(sw_if);
            let Settings { ip4, ip6 } = settings;
            out.text(|all| *all += &format!("{name}: {} {}\n", text("ip4", ip4), text("ip6", ip6)));
            out.value(|| json!({ "interface": name, "ip4": value(ip4), "ip6": value(ip6) }));
        }
        Ok(())
    }))
}

/// Commands that set what is kept here, for the tests that save and restore it.
pub const EXAMPLES: &[Script] = &[Script::here(
    "maximum segment sizes",
    "create loopback interface
     create loopback interface
     create loopback interface
     set interface tcp-mss-clamp loop0 ip4 enable ip4-mss 1424 ip6 rx ip6-mss 1404
     set interface tcp-mss-clamp loop1 ip4 tx ip4-mss 1000
     set interface tcp-mss-clamp loop1 ip4-mss 536
     set interface tcp-mss-clamp loop2 ip6 enable ip6-mss 1220
     set interface tcp-mss-clamp loop2 ip6 disable",
)];

/// The words of a protocol's setting; none if segments aren't clamped.
fn words(name: &str, setting: Setting) -> String {
    let direction = match (setting.rx, setting.tx) {
        (true, true) => "enable",
        (true, false) => "rx",
        (false, true) => "tx",
        (false, false) => return String::new(),
    };
    format!(" {name} {direction} {name}-mss {}", setting.mss)
}

/// Writes a line for each interface that clamps.
pub fn write_config(world: &World, config: &mut RunningConfig) {
    config.list(Phase::FEATURES, world.get::<Interfaces>().indices(), |world, sw_if, lines| {
        let settings = control::get(world, sw_if);
        if settings.is_on() {
            let name = world.get::<Interfaces>().word(sw_if);
            let line = format!("set interface tcp-mss-clamp {name}");
            let (ip4, ip6) = (words("ip4", settings.ip4), words("ip6", settings.ip6));
            lines.push(format!("{line}{ip4}{ip6}"), format!("{line} ip4 disable ip6 disable"));
        }
    });
}
