// SPDX-License-Identifier: Apache-2.0
//! Requests for neighbours, and the packets that wait for their replies: shared by the nodes for
//! hosts and for next hops.

use super::rate_limit::{RateLimit, RateLimits, RecentNeighbors, RequestKind};
use super::target::Seed;
use super::throttle::Throttle;
use super::waiting::{Due, ItemReservation, Waiting};
use super::{Lanes, Protocol, Report, Reports, RequestBuilder, Target};
use buffer::{Buffer, Field, Flags, Owned, Quota, Reservation};
use graph::{Build, Cx, Next, NodeIndex, ThreadIndex, Trace, World};
use net::{Adjacencies, IfView, Interfaces, IpMeta};
use std::fmt;
use std::sync::Arc;
use wire::icmp::{code4, code6};
use wire::{Address, Family, Icmp4Type, Icmp6Type};

/// The next nodes of a packet to an unknown neighbour.
#[derive(Next, Clone, Copy)]
pub enum To {
    /// The question's way out; or the packet's, if the neighbour is known by now.
    #[dynamic]
    Node(NodeIndex),
    /// {ARP requests|neighbor solicitations} sent.
    #[count]
    RequestSent,
    /// The packet waits for the answer.
    #[keep]
    Wait,
    /// no answer to {ARP requests: host|neighbor solicitations: address} unreachable.
    #[next("{ip}-icmp-error", reason)]
    NoAnswer,
    /// no answer from the next hop of an IPv4 packet: host unreachable.
    #[next("ip4-icmp-error", reason)]
    NoAnswer4,
    /// an {ARP request|neighbor solicitation} took the packet's place, as by VPP.
    #[drop]
    Replaced,
    /// too many packets wait for this neighbour.
    #[drop]
    Overflow,
    /// packets that wait for neighbours hold their share of the buffers.
    #[drop]
    NoRoom,
    /// too many neighbours are asked for at once.
    #[drop]
    Throttled,
    /// gave up its place to a packet for a neighbour asked for later.
    #[drop]
    Displaced,
    /// interface has no address to ask with.
    #[drop]
    #[counter("no_source_address")]
    NoSource,
    /// interface is down.
    #[drop]
    InterfaceDown,
    /// no buffer for the {ARP request|neighbor solicitation}.
    #[drop]
    #[counter("no_buffers")]
    NoBuffer,
    /// control is too far behind to hear of an answer.
    #[drop]
    Busy,
    /// adjacency is gone.
    #[drop]
    #[counter("{non_arp_adj|no_adjacency}")]
    NoAdjacency,
    /// packet is shorter than an {IPv4|IPv6} header.
    #[drop]
    TooShort,
}

/// Trace of a packet to an unknown neighbour.
#[derive(Clone, Copy)]
pub struct ResolveTrace<A> {
    /// The neighbour.
    pub target: Target<A>,
    /// True if a request was sent.
    pub asked: bool,
}

impl<A: Address> Trace for ResolveTrace<A> {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Target { sw_if, ip } = self.target;
        let how = if self.asked { "request sent" } else { "asked already" };
        write!(f, "who has {ip} on sw_if_index {sw_if}: {how}")
    }
}

type AddrOf<P> = <<P as Protocol>::Net as Family>::Addr;
type TargetOf<P> = Target<AddrOf<P>>;

/// Requests and waiting packets of one node on one thread.
pub struct Resolver<P: Protocol> {
    pub(super) adjacencies: Arc<Adjacencies>,
    interfaces: Arc<Interfaces>,
    reports: Arc<Reports<P>>,
    tx: Lanes,
    requests: P::Requests,
    waiting: Waiting<AddrOf<P>, Owned>,
    /// Buffer field with the packet's reservation in `waiting`.
    reservation: Field<ItemReservation>,
    /// This thread's share of buffers for waiting packets.
    room: Quota,
    paces: Arc<RateLimits<P>>,
    /// Hosts that packets came for; next hops need no such memory, since packets for them keep
    /// coming.
    sightings: Option<(RecentNeighbors, Seed)>,
    /// Limits requests where no packet waits: VPP's behaviour.
    throttle: Option<Box<Throttle>>,
    /// Reused vector for released packets.
    released: Vec<Owned>,
}

