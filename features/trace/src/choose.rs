// SPDX-License-Identifier: Apache-2.0
//! Commands that choose a filter function.

use crate::control::{self, Filters};
use crate::function::Function;
use crate::pcap;
use cli::{Command, Output};
use graph::World;

pub const SET_FUNCTION: Command<World> = Command {
    path: "set trace filter function",
    usage: "<function:word>",
    help: "Choose what decides which packets are traced",
    run: |w, m| {
        let function = Function::find(m.str("function")).map_err(m.at("function"))?;
        control::set_function(w, function)?;
        Ok(Output::empty())
    },
};

pub const SHOW_FUNCTION: Command<World> = Command {
    path: "show trace filter function",
    usage: "",
    help: "Functions that select the packets to trace; (*) is in use",
    run: |w, _| Ok(list(w.get::<Filters>().get().function)),
};

pub const SET_PCAP: Command<World> = Command {
    path: "set pcap filter function",
    usage: "<function:word>",
    help: "Choose what decides which packets a capture with a bare `filter' takes",
    run: |w, m| {
        let function = Function::find(m.str("function")).map_err(m.at("function"))?;
        pcap::set_function(w, function);
        Ok(Output::empty())
    },
};

pub const SHOW_PCAP: Command<World> = Command {
    path: "show pcap filter function",
    usage: "",
    help: "Functions that select the packets of a capture with a bare `filter'; (*) is in use",
    run: |w, _| Ok(list(pcap::function(w))),
};

fn list(chosen: Function) -> Output {
    let (mut text, mut json) = (String::new(), Vec::new());
    for function in Function::ALL {
        let (selected, name, about) = (function == chosen, function.name(), function.about());
        let mark = if selected { "(*) " } else { "" };
        text += &format!("{mark}name:{name} description: {about}\n");
        json.push(serde_json::json!({ "name": name, "selected": selected, "description": about }));
    }
    Output::both(text, json)
}
