// SPDX-License-Identifier: Apache-2.0
//! Shallow virtual reassembly: fragments go on as they are, each with what the first says of the upper layer.
//!
//! Fragments that come before the first wait for it. What is known is left in [`Buffer::l4`], for whole packets too, with
//! [`Flags::L4`] set; who looks at ports behind these nodes reads it there and needs to know nothing of fragments. A later
//! fragment that would cover bytes of the first one (RFC 1858, RFC 3128) is dropped, with all that still comes of its datagram,
//! and so is a first one that is too short to tell: so what was read is what the receiver will read.

mod upper;

use crate::fragment::{Fragment, Fragments, Part};
use crate::state::Kind;
use crate::store::{Store, UnderWay, Waiting, buffers};
use buffer::{Buffer, Flags, L4, Owned};
use graph::{Build, Cx, Next, Node, ThreadIndex, Trace, World};
use std::fmt;

/// On the arc of received unicast packets.
pub const UNICAST: u8 = 0;
/// On the arc of received multicast packets.
pub const MULTICAST: u8 = 1;
/// On the arc of packets that leave: they begin with a layer-2 header.
pub const OUTPUT: u8 = 2;

#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
pub enum To {
    #[next_feature]
    Next,
    #[keep]
    Fragment,
    /// fragments received
    #[count]
    ReassFragmentsRcvd,
    /// datagrams whose first fragment came
    #[count]
    ReassSuccess,
    /// packet or first fragment without the upper layer's header (RFC 1858, RFC 7112)
    #[drop]
    ReassMissingUpper,
    /// fragment that covers bytes of the first (RFC 3128, RFC 5722)
    #[drop]
    ReassOverlappingFragment,
    /// fragment of a datagram that was given up
    #[drop]
    ReassGivenUp,
    /// too many datagrams are under way: the oldest is given up
    #[drop]
    ReassLimitReached,
    /// too many fragments wait for the first one
    #[drop]
    ReassFragmentChainTooLong,
    /// malformed fragment
    #[drop]
    ReassMalformedPacket,
    /// the first fragment didn't come in time
    #[drop]
    ReassTimeout,
}

/// What is known by now.
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
                l4.protocol, l4.src_port, l4.dst_port, l4.kind
            ),
            (_, Some(fragment)) => {
                write!(f, "fragment id {:#x} bytes {} to {}", fragment.id, fragment.start, fragment.end)
            }
            _ => f.write_str("no upper layer"),
        }
    }
}

/// What is known of a datagram.
#[derive(Default)]
struct Datagram {
    /// Once the first fragment has come: what it says, and where it ends.
    first: Option<(L4, u32)>,
    waiting: Vec<Owned>,
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

