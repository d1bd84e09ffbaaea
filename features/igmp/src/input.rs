// SPDX-License-Identifier: Apache-2.0
//! `igmp-input`, `igmp-parse-query`, `igmp-parse-report`: check messages and pass them to control.

use crate::control::{Igmp, WAITING};
use crate::message::Message;
use buffer::Buffer;
use graph::{Build, Cx, Next, Node, ThreadIndex, Trace, World};
use std::fmt;
use std::marker::PhantomData;
use std::net::Ipv4Addr;
use std::sync::Arc;
use wire::checksum::Sum;
use wire::igmp::{Igmp3Report, IgmpMessage, IgmpQuery, IgmpType};
use wire::{Header, IpHeader, Ipv4Header, UpperLayer};

/// The message behind the header of a packet, and the packet's sender.
#[inline(always)]
fn message(packet: &[u8]) -> Option<(Ipv4Addr, &[u8])> {
    let ip = Ipv4Header::view(packet)?;
    let upper = UpperLayer::find4(packet).ok()?;
    Some((ip.src(), packet.get(upper.offset..upper.end)?))
}

/// Type and group of a message.
#[derive(Clone, Copy)]
pub struct IgmpTrace(Option<(u8, Ipv4Addr)>);

impl IgmpTrace {
    fn of(packet: &[u8]) -> Self {
        let head = message(packet).and_then(|(_, message)| IgmpMessage::view(message));
        Self(head.map(|head| (head.kind, head.group())))
    }
}

impl Trace for IgmpTrace {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some((0x11, group)) => write!(f, "IGMP query for {group}"),
            Some((0x22, _)) => f.write_str("IGMP version 3 report"),
            Some((kind, group)) => write!(f, "IGMP type 0x{kind:02x} group {group}"),
            None => f.write_str("IGMP, too short"),
        }
    }
}

/// `igmp-input`.
pub struct IgmpInput(Arc<Igmp>);

#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
pub enum To {
    #[next("igmp-parse-query")]
    Query,
    #[next("igmp-parse-report")]
    Report,
    /// messages that are read
    #[count]
    #[counter("valid igmp packets")]
    Valid,
    /// IGMP isn't enabled on this interface
    #[drop]
    #[counter("IGMP not enabled on this interface")]
    NotEnabled,
    /// message is shorter than its type needs, or longer than one packet
    #[drop]
    #[counter("bad length")]
    Length,
    /// checksum is wrong
    #[drop]
    #[counter("bad checksum")]
    Checksum,
    /// no known type of message
    #[drop]
    #[counter("unknown igmp message type")]
    UnknownType,
}

impl Build for IgmpInput {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self(world.get())
    }
}

impl Node for IgmpInput {
    const NAME: &'static str = "igmp-input";
    type Next = To;
    type Trace = IgmpTrace;

    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        if TRACED {
            cx.trace(b, IgmpTrace::of(b.data()));
        }
        if self.0.mailbox(b.rx_if, cx.turn).is_none() {
            return To::NotEnabled;
        }
        // A message of several buffers would be longer than the longest that is read.
        let Some((_, message)) = message(b.data()) else { return To::Length };
        let Some(head) = IgmpMessage::view(message) else { return To::Length };
        if !Sum::of(message).is_valid() {
            return To::Checksum;
        }
        let to = match head.kind() {
            IgmpType::QUERY => To::Query,
            IgmpType::REPORT1 | IgmpType::REPORT2 | IgmpType::REPORT3 | IgmpType::LEAVE => {
                To::Report
            }
            _ => return To::UnknownType,
        };
        cx.count(To::Valid, 1);
        to
    }
}

/// A kind of message that has a node of its own.
pub trait Parsed: Send + 'static {
    /// The node's name.
    const NAME: &'static str;
    /// Returns true if a message is whole.
    fn is_whole(message: &[u8]) -> bool;
}

/// Queries.
pub struct Query;

impl Parsed for Query {
    const NAME: &'static str = "igmp-parse-query";

    fn is_whole(message: &[u8]) -> bool {
        IgmpQuery::read(message).is_some()
    }
}

/// Reports and leaves.
pub struct Report;

impl Parsed for Report {
    const NAME: &'static str = "igmp-parse-report";

    fn is_whole(message: &[u8]) -> bool {
        let Some(head) = IgmpMessage::view(message) else { return false };
        head.kind() != IgmpType::REPORT3 || Igmp3Report::records(message).is_some()
    }
}

/// `igmp-parse-query`, `igmp-parse-report`.
pub struct Parse<P> {
    igmp: Arc<Igmp>,
    kind: PhantomData<P>,
}

#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
pub enum ParseTo {
    /// The message waits in the interface's queue.
    #[free]
    Noted,
    /// messages that control reads
    #[count]
    #[counter("valid igmp packets")]
    Valid,
    /// IGMP isn't enabled on this interface
    #[drop]
    #[counter("IGMP not enabled on this interface")]
    NotEnabled,
    /// message is shorter than its fields tell, or longer than one packet
    #[drop]
    #[counter("bad length")]
    Length,
    /// control is too far behind to take note
    #[drop]
    Busy,
}

impl<P> Build for Parse<P> {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self { igmp: world.get(), kind: PhantomData }
    }
}

impl<P: Parsed> Node for Parse<P> {
    const NAME: &'static str = P::NAME;
    type Next = ParseTo;
    type Trace = IgmpTrace;

    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> ParseTo {
        if TRACED {
            cx.trace(b, IgmpTrace::of(b.data()));
        }
        let Some(mailbox) = self.igmp.mailbox(b.rx_if, cx.turn) else {
            return ParseTo::NotEnabled;
        };
        // A full queue is looked at first: the message isn't copied then, and control isn't woken.
        if mailbox.len() >= WAITING {
            return ParseTo::Busy;
        }
        let Some((from, message)) = message(b.data()) else { return ParseTo::Length };
        if !P::is_whole(message) {
            return ParseTo::Length;
        }
        let Some(message) = Message::new(from, message) else { return ParseTo::Length };
        if mailbox.post(message).is_err() {
            return ParseTo::Busy;
        }
        self.igmp.signal.raise();
        cx.count(ParseTo::Valid, 1);
        ParseTo::Noted
    }
}
