// SPDX-License-Identifier: Apache-2.0
//! The commands: parse, call, print.

use crate::control::{Rule, Rules};
use cli::{Command, Matches, Output, Result, Writer};
use graph::World;
use net::Interfaces;
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
