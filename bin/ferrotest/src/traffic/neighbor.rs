// SPDX-License-Identifier: Apache-2.0
//! ARP (RFC 826) and neighbour discovery (RFC 4861) of the tester's ports: answers for all
//! addresses that it plays, and questions for the device's address, so that no neighbour is set
//! by hand.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use wire::checksum::Sum;
use wire::{
    Arp, ArpOp, EtherType, Ethernet, Header, Icmp6Type, IpHeader, IpProtocol, Ipv6Header, MacAddr,
    nd,
};
use zerocopy::IntoBytes;

/// Bytes of the longest frame that is sent from here: two tags, IPv6, and an option.
pub const MAX_REPLY: usize = 14 + 8 + 40 + 24 + 8;

/// Network and the device's address in it, by family.
#[derive(Clone, Copy, Debug)]
pub struct Host {
    /// Ethernet address of the port.
    pub mac: MacAddr,
    /// Address of the tester, from which it asks.
    pub own: (Ipv4Addr, Ipv6Addr),
    /// Address of the device, for which the tester asks and never answers.
    pub gateway: (Ipv4Addr, Ipv6Addr),
    /// Prefix lengths of the networks that the tester plays.
    pub prefix: (u8, u8),
}

/// A frame that is to be sent.
#[derive(Clone, Copy, Debug)]
pub struct Reply {
    bytes: [u8; MAX_REPLY],
    len: usize,
}

impl Reply {
    fn new() -> Self {
        Self { bytes: [0; MAX_REPLY], len: 0 }
    }

    fn push(&mut self, bytes: &[u8]) -> &mut Self {
        let end = (self.len + bytes.len()).min(MAX_REPLY);
        self.bytes[self.len..end].copy_from_slice(&bytes[..end - self.len]);
        self.len = end;
        self
    }

    /// The frame, at least 60 bytes long.
    pub fn frame(&self) -> &[u8] {
        &self.bytes[..self.len.max(60)]
    }
}

impl Host {
    fn plays(&self, address: IpAddr) -> bool {
        match address {
            IpAddr::V4(address) => {
                let same = address.to_bits() ^ self.own.0.to_bits();
                address != self.gateway.0
                    && same.checked_shr(32 - u32::from(self.prefix.0)).unwrap_or(0) == 0
            }
            IpAddr::V6(address) => {
                let same = address.to_bits() ^ self.own.1.to_bits();
                address != self.gateway.1
                    && same.checked_shr(128 - u32::from(self.prefix.1)).unwrap_or(0) == 0
            }
        }
    }

    /// Answers a question for an address that the tester plays. Doesn't allocate.
    pub fn answer(&self, frame: &[u8]) -> Option<Reply> {
        let (l3, ethertype) = Ethernet::l3_at(frame)?;
        let asker = Ethernet::view(frame)?.src;
        let mut reply = Reply::new();
        reply.push(&asker.octets()).push(&self.mac.octets()).push(&frame[12..l3]);
        match ethertype {
            EtherType::ARP => {
                let arp = Arp::view_at(frame, l3).filter(|arp| arp.is_ethernet_ip4())?;
                if arp.op() != ArpOp::REQUEST || !self.plays(arp.target_ip().into()) {
                    return None;
                }
                let asked = (self.mac, arp.target_ip());
                let to = (arp.sender_mac, arp.sender_ip());
                reply.push(Arp::new(ArpOp::REPLY, asked, to).as_bytes());
                Some(reply)
            }
            EtherType::IP6 => {
                let (ip, message) = solicitation(frame.get(l3..)?)?;
                // Detection of duplicates (an unspecified source) is about the device's address.
                if ip.src().is_unspecified() || !self.plays(message.target().into()) {
                    return None;
                }
                let flags = nd::NeighborMessage::SOLICITED | nd::NeighborMessage::OVERRIDE;
                let advert = nd::NeighborMessage::advertisement(flags, message.target());
                discovery(&mut reply, (message.target(), ip.src()), advert, 2, self.mac);
                Some(reply)
            }
            _ => None,
        }
    }

    /// Asks for the device's Ethernet address.
    pub fn ask(&self, ip6: bool) -> Reply {
        let mut reply = Reply::new();
        if ip6 {
            let group = nd::solicited_node(self.gateway.1);
            let ethernet = Ethernet::new(self.mac, MacAddr::ip6_multicast(group), EtherType::IP6);
            reply.push(ethernet.as_bytes());
            let message = nd::NeighborMessage::solicitation(self.gateway.1);
            discovery(&mut reply, (self.own.1, group), message, 1, self.mac);
        } else {
            let ethernet = Ethernet::new(self.mac, MacAddr::BROADCAST, EtherType::ARP);
            let arp =
                Arp::new(ArpOp::REQUEST, (self.mac, self.own.0), (MacAddr::ZERO, self.gateway.0));
            reply.push(ethernet.as_bytes()).push(arp.as_bytes());
        }
        reply
    }

