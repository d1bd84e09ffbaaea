// SPDX-License-Identifier: Apache-2.0
//! `l2-flood`: sends a frame to each member.

use crate::bridge::Bridge;
use crate::bvi::ToBvi;
use crate::meta::L2Meta;
use crate::state::{Domain, Member};
use crate::storm::Class;
use buffer::{Buffer, Flags, Owned};
use driver::finish_checksum;
use graph::{Build, Copies, Cx, Next, Node, NodeIndex, ThreadIndex, Trace, World, copy_to_each};
use stats::Lane;
use std::fmt;
use std::sync::Arc;
use sync::Turn;

pub struct L2Flood {
    bridge: Arc<Bridge>,
    bvi: ToBvi,
    copies: Copies,
    thread: ThreadIndex,
    /// Dropped frames of interfaces, by [`Class`].
    storm_drops: [Lane; 3],
}

#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
pub enum To {
    #[next("l2-output")]
    Output,
    /// The BVI receives it.
    #[dynamic]
    Bvi(NodeIndex),
    /// frames that wait until copies of others have left
    #[next("l2-flood", count)]
    Again,
    /// To several members.
    #[keep]
    Copy,
    /// domain has no other member that the frame may go to
    #[drop]
    #[counter("L2 replication complete")]
    NoMember,
    /// the port's limit of broadcasts is reached
    #[drop]
    #[counter("broadcast storm control drops")]
    Broadcasts,
    /// the port's limit of multicasts is reached
    #[drop]
    #[counter("multicast storm control drops")]
    Multicasts,
    /// the port's limit of frames to unknown stations is reached
    #[drop]
    #[counter("unknown unicast storm control drops")]
    UnknownUnicasts,
    /// no buffer for a copy
    #[count]
    #[counter("L2 replication failures")]
    NoBuffer,
    /// unicast frames that were not copied to the BVI, which has another address
    #[count]
    #[counter("BVI L3 mac mismatch")]
    BviMismatch,
    /// frames for several members
    #[count]
    #[counter("L2 flood packets")]
    Packets,
}

#[derive(Clone, Copy)]
pub struct FloodTrace {
    domain: u16,
    copies: usize,
}

impl Trace for FloodTrace {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "bd_index {} copies {}", self.domain, self.copies)
    }
}

impl Build for L2Flood {
    fn build(world: &World, thread: ThreadIndex) -> Self {
        let bridge = world.get::<Bridge>();
        let storm_drops = bridge.storms.lanes(thread);
        Self {
            bridge,
            bvi: ToBvi::new(world, thread),
            copies: Copies::default(),
            thread,
            storm_drops,
        }
    }
}

/// The members that a frame may go to.
#[derive(Clone, Copy)]
struct FloodScope {
    rx_if: u32,
    shg: u8,
    destination: [u8; 6],
}

impl FloodScope {
    #[inline(always)]
    fn of(b: &Buffer, meta: L2Meta) -> Self {
        let destination = b.bytes::<6>(0).copied().unwrap_or_default();
        Self { rx_if: b.rx_if, shg: meta.shg(), destination }
    }

    #[inline(always)]
    fn has(self, member: &Member) -> bool {
        member.sw_if != self.rx_if && (self.shg == 0 || self.shg != member.shg)
    }
}

