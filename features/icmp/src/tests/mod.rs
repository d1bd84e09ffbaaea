// SPDX-License-Identifier: Apache-2.0
mod echo;
mod error;
mod graph;
mod input;
mod mutated;
mod six;

use crate::PLUGIN;
use ::graph::drive::{Bench, Outcome};
use ::graph::{Cx, Next, Node, Plugin, SwIfIndex, World};
use buffer::Buffer;
use net::drive::Nowhere;
use net::{Addresses, IfKind, Interfaces, NewInterface};
use std::sync::{Arc, Mutex};
use wire::checksum::Sum;
use wire::{Header, IcmpHeader, Ip4, IpHeader, IpProtocol, Ipv4Header, MacAddr};

static PLUGINS: &[&Plugin] = &[&interface::PLUGIN, &ethernet::PLUGIN, &ip::PLUGIN, &mfib::PLUGIN, &PLUGIN];

/// A driver that keeps what it sends.
struct Tx {
    sw_if: u32,
    captured: Arc<Captured>,
}

/// Interface and bytes of every frame.
#[derive(Default)]
struct Captured(Mutex<Vec<(u32, Vec<u8>)>>);

impl Captured {
    fn take(&self) -> Vec<(u32, Vec<u8>)> {
        std::mem::take(&mut self.0.lock().expect("no panic"))
    }
}

impl ::graph::Shared for Captured {
    fn make(_: &World) -> Self {
        Self::default()
    }
}

#[derive(Next, Clone, Copy)]
enum To {
    #[free]
    Sent,
}

impl Node for Tx {
    const NAME: &'static str = "test-tx";
    type Next = To;
    type Trace = ();
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, _: &mut Cx<'_, TRACED>) -> To {
        let bytes = b.segments().flatten().copied().collect();
        self.captured.0.lock().expect("no panic").push((self.sw_if, bytes));
        To::Sent
    }
}

fn tx(world: &World, sw_if: SwIfIndex) -> Tx {
    Tx { sw_if: sw_if.0, captured: world.get() }
}

/// An instance with an interface that has 10.0.0.1/24 and 192.0.2.1/28, and one without an address.
fn bench() -> (Bench, SwIfIndex, SwIfIndex) {
    let bench = Bench::new(PLUGINS);
    let interfaces: Arc<Interfaces> = bench.world.get();
    let add = |name: &str| {
        let new = NewInterface {
            name: name.into(),
            kind: IfKind::Ethernet,
            device: Arc::new(Nowhere),
            mac: MacAddr([2, 0, 0, 0, 0, 1]),
            mtu: 1500,
            link_up: true,
        };
        interfaces.create(&bench.world, new, |world, _, sw_if| tx(world, sw_if)).expect("created")
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

/// The one packet that came out.
fn one(mut out: Vec<Outcome>) -> Outcome {
    assert_eq!(out.len(), 1, "{out:?}");
    out.remove(0)
}
