// SPDX-License-Identifier: Apache-2.0
//! `l2-super-path`: `ethernet-input`, `l2-input`, `l2-learn`, `l2-fwd`, `l2-output` and the
//! interface's output for ordinary frames, in one node.
//!
//! It is on the arc of received frames of ports whose received frames pass only learning and
//! forwarding. An ordinary frame is a unicast frame whose source is known at this port, and has
//! been seen in this unit of the clock, and whose destination is known at a port that neither
//! rewrites nor filters frames and has no feature. It goes directly to the driver's transmit node.
//! In a cross-connect all unicast frames are ordinary. Any other frame goes to `ethernet-input`
//! unchanged and uncounted.
//!
//! A frame to the address of the BVI goes where frames go that this interface receives: mostly to
//! `super-path`, which routes it. A packet that is routed to a BVI goes from there to a port
//! ([`bvi`]).

mod block;
pub mod bvi;
#[cfg(feature = "tests")]
mod tests;

use crate::{AHEAD, To, emit_copy, tx_of};
use block::{Addresses, Block};
use buffer::{Buffer, Flags};
use graph::{Build, Cx, Node, NodeIndex, Prefetch, ThreadIndex, Vector, World};
use ip::headers::BLOCK;
use l2::{Bridge, Origin, Switched, Target, UnicastPath};
use net::{Exit, Exits, FrameInput, IfLanes, Interfaces, Mirrors, Views, count_tags};
use simd::Isa;
use std::sync::Arc;
use tables::mac::{MacEntry, MacView};

pub struct L2SuperPath {
    switch: Switch,
    /// Time of the turn in which an address moved.
    moved_at: u64,
    // Kept here to be refilled without being cleared.
    targets: Exits<Target>,
    blocks: [Block; 2],
}

/// State for all vectors.
struct Switch {
    bridge: Arc<Bridge>,
    interfaces: Arc<Interfaces>,
    lanes: Arc<IfLanes>,
    mirrors: Mirrors,
    bvi: FrameInput,
}

impl Switch {
    #[inline(always)]
    fn origin(&self, rx_if: u32, cx: &Cx<'_, false>) -> Origin {
        self.bridge.origin(rx_if, &self.interfaces, cx.now(), cx.turn)
    }

    /// Makes the copies of a frame that goes to the transmit node of its port.
    #[inline(never)]
    fn copy(&mut self, b: &mut Buffer, tx: NodeIndex, cx: &mut Cx<'_, false>) {
        let origin = self.origin(b.rx_if, cx);
        let view = self.interfaces.views(cx.turn).get(b.tx_if as usize).unwrap_or_default();
        let target = self.bridge.target(b.tx_if, view, cx.turn);
        let nodes = self.bridge.mirror_nodes().into_iter().flatten();
        for (node, _) in nodes.zip([origin.mirrored, target.mirrored]).filter(|(_, used)| *used) {
            origin.mark(b);
            self.mirrors.copy(node, b, emit_copy, cx);
        }
        self.mirrors.copy_sent(b, tx, emit_copy, cx);
    }
}

impl Build for L2SuperPath {
    fn build(world: &World, thread: ThreadIndex) -> Self {
        let switch = Switch {
            bridge: world.get(),
            interfaces: world.get(),
            lanes: IfLanes::of(world, thread),
            mirrors: Mirrors::new(world, thread),
            bvi: FrameInput::new(world, thread),
        };
        let blocks = [Block::new(), Block::new()];
        Self { switch, moved_at: u64::MAX, targets: Exits::new(), blocks }
    }
}

/// The same with the tables as they are in this turn.
struct Sender<'a, 't> {
    switch: &'a Switch,
    macs: MacView<'a>,
    views: Views<'a>,
    cx: &'a Cx<'t, false>,
}

/// The entry of a frame's source says another port: the graph has to learn that it has moved before
/// frames to its address are forwarded.
struct HasMoved;

