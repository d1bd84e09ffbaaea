// SPDX-License-Identifier: Apache-2.0
//! `arp-term-l2bd`: answers requests for configured or snooped hosts (RFC 826, RFC 4861 7.2), and
//! reports detected hosts.

use super::snoop::is_learnable;
use super::{Report, Sighting};
use crate::bridge::Bridge;
use crate::bvi::ToBvi;
use crate::features::{Features, steps};
use crate::meta::L2Meta;
use crate::state::{Domain, Role};
use buffer::{Buffer, Flags};
use graph::{Build, Cx, Head, Node, NodeIndex, ThreadIndex, Trace, World};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use wire::describe::{Layer, describe};
use wire::l4::{self, Verdict};
use wire::nd::{HOP_LIMIT, LinkOption, NdOptionKind, NdOptions, NeighborMessage};
use wire::{
    Arp, ArpOp, EtherType, Ethernet, Header, Icmp6Type, IpHeader, IpProtocol, Ipv6Header, MacAddr,
};

pub struct ArpTerm {
    bridge: Arc<Bridge>,
    bvi: ToBvi,
}

steps! {
    pub enum To {
        /// The answer is for the domain's own router.
        #[dynamic]
        Bvi(NodeIndex),
        /// ARP requests answered
        #[count]
        #[counter("ARP replies sent")]
        Replies,
        /// neighbour solicitations answered
        #[count]
        Advertisements,
        /// ARP replies
        #[count]
        #[counter("ARP replies received")]
        RepliesReceived,
        /// hosts that clients weren't told of: control is too far behind
        #[count]
        Untold,
        /// hosts that a domain didn't learn: control is too far behind
        #[count]
        Unlearned,
        /// packet is shorter than an ARP packet
        #[drop]
        TooShort,
        /// hardware type or address length is not that of Ethernet (RFC 826)
        #[drop]
        #[counter("L2 type not ethernet")]
        L2Type,
        /// protocol type or address length is not that of IPv4 (RFC 826)
        #[drop]
        #[counter("L3 type not IP4")]
        L3Type,
        /// operation is neither request nor reply
        #[drop]
        #[counter("ARP opcode not request")]
        Opcode,
        /// sender's MAC address differs from the frame's source
        #[drop]
        #[counter("ARP hw addr does not match L2 frame src addr")]
        SourceMismatch,
        /// sender's address is not that of one host
        #[drop]
        #[counter("IP4 source address not local to subnet")]
        SenderAddress,
        /// probe is a reply, or asks for no address (RFC 5227 2.1.1)
        #[drop]
        #[counter("ARP probe or announcement dropped")]
        Probe,
    }
}

/// The received frame.
#[derive(Clone, Copy)]
pub struct TermTrace(Head);

impl Trace for TermTrace {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&describe(self.0.bytes(), Layer::Ethernet).to_string())
    }
}

/// The addresses that a message gives of its sender.
#[derive(Clone, Copy)]
struct Binding {
    ip: IpAddr,
    mac: MacAddr,
    /// True if it replaces a known MAC address.
    overrides: bool,
}

impl From<(IpAddr, MacAddr)> for Binding {
    fn from((ip, mac): (IpAddr, MacAddr)) -> Self {
        Self { ip, mac, overrides: true }
    }
}

/// The result of parsing a frame.
enum ParsedFrame {
    /// It continues; it may report a host.
    Other(Option<Binding>),
    /// A request for `target`.
    Request { sender: (IpAddr, MacAddr), target: IpAddr },
    /// It is dropped.
    Bad(To),
}

/// First five bytes of the MAC addresses of virtual routers, whose frames have other sources (RFC
/// 9568 7.3).
const VIRTUAL_ROUTER: [u8; 5] = [0, 0, 0x5e, 0, 1];
/// First five bytes for IPv6 virtual routers.
const VIRTUAL_ROUTER6: [u8; 5] = [0, 0, 0x5e, 0, 2];

/// Parses an ARP packet of a frame with this source.
fn read_arp(packet: &[u8], source: MacAddr) -> ParsedFrame {
    let Some(arp) = Arp::view(packet) else { return ParsedFrame::Bad(To::TooShort) };
    if arp.hardware.get() != 1 || arp.hardware_len != 6 {
        return ParsedFrame::Bad(To::L2Type);
    }
    if arp.protocol.get() != EtherType::IP4.0 || arp.protocol_len != 4 {
        return ParsedFrame::Bad(To::L3Type);
    }
    if !matches!(arp.op(), ArpOp::REQUEST | ArpOp::REPLY) {
        return ParsedFrame::Bad(To::Opcode);
    }
    let mac = arp.sender_mac;
    if mac != source && !mac.octets().starts_with(&VIRTUAL_ROUTER) {
        return ParsedFrame::Bad(To::SourceMismatch);
    }
    let (sender, target) = (arp.sender_ip(), arp.target_ip());
    if sender.is_multicast() || sender.is_broadcast() {
        return ParsedFrame::Bad(To::SenderAddress);
    }
    let is_request = arp.op() == ArpOp::REQUEST;
    if sender.is_unspecified() && (!is_request || target.is_unspecified()) {
        return ParsedFrame::Bad(To::Probe);
    }
    let sender = (IpAddr::V4(sender), mac);
    if is_request && !arp.is_gratuitous() {
        return ParsedFrame::Request { sender, target: target.into() };
    }
    ParsedFrame::Other((!sender.0.is_unspecified()).then(|| sender.into()))
}

