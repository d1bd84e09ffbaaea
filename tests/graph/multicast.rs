// SPDX-License-Identifier: Apache-2.0
//! Random multicast routes and packets: a slow reference confirms the sent packets, and every
//! packet is counted.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use daemon::plugins;
use graph::counters::ERRORS;
use graph::drive::Bench;
use net::Interfaces;
use net::drive::{Recorded, Recorder, ethernet};
use testkit::{Rng, pkt};
use wire::MacAddr;

/// Interfaces, numbered from 1.
const LINKS: u32 = 6;
const ROUNDS: usize = 60;

fn bench() -> Bench {
    let mut bench = Bench::new(plugins::ALL);
    for i in 1..=LINKS as u8 {
        let new = ethernet(format!("t{i}"), MacAddr([2, 0, 0, 0, 0, i]));
        let made = bench
            .world
            .get::<Interfaces>()
            .create(&bench.world, new, |world, _, sw_if| Recorder::new(world, sw_if))
            .expect("created");
        assert_eq!(made.0, u32::from(i));
        for line in [
            format!("set interface ip address t{i} 10.0.{i}.1/24"),
            format!("enable ip6 interface t{i}"),
            format!("set interface state t{i} up"),
        ] {
            bench.cli(&line).unwrap_or_else(|e| panic!("{line}: {e}"));
        }
    }
    bench
}

/// An entry for a group or several, as the slow reference keeps it.
#[derive(Clone, Default, Debug)]
struct Entry {
    drop: bool,
    accept_all: bool,
    /// By interface: accept, forward.
    paths: BTreeMap<u32, (bool, bool)>,
}

/// Group, bits of it, sender.
type Key = (IpAddr, u8, Option<IpAddr>);

fn group(v6: bool, n: usize) -> IpAddr {
    match v6 {
        // The last two are a link's own.
        false => [
            [239, 1, 1, 1],
            [239, 1, 2, 1],
            [239, 1, 1, 2],
            [232, 9, 9, 9],
            [224, 0, 0, 9],
            [224, 0, 0, 77],
        ]
        .map(|g| IpAddr::from(Ipv4Addr::from(g)))[n],
        true => [
            [0xff0e, 1, 1],
            [0xff0e, 2, 1],
            [0xff0e, 1, 2],
            [0xff3e, 9, 9],
            [0xff02, 0, 0x9999],
            [0xff12, 0, 7],
        ]
        .map(|[a, b, c]| IpAddr::from(Ipv6Addr::new(a, b, 0, 0, 0, 0, 0, c)))[n],
    }
}

fn sender(v6: bool, n: usize) -> IpAddr {
    match v6 {
        false => Ipv4Addr::new(172, 16, 0, 1 + n as u8).into(),
        true => Ipv6Addr::new(0x2001, 0xdb8, 9, 0, 0, 0, 0, 1 + n as u16).into(),
    }
}

fn covers(key: &Key, to: IpAddr, from: IpAddr) -> bool {
    let (addr, len, source) = *key;
    let bits = |addr: IpAddr| match addr {
        IpAddr::V4(addr) => u128::from(addr.to_bits()) << 96,
        IpAddr::V6(addr) => addr.to_bits(),
    };
    let mask = !u128::MAX.checked_shr(len.into()).unwrap_or(0);
    addr.is_ipv6() == to.is_ipv6()
        && (bits(addr) ^ bits(to)) & mask == 0
        && source.is_none_or(|s| s == from)
}

/// By which interfaces a packet leaves.
fn ways(entries: &BTreeMap<Key, Entry>, to: IpAddr, from: IpAddr, rx_if: u32, ttl: u8) -> Vec<u32> {
    let all = entries.iter().filter(|(key, _)| covers(key, to, from));
    let Some((_, entry)) = all.max_by_key(|((_, len, source), _)| (source.is_some(), *len)) else {
        return Vec::new();
    };
    let accepted = entry.accept_all || entry.paths.get(&rx_if).is_some_and(|(accept, _)| *accept);
    let of_link = match to {
        IpAddr::V4(to) => to.octets()[..3] == [224, 0, 0],
        IpAddr::V6(to) => to.octets()[1] & 15 == 2,
    };
    if entry.drop || !accepted || of_link || ttl <= 1 {
        return Vec::new();
    }
    let forward = entry.paths.iter().filter(|(sw_if, (_, forward))| *forward && **sw_if != rx_if);
    forward.map(|(sw_if, _)| *sw_if).collect()
}

