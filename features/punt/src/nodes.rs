// SPDX-License-Identifier: Apache-2.0
//! Where packets are caught.

use crate::state::{Caught, Parcel, Punt, TcpPorts};
use buffer::{Buffer, Owned};
use graph::{Build, Cx, Next, Node, ThreadIndex, World};
use ip::{Ip, IpTrace};
use net::IpMeta;
use stats::CombinedLane;
use std::marker::PhantomData;
use std::sync::Arc;
use wire::{Header, TcpHeader, UpperLayer};

/// The way to control, of one thread.
struct Door {
    punt: Arc<Punt>,
    counters: CombinedLane,
}

impl Door {
    fn new(world: &World, thread: ThreadIndex) -> Self {
        let punt: Arc<Punt> = world.get();
        Self { counters: punt.counters.lane(thread.at()), punt }
    }

    /// Sends a packet to control; gives it back if too many are on their way.
    fn send(&self, caught: Caught, v6: bool, packet: Owned) -> Result<(), Owned> {
        let reason = if let Caught::Reason(reason) = caught { reason } else { 0 };
        let len = packet.packet_len() as u64;
        self.punt.post(Parcel { caught, v6, packet }).map_err(|parcel| parcel.packet)?;
        self.counters.add(reason as usize, 1, len);
        Ok(())
    }
}

/// `ip4-udp-punt`, `ip6-udp-punt`: datagrams to a port that is punted go on as they came.
pub struct UdpPunt<F>(PhantomData<F>);

#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
pub enum UdpPuntTo {
    /// udp port that is punted
    #[punt]
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
        // Who listens gets the payload: back to the IP header.
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
    /// too many packets are on their way to clients
    #[drop]
    Busy,
}

/// `ip4-udp-punt-socket`, `ip6-udp-punt-socket`.
pub struct UdpSocket<F> {
    door: Door,
    family: PhantomData<F>,
}

impl<F> Build for UdpSocket<F> {
    fn build(world: &World, thread: ThreadIndex) -> Self {
        Self { door: Door::new(world, thread), family: PhantomData }
    }
}

impl<F: Ip> Node for UdpSocket<F> {
    const NAME: &'static str = "{ip}-udp-punt-socket";
    const V6: Option<bool> = Some(F::IS_V6);
    const DROP: &'static str = "{ip}-drop";
    type Next = SocketTo;
    type Trace = IpTrace<F>;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> SocketTo {
        if !b.rewind(b.l3_len()) {
            return SocketTo::NoHeader;
        }
        if TRACED {
            cx.trace(b, IpTrace::<F>::of(b));
        }
        SocketTo::Socket
    }

    fn keep(&mut self, b: Owned, cx: &mut Cx<'_, false>) {
        if let Err(b) = self.door.send(Caught::Udp, F::IS_V6, b) {
            cx.emit(SocketTo::Busy, b);
        }
    }
}

/// `ip4-proto-punt-socket`, `ip6-proto-punt-socket`.
pub struct ProtoSocket<F> {
    door: Door,
    family: PhantomData<F>,
}

impl<F> Build for ProtoSocket<F> {
    fn build(world: &World, thread: ThreadIndex) -> Self {
        Self { door: Door::new(world, thread), family: PhantomData }
    }
}

impl<F: Ip> Node for ProtoSocket<F> {
    const NAME: &'static str = "{ip}-proto-punt-socket";
    const V6: Option<bool> = Some(F::IS_V6);
    const DROP: &'static str = "{ip}-drop";
    type Next = SocketTo;
    type Trace = IpTrace<F>;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> SocketTo {
        if TRACED {
            cx.trace(b, IpTrace::<F>::of(b));
        }
        SocketTo::Socket
    }

    fn keep(&mut self, b: Owned, cx: &mut Cx<'_, false>) {
        if let Err(b) = self.door.send(Caught::Protocol, F::IS_V6, b) {
            cx.emit(SocketTo::Busy, b);
        }
    }
}

/// `ip4-tcp-punt`, `ip6-tcp-punt`: takes all segments for us while a port is punted.
pub struct TcpPunt<F> {
    door: Door,
    ports: Arc<TcpPorts<F>>,
}

#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
pub enum TcpPuntTo {
    #[keep]
    Socket,
    /// tcp port that is punted
    #[punt]
    Port,
    /// tcp port that isn't punted
    #[next("{ip}-icmp-error", count)]
    NoListener,
    /// segment shorter than its headers
    #[drop]
    TooShort,
    /// too many packets are on their way to clients
    #[drop]
    Busy,
}

impl<F: Ip> Build for TcpPunt<F> {
    fn build(world: &World, thread: ThreadIndex) -> Self {
        Self { door: Door::new(world, thread), ports: world.get() }
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
        let port = at.ok().and_then(|at| TcpHeader::view_at(b.data(), at)).map(|tcp| tcp.dst_port.get());
        let Some(port) = port else { return TcpPuntTo::TooShort };
        match self.ports.get(port, cx.turn) {
            Some(true) => TcpPuntTo::Socket,
            Some(false) => TcpPuntTo::Port,
            None => {
                // There is no TCP here: what is said without us.
                let (kind, code) = F::ERRORS.unknown_protocol;
                b.set_scratch(IpMeta::error(kind, code, if F::IS_V6 { 6 } else { 0 }));
                TcpPuntTo::NoListener
            }
        }
    }

    fn keep(&mut self, b: Owned, cx: &mut Cx<'_, false>) {
        if let Err(b) = self.door.send(Caught::Tcp, F::IS_V6, b) {
            cx.emit(TcpPuntTo::Busy, b);
        }
    }
}

/// `exception-punt-socket`: what was punted for a reason that a client takes.
pub struct ExceptionSocket {
    door: Door,
}

#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
pub enum ExceptionTo {
    #[next_feature]
    Next,
    #[keep]
    Socket,
    /// too many packets are on their way to clients
    #[drop]
    Busy,
}

impl Build for ExceptionSocket {
    fn build(world: &World, thread: ThreadIndex) -> Self {
        Self { door: Door::new(world, thread) }
    }
}

impl Node for ExceptionSocket {
    const NAME: &'static str = "exception-punt-socket";
    type Next = ExceptionTo;
    type Trace = ();

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> ExceptionTo {
        if self.door.punt.takes(b.error(), cx.turn) { ExceptionTo::Socket } else { ExceptionTo::Next }
    }

    fn keep(&mut self, b: Owned, cx: &mut Cx<'_, false>) {
        let reason = Caught::Reason(b.error());
        if let Err(b) = self.door.send(reason, false, b) {
            cx.emit(ExceptionTo::Busy, b);
        }
    }
}
