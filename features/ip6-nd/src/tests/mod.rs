// SPDX-License-Identifier: Apache-2.0
mod answers;
mod commands;
mod dad;
mod listeners;
mod mutated;
mod neighbors;
mod proxy;
mod redirects;
mod routers;
mod slaac;
mod waits;

use crate::PLUGIN;
use buffer::Buffer;
use cli::Tree;
use graph::drive::Bench;
use graph::{Cx, Next, Node, Plugin, Shared, StateDef, SwIfIndex, World};
use net::drive::NullDevice;
use net::{Addresses, IfKind, Interfaces, IpMeta, Neighbor, Neighbors, NewInterface};
use std::net::Ipv6Addr;
use std::sync::{Arc, Mutex};
use wire::nd::{LinkOption, NdOptionKind};
use wire::{Icmp6Type, Ip6, MacAddr};
use zerocopy::IntoBytes;

const SECOND: u64 = 1_000_000_000;
const OWN: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);
const PEER: MacAddr = MacAddr([2, 0, 0, 0, 0, 9]);
const US: &str = "2001:db8::1";
const US_LOCAL: &str = "fe80::ff:fe00:1";
const HIM: &str = "2001:db8::9";
const HIM_LOCAL: &str = "fe80::ff:fe00:9";

fn ip(text: &str) -> Ipv6Addr {
    text.parse().expect("an address")
}

/// Frames that have left by a driver.
#[derive(Default)]
struct SentFrames(Mutex<Vec<Vec<u8>>>);

impl Shared for SentFrames {
    fn make(_: &World) -> Self {
        Self::default()
    }
}

#[derive(Next, Clone, Copy)]
enum To {
    #[free]
    Gone,
}

/// A driver's transmit node.
struct Sink(Arc<SentFrames>);

impl Node for Sink {
    const NAME: &'static str = "test-tx";
    type Next = To;
    type Trace = ();
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, _: &mut Cx<'_, TRACED>) -> To {
        self.0.0.lock().expect("no panic inside").push(b.segments().collect::<Vec<_>>().concat());
        To::Gone
    }
}

static GONE: Plugin =
    Plugin { name: "gone", state: &[StateDef::of::<SentFrames>()], ..Plugin::EMPTY };

static PLUGINS: &[&Plugin] = &[
    &interface::PLUGIN,
    &ethernet::PLUGIN,
    &fib::PLUGIN,
    &ip::PLUGIN,
    &mfib::PLUGIN,
    &icmp::PLUGIN,
    &ip_neighbor::PLUGIN,
    &GONE,
    &PLUGIN,
];

/// An instance with the interface `t0` that is up, and has 2001:db8::1/64 if it shall.
struct Rig {
    bench: Bench,
    gone: Arc<SentFrames>,
    neighbors: Arc<Neighbors>,
    tree: Tree<World>,
    t0: SwIfIndex,
}

fn create(world: &World, name: &str, mac: MacAddr) -> SwIfIndex {
    let device = Arc::new(NullDevice);
    let new = NewInterface {
        name: name.into(),
        kind: IfKind::Ethernet,
        device,
        mac,
        mtu: 1500,
        link_up: true,
    };
    world.get::<Interfaces>().create(world, new, |w, _, _| Sink(w.get())).expect("created")
}

/// Without an address.
fn bare() -> Rig {
    let mut bench = Bench::new(PLUGINS);
    let world = bench.world.clone();
    world.clock.stop();
    let t0 = create(&world, "t0", OWN);
    world.get::<Interfaces>().set_admin(&world, t0, true).expect("up");
    bench.settle();
    let tree = Tree::new(PLUGINS.iter().flat_map(|p| p.cli)).expect("the commands are well-formed");
    Rig { gone: world.get(), neighbors: world.get(), bench, tree, t0 }
}

fn rig() -> Rig {
    let mut r = bare();
    r.add_address("2001:db8::1/64");
    r.pass(3);
    r.sent();
    r
}

impl Rig {
    fn add_address(&mut self, prefix: &str) {
        let world = self.bench.world.clone();
        let prefix = prefix.parse().expect("a prefix");
        world.get::<Addresses<Ip6>>().add(&world, self.t0, prefix).expect("added");
        self.bench.settle();
    }

