// SPDX-License-Identifier: Apache-2.0
//! `span-l2-input`, `span-l2-output`: copies of the frames that a port receives and sends while
//! they are switched.

use crate::mirror::{Level, SpanTrace, Targets, copy, prepare, targets};
use crate::stage::Place;
use buffer::Buffer;
use graph::{Build, Copies, Cx, Next, Node, NodeIndex, ThreadIndex, World};
use l2::{Features, InputSteps, address_mirror_copy};
use net::Interfaces;
use std::sync::Arc;

/// `span-l2-input` and `span-l2-output`.
pub struct SpanL2<const TX: bool> {
    targets: Arc<Targets>,
    interfaces: Arc<Interfaces>,
    steps: InputSteps,
    copies: Copies,
}

/// Received frames.
pub type SpanL2Input = SpanL2<false>;
/// Sent frames.
pub type SpanL2Output = SpanL2<true>;

#[derive(Next, Clone, Copy)]
pub enum To {
    /// The next feature of a received frame, or the output of the interface. A frame that waits
    /// until copies of others have left: this node.
    #[dynamic]
    Node(NodeIndex),
    /// A copy.
    #[next("l2-output")]
    Copy,
    /// frames of which copies were made
    #[count]
    #[counter("SPAN incoming packets processed")]
    Mirrored,
    /// frames that wait until copies of others have left
    #[count]
    Again,
    /// no buffer for a copy
    #[count]
    NoBuffer,
}

impl<const TX: bool> Build for SpanL2<TX> {
    fn build(world: &World, _: ThreadIndex) -> Self {
        let steps = InputSteps::new(world);
        Self { targets: world.get(), interfaces: world.get(), steps, copies: Copies::default() }
    }
}

impl<const TX: bool> Place for SpanL2<TX> {
    const OF: (Level, bool) = (Level::L2, TX);
}

impl<const TX: bool> Node for SpanL2<TX> {
    const NAME: &'static str = if TX { "span-l2-output" } else { "span-l2-input" };
    type Next = To;
    type Trace = SpanTrace;

    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        if self.copies.are_enough() {
            cx.count(To::Again, 1);
            return To::Node(cx.node());
        }
        let targets = targets(&self.targets, (Level::L2, TX), b, cx);
        if TRACED {
            cx.trace(b, SpanTrace::new(if TX { b.tx_if } else { b.rx_if }, targets));
        }
        if !targets.is_empty() {
            cx.count(To::Mirrored, 1);
            prepare(b);
            self.copies.note(targets.len());
        }
        for to in targets {
            match copy(b, cx) {
                Some(mut copy) => {
                    address_mirror_copy(&mut copy, *to);
                    cx.emit(To::Copy, copy);
                }
                None => cx.count(To::NoBuffer, 1),
            }
        }
        if TX {
            let view = self.interfaces.views(cx.turn).get(b.tx_if as usize).unwrap_or_default();
            To::Node(view.output)
        } else {
            To::Node(self.steps.behind(Features::SPAN, b))
        }
    }

    #[inline(always)]
    fn end<const TRACED: bool>(&mut self, _: &mut Cx<'_, TRACED>) {
        self.copies.end();
    }
}