impl<'a, 't> Sender<'a, 't> {
    fn new(switch: &'a Switch, cx: &'a Cx<'t, false>) -> Self {
        let (macs, views) = (switch.bridge.view(cx.turn), switch.interfaces.views(cx.turn));
        Self { switch, macs, views, cx }
    }

    /// The port that frames come in by.
    #[inline(always)]
    fn origin(&self, rx_if: u32) -> Origin {
        let mut origin = self.switch.origin(rx_if, self.cx);
        if origin.mirrored && !self.takes(self.switch.bridge.mirror_nodes()[0], rx_if) {
            origin.unicast_path = UnicastPath::Graph;
        }
        origin
    }

    /// True if the copies of this node are made here.
    fn takes(&self, mirror: Option<NodeIndex>, sw_if: u32) -> bool {
        mirror.is_some_and(|node| self.switch.mirrors.take(node, sw_if, self.cx.turn))
    }

    /// Looks up an interface that frames are to leave by.
    fn target(&self, tx_if: u32) -> Target {
        let Switch { bridge, mirrors, .. } = self.switch;
        let view = self.views.get(tx_if as usize).unwrap_or_default();
        let target = bridge.target(tx_if, view, self.cx.turn);
        let is_open = mirrors.take_sent(tx_if, view.tx, self.cx)
            && (!target.mirrored || self.takes(bridge.mirror_nodes()[1], tx_if));
        if is_open { target } else { Target::default() }
    }

