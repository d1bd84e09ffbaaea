// SPDX-License-Identifier: Apache-2.0
//! Packets of VRRP: advertisements (RFC 9568 5), and the frames of a new master.

use crate::model::VrKey;
use ip6_nd::compose;
use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use wire::checksum::Sum;
use wire::igmp::{self, ALL_IGMP3_ROUTERS, Igmp3Record, Igmp3Report};
use wire::mld::Mld2Record;
use wire::nd::solicited_node;
use wire::{
    Address, Arp, ArpOp, EtherType, Ethernet, Family, Header, IpHeader, IpProtocol, Ipv4Header,
    Ipv6Header, MacAddr, UpperLayer,
};
use zerocopy::IntoBytes;

/// Destination of advertisements over IPv4.
pub const GROUP4: Ipv4Addr = Ipv4Addr::new(224, 0, 0, 18);
/// Destination of advertisements over IPv6.
pub const GROUP6: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 0x12);
/// TTL or hop limit: an advertisement that was forwarded has less (5.1.1.3).
const TTL: u8 = 255;
/// Version 3, type ADVERTISEMENT.
const VERSION_AND_TYPE: u8 = 0x31;
/// DSCP CS6, as routing protocols have.
const CS6: u8 = 0xc0;
/// Bytes in front of the addresses.
pub const FIXED: usize = 8;
/// Offset of the checksum in a message.
const CHECKSUM: usize = 6;

/// The group of advertisements of a version.
pub fn group(v6: bool) -> IpAddr {
    if v6 { GROUP6.into() } else { GROUP4.into() }
}

/// A received advertisement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Advertisement {
    /// Number of the virtual router.
    pub id: u8,
    /// The sender's priority.
    pub priority: u8,
    /// Number of addresses.
    pub count: u8,
    /// Centiseconds between two advertisements, 12 bits.
    pub interval: u16,
    /// The sender.
    pub from: IpAddr,
    /// IPv4: true if the checksum is of the message alone (RFC 9568 5.2.8), not also of a
    /// pseudo-header, as many implementations of RFC 5798 have it.
    pub is_plain: bool,
}

/// The fault of a message, in the order of the checks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// TTL or hop limit isn't 255.
    Ttl,
    /// Not version 3.
    Version,
    /// Not an advertisement.
    Kind,
    /// Shorter or longer than its addresses need, or a fragment.
    Size,
    /// Wrong checksum.
    Checksum,
}

/// Reads the message in an IP packet (7.1). A fragment isn't the complete packet that 7.1 requires:
/// `vrrp4-accept-owner-input` is in front of reassembly.
pub fn read<F: Family>(packet: &[u8]) -> Result<Advertisement, Fault> {
    let ip = F::Header::view(packet).ok_or(Fault::Size)?;
    let upper = UpperLayer::of::<F>(packet).map_err(|_| Fault::Size)?;
    if ip.ttl() != TTL {
        return Err(Fault::Ttl);
    }
    if upper.is_fragment() {
        return Err(Fault::Size);
    }
    let message = packet.get(upper.offset..upper.end).ok_or(Fault::Size)?;
    let &[first, id, priority, count, high, low, ..] = message else { return Err(Fault::Size) };
    if first >> 4 != VERSION_AND_TYPE >> 4 {
        return Err(Fault::Version);
    }
    if message.len() != FIXED + usize::from(count) * F::ADDR_LEN {
        return Err(Fault::Size);
    }
    let alone = Sum::of(message);
    let whole = ip.pseudo_sum(IpProtocol::VRRP, message.len() as u32) + alone;
    let is_plain = !F::IS_V6 && !whole.is_valid() && alone.is_valid();
    if !whole.is_valid() && !is_plain {
        return Err(Fault::Checksum);
    }
    if first != VERSION_AND_TYPE {
        return Err(Fault::Kind);
    }
    let interval = u16::from_be_bytes([high & 15, low]);
    Ok(Advertisement { id, priority, count, interval, from: ip.src().into(), is_plain })
}

/// The contents of an advertisement that is sent.
#[derive(Clone, Copy, Debug)]
pub struct Content<'a> {
    /// Number of the virtual router.
    pub id: u8,
    /// The priority, 0 to take leave.
    pub priority: u8,
    /// Centiseconds between two advertisements.
    pub interval: u16,
    /// The addresses, all of the version of the packet.
    pub addresses: &'a [IpAddr],
    /// IPv4: the checksum is of the message alone.
    pub is_plain: bool,
}

