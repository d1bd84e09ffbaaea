// SPDX-License-Identifier: Apache-2.0
//! Decapsulation of datagrams. The nodes get them at their payload, with the IP header marked.

use super::{Datagrams, OWN};
use crate::Key;
use crate::decap::{Decap, DecapError, Last};
use crate::end::End;
use crate::receipt::Receipt;
use buffer::Buffer;
use graph::{Build, Cx, Node, NodeIndex, ThreadIndex, Trace, Vector, World};
use ip::Ip;
use net::IpMeta;
use simd::Isa;
use std::fmt;
use std::marker::PhantomData;
use sync::Turn;
use wire::{Address, Header, IpHeader, UdpHeader};

/// Takes the headers of a kind of tunnels off.
pub struct Input<K: Datagrams, F> {
    pub(super) decap: Decap<K>,
    pub(super) last: Last<K::To>,
    reader: K::Reader,
    version: PhantomData<fn() -> F>,
}

/// State of the kinds whose nodes read none.
pub struct Nothing;

impl Build for Nothing {
    fn build(_: &World, _: ThreadIndex) -> Self {
        Self
    }
}

/// The header of a kind, as it was read.
#[derive(Clone, Copy, Debug)]
pub struct Own {
    /// Bytes with all options and extensions.
    pub len: usize,
    /// The payload, if the header says what it is; else the tunnel says it.
    pub payload: Option<Onto>,
}

/// The next node of a decapsulated packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Onto {
    /// `ethernet-input`.
    Ethernet,
    /// `ip4-input`.
    Ip4,
    /// `ip6-input`.
    Ip6,
    /// The node that the configuration names.
    Node(NodeIndex),
    /// None: neither IPv4 nor IPv6 in a tunnel of layer 3.
    NoIp,
    /// None: an Ethernet frame in a tunnel of layer 3.
    Frame,
}

impl Onto {
    /// Returns true if it is a node.
    #[inline(always)]
    fn is_node(self) -> bool {
        !matches!(self, Self::NoIp | Self::Frame)
    }
}

/// The next nodes of a kind's decapsulated packets.
pub trait Outcome:
    graph::Next + From<DecapError> + From<Onto> + PartialEq + fmt::Debug + Send + Sync
{
    /// The counter of good packets.
    const DECAPSULATED: Self;
    /// The next node, if the packet was taken.
    fn onto(self) -> Option<Onto>;
}

/// Defines the next nodes of a kind: those that all kinds have, and its own, `TooShort` among them.
#[macro_export]
macro_rules! datagram_next {
    ($(#[$attr:meta])* pub enum $To:ident { $($own:tt)* }) => {
        $(#[$attr])*
        #[derive(::graph::Next, Clone, Copy, PartialEq, Eq, Debug)]
        pub enum $To {
            #[next("ethernet-input")]
            Ethernet,
            #[next("ip4-input")]
            Input4,
            #[next("ip6-input")]
            Input6,
            /// The node that the tunnel's configuration names, or the first feature of the tunnel's
            /// interface.
            #[dynamic]
            Node(::graph::NodeIndex),
            /// good packets decapsulated
            #[count]
            #[counter("good packets decapsulated")]
            Decapsulated,
            /// no such tunnel packets
            #[drop]
            #[counter("no such tunnel packets")]
            NoTunnel,
            /// tunnel is down
            #[drop]
            Down,
            /// neither IPv4 nor IPv6 in a tunnel of layer 3
            #[drop]
            NoIp,
            /// Ethernet frame in a tunnel of layer 3
            #[drop]
            Frame,
            /// super-packets can't be taken out of tunnels
            #[drop]
            Super,
            $($own)*
        }

        $crate::from_decap_error!($To, NoTunnel);

        impl From<$crate::Onto> for $To {
            #[inline(always)]
            fn from(onto: $crate::Onto) -> Self {
                match onto {
                    $crate::Onto::Ethernet => Self::Ethernet,
                    $crate::Onto::Ip4 => Self::Input4,
                    $crate::Onto::Ip6 => Self::Input6,
                    $crate::Onto::Node(node) => Self::Node(node),
                    $crate::Onto::NoIp => Self::NoIp,
                    $crate::Onto::Frame => Self::Frame,
                }
            }
        }

        impl $crate::Outcome for $To {
            const DECAPSULATED: Self = Self::Decapsulated;

            #[inline(always)]
            fn onto(self) -> Option<$crate::Onto> {
                match self {
                    Self::Ethernet => Some($crate::Onto::Ethernet),
                    Self::Input4 => Some($crate::Onto::Ip4),
                    Self::Input6 => Some($crate::Onto::Ip6),
                    Self::Node(node) => Some($crate::Onto::Node(node)),
                    _ => None,
                }
            }
        }
    };
}

/// A received datagram: its tunnel's number, its tunnel, its next node.
pub struct InputTrace<K: Datagrams> {
    instance: Option<u32>,
    number: u32,
    to: K::To,
}

impl<K: Datagrams> Clone for InputTrace<K> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K: Datagrams> Copy for InputTrace<K> {}

impl<K: Datagrams> Trace for InputTrace<K> {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, number, of) = (K::DRIVER, K::NUMBER, self.number);
        match self.instance {
            Some(instance) => {
                write!(f, "{kind} decap from {}{instance} {number} {of}", K::PREFIX)?;
            }
            None => write!(f, "{kind} decap error - tunnel for {number} {of} does not exist")?,
        }
        match self.to.onto() {
            Some(Onto::Ethernet) => f.write_str(" next ethernet-input"),
            Some(Onto::Ip4) => f.write_str(" next ip4-input"),
            Some(Onto::Ip6) => f.write_str(" next ip6-input"),
            Some(Onto::Node(node)) => write!(f, " next node {node}"),
            _ => write!(f, " error {:?}", self.to),
        }
    }
}

