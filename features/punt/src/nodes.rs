// SPDX-License-Identifier: Apache-2.0
//! Nodes that catch packets to punt.

use crate::reasons::Reasons;
use crate::state::{Matched, Punt, PuntedPacket, TcpPorts};
use buffer::{Buffer, Owned};
use graph::{ArcIndex, Build, Cx, Next, Node, NodeIndex, ThreadIndex, World};
use ip::{Ip, IpTrace, Protocols};
use net::IpMeta;
use stats::CombinedLane;
use std::marker::PhantomData;
use std::sync::Arc;
use wire::{Header, IpProtocol, TcpHeader, UpperLayer};

/// The queue to the main thread, as one thread uses it.
struct PuntQueue {
    punt: Arc<Punt>,
    counters: CombinedLane,
}

/// The edges of a packet for a client.
struct ClientEdges<N> {
    sent: N,
    busy: N,
}

impl PuntQueue {
    fn new(world: &World, thread: ThreadIndex) -> Self {
        let punt: Arc<Punt> = world.get();
        Self { counters: punt.counters.lane(thread.at()), punt }
    }

    /// Queues a packet for the main thread and counts `sent`, or sends it to `busy` if the queue is
    /// full.
    fn take<N: Next>(
        &self,
        matched: Matched,
        v6: bool,
        packet: Owned,
        ClientEdges { sent, busy }: ClientEdges<N>,
        cx: &mut Cx<'_, false>,
    ) {
        let len = packet.packet_len() as u64;
        match self.punt.post(PuntedPacket { matched, v6, packet }) {
            Ok(()) => {
                // A packet with a reason was counted where it was dispatched.
                if !matches!(matched, Matched::Reason(_)) {
                    self.counters.add(0, 1, len);
                }
                cx.count(sent, 1);
            }
            Err(parcel) => cx.emit(busy, parcel.packet),
        }
    }
}

/// `ip4-udp-punt`, `ip6-udp-punt`: datagrams to a punted port, punted unchanged.
pub struct UdpPunt<F>(PhantomData<F>);

#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
pub enum UdpPuntTo {
    /// udp port that is punted
    #[punt]
    #[counter("udp port punt")]
    Port,
    /// headers are out of reach
    #[drop]
    NoHeader,
}

impl<F> Build for UdpPunt<F> {
    fn build(_: &World, _: ThreadIndex) -> Self {
        Self(PhantomData)
    }
}

impl<F: Ip> Node for UdpPunt<F> {
    const NAME: &'static str = "{ip}-udp-punt";
    const V6: Option<bool> = Some(F::IS_V6);
    const DROP: &'static str = "{ip}-drop";
    const PUNT: &'static str = "{ip}-punt";
    type Next = UdpPuntTo;
    type Trace = IpTrace<F>;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> UdpPuntTo {
        // A UDP listener gets the payload: back to the IP header.
        if !b.rewind(b.l3_len()) {
            return UdpPuntTo::NoHeader;
        }
        if TRACED {
            cx.trace(b, IpTrace::<F>::of(b));
        }
        UdpPuntTo::Port
    }
}

#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
pub enum SocketTo {
    #[keep]
    Socket,
    /// headers are out of reach
    #[drop]
    NoHeader,
    /// packets for clients
    #[count]
    #[counter("Socket TX")]
    Sent,
    /// too many packets are on their way to clients
    #[drop]
    #[counter("Socket TX error")]
    Busy,
}

/// `ip4-udp-punt-socket` with `UDP`, else `ip4-proto-punt-socket`; and those of IPv6.
pub struct Socket<F, const UDP: bool> {
    queue: PuntQueue,
    family: PhantomData<F>,
}

impl<F, const UDP: bool> Build for Socket<F, UDP> {
    fn build(world: &World, thread: ThreadIndex) -> Self {
        Self { queue: PuntQueue::new(world, thread), family: PhantomData }
    }
}

impl<F: Ip, const UDP: bool> Node for Socket<F, UDP> {
    const NAME: &'static str = if UDP { "{ip}-udp-punt-socket" } else { "{ip}-proto-punt-socket" };
    const V6: Option<bool> = Some(F::IS_V6);
    const DROP: &'static str = "{ip}-drop";
    type Next = SocketTo;
    type Trace = IpTrace<F>;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> SocketTo {
        // Datagrams come with their payload in front: back to the IP header.
        if UDP && !b.rewind(b.l3_len()) {
            return SocketTo::NoHeader;
        }
        if TRACED {
            cx.trace(b, IpTrace::<F>::of(b));
        }
        SocketTo::Socket
    }

