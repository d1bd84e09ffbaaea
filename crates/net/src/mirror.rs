// SPDX-License-Identifier: Apache-2.0
//! Features that let all frames pass as they are, and only make copies of them: a fast path makes
//! the copies when it has sent the frames of a vector.

use buffer::{Buffer, Owned};
use graph::{ArcIndex, Build, Cx, Node, NodeIndex, StageDef, ThreadIndex, World};
use std::cell::Cell;
use std::fmt;
use sync::Turn;

/// Sends a copy to a node, as the fast path's own node does.
pub type EmitCopy = fn(&mut Cx<'_, false>, NodeIndex, Owned);

/// Such a feature, as a fast path runs it in place of its node. Each thread has its own.
pub trait Mirror: Send {
    /// True if it takes the frames of an interface: those of a whole vector make no more copies
    /// than may leave together. If not, the frames go to the node.
    fn takes(&self, sw_if: u32, turn: &Turn<'_>) -> bool;

    /// Does for a frame what the node would have done: copies it.
    fn copy(&mut self, b: &mut Buffer, emit: EmitCopy, cx: &mut Cx<'_, false>);
}

/// The mirror `M` of the feature whose node is `N`, for a plugin's list of stages.
pub const fn mirror<N: Node, M: Mirror + Build + 'static>() -> StageDef {
    StageDef::new(N::NAME, None, |world, thread| {
        let mirror: Box<dyn Mirror> = Box::new(M::build(world, thread));
        Box::new(mirror)
    })
}

/// The mirrors of a thread, for a node that sends frames past the nodes of their features.
pub struct Mirrors {
    /// The arc of frames that leave.
    output: ArcIndex,
    /// By node.
    all: Vec<Option<Box<dyn Mirror>>>,
    /// Frames of the vector pass one.
    in_use: Cell<bool>,
}

impl fmt::Debug for Mirrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mirrors").field("in_use", &self.in_use).finish_non_exhaustive()
    }
}

impl Mirrors {
    /// Makes those of a thread.
    ///
    /// # Panics
    /// Without the plugin of interfaces, which brings the arc of frames that leave.
    pub fn new(world: &World, thread: ThreadIndex) -> Self {
        let output = world.arc("interface-output").expect("the arc comes with the interfaces");
        let mut all: Vec<Option<Box<dyn Mirror>>> = Vec::new();
        for def in world.stages() {
            if let Some(mirror) = def.make(world, thread)
                && let Some(node) = world.node(def.node())
            {
                all.resize_with(all.len().max(node.at() + 1), || None);
                all[node.at()] = Some(mirror);
            }
        }
        Self { output, all, in_use: Cell::new(false) }
    }

    /// True if this node only makes copies, and may be spared the frames of an interface:
    /// [`Self::copy`] makes them.
    pub fn take(&self, node: NodeIndex, sw_if: u32, turn: &Turn<'_>) -> bool {
        let mirror = self.all.get(node.at()).and_then(Option::as_ref);
        let takes = mirror.is_some_and(|mirror| mirror.takes(sw_if, turn));
        self.in_use.set(self.in_use.get() | takes);
        takes
    }

    /// True if frames may go straight to the transmit node of an interface, as all its features of
    /// frames that leave are mirrors: [`Self::copy_sent`] makes the copies.
    pub fn take_sent<const TRACED: bool>(
        &self,
        tx_if: u32,
        tx: NodeIndex,
        cx: &Cx<'_, TRACED>,
    ) -> bool {
        let chain = cx.chain(cx.chain_start(self.output, tx_if));
        let mut features = chain.take_while(|step| step.node != tx);
        !cx.has_arc(self.output, tx_if) || features.all(|step| self.take(step.node, tx_if, cx.turn))
    }

    /// True if frames of the vector have copies to be made.
    #[inline(always)]
    pub fn in_use(&self) -> bool {
        self.in_use.get()
    }

    /// Makes the copies of a node.
    pub fn copy(
        &mut self,
        node: NodeIndex,
        b: &mut Buffer,
        emit: EmitCopy,
        cx: &mut Cx<'_, false>,
    ) {
        if let Some(Some(mirror)) = self.all.get_mut(node.at()) {
            mirror.copy(b, emit, cx);
        }
    }

    /// Makes the copies of a frame that goes straight to the transmit node of its interface.
    pub fn copy_sent(
        &mut self,
        b: &mut Buffer,
        tx: NodeIndex,
        emit: EmitCopy,
        cx: &mut Cx<'_, false>,
    ) {
        if cx.has_arc(self.output, b.tx_if) {
            let chain = cx.chain(cx.chain_start(self.output, b.tx_if));
            for step in chain.take_while(|step| step.node != tx) {
                self.copy(step.node, b, emit, cx);
            }
        }
    }

    /// Ends the vector.
    #[inline(always)]
    pub fn end(&self) {
        self.in_use.set(false);
    }
}
