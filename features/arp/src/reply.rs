// SPDX-License-Identifier: Apache-2.0
//! `arp-reply`: answers for our own addresses (RFC 826, RFC 5227), and takes note of neighbours.

use crate::Arp;
use crate::frame::answer;
use crate::input::ArpTrace;
use crate::own::is_on_link;
use buffer::Buffer;
use graph::{Build, Cx, Head, Next, Node, NodeIndex, ThreadIndex, World};
use ip_neighbor::resolve::{Lanes, Lately, Note, Notes, Seen, Target, is_own};
use net::{Addresses, Evidence, IfView, Interfaces};
use std::sync::Arc;
use wire::{ArpOp, Ethernet, Header, Ip4, Ip4Prefix, MacAddr};

pub struct ArpReply {
    interfaces: Arc<Interfaces>,
    own: Arc<Addresses<Ip4>>,
    notes: Arc<Notes<Arp>>,
    lately: Lately<Ip4>,
    tx: Lanes,
    drop: NodeIndex,
}

#[derive(Next, Clone, Copy)]
pub enum To {
    /// Out by the interface that the request came in by.
    #[dynamic]
    Output(NodeIndex),
    #[next_feature]
    Continue,
    /// What a neighbour told was passed on.
    #[free]
    Noted,
    /// packet is shorter than an ARP header.
    #[drop]
    TooShort,
    /// operation is neither request nor reply.
    #[drop]
    Operation,
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
    DuplicateAddress,
    /// sender's address is not that of one host.
    #[drop]
    SenderAddress,
    /// sender's address is not in a network of the interface.
    #[drop]
    SenderNotLocal,
    /// request is for another host.
    #[drop]
    RequestNotForUs,
    /// reply is for another host.
    #[drop]
    ReplyNotForUs,
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
            notes: world.get(),
            lately: Lately::default(),
            tx: Lanes::tx::<Arp>(world, thread),
            drop: world.node("error-drop").expect("this node drops there"),
        }
    }
}

/// The source address of the frame around the packet, and the length of its header.
#[inline(always)]
fn ethernet_source(b: &mut Buffer) -> Option<(MacAddr, usize)> {
    let l2 = b.l2_len();
    if l2 < Ethernet::LEN || !b.rewind(l2) {
        return None;
    }
    let source = Ethernet::view(b.data()).map(|e| e.src);
    let pulled = b.pull(l2);
    debug_assert!(pulled);
    Some((source?, l2))
}

/// What is wrong with a packet, whoever it is for.
#[inline(always)]
fn refuse(arp: &wire::Arp, source: MacAddr, view: &IfView, own: &[Ip4Prefix]) -> Option<To> {
    // A virtual router answers with its virtual address from the real one's interface (RFC 5798 7.3).
    const VIRTUAL_ROUTER: [u8; 5] = [0, 0, 0x5e, 0, 1];
    let sender = arp.sender_ip();
    if !matches!(arp.op(), ArpOp::REQUEST | ArpOp::REPLY) {
        return Some(To::Operation);
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
    if sender.is_unspecified() && arp.op() == ArpOp::REQUEST {
        // A probe (RFC 5227 2.1.1).
        return None;
    }
    if sender.is_unspecified() || sender.is_multicast() || sender.is_broadcast() || sender.is_loopback() {
        return Some(To::SenderAddress);
    }
    if is_own(own, sender) {
        return Some(To::DuplicateAddress);
    }
    if !is_on_link(own, sender) {
        return Some(To::SenderNotLocal);
    }
    None
}

impl ArpReply {
    /// Tells control of the sender; false if it can't be told.
    #[inline(always)]
    fn note(&mut self, arp: &wire::Arp, sw_if: u32, evidence: Evidence, now: u64) -> bool {
        let who = Target { sw_if, ip: arp.sender_ip() };
        let note = Note::Seen(Seen { who, mac: Some(arp.sender_mac), evidence });
        // Somebody waits for an answer; for the rest once a second is enough.
        if evidence == Evidence::Reply {
            self.notes.post(note)
        } else {
            self.lately.post(&self.notes, note, now)
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
        let Some((source, l2)) = ethernet_source(b) else { return To::NoHeader };
        let view = self.interfaces.views(cx.turn).get(rx_if as usize).unwrap_or_default();
        let (for_us, refused) = {
            let own = self.own.of(rx_if, cx.turn);
            (is_own(own, arp.target_ip()), refuse(&arp, source, &view, own))
        };
        if let Some(refused) = refused {
            if let To::DuplicateAddress = refused {
                let who = Target { sw_if: rx_if, ip: arp.sender_ip() };
                let conflict = Note::Conflict(who, arp.sender_mac);
                // If control can't hear it now, the other station will be heard again.
                let _ = self.lately.post(&self.notes, conflict, now);
            }
            return refused;
        }
        if arp.is_gratuitous() {
            let told = self.note(&arp, rx_if, Evidence::Announcement { create: false }, now);
            return if told { To::Noted } else { To::Busy };
        }
        match (arp.op(), for_us) {
            (ArpOp::REPLY, true) if self.note(&arp, rx_if, Evidence::Reply, now) => To::Noted,
            (ArpOp::REPLY, true) => To::Busy,
            (ArpOp::REPLY, false) => To::ReplyNotForUs,
            (_, false) if cx.peek_feature(b).is_none_or(|next| next == self.drop) => To::RequestNotForUs,
            (_, false) => To::Continue,
            (_, true) => {
                if !arp.sender_ip().is_unspecified() {
                    // The answer goes out whether control can listen or not: it will be asked again.
                    self.note(&arp, rx_if, Evidence::Request, now);
                }
                if !answer(b, l2, view.mac, arp.target_ip()) {
                    return To::NoHeader;
                }
                self.tx.replies.add(rx_if as usize, 1);
                To::Output(view.output)
            }
        }
    }
}
