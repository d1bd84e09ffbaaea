// SPDX-License-Identifier: Apache-2.0
//! `pppoe-encap`: puts headers in front of IP packets to clients.

use crate::header;
use crate::work::{Work, WorkTable};
use buffer::{Buffer, Field, Flags, Owned};
use graph::{Build, Cx, Next, Node, NodeIndex, ThreadIndex, Trace, World};
use net::{IfLanes, Interfaces, L4};
use std::fmt;
use std::sync::Arc;
use tunnel::segment::{self, Supers};
use wire::{EtherType, Ethernet, Header as _, MacAddr};
use zerocopy::IntoBytes;

/// Bytes in front of an IP packet: Ethernet, PPPoE, PPP.
const HEADERS: usize = Ethernet::LEN + header::LEN + header::PROTOCOL;

pub struct PppoeEncap {
    sessions: Arc<WorkTable>,
    sender: Sender,
    supers: Supers,
}

struct Sender {
    interfaces: Arc<Interfaces>,
    lanes: Arc<IfLanes>,
    l4: Field<L4>,
}

#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
pub enum To {
    /// The output node of the client's interface.
    #[dynamic]
    Output(NodeIndex),
    /// Super-packets: cut into segments.
    #[keep]
    Segments,
    /// good packets encapsulated
    #[count]
    Encapsulated,
    /// session is gone
    #[drop]
    Gone,
    /// neither IPv4 nor IPv6
    #[drop]
    NotIp,
    /// packet longer than the header's length field
    #[drop]
    TooLong,
    /// no room for another header
    #[drop]
    NoHeadroom,
    /// super-packet can't be cut into segments, or into too many
    #[drop]
    BadSuper,
    /// no buffer for a segment
    #[count]
    NoBuffer,
}

tunnel::cuts!(To, Output);

#[derive(Clone, Copy)]
pub struct EncapTrace {
    instance: u32,
    session: u16,
    client: MacAddr,
    len: usize,
}

impl Trace for EncapTrace {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { instance, session, client, len } = self;
        write!(f, "PPPoE encap to pppoe_session{instance} session_id {session} ")?;
        write!(f, "client-mac {client} length {len}")
    }
}

impl Build for PppoeEncap {
    fn build(world: &World, thread: ThreadIndex) -> Self {
        let lanes = IfLanes::of(world, thread);
        let sender = Sender { interfaces: world.get(), lanes, l4: world.field() };
        Self { sessions: world.get(), sender, supers: Supers::default() }
    }
}

impl Sender {
    /// Puts the headers in front. An interface of the client with tags puts these in itself.
    #[inline(always)]
    fn send<const TRACED: bool>(
        &self,
        work: Option<Work>,
        b: &mut Buffer,
        cx: &mut Cx<'_, TRACED>,
    ) -> To {
        let Some(work) = work else { return To::Gone };
        let Some(view) = self.interfaces.views(cx.turn).get(work.encap as usize) else {
            return To::Gone;
        };
        let protocol = match b.bytes::<1>(0).map(|[first]| first >> 4) {
            Some(4) => header::IP4,
            Some(6) => header::IP6,
            _ => return To::NotIp,
        };
        // RFC 2516 4: of what follows the header.
        let Ok(len) = u16::try_from(b.packet_len() + header::PROTOCOL) else {
            return To::TooLong;
        };
        if b.flags.contains(Flags::CSUM_PARTIAL) {
            // Not every device can finish one behind these headers.
            driver::finish_checksum(b);
            b.flags.remove(Flags::CSUM_PARTIAL);
        }
        let Some(to) = b.push::<HEADERS>() else { return To::NoHeadroom };
        let (ethernet, rest) = to.split_at_mut(Ethernet::LEN);
        let outer = Ethernet::new(view.mac, work.mac, EtherType::PPPOE_SESSION);
        ethernet.copy_from_slice(outer.as_bytes());
        let ([s0, s1], [l0, l1]) = (work.session.to_be_bytes(), len.to_be_bytes());
        let [p0, p1] = protocol.to_be_bytes();
        rest.copy_from_slice(&[header::VERSION_TYPE, header::SESSION, s0, s1, l0, l1, p0, p1]);
        b.mark_l2();
        b.clear_field(self.l4);
        b.flags.remove(Flags::L2_BROADCAST | Flags::L2_MULTICAST | Flags::VLAN);
        self.lanes.tx.unicast(work.sw_if as usize, 0, HEADERS as u64);
        b.tx_if = work.encap;
        cx.count(To::Encapsulated, 1);
        if TRACED {
            let Work { instance, session, mac: client, .. } = work;
            cx.trace(b, EncapTrace { instance, session, client, len: b.packet_len() });
        }
        To::Output(view.output)
    }
}

impl Node for PppoeEncap {
    const NAME: &'static str = "pppoe-encap";
    type Next = To;
    type Trace = EncapTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        if b.flags.contains(Flags::GSO) {
            return self.supers.plan(b);
        }
        self.sender.send(self.sessions.of(b.tx_if, cx.turn), b, cx)
    }

    fn keep(&mut self, b: Owned, cx: &mut Cx<'_, false>) {
        let Some(b) = self.supers.take::<To>(b, cx) else { return };
        let work = self.sessions.of(b.tx_if, cx.turn);
        segment::cut(b, 0, false, cx, |part, cx| self.sender.send(work, part, cx));
    }

    #[inline(always)]
    fn end<const TRACED: bool>(&mut self, _: &mut Cx<'_, TRACED>) {
        self.supers.end();
    }
}