/// Adds or deletes something, in the router and in the slow function's memory.
fn change(bench: &mut Bench, entries: &mut BTreeMap<Key, Entry>, rng: &mut Rng) {
    let v6 = rng.one_in(2);
    let addr = group(v6, rng.below(6));
    let (host, widths) = if v6 { (128, [16, 32, 120]) } else { (32, [8, 16, 24]) };
    let (len, source) = match rng.below(4) {
        0 => (widths[rng.below(3)], None),
        1 => (host, None),
        _ => (host, Some(sender(v6, rng.below(3)))),
    };
    let network = match addr {
        IpAddr::V4(addr) => IpAddr::from(Ipv4Addr::from_bits(
            addr.to_bits() & !u32::MAX.checked_shr(len.into()).unwrap_or(0),
        )),
        IpAddr::V6(addr) => IpAddr::from(Ipv6Addr::from_bits(
            addr.to_bits() & !u128::MAX.checked_shr(len.into()).unwrap_or(0),
        )),
    };
    let key = (network, len, source);
    let name = match source {
        Some(source) => format!("{source} {addr}"),
        None => format!("{addr}/{len}"),
    };
    if entries.contains_key(&key) && rng.one_in(3) {
        entries.remove(&key);
        bench.cli(&format!("ip mroute del {name}")).unwrap_or_else(|e| panic!("{name}: {e}"));
        return;
    }
    let entry = entries.entry(key).or_default();
    let mut line = format!("ip mroute add {name}");
    if rng.one_in(6) {
        (entry.drop, entry.accept_all) = (rng.one_in(3), rng.one_in(2));
        line += if entry.drop { " Drop" } else { "" };
        line += if entry.accept_all { " Accept-all-itf" } else { "" };
    } else {
        for _ in 0..3 {
            let sw_if = 1 + rng.below(LINKS as usize) as u32;
            let (accept, forward) = (!rng.one_in(4), !rng.one_in(4));
            entry.paths.insert(sw_if, (accept, forward));
            line += &format!(" via t{sw_if}");
            line += if accept { " Accept" } else { "" };
            line += if forward { " Forward" } else { "" };
        }
    }
    bench.cli(&line).unwrap_or_else(|e| panic!("{line}: {e}"));
}

#[test]
fn packets_go_where_a_slow_function_says() {
    let (mut bench, mut rng, mut entries) = (bench(), Rng::new(20_261_121), BTreeMap::new());
    let input = bench.index("ethernet-input");
    bench.settle();
    (0..20).for_each(|_| change(&mut bench, &mut entries, &mut rng));
    let (mut copies, mut number) = (0, 0u32);
    for round in 0..ROUNDS {
        (0..1 + rng.below(8)).for_each(|_| change(&mut bench, &mut entries, &mut rng));
        bench.world.get::<Recorded>().take();
        bench.rt.receive();
        let mut want = Vec::new();
        for _ in 0..[1, 7, 64, 200][round % 4] {
            let (v6, rx_if, ttl) =
                (rng.one_in(2), 1 + rng.below(LINKS as usize) as u32, [1, 2, 64][rng.below(3)]);
            let (to, from) = (group(v6, rng.below(6)), sender(v6, rng.below(3)));
            let len = [10, 200, 1200][rng.below(3)];
            let host = MacAddr([2, 0xaa, 0, 0, 0, 9]);
            let frame = match (to, from) {
                (IpAddr::V4(to), IpAddr::V4(from)) => {
                    pkt::ether(host, MacAddr::ip4_multicast(to)).ip4(from, to)
                }
                (IpAddr::V6(to), IpAddr::V6(from)) => {
                    pkt::ether(host, MacAddr::ip6_multicast(to)).ip6(from, to)
                }
                _ => unreachable!("of one family"),
            };
            // No packet has the bytes of the one before it.
            number += 1;
            let payload: Vec<u8> = (0..len as u32).map(|i| (i * 7 + number * 31) as u8).collect();
            let make = |ttl: u8| frame.clone().ttl(ttl).udp(1, 2).payload(&payload).build();
            for tx_if in ways(&entries, to, from, rx_if, ttl) {
                let mut bytes = make(ttl - 1);
                bytes[6..12].copy_from_slice(&[2, 0, 0, 0, 0, tx_if as u8]);
                want.push((tx_if, bytes));
            }
            let mut b = bench.buffer(&make(ttl));
            b.rx_if = rx_if;
            bench.rt.inject(input, b);
        }
        bench.settle();
        let mut got = bench.world.get::<Recorded>().take();
        // ARP and neighbour discovery send packets of their own.
        got.retain(|(_, bytes)| {
            bytes[12..14] == [8, 0] || bytes[12..14] == [0x86, 0xdd] && bytes[20] == 17
        });
        copies += got.len();
        got.sort();
        want.sort();
        assert_eq!(got.len(), want.len(), "round {round}: {entries:?}");
        assert!(got == want, "round {round}: {entries:?}");
    }
    assert!(copies > 1000, "{copies}");
    // Each that went nowhere has a name.
    let errors = bench.world.stats.simple(ERRORS);
    let count = |node: &str, why: &str| -> u64 {
        let reasons = bench.world.reasons().into_iter().enumerate();
        reasons
            .filter(|(_, r)| &*r.node == node && r.reason == why)
            .map(|(i, _)| errors.sum(i))
            .sum()
    };
    for ip in ["ip4", "ip6"] {
        for (node, why) in [
            ("input", "rpf_failure"),
            ("rewrite-mcast", "time_expired"),
            ("replicate", "no_output"),
            ("replicate", "confined"),
        ] {
            assert!(count(&format!("{ip}-{node}"), why) > 0, "{ip}-{node} {why}");
        }
        assert_eq!(count(&format!("{ip}-replicate"), "Buffer Allocation Failure"), 0);
    }
}
