// SPDX-License-Identifier: Apache-2.0
//! Headers of one version as those of the other (RFC 7915), and addresses under prefixes.

use super::*;
use crate::prefix::Pref64;
use proptest::prelude::*;
use testkit::pkt::Checksum;

fn pref64(len: u8) -> Pref64 {
    let prefix = wire::Ip6Prefix::new("2001:db8:122:344::".parse().expect("an address"), len);
    Pref64::new(prefix.expect("a prefix")).expect("a length that it may have")
}

/// The addresses of RFC 6052 2.4.
#[suite::test]
fn addresses_of_rfc_6052() {
    let host = Ipv4Addr::new(192, 0, 2, 33);
    for (len, text) in [
        (32, "2001:db8:c000:221::"),
        (40, "2001:db8:1c0:2:21::"),
        (48, "2001:db8:122:c000:2:2100::"),
        (56, "2001:db8:122:3c0:0:221::"),
        (64, "2001:db8:122:344:c0:2:2100::"),
        (96, "2001:db8:122:344::192.0.2.33"),
    ] {
        let addr: Ipv6Addr = text.parse().expect("an address");
        assert_eq!(pref64(len).compose(host), addr, "{len}");
        assert_eq!(pref64(len).extract(addr), Some(host), "{len}");
    }
    let well_known: Ipv6Addr = "64:ff9b::192.0.2.33".parse().expect("an address");
    assert_eq!(Pref64::default().extract(well_known), Some(host));
}

proptest! {
    #[suite::test]
    fn any_host_is_found_again(bits: u32, at in 0_usize..6, other: u128) {
        let prefix = pref64(Pref64::LENGTHS[at]);
        let host = Ipv4Addr::from_bits(bits);
        let addr = prefix.compose(host);
        prop_assert_eq!(addr.to_bits() >> 56 & 0xff, 0, "bits 64 to 71");
        prop_assert_eq!(prefix.extract(addr), Some(host));
        let (network, len) = prefix.prefix();
        let inside = (other ^ network.to_bits()) >> (128 - u32::from(len)) == 0;
        prop_assert_eq!(prefix.extract(Ipv6Addr::from_bits(other)).is_some(), inside);
    }
}

/// Hops and class are kept but for the router's own hop; what may be fragmented is.
#[suite::test]
fn fields_are_those_of_the_other_version() {
    let mut rig = with_pool();
    for (len, is_whole) in [(10, false), (1232, false), (1233, true), (1300, true)] {
        let ask = of_user(USER, HOST6).ttl(9).tos(0xb9).flow_label(77).udp(5, 53).payload_len(len);
        let left = bytes(&mut rig, 0, &ask);
        let ip = *Ipv4Header::view(&left).expect("a header");
        assert_eq!((ip.ttl, ip.tos, ip.version_ihl), (8, 0xb9, Ipv4Header::PLAIN));
        assert_eq!(ip.dont_fragment(), is_whole, "{len}");
        assert_eq!(&left[28..], &ask.build()[ETHERNET + 48..], "the payload");
        let port = u16::from_be_bytes([left[20], left[21]]);
        let back = of_world(HOST, PUBLIC).ttl(7).tos(0x2e).udp(53, port).payload_len(20);
        let left = bytes(&mut rig, 1, &back);
        let ip = *Ipv6Header::view(&left).expect("a header");
        assert_eq!((ip.hop_limit, ip.traffic_class(), ip.flow_label()), (6, 0x2e, 0));
        assert_eq!(&left[48..], &back.build()[ETHERNET + 28..], "the payload");
    }
}

/// Headers in front of the upper layer are left out, but for those that say more.
#[suite::test]
fn extensions_are_left_out() {
    let mut rig = with_pool();
    let out = || of_user(USER, HOST6);
    let options = [IpProtocol::HOP_BY_HOP, IpProtocol::DEST_OPTIONS];
    for kind in options {
        let ask = out().ext(kind, [0, 1, 4, 0, 0, 0, 0]).udp(5, 53).payload("some bytes");
        let left = bytes(&mut rig, 0, &ask);
        assert_eq!((left.len(), &left[28..]), (38, &b"some bytes"[..]));
    }
    let routed = out().ext(IpProtocol::ROUTING, [0, 0, 1, 0, 0, 0, 0]).udp(5, 53);
    assert!(is_dropped(&mut rig, 0, &routed));
    let port = one(&mut rig, 0, &out().udp(5, 53)).from.1;
    let stamped = of_world(HOST, PUBLIC).options([7, 7, 4, 0, 0, 0, 0, 0]).udp(53, port);
    assert_eq!(bytes(&mut rig, 1, &stamped).len(), 48);
    // Routers to pass yet: the sender hears of it (RFC 7915 4.1).
    let routed = of_world(HOST, PUBLIC).options([131, 7, 4, 1, 2, 3, 4, 0]).udp(53, port);
    let seen = sent(&mut rig, 1, &routed);
    assert!(seen.iter().all(|seen| seen.port == 1), "{seen:?}");
}

/// IPv6 wants a checksum of UDP where IPv4 has none (RFC 7915 4.5).
#[suite::test]
fn checksums_are_added() {
    let mut rig = with_pool();
    let port = one(&mut rig, 0, &of_user(USER, HOST6).udp(5, 53)).from.1;
    for len in [0, 1, 30, 1000] {
        let none = of_world(HOST, PUBLIC).udp(53, port).checksum(Checksum::Value(0));
        let none = none.payload_len(len);
        let left = bytes(&mut rig, 1, &none);
        assert_ne!(&left[46..48], &[0, 0]);
        assert!(matches!(l4::verify(&left), Ok(Verdict::Valid)));
    }
}

/// Hops that are used up are answered in the sender's own version, before the translation.
#[suite::test]
fn hops_that_are_used_up_are_answered() {
    let mut rig = with_pool();
    let seen = one(&mut rig, 0, &of_user(USER, HOST6).ttl(1).udp(5, 53));
    assert_eq!((seen.port, seen.to.0), (0, addr(USER)));
    let port = one(&mut rig, 0, &of_user(USER, HOST6).udp(5, 53)).from.1;
    let seen = one(&mut rig, 1, &of_world(HOST, PUBLIC).ttl(1).udp(53, port));
    assert_eq!((seen.port, seen.to.0), (1, addr(HOST)));
}
