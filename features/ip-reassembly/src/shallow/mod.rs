// SPDX-License-Identifier: Apache-2.0
//! Shallow virtual reassembly: fragments are forwarded unchanged, each with the upper-layer fields
//! of the first one.
//!
//! Fragments that come before the first wait for it. The upper-layer fields are stored in [`L4`],
//! for whole packets too: a node behind these nodes reads the ports there, and needs no code for
//! fragments. A later fragment that overlaps the first one (RFC 1858, RFC 3128) is dropped, with
//! all further fragments of its datagram, and so is a first one that is too short for the
//! header: so the fields are those that the receiver reads.

mod stage;
mod upper;

pub use stage::Whole;

use crate::fragment::{Fault, Fragment, Fragments, Part};
use crate::state::Kind;
use crate::store::{AT_A_TICK, AT_ONCE, AbandonReason, PendingDatagram, Store, Waiting, buffers};
use buffer::{Buffer, Field, Owned};
use graph::{Build, Cx, Next, Node, ThreadIndex, Trace, World};
use net::L4;
use std::fmt;

/// On the feature arc of received unicast packets.
pub const UNICAST: u8 = 0;
/// On the feature arc of received multicast packets.
pub const MULTICAST: u8 = 1;
/// On the feature arc of sent packets: they begin with a layer-2 header.
pub const OUTPUT: u8 = 2;

#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
pub enum To {
    #[next_feature]
    Next,
    #[keep]
    Fragment,
    /// packet or first fragment without the upper layer's header (RFC 1858, RFC 7112)
    #[drop]
    ReassMissingUpper,
    /// fragment that covers bytes of the first (RFC 3128, RFC 5722)
    #[drop]
    ReassOverlappingFragment,
    /// too many datagrams are under way: the oldest is given up
    #[drop]
    ReassLimitReached,
    /// too many fragments wait for the first one
    #[drop]
    ReassFragmentChainTooLong,
    /// malformed fragment
    #[drop]
    #[counter("{reass_malformed_packet|reass_invalid_frag_len}")]
    ReassMalformedPacket,
    /// fault in the router: a datagram under way isn't where it was
    #[drop]
    ReassInternalError,
    /// datagram of which fragments waited too long
    #[count]
    ReassTimeout,
    /// datagrams whose first fragment came
    #[count]
    ReassSuccess,
    /// fragments received
    #[count]
    ReassFragmentsRcvd,
    /// first fragment of a protocol without ports, as VPP drops it
    #[drop]
    #[counter("{reass_unsupp_ip_prot|reass_unsupp_ip_proto}")]
    ReassUnsupported,
    /// fragment of a datagram that was given up
    #[drop]
    ReassGivenUp,
}

impl AbandonReason for To {
    const GIVEN_UP: Self = Self::ReassGivenUp;
    const LIMIT_REACHED: Self = Self::ReassLimitReached;
    const TIMEOUT: Self = Self::ReassTimeout;
}

/// Trace of a packet: its upper-layer fields, or its fragment.
#[derive(Clone, Copy)]
pub struct ShallowTrace {
    l4: Option<L4>,
    fragment: Option<Fragment>,
}

impl Trace for ShallowTrace {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.l4, self.fragment) {
            (Some(l4), _) => write!(
                f,
                "protocol {} src-port {} dst-port {} flags/type {:#x}",
                l4.protocol,
                { l4.src_port },
                { l4.dst_port },
                l4.kind
            ),
            (_, Some(fragment)) => {
                write!(
                    f,
                    "fragment id {:#x} bytes {} to {}",
                    fragment.id, fragment.start, fragment.end
                )
            }
            _ => f.write_str("no upper layer"),
        }
    }
}

/// A datagram whose fragments are tracked.
#[derive(Default)]
struct Datagram {
    /// Upper-layer fields and end offset of the first fragment, once it was received.
    first: Option<(L4, u32)>,
    /// True if the last fragment was received.
    last: bool,
    waiting: Vec<Owned>,
    since: u64,
    dead: bool,
}

impl Waiting for Owned {
    fn into_packet(self) -> Self {
        self
    }

    fn packet(&self) -> &Self {
        self
    }

    fn bytes(&self) -> usize {
        self.packet_len()
    }
}

