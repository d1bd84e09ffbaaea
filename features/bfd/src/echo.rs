// SPDX-License-Identifier: Apache-2.0
//! `bfd-udp-echo4-input`, `bfd-udp-echo6-input`: echo packets that the peer has forwarded back
//! (RFC 5880 6.8.9, RFC 5881 4). Those of others have the sender's address as destination and
//! never come here: they are forwarded.

use crate::echo_packet::EchoPacket;
use crate::home::THREAD;
use crate::send::Sender;
use buffer::{Buffer, Owned};
use graph::{Build, Cx, Next, Node, ThreadIndex, Trace, World};
use ip::Ip;
use std::fmt;
use std::marker::PhantomData;

/// Next nodes, and the reasons of drops.
#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
pub enum To {
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
    /// too short
    #[drop]
    Length,
    /// failed-verification
    #[drop]
    FailedVerification,
    /// bad packet: it came back too late
    #[drop]
    Bad,
    /// no-session
    #[drop]
    NoSession,
}

/// The packet.
#[derive(Clone, Copy)]
pub struct EchoTrace(Option<EchoPacket>);

impl Trace for EchoTrace {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(EchoPacket { disc, expires, checksum }) => write!(
                f,
                "BFD echo: discriminator {disc}, expires at {expires} ns, checksum {checksum:#018x}"
            ),
            None => f.write_str("BFD echo: too short"),
        }
    }
}

/// See the head of this file.
pub struct EchoInput<F: Ip> {
    sender: Sender,
    version: PhantomData<F>,
}

impl<F: Ip> Build for EchoInput<F> {
    fn build(world: &World, thread: ThreadIndex) -> Self {
        Self { sender: Sender::new(world, thread), version: PhantomData }
    }
}

impl<F: Ip> EchoInput<F> {
    fn take<const TRACED: bool>(&self, b: &Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        let Some(EchoPacket { disc, expires, checksum }) = EchoPacket::read(b.data()) else {
            return To::Length;
        };
        if self.sender.home.checksum(disc, expires) != checksum {
            return To::FailedVerification;
        }
        if cx.thread() != THREAD {
            return To::Elsewhere;
        }
        let now = cx.now();
        if expires <= now {
            return To::Bad;
        }
        let Some(mut engine) = self.sender.engines.of(cx.thread(), cx.turn) else {
            return To::NoSession;
        };
        let Some(index) = engine.echoed(disc, now) else { return To::NoSession };
        engine.rx_echo.add(index as usize, 1, (b.packet_len() + b.l3_len()) as u64);
        self.sender.arm(&engine, cx);
        cx.count(To::Good, 1);
        To::Done
    }
}

impl<F: Ip> Node for EchoInput<F> {
    const NAME: &'static str = "bfd-udp-echo{4|6}-input";
    const V6: Option<bool> = Some(F::IS_V6);
    type Next = To;
    type Trace = EchoTrace;

    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        if TRACED {
            cx.trace(b, EchoTrace(EchoPacket::read(b.data())));
        }
        self.take(b, cx)
    }

    fn keep(&mut self, b: Owned, cx: &mut Cx<'_, false>) {
        cx.handoff(THREAD, cx.node(), b);
    }
}