/// Parses a neighbour discovery message. A malformed one continues: hosts check it themselves (RFC
/// 4861 7.1).
fn read_nd(packet: &[u8], is_checked: bool) -> Option<ParsedFrame> {
    let (ip, rest) = Ipv6Header::split(packet)?;
    if ip.next_header != IpProtocol::ICMP6 || ip.hop_limit != HOP_LIMIT {
        return None;
    }
    let (message, options) =
        NeighborMessage::split(rest.get(..usize::from(ip.payload_len.get()))?)?;
    let target = message.target();
    if message.code != 0 || target.is_multicast() {
        return None;
    }
    if !is_checked && l4::verify(packet) != Ok(Verdict::Valid) {
        return None;
    }
    match Icmp6Type(message.kind) {
        Icmp6Type::NEIGHBOR_SOLICITATION
            if !ip.src().is_unspecified() && !ip.src().is_multicast() =>
        {
            let link = LinkOption::view(options)?;
            let is_source = link.kind == NdOptionKind::SOURCE_LINK.0 && link.len == 1;
            is_source.then(|| ParsedFrame::Request {
                sender: (ip.src().into(), link.mac),
                target: target.into(),
            })
        }
        Icmp6Type::NEIGHBOR_ADVERTISEMENT => {
            let link = NdOptions::new(options).link_address(NdOptionKind::TARGET_LINK).ok()??;
            let overrides = message.flags.get() & NeighborMessage::OVERRIDE != 0;
            Some(ParsedFrame::Other(Some(Binding { ip: target.into(), mac: link, overrides })))
        }
        _ => None,
    }
}

/// Turns the frame of a request into the reply. Returns false if the frame is too short for that.
fn answer(b: &mut Buffer, at: usize, asker: (IpAddr, MacAddr), target: (IpAddr, MacAddr)) -> bool {
    match (target.0, asker.0) {
        (IpAddr::V4(ip), IpAddr::V4(asker_ip)) => {
            let Some(arp) = Arp::view_at_mut(b.data_mut(), at) else { return false };
            *arp = Arp::new(ArpOp::REPLY, (target.1, ip), (asker.1, asker_ip));
        }
        (IpAddr::V6(ip), IpAddr::V6(asker_ip)) => {
            const LEN: usize = NeighborMessage::LEN + LinkOption::LEN;
            let end = at + Ipv6Header::LEN + LEN;
            if b.is_chained() || b.len() < end {
                return false;
            }
            b.truncate(end);
            let Some(packet) = b.data_mut().get_mut(at..) else { return false };
            let Some((header, rest)) = Ipv6Header::split_mut(packet) else { return false };
            (header.src, header.dst) = (ip.octets(), asker_ip.octets());
            header.payload_len.set(LEN as u16);
            let Some((message, rest)) = NeighborMessage::split_mut(rest) else { return false };
            let flags = NeighborMessage::SOLICITED | NeighborMessage::OVERRIDE;
            *message = NeighborMessage::advertisement(flags, ip);
            let Some(link) = LinkOption::view_mut(rest) else { return false };
            *link = LinkOption { kind: NdOptionKind::TARGET_LINK.0, len: 1, mac: target.1 };
            if l4::finish(packet).is_err() {
                return false;
            }
            b.flags.remove(Flags::CSUM_PARTIAL);
        }
        _ => return false,
    }
    let Some(ethernet) = Ethernet::view_mut(b.data_mut()) else { return false };
    (ethernet.src, ethernet.dst) = (target.1, asker.1);
    b.flags.remove(Flags::L2_BROADCAST | Flags::L2_MULTICAST);
    true
}

impl Build for ArpTerm {
    fn build(world: &World, thread: ThreadIndex) -> Self {
        Self { bridge: world.get(), bvi: ToBvi::new(world, thread) }
    }
}

