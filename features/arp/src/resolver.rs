// SPDX-License-Identifier: Apache-2.0
//! Asking for neighbours, and what waits for their answers: the common part of `ip4-arp` and `ip4-glean`.

use crate::counters::ArpLanes;
use crate::frame::Request;
use crate::notes::{Note, Notes};
use crate::own::source_for;
use crate::waiting::{Due, Target, Waiting};
use buffer::Owned;
use graph::{Cx, Next, NodeIndex, ThreadIndex, Trace, World};
use net::{Addresses, Adjacencies, IfView, Interfaces, IpMeta};
use std::fmt;
use std::net::Ipv4Addr;
use std::sync::Arc;
use wire::{ArpOp, Ip4};

#[derive(Next, Clone, Copy)]
pub enum To {
    /// The question's way out; or the packet's, if the neighbour is known by now.
    #[dynamic]
    Node(NodeIndex),
    /// The packet waits for the answer.
    #[keep]
    Wait,
    /// no answer to ARP requests: host unreachable.
    #[next("ip4-icmp-error", count)]
    NoAnswer,
    /// too many packets wait for this neighbour.
    #[drop]
    Overflow,
    /// too many neighbours are asked for at once.
    #[drop]
    Throttled,
    /// interface has no address to ask with.
    #[drop]
    NoSource,
    /// interface is down.
    #[drop]
    InterfaceDown,
    /// no buffer for the ARP request.
    #[drop]
    NoBuffer,
    /// control is too far behind to hear of an answer.
    #[drop]
    Busy,
    /// adjacency is gone.
    #[drop]
    NoAdjacency,
    /// packet is shorter than an IPv4 header.
    #[drop]
    TooShort,
}

/// Who is asked for.
#[derive(Clone, Copy)]
pub struct ResolveTrace {
    pub target: Target,
    pub asked: bool,
}

impl Trace for ResolveTrace {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Target { sw_if, ip } = self.target;
        let how = if self.asked { "request sent" } else { "asked already" };
        write!(f, "who has {ip} on sw_if_index {sw_if}: {how}")
    }
}

/// ICMP destination unreachable, host unreachable (RFC 792; RFC 1812 4.3.3.1).
const HOST_UNREACHABLE: (u8, u8) = (3, 1);

pub struct Resolver {
    pub adjacencies: Arc<Adjacencies>,
    interfaces: Arc<Interfaces>,
    own: Arc<Addresses<Ip4>>,
    notes: Arc<Notes>,
    tx: ArpLanes,
    waiting: Waiting<Owned>,
    /// Kept for its memory.
    released: Vec<Owned>,
}

impl Resolver {
    pub fn new(world: &World, thread: ThreadIndex) -> Self {
        Self {
            adjacencies: world.get(),
            interfaces: world.get(),
            own: world.get(),
            notes: world.get(),
            tx: ArpLanes::tx(world, thread),
            waiting: Waiting::default(),
            released: Vec::with_capacity(usize::from(crate::waiting::PER_NEIGHBOR)),
        }
    }

    /// Asks for the neighbour, unless that was done within the last second, and says what becomes of the packet.
    /// `source` is our address to ask with, if the caller knows it.
    #[inline(always)]
    pub fn resolve<const TRACED: bool>(
        &mut self,
        target: Target,
        source: Option<Ipv4Addr>,
        cx: &mut Cx<'_, TRACED>,
    ) -> (To, bool) {
        let now = cx.now();
        let Some(at) = self.waiting.slot(target, now) else { return (To::Throttled, false) };
        let ask = self.waiting.may_ask(at, now);
        if ask {
            if let Err(why) = self.ask(target, source, cx) {
                return (why, false);
            }
            self.waiting.asked(at, now);
        }
        (if self.waiting.take_place(at) { To::Wait } else { To::Overflow }, ask)
    }

    /// Sends the question, and tells control that an answer will be welcome.
    #[inline]
    fn ask<const TRACED: bool>(
        &mut self,
        target: Target,
        source: Option<Ipv4Addr>,
        cx: &mut Cx<'_, TRACED>,
    ) -> Result<(), To> {
        let views = self.interfaces.views(cx.turn);
        let view =
            views.get(target.sw_if as usize).filter(|v| v.is_up()).copied().ok_or(To::InterfaceDown)?;
        let source = source.or_else(|| source_for(self.own.of(target.sw_if, cx.turn), target.ip));
        let request = Request::who_has(target.ip, source.ok_or(To::NoSource)?);
        let mut b = cx.alloc().ok_or(To::NoBuffer)?;
        if !request.write(&mut b, target.sw_if, view.mac) {
            return Err(To::NoBuffer);
        }
        if !self.notes.post(Note::Asked { sw_if: target.sw_if, ip: target.ip }) {
            return Err(To::Busy);
        }
        self.tx.add(target.sw_if, ArpOp::REQUEST, false);
        self.send(view, b, cx);
        Ok(())
    }

    #[inline(always)]
    fn send<const TRACED: bool>(&self, view: IfView, b: Owned, cx: &mut Cx<'_, TRACED>) {
        cx.emit(To::Node(view.output), b);
    }

    /// Takes over a packet that [`Self::resolve`] said waits.
    pub fn keep(&mut self, target: Target, buffer: Owned, cx: &mut Cx<'_, false>) {
        if let Err(buffer) = self.waiting.put(target, buffer) {
            cx.emit(To::Overflow, buffer);
        }
    }

    /// Asks again, and gives up on those who have not answered.
    pub fn tick(&mut self, cx: &mut Cx<'_, false>) {
        for at in 0..self.waiting.len() {
            match self.waiting.due(at, cx.now()) {
                None => {}
                Some(Due::Ask(target)) => {
                    // Whatever hinders the question: it counts as one.
                    let _ = self.ask(target, None, cx);
                    self.waiting.asked(at, cx.now());
                }
                Some(Due::GiveUp(target)) => self.waiting.release(target, |mut b| {
                    let (kind, code) = HOST_UNREACHABLE;
                    let fib = b.scratch::<IpMeta>().fib;
                    b.set_scratch(IpMeta::error(kind, code, 0).in_table(fib));
                    cx.emit(To::NoAnswer, b);
                }),
            }
        }
    }

    /// Takes out what waits for a neighbour that has answered, in order; [`Self::put_back`] takes the memory again.
    pub fn release(&mut self, target: Target) -> Vec<Owned> {
        let mut released = std::mem::take(&mut self.released);
        self.waiting.release(target, |b| released.push(b));
        released
    }

    pub fn put_back(&mut self, released: Vec<Owned>) {
        self.released = released;
    }

    /// Nothing can be sent by the interface any more.
    pub fn give_up_on(&mut self, sw_if: u32) {
        self.waiting.give_up_on(sw_if);
    }
}
