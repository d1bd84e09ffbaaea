// SPDX-License-Identifier: Apache-2.0
//! `dns46_reply`: responses of servers, of both IP versions, go to control.

use crate::control::Dns;
use crate::received::{Bytes, Response, ends};
use crate::request::DnsTrace;
use buffer::Buffer;
use graph::{Build, Cx, Head, Next, Node, ThreadIndex, World};
use std::sync::Arc;
use wire::dns::{DnsHeader, PORT};
use wire::{Header, Ip4, Ip6};

/// `dns46_reply`.
pub struct ReplyInput(Arc<Dns>);

#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
pub enum To {
    /// Control reads the response.
    #[free]
    Taken,
    /// DNS responses taken
    #[count]
    #[counter("DNS reply pkts processed")]
    Processed,
    /// message is no response, or longer than it may be
    #[drop]
    #[counter("DNS format errors")]
    Format,
    /// sender is none of the name servers
    #[drop]
    #[counter("No unresolved entry for pkt")]
    NoElement,
    /// control is too far behind to read responses
    #[drop]
    Busy,
}

impl Build for ReplyInput {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self(world.get())
    }
}

impl Node for ReplyInput {
    const NAME: &'static str = "dns46_reply";
    type Next = To;
    type Trace = DnsTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        if TRACED {
            cx.trace(b, DnsTrace(Head::of(b)));
        }
        let ends = match version(b) {
            4 => ends::<Ip4>(b),
            _ => ends::<Ip6>(b),
        };
        let Some(ends) = ends else { return To::Format };
        if ends.from.port() != PORT || !self.0.is_server(ends.from.ip(), cx.turn) {
            return To::NoElement;
        }
        if DnsHeader::view(b.data()).is_none_or(|header| !header.has(DnsHeader::RESPONSE)) {
            return To::Format;
        }
        let Some(bytes) = Bytes::of(b) else { return To::Format };
        if !self.0.post_response(Response { server: ends.from.ip(), own: ends.to, bytes }) {
            return To::Busy;
        }
        cx.count(To::Processed, 1);
        To::Taken
    }
}

/// The version of the IP header in front of the payload; 0 without one.
#[inline(always)]
fn version(b: &mut Buffer) -> u8 {
    let back = b.l3_len();
    if !b.rewind(back) {
        return 0;
    }
    let version = b.data().first().map_or(0, |first| first >> 4);
    let pulled = b.pull(back);
    debug_assert!(pulled, "these bytes are there");
    version
}
