// SPDX-License-Identifier: Apache-2.0
//! Decapsulation of datagrams. The nodes get them at their payload, with the IP header marked.

use super::{Datagrams, OWN};
use crate::Key;
use crate::decap::{Decap, DecapError, Receipt};
use crate::end::End;
use buffer::Buffer;
use graph::{Build, Cx, Node, NodeIndex, ThreadIndex, Trace, World};
use ip::Ip;
use net::IpMeta;
use std::fmt;
use std::marker::PhantomData;
use sync::Turn;
use wire::{Address, Header, IpHeader, UdpHeader};

/// Takes the headers of a kind of tunnels off.
pub struct Input<K: Datagrams, F> {
    decap: Decap<K>,
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
pub fn key_of<K: Datagrams, F: Ip>(b: &Buffer, at: usize, table: u32) -> Option<(Key, [u8; OWN])> {
    let ip = F::Header::view(b.data())?;
    let udp = UdpHeader::view_at(b.data(), at)?;
    let header = *b.bytes::<OWN>(at + UdpHeader::LEN)?;
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
    /// bytes behind.
    #[inline(always)]
    fn open(
        &self,
        b: &mut Buffer,
        at: usize,
        table: u32,
        seen: &mut (Option<u32>, u32),
        turn: &Turn<'_>,
    ) -> Result<K::To, K::To> {
        let (key, header) = key_of::<K, F>(b, at, table).ok_or(DecapError::TooShort)?;
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
        self.decap.receive_for(b, receipt, end.flags, headers, class, turn)?;
        let onto = match (end.next.map(Onto::Node).or(own.payload), is_frame) {
            (Some(onto), _) => onto,
            (None, true) => Onto::Ethernet,
            (None, false) => match b.data().first().map(|first| first >> 4) {
                Some(4) => Onto::Ip4,
                Some(6) => Onto::Ip6,
                _ => Onto::NoIp,
            },
        };
        Ok(onto.into())
    }
}

impl<K: Datagrams, F: Ip> Build for Input<K, F> {
    fn build(world: &World, thread: ThreadIndex) -> Self {
        Self {
            decap: Decap::new(world, thread),
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
        let (back, table) = (b.l3_len(), b.scratch::<IpMeta>().fib);
        if back < F::HEADER_LEN + UdpHeader::LEN || !b.rewind(back) {
            return DecapError::TooShort.into();
        }
        let mut seen = (None, 0);
        let to = match self.open(b, back - UdpHeader::LEN, table, &mut seen, cx.turn) {
            Ok(to) => {
                if to.onto().is_some() {
                    cx.count(K::To::DECAPSULATED, 1);
                }
                to
            }
            Err(to) => K::otherwise::<F>(&self.reader, &self.decap, b, to, cx.turn),
        };
        if TRACED {
            let (instance, number) = seen;
            cx.trace(b, InputTrace::<K> { instance, number, to });
        }
        let feature = to.onto().and_then(|onto| self.decap.first_feature(b, onto, cx));
        feature.map_or(to, |node| Onto::Node(node).into())
    }
}
