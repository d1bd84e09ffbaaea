// SPDX-License-Identifier: Apache-2.0
//! ARP frames that are sent.

use buffer::{Buffer, Flags};
use std::net::Ipv4Addr;
use wire::{Arp, ArpOp, EtherType, Ethernet, Header, MacAddr};

/// Bytes of an untagged frame.
pub const LEN: usize = Ethernet::LEN + Arp::LEN;

/// A request or an announcement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Request {
    /// Our address.
    pub sender: Ipv4Addr,
    /// The requested address.
    pub target: Ipv4Addr,
    /// The frame's destination.
    pub to: MacAddr,
}

impl Request {
    /// A broadcast request for the station of an address.
    #[inline(always)]
    pub fn who_has(target: Ipv4Addr, sender: Ipv4Addr) -> Self {
        Self { sender, target, to: MacAddr::BROADCAST }
    }

    /// A broadcast announcement of an address of ours (RFC 5227 3).
    pub fn announce(sender: Ipv4Addr) -> Self {
        Self::who_has(sender, sender)
    }

    /// The frame, from a station of ours.
    #[inline(always)]
    pub fn frame(self, mac: MacAddr) -> [u8; LEN] {
        // The target's station is what is asked for: zero, unless it is one that is known.
        let target_mac = if self.to.is_multicast() { MacAddr::ZERO } else { self.to };
        let mut bytes = [0; LEN];
        if let Some((ethernet, rest)) = Ethernet::split_mut(&mut bytes)
            && let Some(arp) = Arp::view_mut(rest)
        {
            *ethernet = Ethernet::new(mac, self.to, EtherType::ARP);
            *arp = Arp::new(ArpOp::REQUEST, (mac, self.sender), (target_mac, self.target));
        }
        bytes
    }
}

/// Makes the reply out of a request, in place: `ip` is at `mac`. The packet starts at the ARP
/// header. The reply gets an Ethernet header without tags: the interface's output puts its own in.
/// False if the request came in no Ethernet frame.
#[inline(always)]
#[must_use]
pub fn answer(b: &mut Buffer, mac: MacAddr, ip: Ipv4Addr) -> bool {
    /// Payload of the shortest frame (IEEE 802.3 4A.4.2).
    const SHORTEST: usize = 46;
    // Bytes behind the payload of the shortest frame aren't part of the packet and aren't sent
    // back.
    b.truncate(SHORTEST);
    let Some(arp) = Arp::view_mut(b.data_mut()) else { return false };
    let requester = (arp.sender_mac, arp.sender_ip());
    *arp = Arp::new(ArpOp::REPLY, (mac, ip), requester);
    if b.l2_len() < Ethernet::LEN || !b.rewind(Ethernet::LEN) {
        return false;
    }
    let Some(ethernet) = Ethernet::view_mut(b.data_mut()) else { return false };
    *ethernet = Ethernet::new(mac, requester.0, EtherType::ARP);
    b.flags.remove(Flags::L2_BROADCAST | Flags::L2_MULTICAST);
    b.flags.insert(Flags::LOCAL);
    b.tx_if = b.rx_if;
    true
}