    /// A second interface, up, without an address.
    fn second(&mut self) -> SwIfIndex {
        let world = self.bench.world.clone();
        let t1 = create(&world, "t1", MacAddr([2, 0, 0, 0, 0, 2]));
        world.get::<Interfaces>().set_admin(&world, t1, true).expect("up");
        t1
    }

    /// A frame that comes in by `t0`.
    fn receive(&mut self, frame: &[u8]) {
        let t0 = self.t0.0;
        self.bench.send("ethernet-input", frame, |b| b.rx_if = t0);
    }

    /// Frames that left by a driver since the last call.
    fn sent(&self) -> Vec<Vec<u8>> {
        std::mem::take(&mut *self.gone.0.lock().expect("no panic inside"))
    }

    /// Of these, the ICMPv6 messages of a type, from their IPv6 header on.
    fn sent_of(&self, kind: Icmp6Type) -> Vec<Vec<u8>> {
        let local = |f: &Vec<u8>| (f[20] == 58).then_some(f[54] == kind.0) == Some(true);
        self.sent().into_iter().filter(local).map(|f| f[14..].to_vec()).collect()
    }

    fn pass(&mut self, seconds: u64) {
        for _ in 0..seconds {
            self.bench.world.clock.adjust(SECOND);
            self.bench.settle();
        }
    }

    fn neighbor(&self, who: &str) -> Option<Neighbor> {
        self.neighbors.get(self.t0, ip(who).into())
    }

    fn run(&mut self, line: &str) -> String {
        let text =
            self.tree.answer(&self.bench.world, line).unwrap_or_else(|e| panic!("{line}: {e}"));
        self.bench.settle();
        text
    }

    fn json(&mut self, line: &str) -> serde_json::Value {
        serde_json::from_str(&self.run(&format!("{line} -j"))).expect("JSON")
    }

    /// A counter of `t0`.
    fn counted(&self, name: &str) -> u64 {
        self.bench.world.stats.simple(&format!("/net/ip6-nd/{name}")).sum(self.t0.at())
    }

    /// The reasons by which packets were dropped in a node while `f` ran.
    fn drops(&mut self, node: &str, reason: &str, f: impl FnOnce(&mut Self)) -> u64 {
        let before = self.bench.count(node, reason);
        f(self);
        self.bench.count(node, reason) - before
    }
}

fn link_option(kind: NdOptionKind, mac: MacAddr) -> Vec<u8> {
    LinkOption::new(kind, mac).as_bytes().to_vec()
}

/// An ICMPv6 message with a right checksum: from and to station and address, the first 8 bytes,
/// what follows.
fn message(
    macs: (MacAddr, MacAddr),
    ips: (&str, &str),
    (kind, code, rest): (Icmp6Type, u8, u32),
    behind: &[u8],
    hops: u8,
) -> Vec<u8> {
    testkit::pkt::ether(macs.0, macs.1)
        .ip6(ips.0, ips.1)
        .ttl(hops)
        .icmp6(kind, code, rest)
        .payload(behind)
        .build()
}

/// A solicitation for `target` from `src`, as a host sends it to the group of the target.
fn solicitation(src: &str, target: &str, options: &[u8]) -> Vec<u8> {
    let group = wire::nd::solicited_node(ip(target));
    let behind = [&ip(target).octets()[..], options].concat();
    let macs = (PEER, MacAddr::ip6_multicast(group));
    let kind = (Icmp6Type::NEIGHBOR_SOLICITATION, 0, 0);
    message(macs, (src, &group.to_string()), kind, &behind, 255)
}

/// An advertisement for `target` to us.
fn advertisement(target: &str, flags: u32, mac: MacAddr) -> Vec<u8> {
    let behind = [&ip(target).octets()[..], &link_option(NdOptionKind::TARGET_LINK, mac)].concat();
    let kind = (Icmp6Type::NEIGHBOR_ADVERTISEMENT, 0, flags);
    message((mac, OWN), (target, US), kind, &behind, 255)
}