    /// Like `target`, looked up once for a vector.
    #[inline(always)]
    fn exit<'e>(&self, tx_if: u32, targets: &'e mut Exits<Target>) -> Option<&'e mut Exit<Target>> {
        targets.find(tx_if, tx_if.into(), &self.switch.lanes, || Some(self.target(tx_if)))
    }

    /// Lets the BVI receive a frame, if it has the frame's destination address; returns the next
    /// node. Frames with tags need the graph.
    #[inline(never)]
    fn receive(&self, b: &mut Buffer, bvi: u32) -> Option<To> {
        let view = self.views.get(bvi as usize)?;
        if b.bytes::<6>(0) != Some(&view.mac.0) || count_tags(b) != 0 {
            return None;
        }
        b.mark_l2();
        b.rx_if = bvi;
        b.flags.remove(Flags::L2_BROADCAST.union(Flags::L2_MULTICAST));
        Some(To::Node(self.switch.bvi.receive(b, self.cx)))
    }

    /// Sends a frame of a domain, whose addresses have these entries; `None` if the graph handles
    /// it.
    #[inline(always)]
    fn frame(
        &self,
        b: &mut Buffer,
        origin: &Origin,
        (source, destination): (Option<Option<MacEntry>>, impl FnOnce() -> Option<MacEntry>),
        targets: &mut Exits<Target>,
        switched: &mut Switched,
    ) -> Result<Option<To>, HasMoved> {
        if let Some(source) = source {
            match source {
                Some(source) if origin.knows(source) => {}
                Some(source) if source.port != origin.rx_if => return Err(HasMoved),
                _ => return Ok(None),
            }
        }
        let (Some(entry), learns) = (destination(), source.is_some()) else { return Ok(None) };
        let Some(exit) = self.exit(entry.port, targets) else { return Ok(None) };
        if !origin.may_send(entry, &exit.to) {
            return Ok(None);
        }
        if exit.to.is_bvi {
            let to = self.receive(b, entry.port);
            switched.add_bridged((0, to.is_some().into()), learns);
            return Ok(to);
        }
        switched.add_bridged((1, 0), learns);
        Ok(Some(leave(b, entry.port, exit)))
    }

    /// Sends the frames of a block.
    #[inline(always)]
    fn send(
        &self,
        block: &Block,
        origin: &Origin,
        targets: &mut Exits<Target>,
        v: &mut Vector<'_, To>,
        switched: &mut Switched,
    ) -> Result<(), HasMoved> {
        let UnicastPath::Bridged { learns } = origin.unicast_path else { return Ok(()) };
        for i in 0..block.len.min(BLOCK) {
            let find = |(key, place)| self.macs.find_at(key, place).map(|found| found.entry);
            let at = usize::from(block.at[i]);
            let entries = (learns.then(|| find(block.sources[i])), || find(block.destinations[i]));
            if let Some(to) = self.frame(v.get_mut(at), origin, entries, targets, switched)? {
                v.set(at, to);
            }
        }
        Ok(())
    }

    /// Sends a frame of a small vector.
    #[inline(always)]
    fn one(&self, b: &mut Buffer, targets: &mut Exits<Target>) -> Result<Option<To>, HasMoved> {
        let origin = &self.origin(b.rx_if);
        let Some(addresses) = Addresses::of(b, origin) else { return Ok(None) };
        let mut switched = Switched::default();
        let to = match origin.unicast_path {
            UnicastPath::Graph => None,
            UnicastPath::Crossed(peer) => {
                let exit = self.exit(peer, targets).filter(|exit| exit.to.is_open);
                switched.crossed = u64::from(exit.is_some());
                exit.map(|exit| leave(b, peer, exit))
            }
            UnicastPath::Bridged { learns } => {
                let (destination, source) = addresses.keys(origin.domain);
                let find = |key| self.macs.find(key).map(|found| found.entry);
                let entries = (learns.then(|| find(source)), || find(destination));
                self.frame(b, origin, entries, targets, &mut switched)?
            }
        };
        if to.is_some() {
            self.switch.bridge.count_switched(switched, self.cx);
        }
        Ok(to)
    }

    /// Sends frames behind a block that has been sent: those with the addresses of its last frame
    /// go where that went. Returns the offset behind the last one.
    #[inline(always)]
    fn follow(
        &self,
        block: &Block,
        (origin, from): (&Origin, usize),
        targets: &mut Exits<Target>,
        v: &mut Vector<'_, To>,
        switched: &mut Switched,
    ) -> usize {
        let UnicastPath::Bridged { learns } = origin.unicast_path else { return from };
        let last = usize::from(block.at[block.len.saturating_sub(1) % BLOCK]);
        let (was_sent, only) = (!v.is(last, To::Aside), block.repeated);
        let b = v.get(last);
        if b.rx_if != origin.rx_if {
            let bvi = b.rx_if;
            let (behind, received) = run(origin, from, only, v, |b| self.receive(b, bvi));
            switched.add_bridged((0, received), learns);
            return behind;
        }
        let tx_if = b.tx_if;
        let exit = if was_sent { self.exit(tx_if, targets) } else { None };
        let (behind, sent) = send_on(origin, from, only, (tx_if, exit), v);
        switched.add_bridged((sent, 0), learns);
        behind
    }
}

/// Marks a frame as sent by a port.
#[inline(always)]
fn leave(b: &mut Buffer, tx_if: u32, exit: &mut Exit<Target>) -> To {
    b.mark_l2();
    b.tx_if = tx_if;
    exit.count(b.packet_len() as u32);
    To::Node(exit.to.tx)
}

/// Sends consecutive frames of a port to another one, from offset `from` of the vector on; with
/// `only`, as long as they have these addresses. Without an exit they are left to the graph.
/// Returns the offset behind the last one, and the number of frames sent.
#[inline(always)]
fn send_on(
    origin: &Origin,
    from: usize,
    only: Option<Addresses>,
    (tx_if, exit): (u32, Option<&mut Exit<Target>>),
    v: &mut Vector<'_, To>,
) -> (usize, u64) {
    let Some(exit) = exit else { return run(origin, from, only, v, |_| None) };
    run(origin, from, only, v, |b| Some(leave(b, tx_if, exit)))
}

