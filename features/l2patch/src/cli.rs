// SPDX-License-Identifier: Apache-2.0
//! The commands: parse, call, print.

use crate::control::Patches;
use cli::{Command, Matches, Output, Result, Writer};
use graph::{SwIfIndex, World};
use net::Interfaces;
use serde_json::json;
use std::fmt::Write as _;

pub const COMMANDS: &[Command<World>] = &[
    Command {
        path: "test l2patch",
        usage: "rx <rx:interface> tx <tx:interface> [del]",
        help: "Send all frames that a device receives by another one, or end that",
        run: set,
    },
    Command {
        path: "show l2patch",
        usage: "",
        help: "Devices of which all frames leave by another one",
        run: show,
    },
];

fn set(w: &World, m: &Matches) -> Result<Output> {
    let find = |word: &str| w.get::<Interfaces>().find(m.str(word)).map_err(|e| e.at(m.span(word)));
    w.get::<Patches>().set(w, (find("rx")?, find("tx")?), !m.flag("del"))?;
    Ok(Output::empty())
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