impl<P: Protocol> Resolver<P> {
    /// Returns a resolver for hosts in connected networks.
    pub(super) fn for_hosts(world: &World, thread: ThreadIndex) -> Self {
        Self { sightings: Some(Default::default()), ..Self::for_nexthops(world, thread) }
    }

    /// Returns a resolver for next hops of routes.
    pub(super) fn for_nexthops(world: &World, thread: ThreadIndex) -> Self {
        Self {
            adjacencies: world.get(),
            interfaces: world.get(),
            reports: world.get(),
            tx: Lanes::tx::<P>(world, thread),
            requests: P::Requests::build(world, thread),
            waiting: Waiting::default(),
            reservation: world.field(),
            room: world.pool.share(Reservation::NEIGHBORS, thread.0, world.threads()).quota(),
            paces: world.get(),
            sightings: None,
            throttle: world.compat_vpp().then(Box::default),
            released: Vec::with_capacity(usize::from(super::waiting::PER_NEIGHBOR)),
        }
    }

    #[inline(always)]
    fn pace(&self) -> &RateLimit {
        if self.sightings.is_some() { &self.paces.hosts } else { &self.paces.nexthops }
    }

    /// Sends a request for the neighbour, unless one was sent within the last second, and returns
    /// the packet's next node, and true if a request was sent. `source` is our address to send
    /// from, if the caller knows it.
    #[inline(always)]
    pub(super) fn resolve<const TRACED: bool>(
        &mut self,
        target: TargetOf<P>,
        source: Option<AddrOf<P>>,
        b: &mut Buffer,
        cx: &mut Cx<'_, TRACED>,
    ) -> (To, bool) {
        let now = cx.now();
        let source = source.filter(|_| P::SOURCE_OF_ROUTE);
        if let Some(throttle) = &mut self.throttle {
            if !throttle.take(target, now) {
                return (To::Throttled, false);
            }
            let sent = self.ask(target, source, cx);
            return (sent.err().unwrap_or(To::Replaced), sent.is_ok());
        }
        let slot = self.waiting.find(target);
        let ask = match slot {
            Some(at) => {
                self.waiting.may_request(at, source, now)
                    && self.pace().take(target.share(), RequestKind::Again, now)
            }
            None => {
                let kind = match &mut self.sightings {
                    Some((sightings, seed)) => sightings.note(seed.hash(target), now),
                    None => RequestKind::Again,
                };
                if !self.pace().take(target.share(), kind, now) {
                    return (To::Throttled, false);
                }
                true
            }
        };
        if ask && let Err(why) = self.ask(target, source, cx) {
            return (why, false);
        }
        let Self { waiting, room, .. } = self;
        let mut displaced = |b: Owned| {
            room.give(b.segment_count());
            cx.emit(To::Displaced, b);
        };
        let at = slot.unwrap_or_else(|| waiting.claim(target, &mut displaced));
        if ask {
            waiting.note_request(at, source, true, now);
        }
        let reservation = waiting.reserve(at, ask, displaced);
        let Some(reservation) = reservation else { return (To::Overflow, ask) };
        // For `keep`: by then the adjacency may belong to another neighbour.
        b.set_field(self.reservation, reservation);
        b.tx_if = target.sw_if;
        (To::Wait, ask)
    }

    /// Sends a request, and notifies the main thread so that it accepts the reply.
    #[inline]
    fn ask<const TRACED: bool>(
        &mut self,
        target: TargetOf<P>,
        source: Option<AddrOf<P>>,
        cx: &mut Cx<'_, TRACED>,
    ) -> Result<(), To> {
        let views = self.interfaces.views(cx.turn);
        let view =
            views.get(target.sw_if as usize).filter(|v| v.is_up()).ok_or(To::InterfaceDown)?;
        let request = self.requests.request(&view, target, source, cx.turn).ok_or(To::NoSource)?;
        let mut b = cx.alloc_own().ok_or(To::NoBuffer)?;
        if !b.set_data(request.as_ref()) {
            return Err(To::NoBuffer);
        }
        b.flags.insert(Flags::LOCAL);
        (b.rx_if, b.tx_if) = (0, target.sw_if);
        if !self.reports.post(Report::Asked(target)) {
            return Err(To::Busy);
        }
        self.tx.requests.add(target.sw_if as usize, 1);
        cx.count(To::RequestSent, 1);
        self.send(view, b, cx);
        Ok(())
    }

