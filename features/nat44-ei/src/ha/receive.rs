// SPDX-License-Identifier: Apache-2.0
//! `nat44-ei-ha`: datagrams of the other router.

use super::outbox::{acknowledgement, datagram};
use super::wire::{ACK, EVENT, Event, HEADER, Header, Kind, VERSION};
use crate::engine::Engine;
use crate::flows::{Flows, NewSession};
use crate::session::inside_key;
use crate::settings::Settings;
use ::nat::key::{End, User};
use ::wire::{Header as _, IpHeader, Ipv4Header, UdpHeader, UpperLayer};
use buffer::{Buffer, Owned};
use graph::{Build, Cx, Next, Node, NodeIndex, ThreadIndex, Trace, World};
use std::fmt;

/// The node's name.
pub const NODE: &str = "nat44-ei-ha";

#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
pub enum To {
    /// The acknowledgement.
    #[next("ip4-lookup")]
    Reply,
    /// To the thread that has the sessions.
    #[keep]
    Elsewhere,
    /// The datagram, once it was read.
    #[free]
    Done,
    /// event that can't be read
    #[count]
    #[counter("unknown-event")]
    UnknownEvent,
    /// event of a table that isn't here
    #[count]
    #[counter("unknown-table")]
    UnknownTable,
    /// session for which there is no room
    #[count]
    #[counter("no-room")]
    NoRoom,
    /// pkts-processed
    #[count]
    #[counter("pkts-processed")]
    Processed,
    /// bad-version
    #[drop]
    #[counter("bad-version")]
    BadVersion,
    /// datagram that is shorter than its events
    #[drop]
    #[counter("too-short")]
    TooShort,
    /// datagram that isn't from the other router
    #[drop]
    #[counter("unknown-sender")]
    UnknownSender,
    /// datagram for a thread that isn't here
    #[drop]
    #[counter("unknown-thread")]
    UnknownThread,
}

/// The record of a datagram.
#[derive(Clone, Copy)]
pub struct HaTrace(Option<Header>);

impl Trace for HaTrace {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(header) = self.0 else { return f.write_str("nat44-ei-ha: no header") };
        let Header { sequence, thread, count, flags, .. } = header;
        let what = if flags & ACK != 0 { "ACK, " } else { "" };
        write!(f, "nat44-ei-ha: {what}sequence-number {sequence} thread {thread} count {count}")
    }
}

/// A datagram's ends, and the offset of its payload.
struct Datagram {
    from: End,
    to: End,
    payload: usize,
}

fn read(b: &Buffer) -> Option<(Datagram, Header)> {
    let bytes = b.data();
    let ip = Ipv4Header::view(bytes)?;
    let upper = UpperLayer::find4(bytes).ok()?;
    let udp = UdpHeader::view_at(bytes, upper.offset)?;
    let payload = upper.offset + UdpHeader::LEN;
    let header = Header::read(bytes.get(payload..)?)?;
    let from = End::new(ip.src(), udp.src_port.get());
    let to = End::new(ip.dst(), udp.dst_port.get());
    Some((Datagram { from, to, payload }, header))
}

/// The node.
pub struct Receive {
    engine: Engine,
    threads: usize,
    own: Option<NodeIndex>,
}

impl Build for Receive {
    fn build(world: &World, thread: ThreadIndex) -> Self {
        let (threads, own) = (world.threads(), world.node(NODE));
        Self { engine: Engine::new(world, thread), threads, own }
    }
}

impl Receive {
    fn thread(&self, b: &Buffer) -> Option<ThreadIndex> {
        let (_, header) = read(b)?;
        let thread = u16::try_from(header.thread).ok()?;
        (usize::from(thread) < self.threads).then_some(ThreadIndex(thread))
    }
}

