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

use crate::To;
use crate::plan::AHEAD;
use block::{Addresses, Block};
use buffer::{Buffer, Flags};
use graph::{ArcIndex, Build, Cx, Node, Prefetch, ThreadIndex, Vector, World};
use ip::headers::BLOCK;
use l2::{Bridge, Origin, Switched, Target, UnicastPath};
use net::{Exit, Exits, FrameInput, IfLanes, Interfaces, Views, count_tags};
use simd::Isa;
use std::sync::Arc;
use tables::mac::MacView;

pub struct L2SuperPath {
    bridge: Arc<Bridge>,
    interfaces: Arc<Interfaces>,
    lanes: Arc<IfLanes>,
    interface_output: ArcIndex,
    bvi: FrameInput,
    /// Time of the turn in which an address moved.
    moved_at: u64,
    // Kept here to be refilled without being cleared.
    targets: Exits<Target>,
    blocks: [Block; 2],
}

impl Build for L2SuperPath {
    fn build(world: &World, thread: ThreadIndex) -> Self {
        Self {
            bridge: world.get(),
            interfaces: world.get(),
            lanes: IfLanes::of(world, thread),
            interface_output: world
                .arc("interface-output")
                .expect("the arc comes with the interfaces"),
            bvi: FrameInput::new(world, thread),
            moved_at: u64::MAX,
            targets: Exits::new(),
            blocks: [Block::new(), Block::new()],
        }
    }
}

/// Tables and state that sending reads.
struct Sender<'a, 't> {
    bridge: &'a Bridge,
    macs: MacView<'a>,
    views: Views<'a>,
    interface_output: &'a ArcIndex,
    bvi: &'a FrameInput,
    lanes: &'a IfLanes,
    cx: &'a Cx<'t, false>,
}

impl Sender<'_, '_> {
    /// Looks up an interface that frames are to leave by.
    fn target(&self, tx_if: u32) -> Target {
        if self.cx.has_arc(*self.interface_output, tx_if) {
            return Target::default();
        }
        let view = self.views.get(tx_if as usize).unwrap_or_default();
        self.bridge.target(tx_if, view, self.cx.turn)
    }

