// SPDX-License-Identifier: Apache-2.0
//! `arping6-input`: counts the neighbour advertisements that answer an arping, and where it detects
//! conflicts others' probes for the address; lets them pass.

use crate::waiters::Waiters;
use buffer::Buffer;
use graph::{Build, Cx, Head, Next, Node, ThreadIndex, Trace, World};
use net::Interfaces;
use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;
use wire::describe::{Layer, describe};
use wire::l4::{self, Verdict};
use wire::nd::{HOP_LIMIT, NdOptionKind, NdOptions, NeighborMessage, solicited_node};
use wire::{Ethernet, Header, Icmp6Type, IpHeader, IpProtocol, Ipv6Header, MacAddr, UpperLayer};

/// `arping6-input`.
pub struct Input6 {
    waiters: Arc<Waiters>,
    interfaces: Arc<Interfaces>,
}

#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
pub enum To {
    #[next_feature]
    Continue,
    /// neighbour advertisements that answer an arping
    #[count]
    #[counter("no error")]
    Reply,
}

/// The packet as it came.
#[derive(Clone, Copy)]
pub struct NdTrace(Head);

impl Trace for NdTrace {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", describe(self.0.bytes(), Layer::Ip6))
    }
}

impl Build for Input6 {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self { waiters: world.get(), interfaces: world.get() }
    }
}

/// Target and link-layer address of an advertisement that is sound (RFC 4861 7.1.2); with `probes`
/// also of a solicitation by a station that probes its target before it uses it (RFC 4862 5.4.3).
/// The nodes of these messages drop others by name.
#[inline(always)]
fn named(packet: &[u8], probes: bool) -> Option<(Ipv6Addr, Option<MacAddr>)> {
    let ip = Ipv6Header::view(packet)?;
    if ip.protocol() != IpProtocol::ICMP6 || ip.hop_limit != HOP_LIMIT {
        return None;
    }
    let upper = UpperLayer::find6(packet).ok()?;
    let (message, options) = NeighborMessage::split(packet.get(upper.offset..upper.end)?)?;
    let is_probe = probes
        && message.kind == Icmp6Type::NEIGHBOR_SOLICITATION.0
        && ip.src().is_unspecified()
        && ip.dst() == solicited_node(message.target());
    let is_sound = (is_probe || message.kind == Icmp6Type::NEIGHBOR_ADVERTISEMENT.0)
        && message.code == 0
        && !NdOptions::new(options).any(|option| option.is_err())
        && l4::verify(packet.get(..upper.end)?) == Ok(Verdict::Valid);
    let mac = NdOptions::new(options).link_address(NdOptionKind::TARGET_LINK).unwrap_or_default();
    is_sound.then(|| (message.target(), mac))
}

/// The source address of the frame around the packet.
#[inline(always)]
fn ethernet_source(b: &mut Buffer) -> Option<MacAddr> {
    let l2 = b.l2_len();
    if l2 < Ethernet::LEN || !b.rewind(l2) {
        return None;
    }
    let source = Ethernet::view(b.data()).map(|e| e.src);
    let pulled = b.pull(l2);
    debug_assert!(pulled);
    source
}

impl Node for Input6 {
    const NAME: &'static str = "arping6-input";
    type Next = To;
    type Trace = NdTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        if TRACED {
            cx.trace(b, NdTrace(Head::of(b)));
        }
        let Some(waiter) = self.waiters.of(b.rx_if, cx.turn) else { return To::Continue };
        let Some((target, mac)) = named(b.data(), waiter.detects_conflicts) else {
            return To::Continue;
        };
        if waiter.address != IpAddr::V6(target) {
            return To::Continue;
        }
        let Some(mac) = mac.or_else(|| ethernet_source(b)) else { return To::Continue };
        // Our own frame may come back.
        let view = self.interfaces.views(cx.turn).get(b.rx_if as usize).unwrap_or_default();
        if mac != view.mac {
            waiter.count(mac);
            cx.count(To::Reply, 1);
        }
        To::Continue
    }
}
