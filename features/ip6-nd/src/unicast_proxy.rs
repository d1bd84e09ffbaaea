// SPDX-License-Identifier: Apache-2.0
//! `ip6-unicast-nd-proxy`: solicitations by unicast for a host that we answer for are answered, not
//! routed.

use crate::local::{LocalAddresses, Role};
use crate::proxy::Routed;
use buffer::Buffer;
use graph::{Build, Cx, Next, Node, ThreadIndex, World};
use net::Interfaces;
use std::sync::Arc;
use wire::nd::{HOP_LIMIT, NeighborMessage};
use wire::{Header, Icmp6Type, IpProtocol, Ipv6Header};

pub struct UnicastProxy {
    interfaces: Arc<Interfaces>,
    local: Arc<LocalAddresses>,
    routed: Routed,
}

#[derive(Next, Clone, Copy)]
pub enum To {
    /// A question: it is checked as all messages are.
    #[next("ip6-icmp-input")]
    ReceivedSolicitation,
    #[next_feature]
    Continue,
}

impl Build for UnicastProxy {
    fn build(world: &World, thread: ThreadIndex) -> Self {
        Self { interfaces: world.get(), local: world.get(), routed: Routed::build(world, thread) }
    }
}

impl Node for UnicastProxy {
    const NAME: &'static str = "ip6-unicast-nd-proxy";
    type Next = To;
    type Trace = ();

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        let Some((ip, rest)) = Ipv6Header::split(b.data()) else { return To::Continue };
        if ip.next_header != IpProtocol::ICMP6 || ip.hop_limit != HOP_LIMIT {
            return To::Continue;
        }
        let message =
            NeighborMessage::view(rest).filter(|m| m.kind == Icmp6Type::NEIGHBOR_SOLICITATION.0);
        let Some(message) = message else { return To::Continue };
        let (rx_if, target) = (b.rx_if, message.target());
        let Some(here) = self.local.of(rx_if, cx.turn) else { return To::Continue };
        let view = self.interfaces.views(cx.turn).get(rx_if as usize).unwrap_or_default();
        let local = here.role(target) == Some(Role::Proxy)
            || here.proxies_all && self.routed.elsewhere(&view, rx_if, target, cx.turn);
        if local { To::ReceivedSolicitation } else { To::Continue }
    }
}
