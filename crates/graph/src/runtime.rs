// SPDX-License-Identifier: Apache-2.0
//! One thread's graph: its nodes, and a turn of its loop.

use crate::arcs::ArcTable;
use crate::core::{Core, Open};
use crate::crash;
use crate::longest_call::LongestCall;
use crate::node::Node;
use crate::observe;
use crate::slot::Message;
use crate::slot::{InputSlot, NodeSlot, Removed};
use crate::threads::{Gauges, SECOND};
use crate::{ArcIndex, ChainStep, Cx, Input, InputMode, NodeIndex, SwIfIndex, ThreadIndex};
use buffer::{Buffer, Cache, Owned, Pool};
use rustix::event::epoll;
use simd::{Level, rdtsc};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use sync::{Queue, Reader, Waker};

/// Messages that are taken in a turn: many changes of the configuration don't keep packets waiting.
const MESSAGES: usize = 256;

/// One thread's graph. Made by [`World::new`](crate::World::new), and moved to its thread.
pub struct Runtime {
    pub(crate) core: Core,
    nodes: Vec<Option<Box<NodeSlot>>>,
    pub(crate) inputs: Vec<InputSlot>,
    reader: Reader,
    arcs: Arc<ArcTable>,
    mailbox: Arc<Queue<Message>>,
    pub(crate) gauges: Arc<Gauges>,
    /// Where the last node of a busy turn ended, on the time-stamp counter; 0 after an idle turn.
    busy_until: u64,
    last_tick: u64,
    /// Nodes whose `tick` is called in this turn.
    ticks: Vec<NodeIndex>,
    stopped: bool,
    pub(crate) waker: Arc<Waker>,
    pub(crate) poller: OwnedFd,
}

impl Runtime {
    pub(crate) fn new(
        core: Core,
        reader: Reader,
        arcs: Arc<ArcTable>,
        mailbox: Arc<Queue<Message>>,
        gauges: Arc<Gauges>,
    ) -> std::io::Result<Self> {
        let (nodes, inputs) = (Vec::with_capacity(1024), Vec::with_capacity(64));
        let waker = mailbox.waker().clone();
        let poller = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        epoll::add(&poller, waker.fd(), epoll::EventData::new_u64(0), epoll::EventFlags::IN)?;
        Ok(Self {
            core,
            nodes,
            inputs,
            reader,
            arcs,
            mailbox,
            gauges,
            busy_until: 0,
            last_tick: 0,
            ticks: Vec::new(),
            stopped: false,
            waker,
            poller,
        })
    }

    /// The thread that this is of.
    pub fn thread(&self) -> ThreadIndex {
        self.core.thread
    }

