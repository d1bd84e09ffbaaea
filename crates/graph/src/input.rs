// SPDX-License-Identifier: Apache-2.0
//! Input nodes: where packets enter the graph.

use crate::{Cx, Next};
use std::any::Any;

/// The mode in which an input node is called.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum InputMode {
    /// Not called.
    #[default]
    Disabled,
    /// Called every turn; the thread never sleeps.
    Polling,
    /// Called when a descriptor of it is readable; the thread sleeps in between.
    Interrupt,
    /// Called every turn while packets come, else as `Interrupt`.
    Adaptive,
}

impl std::fmt::Display for InputMode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Disabled => "disabled",
            Self::Polling => "polling",
            Self::Interrupt => "interrupt",
            Self::Adaptive => "adaptive",
        })
    }
}

/// A node that brings packets into the graph. One instance for each thread.
///
/// `poll` allocates buffers ([`Cx::alloc`], [`Cx::alloc_frame`]), fills them, and hands them to the
/// next node ([`Cx::emit`], [`Cx::emit_frame`]). It brings one vector or so, and comes again at the
/// next turn.
pub trait Input: Send + Sized + 'static {
    /// The node's name.
    const NAME: &'static str;
    /// The node's edges.
    type Next: Next;
    /// Brings packets in; returns how many.
    fn poll(&mut self, cx: &mut Cx<'_, false>) -> usize;
}

/// An input node of whatever type.
pub(crate) trait ErasedInput: Send {
    fn poll(&mut self, cx: &mut Cx<'_, false>) -> usize;
    fn as_any(&mut self) -> &mut dyn Any;
}

pub(crate) type InputBox = Box<dyn ErasedInput>;

impl dyn ErasedInput {
    pub(crate) fn boxed<N: Input>(node: N) -> InputBox {
        Box::new(node)
    }
}

impl<N: Input> ErasedInput for N {
    fn poll(&mut self, cx: &mut Cx<'_, false>) -> usize {
        Input::poll(self, cx)
    }
    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}