impl L2Flood {
    /// Returns the members that a frame goes to, in the order of the copies.
    #[inline(always)]
    fn members<'t>(
        &'t self,
        domain: &'t Domain,
        reach: FloodScope,
        turn: &'t Turn<'_>,
    ) -> impl Iterator<Item = &'t Member> + Clone {
        let members = domain.members.iter().filter(move |member| reach.has(member));
        members.filter(move |member| {
            !member.is_bvi || self.bvi.takes(reach.destination, member.sw_if, turn)
        })
    }

    /// Returns the next node of a frame to a member.
    #[inline(always)]
    fn lead<const TRACED: bool>(&self, b: &mut Buffer, member: &Member, cx: &Cx<'_, TRACED>) -> To {
        if member.is_bvi {
            return To::Bvi(self.bvi.receive(b, member.sw_if, cx));
        }
        b.tx_if = member.sw_if;
        To::Output
    }

    /// Lets a frame of a port with limits pass once, or counts it and returns the drop.
    #[inline(never)]
    fn limit<const TRACED: bool>(
        &self,
        b: &mut Buffer,
        meta: L2Meta,
        cx: &mut Cx<'_, TRACED>,
    ) -> Option<To> {
        let limits = self.bridge.storms.limits.get(b.rx_if, cx.turn);
        let class = Class::of(b.bytes::<6>(0).copied().unwrap_or_default());
        if limits.is_none_or(|limits| limits.pass(class, self.thread, cx.now())) {
            // It may pass this node again, if it has to wait for copies of others.
            b.set_scratch(meta.passed());
            return None;
        }
        self.storm_drops[class as usize].add(b.rx_if as usize, 1);
        if TRACED {
            cx.trace(b, FloodTrace { domain: meta.domain(), copies: 0 });
        }
        Some(match class {
            Class::Broadcast => To::Broadcasts,
            Class::Multicast => To::Multicasts,
            Class::UnknownUnicast => To::UnknownUnicasts,
        })
    }

    /// Sends copies to all members that a frame goes to.
    fn copy(&self, mut b: Owned, cx: &mut Cx<'_, false>) {
        let meta = b.scratch::<L2Meta>();
        let turn = cx.turn;
        let Some(domain) = self.bridge.domains.get(meta.domain().into(), turn) else {
            return cx.emit(To::NoMember, b);
        };
        // A partial checksum, left to the device: copies share the bytes that it covers.
        // Segmentation computes those of its segments.
        if b.flags.contains(Flags::CSUM_PARTIAL) && !b.flags.contains(Flags::GSO) {
            finish_checksum(&mut b);
        }
        let members = self.members(domain, FloodScope::of(&b, meta), turn);
        let copied =
            copy_to_each(b, members, To::NoMember, cx, |b, member, cx| self.lead(b, member, cx));
        cx.count(To::NoBuffer, copied.missing as u64);
    }
}

impl Node for L2Flood {
    const NAME: &'static str = "l2-flood";
    const HOT: bool = true;
    type Next = To;
    type Trace = FloodTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        let meta = b.scratch::<L2Meta>();
        if meta.is_limited()
            && let Some(drop) = self.limit(b, meta, cx)
        {
            return drop;
        }
        if self.copies.are_enough() {
            return To::Copy;
        }
        let Some(domain) = self.bridge.domains.get(meta.domain().into(), cx.turn) else {
            return To::NoMember;
        };
        let reach = FloodScope::of(b, meta);
        let mut members = self.members(domain, reach, cx.turn);
        let (first, more) = (members.next().copied(), members.count());
        let all = domain.members.iter().filter(|member| reach.has(member)).count();
        cx.count(To::Packets, 1);
        let copies = usize::from(first.is_some()) + more;
        if copies < all {
            cx.count(To::BviMismatch, 1);
        }
        if TRACED {
            cx.trace(b, FloodTrace { domain: meta.domain(), copies });
        }
        match (first, more) {
            (None, _) => To::NoMember,
            (Some(only), 0) => self.lead(b, &only, cx),
            (Some(_), more) => {
                self.copies.plan(more + 1);
                To::Copy
            }
        }
    }

    fn keep(&mut self, b: Owned, cx: &mut Cx<'_, false>) {
        if !self.copies.take() {
            return cx.emit(To::Again, b);
        }
        self.copy(b, cx);
    }

    #[inline(always)]
    fn end<const TRACED: bool>(&mut self, _: &mut Cx<'_, TRACED>) {
        self.copies.end();
    }
}
