// SPDX-License-Identifier: Apache-2.0
//! `ip4-icmp-error`: a packet that can't be delivered becomes the message that says so to its source.

use crate::compose::{Message, Says};
use crate::limit::Bucket;
use crate::rules::{self, Refusal};
use crate::state::Icmp;
use buffer::{Buffer, Flags};
use graph::{Build, Cx, Head, Next, Node, SwIfIndex, ThreadIndex, Trace, World};
use net::{Addresses, IpMeta};
use std::fmt;
use std::sync::Arc;
use wire::describe::{Layer, describe};
use wire::icmp::code4;
use wire::{Header, Icmp4Type, Ip4, IpHeader, Ipv4Header};

/// Who sends a packet here says in its [`IpMeta`] what the error is; the packet starts at its IP header.
pub struct IcmpError {
    icmp: Arc<Icmp>,
    addresses: Arc<Addresses<Ip4>>,
    buckets: [Bucket; 4],
}

#[derive(Next, Clone, Copy)]
pub enum To {
    /// destination unreachable response sent
    #[next("ip4-lookup", count)]
    Unreachable,
    /// hop limit exceeded response sent
    #[next("ip4-lookup", count)]
    TimeExceeded,
    /// parameter problem response sent
    #[next("ip4-lookup", count)]
    ParameterProblem,
    /// redirect sent
    #[next("ip4-lookup", count)]
    Redirect,
    /// redirects are disabled on this interface
    #[drop]
    NoRedirects,
    /// no error about an ICMP error (RFC 1812 4.3.2.7)
    #[drop]
    IcmpError,
    /// no error about a fragment other than the first (RFC 1812 4.3.2.7)
    #[drop]
    Fragment,
    /// no error about a packet to several hosts (RFC 1812 4.3.2.7)
    #[drop]
    Broadcast,
    /// no error about a link-layer broadcast or multicast (RFC 1812 4.3.2.7)
    #[drop]
    LinkBroadcast,
    /// no error to a source that is no single host (RFC 1812 4.3.2.7)
    #[drop]
    Source,
    /// error rate limit reached (RFC 1812 4.3.2.8)
    #[drop]
    RateLimited,
    /// interface has no address to send errors from (RFC 1812 4.3.2.4)
    #[drop]
    NoAddress,
    /// packet is shorter than its IP header
    #[drop]
    TooShort,
    /// not an error that a router sends
    #[drop]
    UnknownError,
}

impl From<Refusal> for To {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::IcmpError => Self::IcmpError,
            Refusal::Fragment => Self::Fragment,
            Refusal::Broadcast => Self::Broadcast,
            Refusal::LinkBroadcast => Self::LinkBroadcast,
            Refusal::Source => Self::Source,
        }
    }
}

/// What leaves: the error, or the packet that none is sent about.
#[derive(Clone, Copy)]
pub struct ErrorTrace(Head);

impl Trace for ErrorTrace {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", describe(self.0.bytes(), Layer::Ip4))
    }
}

impl Build for IcmpError {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self { icmp: world.get(), addresses: world.get(), buckets: Default::default() }
    }
}

/// The host that the packet was for says so: it got there (RFC 1812 4.3.3.1; RFC 1122 3.2.2.1, 3.2.2.4).
fn by_destination(says: Says) -> bool {
    match Icmp4Type(says.kind) {
        Icmp4Type::UNREACHABLE => {
            matches!(says.code, code4::PROTOCOL_UNREACHABLE | code4::PORT_UNREACHABLE)
        }
        Icmp4Type::TIME_EXCEEDED => says.code == code4::REASSEMBLY,
        _ => false,
    }
}

impl IcmpError {
    #[inline(always)]
    fn answer<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        let meta: IpMeta = b.scratch();
        let says = Says { kind: meta.icmp_type(), code: meta.icmp_code(), rest: meta.icmp_rest };
        let (to, bucket) = match Icmp4Type(says.kind) {
            Icmp4Type::UNREACHABLE => (To::Unreachable, 0),
            Icmp4Type::TIME_EXCEEDED => (To::TimeExceeded, 1),
            Icmp4Type::PARAMETER_PROBLEM => (To::ParameterProblem, 2),
            Icmp4Type::REDIRECT => (To::Redirect, 3),
            _ => return To::UnknownError,
        };
        let Some(&ip) = Ipv4Header::view(b.data()) else { return To::TooShort };
        if ip.header_len() < 20 || ip.packet_len() < ip.header_len() || b.packet_len() < ip.header_len() {
            return To::TooShort;
        }
        let applied = self.icmp.applied(cx.turn);
        if bucket == 3 && applied.settings.no_redirects.contains(&SwIfIndex(b.rx_if)) {
            return To::NoRedirects;
        }
        let (local, own) = (b.flags.has(Flags::LOCAL), self.addresses.of(b.rx_if, cx.turn));
        if let Err(refusal) = rules::check(b, 0, &ip, own) {
            return refusal.into();
        }
        let source = if local {
            // Our own packet: we tell ourselves.
            Some(ip.src())
        } else if by_destination(says) {
            Some(ip.dst())
        } else {
            rules::source(own, ip.src())
        };
        let Some(source) = source else { return To::NoAddress };
        if !self.buckets[bucket].take(cx.now(), applied.limit) {
            return To::RateLimited;
        }
        let id = cx.random() as u16;
        Message::about(b, 0, &ip, source, says, id).replace(b, cx.cache());
        if local {
            // Back in the table that the packet went out in.
            b.tx_if = meta.fib;
            b.flags.set(Flags::TABLE);
        }
        to
    }
}

impl Node for IcmpError {
    const NAME: &'static str = "ip4-icmp-error";
    const DROP: &'static str = "ip4-drop";
    const PUNT: &'static str = "ip4-punt";
    type Next = To;
    type Trace = ErrorTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        let to = self.answer(b, cx);
        if TRACED {
            cx.trace(b, ErrorTrace(Head::of(b)));
        }
        to
    }
}
