// SPDX-License-Identifier: Apache-2.0
//! Decapsulation.

use crate::Key;
use crate::Onto;
use crate::arcs::Arcs;
use crate::end::End;
use crate::inner::Inner;
use crate::model::{Flags, Spec};
use crate::receipt::{OF_OUTER, Receipt};
use crate::remembered::Remembered;
use crate::state::Tunnels;
use buffer::{Buffer, Field, Flags as Marked};
use graph::{Cx, Node, NodeIndex, ThreadIndex, Trace, Vector, World};
use net::{IfLanes, Interfaces, IpMeta, L4};
use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;
use std::net::IpAddr;
use std::sync::Arc;
use sync::Turn;
use wire::{Header, IpHeader, Ipv4Header, Ipv6Header, UpperLayer};

/// The outer header of a received packet, for kinds whose header follows the IP header.
#[derive(Clone, Copy)]
pub struct Outer {
    /// Addresses and table; the kind adds its own number.
    pub key: Key,
    /// The header behind, where the kind's own begins.
    pub upper: UpperLayer,
    /// Type of service, traffic class.
    pub class: u8,
    addresses: [IpAddr; 2],
}

impl Outer {
    /// Reads the header; `None` if the packet is too short.
    #[inline(always)]
    pub fn of<F: ip::Ip>(b: &mut Buffer) -> Option<Self> {
        let ip = F::Header::view(b.data())?;
        let upper = UpperLayer::of::<F>(b.data()).ok()?;
        let (addresses, class) = ([ip.src().into(), ip.dst().into()], ip.traffic_class());
        let key = Key::of(addresses[1], addresses[0], b.scratch::<IpMeta>().fib);
        Some(Self { key, upper, class, addresses })
    }

    /// Returns whether the packet is a fragment.
    #[inline(always)]
    pub fn is_fragment(&self) -> bool {
        self.upper.fragment_offset != 0 || self.upper.more_fragments
    }
}

/// A decapsulated packet: the outer addresses, and the tunnel.
pub struct DecapTrace<S> {
    instance: Option<u32>,
    len: usize,
    addresses: [IpAddr; 2],
    kind: PhantomData<fn() -> S>,
}

impl<S> Clone for DecapTrace<S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S> Copy for DecapTrace<S> {}

impl<S> DecapTrace<S> {
    /// Notes a packet, and the tunnel that it belongs to.
    pub fn of(outer: &Outer, b: &Buffer, end: Option<&End>) -> Self {
        let (instance, len) = (end.map(|end| end.instance), b.packet_len());
        Self { instance, len, addresses: outer.addresses, kind: PhantomData }
    }
}

impl<S: Spec> Trace for DecapTrace<S> {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, Self { instance, len, addresses: [source, destination], .. }) =
            (S::DRIVER, self);
        match instance {
            Some(instance) => write!(f, "{kind}: tunnel {instance}")?,
            None => write!(f, "{kind}: no tunnel")?,
        }
        write!(f, " len {len} src {source} dst {destination}")
    }
}

/// Why a packet isn't decapsulated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DecapError {
    /// The tunnel's interface is down.
    Down,
    /// A super-packet: its segments would have the same outer header.
    Super,
    /// Shorter than the headers.
    TooShort,
    /// It belongs to no tunnel.
    NoTunnel,
}

/// Makes next nodes `Down`, `Super`, `TooShort`, and the named one for packets of no tunnel,
/// of a [`DecapError`].
#[macro_export]
macro_rules! from_decap_error {
    ($To:ident, $no_tunnel:ident) => {
        impl From<$crate::DecapError> for $To {
            fn from(why: $crate::DecapError) -> Self {
                match why {
                    $crate::DecapError::Down => Self::Down,
                    $crate::DecapError::Super => Self::Super,
                    $crate::DecapError::TooShort => Self::TooShort,
                    $crate::DecapError::NoTunnel => Self::$no_tunnel,
                }
            }
        }
    };
}

/// Takes headers off packets, for interfaces of any kind.
pub struct Receiver {
    arcs: Arcs,
    interfaces: Arc<Interfaces>,
    lanes: Arc<IfLanes>,
    l4: Field<L4>,
}

/// Takes headers off packets, for the nodes of a kind.
pub struct Decap<S: Spec> {
    tunnels: Arc<Tunnels<S>>,
    receiver: Receiver,
    /// Number of the end that was found last: the next packet is often from the same.
    last: Cell<u32>,
}

/// A node that takes off headers behind the outer IP header, which its packets begin with.
pub trait Decapsulates<F: ip::Ip>: Node {
    /// The counter of good packets.
    const DECAPSULATED: Self::Next;
    /// Its parts.
    fn parts(&mut self) -> (&mut Last<Self::Next>, &Receiver);
}

