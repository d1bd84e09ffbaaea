// SPDX-License-Identifier: Apache-2.0
//! `l2-flood`: one frame for each member.

use crate::bridge::Bridge;
use crate::bvi::ToBvi;
use crate::meta::L2Meta;
use crate::state::{Domain, Member};
use buffer::{Buffer, Owned};
use graph::{Build, Cx, Next, Node, ThreadIndex, Trace, World};
use std::fmt;
use std::sync::Arc;
use sync::Turn;

/// Copies that a vector of frames makes at most, but for those of the frame that reaches this number. Other frames wait until these copies
/// have left.
const AT_ONCE: usize = 1024;

/// Bytes that each copy has to itself: what later nodes may change.
const HEAD: usize = 256;

pub struct L2Flood {
    bridge: Arc<Bridge>,
    bvi: ToBvi,
    /// Copies that this vector's frames make at its end.
    planned: usize,
    /// Frames of this vector that these copies are made of: the first of those that are kept.
    to_copy: usize,
}

#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
pub enum To {
    #[next("l2-output")]
    Output,
    #[next("ethernet-input")]
    Bvi,
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
        Self { bridge: world.get(), bvi: ToBvi::new(world, thread), planned: 0, to_copy: 0 }
    }
}

/// Which members a frame may go to.
#[derive(Clone, Copy)]
struct Reach {
    rx_if: u32,
    shg: u8,
    destination: [u8; 6],
}

impl Reach {
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
    /// The members that a frame goes to, in the order of the copies.
    #[inline(always)]
    fn members<'t>(
        &'t self,
        domain: &'t Domain,
        reach: Reach,
        turn: &'t Turn<'_>,
    ) -> impl Iterator<Item = &'t Member> + Clone {
        let members = domain.members.iter().filter(move |member| reach.has(member));
        members.filter(move |member| !member.is_bvi || self.bvi.takes(reach.destination, member.sw_if, turn))
    }

    /// The node that takes a frame to a member.
    #[inline(always)]
    fn lead(&self, b: &mut Buffer, member: &Member) -> To {
        if member.is_bvi {
            self.bvi.receive(b, member.sw_if);
            return To::Bvi;
        }
        b.tx_if = member.sw_if;
        To::Output
    }

    /// Sends copies to all members that a frame goes to. A frame that its head holds is itself the last copy.
    fn copy(&self, b: Owned, cx: &mut Cx<'_, false>) {
        let meta = b.scratch::<L2Meta>();
        let turn = cx.turn;
        let Some(domain) = self.bridge.domains.get(meta.domain().into(), turn) else {
            return cx.emit(To::NoMember, b);
        };
        let mut members = self.members(domain, Reach::of(&b, meta), turn);
        let original = b.into_original(HEAD);
        let copies = members.clone().count().saturating_sub(original.is_whole().into());
        let mut made = 0;
        for member in members.by_ref().take(copies) {
            let Some(mut copy) = original.copy(cx.cache()) else { continue };
            let to = self.lead(&mut copy, member);
            cx.emit(to, copy);
            made += 1;
        }
        if made < copies {
            cx.count(To::NoBuffer, (copies - made) as u64);
        }
        let Some(mut last) = original.finish(cx.cache()) else { return };
        let to = members.next().map_or(To::NoMember, |member| self.lead(&mut last, member));
        cx.emit(to, last);
    }
}

impl Node for L2Flood {
    const NAME: &'static str = "l2-flood";
    const HOT: bool = true;
    type Next = To;
    type Trace = FloodTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        if self.planned >= AT_ONCE {
            return To::Copy;
        }
        let meta = b.scratch::<L2Meta>();
        let Some(domain) = self.bridge.domains.get(meta.domain().into(), cx.turn) else {
            return To::NoMember;
        };
        let reach = Reach::of(b, meta);
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
            (Some(only), 0) => self.lead(b, &only),
            (Some(_), more) => {
                self.planned += more + 1;
                self.to_copy += 1;
                To::Copy
            }
        }
    }

    fn keep(&mut self, b: Owned, cx: &mut Cx<'_, false>) {
        if self.to_copy == 0 {
            // Behind the copies: these have left when the frame comes back.
            return cx.emit(To::Again, b);
        }
        self.to_copy -= 1;
        self.copy(b, cx);
    }

    #[inline(always)]
    fn end<const TRACED: bool>(&mut self, _: &mut Cx<'_, TRACED>) {
        self.planned = 0;
    }
}