    /// A turn of the thread, in which a query reads and changes what the thread's nodes share.
    pub fn reading(&mut self) -> sync::Turn<'_> {
        self.reader.turn()
    }

    /// Returns true if control has asked the thread to end.
    pub fn is_stopped(&self) -> bool {
        self.stopped
    }

    /// This thread's buffers.
    pub fn cache(&mut self) -> &mut Cache {
        &mut self.core.cache
    }

    /// This thread's buffer pool.
    pub fn pool(&self) -> &'static Pool {
        self.core.pool
    }

    /// This thread's traces.
    pub fn trace(&mut self) -> &mut crate::TraceLog {
        &mut self.core.trace
    }

    /// A node of this thread, to give it something (a queue, a table): `None` if there's none of
    /// that type there.
    pub fn node_mut<N: Node>(&mut self, index: NodeIndex) -> Option<&mut N> {
        self.nodes.get_mut(index.at())?.as_mut()?.node.get_mut()
    }

    /// As [`Self::node_mut`], with a turn, in which the node reads.
    pub fn node_reading<N: Node>(&mut self, index: NodeIndex) -> Option<(&mut N, sync::Turn<'_>)> {
        let node = self.nodes.get_mut(index.at())?.as_mut()?.node.get_mut()?;
        Some((node, self.reader.turn()))
    }

    /// An input node of this thread.
    pub fn input_mut<N: Input>(&mut self, index: NodeIndex) -> Option<&mut N> {
        self.inputs.iter_mut().find(|i| i.rt.index == index)?.input.as_any().downcast_mut()
    }

    /// Sets the mode of an input of this thread: how it learns of packets.
    pub fn set_input_mode(&mut self, index: NodeIndex, mode: InputMode) {
        if let Some(input) = self.inputs.iter_mut().find(|i| i.rt.index == index) {
            input.mode = mode;
        }
    }

    /// The modes of this thread's inputs.
    pub fn input_modes(&self) -> impl Iterator<Item = (NodeIndex, InputMode)> {
        self.inputs.iter().map(|i| (i.rt.index, i.mode))
    }

    /// Frames of packets that wait for nodes, and frames that are kept for the next ones.
    pub fn frames(&self) -> (usize, usize) {
        let waiting = |open: &Open| usize::from(open.frame.is_some()) + open.full.len();
        (self.core.open.iter().map(waiting).sum(), self.core.spare.len())
    }

    /// The longest call of each node of this thread.
    pub fn longest_calls(&self) -> impl Iterator<Item = (NodeIndex, LongestCall)> {
        let inputs = self.inputs.iter().map(|i| (i.rt.index, i.longest));
        self.nodes.iter().flatten().map(|n| (n.rt.index, n.longest)).chain(inputs)
    }

    /// Forgets the longest calls.
    pub fn clear_longest_calls(&mut self) {
        self.nodes.iter_mut().flatten().for_each(|n| n.longest = LongestCall::default());
        self.inputs.iter_mut().for_each(|i| i.longest = LongestCall::default());
    }

    /// Selects the node's loop for a level; false if the processor hasn't got it.
    pub fn set_variant(&mut self, index: NodeIndex, level: Level) -> bool {
        let Some(slot) = self.nodes.get_mut(index.at()).and_then(Option::as_mut) else {
            return false;
        };
        let Some(run) = slot.node.variant(level) else { return false };
        slot.run = run;
        true
    }

    /// Notes the new name of a node, for reports of faults.
    pub(crate) fn rename_node(&mut self, index: NodeIndex, name: &Arc<str>) {
        if let Some(slot) = self.nodes.get_mut(index.at()).and_then(Option::as_mut) {
            slot.rt.name = name.clone();
        }
    }

    /// Calls the node's [`tick`](Node::tick) in this turn, whenever it was called last: for what
    /// has to be looked after more often than once a second.
    pub fn tick_soon(&mut self, node: NodeIndex) {
        self.ticks.push(node);
    }

    /// Calls the [`tick`](Node::tick) of every node now. For commands that move the clock: their
    /// answer waits until all timers that are due have run.
    pub fn tick_now(&mut self) {
        self.core.now = self.core.clock.now();
        let turn = self.reader.turn();
        tick_all(&mut self.core, &mut self.nodes, &turn, &self.arcs, rdtsc());
    }

    /// Brings a packet in at a node.
    pub fn inject(&mut self, node: NodeIndex, buffer: Owned) {
        self.core.inject(node, buffer);
    }

    /// Packets that wait for `node` (for tests that drive one node).
    pub fn waiting(&mut self, node: NodeIndex) -> Vec<Owned> {
        let Some(open) = self.core.open.get_mut(node.at()) else { return Vec::new() };
        let mut all: Vec<Owned> = Vec::new();
        for mut frame in open.full.drain(..) {
            all.extend(frame.drain());
        }
        if let Some(mut frame) = open.frame.take() {
            all.extend(frame.drain());
        }
        open.queued = false;
        self.core.pending.retain(|n| *n != node);
        all
    }

    /// Runs all that control has sent.
    pub fn receive(&mut self) {
        self.receive_some(self.mailbox.len());
    }

    #[cold]
    fn receive_some(&mut self, most: usize) {
        for _ in 0..most {
            let Some(message) = self.mailbox.take() else { break };
            self.gauges.took();
            match message {
                Message::AddNode(slot) => {
                    let index = slot.rt.index;
                    self.place(index);
                    self.nodes[index.at()] = Some(slot);
                }
                Message::AddInput(slot) => {
                    let index = slot.rt.index;
                    self.place(index);
                    self.inputs.retain(|i| i.rt.index != index);
                    self.inputs.push(*slot);
                }
                Message::AddMissing(index) => self.place(index),
                Message::RemoveNode(index, removed) => self.remove(index, &removed),
                Message::Call(call) => call(self),
                Message::CallAgain(mut call) => {
                    if call(self) {
                        self.mailbox.post(Message::CallAgain(call));
                    }
                }
                Message::Inject(node, buffer) => {
                    self.gauges.injected.fetch_sub(1, Ordering::Relaxed);
                    self.core.inject(node, buffer);
                }
                Message::Stop => self.stopped = true,
            }
        }
    }

    fn place(&mut self, index: NodeIndex) {
        if self.nodes.len() <= index.at() {
            self.nodes.resize_with(index.at() + 1, || None);
        }
        if self.core.open.len() <= index.at() {
            self.core.open.resize_with(index.at() + 1, Open::default);
        }
        self.core.open[index.at()].gone = false;
    }

    /// Removes a node and sets its counters to zero, since another node gets its index.
    fn remove(&mut self, index: NodeIndex, removed: &Removed) {
        let core = &mut self.core;
        core.set_alarm(index, None);
        if let Some(open) = core.open.get_mut(index.at()) {
            open.gone = true;
        }
        for lane in [&core.nodes.calls, &core.nodes.vectors, &core.nodes.clocks] {
            lane.clear(index.at());
        }
        removed.errors.clone().for_each(|error| core.errors.clear(error as usize));
        if let Some(slot) = self.nodes.get_mut(index.at()).and_then(Option::take) {
            removed.slots.lock().expect("no panic inside").push(*slot);
        }
    }

    /// One turn: messages, then each input and what follows from it, then the quiescent point.
    /// `poll_all` also calls the inputs that wait for an interrupt. Returns how many packets
    /// came in.
    pub fn turn(&mut self, poll_all: bool) -> usize {
        // Time between nodes, also of two turns, is counted for the next node that runs, so that
        // the nodes' clocks add up to all.
        let mut clock = if self.busy_until == 0 { rdtsc() } else { self.busy_until };
        self.gauges.turn();
        if !self.mailbox.is_empty() {
            self.receive_some(MESSAGES.min(self.mailbox.len()));
        }
        self.core.now = self.core.clock.now();
        let turn = self.reader.turn();
        let arcs = &*self.arcs;
        let mut packets = self.core.receive_handoffs();
        let injected = !self.core.pending.is_empty();
        // Packets that control injected or other threads handed over go first.
        if injected {
            clock = run_pending(&mut self.core, &mut self.nodes, &turn, arcs, clock);
        }
        for slot in &mut self.inputs {
            match slot.mode {
                InputMode::Disabled => continue,
                InputMode::Interrupt if !poll_all => continue,
                _ => {}
            }
            let n = slot.input.poll(&mut Cx::new(&mut self.core, &slot.rt, arcs, &turn));
            let at = slot.rt.index.at();
            self.core.nodes.calls.add(at, 1);
            // A poll without packets is idle time, or else counted for the next node.
            if n > 0 {
                let end = rdtsc();
                self.core.nodes.vectors.add(at, n as u64);
                self.core.nodes.clocks.add(at, end.wrapping_sub(clock));
                slot.longest.note(end.wrapping_sub(clock), n);
                packets += n;
                clock = end;
            }
            if !self.core.pending.is_empty() {
                clock = run_pending(&mut self.core, &mut self.nodes, &turn, arcs, clock);
            }
        }
        if self.core.now.wrapping_sub(self.last_tick) >= SECOND {
            self.last_tick = self.core.now;
            self.gauges.set_cached(self.core.cache.free_count());
            clock = tick_all(&mut self.core, &mut self.nodes, &turn, arcs, clock);
        }
        if self.core.alarm <= self.core.now {
            self.core.take_alarms(&mut self.ticks);
        }
        if !self.ticks.is_empty() || !self.core.again.is_empty() {
            self.ticks.append(&mut self.core.again);
            for node in self.ticks.drain(..) {
                if let Some(Some(slot)) = self.nodes.get_mut(node.at()) {
                    slot.node.tick(&slot.rt, &mut self.core, &turn, arcs);
                }
            }
            clock = run_pending(&mut self.core, &mut self.nodes, &turn, arcs, clock);
        }
        drop(turn);
        self.busy_until = if packets > 0 || injected { clock } else { 0 };
        self.core.send_handoffs();
        if !self.core.orphans.is_empty() {
            self.adopt();
        }
        packets
    }

    /// Injects packets again whose node this thread didn't have when they were sent: by now
    /// control's message with the node is here. Packets for a node that was removed are dropped
    /// and counted.
    #[cold]
    fn adopt(&mut self) {
        self.receive();
        for (node, buffer) in std::mem::take(&mut self.core.orphans) {
            if self.core.open.get(node.at()).is_some_and(|open| !open.gone) {
                self.core.inject(node, buffer);
            } else {
                let mut frame = self.core.spare();
                // A spare frame is empty, and of this pool.
                let _ = frame.push(buffer);
                self.core.lose(frame);
            }
        }
    }

    /// Runs one node over what waits for it (for tests that drive one node).
    pub fn run_node(&mut self, node: NodeIndex) {
        self.receive();
        self.core.now = self.core.clock.now();
        let turn = self.reader.turn();
        let arcs = &*self.arcs;
        while self.core.waits(node) {
            self.core.pending.retain(|n| *n != node);
            run_one(&mut self.core, &mut self.nodes, &turn, arcs, node, rdtsc());
        }
        while let Some(at) = self.core.again.iter().position(|n| *n == node) {
            self.core.again.swap_remove(at);
            if let Some(Some(slot)) = self.nodes.get_mut(node.at()) {
                slot.node.tick(&slot.rt, &mut self.core, &turn, arcs);
            }
        }
    }

    /// Puts a packet at the start of an interface's chain, as a node would (for tests that drive
    /// one feature).
    pub(crate) fn start_arc(
        &mut self,
        arc: ArcIndex,
        sw_if: SwIfIndex,
        b: &mut Buffer,
    ) -> Option<NodeIndex> {
        let at = self.arcs.start(arc, sw_if)?;
        b.feature = at + 1;
        self.arcs.node(at)
    }

    /// Calls `run` with the feature that packets of an interface pass first on an arc, in the
    /// surroundings of its node (for tests).
    pub(crate) fn at_first_feature<R>(
        &mut self,
        arc: ArcIndex,
        sw_if: SwIfIndex,
        run: impl FnOnce(ChainStep<'_>, &Cx<'_, false>) -> R,
    ) -> Option<R> {
        self.receive();
        let (turn, arcs) = (self.reader.turn(), &*self.arcs);
        let step = arcs.chain(arcs.start(arc, sw_if)?).next()?;
        let slot = self.nodes.get(step.node.at())?.as_ref()?;
        Some(run(step, &Cx::new(&mut self.core, &slot.rt, arcs, &turn)))
    }

    /// Returns true if work waits that a sleep would delay.
    pub(crate) fn has_work(&mut self) -> bool {
        self.stopped || self.is_busy() || self.core.handoffs.waiting()
    }

    /// Returns true if packets wait for some node, or for adoption, or in a node that works in
    /// portions, or messages for this thread wait.
    pub fn is_busy(&self) -> bool {
        let core = &self.core;
        !core.pending.is_empty()
            || !core.orphans.is_empty()
            || !core.again.is_empty()
            || !self.mailbox.is_empty()
    }
}

