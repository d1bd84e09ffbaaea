// SPDX-License-Identifier: Apache-2.0
mod api;
mod commands;
mod counters;
mod extension;
mod forward;
mod frag;
mod gso;
mod hop_by_hop;
mod link_local;
mod lookup;
mod memory;
mod oracle;
mod oracle6;
mod path_mtu;
mod route_words;
mod sources;

use crate::PLUGIN;
use buffer::Buffer;
use graph::drive::Bench;
use graph::{Plugin, SwIfIndex};
use net::drive::{Tx, ethernet};
use net::{Addresses, Fib, Interfaces, Neighbor, Neighbors, Path, PathKind, Source, TableIndex};
use std::net::{Ipv4Addr, Ipv6Addr};
use testkit::pkt::{self, Packet};
use wire::{Ip4, Ip4Prefix, Ip6, MacAddr};

static PLUGINS: &[&Plugin] = &[
    &interface::PLUGIN,
    &ethernet::PLUGIN,
    &fib::PLUGIN,
    &::path_mtu::PLUGIN,
    &PLUGIN,
    &ip_container::PLUGIN,
];

/// The interfaces: `t1` is 10.0.1.1/24, `t2` is 10.0.2.1/24; 10.0.2.2 is a known neighbour.
pub const T1: SwIfIndex = SwIfIndex(1);
pub const T2: SwIfIndex = SwIfIndex(2);
pub const HOST: &str = "10.0.1.9";
pub const NEIGHBOR_MAC: [u8; 6] = [2, 0, 0, 0, 2, 2];

pub fn ip(text: &str) -> Ipv4Addr {
    text.parse().expect("an address")
}

pub fn prefix(text: &str) -> Ip4Prefix {
    text.parse().expect("a prefix")
}

pub fn ip6(text: &str) -> Ipv6Addr {
    text.parse().expect("an address")
}

/// A host on `t1`.
pub const HOST6: &str = "2001:db8:1::9";

/// The same router with IPv6: `t1` is 2001:db8:1::1/64, `t2` is 2001:db8:2::1/64; 2001:db8:2::2 and
/// fe80::2 are known neighbours on `t2`; a route 3000::/16 leads over the first, 3001::/16 over the
/// second.
pub fn router6() -> Bench {
    let bench = router();
    let world = &bench.world;
    for (sw_if, address) in [(T1, "2001:db8:1::1/64"), (T2, "2001:db8:2::1/64")] {
        let address = address.parse().expect("a prefix");
        world.get::<Addresses<Ip6>>().add(world, sw_if, address).expect("added");
    }
    for (i, neighbor) in ["2001:db8:2::2", "fe80::2"].into_iter().enumerate() {
        let new = Neighbor::new(T2, ip6(neighbor).into(), MacAddr(NEIGHBOR_MAC));
        world.get::<Neighbors>().set(world, Neighbor { is_static: true, ..new }).expect("set");
        let kind = PathKind::Neighbor { sw_if: T2, nexthop: ip6(neighbor).into() };
        route6(&bench, &format!("300{i}::/16"), &[kind]);
    }
    bench
}

pub fn route6(bench: &Bench, to: &str, kinds: &[PathKind]) {
    let paths: Vec<_> = kinds.iter().map(|kind| Path::new(*kind)).collect();
    let (fib, to) = (bench.world.get::<Fib<Ip6>>(), to.parse().expect("a prefix"));
    fib.set(&bench.world, TableIndex::DEFAULT, to, Source::Cli, &paths).expect("set");
}

/// A UDP packet from a host on `t1`.
pub fn udp6(to: &str) -> Packet {
    pkt::ip6(HOST6, to).udp(1000, 2000).payload_len(18)
}

/// The same packet with other headers behind IPv6's: the type of the first, and their bytes.
pub fn behind(mut packet: Vec<u8>, first: u8, headers: &[u8]) -> Vec<u8> {
    packet[6] = first;
    let len = u16::from_be_bytes([packet[4], packet[5]]) + headers.len() as u16;
    packet[4..6].copy_from_slice(&len.to_be_bytes());
    packet.splice(40..40, headers.iter().copied());
    packet
}

/// A router with two interfaces and a route 20.0.0.0/8 over the neighbour.
pub fn router() -> Bench {
    let bench = Bench::new(PLUGINS);
    let world = &bench.world;
    let interfaces = world.get::<Interfaces>();
    for i in 1..=2u8 {
        let new = ethernet(format!("t{i}"), MacAddr([2, 0, 0, 0, 0, i]));
        let sw_if = interfaces.create(world, new, |_, _, _| Tx).expect("created");
        interfaces.set_admin(world, sw_if, true).expect("up");
        world
            .get::<Addresses<Ip4>>()
            .add(world, sw_if, prefix(&format!("10.0.{i}.1/24")))
            .expect("added");
    }
    let known = Neighbor {
        is_static: true,
        ..Neighbor::new(T2, ip("10.0.2.2").into(), MacAddr(NEIGHBOR_MAC))
    };
    world.get::<Neighbors>().set(world, known).expect("set");
    route(
        &bench,
        "20.0.0.0/8",
        &[PathKind::Neighbor { sw_if: T2, nexthop: ip("10.0.2.2").into() }],
    );
    bench
}

pub fn route(bench: &Bench, to: &str, kinds: &[PathKind]) {
    let paths: Vec<_> = kinds.iter().map(|kind| Path::new(*kind)).collect();
    let fib = bench.world.get::<Fib<Ip4>>();
    fib.set(&bench.world, TableIndex::DEFAULT, prefix(to), Source::Cli, &paths).expect("set");
}

/// A UDP packet from a host on `t1`.
pub fn udp(to: &str) -> Packet {
    pkt::ip4(HOST, to).udp(1000, 2000).payload_len(18)
}