/// [`Node::stages`] of such a node.
#[inline(always)]
pub fn decapsulate<F: ip::Ip, N: Decapsulates<F>>(
    node: &mut N,
    v: &mut Vector<'_, N::Next>,
    cx: &mut Cx<'_, false>,
) {
    node.parts().0.begin();
    for (b, out) in v.packets_ahead() {
        let (last, receiver) = node.parts();
        let again = last.receive::<F>(b, receiver);
        out.go(again.unwrap_or_else(|| node.packet(b, cx)));
    }
}

/// [`Node::end`] of such a node.
#[inline(always)]
pub fn end_decapsulation<F: ip::Ip, N: Decapsulates<F>, const TRACED: bool>(
    node: &mut N,
    cx: &mut Cx<'_, TRACED>,
) {
    let (last, receiver) = node.parts();
    cx.count(N::DECAPSULATED, last.end(receiver));
}

/// The last tunnel of a vector, for a node whose next nodes are `T`.
pub struct Last<T> {
    /// True while a vector is decapsulated. For fewer packets nothing is remembered.
    of_vector: bool,
    remembered: Option<Remembered<T>>,
    /// Packets that it has decided about and that aren't counted yet.
    packets: u64,
}

impl<T> Default for Last<T> {
    fn default() -> Self {
        Self { of_vector: false, remembered: None, packets: 0 }
    }
}

impl<T: Copy> Last<T> {
    /// A vector begins.
    #[inline(always)]
    pub fn begin(&mut self) {
        self.of_vector = true;
    }

    /// Returns the next node of a packet that begins with the same outer headers as the one before;
    /// `None`, and nothing changed, for any other packet.
    #[inline(always)]
    pub fn receive<F: ip::Ip>(&mut self, b: &mut Buffer, receiver: &Receiver) -> Option<T> {
        let remembered = self.remembered.as_mut()?;
        let to = if F::IS_V6 {
            remembered.receive::<true>(b, &receiver.lanes, receiver.l4)
        } else {
            remembered.receive::<false>(b, &receiver.lanes, receiver.l4)
        }?;
        self.packets += 1;
        Some(to)
    }

    /// True if a packet of so many bytes, whose IP header begins at an offset, has the same outer
    /// headers as the one before, and was looked up in the same table.
    #[inline(always)]
    pub fn is_again<F: ip::Ip>(&self, b: &Buffer, (at, len): (usize, usize)) -> bool {
        self.remembered.as_ref().is_some_and(|remembered| {
            let same = if F::IS_V6 {
                remembered.is_of::<true>(b, at)
            } else {
                remembered.is_of::<false>(b, at)
            };
            same && len >= remembered.headers()
        })
    }

    /// Receives a packet for which [`Self::is_again`] is true, and which begins with its IP header.
    #[inline(always)]
    pub fn take(&mut self, b: &mut Buffer, receiver: &Receiver) -> Option<T> {
        let to = self.remembered.as_mut()?.take(b, &receiver.lanes, receiver.l4)?;
        self.packets += 1;
        Some(to)
    }

    /// Remembers a packet that was received. It now begins behind so many bytes of headers: an IP
    /// header, and bytes that decide as far as they are masked. Whatever else the decision depends
    /// on stays the same within a vector.
    #[inline(always)]
    pub fn remember<F: ip::Ip>(
        &mut self,
        b: &mut Buffer,
        headers: (usize, &[u8]),
        (receipt, flags, to): (Receipt, Flags, T),
        receiver: &Receiver,
    ) {
        // Where packets of several tunnels take turns, it costs more than it gains.
        self.of_vector &= self.remembered.as_ref().is_none_or(Remembered::was_of_use);
        // Other packets have another mark.
        if self.of_vector && !flags.contains(Flags::DECAP_COPY_ECN) {
            self.settle(receiver);
            self.remembered = if F::IS_V6 {
                Remembered::of::<true>(b, headers, (receipt, to))
            } else {
                Remembered::of::<false>(b, headers, (receipt, to))
            };
        }
    }

    fn settle(&mut self, receiver: &Receiver) {
        if let Some(remembered) = self.remembered.take() {
            remembered.settle(&receiver.lanes);
        }
    }

    /// Ends a frame, behind which interfaces and tunnels may change: counts, and forgets. Returns
    /// the number of packets that were received by [`Self::receive`].
    #[inline(always)]
    pub fn end(&mut self, receiver: &Receiver) -> u64 {
        self.settle(receiver);
        self.of_vector = false;
        std::mem::take(&mut self.packets)
    }
}

impl<S: Spec> Decap<S> {
    /// For a node of a thread.
    pub fn new(world: &World, thread: ThreadIndex) -> Self {
        Self { tunnels: world.get(), receiver: Receiver::new(world, thread), last: Cell::new(0) }
    }

    /// The part that is the same for all kinds.
    pub fn receiver(&self) -> &Receiver {
        &self.receiver
    }