impl ArpTerm {
    /// Reports a host, if a client has subscribed or it is new to a domain that snoops.
    fn report<const TRACED: bool>(
        &self,
        binding: Binding,
        (source, sw_if): (MacAddr, u32),
        (index, domain): (u16, Option<&Domain>),
        cx: &mut Cx<'_, TRACED>,
    ) {
        let Binding { ip, mac, overrides } = binding;
        if matches!(ip, IpAddr::V6(ip) if ip.is_unicast_link_local()) {
            return;
        }
        let sightings = &self.bridge.sightings;
        let snooping = domain.filter(|domain| domain.snoops && is_own(mac, source));
        let is_learned = snooping.is_some_and(|domain| is_news(domain, binding, sw_if, cx));
        let is_wanted = sightings.has_subscribers();
        if !is_wanted && !is_learned {
            return;
        }
        let sighting = Sighting { ip, mac, sw_if };
        if !sightings.post(Report { sighting, learn: is_learned.then_some(index), overrides }) {
            cx.count(To::Untold, u64::from(is_wanted));
            cx.count(To::Unlearned, u64::from(is_learned));
        }
    }
}

/// Returns true if a host that sends from `source` may claim the address `mac`: its own, or that of
/// a virtual router.
fn is_own(mac: MacAddr, source: MacAddr) -> bool {
    mac == source
        || [VIRTUAL_ROUTER, VIRTUAL_ROUTER6].iter().any(|prefix| mac.octets().starts_with(prefix))
}

/// Returns true if a domain learns from a host's message. If the host is where it was, records that
/// it was seen.
fn is_news<const TRACED: bool>(
    domain: &Domain,
    binding: Binding,
    sw_if: u32,
    cx: &mut Cx<'_, TRACED>,
) -> bool {
    let (Binding { ip, mac, overrides }, now) = (binding, cx.now());
    let known = domain.hosts.as_ref().and_then(|hosts| hosts.get(ip, cx.turn));
    match known.map(|known| (known.mac, known.snooped.as_ref())) {
        Some((_, None)) => false,
        Some((before, Some(snooped))) if !snooped.is_old(now) => {
            let stays = before == mac && snooped.sw_if == sw_if;
            if stays {
                snooped.touch(now);
            }
            !stays && (before == mac || overrides) && is_learnable(ip, mac)
        }
        _ => is_learnable(ip, mac),
    }
}

impl Node for ArpTerm {
    const NAME: &'static str = "arp-term-l2bd";
    type Next = To;
    type Trace = TermTrace;

    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        if TRACED {
            cx.trace(b, TermTrace(Head::of(b)));
        }
        let mut meta = b.scratch::<L2Meta>();
        let features = meta.features().behind(Features::ARP_TERM);
        meta.features = features.bits();
        b.set_scratch(meta);
        let pass = features.next().into();
        // Frames of a split-horizon group came over a tunnel or the like: the other end has
        // answered what it could.
        if meta.shg() != 0 {
            return pass;
        }
        let (Some(ethernet), Some((at, ethertype))) =
            (Ethernet::view(b.data()), Ethernet::l3_at(b.data()))
        else {
            return pass;
        };
        let packet = &b.data()[at..];
        let found = match ethertype {
            EtherType::ARP => read_arp(packet, ethernet.src),
            EtherType::IP6 => read_nd(packet, b.flags.contains(Flags::L4_CSUM_OK))
                .unwrap_or(ParsedFrame::Other(None)),
            _ => ParsedFrame::Other(None),
        };
        let domain = self.bridge.domains.get(meta.domain().into(), cx.turn);
        let (from, place) = ((ethernet.src, b.rx_if), (meta.domain(), domain));
        let (sender, target) = match found {
            ParsedFrame::Bad(drop) => return drop,
            ParsedFrame::Other(binding) => {
                if ethertype == EtherType::ARP
                    && Arp::view(packet).is_some_and(|arp| arp.op() == ArpOp::REPLY)
                {
                    cx.count(To::RepliesReceived, 1);
                }
                binding.into_iter().for_each(|binding| self.report(binding, from, place, cx));
                return pass;
            }
            ParsedFrame::Request { sender, target } => (sender, target),
        };
        let is_probe = sender.0 == IpAddr::V4(Ipv4Addr::UNSPECIFIED);
        if !is_probe {
            self.report(sender.into(), from, place, cx);
        }
        let known = domain.and_then(|domain| domain.hosts.as_ref()?.get(target, cx.turn));
        // A probe for a snooped host is the host's own to answer: the snooped entry may be outdated
        // (RFC 5227 2.4).
        let known = known.filter(|known| match &known.snooped {
            Some(snooped) => !is_probe && !snooped.is_old(cx.now()),
            None => true,
        });
        // A host that probes its own address would take an answer for a conflict (RFC 5227 2.1.1).
        let Some(mac) = known.map(|known| known.mac).filter(|mac| *mac != sender.1) else {
            return pass;
        };
        if !answer(b, at, sender, (target, mac)) {
            return pass;
        }
        cx.count(if ethertype == EtherType::ARP { To::Replies } else { To::Advertisements }, 1);
        let rx_if = b.rx_if;
        if self.bridge.ports.get(rx_if, cx.turn).is_some_and(|port| port.role == Role::Bvi) {
            return To::Bvi(self.bvi.receive(b, rx_if, cx));
        }
        b.tx_if = rx_if;
        To::Output
    }
}
