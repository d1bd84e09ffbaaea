// SPDX-License-Identifier: Apache-2.0
//! A million broken fragments of each family: none stops a node, and every one is accounted for.

use super::*;
use testkit::mutate::Mutator;
use testkit::pkt;
use wire::{Family, Ip6, IpProtocol};

const PACKETS: usize = 1_000_000;
const ETHERNET: usize = 14;

/// Frames with the fragments of some datagrams.
fn bases<F: Family>() -> Vec<Vec<u8>> {
    let ether = || pkt::ether("02:aa:00:00:00:01", "02:fe:00:00:00:01");
    let mut all = Vec::new();
    for (id, protocol) in (0..8).zip([IpProtocol::UDP, IpProtocol::TCP].into_iter().cycle()) {
        for (i, len) in [(0, 240), (1, 240), (2, 101)] {
            let (at, more) = (i * 240, i < 2);
            let packet = if F::IS_V6 {
                let ip = ether().ip6("2001:db8:9::9", "2001:db8:7::7");
                let ip = if id % 4 == 0 {
                    ip.ext(IpProtocol::DEST_OPTIONS, [0, 1, 4, 0, 0, 0, 0])
                } else {
                    ip
                };
                ip.fragment6(id, at, more)
            } else {
                ether().ip4("192.0.2.9", "198.51.100.7").id(id as u16).fragment(at, more)
            };
            all.push(packet.protocol(protocol).payload(vec![i as u8; len]).build());
        }
    }
    all
}

fn million<F: Family>(command: &str, node: &str) {
    let (bases, mut mutator, (mut bench, sw_if)) = (bases::<F>(), Mutator::new(77), bench());
    let name = |text: &str| ::graph::filled(text, F::IS_V6);
    run(&mut bench, command);
    run(&mut bench, &name("set {ip}-full-reassembly timeout 40"));
    run(&mut bench, &name("set {ip}-sv-reassembly timeout 40"));
    let (node, arc) = (name(node), name("{ip}-unicast"));
    let count = |bench: &Bench, reason: &str| bench.count(&node, reason) as usize;
    let (mut came, mut out) = (0, 0);
    while came < PACKETS {
        let n = 1 + mutator.rng().below(256);
        let frames = mutator.vector(&bases, n, ETHERNET);
        let packets: Vec<Vec<u8>> = frames.iter().map(|f| f[ETHERNET..].to_vec()).collect();
        came += n;
        out += bench.feature(&arc, sw_if, &packets).len();
        bench.world.clock.adjust(5_000_000);
    }
    let is_full = node.contains("-full-");
    let timeouts = |bench: &Bench| {
        // ICMP is sent for what was to be a whole packet only.
        let exceeded = if is_full { count(bench, "reass_time_exceeded") } else { 0 };
        count(bench, "reass_given_up") + exceeded
    };
    let before = timeouts(&bench);
    pass(&mut bench, 2000);
    let late = timeouts(&bench) - before;
    // Whole packets that were reassembled count their fragments, too.
    let joined = if is_full {
        let wholes = count(&bench, "reass_success") + count(&bench, "reass_too_long");
        count(&bench, "reass_fragments_reassembled") - wholes
    } else {
        0
    };
    assert_eq!(came, out + joined + late, "{out} {joined} {late}");
    let kind = if is_full { crate::Kind::Full } else { crate::Kind::Shallow };
    assert_eq!(crate::control::under_way(&bench.world, kind, F::IS_V6), 0);
    assert!(count(&bench, "reass_success") > 1000, "{} went well", count(&bench, "reass_success"));
    assert!(late < 600, "the buffers have a limit");
}

#[suite::test]
fn a_million_fragments_of_ip4() {
    million::<Ip4>("set interface reassembly t0 on", "{ip}-full-reassembly-feature");
}

#[suite::test]
fn a_million_fragments_of_ip6() {
    million::<Ip6>("set interface reassembly t0 on", "{ip}-full-reassembly-feature");
}

#[suite::test]
fn a_million_fragments_of_ip4_passed_on() {
    million::<Ip4>("set interface virtual-reassembly t0 on", "{ip}-sv-reassembly-feature");
}

#[suite::test]
fn a_million_fragments_of_ip6_passed_on() {
    million::<Ip6>("set interface virtual-reassembly t0 on", "{ip}-sv-reassembly-feature");
}