impl crate::store::Datagram for Datagram {
    type Part = Owned;
    type To = To;

    fn new(since: u64, waiting: Vec<Owned>) -> Self {
        Self { since, waiting, ..Self::default() }
    }

    fn since(&self) -> u64 {
        self.since
    }

    fn parts(&self) -> &Vec<Owned> {
        &self.waiting
    }

    fn parts_mut(&mut self) -> &mut Vec<Owned> {
        &mut self.waiting
    }

    fn give_up(&mut self) {
        self.dead = true;
    }
}

impl Datagram {
    /// Records a fragment's part of the datagram, unless it contradicts an earlier one.
    fn note<F: Fragments, const AT: u8>(
        &mut self,
        part: &Fragment,
        l4: Option<L4>,
        cx: &mut Cx<'_, false>,
    ) -> Result<(), To> {
        match (part.is_first(), self.first) {
            (true, None) => {
                let l4 = l4.ok_or(To::ReassMissingUpper)?;
                let covered = |b: &Owned| fragment::<F, AT>(b).is_none_or(|p| p.start < part.end);
                if self.waiting.iter().any(covered) {
                    return Err(To::ReassOverlappingFragment);
                }
                self.first = Some((l4, part.end));
                cx.count(To::ReassSuccess, 1);
            }
            // A duplicate with other fields.
            (true, Some((known, end))) if l4 != Some(known) || end != part.end => {
                return Err(To::ReassOverlappingFragment);
            }
            (false, Some((_, end))) if part.start < end => {
                return Err(To::ReassOverlappingFragment);
            }
            _ => {}
        }
        self.last |= !part.more;
        Ok(())
    }

    /// Returns the first fragment's ports once the fragments may continue.
    fn ready(&self, extended: bool) -> Option<L4> {
        self.first.map(|(l4, _)| l4).filter(|_| !extended || self.last)
    }
}

/// Derives a fragment's upper-layer fields from the first fragment's.
#[inline(always)]
fn of_part(l4: L4, part: &Fragment) -> L4 {
    if part.is_first() { l4 } else { L4 { later: true, offset: part.at, ..l4 } }
}

/// `ip4-sv-reassembly-feature` and its kind, by `AT`.
pub struct Shallow<F: Fragments, const AT: u8> {
    store: Store<F, Datagram>,
    l4: Field<L4>,
    /// First fragments of protocols without ports are dropped, as by VPP.
    only_ports: bool,
}

impl<F: Fragments, const AT: u8> Build for Shallow<F, AT> {
    fn build(world: &World, thread: ThreadIndex) -> Self {
        Self {
            store: Store::new(world, thread, Kind::Shallow),
            l4: world.field(),
            only_ports: world.compat_vpp(),
        }
    }
}

/// Returns the offset of the IP header.
#[inline(always)]
fn ip_at<const AT: u8>(b: &Buffer) -> usize {
    if AT == OUTPUT { b.l3_at() } else { 0 }
}

/// Parses a packet; returns its part, and its bytes from the IP header on. A fragment of odd length
/// is left to the receiver.
#[inline(always)]
fn look<F: Fragments, const AT: u8>(b: &Buffer) -> Option<(Part, &[u8])> {
    let at = ip_at::<AT>(b);
    let head = b.data().get(at..)?;
    match F::part(head, b.packet_len() - at) {
        Ok(part) => Some((part, head)),
        Err(Fault::Length(fragment)) => Some((Part::Fragment(fragment), head)),
        Err(_) => None,
    }
}

/// Parses a waiting fragment.
fn fragment<F: Fragments, const AT: u8>(b: &Buffer) -> Option<Fragment> {
    match look::<F, AT>(b) {
        Some((Part::Fragment(part), _)) => Some(part),
        _ => None,
    }
}

impl<F: Fragments, const AT: u8> Shallow<F, AT> {
    /// Ends at most `n` datagrams that have waited too long.
    fn expire(&mut self, n: usize, cx: &mut Cx<'_, false>) {
        for _ in 0..n {
            let Some(at) = self.store.expired(cx.now()) else { break };
            self.store.end(at, To::ReassTimeout, cx);
        }
    }

