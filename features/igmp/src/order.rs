// SPDX-License-Identifier: Apache-2.0
//! The order of groups in answers to general queries. RFC 3376 leaves it open; the tests that VPP
//! publishes expect VPP's, so the daemon follows it when it is asked to be like VPP: groups are in
//! 64 buckets of a hash, Bob Jenkins's lookup8 of 1997, which is in the public domain.

use std::net::Ipv4Addr;

/// The golden ratio, an arbitrary start.
const START: u64 = 0x9e37_79b9_7f4a_7c13;
/// Bytes of the key: an IPv6 address, or 12 zeros and an IPv4 address.
const KEY: u64 = 16;
const BUCKETS: u64 = 64;

/// Mixes three words.
fn mix([mut a, mut b, mut c]: [u64; 3]) -> u64 {
    for [x, y, z] in [[43, 9, 8], [38, 23, 5], [35, 49, 11], [12, 18, 22]] {
        a = a.wrapping_sub(b).wrapping_sub(c) ^ (c >> x);
        b = b.wrapping_sub(c).wrapping_sub(a) ^ (a << y);
        c = c.wrapping_sub(a).wrapping_sub(b) ^ (b >> z);
    }
    c
}

/// The bucket of a group.
pub fn bucket(group: Ipv4Addr) -> u64 {
    // The address is the last four bytes of the key, the upper half of its second word.
    let word = u64::from(u32::from_le_bytes(group.octets())) << 32;
    mix([START, START.wrapping_add(word), KEY]) % BUCKETS
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    #[suite::test]
    fn groups_are_in_vpps_order() {
        let mut groups: Vec<_> = (1..=6).map(|n| Ipv4Addr::new(239, 1, 1, n)).collect();
        groups.extend([1, 2].map(|n| Ipv4Addr::new(238, 1, 1, n)));
        groups.sort_by_key(|group| bucket(*group));
        let last: Vec<_> = groups.iter().map(|g| (g.octets()[0], g.octets()[3])).collect();
        let expected =
            [(239, 2), (239, 1), (239, 5), (239, 3), (239, 4), (238, 1), (239, 6), (238, 2)];
        assert_eq!(last, expected);
    }
}
