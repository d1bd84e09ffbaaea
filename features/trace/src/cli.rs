// SPDX-License-Identifier: Apache-2.0
//! The commands: parse, call, print.

use crate::control::{self, NodeFilter};
use crate::filter::Expression;
use crate::{choose, pcap, show, stamp};
use cli::{Command, Error, Matches, Output};
use graph::World;
use net::Interfaces;
use serde_json::json;

pub const COMMANDS: &[Command<World>] = cli::commands! {
    /// Trace the next packets that a node brings in or gets, from there on, on each thread; while a
    /// node that is no input waits for them, the super-path leaves all packets to the nodes
    "trace add", "<node:input> <count:u32> [filter] [verbose]" => |w, m| {
        let (node, filter) = (m.str("node"), m.flag("filter"));
        control::add(w, node, m.req("count")?, filter).map_err(m.at("node"))
    };
    /// The traces there are: every node that a packet passed, and what it told; `brief`: only what
    /// each decided or changed, a line for a node
    "show trace", "[brief] [max <max:u32>]" => show::show;
    /// Forget all traces, and those asked for
    "clear trace" => |w, _| Ok(control::clear(w).then(|_| Ok(Output::empty())));
    /// Trace only packets of an interface; show only traces that passed a node, or didn't; clear:
    /// all filters
    "trace filter",
    "{clear|none|interface <interface:interface>|{include|exclude} <node:node> <count:u32>}"
        => trace_filter;
    { choose::SET_FUNCTION };
    { choose::SHOW_FUNCTION };
    { choose::SET_PCAP };
    { choose::SHOW_PCAP };
    { stamp::SET_FORMAT };
    { stamp::SHOW_FORMAT };
    /// The filters of traces
    "show trace filter" => show_filter;
    /// Trace only packets that an expression of pcap-filter(7) describes
    "set bpf trace filter",
    "{del [<expression:block>]|[no-optimize] {<expression:block>|<expression:rest>}}" => bpf_filter;
    /// The expression that traced packets fit, and the program that it became
    "show bpf trace filter" => show_program;
    /// Write packets that come in, leave or are dropped to a pcapng file; another capture may run
    /// beside it if it has other directions
    "pcap trace",
    "[rx] [tx] [drop] [off] [status] [max <max:u64>] [intfc <interface:interface>] [file <file:string>] \
     [max-bytes-per-pkt <bytes:32-65535>] [filter [<expression:block>|<expression:string>]] \
     [error {<node:block> <reason> | <reason>}] \
     [preallocate-data] [free-data]" => pcap_trace;
    /// Write packets in front of each node to a pcapng file, which Wireshark shows with the nodes'
    /// names
    "pcap dispatch trace",
    "[on] [off] [status] [max <max:u64>] [file <file:string>] [max-bytes-per-pkt <bytes:32-65535>] \
     [buffer-trace <node:input> <count:u32>]" => pcap_dispatch;
};

fn trace_filter(world: &World, m: &Matches) -> Result<(), Error> {
    if m.flag("clear") {
        control::clear_filters(world)?;
    } else if m.flag("interface") {
        let interface = net::args::interface(world, m, "interface")?;
        control::set_interface(world, Some(interface))?;
    } else if m.flag("none") {
        control::set_passed(world, None)?;
    } else {
        let name = m.str("node");
        let node = world.node(name).ok_or_else(|| {
            let names: Vec<_> = world.nodes().into_iter().map(|n| n.name).collect();
            Error::not_found(format!("no node is named `{name}'"))
                .near(name, names)
                .at(m.span("node"))
                .retval(msg::retval::NO_SUCH_NODE)
        })?;
        let passed = NodeFilter { include: m.flag("include"), node, count: m.req("count")? };
        control::set_passed(world, Some(passed))?;
    }
    Ok(())
}

fn bpf_filter(world: &World, m: &Matches) -> Result<(), Error> {
    let expression = (!m.flag("del")).then(|| Expression {
        // Scripts put it into two pairs of braces; expressions have none of their own.
        text: m.str("expression").trim_matches(['{', '}', ' ']).to_string(),
        optimize: !m.flag("no-optimize"),
    });
    control::set_expression(world, expression).map_err(m.at("expression"))
}

