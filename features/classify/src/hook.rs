// SPDX-License-Identifier: Apache-2.0
//! The nodes that classify, and the nodes that their packets may go to by number.

use crate::table::GO_ON;
use graph::{NodeIndex, World};
use sync::{Snapshot, Turn};

/// A hook: a point of a packet's path at which a node classifies.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Hook {
    /// Input ACL of IPv4, or of IPv6.
    In(bool),
    /// Output ACL.
    Out(bool),
    /// ACL of punted packets.
    Punt(bool),
    /// Routes to a table.
    Route(bool),
    /// Input ACL of switched frames.
    L2In,
    /// Output ACL.
    L2Out,
    /// Classification of received frames.
    L2ClassifyIn,
    /// Classification of sent frames.
    L2ClassifyOut,
}

/// Next nodes of features of received frames, as VPP numbers them.
macro_rules! switched {
    ($($first:literal),*) => {
        &[$($first,)* "feature-bitmap-drop", "l2-output", "l2-flood", "l2-uu-fwd", "arp-term-l2bd", "l2-fwd", "l2-rw", "l2-learn",
          "l2-input-vtr", "l2-ip-qos-record", "l2-input-acl", "l2-policer-input", "l2-policer-classify", "l2-input-feat-arc",
          "l2-input-classify", "span-l2-input"]
    };
}

/// Next nodes of features of sent frames, as VPP numbers them. The output of the interface is
/// `interface-output`.
const SENT: &[&str] = &[
    "error-drop",
    "interface-output",
    "span-l2-output",
    "feature-bitmap-drop",
    "l2-output-acl",
    "l2-efp-filter",
    "l2-output-classify",
    "l2-output-feat-arc",
    "l2-policer-output",
    "l2-xcrw",
];

impl Hook {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::In(false),
        Self::In(true),
        Self::Out(false),
        Self::Out(true),
        Self::Punt(false),
        Self::Punt(true),
        Self::Route(false),
        Self::Route(true),
        Self::L2In,
        Self::L2Out,
        Self::L2ClassifyIn,
        Self::L2ClassifyOut,
    ];

    /// The node.
    pub const fn node(self) -> &'static str {
        match self {
            Self::In(false) => "ip4-inacl",
            Self::In(true) => "ip6-inacl",
            Self::Out(false) => "ip4-outacl",
            Self::Out(true) => "ip6-outacl",
            Self::Punt(false) => "ip4-punt-acl",
            Self::Punt(true) => "ip6-punt-acl",
            Self::Route(false) => "ip4-classify",
            Self::Route(true) => "ip6-classify",
            Self::L2In => "l2-input-acl",
            Self::L2Out => "l2-output-acl",
            Self::L2ClassifyIn => "l2-input-classify",
            Self::L2ClassifyOut => "l2-output-classify",
        }
    }

    /// The word of commands for next nodes of this hook, without `miss-next` or `hit-next`.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Route(_) => "",
            Self::L2ClassifyIn => "l2-input-",
            Self::L2ClassifyOut => "l2-output-",
            _ => "acl-",
        }
    }

    /// Nodes that frames have passed already: a frame that went there would come back for ever.
    const fn passed(self) -> &'static [&'static str] {
        match self {
            Self::L2In => &["span-l2-input", "l2-input-classify", "l2-input-acl"],
            Self::L2ClassifyIn => &["span-l2-input", "l2-input-classify"],
            Self::L2Out => &["l2-output-classify", "l2-efp-filter", "l2-output-acl"],
            Self::L2ClassifyOut => &["l2-output-classify"],
            _ => &[],
        }
    }

    /// Next nodes that have a number. 0 drops everywhere.
    const fn numbered(self) -> &'static [&'static str] {
        match self {
            Self::L2In => switched!("error-drop"),
            Self::L2ClassifyIn => {
                switched!("error-drop", "ethernet-input-not-l2", "ip4-input", "ip6-input")
            }
            Self::L2Out | Self::L2ClassifyOut => SENT,
            _ => &[],
        }
    }
}

/// Nodes that operators and clients have linked to those that classify, by hook: the number of
/// such a next node is the node's index.
pub struct Links(Snapshot<Vec<(Hook, u32)>>);

impl Links {
    /// None yet.
    pub fn new(world: &World) -> Self {
        Self(Snapshot::new(world.qsbr.clone(), Vec::new()))
    }

    /// Notes the hooks that lead to the node of this index, before a session or a table names it.
    pub fn note(&self, world: &World, next: u16) {
        let node = NodeIndex(next.into());
        let Some(target) = world.node_info(node).filter(|_| next != 0 && next != GO_ON) else {
            return;
        };
        let leads = |hook: &Hook| {
            let from = world.node(hook.node()).and_then(|from| world.node_info(from));
            from.is_some_and(|from| from.next.contains(&target.name))
        };
        let new: Vec<_> = Hook::ALL
            .into_iter()
            .filter(leads)
            .map(|hook| (hook, node.0))
            .filter(|l| !self.has(*l))
            .collect();
        if !new.is_empty() {
            self.0.update(|old| old.iter().copied().chain(new).collect());
        }
    }

    fn has(&self, link: (Hook, u32)) -> bool {
        self.0.read(|all| all.contains(&link))
    }

    /// A hook whose packets go to the node of this index, if the number isn't another node's
    /// there.
    pub fn hook(&self, next: u16) -> Option<Hook> {
        let is_index = |(hook, node): &&(Hook, u32)| {
            *node == u32::from(next) && usize::from(next) >= hook.numbered().len()
        };
        self.0.read(|all| all.iter().find(is_index).map(|(hook, _)| *hook))
    }
}

/// The next node that a number stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NumberedNode {
    /// The packet is dropped.
    Deny,
    /// To this node.
    Node(NodeIndex),
    /// To the output of the interface.
    Output,
    /// Past the node.
    GoOn,
    /// To a node that isn't there.
    Absent,
}

/// The numbered next nodes of a hook, for a thread.
pub struct NumberedNodes {
    hook: Hook,
    nodes: Vec<NumberedNode>,
}

impl NumberedNodes {
    /// Looks the nodes up.
    pub fn new(world: &World, hook: Hook) -> Self {
        let numbered_node = |(number, name): (usize, &&str)| match (number, *name) {
            (0, _) => NumberedNode::Deny,
            (_, "interface-output") => NumberedNode::Output,
            (_, name) if hook.passed().contains(&name) => NumberedNode::Absent,
            (_, name) => world.node(name).map_or(NumberedNode::Absent, NumberedNode::Node),
        };
        Self { hook, nodes: hook.numbered().iter().enumerate().map(numbered_node).collect() }
    }

    /// Where a number leads.
    #[inline(always)]
    pub fn numbered_node(&self, links: &Links, next: u16, turn: &Turn<'_>) -> NumberedNode {
        if next == GO_ON {
            return NumberedNode::GoOn;
        }
        if next == 0 {
            return NumberedNode::Deny;
        }
        if let Some(numbered_node) = self.nodes.get(usize::from(next)) {
            return *numbered_node;
        }
        let link = (self.hook, u32::from(next));
        if links.0.get(turn).contains(&link) {
            NumberedNode::Node(NodeIndex(next.into()))
        } else {
            NumberedNode::GoOn
        }
    }
}
