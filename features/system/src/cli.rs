// SPDX-License-Identifier: Apache-2.0
//! The commands: parse, call, print.

use cli::{Command, Error, Output};
use graph::World;

use crate::{control, errors, graphs, lists, machine, memory, node, runtime, statistics, threads};

pub const COMMANDS: &[Command<World>] = &[
    Command {
        path: "show runtime",
        usage: "[brief] [verbose] [max] [summary] [time]",
        help: "Calls, packets and clocks of each node, by thread, since the last `clear runtime'",
        run: runtime::show,
    },
    Command {
        path: "clear runtime",
        usage: "",
        help: "Start runtime statistics again at zero",
        run: |w, _| Ok(control::clear_runtime(w).then(|_| Ok(Output::empty()))),
    },
    Command {
        path: "show errors",
        usage: "[verbose]",
        help: "Counted ways out of nodes: drops with their reasons, and events; with `verbose' thread by thread",
        run: errors::show,
    },
    Command {
        path: "show node counters",
        usage: "[verbose]",
        help: "The same as `show errors'",
        run: errors::show,
    },
    Command {
        path: "clear errors",
        usage: "",
        help: "Start the counters of `show errors' again at zero",
        run: |w, _| Ok(control::clear_errors(w).then(|_| Ok(Output::empty()))),
    },
    Command {
        path: "clear node counters",
        usage: "",
        help: "The same as `clear errors'",
        run: |w, _| Ok(control::clear_errors(w).then(|_| Ok(Output::empty()))),
    },
    Command {
        path: "show node",
        usage: "[[index] <node:node>] [verbose]",
        help: "One node's variants, next and previous nodes and counters, or all nodes in brief",
        run: node::show,
    },
    Command {
        path: "show node variants",
        usage: "",
        help: "The instruction set that each node's loop uses",
        run: node::variants,
    },
    Command {
        path: "set node variant",
        usage: "{default|<node:node>} <variant:v1|v3|v4|default>",
        help: "Choose the instruction set of a node's loop, or of all nodes that have no choice of their own",
        run: |w, m| done(control::set_variant(w, m.str("node"), m.str("variant"))),
    },
    Command {
        path: "set node function",
        usage: "<node:node> <variant:v1|v3|v4|default>",
        help: "The same as `set node variant'",
        run: |w, m| done(control::set_variant(w, m.str("node"), m.str("variant"))),
    },
    Command {
        path: "show vlib graph",
        usage: "[<name:node>]",
        help: "Where nodes send packets, and where they get them from",
        run: graphs::table,
    },
    Command {
        path: "show graph",
        usage: "[node] [<name:node>] [want_arcs] [input] [trace_supported] [drop] [output] [punt] [handoff] [no_free] \
                [polling] [interrupt]",
        help: "The same as `show vlib graph', of all nodes or of those of any of the kinds",
        run: graphs::table,
    },
    Command {
        path: "show vlib graphviz",
        usage: "",
        help: "The graph in the language of graphviz",
        run: graphs::dot,
    },
    Command {
        path: "show vlib frame-allocation",
        usage: "",
        help: "Frames of packets that wait for nodes, and empty ones, by thread",
        run: graphs::frames,
    },
    Command {
        path: "show graph dot",
        usage: "",
        help: "The same as `show vlib graphviz'",
        run: graphs::dot,
    },
    Command {
        path: "show threads",
        usage: "",
        help: "Threads, cores and how they are scheduled",
        run: threads::show,
    },
    Command {
        path: "show buffers",
        usage: "[verbose|detail]",
        help: "Packet buffers: how many there are, and where; with `verbose' also requests that were refused and what holds buffers",
        run: memory::buffers,
    },
    Command {
        path: "show memory",
        usage: "[main-heap] [stats-segment] [api-segment] [numa-heaps] [map] [verbose]",
        help: "Memory of the heap, the statistics, the buffers and the process, or of those that are named; map: as a table",
        run: memory::memory,
    },
    Command {
        path: "show bihash",
        usage: "[verbose] [detail]",
        help: "That there are none of VPP's bounded-index hash tables, and where to look instead",
        run: |_, _| {
            let text = "No tables of this kind: hash tables grow by themselves here, `show memory' tells what they take.\n";
            Ok(Output::both(text, serde_json::json!({ "tables": [] })))
        },
    },
    Command {
        path: "show statistics segment",
        usage: "[<name>] [verbose]",
        help: "Entries of the stats segment; with `verbose' their values, of counters the ones that aren't 0",
        run: statistics::show,
    },
    Command {
        path: "show features",
        usage: "[verbose]",
        help: "All feature arcs with their features in order",
        run: lists::features,
    },
    Command {
        path: "show plugins",
        usage: "",
        help: "Plugins of this program",
        run: lists::plugins,
    },
    Command {
        path: "show handoff",
        usage: "",
        help: "Packets handed from thread to thread, and those lost to full rings",
        run: lists::handoff,
    },
    Command {
        path: "show frame-queue",
        usage: "",
        help: "The same as `show handoff'",
        run: lists::handoff,
    },
    Command {
        path: "show cpu",
        usage: "",
        help: "The processor: model, what of it is used, frequency of its time-stamp counter",
        run: machine::cpu,
    },
    Command {
        path: "show physmem",
        usage: "[verbose] [detail] [map]",
        help: "Memory that devices may share, that of the buffers; with any of the words, where it is",
        run: machine::physmem,
    },
    Command {
        path: "show event-logger",
        usage: "[<max:u32>] [all]",
        help: "That there is no event logger, as VPP tells it of one that is stopped",
        run: machine::event_logger,
    },
    Command {
        path: "show unix errors",
        usage: "",
        help: "That failed system calls are logged, and where to look",
        run: |_, _| {
            Ok(machine::instead(
                "Failed system calls aren't counted, but logged: `show logging'.\n",
            ))
        },
    },
    Command {
        path: "show fib walk",
        usage: "",
        help: "That no change of routes is left for later, and where to look instead",
        run: |_, _| {
            Ok(machine::instead(
                "No walks are queued: what depends on a route is changed with it. `show ip fib summary' counts routes.\n",
            ))
        },
    },
    Command {
        path: "show processes",
        usage: "",
        help: "Tasks of the control thread, and what they wait for",
        run: lists::processes,
    },
];

fn done(result: Result<(), Error>) -> Result<Output, Error> {
    result.map(Output::from)
}