fn show_filter(world: &World, _: &Matches) -> Result<Output, Error> {
    let wanted = world.get::<control::Filters>().get();
    let (mut text, mut json) = (String::new(), json!({}));
    if let Some(interface) = wanted.interface {
        let name = world.get::<Interfaces>().name(interface);
        text += &format!("interface: {name}\n");
        json["interface"] = name.into();
    }
    if let Some(expression) = wanted.expression {
        let [ethernet, ip] = expression.compile()?.lengths();
        let length =
            |n: Option<usize>| n.map_or("nothing fits".into(), |n| format!("{n} instructions"));
        text += &format!("expression: {}\n", expression.text);
        text += &format!("  Ethernet frames: {}\n  IP packets: {}\n", length(ethernet), length(ip));
        json["expression"] = json!({ "text": expression.text, "ethernet": ethernet, "ip": ip });
    }
    if wanted.classified {
        text += "classifier: packets that `classify filter trace' describes\n";
        json["classifier"] = true.into();
    }
    if let Some(passed) = wanted.passed {
        let (word, node) =
            (if passed.include { "include" } else { "exclude" }, world.node_name(passed.node));
        text += &format!("shown: {word} {node}, {} packets at most\n", passed.count);
        json["shown"] = json!({ word: &*node, "count": passed.count });
    }
    if text.is_empty() {
        text += "No filter\n";
    }
    Ok(Output::both(text, json))
}

/// The filters, and what packets with an Ethernet header run through.
fn show_program(world: &World, m: &Matches) -> Result<Output, Error> {
    let filters = show_filter(world, m)?;
    let Some(expression) = world.get::<control::Filters>().get().expression else {
        return Ok(filters);
    };
    let program = expression.compile()?.listing();
    let text = filters.to_text() + &program.join("\n") + "\n";
    Ok(Output::both(text, json!({ "expression": expression.text, "program": program })))
}

/// As VPP's command, it also adds a trace.
fn pcap_dispatch(world: &World, m: &Matches) -> Result<Output, Error> {
    if let Some(answer) = of_running(world, m, pcap::Directions::DISPATCH) {
        return answer;
    }
    if !m.flag("on") {
        return Err(Error::usage("choose on, off or status"));
    }
    let on = pcap::Directions::DISPATCH;
    let file = m.has("file").then(|| m.str("file").into());
    let plan = pcap::Plan { on, limits: limits(m), file, ..pcap::Plan::default() };
    let traced = if m.has("node") { Some((m.str("node"), m.req("count")?)) } else { None };
    if let Some((node, count)) = traced {
        // All of it or nothing.
        control::check(world, node, count).map_err(m.at("node"))?;
    }
    let said = pcap::start(world, plan)?;
    if let Some((node, count)) = traced {
        control::add(world, node, count, false)?;
    }
    Ok(Output::text(said))
}

/// The answer to a command about the captures that run: `status`, or `off` for those of some
/// directions.
fn of_running(world: &World, m: &Matches, on: pcap::Directions) -> Option<Result<Output, Error>> {
    if m.flag("status") {
        return Some(Ok(pcap::status(world)));
    }
    m.flag("off").then(|| pcap::stop(world, on).map(Output::task))
}

/// The packets, and bytes of each, that a command asks for.
fn limits(m: &Matches) -> pcap::Limits {
    let defaults = pcap::Limits::default();
    pcap::Limits {
        packets: m.get("max").unwrap_or(defaults.packets),
        bytes: m.get::<u32>("bytes").map_or(defaults.bytes, |n| n as usize),
    }
}

fn pcap_trace(world: &World, m: &Matches) -> Result<Output, Error> {
    let on = pcap::Directions {
        rx: m.flag("rx"),
        tx: m.flag("tx"),
        drop: m.flag("drop"),
        dispatch: false,
    };
    let ended = if on.any() { on } else { pcap::Directions::PACKETS };
    if let Some(answer) = of_running(world, m, ended) {
        return answer;
    }
    let interface = match m.str("interface") {
        "" | "any" => None,
        name => Some(world.get::<Interfaces>().find(name).map_err(m.at("interface"))?),
    };
    let own = m
        .has("expression")
        .then(|| Expression { text: m.str("expression").trim().into(), optimize: true });
    let own = own.map(pcap::CaptureFilter::Expression);
    let filter = if m.flag("filter") && own.is_none() { pcap::chosen_filter(world)? } else { own };
    let file = m.has("file").then(|| m.str("file").into());
    let reason = m.has("reason").then(|| match m.str("node") {
        "" => m.str("reason").to_string(),
        node => format!("{{{}}}{}", node.trim(), m.str("reason")),
    });
    let plan = pcap::Plan { on, interface, limits: limits(m), filter, reason, file };
    pcap::start(world, plan).map(Output::text)
}