    fn take(&mut self, fragment: Fragment, l4: Option<L4>, b: Owned, cx: &mut Cx<'_, false>) {
        // Sent packets are one stream of their interface, whatever FIB table they came from.
        let fib = if AT == OUTPUT { b.tx_if } else { self.store.placement.fib::<F>(&b, cx.turn) };
        let head = b.data().get(ip_at::<AT>(&b)..).unwrap_or_default();
        let Some(key) = self.store.placement.key::<F>(head, &fragment, fib) else {
            return cx.emit(To::ReassMalformedPacket, b);
        };
        if let Some(thread) = self.store.placement.elsewhere(&key) {
            return cx.handoff(thread, cx.node(), b);
        }
        cx.count(To::ReassFragmentsRcvd, 1);
        self.expire(AT_ONCE, cx);
        let (limit, extended) = (self.store.limits().fragments(), self.store.is_extended());
        let Some(at) = self.store.datagram(key, cx) else {
            return cx.emit(To::ReassLimitReached, b);
        };
        let Some(datagram) = self.store.table.get_mut(at) else {
            return cx.emit(To::ReassInternalError, b);
        };
        if datagram.dead {
            return cx.emit(To::ReassGivenUp, b);
        }
        if self.only_ports && l4.is_some_and(|l4| !upper::has_ports(l4)) {
            // The others wait until their time ends.
            return cx.emit(To::ReassUnsupported, b);
        }
        if let Err(why) = datagram.note::<F, AT>(&fragment, l4, cx) {
            self.store.give_up(at, cx);
            return cx.emit(why, b);
        }
        let Some(l4) = datagram.ready(extended) else {
            if datagram.waiting.len() >= limit {
                self.store.give_up(at, cx);
                return cx.emit(To::ReassFragmentChainTooLong, b);
            }
            let count = b.segment_count();
            datagram.waiting.push(b);
            self.store.hold(at, count);
            return self.store.make_room(cx);
        };
        self.store.kept.give(buffers(&datagram.waiting));
        let go = |mut b: Owned, part: &Fragment, cx: &mut Cx<'_, false>| {
            b.set_field(self.l4, of_part(l4, part));
            cx.emit(To::Next, b);
        };
        go(b, &fragment, cx);
        for b in datagram.waiting.drain(..) {
            match self::fragment::<F, AT>(&b) {
                Some(part) => go(b, &part, cx),
                None => cx.emit(To::ReassInternalError, b),
            }
        }
        self.store.set_empty(at);
    }
}

impl<F: Fragments, const AT: u8> Shallow<F, AT> {
    /// Returns the datagrams under way here.
    pub fn list(&self, now: u64) -> Vec<PendingDatagram> {
        self.store.list(now)
    }
}

impl<F: Fragments, const AT: u8> Node for Shallow<F, AT> {
    const NAME: &'static str = match AT {
        UNICAST => "{ip}-sv-reassembly-feature",
        MULTICAST => "{ip}-sv-reassembly-mcast-feature",
        _ => "{ip}-sv-reassembly-output-feature",
    };
    const V6: Option<bool> = Some(F::IS_V6);
    const DROP: &'static str = "{ip}-drop";
    const HOT: bool = true;
    type Next = To;
    type Trace = ShallowTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        let Some((part, head)) = look::<F, AT>(b) else { return To::ReassMalformedPacket };
        let (l4, fragment) = match part {
            Part::Whole | Part::Atomic(_) => (upper::read(head), None),
            Part::Fragment(fragment) => (None, Some(fragment)),
        };
        if TRACED {
            cx.trace(b, ShallowTrace { l4, fragment });
        }
        match (l4, fragment) {
            (Some(l4), _) => {
                b.set_field(self.l4, l4);
                To::Next
            }
            (_, Some(_)) => To::Fragment,
            _ => To::ReassMissingUpper,
        }
    }

    fn keep(&mut self, b: Owned, cx: &mut Cx<'_, false>) {
        match look::<F, AT>(&b) {
            Some((Part::Fragment(fragment), head)) => {
                let l4 = if fragment.is_first() { upper::read(head) } else { None };
                self.take(fragment, l4, b, cx);
            }
            _ => cx.emit(To::ReassMalformedPacket, b),
        }
    }

    fn tick(&mut self, cx: &mut Cx<'_, false>) {
        self.expire(AT_A_TICK, cx);
    }
}