    /// The tunnel that a packet belongs to.
    #[inline(always)]
    pub fn find<'t>(&'t self, key: &Key, turn: &'t Turn<'_>) -> Option<&'t End> {
        if let Some(end) = self.tunnels.end_of(key, self.last.get(), turn) {
            return Some(end);
        }
        let (number, end) = self.tunnels.lookup(key, turn)?;
        self.last.set(number);
        Some(end)
    }

    /// Takes `headers` bytes off. The packet is one that the tunnel's interface has received.
    /// `class` is the outer type of service or traffic class.
    ///
    /// # Errors
    /// Why it isn't; the packet is unchanged.
    #[inline(always)]
    pub fn receive(
        &self,
        b: &mut Buffer,
        end: &End,
        headers: usize,
        class: u8,
        turn: &Turn<'_>,
    ) -> Result<(), DecapError> {
        self.receive_for(b, Receipt::of(end), end.flags, headers, class, turn)
    }

    /// As [`Self::receive`], for the interface of a receipt.
    ///
    /// # Errors
    /// Why it isn't; the packet is unchanged.
    #[inline(always)]
    pub fn receive_for(
        &self,
        b: &mut Buffer,
        receipt: Receipt,
        flags: Flags,
        headers: usize,
        class: u8,
        turn: &Turn<'_>,
    ) -> Result<(), DecapError> {
        self.receiver.receive(b, receipt, flags, headers, class, turn)
    }

    /// As [`Receiver::first_feature`].
    #[inline(always)]
    pub fn first_feature<const TRACED: bool>(
        &self,
        b: &mut Buffer,
        onto: Onto,
        cx: &Cx<'_, TRACED>,
    ) -> Option<NodeIndex> {
        self.receiver.first_feature(b, onto, cx)
    }
}

impl Receiver {
    /// For a node of a thread.
    pub fn new(world: &World, thread: ThreadIndex) -> Self {
        Self {
            arcs: Arcs::new(world),
            interfaces: world.get(),
            lanes: IfLanes::of(world, thread),
            l4: world.field(),
        }
    }

    /// Takes `headers` bytes off. The packet is one that the interface of the receipt has received.
    /// `class` is the outer type of service or traffic class.
    ///
    /// # Errors
    /// Why it isn't; the packet is unchanged.
    #[inline(always)]
    pub fn receive(
        &self,
        b: &mut Buffer,
        Receipt { sw_if, counts, is_frame }: Receipt,
        flags: Flags,
        headers: usize,
        class: u8,
        turn: &Turn<'_>,
    ) -> Result<(), DecapError> {
        let is_up =
            self.interfaces.views(turn).get(sw_if as usize).is_some_and(|view| view.is_up());
        if !is_up {
            return Err(DecapError::Down);
        }
        if b.flags.contains(Marked::GSO) {
            return Err(DecapError::Super);
        }
        // A checksum that is to be finished may be the inner packet's, if a host of ours sent it
        // through a tunnel of its own.
        let unfinished = b.flags.contains(Marked::CSUM_PARTIAL);
        let inner_unfinished = unfinished && usize::from(b.offload.csum_start) >= headers;
        if !b.pull(headers) {
            return Err(DecapError::TooShort);
        }
        b.flags.remove(OF_OUTER);
        if inner_unfinished {
            b.flags.insert(Marked::CSUM_PARTIAL);
        }
        b.clear_field(self.l4);
        b.nesting = 0;
        b.rx_if = sw_if;
        if is_frame {
            self.lanes.rx.frame(counts as usize, b);
        } else {
            self.lanes.rx.unicast(counts as usize, 1, b.packet_len() as u64);
        }
        if flags.contains(Flags::DECAP_COPY_ECN) {
            let inner = if is_frame { Inner::of_frame(b) } else { Inner::of_packet(b) };
            copy_ecn(b, inner, class);
        }
        Ok(())
    }

    /// The first feature that a packet passes on its way to its next node, if there is one on the
    /// interface that has received it ([`Self::receive`]).
    #[inline(always)]
    pub fn first_feature<const TRACED: bool>(
        &self,
        b: &mut Buffer,
        onto: Onto,
        cx: &Cx<'_, TRACED>,
    ) -> Option<NodeIndex> {
        self.arcs.start(b, onto, cx)
    }
}

/// Overwrites the congestion mark of the inner packet with that of the outer one, as VPP does.
fn copy_ecn(b: &mut Buffer, inner: Inner, class: u8) {
    let Some(data) = b.data_mut().get_mut(inner.at..) else { return };
    if inner.version == 4
        && let Some(ip) = Ipv4Header::view_mut(data)
    {
        let old = u16::from_be_bytes([ip.version_ihl, ip.tos]);
        ip.tos = ip.tos & 0xfc | class & 3;
        let new = u16::from_be_bytes([ip.version_ihl, ip.tos]);
        ip.checksum.set(wire::checksum::update16(ip.checksum.get(), old, new));
    } else if inner.version == 6
        && let Some(ip) = Ipv6Header::view_mut(data)
    {
        let own = (ip.version_class_flow.get() >> 20) as u8;
        ip.set_traffic_class(own & 0xfc | class & 3);
    }
}
