// SPDX-License-Identifier: Apache-2.0
//! The commands: parse, call, print.

use crate::control::Patches;
use cli::{Command, Matches, Output, Result, Writer};
use graph::{SwIfIndex, World};
use net::Interfaces;
use net::args::interface;
use serde_json::json;
use std::fmt::Write as _;

pub const COMMANDS: &[Command<World>] = cli::commands! {
    /// Send all frames that a device receives by another one, or end that
    "test l2patch", "rx <rx:interface> tx <tx:interface> [del]" => set;
    /// Devices of which all frames leave by another one
    "show l2patch" => show;
};

fn set(w: &World, m: &Matches) -> Result<()> {
    let find = |word: &str| interface(w, m, word);
    w.get::<Patches>().set(w, (find("rx")?, find("tx")?), !m.flag("del"))
}

fn show(w: &World, _: &Matches) -> Result<Output> {
    let all = w.get::<Patches>().list();
    if all.is_empty() {
        return Ok(Output::both("no l2patch entries", json!([])));
    }
    Ok(Output::list(all, |w: &World, (from, to): (SwIfIndex, SwIfIndex), out: &mut Writer| {
        let name = |sw_if| w.get::<Interfaces>().name(sw_if);
        let (rx, tx) = (name(from), name(to));
        out.text(|text| writeln!(text, "{rx} -> {tx}"));
        out.value(|| json!({ "rx": rx, "tx": tx }));
        Ok(())
    }))
}
