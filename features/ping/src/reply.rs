// SPDX-License-Identifier: Apache-2.0
//! `ip4-icmp-echo-reply`, `ip4-ping-error`, and those of IPv6: answers go to the command that waits
//! for them.

use crate::sessions::{Response, ResponseKind, Sessions};
use buffer::Buffer;
use graph::{Build, Clock, Cx, Head, Next, Node, ThreadIndex, Trace, World};
use icmp::Icmp;
use net::Interfaces;
use net::TooBig;
use path_mtu::Learner;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use wire::describe::describe;
use wire::{Header, IcmpHeader, IpHeader, UpperLayer};

/// Receiver of replies and errors: state that both nodes share.
struct Replies<F> {
    sessions: Arc<Sessions>,
    clock: Arc<Clock>,
    version: PhantomData<F>,
}

#[derive(Next, Clone, Copy)]
pub enum To {
    /// The command has what it needs.
    #[free]
    Answered,
    /// no ping waits for this answer
    #[punt]
    Unknown,
    /// the ping doesn't keep up with the answers
    #[drop]
    Full,
}

/// The answer.
#[derive(Clone, Copy)]
pub struct AnswerTrace<F> {
    head: Head,
    id: u16,
    response: bool,
    version: PhantomData<F>,
}

impl<F: Icmp> Trace for AnswerTrace<F> {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let who = if self.response { "a ping waits for it" } else { "no ping waits for it" };
        write!(f, "ICMP id {}: {who}\n{}", self.id, describe(self.head.bytes(), F::LAYER))
    }
}

impl<F: Icmp> Replies<F> {
    fn new(world: &World) -> Self {
        Self { sessions: world.get(), clock: world.clock.clone(), version: PhantomData }
    }

    #[inline(always)]
    fn hear<const TRACED: bool>(
        &self,
        b: &Buffer,
        cx: &mut Cx<'_, TRACED>,
        answer: Option<(u16, Response)>,
    ) -> To {
        let to = match answer {
            Some((id, response)) => match self.sessions.find(id, cx.turn) {
                Some(session) if session.leave(response) => To::Answered,
                Some(_) => To::Full,
                None => To::Unknown,
            },
            None => To::Unknown,
        };
        if TRACED {
            let id = answer.map_or(0, |(id, _)| id);
            let response = matches!(to, To::Answered);
            cx.trace(b, AnswerTrace::<F> { head: Head::of(b), id, response, version: PhantomData });
        }
        to
    }

    /// Identifier and record of an answer, from its headers; `kind` is the caller's.
    #[inline(always)]
    fn response(
        &self,
        ip: &F::Header,
        at: usize,
        kind: ResponseKind,
        request: &IcmpHeader,
    ) -> (u16, Response) {
        let len = ip.packet_len().saturating_sub(at) as u16;
        let (from, ttl) = (ip.src().into(), ip.ttl());
        let response =
            Response { at: self.clock.now(), from, kind, seq: request.seq.get(), len, ttl };
        (request.id.get(), response)
    }
}

/// The IP header, and where the ICMP message begins.
#[inline(always)]
fn message<F: Icmp>(b: &Buffer) -> Option<(&F::Header, usize)> {
    Some((F::Header::view(b.data())?, UpperLayer::of::<F>(b.data()).ok()?.offset))
}

/// Echo replies.
pub struct EchoReply<F>(Replies<F>);

impl<F: Icmp> Build for EchoReply<F> {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self(Replies::new(world))
    }
}

impl<F: Icmp> Node for EchoReply<F> {
    const NAME: &'static str = "{ip}-icmp-echo-reply";
    const DROP: &'static str = "{ip}-drop";
    const PUNT: &'static str = "{ip}-punt";
    const V6: Option<bool> = Some(F::IS_V6);
    type Next = To;
    type Trace = AnswerTrace<F>;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        let answer = message::<F>(b).and_then(|(ip, at)| {
            let reply = IcmpHeader::view_at(b.data(), at)?;
            Some(self.0.response(ip, at, ResponseKind::Reply, reply))
        });
        self.0.hear(b, cx, answer)
    }
}

/// Errors about our ICMP messages.
pub struct PingError<F: Icmp> {
    replies: Replies<F>,
    interfaces: Arc<Interfaces>,
    learner: Arc<Learner<F>>,
}

impl<F: Icmp> Build for PingError<F> {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self { replies: Replies::new(world), interfaces: world.get(), learner: world.get() }
    }
}

impl<F: Icmp> PingError<F> {
    /// Learns the path MTU from an error about a message of ours: the next messages will fit. The
    /// session proves that a request was ours. Replies to others prove only that their source
    /// is our address, so errors about replies of IPv4, which routers fragment anyway, are not
    /// believed.
    #[cold]
    fn learn<const TRACED: bool>(
        &self,
        b: &Buffer,
        error: &IcmpHeader,
        cx: &Cx<'_, TRACED>,
    ) -> Option<()> {
        let quote = icmp::quoted::<F>(b.data())?;
        let message = IcmpHeader::view(quote.inner)?;
        let table = match message.kind {
            kind if kind == F::ECHO_REQUEST => {
                let session = self.replies.sessions.find(message.id.get(), cx.turn)?;
                (session.to == quote.ip.dst().into()).then_some(session.table)?
            }
            kind if F::IS_V6 && kind == F::ECHO_REPLY => {
                F::table_of(&self.interfaces.views(cx.turn).get(b.rx_if as usize)?)
            }
            _ => return None,
        };
        let mtu = if F::IS_V6 { error.rest() } else { error.rest() & 0xffff };
        self.learner.post(TooBig {
            table: table.0,
            to: quote.ip.dst(),
            len: quote.ip.packet_len(),
            mtu,
        });
        Some(())
    }
}

impl<F: Icmp> Node for PingError<F> {
    const NAME: &'static str = "{ip}-ping-error";
    const DROP: &'static str = "{ip}-drop";
    const PUNT: &'static str = "{ip}-punt";
    const V6: Option<bool> = Some(F::IS_V6);
    type Next = To;
    type Trace = AnswerTrace<F>;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        let answer = message::<F>(b).and_then(|(ip, at)| {
            let error = IcmpHeader::view_at(b.data(), at)?;
            if (error.kind, error.code) == F::ERRORS.too_big {
                self.learn(b, error, cx);
            }
            let request = IcmpHeader::view(icmp::quoted::<F>(b.data())?.inner)?;
            let kind = ResponseKind::Error(error.kind, error.code, error.rest());
            (request.kind == F::ECHO_REQUEST).then(|| self.replies.response(ip, at, kind, request))
        });
        self.replies.hear(b, cx, answer)
    }
}
