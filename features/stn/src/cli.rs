// SPDX-License-Identifier: Apache-2.0
//! The commands, and the lines that save what they set.

use crate::control::{PUNTED, Rule, Rules};
use cli::{Command, Matches, Output, Result, Writer};
use graph::{Phase, RunningConfig, Script, World};
use net::Interfaces;
use punt::Punt;
use serde_json::json;

pub const COMMANDS: &[Command<World>] = cli::commands! {
    /// Let punted packets to an address leave by an interface, or end that
    "stn rule", "({address <address:ip>} {interface <interface:interface>} [del])" => set;
    /// Addresses whose punted packets leave by an interface
    "show stn rules" => show;
};

fn set(w: &World, m: &Matches) -> Result<()> {
    let sw_if = net::args::interface(w, m, "interface")?;
    let (rules, address) = (w.get::<Rules>(), m.req("address")?);
    let done = if m.flag("del") { rules.delete(w, address) } else { rules.add(w, address, sw_if) };
    done.map_err(m.at("address"))
}

fn show(w: &World, _: &Matches) -> Result<Output> {
    let all = w.get::<Rules>().list();
    Ok(Output::list(all, |w: &World, rule: Rule, out: &mut Writer| {
        let Rule { index, address, sw_if } = rule;
        // Deleted since the list was made.
        let Ok(interface) = w.get::<Interfaces>().get(sw_if) else { return Ok(()) };
        let (name, next) = (&interface.name, w.node_name(interface.output));
        let number = interface.output.at();
        out.text(|text| {
            *text += &format!(
                "- rule_index: {index}\n  address: {address}\n  iface: {name} ({sw_if})\n  \
                 next_node: {next} ({number})\n"
            );
        });
        out.value(|| {
            json!({ "rule_index": index, "address": address, "iface": name, "next_node": next.to_string() })
        });
        Ok(())
    }))
}

/// Commands that set what is kept here, for the tests that save and restore it.
pub const EXAMPLES: &[Script] = &[Script::here(
    "punted packets by address",
    "create loopback interface
     create packet-generator interface pg0
     stn rule address 192.0.2.1 interface loop0
     stn rule address 192.0.2.2 interface loop0
     stn rule address 192.0.2.2 interface pg0
     stn rule address 2001:db8::1 interface pg0
     stn rule address 192.0.2.3 interface pg0
     stn rule address 192.0.2.3 interface pg0 del
     set punt ipv4 tcp del all",
)];

/// Writes a line for each rule, and behind them lines for the punts that the first rule adds and an
/// operator has deleted again.
pub fn write_config(world: &World, config: &mut RunningConfig) {
    config.list(Phase::FEATURES, world.get::<Rules>().list(), |world, rule, lines| {
        let name = world.get::<Interfaces>().word(rule.sw_if);
        lines.until(format!("stn rule address {} interface {name}", rule.address), "del");
    });
    if world.get::<Rules>().list().is_empty() {
        return;
    }
    let all = world.get::<Punt>().list();
    for key in PUNTED.into_iter().filter(|key| !all.iter().any(|(one, _)| one == key)) {
        let what = punt::describe(world, key);
        let kind = what.strip_suffix(" all").unwrap_or(&what);
        config.value(Phase::FEATURES, &format!("set punt {kind}"), "del all", "all");
    }
}
