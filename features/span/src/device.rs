// SPDX-License-Identifier: Apache-2.0
//! `span-input`, `span-output`: copies of the frames that a device receives and sends.

use crate::mirror::{Level, SpanTrace, Targets, copy, prepare, targets};
use crate::stage::Place;
use buffer::Buffer;
use graph::{Build, Copies, Cx, Next, Node, NodeIndex, ThreadIndex, World};
use net::Interfaces;
use std::sync::Arc;

/// `span-input` and `span-output`.
pub struct SpanDevice<const TX: bool> {
    targets: Arc<Targets>,
    interfaces: Arc<Interfaces>,
    copies: Copies,
}

/// Received frames.
pub type SpanInput = SpanDevice<false>;
/// Sent frames.
pub type SpanOutput = SpanDevice<true>;

#[derive(Next, Clone, Copy)]
pub enum To {
    #[next_feature]
    Continue,
    /// A copy: the output of the destination. A frame that waits until copies of others have left:
    /// this node.
    #[dynamic]
    Node(NodeIndex),
    /// frames of which copies were made
    #[count]
    #[counter("SPAN incoming packets processed")]
    Mirrored,
    /// frames that wait until copies of others have left
    #[count]
    Again,
    /// copies for interfaces that are down
    #[count]
    Down,
    /// no buffer for a copy
    #[count]
    NoBuffer,
}

impl<const TX: bool> Build for SpanDevice<TX> {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self { targets: world.get(), interfaces: world.get(), copies: Copies::default() }
    }
}

impl<const TX: bool> Place for SpanDevice<TX> {
    const OF: (Level, bool) = (Level::Device, TX);
}

impl<const TX: bool> Node for SpanDevice<TX> {
    const NAME: &'static str = if TX { "span-output" } else { "span-input" };
    type Next = To;
    type Trace = SpanTrace;

    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        if self.copies.are_enough() {
            cx.count(To::Again, 1);
            return To::Node(cx.node());
        }
        let targets = targets(&self.targets, (Level::Device, TX), b, cx);
        if TRACED {
            cx.trace(b, SpanTrace::new(if TX { b.tx_if } else { b.rx_if }, targets));
        }
        if targets.is_empty() {
            return To::Continue;
        }
        cx.count(To::Mirrored, 1);
        prepare(b);
        self.copies.note(targets.len());
        for to in targets {
            // One that is being deleted is down.
            let view = self.interfaces.views(cx.turn).get(*to as usize);
            let Some(view) = view.filter(|view| view.is_up()) else {
                cx.count(To::Down, 1);
                continue;
            };
            match copy(b, cx) {
                Some(mut copy) => {
                    copy.tx_if = *to;
                    cx.emit(To::Node(view.output), copy);
                }
                None => cx.count(To::NoBuffer, 1),
            }
        }
        To::Continue
    }

    #[inline(always)]
    fn end<const TRACED: bool>(&mut self, _: &mut Cx<'_, TRACED>) {
        self.copies.end();
    }
}