/// Calls the `tick` of every node, and runs what they send.
fn tick_all(
    core: &mut Core,
    nodes: &mut [Option<Box<NodeSlot>>],
    turn: &sync::Turn<'_>,
    arcs: &ArcTable,
    clock: u64,
) -> u64 {
    for slot in nodes.iter_mut().flatten() {
        slot.node.tick(&slot.rt, core, turn, arcs);
    }
    run_pending(core, nodes, turn, arcs, clock)
}

/// Calls of nodes for the packets of one input. What is pending then waits for the next turn, so a
/// packet that goes round for ever can't keep the thread: other inputs, messages of control and the
/// quiescent point come in between. Ordinary traffic needs a few dozen calls.
const CALLS: usize = 4096;

#[inline(always)]
fn run_pending(
    core: &mut Core,
    nodes: &mut [Option<Box<NodeSlot>>],
    turn: &sync::Turn<'_>,
    arcs: &ArcTable,
    mut clock: u64,
) -> u64 {
    for _ in 0..CALLS {
        let Some(node) = core.pending.pop_front() else { break };
        clock = run_one(core, nodes, turn, arcs, node, clock);
    }
    clock
}

#[inline(always)]
fn run_one(
    core: &mut Core,
    nodes: &mut [Option<Box<NodeSlot>>],
    turn: &sync::Turn<'_>,
    arcs: &ArcTable,
    node: NodeIndex,
    start: u64,
) -> u64 {
    let mut frame = core.take_frame(node);
    let n = frame.len();
    let end;
    if let Some(Some(slot)) = nodes.get_mut(node.at()) {
        if frame.traced {
            core.trace.set_time(core.clock.now());
        }
        if core.observer.is_some() {
            observe::vector(core, node, &frame);
        }
        crash::enter(&slot.rt, core, n);
        // SAFETY: `slot.run` is one of the node's own variants.
        unsafe { slot.node.run(slot.run, &slot.rt, core, turn, arcs, &mut frame) };
        crash::leave();
        if frame.is_empty() {
            core.give_spare(frame)
        } else {
            core.lose(frame)
        }
        end = rdtsc();
        slot.longest.note(end.wrapping_sub(start), n);
    } else if core.open.get(node.at()).is_some_and(|open| open.gone) {
        core.orphan(node, &mut frame);
        core.give_spare(frame);
        return start;
    } else {
        core.lose(frame);
        end = rdtsc();
    }
    core.nodes.calls.add(node.at(), 1);
    core.nodes.vectors.add(node.at(), n as u64);
    core.nodes.clocks.add(node.at(), end.wrapping_sub(start));
    end
}
