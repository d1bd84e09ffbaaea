// SPDX-License-Identifier: Apache-2.0
//! `icmp6-multicast-listener-query`: takes routers' queries for listeners (RFC 3810 5.1, RFC 2710
//! 3).

use crate::mld::{Listener, Query};
use crate::trace::NdTrace;
use buffer::Buffer;
use graph::{Build, Cx, Head, Next, Node, ThreadIndex, World};
use std::sync::Arc;
use wire::mld::MldMessage;
use wire::{ExtHeaders, Header, IpHeader, Ipv6Header};

pub struct ListenerQuery {
    listener: Arc<Listener>,
}

#[derive(Next, Clone, Copy)]
pub enum To {
    /// The question was passed on.
    #[free]
    Noted,
    /// query is shorter than its version wants
    #[drop]
    #[counter("length_too_small_for_type")]
    TooShort,
    /// hop limit is not 1
    #[drop]
    #[counter("invalid_hop_limit_for_type")]
    HopLimit,
    /// source is not link-local
    #[drop]
    Source,
    /// control is too far behind to take note
    #[drop]
    Busy,
}

impl Build for ListenerQuery {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self { listener: world.get() }
    }
}

impl ListenerQuery {
    #[inline(always)]
    fn classify(&self, b: &Buffer) -> To {
        let data = b.data();
        let Some(ip) = Ipv6Header::view(data) else { return To::TooShort };
        if ip.hop_limit != 1 {
            return To::HopLimit;
        }
        if !ip.src().is_unicast_link_local() {
            return To::Source;
        }
        let mut walk = ExtHeaders::new(data);
        walk.by_ref().for_each(drop);
        let len = ip.packet_len().saturating_sub(walk.offset());
        let version1 = len == MldMessage::LEN;
        let Some(query) = MldMessage::view_at(data, walk.offset()) else { return To::TooShort };
        if !version1 && len < MldMessage::QUERY2_LEN {
            return To::TooShort;
        }
        let (group, within) = (query.group(), query.max_response_ms());
        let posted = self.listener.post(Query { sw_if: b.rx_if, group, within, version1 });
        if posted { To::Noted } else { To::Busy }
    }
}

impl Node for ListenerQuery {
    const NAME: &'static str = "icmp6-multicast-listener-query";
    const DROP: &'static str = "ip6-drop";
    type Next = To;
    type Trace = NdTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        if TRACED {
            cx.trace(b, NdTrace(Head::of(b)));
        }
        self.classify(b)
    }
}
