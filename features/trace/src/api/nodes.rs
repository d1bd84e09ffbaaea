// SPDX-License-Identifier: Apache-2.0
//! The module `graph`: nodes, what they are for, and where they send packets.

use cli::{Error, Result};
use graph::{NodeIndex, NodeInfo, World};
use msg::{Messages, Module, retval};

/// The module.
pub static API: Module<World> = Module::plugin("graph", messages);

fn messages(m: &mut Messages<World>) {
    m.stream(get);
}

msg::messages! {
    /// Properties of a node.
    flags NodeFlag,
    /// Asks for nodes: one by its number or name, or all that have one of the flags.
    GraphNodeGet,
    /// A node.
    GraphNodeDetails,
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

fn get(w: &World, r: GraphNodeGet) -> Result<Vec<GraphNodeDetails>> {
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
    Ok(nodes.iter().map(details).collect())
}