/// The key of a datagram, and the header of its kind. The packet begins with its IP header, and the
/// UDP header is `at` bytes behind.
#[inline(always)]
pub fn key_of<K: Datagrams, F: Ip>(
    packet: &[u8],
    at: usize,
    table: u32,
) -> Option<(Key, [u8; OWN])> {
    let ip = F::Header::view(packet)?;
    let udp = UdpHeader::view_at(packet, at)?;
    let header = *packet.get(at + UdpHeader::LEN..)?.first_chunk()?;
    let (id, other) = (K::number_in(&header), udp.dst_port.get().into());
    Some((Key { id, other, ..Key::of(ip.dst().into(), ip.src().into(), table) }, header))
}

impl<K: Datagrams> Decap<K> {
    /// The tunnel that a datagram belongs to, and whose interface receives it; and the tunnel that
    /// counts it.
    #[inline(always)]
    fn find_datagram<'t>(
        &'t self,
        key: &Key,
        to_group: bool,
        turn: &'t Turn<'_>,
    ) -> Option<(&'t End, &'t End)> {
        if to_group {
            // There has to be a tunnel to the group, and one to the sender.
            let group = self.find(&Key { remote: 0, ..*key }, turn)?;
            let sender = self.find(&Key { local: group.local, ..*key }, turn)?;
            return Some((sender, group));
        }
        self.find(key, turn).map(|end| (end, end))
    }
}

impl<K: Datagrams, F: Ip> Input<K, F> {
    /// Takes the headers off. The packet begins with its IP header, and the UDP header is `at`
    /// bytes behind. Returns the next node behind the features, and the next node. With `NAMED`,
    /// only packets whose next node doesn't depend on what is inside; others are unchanged.
    #[inline(always)]
    pub(super) fn open<const NAMED: bool>(
        &mut self,
        b: &mut Buffer,
        at: usize,
        table: u32,
        seen: &mut (Option<u32>, u32),
        cx: &Cx<'_, false>,
    ) -> Result<(Onto, K::To), K::To> {
        let turn = cx.turn;
        let (key, header) = key_of::<K, F>(b.data(), at, table).ok_or(DecapError::TooShort)?;
        seen.1 = key.id;
        let own = K::read(&self.reader, b, at + UdpHeader::LEN, &header, turn)?;
        let ip = F::Header::view(b.data()).ok_or(DecapError::TooShort)?;
        let (to_group, class) = (ip.dst().multicast(), ip.traffic_class());
        let (end, counts) =
            self.decap.find_datagram(&key, to_group, turn).ok_or(DecapError::NoTunnel)?;
        seen.0 = Some(end.instance);
        let is_frame = own.payload.map_or(end.frames, |onto| onto == Onto::Ethernet);
        if is_frame && !end.frames {
            return Err(Onto::Frame.into());
        }
        let receipt = Receipt { sw_if: end.sw_if, counts: counts.sw_if, is_frame };
        let headers = at + UdpHeader::LEN + own.len;
        let named = end.next.map(Onto::Node).or(own.payload).or(is_frame.then_some(Onto::Ethernet));
        if NAMED && !named.is_some_and(Onto::is_node) {
            return Err(Onto::NoIp.into());
        }
        self.decap.receive_for(b, receipt, end.flags, headers, class, turn)?;
        let onto = named.unwrap_or_else(|| match b.data().first().map(|first| first >> 4) {
            Some(4) => Onto::Ip4,
            Some(6) => Onto::Ip6,
            _ => Onto::NoIp,
        });
        let feature = self.decap.first_feature(b, onto, cx);
        let to = feature.map_or(onto, Onto::Node).into();
        if let Some(own) = K::DECISIVE
            && named.is_some()
        {
            let decisive = decisive(&own);
            let decided = (receipt, end.flags, to);
            self.last.remember::<F>(b, (headers, &decisive), decided, self.decap.receiver());
        }
        Ok((onto, to))
    }

