// SPDX-License-Identifier: Apache-2.0
//! About which packets no ICMP error may be sent (RFC 1812 4.3.2.7, RFC 1122 3.2.2), and where one is sent from.

use buffer::{Buffer, Flags};
use std::net::Ipv4Addr;
use wire::{Icmp4Type, Ip4Prefix, IpHeader, IpProtocol, Ipv4Header};

/// Why no error is sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// The packet is an ICMP error itself, or may be one.
    IcmpError,
    /// A fragment other than the first.
    Fragment,
    /// It goes to more than one host.
    Broadcast,
    /// Its frame went to more than one host.
    LinkBroadcast,
    /// It comes from what is no address of one host.
    Source,
}

/// ICMP types above this one are younger than the rules, and may be errors.
const LAST_KNOWN: u8 = 18;

/// Whether an error may be sent about the packet whose IP header, `ip`, stands at offset `at`. `own` are the addresses of the
/// interface that it came in by.
#[inline(always)]
pub fn check(b: &Buffer, at: usize, ip: &Ipv4Header, own: &[Ip4Prefix]) -> Result<(), Refusal> {
    if ip.fragment_offset() != 0 {
        return Err(Refusal::Fragment);
    }
    if ip.protocol == IpProtocol::ICMP {
        let mut kind = [0];
        let known = b.copy_out(at + ip.header_len(), &mut kind) == 1 && kind[0] <= LAST_KNOWN;
        if !known || Icmp4Type(kind[0]).is_error() {
            return Err(Refusal::IcmpError);
        }
    }
    if is_group(ip.dst(), own) {
        return Err(Refusal::Broadcast);
    }
    if b.flags.any(Flags::L2_BROADCAST.with(Flags::L2_MULTICAST)) {
        return Err(Refusal::LinkBroadcast);
    }
    if !is_host(ip.src(), own) {
        return Err(Refusal::Source);
    }
    Ok(())
}

/// The address stands for several hosts: multicast, broadcast, or the broadcast of a network that is directly connected.
#[inline(always)]
pub fn is_group(addr: Ipv4Addr, own: &[Ip4Prefix]) -> bool {
    addr.is_multicast() || addr.is_broadcast() || is_directed(addr, own)
}

/// The address may be that of one host: not 0/8, 127/8, class D or E, or the broadcast of a connected network.
#[inline(always)]
pub fn is_host(addr: Ipv4Addr, own: &[Ip4Prefix]) -> bool {
    let [first, ..] = addr.octets();
    !matches!(first, 0 | 127 | 224..) && !is_directed(addr, own)
}

/// First and last address of a network: its broadcasts, the older and the newer way (RFC 1812 5.3.5); RFC 3021's networks of
/// two have none.
#[inline(always)]
fn is_directed(addr: Ipv4Addr, own: &[Ip4Prefix]) -> bool {
    own.iter().any(|p| p.len() < 31 && (addr == p.last() || addr == p.network().addr()))
}

/// The address that we speak with to `peer` on an interface with these addresses: that of its network, else the first.
#[inline(always)]
pub fn source(own: &[Ip4Prefix], peer: Ipv4Addr) -> Option<Ipv4Addr> {
    own.iter().find(|p| p.contains(peer)).or(own.first()).map(|p| p.addr())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_groups_and_sources() {
        let own: Vec<Ip4Prefix> =
            ["10.0.0.1/24", "192.0.2.0/31"].iter().map(|p| p.parse().expect("a prefix")).collect();
        let addr = |s: &str| -> Ipv4Addr { s.parse().expect("an address") };
        for host in ["10.0.0.7", "192.0.2.0", "192.0.2.1", "1.0.0.1", "223.255.255.255"] {
            assert!(is_host(addr(host), &own) && !is_group(addr(host), &own), "{host}");
        }
        for no in [
            "0.0.0.0",
            "0.1.2.3",
            "127.0.0.1",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "10.0.0.255",
            "10.0.0.0",
        ] {
            assert!(!is_host(addr(no), &own), "{no}");
        }
        for group in ["224.0.0.1", "239.255.255.255", "255.255.255.255", "10.0.0.255"] {
            assert!(is_group(addr(group), &own), "{group}");
        }
        assert!(!is_group(addr("240.0.0.1"), &own) && !is_group(addr("127.0.0.1"), &own));
        assert_eq!(source(&own, addr("192.0.2.1")), Some(addr("192.0.2.0")));
        assert_eq!(source(&own, addr("8.8.8.8")), Some(addr("10.0.0.1")));
        assert_eq!(source(&[], addr("8.8.8.8")), None);
    }
}