    /// Like `target`, looked up once for a vector.
    #[inline(always)]
    fn exit<'e>(&self, tx_if: u32, targets: &'e mut Exits<Target>) -> Option<&'e mut Exit<Target>> {
        targets.find(tx_if, tx_if.into(), self.lanes, || Some(self.target(tx_if)))
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
        Some(To::Node(self.bvi.receive(b, self.cx)))
    }

    /// Sends the frames of a block. Returns true if an address has moved to the port: then the
    /// graph has to learn that before frames to the address are forwarded.
    #[inline(always)]
    fn send(
        &self,
        block: &Block,
        origin: &Origin,
        targets: &mut Exits<Target>,
        v: &mut Vector<'_, To>,
        switched: &mut Switched,
    ) -> bool {
        let UnicastPath::Bridged { learns } = origin.unicast_path else { return false };
        let (mut sent, mut received, mut has_moved) = (0, 0, false);
        for i in 0..block.len.min(BLOCK) {
            if learns {
                let (key, place) = block.sources[i];
                let Some(source) = self.macs.find_at(key, place) else { continue };
                if !origin.knows(source.entry) {
                    if source.entry.port != origin.rx_if {
                        has_moved = true;
                        break;
                    }
                    continue;
                }
            }
            let (key, place) = block.destinations[i];
            let Some(found) = self.macs.find_at(key, place) else { continue };
            let entry = found.entry;
            let Some(exit) = self.exit(entry.port, targets) else { continue };
            if !origin.may_send(entry, &exit.to) {
                continue;
            }
            let at = usize::from(block.at[i]);
            let b = v.get_mut(at);
            if exit.to.is_bvi {
                let Some(to) = self.receive(b, entry.port) else { continue };
                v.set(at, to);
                received += 1;
                continue;
            }
            b.mark_l2();
            b.tx_if = entry.port;
            exit.count(b.packet_len() as u32);
            v.set(at, To::Node(exit.to.tx));
            sent += 1;
        }
        switched.add_bridged((sent, received), learns);
        has_moved
    }

    /// Sends a frame of a small vector. `Err` if its address has moved to the port.
    #[inline(always)]
    fn one(&self, b: &mut Buffer, origin: &Origin) -> Result<Option<To>, ()> {
        let Some(addresses) = Addresses::of(b, origin) else { return Ok(None) };
        let (destination, source) = addresses.keys(origin.domain);
        let mut switched = Switched::default();
        let (tx_if, target) = match origin.unicast_path {
            UnicastPath::Graph => return Ok(None),
            UnicastPath::Crossed(peer) => {
                switched.crossed = 1;
                (peer, Some(self.target(peer)).filter(|target| target.is_open))
            }
            UnicastPath::Bridged { learns } => {
                if learns {
                    let Some(source) = self.macs.find(source) else { return Ok(None) };
                    if !origin.knows(source.entry) {
                        let moves = source.entry.port != origin.rx_if;
                        return if moves { Err(()) } else { Ok(None) };
                    }
                }
                let Some(found) = self.macs.find(destination) else { return Ok(None) };
                let target = self.target(found.entry.port);
                let received = u64::from(target.is_bvi);
                switched.add_bridged((1 - received, received), learns);
                let is_open = origin.may_send(found.entry, &target);
                (found.entry.port, is_open.then_some(target))
            }
        };
        let to = match target {
            Some(target) if target.is_bvi => self.receive(b, tx_if),
            Some(target) => {
                self.lanes.tx.unicast(tx_if as usize, 1, b.packet_len() as u64);
                b.mark_l2();
                b.tx_if = tx_if;
                Some(To::Node(target.tx))
            }
            None => None,
        };
        if to.is_some() {
            self.bridge.count_switched(switched, self.cx);
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
    let (tx, mut bytes) = (exit.to.tx, 0);
    let (behind, sent) = run(origin, from, only, v, |b| {
        b.mark_l2();
        b.tx_if = tx_if;
        bytes += b.packet_len() as u32;
        Some(To::Node(tx))
    });
    exit.count_all(sent as u32, bytes);
    (behind, sent)
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
        let (now, cx) = (cx.now(), &cx.untraced());
        let Self { bridge, interfaces, lanes, interface_output, bvi, .. } = self;
        let (macs, views) = (bridge.view(cx.turn), interfaces.views(cx.turn));
        let sender = Sender { bridge, macs, views, interface_output, bvi, lanes, cx };
        let origin = bridge.origin(b.rx_if, interfaces, now, cx.turn);
        let to = sender.one(b, &origin).unwrap_or_else(|()| {
            self.moved_at = now;
            None
        });
        to.unwrap_or(To::Aside)
    }

    /// Block by block: the lookups of a block begin when those of the block before are done, with
    /// their data prefetched.
    #[inline(always)]
    fn stages<I: Isa>(&mut self, v: &mut Vector<'_, To>, cx: &mut Cx<'_, false>) {
        v.set_all(To::Aside);
        if cx.traces_inside() {
            return;
        }
        let Self { bridge, interfaces, lanes, interface_output, bvi, targets, blocks, .. } = self;
        let [now, next] = blocks;
        let (mut now, mut next) = (now, next);
        let cx = &*cx;
        let (macs, views) = (bridge.view(cx.turn), interfaces.views(cx.turn));
        let sender = Sender { bridge, macs, views, interface_output, bvi, lanes, cx };
        let look = |rx_if| bridge.origin(rx_if, interfaces, cx.now(), cx.turn);
        let n = v.len();
        let mut origin = look(v.get(0).rx_if);
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
                    origin = look(rx_if);
                }
                from = match origin.unicast_path {
                    UnicastPath::Crossed(peer) => {
                        let exit = sender.exit(peer, targets).filter(|exit| exit.to.is_open);
                        let (behind, sent) = send_on(&origin, from, None, (peer, exit), v);
                        switched.crossed += sent;
                        behind
                    }
                    UnicastPath::Bridged { .. } => next.gather(v, from, &origin, macs),
                    UnicastPath::Graph => from + 1,
                };
            }
            if sender.send(now, &last, targets, v, &mut switched) {
                break;
            }
            if now.repeated.is_some() {
                from = sender.follow(now, (&last, from), targets, v, &mut switched);
            }
            last = origin;
            std::mem::swap(&mut now, &mut next);
        }
        targets.settle(lanes);
        bridge.count_switched(switched, cx);
    }
}