    /// The device's Ethernet address, if the frame is its answer.
    pub fn learn(&self, frame: &[u8], ip6: bool) -> Option<MacAddr> {
        let (l3, ethertype) = Ethernet::l3_at(frame)?;
        match ethertype {
            EtherType::ARP if !ip6 => {
                let arp = Arp::view_at(frame, l3).filter(|arp| arp.is_ethernet_ip4())?;
                (arp.op() == ArpOp::REPLY && arp.sender_ip() == self.gateway.0)
                    .then_some(arp.sender_mac)
            }
            EtherType::IP6 if ip6 => {
                let ip = Ipv6Header::view_at(frame, l3)?;
                let message = nd::NeighborMessage::view_at(frame, l3 + 40)?;
                let fits = ip.next_header == IpProtocol::ICMP6
                    && ip.hop_limit == nd::HOP_LIMIT
                    && message.kind == Icmp6Type::NEIGHBOR_ADVERTISEMENT.0
                    && message.target() == self.gateway.1;
                // The option may be missing in an answer to a unicast question only; the frame's
                // source is the same address.
                fits.then_some(Ethernet::view(frame)?.src)
            }
            _ => None,
        }
    }
}

fn solicitation(packet: &[u8]) -> Option<(&Ipv6Header, &nd::NeighborMessage)> {
    let ip = Ipv6Header::view(packet)?;
    let message = nd::NeighborMessage::view_at(packet, 40)?;
    let fits = ip.next_header == IpProtocol::ICMP6
        && ip.hop_limit == nd::HOP_LIMIT
        && message.kind == Icmp6Type::NEIGHBOR_SOLICITATION.0;
    fits.then_some((ip, message))
}

/// Adds IPv6 header, message and the option that carries a link-layer address.
fn discovery(
    reply: &mut Reply,
    (src, dst): (Ipv6Addr, Ipv6Addr),
    mut message: nd::NeighborMessage,
    option: u8,
    mac: MacAddr,
) {
    let mut ip = Ipv6Header::new(src, dst, IpProtocol::ICMP6, 32);
    ip.hop_limit = nd::HOP_LIMIT;
    let [a, b, c, d, e, f] = mac.octets();
    let option = [option, 1, a, b, c, d, e, f];
    let sum: Sum = ip.pseudo_sum(IpProtocol::ICMP6, 32).with(message.as_bytes()).with(&option);
    message.checksum.set(sum.finish());
    reply.push(ip.as_bytes()).push(message.as_bytes()).push(&option);
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use wire::l4;

    fn hosts() -> (Host, Host) {
        let (tester, device) = (("198.18.0.2", "2001:2::2"), ("198.18.0.1", "2001:2::1"));
        let both = |(four, six): (&str, &str)| (four.parse().unwrap(), six.parse().unwrap());
        let host = |seed, own, gateway| Host {
            mac: MacAddr::local(seed),
            own: both(own),
            gateway: both(gateway),
            prefix: (24, 64),
        };
        (host(1, tester, device), host(2, device, tester))
    }

    #[suite::test]
    fn two_hosts_find_each_other() {
        let (tester, device) = hosts();
        for ip6 in [false, true] {
            let ask = tester.ask(ip6);
            let answer = device.answer(ask.frame()).unwrap();
            assert_eq!(answer.frame()[..6], tester.mac.octets());
            assert_eq!(tester.learn(answer.frame(), ip6), Some(device.mac));
            assert_eq!(tester.learn(answer.frame(), !ip6), None);
            assert_eq!(tester.learn(ask.frame(), ip6), None);
            assert!(tester.answer(ask.frame()).is_none(), "nobody asks himself");
            if ip6 {
                for frame in [ask.frame(), answer.frame()] {
                    assert_eq!(l4::verify(&frame[14..]), Ok(l4::Verdict::Valid));
                }
            }
        }
    }

    #[suite::test]
    fn tags_are_kept() {
        let (tester, device) = hosts();
        let ask = tester.ask(false);
        let mut tagged = ask.frame().to_vec();
        tagged.splice(12..12, [0x81, 0, 0, 5]);
        let answer = device.answer(&tagged).unwrap();
        assert_eq!(answer.frame()[12..18], [0x81, 0, 0, 5, 8, 6]);
        assert_eq!(tester.learn(answer.frame(), false), Some(device.mac));
    }

    #[suite::test]
    fn addresses_elsewhere_are_not_answered_and_nothing_panics() {
        let (tester, device) = hosts();
        let far = Host { own: ("10.0.0.1".parse().unwrap(), "::5".parse().unwrap()), ..device };
        for ip6 in [false, true] {
            let ask = tester.ask(ip6);
            assert!(far.answer(ask.frame()).is_none());
            for len in 0..ask.frame().len() {
                let _ =
                    (device.answer(&ask.frame()[..len]), tester.learn(&ask.frame()[..len], ip6));
            }
        }
    }
}
