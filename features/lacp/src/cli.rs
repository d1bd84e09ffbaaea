// SPDX-License-Identifier: Apache-2.0
//! The commands: parse, call, print.

use crate::control::{Ports, Status};
use crate::pdu::{Participant, State};
use cli::{Command, Error, Matches, Output, Result, Writer, retval};
use graph::{SwIfIndex, World};
use net::Interfaces;
use net::args::given_interface;
use serde_json::{Value, json};
use std::fmt::Write as _;

pub const COMMANDS: &[Command<World>] = cli::commands! {
    /// Members of bonds in mode lacp, and what they have agreed with the other end
    "show lacp", "[<interface:interface>] [details]" => show;
    /// Log what LACP sends and receives on a member
    "debug lacp", "<interface:interface> {on | off}" => debug;
};

fn debug(w: &World, m: &Matches) -> Result<()> {
    let sw_if = given_interface(w, m, "interface")?.unwrap_or(SwIfIndex(u32::MAX));
    if !w.get::<Ports>().set_debug(sw_if, m.flag("on")) {
        let name = w.get::<Interfaces>().name(sw_if);
        return Err(Error::failed(format!("{name} is no member of a bond in mode lacp"))
            .at(m.span("interface"))
            .retval(retval::INVALID_INTERFACE));
    }
    Ok(())
}

/// Widths of the columns in front of the states.
const NAME: usize = 27;
const INDEX: usize = 13;
const BOND: usize = 17;
/// Width of a state's column.
const STATE: usize = 33;

fn show(w: &World, m: &Matches) -> Result<Output> {
    let (only, has_details) = (given_interface(w, m, "interface")?, m.flag("details"));
    let members = w.get::<Ports>().list();
    let items = [None].into_iter().chain(members.into_iter().map(Some));
    Ok(Output::list(items, move |w: &World, item, out: &mut Writer| {
        match item {
            None => out.text(head),
            Some(status) if only.is_none_or(|only| only == status.sw_if) => {
                member(w, &status, has_details, out);
            }
            Some(_) => {}
        }
        Ok(())
    }))
}

fn head(text: &mut String) -> std::fmt::Result {
    let width = NAME + INDEX + BOND;
    writeln!(text, "{:width$}{:STATE$}partner state", "", "actor state")?;
    let bits = State::NAMES.map(|(_, name)| name).join("/");
    writeln!(
        text,
        "{:NAME$}{:INDEX$}{:BOND$}{bits:STATE$}{bits}",
        "interface name", "sw_if_index", "bond interface"
    )
}

fn bits(state: State) -> String {
    State::NAMES.map(|(bit, _)| if state.contains(bit) { "  1" } else { "  0" }).join(" ")
}

/// A part of the identifier of the aggregation (IEEE 802.1AX-2014 6.3.6.3).
fn lag(p: &Participant) -> String {
    let system = p.system.to_string().replace(':', "-");
    format!(
        "({:04x},{system},{:04x},{:04x},{:04x})",
        p.system_priority, p.key, p.port_priority, p.port
    )
}

fn member(w: &World, status: &Status, has_details: bool, out: &mut Writer) {
    let interfaces = w.get::<Interfaces>();
    let (name, bond) = (interfaces.name(status.sw_if), interfaces.name(status.bond));
    let port = &status.port;
    let (actor, partner) = (&port.actor, &port.partner);
    out.text(|text| {
        writeln!(
            text,
            "{name:NAME$}{:INDEX$}{bond:BOND$}{:STATE$}{}",
            status.sw_if.to_string(),
            bits(actor.state),
            bits(partner.state)
        )?;
        writeln!(text, "  LAG ID: [{}, {}]", lag(actor), lag(partner))?;
        writeln!(
            text,
            "  RX-state: {}, TX-state: TRANSMIT, MUX-state: {}, PTX-state: {}",
            port.rx.word(),
            port.mux.word(),
            port.periodic.word()
        )?;
        if has_details {
            let selected = if port.selected { "selected" } else { "unselected" };
            writeln!(
                text,
                "  {selected}, partner {}",
                if status.has_partner() { "heard" } else { "not heard" }
            )?;
        }
        std::fmt::Result::Ok(())
    });
    out.value(|| {
        json!({
            "interface": name,
            "sw_if_index": status.sw_if.0,
            "bond": bond,
            "actor": party(actor),
            "partner": party(partner),
            "selected": port.selected,
            "rx_state": port.rx.word(),
            "mux_state": port.mux.word(),
            "periodic_state": port.periodic.word(),
        })
    });
}

fn party(p: &Participant) -> Value {
    let names: Vec<_> = State::NAMES
        .iter()
        .filter(|(bit, _)| p.state.contains(*bit))
        .map(|(_, name)| *name)
        .collect();
    json!({
        "system_priority": p.system_priority,
        "system": p.system.to_string(),
        "key": p.key,
        "port_priority": p.port_priority,
        "port": p.port,
        "state": p.state.bits(),
        "state_bits": names,
    })
}
