// SPDX-License-Identifier: Apache-2.0
mod echo;
mod error;
mod graph;
mod input;
mod mutated;
mod six;

use crate::PLUGIN;
use ::graph::drive::{Bench, Outcome};
use ::graph::{Plugin, SwIfIndex};
use buffer::Buffer;
use net::drive::{Recorded, Recorder, ethernet};
use net::{Addresses, Interfaces};
use std::sync::Arc;
use wire::checksum::Sum;
use wire::{Header, Icmp4Type, IcmpHeader, Ip4, IpHeader, IpProtocol, Ipv4Header, MacAddr};

static PLUGINS: &[&Plugin] =
    &[&interface::PLUGIN, &ethernet::PLUGIN, &fib::PLUGIN, &ip::PLUGIN, &mfib::PLUGIN, &PLUGIN];

/// An instance with an interface that has 10.0.0.1/24 and 192.0.2.1/28, and one without an address.
fn bench() -> (Bench, SwIfIndex, SwIfIndex) {
    let bench = Bench::new(PLUGINS);
    let interfaces: Arc<Interfaces> = bench.world.get();
    let add = |name: &str| {
        let new = ethernet(name, MacAddr([2, 0, 0, 0, 0, 1]));
        interfaces
            .create(&bench.world, new, |world, _, sw_if| Recorder::new(world, sw_if))
            .expect("created")
    };
    let (with, without) = (add("t0"), add("t1"));
    let addresses: Arc<Addresses<Ip4>> = bench.world.get();
    for prefix in ["10.0.0.1/24", "192.0.2.1/28"] {
        addresses.add(&bench.world, with, prefix.parse().expect("a prefix")).expect("added");
    }
    (bench, with, without)
}

fn run(bench: &mut Bench, line: &str) -> String {
    bench.cli(line).unwrap_or_else(|e| panic!("{line}: {e}"))
}

/// Header and ICMP message of a packet without options, with all lengths and checksums verified.
fn verified(bytes: &[u8]) -> (Ipv4Header, IcmpHeader, &[u8]) {
    let ip = *Ipv4Header::view(bytes).expect("a header");
    assert!(ip.is_plain() && ip.checksum_ok(), "{ip:?}");
    assert_eq!((ip.packet_len(), ip.protocol), (bytes.len(), IpProtocol::ICMP));
    assert!(Sum::of(&bytes[20..]).is_valid(), "ICMP checksum");
    let (icmp, rest) = IcmpHeader::split(&bytes[20..]).expect("a message");
    (ip, *icmp, rest)
}

/// Sends packets to a node of ICMP errors. Returns the errors, and the packets about which there is
/// none; the packets that the errors are about have to be dropped as they came.
fn errors(
    bench: &mut Bench,
    node: &str,
    packets: &[Vec<u8>],
    prepare: impl Fn(&mut Buffer),
) -> Vec<Outcome> {
    let out = bench.node(node, packets, prepare);
    let is_about_dropped = |o: &&Outcome| {
        o.node.ends_with("-lookup")
            && (o.bytes[0] >> 4 == 6 || o.bytes[20] != Icmp4Type::REDIRECT.0)
    };
    let about = out.iter().filter(is_about_dropped).count();
    let (dropped, rest): (Vec<_>, Vec<_>) =
        out.into_iter().partition(|o| o.node.ends_with("-drop") && o.reason.is_none());
    assert_eq!(dropped.len(), about);
    assert!(dropped.iter().all(|o| packets.contains(&o.bytes)));
    rest
}

/// The one packet that came out.
fn one(mut out: Vec<Outcome>) -> Outcome {
    assert_eq!(out.len(), 1, "{out:?}");
    out.remove(0)
}
