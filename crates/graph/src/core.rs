// SPDX-License-Identifier: Apache-2.0
//! State of one thread beside its nodes: pending frames, free buffers, counters, traces.

use crate::counters::{CALLS, CLOCKS, ERRORS, VECTORS};
use crate::handoff::Handoffs;
use crate::observe::Observer;
use crate::registry::NO_NODE;
use crate::trace::TraceLog;
use crate::{Clock, NodeIndex, Reason, ThreadIndex};
use buffer::{Cache, Frame, Owned, Pool};
use stats::{Lane, Registry};
use std::collections::VecDeque;
use std::sync::Arc;
use sync::Slots;

/// The packets that wait for a node.
#[derive(Default)]
pub(crate) struct Open {
    /// Holds packets, and has room or had it; what comes next goes here.
    pub frame: Option<Box<Frame>>,
    /// Full ones, older than `frame`.
    pub full: VecDeque<Box<Frame>>,
    pub queued: bool,
    /// Control has taken the node away; packets wait until it is known what becomes of its index.
    pub gone: bool,
}

/// The counters of nodes, each indexed by node.
pub(crate) struct NodeLanes {
    pub calls: Lane,
    pub vectors: Lane,
    pub clocks: Lane,
}

pub(crate) struct Core {
    pub thread: ThreadIndex,
    pub pool: &'static Pool,
    pub cache: Cache,
    /// By node.
    pub open: Vec<Open>,
    pub pending: VecDeque<NodeIndex>,
    /// Empty frames: boxes that change hands by a swap.
    #[allow(clippy::vec_box)]
    pub spare: Vec<Box<Frame>>,
    /// Packets for nodes that this thread has not installed yet.
    pub orphans: Vec<(NodeIndex, Owned)>,
    /// Nodes that have more to do than fits a turn: their `tick` is called at its end.
    pub again: Vec<NodeIndex>,
    /// Nodes whose `tick` is called at a time of the clock; a node is in it once.
    pub alarms: Vec<(NodeIndex, u64)>,
    /// The earliest of these times; `u64::MAX` for none.
    pub alarm: u64,
    /// Packets that the running node keeps.
    pub kept: Box<Frame>,
    pub errors: Lane,
    /// By error index.
    pub reasons: Arc<Slots<Reason>>,
    pub nodes: NodeLanes,
    pub trace: TraceLog,
    pub handoffs: Handoffs,
    pub clock: Arc<Clock>,
    /// The clock at the start of the turn.
    pub now: u64,
    /// Buffer of the enqueue: packets of one edge.
    pub stage: Option<Box<Frame>>,
    /// Sees all vectors.
    pub observer: Option<Box<dyn Observer>>,
    rng: u64,
}

impl Core {
    pub fn new(
        thread: ThreadIndex,
        pool: &'static Pool,
        stats: &Registry,
        handoffs: Handoffs,
        clock: Arc<Clock>,
        reasons: Arc<Slots<Reason>>,
        seed: u64,
    ) -> Self {
        let lane = |name| stats.simple(name).lane(thread.at());
        Self {
            thread,
            pool,
            cache: Cache::new(pool),
            open: Vec::with_capacity(1024),
            pending: VecDeque::with_capacity(256),
            spare: (0..16).map(|_| Frame::new(pool)).collect(),
            orphans: Vec::new(),
            again: Vec::with_capacity(1024),
            alarms: Vec::with_capacity(64),
            alarm: u64::MAX,
            kept: Frame::new(pool),
            errors: lane(ERRORS),
            reasons,
            nodes: NodeLanes { calls: lane(CALLS), vectors: lane(VECTORS), clocks: lane(CLOCKS) },
            trace: TraceLog::default(),
            handoffs,
            clock,
            now: 0,
            observer: None,
            stage: Some(Frame::new(pool)),
            // Zero would stay zero.
            rng: (seed ^ (u64::from(thread.0) << 32)).max(1),
        }
    }

    /// An empty frame; a spare one, so no allocation once the graph has warmed up.
    #[inline(always)]
    pub fn spare(&mut self) -> Box<Frame> {
        self.spare.pop().unwrap_or_else(|| Frame::new(self.pool))
    }

    #[inline(always)]
    pub fn give_spare(&mut self, frame: Box<Frame>) {
        debug_assert!(frame.is_empty());
        if self.spare.len() < 64 {
            self.spare.push(frame);
        }
    }

    #[inline(always)]
    pub fn random(&mut self) -> u64 {
        // xorshift64*
        self.rng ^= self.rng >> 12;
        self.rng ^= self.rng << 25;
        self.rng ^= self.rng >> 27;
        self.rng.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// The next frame that waits for `node`; the oldest first.
    #[inline(always)]
    pub fn take_frame(&mut self, node: NodeIndex) -> Box<Frame> {
        let open = &mut self.open[node.at()];
        if let Some(full) = open.full.pop_front() {
            if open.full.is_empty() && open.frame.is_none() {
                open.queued = false;
            } else {
                self.pending.push_front(node);
            }
            return full;
        }
        open.queued = false;
        open.frame.take().unwrap_or_else(|| self.spare())
    }

    /// Sets the time of a node's alarm, or ends it.
    pub fn set_alarm(&mut self, node: NodeIndex, at: Option<u64>) {
        self.alarms.retain(|(other, _)| *other != node);
        self.alarms.extend(at.map(|at| (node, at)));
        self.note_alarm();
    }

    /// Takes the nodes whose alarms are due.
    #[cold]
    pub fn take_alarms(&mut self, due: &mut Vec<NodeIndex>) {
        let now = self.now;
        self.alarms.retain(|(node, at)| {
            let later = *at > now;
            if !later {
                due.push(*node);
            }
            later
        });
        self.note_alarm();
    }

    fn note_alarm(&mut self) {
        self.alarm = self.alarms.iter().map(|(_, at)| *at).min().unwrap_or(u64::MAX);
    }

    /// Packets wait for this node.
    pub fn waits(&self, node: NodeIndex) -> bool {
        self.open.get(node.at()).is_some_and(|open| open.frame.is_some() || !open.full.is_empty())
    }

    /// Frees packets that were sent to a node that isn't there, and counts them.
    #[cold]
    pub fn lose(&mut self, mut frame: Box<Frame>) {
        self.errors.add(NO_NODE as usize, frame.len() as u64);
        self.cache.free_frame(&mut frame);
        self.give_spare(frame);
    }
}
