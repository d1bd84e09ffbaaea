// SPDX-License-Identifier: Apache-2.0
//! A feature with a stage that counts and rewrites packets: docs/add-a-stage.md explains it. With
//! the fast path and without, it counts the same.

use super::router::{Pair, Router, lines};
use super::{CONFIGURATION, INTERFACES, bases, ordinary, six};
use buffer::Buffer;
use graph::{
    Build, ChainStep, Cx, Feature, Next, Node, NodeDef, Plugin, SwIfIndex, ThreadIndex, World, rank,
};
use net::{PacketColumns, Stage};
use stats::Lane;
use testkit::mutate::Mutator;
use wire::{Header, Ip4, Ipv4Header};

const FRAMES: usize = 200_000;
const SEED: u64 = 20_261_131;
/// The name of the counters, one for each DSCP.
const COUNTERS: &str = "/dscp/packets";

/// Counts packets by their DSCP, and takes the DSCP off those of class 1.
struct Dscp(Lane);

#[derive(Next, Clone, Copy)]
enum To {
    #[next_feature]
    Next,
}

impl Build for Dscp {
    fn build(world: &World, thread: ThreadIndex) -> Self {
        Self(world.stats.simple(COUNTERS).lane(thread.at()))
    }
}

impl Dscp {
    /// Counts a packet that begins with its IPv4 header; true if its DSCP is to be taken off.
    fn count(&self, packet: &[u8]) -> bool {
        let dscp = Ipv4Header::view(packet).map_or(0, |ip| ip.tos >> 2);
        self.0.add(dscp.into(), 1);
        dscp != 0 && dscp < 16
    }

    fn clear(packet: &mut [u8]) {
        if let Some(ip) = Ipv4Header::view_mut(packet) {
            let old = u16::from_be_bytes([ip.version_ihl, ip.tos]);
            ip.tos &= 3;
            let new = u16::from_be_bytes([ip.version_ihl, ip.tos]);
            ip.checksum.set(wire::checksum::update16(ip.checksum.get(), old, new));
        }
    }
}

impl Node for Dscp {
    const NAME: &'static str = "dscp";
    type Next = To;
    type Trace = ();

    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, _: &mut Cx<'_, TRACED>) -> To {
        if self.count(b.data()) {
            Self::clear(b.data_mut());
        }
        To::Next
    }
}

/// The same for many packets at once. The node never sees them.
impl Stage<Ip4> for Dscp {
    fn pass(
        &mut self,
        packets: &mut PacketColumns<'_, Ip4>,
        _: ChainStep<'_>,
        _: &Cx<'_, false>,
    ) -> u64 {
        packets.mask(|packets, i| {
            if self.count(packets.packet(i)) {
                Self::clear(packets.packet_mut(i));
            }
            true
        })
    }
}

static PLUGIN: Plugin = Plugin {
    name: "dscp",
    about: "Packets by their DSCP",
    nodes: &[NodeDef::of::<Dscp>()],
    features: &[Feature {
        arc: "ip4-unicast",
        node: "dscp",
        before: &[rank::POLICY],
        after: &[rank::REASSEMBLY],
    }],
    stages: &[net::stage::<Ip4, Dscp, Dscp>()],
    ..Plugin::EMPTY
};

/// A feature without a stage in front of the other one.
struct Plain;

impl Build for Plain {
    fn build(_: &World, _: ThreadIndex) -> Self {
        Self
    }
}

impl Node for Plain {
    const NAME: &'static str = "plain";
    type Next = To;
    type Trace = ();

    fn packet<const TRACED: bool>(&mut self, _: &mut Buffer, _: &mut Cx<'_, TRACED>) -> To {
        To::Next
    }
}

static IN_FRONT: Plugin = Plugin {
    name: "plain",
    about: "A feature without a stage",
    nodes: &[NodeDef::of::<Plain>()],
    features: &[Feature {
        arc: "ip4-unicast",
        node: "plain",
        before: &["dscp"],
        after: &[rank::REASSEMBLY],
    }],
    ..Plugin::EMPTY
};

/// Counters by DSCP.
fn counted(router: &Router) -> Vec<u64> {
    let counters = router.bench.world.stats.simple(COUNTERS);
    (0..64).map(|dscp| counters.sum(dscp)).collect()
}

#[test]
fn a_stage_counts_and_rewrites_each_packet_once() {
    let mut pair = Pair::new(|fast| {
        Router::of(&[&PLUGIN, &IN_FRONT], fast, |bench| {
            lines(bench, CONFIGURATION);
            six(&bench.world);
            for i in 1..=INTERFACES {
                let set = bench.world.set_feature("ip4-unicast", "dscp", SwIfIndex(i), true);
                set.expect("a feature of the arc");
            }
            // Without a stage in front of it and behind it, with one, and one that directs packets.
            for i in [1, 2, 4] {
                let set = bench.world.set_feature("ip4-unicast", "plain", SwIfIndex(i), true);
                set.expect("a feature of the arc");
            }
            lines(bench, &["svs table add ip4 table-id 70", "svs enable ip4 table-id 70 e2"]);
            lines(bench, &["l3xc add e4 via 10.0.3.2 e3", "set urpf ip4 rx strict e3"]);
        })
    });
    let mut mutator = Mutator::new(SEED);
    let all: Vec<_> = (1..=INTERFACES)
        .map(|i| bases(i).into_iter().chain(ordinary(i).into_iter().flatten()).collect::<Vec<_>>())
        .collect();
    let mut sent = 0;
    while sent < FRAMES {
        let most = if mutator.rng().one_in(3) { 7 } else { 256 };
        let n = 1 + mutator.rng().below(most);
        let one_if = mutator.rng().one_in(2);
        let mut rx_if = mutator.rng().below(INTERFACES as usize);
        let mut frames = Vec::new();
        for _ in 0..n {
            if !one_if {
                rx_if = mutator.rng().below(INTERFACES as usize);
            }
            let bases = &all[rx_if];
            let mut frame = bases[mutator.rng().below(bases.len())].clone();
            if frame.get(12..15) == Some(&[8, 0, 0x45]) {
                let tos = mutator.rng().below(256) as u8;
                let sum = u16::from_be_bytes([frame[24], frame[25]]);
                let old = u16::from_be_bytes([0x45, frame[15]]);
                let sum = wire::checksum::update16(sum, old, u16::from_be_bytes([0x45, tos]));
                frame[15] = tos;
                frame[24..26].copy_from_slice(&sum.to_be_bytes());
            }
            frames.push((rx_if as u32 + 1, frame));
        }
        let when = format!("vector of {n}, {sent} frames before it");
        pair.pass(&frames, Router::take_sent, &when);
        sent += n;
    }
    pair.same_counts(None, "at the end");
    assert_eq!(counted(&pair.with), counted(&pair.without));
    for node in ["dscp", "l3xc-input-ip4"] {
        let [few, most] = pair.through(node);
        assert!(few < most / 2 && most > 0, "{few} of {most} packets visited {node}");
    }
    let [few, most] = pair.through("plain");
    assert_eq!((few, most > 0), (most, true));
}
