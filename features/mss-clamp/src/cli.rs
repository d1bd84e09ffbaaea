// SPDX-License-Identifier: Apache-2.0
//! The commands: parse, call, print.

use crate::control::{self, Setting, Settings};
use cli::{Command, Error, Matches, Output, Result, Writer};
use graph::{SwIfIndex, World};
use net::Interfaces;
use net::args::given_interface;
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
    let sw_if = net::args::interface(w, m, "interface")?;
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
