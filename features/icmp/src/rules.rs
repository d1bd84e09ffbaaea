// SPDX-License-Identifier: Apache-2.0
//! Suppression of ICMP errors (RFC 1812 4.3.2.7, RFC 1122 3.2.2, RFC 4443 2.4), and selection of
//! their source address.

use crate::model::{ErrorHeader, Refusal};
use crate::version::Icmp;
use buffer::{Buffer, Flags};
use wire::icmp::code6;
use wire::{Address, Icmp6Type, IpHeader, Prefix};

/// Checks that an error may be sent about the packet whose IP header, `ip`, is at offset `at`.
/// `own` are the addresses of the interface that the packet was received on.
#[inline(always)]
pub fn check<F: Icmp>(
    b: &Buffer,
    at: usize,
    ip: &F::Header,
    own: &[Prefix<F::Addr>],
    says: ErrorHeader,
) -> Result<(), Refusal> {
    F::may_tell(b, at, ip)?;
    // These errors are also sent about packets to groups (RFC 4443 2.4 (e.3)).
    let also_groups = F::IS_V6
        && match Icmp6Type(says.kind) {
            Icmp6Type::PACKET_TOO_BIG => true,
            Icmp6Type::PARAMETER_PROBLEM => says.code == code6::UNKNOWN_OPTION,
            _ => false,
        };
    if !also_groups {
        if F::is_group(ip.dst(), own) {
            return Err(Refusal::Broadcast);
        }
        if b.flags.intersects(Flags::L2_BROADCAST | Flags::L2_MULTICAST) {
            return Err(Refusal::LinkBroadcast);
        }
    }
    if !F::is_host(ip.src(), own) {
        return Err(Refusal::Source);
    }
    Ok(())
}

/// Selects our source address towards `peer` on an interface with these addresses: the one in the
/// peer's network, else the first. To a link-local peer, and if there is no other, the interface's
/// link-local address (RFC 6724 5, rule 2).
#[inline(always)]
pub fn source<A: Address>(own: &[Prefix<A>], link_local: Option<A>, peer: A) -> Option<A> {
    if link_local.is_some() && peer.link_local() {
        return link_local;
    }
    own.iter().find(|p| p.contains(peer)).or(own.first()).map(|p| p.addr()).or(link_local)
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use ip::Ip;
    use std::net::{Ipv4Addr, Ipv6Addr};
    use wire::{Ip4, Ip4Prefix, Ip6, Ip6Prefix};

    #[suite::test]
    fn hosts_groups_and_sources() {
        let own: Vec<Ip4Prefix> =
            ["10.0.0.1/24", "192.0.2.0/31"].iter().map(|p| p.parse().expect("a prefix")).collect();
        let addr = |s: &str| -> Ipv4Addr { s.parse().expect("an address") };
        let (is_host, is_group) = (|a| Ip4::is_host(a, &own), |a| Ip4::is_group(a, &own));
        for host in ["10.0.0.7", "192.0.2.0", "192.0.2.1", "1.0.0.1", "223.255.255.255"] {
            assert!(is_host(addr(host)) && !is_group(addr(host)), "{host}");
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
            assert!(!is_host(addr(no)), "{no}");
        }
        for group in ["224.0.0.1", "239.255.255.255", "255.255.255.255", "10.0.0.255"] {
            assert!(is_group(addr(group)), "{group}");
        }
        assert!(!is_group(addr("240.0.0.1")) && !is_group(addr("127.0.0.1")));
        assert_eq!(source(&own, None, addr("192.0.2.1")), Some(addr("192.0.2.0")));
        assert_eq!(source(&own, None, addr("8.8.8.8")), Some(addr("10.0.0.1")));
        assert_eq!(source(&[], None, addr("8.8.8.8")), None);
    }

    #[suite::test]
    fn hosts_groups_and_sources_of_ipv6() {
        let addr = |s: &str| -> Ipv6Addr { s.parse().expect("an address") };
        for no in ["::", "::1", "ff02::1"] {
            assert!(!Ip6::is_host(addr(no), &[]), "{no}");
        }
        assert!(Ip6::is_host(addr("fe80::1"), &[]) && Ip6::is_group(addr("ff02::1"), &[]));
        let own: [Ip6Prefix; 2] =
            ["2001:db8:1::1/64", "2001:db8:2::1/64"].map(|p| p.parse().expect("a prefix"));
        let link = Some(addr("fe80::7"));
        assert_eq!(source(&own, link, addr("fe80::9")), link);
        assert_eq!(source(&own, link, addr("2001:db8:2::9")), Some(own[1].addr()));
        assert_eq!(source(&own, link, addr("3000::9")), Some(own[0].addr()));
        assert_eq!(source(&[], link, addr("3000::9")), link);
    }
}
