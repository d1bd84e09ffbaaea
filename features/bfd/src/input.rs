// SPDX-License-Identifier: Apache-2.0
//! `bfd-udp4-input`, `bfd-udp6-input`: control packets. The thread that receives a packet makes the
//! checks that need no session, and hands over at most a number of packets per peer; the thread of
//! the sessions does the rest.

use crate::engine::{Engine, Miss};
use crate::home::{SessionKey, THREAD};
use crate::packet::{Control, MULTIHOP_PORT, PacketError};
use crate::peers::Excluded;
use crate::send::{Sender, TTL};
use crate::session::Refusal;
use buffer::{Buffer, Owned};
use graph::{Build, Cx, Next, Node, NodeIndex, SwIfIndex, ThreadIndex, Trace, World};
use ip::Ip;
use std::fmt;
use std::marker::PhantomData;
use wire::{Header, IpHeader, UdpHeader};

/// Next nodes, and the reasons of drops.
#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
pub enum To {
    /// An answer to a poll: the next node of the peer's adjacency, or the lookup.
    #[dynamic]
    Answer(NodeIndex),
    /// To the thread of the sessions.
    #[keep]
    Elsewhere,
    /// The packet is processed.
    #[free]
    Done,
    /// OK
    #[count]
    #[counter("none")]
    Good,
    /// bad packet: it arrived by another interface than its session's, or at another port
    #[drop]
    Bad,
    /// version
    #[drop]
    Version,
    /// too short
    #[drop]
    Length,
    /// detect-multi
    #[drop]
    DetectMulti,
    /// multi-point
    #[drop]
    MultiPoint,
    /// my-disc
    #[drop]
    MyDisc,
    /// your-disc
    #[drop]
    YourDisc,
    /// session admin-down
    #[drop]
    AdminDown,
    /// no-session
    #[drop]
    NoSession,
    /// failed-verification
    #[drop]
    FailedVerification,
    /// src-mismatch
    #[drop]
    SrcMismatch,
    /// dst-mismatch
    #[drop]
    DstMismatch,
    /// ttl
    #[drop]
    Ttl,
    /// rate-limited: too many packets arrive with the addresses of one session
    #[drop]
    RateLimited,
}

impl From<NodeIndex> for To {
    fn from(node: NodeIndex) -> Self {
        Self::Answer(node)
    }
}

impl From<PacketError> for To {
    fn from(error: PacketError) -> Self {
        match error {
            PacketError::Version => Self::Version,
            PacketError::Length => Self::Length,
            PacketError::DetectMult => Self::DetectMulti,
            PacketError::Multipoint => Self::MultiPoint,
            PacketError::MyDisc => Self::MyDisc,
            PacketError::YourDisc => Self::YourDisc,
        }
    }
}

impl From<Excluded> for To {
    fn from(excluded: Excluded) -> Self {
        match excluded {
            Excluded::Unknown => Self::NoSession,
            Excluded::Flood => Self::RateLimited,
        }
    }
}

impl From<Miss> for To {
    fn from(miss: Miss) -> Self {
        match miss {
            Miss::NoSession => Self::NoSession,
            Miss::Source => Self::SrcMismatch,
            Miss::Destination => Self::DstMismatch,
            Miss::Interface => Self::Bad,
            Miss::Refused(Refusal::Authentication) => Self::FailedVerification,
            Miss::Refused(Refusal::AdminDown) => Self::AdminDown,
        }
    }
}

/// The packet, or its fault.
#[derive(Clone, Copy)]
pub struct BfdTrace(Result<Control, PacketError>);

impl Trace for BfdTrace {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Ok(packet) => fmt::Display::fmt(packet, f),
            Err(error) => write!(f, "bad packet: {}", error.text()),
        }
    }
}

/// See the head of this file.
pub struct BfdInput<F: Ip> {
    sender: Sender,
    version: PhantomData<F>,
}

impl<F: Ip> Build for BfdInput<F> {
    fn build(world: &World, thread: ThreadIndex) -> Self {
        Self { sender: Sender::new(world, thread), version: PhantomData }
    }
}

/// The headers of a datagram whose payload the packet begins with.
struct Arrival {
    key: SessionKey,
    ttl: u8,
    /// Bytes of the IP packet.
    len: usize,
}

impl<F: Ip> BfdInput<F> {
    /// Reads the headers in front of the payload; the packet is unchanged.
    fn arrival(b: &mut Buffer) -> Option<Arrival> {
        let back = b.l3_len();
        if back < F::HEADER_LEN + UdpHeader::LEN || !b.rewind(back) {
            return None;
        }
        let arrival = F::Header::view(b.data()).and_then(|ip| {
            let udp = UdpHeader::view_at(b.data(), back - UdpHeader::LEN)?;
            let multihop = udp.dst_port.get() == MULTIHOP_PORT;
            let sw_if = (!multihop).then_some(SwIfIndex(b.rx_if));
            let key = SessionKey { sw_if, local: ip.dst().into(), peer: ip.src().into() };
            Some(Arrival { key, ttl: ip.ttl(), len: ip.packet_len() })
        });
        let pulled = b.pull(back);
        debug_assert!(pulled, "as many bytes as were uncovered");
        arrival
    }

    fn take<const TRACED: bool>(&self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        let Some(arrival) = Self::arrival(b) else { return To::Length };
        let (packet, bytes) = match Control::read(b.data()) {
            Ok(read) => read,
            Err(error) => return error.into(),
        };
        if !arrival.key.is_multihop() && arrival.ttl != TTL {
            return To::Ttl;
        }
        if cx.thread() != THREAD {
            let admitted = self.sender.home.peers.admit(&arrival.key, cx.now());
            return admitted.map_or_else(To::from, |()| To::Elsewhere);
        }
        let Some(mut engine) = self.sender.engines.of(cx.thread(), cx.turn) else {
            return To::NoSession;
        };
        match self.process(&mut engine, &arrival, (&packet, bytes), cx) {
            Ok(()) => {
                cx.count(To::Good, 1);
                To::Done
            }
            Err(miss) => miss.into(),
        }
    }

    fn process<const TRACED: bool>(
        &self,
        engine: &mut Engine,
        arrival: &Arrival,
        packet: (&Control, &[u8]),
        cx: &mut Cx<'_, TRACED>,
    ) -> Result<(), Miss> {
        let index = engine.find(packet.0, &arrival.key)?;
        let received = engine.receive(index, packet, cx.now());
        if let Ok(answer) = received {
            engine.rx.add(index as usize, 1, arrival.len as u64);
            if answer {
                self.sender.control::<To, TRACED>(engine, index, true, cx);
            }
        }
        self.sender.arm(engine, cx);
        received.map(|_| ())
    }
}

impl<F: Ip> Node for BfdInput<F> {
    const NAME: &'static str = "bfd-udp{4|6}-input";
    const V6: Option<bool> = Some(F::IS_V6);
    type Next = To;
    type Trace = BfdTrace;

    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        if TRACED {
            cx.trace(b, BfdTrace(Control::read(b.data()).map(|(packet, _)| packet)));
        }
        self.take(b, cx)
    }

    fn keep(&mut self, b: Owned, cx: &mut Cx<'_, false>) {
        cx.handoff(THREAD, cx.node(), b);
    }
}
