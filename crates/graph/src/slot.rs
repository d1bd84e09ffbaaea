// SPDX-License-Identifier: Apache-2.0
//! A node as a thread has it: its body, its edges, and what is noted of its calls.

use crate::config::ConfigType;
use crate::dispatch::{ErasedNode, Run};
use crate::input::InputBox;
use crate::longest_call::LongestCall;
use crate::node::as_dynamic;
use crate::{InputMode, Next, NodeIndex, Runtime};
use buffer::Owned;
use std::any::TypeId;
use std::ops::Range;
use std::sync::{Arc, Mutex};

/// The target of an edge, by index.
#[derive(Clone, Copy, Debug)]
pub(crate) enum EdgeTarget {
    /// To a node, counted by `error`; 0 isn't counted.
    Node { node: NodeIndex, error: u32 },
    /// To a node that drops, punts or answers; the packet carries the reason `error` there.
    Reason { node: NodeIndex, error: u32 },
    /// The packet is freed.
    Free,
    /// The node keeps the packet.
    Keep,
    /// There is no such edge.
    Unset,
}

/// An edge of a node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ResolvedEdge {
    pub target: EdgeTarget,
    pub error: crate::ErrorIndex,
}

/// The framework's state of one node on one thread.
pub(crate) struct NodeRuntime {
    pub index: NodeIndex,
    pub name: Arc<str>,
    pub edges: Box<[ResolvedEdge]>,
    /// The node that drops go to.
    pub drop: NodeIndex,
    /// The type whose variants `edges` are.
    pub declared: TypeId,
    /// Type of its configuration as a feature.
    pub config: ConfigType,
}

impl NodeRuntime {
    #[inline(always)]
    pub fn target(&self, code: u32) -> EdgeTarget {
        match self.edges.get(code as usize) {
            Some(edge) => edge.target,
            None => EdgeTarget::Unset,
        }
    }

    /// The node that an edge leads to; this node itself where that isn't fixed.
    pub fn to(&self, code: u32) -> NodeIndex {
        match (as_dynamic(code), self.target(code)) {
            (Some(node), _)
            | (None, EdgeTarget::Node { node, .. } | EdgeTarget::Reason { node, .. }) => node,
            _ => self.index,
        }
    }

    pub fn is_of<N: Next>(&self) -> bool {
        self.declared == TypeId::of::<N>()
    }
}

/// A node of a thread, with its body.
pub(crate) struct NodeSlot {
    pub rt: NodeRuntime,
    pub node: ErasedNode,
    pub run: Run,
    pub longest: LongestCall,
}

/// An input of a thread, with its body.
pub(crate) struct InputSlot {
    pub rt: NodeRuntime,
    pub input: InputBox,
    pub mode: InputMode,
    pub longest: LongestCall,
}

/// A node that threads are giving back.
pub(crate) struct Removed {
    /// Its counted edges, as error indices.
    pub errors: Range<u32>,
    /// Its bodies, for control to drop: that may close files.
    pub slots: Mutex<Vec<NodeSlot>>,
}

/// A message from control to a thread.
pub(crate) enum Message {
    AddNode(Box<NodeSlot>),
    AddInput(Box<InputSlot>),
    /// A node that is named, but that no plugin brings.
    AddMissing(NodeIndex),
    /// Its index is used again when every thread has dropped its reference to this.
    RemoveNode(NodeIndex, Arc<Removed>),
    Call(Box<dyn FnOnce(&mut Runtime) + Send>),
    /// As long as it returns true, it is called again at the next turn.
    CallAgain(Box<dyn FnMut(&mut Runtime) -> bool + Send>),
    Inject(NodeIndex, Owned),
    Stop,
}