    #[inline(always)]
    fn send<const TRACED: bool>(&self, view: IfView, b: Owned, cx: &mut Cx<'_, TRACED>) {
        cx.emit(To::Node(view.output), b);
    }

    /// Queues a packet that [`Self::resolve`] returned [`To::Wait`] for.
    pub(super) fn keep(&mut self, buffer: Owned, cx: &mut Cx<'_, false>) {
        let reservation = buffer.field(self.reservation);
        let buffers = buffer.segment_count();
        let Self { waiting, room, .. } = self;
        while !room.take(buffers) {
            let mut given = 0;
            let more = waiting.displace(|b| {
                given += b.segment_count();
                cx.emit(To::Displaced, b);
            });
            room.give(given);
            if !more {
                return cx.emit(To::NoRoom, buffer);
            }
        }
        if let Err(buffer) = waiting.put(reservation, buffer) {
            room.give(buffers);
            cx.emit(To::Displaced, buffer);
        }
    }

    /// Repeats requests, and gives up on neighbours that have not answered.
    pub(super) fn tick(&mut self, cx: &mut Cx<'_, false>) {
        // RFC 1812 4.3.3.1, RFC 4443 3.1. A next hop of IPv6 may be one of IPv4 packets too.
        let refused = |b: &Buffer| match (P::Net::IS_V6, is_ip4(b)) {
            (true, false) => (To::NoAnswer, Icmp6Type::UNREACHABLE.0, code6::ADDRESS_UNREACHABLE),
            (true, true) => (To::NoAnswer4, Icmp4Type::UNREACHABLE.0, code4::HOST_UNREACHABLE),
            (false, _) => (To::NoAnswer, Icmp4Type::UNREACHABLE.0, code4::HOST_UNREACHABLE),
        };
        for at in 0..self.waiting.len() {
            match self.waiting.due(at, cx.now()) {
                None => {}
                Some(Due::Ask(target)) => {
                    // A request that could not be sent counts as one.
                    let paced = self.pace().take(target.share(), RequestKind::Again, cx.now());
                    let source = self.waiting.source(at);
                    let sent = paced && self.ask(target, source, cx).is_ok();
                    self.waiting.note_request(at, source, sent, cx.now());
                }
                Some(due @ (Due::GiveUp(target) | Due::Abandon(target))) => {
                    if matches!(due, Due::GiveUp(_)) {
                        // If the queue has no room for the note, the next packets cause another.
                        let _ = self.reports.post(Report::Unanswered(target));
                    }
                    let room = &mut self.room;
                    self.waiting.release_at(at, |mut b| {
                        room.give(b.segment_count());
                        let fib = b.scratch::<IpMeta>().fib;
                        let (to, kind, code) = refused(&b);
                        b.set_scratch(IpMeta::error(kind, code, 0).in_table(fib));
                        cx.emit(to, b);
                    });
                }
            }
        }
    }

    /// Removes the packets that wait for a resolved neighbour, in order; [`Self::put_back`] takes
    /// the vector back.
    pub(super) fn release(&mut self, target: TargetOf<P>) -> Vec<Owned> {
        let mut released = std::mem::take(&mut self.released);
        let room = &mut self.room;
        self.waiting.release(target, |b| {
            room.give(b.segment_count());
            released.push(b);
        });
        released
    }

    pub(super) fn put_back(&mut self, released: Vec<Owned>) {
        self.released = released;
    }

    /// Makes requests on an interface obsolete, after a change of its MAC or IP addresses.
    pub(super) fn renew(&mut self, sw_if: u32) {
        self.waiting.renew(sw_if);
    }

    /// Gives up the packets of an interface that can't send any more.
    pub(super) fn give_up_on(&mut self, sw_if: u32) {
        self.waiting.give_up_on(sw_if);
    }
}

/// Returns true if a waiting packet is IPv4.
pub(super) fn is_ip4(b: &Buffer) -> bool {
    b.data().first().is_some_and(|first| first >> 4 == 4)
}
