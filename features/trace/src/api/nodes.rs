// SPDX-License-Identifier: Apache-2.0
//! The module `graph`: nodes, what they are for, and where they send packets.

use cli::{Error, Result};
use graph::{NodeIndex, NodeInfo, World};
use msg::{Caller, Message, Messages, Module, Str, retval};
use std::collections::HashMap;
use std::sync::Arc;

/// The module.
pub static API: Module<World> =
    Module { name: "graph", version: "1.0.0", crc: 0xa0b3_fd1c, core: false, messages };

fn messages(m: &mut Messages<World>) {
    m.stream(get);
}

msg::flags! {
    /// Properties of a node.
    pub struct NodeFlag: u32 = enum "node_flag" {
        FRAME_NO_FREE_AFTER_DISPATCH = 1 => "NODE_FLAG_FRAME_NO_FREE_AFTER_DISPATCH",
        IS_OUTPUT = 2 => "NODE_FLAG_IS_OUTPUT",
        IS_DROP = 4 => "NODE_FLAG_IS_DROP",
        IS_PUNT = 8 => "NODE_FLAG_IS_PUNT",
        IS_HANDOFF = 16 => "NODE_FLAG_IS_HANDOFF",
        TRACE = 32 => "NODE_FLAG_TRACE",
        SWITCH_FROM_INTERRUPT_TO_POLLING_MODE = 64 => "NODE_FLAG_SWITCH_FROM_INTERRUPT_TO_POLLING_MODE",
        SWITCH_FROM_POLLING_TO_INTERRUPT_MODE = 128 => "NODE_FLAG_SWITCH_FROM_POLLING_TO_INTERRUPT_MODE",
        TRACE_SUPPORTED = 256 => "NODE_FLAG_TRACE_SUPPORTED",
    }
}

/// Asks for nodes: one by its number or name, or all that have one of the flags.
#[derive(Message)]
#[msg(reply, details)]
pub struct GraphNodeGet {
    /// Any: all nodes come in one answer.
    pub cursor: u32,
    /// The number; all bits set for none.
    pub index: u32,
    /// The name; empty for none.
    pub name: Str<64>,
    /// Flags; none for all nodes.
    pub flags: NodeFlag,
    /// Say where they send packets.
    pub want_arcs: bool,
}

/// All were told.
#[derive(Message)]
pub struct GraphNodeGetReply {
    /// All bits set.
    pub cursor: u32,
}

/// A node.
#[derive(Message)]
pub struct GraphNodeDetails {
    /// Its number.
    pub index: u32,
    /// Its name.
    pub name: Str<64>,
    /// Its properties.
    pub flags: NodeFlag,
    /// Nodes that it sends packets to, if that was asked for.
    #[count(n_arcs: u32)]
    pub arcs_out: Vec<u32>,
}

fn flags(node: &NodeInfo) -> u32 {
    let is = |word: &str| node.name.split('-').next_back() == Some(word);
    let all = [
        (node.transmits(), NodeFlag::IS_OUTPUT),
        (is("drop"), NodeFlag::IS_DROP),
        (is("punt"), NodeFlag::IS_PUNT),
        (is("handoff"), NodeFlag::IS_HANDOFF),
        (node.input, NodeFlag::TRACE_SUPPORTED),
    ];
    all.iter().filter(|(is, _)| *is).fold(0, |flags, (_, flag)| flags | flag.0)
}

fn get(
    w: &World,
    _: &Caller<'_, World>,
    r: GraphNodeGet,
) -> Result<(Vec<GraphNodeDetails>, GraphNodeGetReply)> {
    let nodes = w.nodes();
    let by_name: HashMap<Arc<str>, NodeIndex> = nodes.iter().map(|n| (n.name.clone(), n.index)).collect();
    let (one, name) = (r.index != u32::MAX || !r.name.as_str().is_empty(), r.name.as_str());
    let wanted = |node: &NodeInfo| match one {
        true if r.index != u32::MAX => u32::from(node.index.0) == r.index,
        true => *node.name == *name,
        false => r.flags.0 == 0 || flags(node) & r.flags.0 != 0,
    };
    let details = |node: &NodeInfo| {
        let arcs = node.next.iter().filter(|_| r.want_arcs);
        GraphNodeDetails {
            index: u32::from(node.index.0),
            name: (*node.name).into(),
            flags: NodeFlag(flags(node)),
            arcs_out: arcs.filter_map(|name| Some(u32::from(by_name.get(name)?.0))).collect(),
        }
    };
    let all: Vec<_> = nodes.iter().filter(|node| wanted(node)).map(details).collect();
    if one && all.is_empty() {
        return Err(Error::not_found("there is no such node").retval(retval::NO_SUCH_NODE));
    }
    Ok((all, GraphNodeGetReply { cursor: u32::MAX }))
}
