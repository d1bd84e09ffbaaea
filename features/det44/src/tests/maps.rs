// SPDX-License-Identifier: Apache-2.0
//! Users and ports of maps.

use crate::map::{Map, Maps};
use ::nat::key::End;
use proptest::prelude::*;
use std::collections::HashSet;
use std::net::Ipv4Addr;
use wire::{Ip4Prefix, Prefix};

fn prefix(addr: u32, len: u8) -> Ip4Prefix {
    Prefix::new(Ipv4Addr::from_bits(addr), len).expect("a length")
}

proptest! {
    /// Every port of a user leads back to it, and to nobody else.
    #[suite::test]
    fn reverse_undoes_forward(
        inside: u32, outside: u32, len in 0..=32u8, more in 0..=15u8, host: u32, port: u16
    ) {
        let out_len = len.saturating_add(more).min(32);
        let map = Map::new(prefix(inside, len), prefix(outside, out_len), 0).expect("a map");
        let user = Ipv4Addr::from_bits(map.inside.addr().to_bits() | host & !map.inside.mask().to_bits());
        let range = map.forward(user).expect("a user");
        prop_assert!(map.outside.contains(range.addr));
        prop_assert!(range.first >= 1024 && u32::from(range.first) + range.len <= 65_536);
        prop_assert_eq!(u64::from(range.len), 64_512 / map.ratio());
        for port in [range.first, range.last(), range.ports(port).next().expect("a port")] {
            prop_assert_eq!(map.reverse(End::new(range.addr, port)), Some(user));
        }
        for port in [range.first.wrapping_sub(1), range.last().wrapping_add(1)] {
            prop_assert_ne!(map.reverse(End::new(range.addr, port)), Some(user));
        }
        // Any port belongs to a user that has it, or to nobody.
        if let Some(other) = map.reverse(End::new(range.addr, port)) {
            let range = map.forward(other).expect("a user");
            prop_assert!((range.first..=range.last()).contains(&port));
        }
    }

    /// The ports that are tried are those of the user, each once, the user's own first.
    #[suite::test]
    fn ports_are_tried_once(host: u8, own: u16) {
        let map = Map::new(prefix(0x0a00_0000, 24), prefix(1, 32), 0).expect("a map");
        let range = map.forward(Ipv4Addr::new(10, 0, 0, host)).expect("a user");
        let tried: Vec<_> = range.ports(own).collect();
        prop_assert_eq!(tried[0], range.first + own % 252);
        let once: HashSet<_> = tried.iter().copied().collect();
        prop_assert_eq!((once.len(), tried.len()), (252, 252));
        prop_assert!(tried.iter().all(|port| (range.first..=range.last()).contains(port)));
    }

    /// A map is found as by a search through all.
    #[suite::test]
    fn maps_are_found(hosts in proptest::collection::vec(any::<u8>(), 0..20), probe: u16) {
        let hosts: HashSet<_> = hosts.into_iter().collect();
        let all: Vec<_> = hosts
            .iter()
            .enumerate()
            .map(|(n, host)| {
                let inside = prefix(0x0a00_0000 | u32::from(*host) << 8, 24);
                Map::new(inside, prefix(0xc000_0200 | u32::from(host.reverse_bits()), 32), n as u32)
            })
            .map(|map| map.expect("a map"))
            .collect();
        let maps = Maps::new(all.iter().copied());
        let user = Ipv4Addr::from_bits(0x0a00_0000 | u32::from(probe));
        let outside = Ipv4Addr::from_bits(0xc000_0200 | u32::from(probe) >> 8);
        prop_assert_eq!(maps.of_user(user), all.iter().find(|map| map.inside.contains(user)));
        let found = all.iter().find(|map| map.outside.contains(outside));
        prop_assert_eq!(maps.of_outside(outside), found);
    }
}

#[suite::test]
fn users_need_a_port_each() {
    let map = |len, out_len| Map::new(prefix(0x0a00_0000, len), prefix(1 << 24, out_len), 0);
    assert_eq!(map(17, 32).expect("a map").ports(), 1);
    assert!(map(16, 32).is_none(), "65536 users of 64512 ports");
    assert_eq!(map(24, 24).expect("a map").ports(), 64_512);
    assert!(map(24, 23).is_none(), "more addresses than users");
    assert_eq!(map(0, 8).expect("a map").ratio(), 256);
}
