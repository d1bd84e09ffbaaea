// SPDX-License-Identifier: Apache-2.0
//! `ip4-icmp-echo-reply` and `ip4-ping-error`: answers go to the command that waits for them.

use crate::sessions::{Heard, Says, Sessions};
use buffer::Buffer;
use graph::{Build, Clock, Cx, Head, Next, Node, ThreadIndex, Trace, World};
use std::fmt;
use std::sync::Arc;
use wire::describe::{Layer, describe};
use wire::{Header, Icmp4Type, IcmpHeader, IpHeader, Ipv4Header};

/// What both have.
struct Ears {
    sessions: Arc<Sessions>,
    clock: Arc<Clock>,
}

#[derive(Next, Clone, Copy)]
pub enum To {
    /// The command has what it needs.
    #[free]
    Heard,
    /// no ping waits for this answer
    #[punt]
    Unknown,
    /// the ping doesn't keep up with the answers
    #[drop]
    Full,
}

/// The answer.
#[derive(Clone, Copy)]
pub struct AnswerTrace {
    head: Head,
    id: u16,
    heard: bool,
}

impl Trace for AnswerTrace {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let who = if self.heard { "a ping waits for it" } else { "no ping waits for it" };
        write!(f, "ICMP id {}: {who}\n{}", self.id, describe(self.head.bytes(), Layer::Ip4))
    }
}

impl Ears {
    fn new(world: &World) -> Self {
        Self { sessions: world.get(), clock: world.clock.clone() }
    }

    #[inline(always)]
    fn hear<const TRACED: bool>(
        &self,
        b: &Buffer,
        cx: &mut Cx<'_, TRACED>,
        answer: Option<(u16, Heard)>,
    ) -> To {
        let to = match answer {
            Some((id, heard)) => match self.sessions.find(id, cx.turn) {
                Some(session) if session.leave(heard) => To::Heard,
                Some(_) => To::Full,
                None => To::Unknown,
            },
            None => To::Unknown,
        };
        if TRACED {
            let id = answer.map_or(0, |(id, _)| id);
            cx.trace(b, AnswerTrace { head: Head::of(b), id, heard: matches!(to, To::Heard) });
        }
        to
    }

    /// What headers say; the rest is the caller's.
    #[inline(always)]
    fn heard(&self, ip: &Ipv4Header, says: Says, request: &IcmpHeader) -> (u16, Heard) {
        let len = ip.packet_len().saturating_sub(ip.header_len()) as u16;
        let heard =
            Heard { at: self.clock.now(), from: ip.src(), says, seq: request.seq.get(), len, ttl: ip.ttl };
        (request.id.get(), heard)
    }
}

/// Echo replies.
pub struct EchoReply(Ears);

impl Build for EchoReply {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self(Ears::new(world))
    }
}

impl Node for EchoReply {
    const NAME: &'static str = "ip4-icmp-echo-reply";
    const DROP: &'static str = "ip4-drop";
    const PUNT: &'static str = "ip4-punt";
    type Next = To;
    type Trace = AnswerTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        let answer = Ipv4Header::view(b.data()).and_then(|ip| {
            let reply = IcmpHeader::view_at(b.data(), ip.header_len())?;
            Some(self.0.heard(ip, Says::Reply, reply))
        });
        self.0.hear(b, cx, answer)
    }
}

/// Errors about our ICMP messages.
pub struct PingError(Ears);

impl Build for PingError {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self(Ears::new(world))
    }
}

impl Node for PingError {
    const NAME: &'static str = "ip4-ping-error";
    const DROP: &'static str = "ip4-drop";
    const PUNT: &'static str = "ip4-punt";
    type Next = To;
    type Trace = AnswerTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        let answer = Ipv4Header::view(b.data()).and_then(|ip| {
            let error = IcmpHeader::view_at(b.data(), ip.header_len())?;
            let request = IcmpHeader::view(icmp::quoted(b.data())?.1)?;
            let says = Says::Error(error.kind, error.code, error.rest());
            (request.kind == Icmp4Type::ECHO_REQUEST.0).then(|| self.0.heard(ip, says, request))
        });
        self.0.hear(b, cx, answer)
    }
}