/// The same, with a function that sends a frame, or leaves it to the graph.
#[inline(always)]
fn run(
    origin: &Origin,
    from: usize,
    only: Option<Addresses>,
    v: &mut Vector<'_, To>,
    mut send: impl FnMut(&mut Buffer) -> Option<To>,
) -> (usize, u64) {
    let (mut behind, mut sent) = (from, 0);
    for i in from..v.len() {
        v.prefetch(i + AHEAD);
        let b = v.get_mut(i);
        let found = Addresses::of(b, origin);
        if b.rx_if != origin.rx_if || only.is_some() && found != only {
            break;
        }
        behind += 1;
        if found.is_some()
            && let Some(to) = send(b)
        {
            v.set(i, to);
            sent += 1;
        }
    }
    (behind, sent)
}

impl L2SuperPath {
    /// Sends the frames of a vector, block by block: the lookups of a block begin when those of the
    /// block before are done, with their data prefetched.
    #[inline(always)]
    fn all(&mut self, v: &mut Vector<'_, To>, cx: &Cx<'_, false>) {
        let Self { switch, targets, blocks: [now, next], .. } = self;
        let (mut now, mut next) = (now, next);
        let sender = Sender::new(switch, cx);
        let n = v.len();
        let mut origin = sender.origin(v.get(0).rx_if);
        let (mut last, mut switched) = (origin, Switched::default());
        let (mut from, mut more) = (0, true);
        now.clear();
        while more {
            more = from < n;
            next.clear();
            // Frames behind equal ones wait until these are sent.
            if more && now.repeated.is_none() {
                let rx_if = v.get(from).rx_if;
                if rx_if != origin.rx_if {
                    origin = sender.origin(rx_if);
                }
                from = match origin.unicast_path {
                    UnicastPath::Crossed(peer) => {
                        let exit = sender.exit(peer, targets).filter(|exit| exit.to.is_open);
                        let (behind, sent) = send_on(&origin, from, None, (peer, exit), v);
                        switched.crossed += sent;
                        behind
                    }
                    UnicastPath::Bridged { .. } => next.gather(v, from, &origin, sender.macs),
                    UnicastPath::Graph => from + 1,
                };
            }
            if sender.send(now, &last, targets, v, &mut switched).is_err() {
                break;
            }
            if now.repeated.is_some() {
                from = sender.follow(now, (&last, from), targets, v, &mut switched);
            }
            last = origin;
            std::mem::swap(&mut now, &mut next);
        }
        switch.bridge.count_switched(switched, cx);
    }
}

impl Node for L2SuperPath {
    const NAME: &'static str = "l2-super-path";
    const PREFETCH: Prefetch = Prefetch::Packet;
    const HOT: bool = true;
    type Next = To;
    type Trace = ();

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        // Frames behind a move in the same vector are forwarded after the graph has learned the
        // move.
        if TRACED || cx.traces_inside() || self.moved_at == cx.now() {
            return To::Aside;
        }
        let cx = &mut cx.untraced();
        let to = Sender::new(&self.switch, cx).one(b, &mut self.targets).unwrap_or_else(|_| {
            self.moved_at = cx.now();
            None
        });
        if self.switch.mirrors.in_use() {
            let tx = tx_of(b, &self.switch.interfaces, cx);
            if to == Some(To::Node(tx)) {
                self.switch.copy(b, tx, cx);
            }
        }
        to.unwrap_or(To::Aside)
    }

    #[inline(always)]
    fn end<const TRACED: bool>(&mut self, _: &mut Cx<'_, TRACED>) {
        self.targets.settle(&self.switch.lanes);
        self.switch.mirrors.end();
    }

    #[inline(always)]
    fn stages<I: Isa>(&mut self, v: &mut Vector<'_, To>, cx: &mut Cx<'_, false>) {
        v.set_all(To::Aside);
        if cx.traces_inside() {
            return;
        }
        self.all(v, cx);
        if self.switch.mirrors.in_use() {
            for i in 0..v.len() {
                let tx = tx_of(v.get(i), &self.switch.interfaces, cx);
                if v.is(i, To::Node(tx)) {
                    self.switch.copy(v.get_mut(i), tx, cx);
                }
            }
        }
    }
}
