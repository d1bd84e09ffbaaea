// SPDX-License-Identifier: Apache-2.0
//! `arp-reply`: answers requests for our own addresses (RFC 826, RFC 5227), and reports neighbours
//! to control.

use crate::Arp;
use crate::frame::answer;
use crate::input::ArpTrace;
use crate::own::is_on_link;
use buffer::Buffer;
use graph::{Build, Cx, Head, Next, Node, NodeIndex, ThreadIndex, World};
use ip_neighbor::resolve::{
    DetectedNeighbor, Lanes, RecentReports, Report, Reports, Target, is_own,
};
use net::{Addresses, AdjKind, Adjacencies, Evidence, Fib, IfView, Interfaces, TableIndex};
use std::net::Ipv4Addr;
use std::sync::Arc;
use sync::Turn;
use wire::{ArpOp, Ethernet, Header, Ip4, Ip4Prefix, MacAddr};

pub struct ArpReply {
    interfaces: Arc<Interfaces>,
    own: Arc<Addresses<Ip4>>,
    fib: Arc<Fib<Ip4>>,
    adjacencies: Arc<Adjacencies>,
    reports: Arc<Reports<Arp>>,
    recent: RecentReports<Ip4>,
    tx: Lanes,
    drop: NodeIndex,
}

#[derive(Next, Clone, Copy)]
pub enum To {
    /// The answer leaves by the interface that received the request.
    #[dynamic]
    Output(NodeIndex),
    #[next_feature]
    Continue,
    /// The neighbour was reported to control; the packet ends here.
    #[free]
    Noted,
    /// answers sent.
    #[count]
    RepliesSent,
    /// senders of replies and announcements noted.
    #[count]
    #[counter("l3_src_address_learned")]
    Learned,
    /// packet is shorter than an ARP header.
    #[drop]
    TooShort,
    /// operation is neither request nor reply.
    #[drop]
    OpcodeNotRequest,
    /// sender's MAC address is not that of one station.
    #[drop]
    SenderMac,
    /// sender's MAC address differs from the frame's source.
    #[drop]
    L2AddressMismatch,
    /// sender is ourselves.
    #[drop]
    OwnFrame,
    /// another station uses our address.
    #[drop]
    #[counter("l3_src_address_is_local")]
    DuplicateAddress,
    /// sender's address is not that of one host.
    #[drop]
    SenderAddress,
    /// sender's address is not in a network of the interface.
    #[drop]
    #[counter("l3_src_address_not_local")]
    SenderNotLocal,
    /// request, reply or announcement is for another host.
    #[drop]
    #[counter("l3_dst_address_not_local")]
    NotForUs,
    /// control is too far behind to take note.
    #[drop]
    Busy,
    /// no room for the Ethernet header of the answer.
    #[drop]
    NoHeader,
}

impl Build for ArpReply {
    fn build(world: &World, thread: ThreadIndex) -> Self {
        Self {
            interfaces: world.get(),
            own: world.get(),
            fib: world.get(),
            adjacencies: world.get(),
            reports: world.get(),
            recent: RecentReports::default(),
            tx: Lanes::tx::<Arp>(world, thread),
            drop: world.node("error-drop").expect("this node drops there"),
        }
    }
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

/// Role of an address for the interface that received the packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum AddressRole {
    /// The interface's own, or one that a route delivers here by it.
    Ours,
    /// An address of the interface that this unnumbered one borrows from.
    Borrowed,
    /// An address of a host on the link.
    Attached,
    /// An address that is neither ours nor on the link.
    Foreign,
}

/// Checks what doesn't depend on the packet's target.
#[inline(always)]
fn refuse(arp: &wire::Arp, source: MacAddr, view: &IfView) -> Option<To> {
    // A virtual router answers with its virtual address from the real one's interface (RFC 5798
    // 7.3).
    const VIRTUAL_ROUTER: [u8; 5] = [0, 0, 0x5e, 0, 1];
    let sender = arp.sender_ip();
    if !matches!(arp.op(), ArpOp::REQUEST | ArpOp::REPLY) {
        return Some(To::OpcodeNotRequest);
    }
    if arp.sender_mac.is_multicast() || arp.sender_mac.is_zero() {
        return Some(To::SenderMac);
    }
    if source != arp.sender_mac
        && !(arp.op() == ArpOp::REPLY && arp.sender_mac.0.starts_with(&VIRTUAL_ROUTER))
    {
        return Some(To::L2AddressMismatch);
    }
    if arp.sender_mac == view.mac {
        return Some(To::OwnFrame);
    }
    let probe = sender.is_unspecified() && arp.op() == ArpOp::REQUEST;
    let no_host = sender.is_unspecified()
        || sender.is_multicast()
        || sender.is_broadcast()
        || sender.is_loopback();
    (no_host && !probe).then_some(To::SenderAddress)
}