    fn keep(&mut self, b: Owned, cx: &mut Cx<'_, false>) {
        let ways = ClientEdges { sent: SocketTo::Sent, busy: SocketTo::Busy };
        self.queue.take(if UDP { Matched::Udp } else { Matched::Protocol }, F::IS_V6, b, ways, cx);
    }
}

/// `ip4-tcp-punt`, `ip6-tcp-punt`: takes all segments for us while a port is punted.
pub struct TcpPunt<F> {
    queue: PuntQueue,
    ports: Arc<TcpPorts<F>>,
    protocols: Arc<Protocols<F>>,
    arc: ArcIndex,
}

#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
pub enum TcpPuntTo {
    #[keep]
    Socket,
    /// tcp port that is punted
    #[punt]
    Port,
    /// tcp port that nobody takes, punted
    #[punt]
    Rest,
    /// To who answers for ports that nobody has.
    #[dynamic]
    Otherwise(NodeIndex),
    /// tcp port that isn't punted
    #[next("{ip}-icmp-error", reason)]
    NoListener,
    /// segment shorter than its headers
    #[drop]
    TooShort,
    /// packets for clients
    #[count]
    #[counter("Socket TX")]
    Sent,
    /// too many packets are on their way to clients
    #[drop]
    #[counter("Socket TX error")]
    Busy,
}

impl<F: Ip> Build for TcpPunt<F> {
    fn build(world: &World, thread: ThreadIndex) -> Self {
        let arc = ip::arc::<F>(world, "{ip}-punt");
        Self {
            queue: PuntQueue::new(world, thread),
            ports: world.get(),
            protocols: world.get(),
            arc,
        }
    }
}

impl<F: Ip> Node for TcpPunt<F> {
    const NAME: &'static str = "{ip}-tcp-punt";
    const V6: Option<bool> = Some(F::IS_V6);
    const DROP: &'static str = "{ip}-drop";
    const PUNT: &'static str = "{ip}-punt";
    type Next = TcpPuntTo;
    type Trace = IpTrace<F>;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> TcpPuntTo {
        if TRACED {
            cx.trace(b, IpTrace::<F>::of(b));
        }
        let at = UpperLayer::find(b.data()).map(|upper| upper.offset);
        let port =
            at.ok().and_then(|at| TcpHeader::view_at(b.data(), at)).map(|tcp| tcp.dst_port.get());
        let Some(port) = port else { return TcpPuntTo::TooShort };
        match self.ports.get(port, cx.turn) {
            Some(true) => TcpPuntTo::Socket,
            Some(false) => TcpPuntTo::Port,
            None if cx.has_arc(self.arc, b.rx_if) => TcpPuntTo::Rest,
            None => {
                if let Some(node) = self.protocols.otherwise(IpProtocol::TCP, cx.turn) {
                    return TcpPuntTo::Otherwise(node);
                }
                // Without TCP in this instance, the error is sent here.
                let (kind, code) = F::ERRORS.unknown_protocol;
                b.set_scratch(IpMeta::error(kind, code, if F::IS_V6 { 6 } else { 0 }));
                TcpPuntTo::NoListener
            }
        }
    }

    fn keep(&mut self, b: Owned, cx: &mut Cx<'_, false>) {
        let ways = ClientEdges { sent: TcpPuntTo::Sent, busy: TcpPuntTo::Busy };
        self.queue.take(Matched::Tcp, F::IS_V6, b, ways, cx);
    }
}

/// `exception-punt-socket`: packets punted for a reason that a client is registered for.
pub struct ExceptionSocket {
    queue: PuntQueue,
    reasons: Arc<Reasons>,
}

#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
pub enum ExceptionTo {
    #[keep]
    Socket,
    /// packets for clients
    #[count]
    #[counter("Socket TX")]
    Sent,
    /// too many packets are on their way to clients
    #[drop]
    #[counter("Socket TX error")]
    Busy,
}

impl Build for ExceptionSocket {
    fn build(world: &World, thread: ThreadIndex) -> Self {
        Self { queue: PuntQueue::new(world, thread), reasons: world.get() }
    }
}

impl Node for ExceptionSocket {
    const NAME: &'static str = "exception-punt-socket";
    type Next = ExceptionTo;
    type Trace = ();

    #[inline(always)]
    fn packet<const TRACED: bool>(
        &mut self,
        _: &mut Buffer,
        _: &mut Cx<'_, TRACED>,
    ) -> ExceptionTo {
        ExceptionTo::Socket
    }

    fn keep(&mut self, b: Owned, cx: &mut Cx<'_, false>) {
        let reason = self.reasons.id(b.error(), cx.turn);
        let ways = ClientEdges { sent: ExceptionTo::Sent, busy: ExceptionTo::Busy };
        self.queue.take(Matched::Reason(reason), false, b, ways, cx);
    }
}
