// SPDX-License-Identifier: Apache-2.0
//! `vrrp6-nd-input`: the master answers neighbour solicitations for addresses of virtual routers
//! by their MAC address (RFC 9568 8.2.2), a backup doesn't answer.

use crate::control::Vrrp;
use buffer::{Buffer, Flags};
use graph::{Build, Cx, Head, Next, Node, NodeIndex, ThreadIndex, Trace, World};
use ip6_nd::compose::{PACKET, packet};
use net::Interfaces;
use std::fmt;
use std::net::Ipv6Addr;
use std::sync::Arc;
use wire::describe::{Layer, describe};
use wire::l4::{self, Verdict};
use wire::nd::{ALL_NODES, HOP_LIMIT, NdOptionKind, NdOptions, NeighborMessage};
use wire::{
    EtherType, Ethernet, Header, Icmp6Type, IpHeader, IpProtocol, Ipv6Header, MacAddr, UpperLayer,
};

pub struct NdAnswer {
    vrrp: Arc<Vrrp>,
    interfaces: Arc<Interfaces>,
}

#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
pub enum To {
    /// The answer leaves by the interface that received the solicitation.
    #[dynamic]
    Output(NodeIndex),
    #[next_feature]
    Continue,
    /// solicitations answered by the master
    #[count]
    #[counter("VRRP packets processed")]
    Processed,
    /// the address is a virtual router's whose master is another router
    #[drop]
    Backup,
    /// no room for the Ethernet header of the answer
    #[drop]
    NoHeader,
}

/// The packet as it came.
#[derive(Clone, Copy)]
pub struct NdTrace(Head);

impl Trace for NdTrace {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", describe(self.0.bytes(), Layer::Ip6))
    }
}

/// A solicitation that is well-formed.
struct Solicitation {
    src: Ipv6Addr,
    target: Ipv6Addr,
    /// The sender's address on the link, if the message tells it.
    mac: Option<MacAddr>,
}

impl Build for NdAnswer {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self { vrrp: world.get(), interfaces: world.get() }
    }
}

/// The target of a solicitation; the message isn't checked yet.
#[inline(always)]
fn target(packet: &[u8]) -> Option<Ipv6Addr> {
    let ip = Ipv6Header::view(packet)?;
    if ip.protocol() != IpProtocol::ICMP6 {
        return None;
    }
    let message = NeighborMessage::view_at(packet, Ipv6Header::LEN)?;
    (message.kind == Icmp6Type::NEIGHBOR_SOLICITATION.0).then(|| message.target())
}

/// Checks a solicitation (RFC 4861 7.1.1). Others go to the node of solicitations, which drops
/// them by name.
fn check(packet: &[u8]) -> Option<Solicitation> {
    let ip = Ipv6Header::view(packet)?;
    let upper = UpperLayer::find6(packet).ok()?;
    let (message, options) = NeighborMessage::split(packet.get(upper.offset..upper.end)?)?;
    let is_good = ip.hop_limit == HOP_LIMIT
        && message.code == 0
        && !NdOptions::new(options).any(|option| option.is_err())
        && l4::verify(packet.get(..upper.end)?) == Ok(Verdict::Valid);
    let src = ip.src();
    let mac = NdOptions::new(options).link_address(NdOptionKind::SOURCE_LINK).unwrap_or_default();
    let is_station = mac.is_none_or(|mac| mac.is_unicast() && !mac.is_zero());
    // A probe from no address has no link-layer address.
    let is_sound = if src.is_unspecified() { mac.is_none() } else { !src.is_multicast() };
    (is_good && is_station && is_sound).then(|| Solicitation { src, target: message.target(), mac })
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

/// Replaces the solicitation by the answer. The frame has no tags: the interface's output puts its
/// own in. False if the solicitation came in no Ethernet frame.
fn answer(b: &mut Buffer, solicitation: &Solicitation, mac: MacAddr) -> bool {
    let Some(source) = ethernet_source(b) else { return false };
    let Solicitation { src, target, .. } = *solicitation;
    let (flags, to, station) = match src.is_unspecified() {
        true => (NeighborMessage::ROUTER, ALL_NODES, MacAddr::ip6_multicast(ALL_NODES)),
        false => {
            let flags = NeighborMessage::ROUTER | NeighborMessage::SOLICITED;
            (flags, src, solicitation.mac.unwrap_or(source))
        }
    };
    let message = NeighborMessage::advertisement(flags | NeighborMessage::OVERRIDE, target);
    let mut frame = [0; Ethernet::LEN + PACKET];
    if let Some((ethernet, rest)) = Ethernet::split_mut(&mut frame) {
        *ethernet = Ethernet::new(mac, station, EtherType::IP6);
        rest.copy_from_slice(&packet(target, to, message, NdOptionKind::TARGET_LINK, mac));
    }
    if !b.rewind(Ethernet::LEN) || !b.set_data(&frame) {
        return false;
    }
    b.flags &= Flags::TRACED;
    b.flags.insert(Flags::LOCAL | Flags::L4_CSUM_OK);
    b.tx_if = b.rx_if;
    true
}

impl Node for NdAnswer {
    const NAME: &'static str = "vrrp6-nd-input";
    type Next = To;
    type Trace = NdTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        if TRACED {
            cx.trace(b, NdTrace(Head::of(b)));
        }
        let Some(target) = target(b.data()) else { return To::Continue };
        let link = self.vrrp.link(b.rx_if, cx.turn);
        let address = link.and_then(|link| link.address(target.into()));
        let Some(address) = address else { return To::Continue };
        let Some(mac) = address.mac else { return To::Backup };
        let Some(solicitation) = check(b.data()) else { return To::Continue };
        let view = self.interfaces.views(cx.turn).get(b.rx_if as usize).unwrap_or_default();
        if !answer(b, &solicitation, mac) {
            return To::NoHeader;
        }
        cx.count(To::Processed, 1);
        To::Output(view.output)
    }
}
