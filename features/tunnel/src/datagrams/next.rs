// SPDX-License-Identifier: Apache-2.0
//! The next node of decapsulated packets that a configuration names.

use cli::{Error, Matches, Result, retval};
use graph::{NodeIndex, World};

/// The next node of decapsulated packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Next {
    /// They are received by the interface: switched, or routed.
    #[default]
    Interface,
    /// They are dropped.
    Drop,
    /// One of [`Self::NODES`].
    Node(&'static str),
}

/// `decap_next_index` of frames for the interface, as in VPP.
const TO_INTERFACE: u32 = 1;

impl Next {
    /// Nodes that a configuration may name: they take packets from their first byte on, and need
    /// nothing that an earlier node has noted.
    pub const NODES: [&'static str; 3] = ["ethernet-input", "ip4-input", "ip6-input"];

    /// Reads the words `decap-next <next:l2|drop|node> [<node:word>]`; `ip4` and `ip6`, where a
    /// command has them, are the nodes of these protocols.
    ///
    /// # Errors
    /// A node that packets can't go to (−76).
    pub fn parse(m: &Matches) -> Result<Self> {
        let word = |word| m.has(word).then(|| m.str(word));
        match (word("next"), word("node")) {
            (None | Some("l2"), None) => Ok(Self::Interface),
            (Some("drop"), None) => Ok(Self::Drop),
            (Some("ip4"), None) => Ok(Self::Node("ip4-input")),
            (Some("ip6"), None) => Ok(Self::Node("ip6-input")),
            (Some("node"), Some(name)) => {
                Self::of_name(name).map(Self::Node).ok_or_else(|| refused(name).at(m.span("node")))
            }
            (Some("node"), None) => {
                let why = format!("decap-next node needs a name: {}", Self::NODES.join(", "));
                Err(Error::usage(why).at(m.span("next")))
            }
            _ => Err(Error::usage("only `decap-next node' has a name").at(m.span("node"))),
        }
    }

    fn of_name(name: &str) -> Option<&'static str> {
        Self::NODES.into_iter().find(|node| *node == name)
    }

    /// Reads a number of the API: 0, 1 and all bits set as in VPP, others from `add_node_next`.
    ///
    /// # Errors
    /// A number of no node that packets can go to (−76).
    pub fn of_index(world: &World, index: u32) -> Result<Self> {
        match index {
            u32::MAX | TO_INTERFACE => Ok(Self::Interface),
            0 => Ok(Self::Drop),
            _ => {
                let name = world.node_name(NodeIndex(index));
                Self::of_name(&name).map(Self::Node).ok_or_else(|| refused(&index.to_string()))
            }
        }
    }

    /// The number in the API.
    pub fn index(self, world: &World) -> u32 {
        match self {
            Self::Interface => TO_INTERFACE,
            Self::Drop => 0,
            Self::Node(name) => world.node(name).map_or(u32::MAX, |node| node.0),
        }
    }

    /// The name in `decap-next`: `l2`, `drop`, or that of a node.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Interface => "l2",
            Self::Drop => "drop",
            Self::Node(node) => node,
        }
    }

    /// The words that [`Self::parse`] reads, with a blank in front; none for the default.
    pub fn words(self) -> String {
        match self {
            Self::Interface => String::new(),
            Self::Drop => " decap-next drop".into(),
            Self::Node(node) => format!(" decap-next node {node}"),
        }
    }

    /// The node, if it doesn't depend on the packet.
    pub fn node(self, world: &World) -> Option<NodeIndex> {
        match self {
            Self::Interface => None,
            Self::Drop => world.node("error-drop"),
            Self::Node(name) => world.node(name),
        }
    }
}

fn refused(to: &str) -> Error {
    let why =
        format!("packets out of a tunnel can't go to {to}, but to {}", Next::NODES.join(", "));
    Error::parse(why).retval(retval::INVALID_DECAP_NEXT)
}
