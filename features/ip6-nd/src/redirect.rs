// SPDX-License-Identifier: Apache-2.0
//! `ip6-nd-redirect`: makes a redirect of the copy of a packet that leaves where it came in, and
//! sends it to the source (RFC 4861 8.2).

use crate::compose::write_header;
use crate::local::LocalAddresses;
use crate::trace::NdTrace;
use buffer::{Buffer, Flags};
use graph::{Build, Cx, Head, Next, Node, ThreadIndex, World};
use net::{Adj, AdjKind, Adjacencies, IpMeta};
use std::net::Ipv6Addr;
use std::sync::Arc;
use wire::nd::{LinkOption, NdOptionKind, Redirect};
use wire::{Header, Icmp6Type, IpHeader, Ipv6Header, MacAddr, U16, U32};
use zerocopy::IntoBytes;

/// Bytes of a redirect at most, its IPv6 header included.
const MAX_LEN: usize = 1280;
/// Offset of its options.
const OPTIONS: usize = Ipv6Header::LEN + Redirect::LEN;

pub struct Redirecting {
    adjacencies: Arc<Adjacencies>,
    local: Arc<LocalAddresses>,
}

#[derive(Next, Clone, Copy)]
pub enum To {
    /// redirect sent
    #[next("ip6-lookup", count)]
    Sent,
    /// packet is shorter than an IPv6 header
    #[drop]
    TooShort,
    /// adjacency is gone
    #[drop]
    NoAdjacency,
    /// source or destination of the packet is not that of one host
    #[drop]
    NotUnicast,
    /// next hop is not known by its link-local address
    #[drop]
    NoTarget,
    /// interface has no link-local address to send a redirect from
    #[drop]
    NoSource,
}

impl Build for Redirecting {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self { adjacencies: world.get(), local: world.get() }
    }
}

/// Station of the next hop, if it is known.
fn station(adj: &Adj) -> Option<MacAddr> {
    let rewrite = adj.rewrite();
    (adj.kind == AdjKind::Rewrite).then(|| rewrite.first_chunk().copied().map(MacAddr)).flatten()
}

/// A redirect from `from` about a packet with the header `about`: its bytes, and their number.
fn compose(
    from: Ipv6Addr,
    about: &Ipv6Header,
    target: Ipv6Addr,
    mac: Option<MacAddr>,
    packet: &[u8],
) -> ([u8; MAX_LEN], usize) {
    let mut bytes = [0; MAX_LEN];
    let fixed = Redirect {
        kind: Icmp6Type::REDIRECT.0,
        code: 0,
        checksum: U16::ZERO,
        reserved: U32::ZERO,
        target: target.octets(),
        destination: about.dst,
    };
    bytes[Ipv6Header::LEN..OPTIONS].copy_from_slice(fixed.as_bytes());
    let mut len = OPTIONS;
    if let Some(mac) = mac {
        let option = LinkOption::new(NdOptionKind::TARGET_LINK, mac);
        bytes[len..len + LinkOption::LEN].copy_from_slice(option.as_bytes());
        len += LinkOption::LEN;
    }
    // As much of the packet as there is room for, in units of 8 bytes.
    let quoted = packet.len().min(about.packet_len()).min(MAX_LEN - len - 8) & !7;
    bytes[len] = NdOptionKind::REDIRECTED.0;
    bytes[len + 1] = (quoted / 8 + 1) as u8;
    bytes[len + 8..len + 8 + quoted].copy_from_slice(&packet[..quoted]);
    len += 8 + quoted;
    write_header(&mut bytes[..len], from, about.src());
    (bytes, len)
}

impl Redirecting {
    fn make<const TRACED: bool>(&self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        let meta: IpMeta = b.scratch();
        let Some(&about) = Ipv6Header::view(b.data()) else { return To::TooShort };
        let Some(adj) = self.adjacencies.get(meta.adj(), cx.turn) else { return To::NoAdjacency };
        if about.dst().is_multicast() || about.src().is_unspecified() || about.src().is_multicast()
        {
            return To::NotUnicast;
        }
        let target: Ipv6Addr = adj.nexthop_as();
        if target != about.dst() && !target.is_unicast_link_local() {
            return To::NoTarget;
        }
        let from = self.local.of(b.rx_if, cx.turn).and_then(|here| here.link_local());
        let Some(from) = from else { return To::NoSource };
        let (bytes, len) = compose(from, &about, target, station(adj), b.data());
        b.drop_segments(cx.cache());
        let fits = b.set_data(&bytes[..len]);
        debug_assert!(fits, "a redirect is shorter than a buffer");
        b.flags &= Flags::TRACED;
        b.flags.insert(Flags::LOCAL | Flags::L4_CSUM_OK);
        b.mark_l3();
        (b.tx_if, b.flow_hash) = (u32::MAX, 0);
        To::Sent
    }
}

impl Node for Redirecting {
    const NAME: &'static str = "ip6-nd-redirect";
    const DROP: &'static str = "ip6-drop";
    type Next = To;
    type Trace = NdTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        let to = self.make(b, cx);
        if TRACED {
            cx.trace(b, NdTrace(Head::of(b)));
        }
        to
    }
}