impl Node for Receive {
    const NAME: &'static str = NODE;
    type Next = To;
    type Trace = HaTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        // From the UDP node the packet begins behind its headers.
        let front = b.l3_len();
        let read = if b.rewind(front) { read(b) } else { None };
        if TRACED {
            cx.trace(b, HaTrace(read.as_ref().map(|(_, header)| *header)));
        }
        let Some((of, header)) = read else { return To::TooShort };
        let settings = self.engine.nat.settings(cx.turn);
        let listener = settings.ha.listener.filter(|listener| listener.end == of.to);
        if listener.is_none() || !settings.ha.is_known(of.from.addr) {
            return To::UnknownSender;
        }
        if header.version != VERSION {
            return To::BadVersion;
        }
        let is_ack = header.flags & ACK != 0;
        let len = of.payload + HEADER + usize::from(header.count) * EVENT;
        if !is_ack && b.packet_len() < len {
            return To::TooShort;
        }
        match self.thread(b) {
            None => return To::UnknownThread,
            Some(thread) if thread != self.engine.thread => return To::Elsewhere,
            Some(_) => {}
        }
        let now = cx.now();
        let Some(mut flows) = self.engine.flows.of(self.engine.thread, cx.turn) else {
            return To::UnknownThread;
        };
        if is_ack {
            flows.outbox.acknowledged(header.sequence);
        } else {
            let first = of.payload + HEADER;
            for at in (0..usize::from(header.count)).map(|n| first + n * EVENT) {
                let mut bytes = [0; EVENT];
                let is_whole = b.copy_out(at, &mut bytes) == EVENT;
                let event = if is_whole { Event::read(&bytes) } else { None };
                let applied = event.map_or(Err(To::UnknownEvent), |event| {
                    self.apply(&mut flows, &event, (now, settings), cx.turn)
                });
                if let Err(reason) = applied {
                    cx.count(reason, 1);
                }
            }
            flows.outbox.count_ack();
        }
        drop(flows);
        cx.count(To::Processed, 1);
        if !is_ack && let Some(mut reply) = cx.alloc_own() {
            match datagram(&mut reply, (of.to, of.from), &acknowledgement(header)) {
                true => cx.emit(To::Reply, reply),
                false => cx.free(reply),
            }
        }
        To::Done
    }

    fn keep(&mut self, b: Owned, cx: &mut Cx<'_, false>) {
        match (self.thread(&b), self.own) {
            (Some(thread), Some(node)) if thread != self.engine.thread => {
                cx.handoff(thread, node, b);
            }
            _ => cx.emit(To::UnknownThread, b),
        }
    }
}

impl Receive {
    /// Applies an event of the other router, which gets no event of it. The error is the reason why
    /// nothing was done.
    fn apply(
        &self,
        flows: &mut Flows,
        event: &Event,
        (now, settings): (u64, &Settings),
        turn: &sync::Turn<'_>,
    ) -> Result<(), To> {
        if !self.engine.around.routes.has_table(event.fib, turn) {
            return Err(To::UnknownTable);
        }
        flows.outbox.count_received(event.kind);
        flows.outbox.muted = true;
        let mut done = Ok(());
        let key = inside_key(event.inside, event.fib, event.protocol);
        match event.kind {
            Kind::Add => {
                let mappings = &self.engine.nat.mappings;
                let mapping = mappings.by_local(event.inside, event.protocol, [event.fib; 3], turn);
                let user = User { fib: event.fib, addr: event.inside.addr };
                let sw_if = self.engine.interface_of(user, turn);
                let mapping = mapping.map(|(number, _)| number);
                done = add(flows, event, (mapping, sw_if), (now, settings));
            }
            Kind::Delete => {
                if let Some(at) = flows.at(&key) {
                    flows.remove(at);
                }
            }
            Kind::Refresh => {
                if let Some(at) = flows.at(&key) {
                    flows.set_counters(at, (event.packets.into(), event.bytes), now);
                }
            }
        }
        flows.outbox.muted = false;
        done
    }
}

/// Makes a session of the other router's, in the place of those that have its ends. The user is
/// behind this interface.
fn add(
    flows: &mut Flows,
    event: &Event,
    (mapping, sw_if): (Option<u32>, u32),
    (now, settings): (u64, &Settings),
) -> Result<(), To> {
    let world = settings.outsides.first().copied().or(settings.outside);
    let world = world.ok_or(To::UnknownTable)?;
    let is_static = event.flags.contains(crate::session::SessionFlags::STATIC);
    let new = NewSession {
        inside: (event.inside, event.fib),
        outside: (event.outside, world),
        protocol: event.protocol,
        external: event.external,
        mapping: is_static.then(|| mapping.unwrap_or(u32::MAX)),
        sw_if,
    };
    for key in new.keys() {
        if let Some(old) = flows.at(&key) {
            flows.remove(old);
        }
    }
    let user = User { fib: event.fib, addr: event.inside.addr };
    flows.make_room((user, sw_if), (now, settings)).map_err(|_| To::NoRoom)?;
    let at = flows.make(&new, (now, settings)).map_err(|_| To::NoRoom)?;
    flows.assume_established(at, settings, now);
    flows.set_counters(at, (event.packets.into(), event.bytes), now);
    Ok(())
}
