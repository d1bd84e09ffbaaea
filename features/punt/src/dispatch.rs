// SPDX-License-Identifier: Apache-2.0
//! `punt-dispatch`: sends each punted packet to all nodes registered for its reason.

use crate::reasons::Reasons;
use crate::state::Punt;
use buffer::{Buffer, Owned};
use graph::{Build, Cx, Next, Node, NodeIndex, ThreadIndex, Trace, World};
use stats::CombinedLane;
use std::fmt;
use std::sync::Arc;

/// Number of bytes that each copy has to itself: those that later nodes may change.
const HEAD: usize = 256;
/// Maximum number of copies in one frame, so that one punted frame can't take all buffers.
const AT_ONCE: usize = 1024;

pub struct Dispatch {
    reasons: Arc<Reasons>,
    counters: CombinedLane,
    /// Number of copies planned in this frame.
    planned: usize,
}

#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
pub enum To {
    #[dynamic]
    Node(NodeIndex),
    /// To several.
    #[keep]
    Copy,
    /// punted packets given to who takes their reason
    #[next("exception-punt-socket", count)]
    #[counter("dispatched")]
    Dispatched,
    /// punted packets whose reason nobody takes
    #[next("punt", count)]
    #[counter("No registrations")]
    NoRegistrations,
    /// copies of punted packets that there was no buffer for
    #[next("punt", count)]
    #[counter("Replication Failure")]
    NoBuffer,
}

#[derive(Clone, Copy)]
pub struct DispatchTrace(u32);

impl Trace for DispatchTrace {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "reason {}", self.0)
    }
}

impl Build for Dispatch {
    fn build(world: &World, thread: ThreadIndex) -> Self {
        let counters = world.get::<Punt>().counters.lane(thread.at());
        Self { reasons: world.get(), counters, planned: 0 }
    }
}

impl Node for Dispatch {
    const NAME: &'static str = "punt-dispatch";
    type Next = To;
    type Trace = DispatchTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        let reason = self.reasons.id(b.error(), cx.turn);
        self.counters.add(reason as usize, 1, b.packet_len() as u64);
        if TRACED {
            cx.trace(b, DispatchTrace(reason));
        }
        match self.reasons.clients(reason, cx.turn) {
            [] => To::NoRegistrations,
            [only] => {
                cx.count(To::Dispatched, 1);
                To::Node(*only)
            }
            several if self.planned + several.len() > AT_ONCE => To::NoBuffer,
            several => {
                self.planned += several.len();
                To::Copy
            }
        }
    }

    fn keep(&mut self, mut b: Owned, cx: &mut Cx<'_, false>) {
        let reason = self.reasons.id(b.error(), cx.turn);
        let Some((last, others)) = self.reasons.clients(reason, cx.turn).split_last() else {
            return cx.emit(To::NoRegistrations, b);
        };
        // The bytes behind the head can't be changed any more.
        ip::finish_checksum(&mut b);
        let original = b.into_original(HEAD);
        let (mut made, mut failed) = (0, 0);
        let mut send = |to: NodeIndex, copy: Option<Owned>, cx: &mut Cx<'_, false>| match copy {
            Some(copy) => {
                cx.emit(To::Node(to), copy);
                made += 1;
            }
            None => failed += 1,
        };
        for client in others {
            let copy = original.copy(cx.cache());
            send(*client, copy, cx);
        }
        let rest = if original.is_whole() { None } else { Some(original.copy(cx.cache())) };
        let whole = original.finish(cx.cache());
        send(*last, rest.unwrap_or(whole), cx);
        cx.count(To::Dispatched, made);
        cx.count(To::NoBuffer, failed);
    }

    #[inline(always)]
    fn end<const TRACED: bool>(&mut self, _: &mut Cx<'_, TRACED>) {
        self.planned = 0;
    }
}