impl Content<'_> {
    fn message(&self) -> Vec<u8> {
        let [high, low] = (self.interval & 0xfff).to_be_bytes();
        let count = self.addresses.len() as u8;
        let mut bytes = vec![VERSION_AND_TYPE, self.id, self.priority, count, high, low, 0, 0];
        for address in self.addresses {
            match address {
                IpAddr::V4(ip) => bytes.extend(ip.octets()),
                IpAddr::V6(ip) => bytes.extend(ip.octets()),
            }
        }
        bytes
    }

    /// The IP packet with the advertisement. Both addresses are of one version.
    pub fn packet(&self, src: IpAddr, dst: IpAddr) -> Vec<u8> {
        let mut message = self.message();
        let (header, pseudo) = match (src, dst) {
            (IpAddr::V4(src), IpAddr::V4(dst)) => {
                let mut ip = Ipv4Header::new(src, dst, IpProtocol::VRRP, message.len() as u16);
                (ip.ttl, ip.tos) = (TTL, CS6);
                ip.set_checksum();
                (ip.as_bytes().to_vec(), pseudo(&ip, &message))
            }
            (IpAddr::V6(src), IpAddr::V6(dst)) => {
                let mut ip = Ipv6Header::new(src, dst, IpProtocol::VRRP, message.len() as u16);
                ip.hop_limit = TTL;
                let mut header = ip.as_bytes().to_vec();
                // The upper half of the traffic class is the lower half of the first byte.
                header[0] |= CS6 >> 4;
                (header, pseudo(&ip, &message))
            }
            _ => return Vec::new(),
        };
        let start = if self.is_plain && src.is_ipv4() { Sum::ZERO } else { pseudo };
        let checksum = start.with(&message).finish();
        message[CHECKSUM..CHECKSUM + 2].copy_from_slice(&checksum.to_be_bytes());
        [header, message].concat()
    }

    /// The frame to the group of a virtual router's version, from its MAC address.
    pub fn frame(&self, mac: MacAddr, src: IpAddr) -> Vec<u8> {
        let group = group(src.is_ipv6());
        let (to, ethertype) = match group {
            IpAddr::V4(group) => (MacAddr::ip4_multicast(group), EtherType::IP4),
            IpAddr::V6(group) => (MacAddr::ip6_multicast(group), EtherType::IP6),
        };
        let ethernet = Ethernet::new(mac, to, ethertype);
        [ethernet.as_bytes(), &self.packet(src, group)].concat()
    }
}

fn pseudo<H: IpHeader>(ip: &H, message: &[u8]) -> Sum {
    ip.pseudo_sum(IpProtocol::VRRP, message.len() as u32)
}

/// The reports by which switches learn that the router listens to the groups of its virtual router:
/// of IGMP version 3, or of MLD version 2, where these are the groups of solicited nodes, too.
pub fn reports(mac: MacAddr, src: IpAddr, addresses: &[IpAddr]) -> Vec<Vec<u8>> {
    match src {
        IpAddr::V4(src) => {
            let mut message = Igmp3Report::new(1).as_bytes().to_vec();
            message.extend(Igmp3Record::new(Igmp3Record::TO_EXCLUDE, GROUP4, 0).as_bytes());
            igmp::set_checksum(&mut message);
            let to = MacAddr::ip4_multicast(ALL_IGMP3_ROUTERS);
            let header = igmp::ip_header(src, ALL_IGMP3_ROUTERS, message.len() as u16);
            vec![[Ethernet::new(mac, to, EtherType::IP4).as_bytes(), &header, &message].concat()]
        }
        IpAddr::V6(src) => {
            let solicited = addresses.iter().filter_map(|address| match address {
                IpAddr::V6(ip) => Some(solicited_node(*ip)),
                IpAddr::V4(_) => None,
            });
            let groups = BTreeSet::from_iter(std::iter::once(GROUP6).chain(solicited));
            let records: Vec<_> =
                groups.into_iter().map(|group| (Mld2Record::TO_EXCLUDE, group)).collect();
            let parts = records.chunks(compose::RECORDS);
            parts.map(|part| compose::report(mac, src, part)).collect()
        }
    }
}

/// The frame that tells all stations that an address is at the virtual MAC address: an ARP
/// announcement (RFC 9568 8.1.2) or an unsolicited neighbour advertisement (8.2.2).
pub fn announcement(key: VrKey, address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(ip) => {
            let ethernet = Ethernet::new(key.mac(), MacAddr::BROADCAST, EtherType::ARP);
            let arp = Arp::new(ArpOp::REQUEST, (key.mac(), ip), (MacAddr::BROADCAST, ip));
            [ethernet.as_bytes(), arp.as_bytes()].concat()
        }
        IpAddr::V6(ip) => compose::announcement(key.mac(), ip),
    }
}

/// Returns true if an address can belong to a virtual router of this version.
pub fn can_be_virtual(address: IpAddr, v6: bool) -> bool {
    match address {
        IpAddr::V4(ip) => !v6 && !ip.is_unspecified() && !ip.multicast() && !ip.is_broadcast(),
        IpAddr::V6(ip) => v6 && !ip.is_unspecified() && !ip.multicast(),
    }
}