    /// Puts the start of a packet at its IP header, which is marked; returns the number of bytes
    /// from there to the payload.
    #[inline(always)]
    fn rewind(b: &mut Buffer) -> Option<usize> {
        let back = b.l3_len();
        (back >= F::HEADER_LEN + UdpHeader::LEN && b.rewind(back)).then_some(back)
    }

    /// Decapsulates a packet that begins with its IP header. Returns the record of it and the next
    /// node. Not inlined: all loops share it, and most datagrams are like the one before.
    #[inline(never)]
    fn receive(
        &mut self,
        b: &mut Buffer,
        back: usize,
        cx: &mut Cx<'_, false>,
    ) -> (InputTrace<K>, K::To) {
        let table = b.scratch::<IpMeta>().fib;
        let mut seen = (None, 0);
        let (last, to) = match self.open::<false>(b, back - UdpHeader::LEN, table, &mut seen, cx) {
            Ok((onto, to)) => {
                if to.onto().is_some() {
                    cx.count(K::To::DECAPSULATED, 1);
                }
                (onto.into(), to)
            }
            Err(to) => {
                let last = K::otherwise::<F>(&self.reader, &self.decap, b, to, cx.turn);
                let feature = last.onto().and_then(|onto| self.decap.first_feature(b, onto, cx));
                (last, feature.map_or(last, |node| Onto::Node(node).into()))
            }
        };
        let (instance, number) = seen;
        (InputTrace { instance, number, to: last }, to)
    }
}

/// The bytes behind an IP header that decide about a datagram: the port that it is sent to, and
/// these of the kind's own header.
fn decisive(own: &[u8; OWN]) -> [u8; UdpHeader::LEN + OWN] {
    let mut all = [0; UdpHeader::LEN + OWN];
    all[2..4].fill(!0);
    all[UdpHeader::LEN..].copy_from_slice(own);
    all
}

impl<K: Datagrams, F: Ip> Build for Input<K, F> {
    fn build(world: &World, thread: ThreadIndex) -> Self {
        Self {
            decap: Decap::new(world, thread),
            last: Last::default(),
            reader: K::Reader::build(world, thread),
            version: PhantomData,
        }
    }
}

impl<K: Datagrams, F: Ip> Node for Input<K, F> {
    const NAME: &'static str = K::INPUT;
    const DROP: &'static str = "{ip}-drop";
    const V6: Option<bool> = Some(F::IS_V6);
    type Next = K::To;
    type Trace = InputTrace<K>;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> K::To {
        let Some(back) = Self::rewind(b) else { return DecapError::TooShort.into() };
        let (record, to) = self.receive(b, back, &mut cx.untraced());
        cx.trace(b, record);
        to
    }

    #[inline(always)]
    fn stages<I: Isa>(&mut self, v: &mut Vector<'_, K::To>, cx: &mut Cx<'_, false>) {
        self.last.begin();
        for (b, out) in v.packets_ahead() {
            let Some(back) = Self::rewind(b) else {
                out.go(DecapError::TooShort.into());
                continue;
            };
            let again = self.last.receive::<F>(b, self.decap.receiver());
            out.go(again.unwrap_or_else(|| self.receive(b, back, cx).1));
        }
    }

    #[inline(always)]
    fn end<const TRACED: bool>(&mut self, cx: &mut Cx<'_, TRACED>) {
        cx.count(K::To::DECAPSULATED, self.last.end(self.decap.receiver()));
    }
}
