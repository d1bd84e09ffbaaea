// SPDX-License-Identifier: Apache-2.0
//! The nodes of a B4: `dslite-ce-encap` puts packets of IPv4 into IPv6 to the AFTR,
//! `dslite-ce-decap` takes those of the AFTR out (RFC 6333 5).

use crate::outer::{self, Payload};
use crate::settings::DsLite;
use buffer::{Buffer, Field, Flags};
use graph::{Build, Cx, Next, Node, ThreadIndex, Trace, World};
use ip::Ip;
use ip_reassembly::CustomNext;
use net::{IpMeta, L4, TableIndex};
use std::fmt;
use std::net::Ipv6Addr;
use std::sync::Arc;
use wire::icmp::code4;
use wire::{Icmp4Type, Ip4};

/// Names of the nodes.
pub const ENCAP: &str = "dslite-ce-encap";
pub const DECAP: &str = "dslite-ce-decap";

/// The ends of the tunnel of a packet.
#[derive(Clone, Copy)]
pub struct TunnelTrace(Ipv6Addr, Ipv6Addr);

impl Trace for TunnelTrace {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DSLITE_CE: {} -> {}", self.0, self.1)
    }
}

#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
pub enum ToAftr {
    #[next("ip6-lookup")]
    Lookup,
    /// packets put into IPv6
    #[count]
    #[counter("valid CE encap DS-Lite packets")]
    Valid,
    #[next("ip4-icmp-error", reason)]
    #[counter("time_exceeded")]
    /// time to live expired in front of the tunnel
    Expired,
    /// the ends of the tunnel aren't set any more
    #[drop]
    #[counter("no translation")]
    NoTranslation,
    /// super-packets can't be put into IPv6
    #[drop]
    #[counter("super-packet")]
    Super,
    /// no room for another header
    #[drop]
    #[counter("unknown")]
    Unknown,
}

#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
pub enum FromAftr {
    #[next("ip4-lookup")]
    Lookup,
    #[next("ip6-icmp-input")]
    Icmp,
    #[next("ip6-full-reassembly-custom")]
    Reassemble,
    /// packets taken out of IPv6
    #[count]
    #[counter("valid CE decap DS-Lite packets")]
    Valid,
    /// neither IPv4 nor ICMPv6 inside IPv6
    #[drop]
    #[counter("bad ip6 protocol")]
    BadProtocol,
    /// packet of another host than the AFTR (RFC 6333 11)
    #[drop]
    #[counter("no translation")]
    Stranger,
    /// super-packets can't be taken out of IPv6
    #[drop]
    #[counter("super-packet")]
    Super,
    /// malformed packet of IPv4 inside IPv6, or a congestion mark that it can't have
    #[drop]
    #[counter("unknown")]
    Malformed,
}

/// `dslite-ce-encap`.
pub struct Encap(Arc<DsLite>, Field<L4>);

impl Build for Encap {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self(world.get(), world.field())
    }
}

impl Node for Encap {
    const NAME: &'static str = ENCAP;
    const DROP: &'static str = "ip4-drop";
    type Next = ToAftr;
    type Trace = TunnelTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> ToAftr {
        let settings = self.0.settings(cx.turn);
        let (Some(b4), Some(aftr)) = (settings.b4, settings.aftr) else {
            return ToAftr::NoTranslation;
        };
        if b.flags.contains(Flags::GSO) {
            return ToAftr::Super;
        }
        // The router's own packets keep their time to live.
        if !b.flags.contains(Flags::LOCAL) && !Ip4::pass(b) {
            let (kind, code) = (Icmp4Type::TIME_EXCEEDED.0, code4::TTL_IN_TRANSIT);
            b.set_scratch(IpMeta::error(kind, code, 0));
            return ToAftr::Expired;
        }
        if !outer::put(b, (b4, aftr), TableIndex::DEFAULT, self.1) {
            return ToAftr::Unknown;
        }
        cx.trace(b, TunnelTrace(b4, aftr));
        cx.count(ToAftr::Valid, 1);
        ToAftr::Lookup
    }
}

/// `dslite-ce-decap`.
pub struct Decap(Arc<DsLite>, Field<L4>);

impl Build for Decap {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self(world.get(), world.field())
    }
}

impl Node for Decap {
    const NAME: &'static str = DECAP;
    const DROP: &'static str = "ip6-drop";
    type Next = FromAftr;
    type Trace = TunnelTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> FromAftr {
        let settings = self.0.settings(cx.turn);
        let Some((from, payload)) = outer::read(b) else { return FromAftr::Malformed };
        let at = match payload {
            Payload::Ip4(at) => at,
            Payload::Icmp => return FromAftr::Icmp,
            Payload::Fragment => {
                b.set_scratch(CustomNext { node: cx.node().0 });
                return FromAftr::Reassemble;
            }
            Payload::Other => return FromAftr::BadProtocol,
        };
        if settings.aftr != Some(from) {
            return FromAftr::Stranger;
        }
        if b.flags.contains(Flags::GSO) {
            return FromAftr::Super;
        }
        if !outer::take(b, at, self.1, cx.cache()) {
            return FromAftr::Malformed;
        }
        cx.trace(b, TunnelTrace(from, settings.b4.unwrap_or(Ipv6Addr::UNSPECIFIED)));
        cx.count(FromAftr::Valid, 1);
        b.tx_if = TableIndex::DEFAULT.0;
        b.flags.insert(Flags::TABLE);
        FromAftr::Lookup
    }
}
