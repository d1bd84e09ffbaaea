// SPDX-License-Identifier: Apache-2.0
//! The commands: parse, call, print.

use crate::control::{Config, SoftRss, hex, list};
use crate::flow::Fields;
use crate::toeplitz::{KEY, Key};
use cli::{Command, Error, Matches, Output, Result};
use graph::World;
use net::Interfaces;
use net::args::{given_interface, interface};
use startup::value::{CoreList, Value};

/// The usage of a kind of fields.
macro_rules! fields {
    ($name:literal) => {
        concat!("<", $name, ":4-tuple|2-tuple|src-ip|dst-ip|disabled>")
    };
}

const CONFIG: &str = concat!(
    "<interface:interface> [type ",
    fields!("type"),
    "] [ipv4-type ",
    fields!("ipv4"),
    "] [ipv6-type ",
    fields!("ipv6"),
    "] [l2-offset <offset:0-1024>] [threads <threads>] [with-main-thread] [rss-key <key>]"
);

pub const COMMANDS: &[Command<World>] = cli::commands! {
    /// Set how received packets of a device, or packets from a tunnel, are spread over threads
    "soft-rss config", CONFIG => config;
    /// Spread received packets of a device, or packets from a tunnel, over threads by flow
    "soft-rss enable", "<interface:interface>"
        => |w, m| w.get::<SoftRss>().enable(w, interface(w, m, "interface")?);
    /// Leave received packets of a device or tunnel on the thread where they come in
    "soft-rss disable", "<interface:interface>"
        => |w, m| w.get::<SoftRss>().disable(w, interface(w, m, "interface")?);
    /// Remove the configuration of a device or tunnel
    "soft-rss clear", "<interface:interface>"
        => |w, m| w.get::<SoftRss>().clear(w, interface(w, m, "interface")?);
    /// Devices and tunnels whose packets are spread over threads
    "show soft-rss", "[<interface:interface>]" => show;
};

fn fields(m: &Matches, name: &str) -> Option<Fields> {
    let word = m.has(name).then(|| m.str(name))?;
    Fields::WORDS.iter().find(|(known, _)| *known == word).map(|(_, fields)| *fields)
}

fn config(w: &World, m: &Matches) -> Result<()> {
    let sw_if = interface(w, m, "interface")?;
    let both = fields(m, "type").unwrap_or_default();
    let mut config = Config {
        ip4: fields(m, "ipv4").unwrap_or(both),
        ip6: fields(m, "ipv6").unwrap_or(both),
        l2_offset: m.get("offset").unwrap_or(0),
        with_main: m.flag("with-main-thread"),
        ..Config::default()
    };
    if m.has("threads") {
        let wrong = |why: String| Error::parse(why).at(m.span("threads"));
        let CoreList(threads) = CoreList::parse(m.str("threads")).map_err(wrong)?;
        config.threads = threads;
    }
    if m.has("key") {
        config.key = key(m.str("key")).ok_or_else(|| {
            Error::parse(format!("expected {} hexadecimal digits", 2 * KEY)).at(m.span("key"))
        })?;
    }
    w.get::<SoftRss>().configure(w, sw_if, config)
}

/// Reads a key in hexadecimal digits, with or without `0x`.
fn key(text: &str) -> Option<Key> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    if digits.len() != 2 * KEY {
        return None;
    }
    let mut key = [0; KEY];
    for (i, byte) in key.iter_mut().enumerate() {
        *byte = u8::from_str_radix(digits.get(2 * i..2 * i + 2)?, 16).ok()?;
    }
    Some(key)
}

fn show(w: &World, m: &Matches) -> Result<Output> {
    let only = given_interface(w, m, "interface")?;
    let all = w.get::<SoftRss>().list().into_iter();
    let all = all.filter(move |(sw_if, ..)| only.is_none_or(|only| only == *sw_if));
    Ok(cli::columns!(all, |w: &World, (sw_if, config, on)| {
        "Interface" => w.get::<Interfaces>().name(sw_if),
        "Enabled" => if on { "yes" } else { "no" },
        "IPv4" => config.ip4.word(),
        "IPv6" => config.ip6.word(),
        "L2 offset" right => config.l2_offset,
        "Threads" => list(&config.targets(w.threads())),
        "Key" => hex(&config.key),
    }))
}
