// SPDX-License-Identifier: Apache-2.0
//! `ip4-icmp-echo-request`, `ip6-icmp-echo-request`: the request becomes the reply, in place (RFC
//! 1812 4.3.3.6, RFC 4443 4.2).

use crate::sources::Sources;
use crate::state::State;
use crate::version::Icmp;
use buffer::{Buffer, Flags};
use graph::{Build, Cx, Next, Node, ThreadIndex, World};
use ip::IpTrace;
use net::IpMeta;
use std::sync::Arc;
use wire::{Address, Header, IcmpHeader, IpHeader, U16, UpperLayer};

pub struct EchoRequest<F: Icmp> {
    state: Arc<State<F>>,
    sources: Sources<F>,
}

#[derive(Next, Clone, Copy)]
pub enum To {
    /// echo replies sent
    #[next("{ip}-lookup", count)]
    #[counter("echo_replies_sent")]
    Replied,
    /// echo requests are not answered
    #[drop]
    Disabled,
    /// echo request to several hosts ignored{ (RFC 1122 3.2.2.6)|}
    #[drop]
    Broadcast,
    /// echo request from what is no single host
    #[drop]
    Source,
    /// echo request with a source route
    #[drop]
    SourceRoute,
    /// interface has no address to answer from
    #[drop]
    NoAddress,
    /// payload length too small for type
    #[drop]
    #[counter("length_too_small_for_type")]
    TooShort,
}

impl<F: Icmp> Build for EchoRequest<F> {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self { state: world.get(), sources: Sources::new(world) }
    }
}

impl<F: Icmp> EchoRequest<F> {
    #[inline(always)]
    fn reply<const TRACED: bool>(&self, b: &mut Buffer, cx: &Cx<'_, TRACED>) -> To {
        let settings = self.state.applied(cx.turn);
        if !settings.echo {
            return To::Disabled;
        }
        let (flags, own) = (b.flags, self.sources.own(b.rx_if, cx.turn));
        let Some(&ip) = F::Header::view(b.data()) else { return To::TooShort };
        let Ok(UpperLayer { offset: at, .. }) = UpperLayer::of::<F>(b.data()) else {
            return To::TooShort;
        };
        let (peer, asked) = (ip.src(), ip.dst());
        if F::is_routed(b.data()) {
            return To::SourceRoute;
        }
        if !F::is_host(peer, own) {
            return To::Source;
        }
        let to_link = flags.intersects(Flags::L2_BROADCAST | Flags::L2_MULTICAST);
        let group = F::is_group(asked, own);
        // Ignoring and answering are both allowed (RFC 1122 3.2.2.6). Groups answer hosts of the
        // link, as in VPP: the replies stay there, so that a spoofed source can't multiply
        // them elsewhere (RFC 2644).
        let near = asked.multicast()
            && !flags.contains(Flags::L2_BROADCAST)
            && own.iter().any(|p| p.contains(peer));
        let several = (to_link || group) && !settings.echo_broadcast && (F::ECHO_GROUPS || !near);
        if several || group && !F::is_member(asked, own) {
            return To::Broadcast;
        }
        // The reply comes from the requested address, unless that is a group.
        let from = if group { self.sources.to(b.rx_if, peer, cx.turn) } else { Some(asked) };
        let Some(from) = from else { return To::NoAddress };

        let Some(icmp) = IcmpHeader::view_at_mut(b.data_mut(), at) else { return To::TooShort };
        icmp.kind = F::ECHO_REPLY;
        // A partial checksum is summed up later, over the type as well.
        if !flags.contains(Flags::CSUM_PARTIAL) {
            icmp.checksum = U16::new(F::reply_sum(icmp.checksum.get(), asked, from));
        }
        if F::turn(b, at, from).is_none() {
            return To::TooShort;
        }

        b.flags.remove(Flags::L2_BROADCAST | Flags::L2_MULTICAST | Flags::VLAN);
        b.flags.insert(Flags::LOCAL | Flags::IP4_CSUM_OK);
        (b.tx_if, b.flow_hash) = (u32::MAX, 0);
        if flags.contains(Flags::LOCAL) {
            // A request of our own: the reply is looked up in the FIB table that the request was
            // sent in.
            b.tx_if = b.scratch::<IpMeta>().fib;
            b.flags.insert(Flags::TABLE);
        }
        To::Replied
    }
}

impl<F: Icmp> Node for EchoRequest<F> {
    const NAME: &'static str = "{ip}-icmp-echo-request";
    const DROP: &'static str = "{ip}-drop";
    const PUNT: &'static str = "{ip}-punt";
    const V6: Option<bool> = Some(F::IS_V6);
    type Next = To;
    type Trace = IpTrace<F>;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        let to = self.reply(b, cx);
        if TRACED {
            cx.trace(b, IpTrace::<F>::of(b));
        }
        to
    }
}