impl ArpReply {
    /// Classifies an address by the interface's own addresses, and otherwise by its route.
    #[inline(always)]
    fn role(
        &self,
        ip: Ipv4Addr,
        (sw_if, view): (u32, &IfView),
        own: &[Ip4Prefix],
        turn: &Turn<'_>,
    ) -> AddressRole {
        let adj = self
            .fib
            .adj(TableIndex(view.fib4), ip, turn)
            .and_then(|adj| self.adjacencies.get(adj, turn));
        let here = adj.is_some_and(|adj| adj.tx_if == sw_if);
        match adj.map(|adj| adj.kind) {
            Some(AdjKind::Receive) if here => AddressRole::Ours,
            Some(AdjKind::Receive) if is_own(own, ip) => AddressRole::Borrowed,
            // A local route without an interface.
            Some(AdjKind::Receive)
                if is_on_link(own, ip) && adj.is_some_and(|adj| adj.tx_if == u32::MAX) =>
            {
                AddressRole::Ours
            }
            // Another interface answers for its own.
            Some(AdjKind::Receive) => AddressRole::Foreign,
            _ if is_own(own, ip) => AddressRole::Ours,
            _ if is_on_link(own, ip) => AddressRole::Attached,
            Some(AdjKind::Glean) if here => AddressRole::Attached,
            // Its own neighbour, not one behind a router.
            Some(AdjKind::Rewrite | AdjKind::Incomplete)
                if here && adj.is_some_and(|adj| adj.nexthop() == ip) =>
            {
                AddressRole::Attached
            }
            _ => AddressRole::Foreign,
        }
    }

    /// Checks a packet's sender addresses.
    #[inline(always)]
    fn refuse_sender<const TRACED: bool>(
        &mut self,
        arp: &wire::Arp,
        (sender, target): (AddressRole, AddressRole),
        b: &Buffer,
        cx: &Cx<'_, TRACED>,
    ) -> Option<To> {
        match sender {
            AddressRole::Attached => None,
            // On an unnumbered link the host may have the address that we borrow, and send requests
            // for proxy ARP.
            AddressRole::Borrowed if self.has_more(b, cx) => Some(To::Continue),
            AddressRole::Ours | AddressRole::Borrowed => {
                let who = Target { sw_if: b.rx_if, ip: arp.sender_ip() };
                let conflict = Report::Conflict(who, arp.sender_mac);
                // If the queue is full, the station's next packet reports it.
                let _ = self.recent.post(&self.reports, conflict, cx.now());
                Some(To::DuplicateAddress)
            }
            // On an unnumbered link the other end may have any address.
            AddressRole::Foreign if target == AddressRole::Borrowed => None,
            AddressRole::Foreign if arp.is_gratuitous() => Some(To::NotForUs),
            AddressRole::Foreign => Some(To::SenderNotLocal),
        }
    }

    /// Returns true if the packet's next feature is other than the drop node.
    #[inline(always)]
    fn has_more<const TRACED: bool>(&self, b: &Buffer, cx: &Cx<'_, TRACED>) -> bool {
        cx.peek_feature(b).is_some_and(|next| next != self.drop)
    }

    /// Reports the sender of a packet that ends here.
    #[inline(always)]
    fn noted<const TRACED: bool>(
        &mut self,
        arp: &wire::Arp,
        sw_if: u32,
        evidence: Evidence,
        cx: &mut Cx<'_, TRACED>,
    ) -> To {
        if !self.note(arp, sw_if, evidence, cx.now()) {
            return To::Busy;
        }
        cx.count(To::Learned, 1);
        To::Noted
    }

    /// Reports the sender to control; false if the queue to control is full.
    #[inline(always)]
    fn note(&mut self, arp: &wire::Arp, sw_if: u32, evidence: Evidence, now: u64) -> bool {
        let who = Target { sw_if, ip: arp.sender_ip() };
        let note = Report::Detected(DetectedNeighbor { who, mac: Some(arp.sender_mac), evidence });
        // Packets wait for a reply, so each is reported; other evidence once a second.
        if evidence == Evidence::Reply {
            self.reports.post(note)
        } else {
            self.recent.post(&self.reports, note, now)
        }
    }
}

impl Node for ArpReply {
    const NAME: &'static str = "arp-reply";
    type Next = To;
    type Trace = ArpTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        if TRACED {
            cx.trace(b, ArpTrace(Head::of(b)));
        }
        let (rx_if, now) = (b.rx_if, cx.now());
        let Some(&arp) = wire::Arp::view(b.data()) else { return To::TooShort };
        let Some(source) = ethernet_source(b) else { return To::NoHeader };
        let view = self.interfaces.views(cx.turn).get(rx_if as usize).unwrap_or_default();
        if let Some(refused) = refuse(&arp, source, &view) {
            return refused;
        }
        let (sender, target) = {
            let own = self.own.of(rx_if, cx.turn);
            let role = |ip| self.role(ip, (rx_if, &view), own, cx.turn);
            (role(arp.sender_ip()), role(arp.target_ip()))
        };
        let probe = arp.sender_ip().is_unspecified();
        if !probe && let Some(refused) = self.refuse_sender(&arp, (sender, target), b, cx) {
            return refused;
        }
        if arp.is_gratuitous() {
            return self.noted(&arp, rx_if, Evidence::Announcement { create: false }, cx);
        }
        match (arp.op(), matches!(target, AddressRole::Ours | AddressRole::Borrowed)) {
            (ArpOp::REPLY, true) => self.noted(&arp, rx_if, Evidence::Reply, cx),
            (ArpOp::REPLY, false) => To::NotForUs,
            (_, false) if self.has_more(b, cx) => To::Continue,
            (_, false) => To::NotForUs,
            (_, true) => {
                if !probe {
                    // The answer goes out even if the queue to control is full.
                    self.note(&arp, rx_if, Evidence::Request, now);
                }
                if !answer(b, view.mac, arp.target_ip()) {
                    return To::NoHeader;
                }
                self.tx.replies.add(rx_if as usize, 1);
                cx.count(To::RepliesSent, 1);
                b.tx_if = rx_if;
                To::Output(view.output)
            }
        }
    }
}
