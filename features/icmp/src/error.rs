// SPDX-License-Identifier: Apache-2.0
//! `ip4-icmp-error`, `ip6-icmp-error`: send an ICMP error about an undeliverable packet to its
//! source, and drop the packet for the reason that it came with.

use crate::compose::Message;
use crate::model::{ErrorHeader, Refusal};
use crate::rules;
use crate::sources::Sources;
use crate::version::{Class, Icmp};
use buffer::{Buffer, Flags};
use graph::{Build, Cx, Next, Node, ThreadIndex, World};
use ip::{ErrorLimit, IpTrace};
use net::IpMeta;
use std::sync::Arc;
use sync::TokenBucket;
use wire::{Header, IpHeader};

/// The ICMP error node. The previous node puts the error into the packet's [`IpMeta`], and leads
/// here by an edge with a reason (`#[next("{ip}-icmp-error", reason)]`); the packet starts at its
/// IP header.
pub struct IcmpError<F: Icmp> {
    limit: Arc<ErrorLimit<F>>,
    sources: Sources<F>,
    /// Token buckets, by [`Class`].
    buckets: [TokenBucket; 5],
    /// Errors have VPP's type of service and identification: zeros.
    plain: bool,
}

#[derive(Next, Clone, Copy)]
pub enum To {
    /// The packet itself: the node before has counted why it is dropped.
    #[next("{ip}-drop")]
    Dropped,
    /// destination unreachable response sent
    #[next("{ip}-lookup", count)]
    #[counter("dest_unreach_sent")]
    Unreachable,
    /// packet too big response sent
    #[next("{ip}-lookup", count)]
    #[counter("packet_too_big_sent")]
    TooBig,
    /// hop limit exceeded response sent
    #[next("{ip}-lookup", count)]
    #[counter("ttl_expire_sent")]
    TimeExceeded,
    /// parameter problem response sent
    #[next("{ip}-lookup", count)]
    #[counter("param_problem_sent")]
    ParameterProblem,
    /// redirect sent
    #[next("{ip}-lookup", count)]
    Redirect,
    /// no error about an ICMP error ({RFC 1812 4.3.2.7|RFC 4443 2.4})
    #[drop]
    IcmpError,
    /// no error about a fragment other than the first ({RFC 1812 4.3.2.7|RFC 4443 2.4})
    #[drop]
    Fragment,
    /// no error about a packet to several hosts ({RFC 1812 4.3.2.7|RFC 4443 2.4})
    #[drop]
    Broadcast,
    /// no error about a link-layer broadcast or multicast ({RFC 1812 4.3.2.7|RFC 4443 2.4})
    #[drop]
    LinkBroadcast,
    /// no error to a source that is no single host ({RFC 1812 4.3.2.7|RFC 4443 2.4})
    #[drop]
    Source,
    /// error rate limit reached ({RFC 1812 4.3.2.8|RFC 4443 2.4})
    #[drop]
    RateLimited,
    /// interface has no address to send errors from ({RFC 1812 4.3.2.4|RFC 4443 2.2})
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

impl<F: Icmp> Build for IcmpError<F> {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self {
            limit: world.get(),
            sources: Sources::new(world),
            buckets: Default::default(),
            plain: world.compat_vpp(),
        }
    }
}

impl<F: Icmp> IcmpError<F> {
    #[inline(always)]
    fn answer<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        let meta: IpMeta = b.scratch();
        let says =
            ErrorHeader { kind: meta.icmp_type(), code: meta.icmp_code(), rest: meta.icmp_rest };
        let Some(class) = F::class(says.kind) else { return To::UnknownError };
        let to = match class {
            Class::Unreachable => To::Unreachable,
            Class::TooBig => To::TooBig,
            Class::TimeExceeded => To::TimeExceeded,
            Class::ParameterProblem => To::ParameterProblem,
            Class::Redirect => To::Redirect,
        };
        let Some(&ip) = F::Header::view(b.data()) else { return To::TooShort };
        if ip.header_len() < F::HEADER_LEN
            || ip.packet_len() < ip.header_len()
            || b.packet_len() < ip.header_len()
        {
            return To::TooShort;
        }
        let (local, own) = (b.flags.contains(Flags::LOCAL), self.sources.own(b.rx_if, cx.turn));
        if let Err(refusal) = rules::check::<F>(b, 0, &ip, own, says) {
            return refusal.into();
        }
        let source = if local {
            // A packet of our own: the error goes to its own source address.
            Some(ip.src())
        } else if F::by_destination(says) && !meta.is_on_the_way() && !F::is_group(ip.dst(), own) {
            Some(ip.dst())
        } else {
            self.sources.to(b.rx_if, ip.src(), cx.turn)
        };
        let Some(source) = source else { return To::NoAddress };
        if !self.buckets[class as usize].take(cx.now(), self.limit.get(cx.turn)) {
            return To::RateLimited;
        }
        let id = (!self.plain).then(|| cx.random() as u16);
        let message = Message::about::<F>(b, 0, &ip, source, says, id);
        if class == Class::Redirect {
            // The packet is a copy made for the message: the original is forwarded.
            message.replace(b, cx.cache());
            return to;
        }
        // Without a buffer there is no message; the packet is dropped all the same.
        let Some(mut error) = cx.alloc_own() else { return To::Dropped };
        (error.rx_if, error.trace) = (b.rx_if, b.trace);
        error.flags.insert(b.flags & Flags::TRACED);
        message.replace(&mut error, cx.cache());
        if local {
            // Looked up in the FIB table that the packet was sent in.
            error.tx_if = meta.fib;
            error.flags.insert(Flags::TABLE);
        }
        if TRACED {
            // The first record of a node is the one that counts.
            cx.trace(b, IpTrace::<F>::of(&error));
        }
        cx.emit(to, error);
        To::Dropped
    }
}

impl<F: Icmp> Node for IcmpError<F> {
    const NAME: &'static str = "{ip}-icmp-error";
    const DROP: &'static str = "{ip}-drop";
    const PUNT: &'static str = "{ip}-punt";
    const V6: Option<bool> = Some(F::IS_V6);
    type Next = To;
    type Trace = IpTrace<F>;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        let to = self.answer(b, cx);
        if TRACED {
            cx.trace(b, IpTrace::<F>::of(b));
        }
        to
    }
}
