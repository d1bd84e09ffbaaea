// SPDX-License-Identifier: Apache-2.0
//! The module `graph`: nodes, what they are for, and where they send packets.

use cli::{Error, Result};
use graph::{NodeIndex, NodeInfo, World};
use msg::{Caller, Message, Messages, Module, Str, retval};

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

/// The end of the nodes.
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

/// The node that was looked for, if there is one (else −63).
fn existing(node: Option<NodeInfo>) -> Result<NodeInfo> {
    node.ok_or_else(|| Error::not_found("there is no such node").retval(retval::NO_SUCH_NODE))
}

/// The node of this number (else −63).
pub fn by_number(w: &World, index: u32) -> Result<NodeInfo> {
    existing(w.node_info(NodeIndex(index)))
}

fn flags(node: &NodeInfo) -> u32 {
    let all = [
        (node.transmits(), NodeFlag::IS_OUTPUT),
        (node.is_drop(), NodeFlag::IS_DROP),
        (node.is_punt(), NodeFlag::IS_PUNT),
        (node.is_handoff(), NodeFlag::IS_HANDOFF),
        (node.input, NodeFlag::TRACE_SUPPORTED),
    ];
    all.iter().filter(|(is, _)| *is).fold(0, |flags, (_, flag)| flags | flag.0)
}

fn get(
    w: &World,
    _: &Caller<'_, World>,
    r: GraphNodeGet,
) -> Result<(Vec<GraphNodeDetails>, GraphNodeGetReply)> {
    let nodes = match (r.index, r.name.as_str()) {
        (u32::MAX, "") => {
            let mut all = w.nodes();
            all.retain(|node| r.flags.0 == 0 || flags(node) & r.flags.0 != 0);
            all
        }
        (u32::MAX, name) => vec![existing(w.node(name).and_then(|index| w.node_info(index)))?],
        (index, _) => vec![by_number(w, index)?],
    };
    let details = |node: &NodeInfo| {
        let arcs = node.next.iter().filter(|_| r.want_arcs);
        GraphNodeDetails {
            index: node.index.0,
            name: (*node.name).into(),
            flags: NodeFlag(flags(node)),
            arcs_out: arcs.filter_map(|name| Some(w.node(name)?.0)).collect(),
        }
    };
    Ok((nodes.iter().map(details).collect(), GraphNodeGetReply { cursor: u32::MAX }))
}