    fn with(waiting: Vec<Owned>) -> Self {
        Self { waiting, ..Self::default() }
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

/// `ip4-sv-reassembly-feature` and its kind, by `AT`.
pub struct Shallow<F: Fragments, const AT: u8> {
    store: Store<F, Datagram>,
}

impl<F: Fragments, const AT: u8> Build for Shallow<F, AT> {
    fn build(world: &World, thread: ThreadIndex) -> Self {
        Self { store: Store::new(world, thread, Kind::Shallow) }
    }
}

/// Where the IP header is.
#[inline(always)]
fn ip_at<const AT: u8>(b: &Buffer) -> usize {
    if AT == OUTPUT { b.l3_at() } else { 0 }
}

/// A look at the packet, and its bytes from the IP header on.
#[inline(always)]
fn look<F: Fragments, const AT: u8>(b: &Buffer) -> Option<(Part, &[u8])> {
    let at = ip_at::<AT>(b);
    let head = b.data().get(at..)?;
    Some((F::part(head, b.packet_len() - at).ok()?, head))
}

#[inline(always)]
fn mark(b: &mut Buffer, l4: L4) {
    b.l4 = l4;
    b.flags.set(Flags::L4);
}

impl<F: Fragments, const AT: u8> Shallow<F, AT> {
    fn expire(&mut self, cx: &mut Cx<'_, false>) {
        while let Some(at) = self.store.expired(cx.now()) {
            self.store.remove(at, To::ReassTimeout, cx);
        }
    }

    fn fragment(&mut self, fragment: Fragment, l4: Option<L4>, mut b: Owned, cx: &mut Cx<'_, false>) {
        // What leaves is one stream of its interface, whatever table it came from.
        let fib = if AT == OUTPUT { b.tx_if } else { self.store.place.fib::<F>(&b, cx.turn) };
        let head = b.data().get(ip_at::<AT>(&b)..).unwrap_or_default();
        let Some(key) = self.store.place.key::<F>(head, &fragment, fib) else {
            return cx.emit(To::ReassMalformedPacket, b);
        };
        if let Some(thread) = self.store.place.elsewhere(&key) {
            return cx.handoff(thread, cx.node(), b);
        }
        cx.count(To::ReassFragmentsRcvd, 1);
        self.expire(cx);
        let at = self.store.datagram(key, To::ReassLimitReached, cx);
        let Some(datagram) = self.store.table.get_mut(at) else { return };
        if datagram.dead {
            return cx.emit(To::ReassGivenUp, b);
        }
        match (fragment.is_first(), datagram.first) {
            (true, None) => {
                let Some(l4) = l4 else {
                    self.store.give_up(at, To::ReassMissingUpper, cx);
                    return cx.emit(To::ReassMissingUpper, b);
                };
                self.first(at, fragment, l4, b, cx);
            }
            // Sent once more, or to say something else.
            (true, Some((known, end))) => {
                if l4 != Some(known) || end != fragment.end {
                    self.store.give_up(at, To::ReassOverlappingFragment, cx);
                    return cx.emit(To::ReassOverlappingFragment, b);
                }
                mark(&mut b, known);
                cx.emit(To::Next, b);
            }
            (false, Some((_, end))) if fragment.start < end => {
                self.store.give_up(at, To::ReassOverlappingFragment, cx);
                cx.emit(To::ReassOverlappingFragment, b);
            }
            (false, Some((l4, _))) => {
                mark(&mut b, L4 { later: true, offset: fragment.at, ..l4 });
                cx.emit(To::Next, b);
            }
            (false, None) => self.wait(at, b, cx),
        }
    }

    fn wait(&mut self, at: u32, b: Owned, cx: &mut Cx<'_, false>) {
        let limit = self.store.knobs().fragments();
        let Some(datagram) = self.store.table.get_mut(at) else { return cx.emit(To::ReassGivenUp, b) };
        if datagram.waiting.len() >= limit {
            self.store.give_up(at, To::ReassFragmentChainTooLong, cx);
            return cx.emit(To::ReassFragmentChainTooLong, b);
        }
        self.store.kept.charge(b.segment_count());
        datagram.waiting.push(b);
        self.store.make_room(To::ReassLimitReached, cx);
    }

    /// The first fragment goes, and those that waited for it.
    fn first(&mut self, at: u32, fragment: Fragment, l4: L4, mut b: Owned, cx: &mut Cx<'_, false>) {
        let Some(datagram) = self.store.table.get_mut(at) else { return cx.emit(To::ReassGivenUp, b) };
        datagram.first = Some((l4, fragment.end));
        let part = |b: &Buffer| match look::<F, AT>(b) {
            Some((Part::Fragment(part), _)) => Some(part),
            _ => None,
        };
        if datagram.waiting.iter().any(|b| part(b).is_none_or(|p| p.start < fragment.end)) {
            self.store.give_up(at, To::ReassOverlappingFragment, cx);
            return cx.emit(To::ReassOverlappingFragment, b);
        }
        cx.count(To::ReassSuccess, 1);
        mark(&mut b, l4);
        cx.emit(To::Next, b);
        self.store.kept.give(buffers(&datagram.waiting));
        for mut b in datagram.waiting.drain(..) {
            let offset = part(&b).map_or(0, |p| p.at);
            mark(&mut b, L4 { later: true, offset, ..l4 });
            cx.emit(To::Next, b);
        }
    }
}

impl<F: Fragments, const AT: u8> Shallow<F, AT> {
    /// What is under way here.
    pub fn list(&self, now: u64) -> Vec<UnderWay> {
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
                mark(b, l4);
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
                self.fragment(fragment, l4, b, cx);
            }
            _ => cx.emit(To::ReassMalformedPacket, b),
        }
    }

    fn tick(&mut self, cx: &mut Cx<'_, false>) {
        self.expire(cx);
    }
}
