// SPDX-License-Identifier: Apache-2.0
//! Interfaces whose packets may go straight to the transmit node.

use crate::family::{Ip, arc};
use graph::{ArcIndex, Cx, NodeIndex, ThreadIndex, World};
use net::{Exit, IfFlags, IfLanes, Interfaces, Mirrors, Outlet, SentTags, Views};
use std::sync::Arc;

/// A transmit node, and the tags that frames get there.
#[derive(Clone, Copy, Default, Debug)]
pub struct Out {
    /// The transmit node.
    pub tx: NodeIndex,
    /// See [`Outlet::parent`].
    pub parent: u32,
    /// None, except for a sub-interface.
    pub tags: SentTags,
}

impl Outlet for Out {
    #[inline(always)]
    fn parent(&self) -> u32 {
        self.parent
    }
}

/// The interfaces that packets of a vector leave by. Interfaces that put tags in are kept apart, so
/// that the loop for packets in order, which handles only the others, needn't check.
pub struct Exits {
    plain: net::Exits<Out>,
    tagged: net::Exits<Out>,
}

impl Default for Exits {
    fn default() -> Self {
        Self::new()
    }
}

impl Exits {
    /// Without exits.
    pub fn new() -> Self {
        Self { plain: net::Exits::new(), tagged: net::Exits::new() }
    }

    /// True if no exit is known.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.plain.is_empty() && self.tagged.is_empty()
    }

    /// True if a known exit puts tags in.
    #[inline(always)]
    pub fn any_tagged(&self) -> bool {
        !self.tagged.is_empty()
    }

    /// The interface with this output node, if [`Outward::find`] was called for it before and it
    /// puts no tags in; `None` doesn't mean that packets can't leave by it.
    #[inline(always)]
    pub fn known(&mut self, tx_if: u32, output: NodeIndex) -> Option<&mut Exit<Out>> {
        self.plain.known(tx_if, over(tx_if, output))
    }

    /// Counts the packets that have left, and forgets the interfaces.
    #[inline(always)]
    pub fn settle(&mut self, lanes: &IfLanes) {
        self.plain.settle(lanes);
        self.tagged.settle(lanes);
    }
}

/// An interface and its output node in one number: the upper halves of both, then the lower halves
/// in the layout of [`net::Ordinary`].
#[inline(always)]
fn over(tx_if: u32, output: NodeIndex) -> u64 {
    let high = u64::from(tx_if >> 16) << 16 | u64::from(output.0 >> 16);
    high << 32 | u64::from(output.0 & 0xffff) << 16 | u64::from(tx_if & 0xffff)
}

/// Conditions for sending packets of an interface straight to its transmit node, and its counters.
pub struct Outward {
    interfaces: Arc<Interfaces>,
    /// The arc of the protocol's packets that leave. It has to be empty, and so has the next one.
    pub features: ArcIndex,
    interface_output: ArcIndex,
    /// Set for a node that makes copies of the frames that it sends, and sends packets through
    /// bridge domains itself: there BVIs have no exit.
    pub mirrors: Option<Mirrors>,
    /// By interface.
    pub lanes: Arc<IfLanes>,
}

impl Outward {
    /// For packets of a protocol, sent by nodes of this thread.
    pub fn new<F: Ip>(world: &World, thread: ThreadIndex) -> Self {
        let interface_output =
            world.arc("interface-output").expect("the arc comes with the interfaces");
        Self {
            interfaces: world.get(),
            features: arc::<F>(world, "{ip}-output"),
            interface_output,
            mirrors: None,
            lanes: IfLanes::of(world, thread),
        }
    }

    /// The same for a super-path: see [`Self::mirrors`].
    #[must_use]
    pub fn with_mirrors(self, mirrors: Mirrors) -> Self {
        Self { mirrors: Some(mirrors), ..self }
    }

    /// Returns the exit of an interface by its output node; `None` if the graph has to see its
    /// packets.
    #[inline(always)]
    pub fn find<'e, const TRACED: bool>(
        &self,
        exits: &'e mut Exits,
        (tx_if, output): (u32, NodeIndex),
        views: Views<'_>,
        cx: &Cx<'_, TRACED>,
    ) -> Option<&'e mut Exit<Out>> {
        let Exits { plain, tagged } = exits;
        let key = over(tx_if, output);
        if plain.known(tx_if, key).is_some() {
            return plain.known(tx_if, key);
        }
        if tagged.known(tx_if, key).is_some() {
            return tagged.known(tx_if, key);
        }
        let out = self.look(tx_if, output, views, cx)?;
        let exits = if out.tags == SentTags::default() { plain } else { tagged };
        exits.find(tx_if, key, &self.lanes, || Some(out))
    }

    /// The transmit node of an interface, if packets may go there straight away.
    #[cold]
    #[inline(never)]
    pub fn look<const TRACED: bool>(
        &self,
        tx_if: u32,
        output: NodeIndex,
        views: Views<'_>,
        cx: &Cx<'_, TRACED>,
    ) -> Option<Out> {
        let is_bvi = views.get(tx_if as usize)?.flags.contains(IfFlags::BVI);
        if is_bvi && self.mirrors.is_some() { None } else { self.out(tx_if, output, views, cx) }
    }

    /// As [`Self::look`], for BVIs too.
    pub fn out<const TRACED: bool>(
        &self,
        tx_if: u32,
        output: NodeIndex,
        views: Views<'_>,
        cx: &Cx<'_, TRACED>,
    ) -> Option<Out> {
        if cx.has_arc(self.features, tx_if) {
            return None;
        }
        self.out_behind_features(tx_if, output, views, cx)
    }

    /// As [`Self::out`], for packets that have passed [`Self::features`].
    pub fn out_behind_features<const TRACED: bool>(
        &self,
        tx_if: u32,
        output: NodeIndex,
        views: Views<'_>,
        cx: &Cx<'_, TRACED>,
    ) -> Option<Out> {
        let view = views.get(tx_if as usize)?;
        if !self.is_open(tx_if, view.tx, cx) || !view.is_up() || view.output != output {
            return None;
        }
        if !view.flags.contains(IfFlags::SUB) {
            return Some(Out { tx: view.tx, ..Out::default() });
        }
        // In layer-2 mode it puts no tags in.
        let sent = self
            .interfaces
            .sent_by(tx_if, cx.turn)
            .filter(|_| !view.flags.contains(IfFlags::L2))?;
        Some(Out { tx: view.tx, parent: sent.parent, tags: sent.tags })
    }

    /// True if an interface has no features of all packets that it sends, but for mirrors.
    #[inline(always)]
    pub fn is_open<const TRACED: bool>(
        &self,
        tx_if: u32,
        tx: NodeIndex,
        cx: &Cx<'_, TRACED>,
    ) -> bool {
        match &self.mirrors {
            Some(mirrors) => mirrors.take_sent(tx_if, tx, cx),
            None => !cx.has_arc(self.interface_output, tx_if),
        }
    }
}
