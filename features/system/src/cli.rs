// SPDX-License-Identifier: Apache-2.0
//! The commands: parse, call, print.

use cli::{Command, Output};
use graph::World;

use crate::{control, errors, graphs, lists, machine, memory, node, runtime, statistics, threads};

pub const COMMANDS: &[Command<World>] = cli::commands! {
    /// Calls, packets and clocks of each node, by thread, since the last `clear runtime'
    "show runtime", "[brief] [verbose] [max] [summary] [time]" => runtime::show;
    /// Start runtime statistics again at zero
    "clear runtime" => |w, _| Ok(control::clear_runtime(w).then(|_| Ok(Output::empty())));
    /// Counted ways out of nodes: drops with their reasons, and events; with `verbose' thread by
    /// thread
    "show errors", "[verbose]" => errors::show;
    /// The same as `show errors'
    "show node counters", "[verbose]" => errors::show;
    /// Start the counters of `show errors' again at zero
    "clear errors" => |w, _| Ok(control::clear_errors(w).then(|_| Ok(Output::empty())));
    /// The same as `clear errors'
    "clear node counters" => |w, _| Ok(control::clear_errors(w).then(|_| Ok(Output::empty())));
    /// One node's variants, next and previous nodes and counters, or all nodes in brief
    "show node", "[[index] <node:node>] [verbose]" => node::show;
    /// The instruction set that each node's loop uses
    "show node variants" => node::variants;
    /// Choose the instruction set of a node's loop, or of all nodes that have no choice of their
    /// own
    "set node variant", "{default|<node:node>} <variant:v1|v3|v4|default>"
        => |w, m| control::set_variant(w, m.str("node"), m.str("variant"));
    /// The same as `set node variant'
    "set node function", "<node:node> <variant:v1|v3|v4|default>"
        => |w, m| control::set_variant(w, m.str("node"), m.str("variant"));
    /// Where nodes send packets, and where they get them from
    "show vlib graph", "[<name:node>]" => graphs::table;
    /// The same as `show vlib graph', of all nodes or of those of any of the kinds
    "show graph",
    "[node] [<name:node>] [want_arcs] [input] [trace_supported] [drop] [output] [punt] [handoff] [no_free] \
     [polling] [interrupt]" => graphs::table;
    /// The graph in the language of graphviz
    "show vlib graphviz" => graphs::dot;
    /// Frames of packets that wait for nodes, and empty ones, by thread
    "show vlib frame-allocation" => graphs::frames;
    /// The same as `show vlib graphviz'
    "show graph dot" => graphs::dot;
    /// Threads, cores and how they are scheduled
    "show threads" => threads::show;
    /// Packet buffers: how many there are, and where; with `verbose' also requests that were
    /// refused and what holds buffers
    "show buffers", "[verbose|detail]" => memory::buffers;
    /// Memory of the heap, the statistics, the buffers and the process, or of those that are named;
    /// map: as a table
    "show memory",
    "[main-heap] [stats-segment] [api-segment] [numa-heaps] [map] [verbose]" => memory::memory;
    /// VPP's bounded-index hash tables aren't used here; see `show memory'
    "show bihash", "[verbose] [detail]" => |_, _| {
        let text = "No tables of this kind: hash tables grow by themselves here, `show memory' tells what they take.\n";
        Ok(Output::both(text, serde_json::json!({ "tables": [] })))
    };
    /// Entries of the stats segment; with `verbose' their values, of counters the ones that aren't
    /// 0
    "show statistics segment", "[<name>] [verbose]" => statistics::show;
    /// All feature arcs with their features in order
    "show features", "[verbose]" => lists::features;
    /// Plugins of this program
    "show plugins" => lists::plugins;
    /// Packets handed from thread to thread, and those lost to full rings
    "show handoff" => lists::handoff;
    /// The same as `show handoff'
    "show frame-queue" => lists::handoff;
    /// The processor: model, what of it is used, frequency of its time-stamp counter
    "show cpu" => machine::cpu;
    /// Memory that devices may share, that of the buffers; with any of the words, where it is
    "show physmem", "[verbose] [detail] [map]" => machine::physmem;
    /// That there is no event logger, as VPP tells it of one that is stopped
    "show event-logger", "[<max:u32>] [all]" => machine::event_logger;
    /// That failed system calls are logged, and where to look
    "show unix errors" => |_, _| {
        Ok(machine::instead(
            "Failed system calls aren't counted, but logged: `show logging'.\n",
        ))
    };
    /// That no change of routes is left for later, and where to look instead
    "show fib walk" => |_, _| {
        Ok(machine::instead(
            "No walks are queued: what depends on a route is changed with it. `show ip fib summary' counts routes.\n",
        ))
    };
    /// Tasks of the control thread, and what they wait for
    "show processes" => lists::processes;
};
