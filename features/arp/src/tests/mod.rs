// SPDX-License-Identifier: Apache-2.0
mod answers;
mod api;
mod control;
mod mutated;
mod waits;

use crate::PLUGIN;
use buffer::Buffer;
use graph::drive::Bench;
use graph::{
    Build, Cx, Next, Node, NodeDef, Plugin, Shared, StateDef, SwIfIndex, ThreadIndex, World,
};
use net::drive::NullDevice;
use net::{Addresses, IfKind, Interfaces, IpMeta, Neighbors, NewInterface};
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};
use wire::{Ip4, MacAddr};

const SECOND: u64 = 1_000_000_000;
const OWN: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);
const PEER: MacAddr = MacAddr([2, 0, 0, 0, 0, 9]);

/// Packets that left: by a driver, by `ip4-rewrite`, by `ip4-icmp-error`.
#[derive(Default)]
struct Gone {
    sent: Mutex<Vec<(u32, Vec<u8>)>>,
    rewritten: Mutex<Vec<(u32, Vec<u8>)>>,
    refused: Mutex<Vec<(u8, u8)>>,
}

impl Shared for Gone {
    fn make(_: &World) -> Self {
        Self::default()
    }
}

#[derive(Next, Clone, Copy)]
enum To {
    #[free]
    Gone,
}

/// A driver's transmit node, and two of the IP nodes.
struct Sink<const N: u8>(Arc<Gone>);

impl<const N: u8> Build for Sink<N> {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self(world.get())
    }
}

impl<const N: u8> Node for Sink<N> {
    const NAME: &'static str = ["test-tx", "ip4-rewrite", "ip4-icmp-error"][N as usize];
    type Next = To;
    type Trace = ();
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, _: &mut Cx<'_, TRACED>) -> To {
        let bytes = || b.data().to_vec();
        match N {
            0 => self.0.sent.lock().expect("no panic inside").push((b.tx_if, bytes())),
            1 => self
                .0
                .rewritten
                .lock()
                .expect("no panic inside")
                .push((b.scratch::<IpMeta>().adj, bytes())),
            _ => {
                let meta: IpMeta = b.scratch();
                self.0
                    .refused
                    .lock()
                    .expect("no panic inside")
                    .push((meta.icmp_type(), meta.icmp_code()));
            }
        }
        To::Gone
    }
}

static IP: Plugin = Plugin {
    name: "test-ip",
    state: &[StateDef::of::<Gone>()],
    nodes: &[NodeDef::of::<Sink<1>>(), NodeDef::of::<Sink<2>>()],
    ..Plugin::EMPTY
};
static PLUGINS: &[&Plugin] =
    &[&interface::PLUGIN, &ethernet::PLUGIN, &ip_neighbor::PLUGIN, &IP, &PLUGIN];

/// An instance with the interface `t0` that is up and has 10.0.0.1/24.
struct Rig {
    bench: Bench,
    gone: Arc<Gone>,
    neighbors: Arc<Neighbors>,
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
    world.get::<Interfaces>().create(world, new, |w, t, _| Sink::<0>::build(w, t)).expect("created")
}

fn add_address(world: &World, sw_if: SwIfIndex, prefix: &str) {
    world
        .get::<Addresses<Ip4>>()
        .add(world, sw_if, prefix.parse().expect("a prefix"))
        .expect("added");
}

fn rig() -> Rig {
    let mut bench = Bench::new(PLUGINS);
    let world = bench.world.clone();
    world.clock.stop();
    let t0 = create(&world, "t0", OWN);
    world.get::<Interfaces>().set_admin(&world, t0, true).expect("up");
    add_address(&world, t0, "10.0.0.1/24");
    bench.settle();
    let rig = Rig { gone: world.get(), neighbors: world.get(), bench, t0 };
    rig.sent();
    rig
}

impl Rig {
    /// A frame that comes in by `t0`.
    fn receive(&mut self, frame: &[u8]) {
        let t0 = self.t0.0;
        self.bench.send("ethernet-input", frame, |b| b.rx_if = t0);
    }

    /// Frames that left by a driver since the last call.
    fn sent(&self) -> Vec<Vec<u8>> {
        let sent = std::mem::take(&mut *self.gone.sent.lock().expect("no panic inside"));
        sent.into_iter().map(|(_, bytes)| bytes).collect()
    }

    fn rewritten(&self) -> Vec<(u32, Vec<u8>)> {
        std::mem::take(&mut *self.gone.rewritten.lock().expect("no panic inside"))
    }

    fn refused(&self) -> Vec<(u8, u8)> {
        std::mem::take(&mut *self.gone.refused.lock().expect("no panic inside"))
    }

    fn pass(&mut self, seconds: u64) {
        for _ in 0..seconds {
            self.bench.world.clock.adjust(SECOND);
            self.bench.settle();
        }
    }

    /// The station of a neighbour on `t0`.
    fn known(&self, ip: [u8; 4]) -> Option<MacAddr> {
        self.neighbors.get(self.t0, ip.into()).map(|n| n.mac)
    }

    /// A counter of `t0`.
    fn counted(&self, name: &str) -> u64 {
        self.counted_on(self.t0.at(), name)
    }

    fn counted_on(&self, sw_if: usize, name: &str) -> u64 {
        self.bench.world.stats.simple(&format!("/net/arp/{name}")).sum(sw_if)
    }
}

/// An ARP packet in its frame: operation, sender, target, the frame's destination.
fn arp(op: u16, sender: (MacAddr, [u8; 4]), target: (MacAddr, [u8; 4]), to: MacAddr) -> Vec<u8> {
    let ip = Ipv4Addr::from;
    let arp = wire::Arp::new(wire::ArpOp(op), (sender.0, ip(sender.1)), (target.0, ip(target.1)));
    testkit::pkt::ether(sender.0, to).arp(arp).pad_to(60).build()
}

/// A request, broadcast.
fn request(sender: (MacAddr, [u8; 4]), target: [u8; 4]) -> Vec<u8> {
    arp(1, sender, (MacAddr::ZERO, target), MacAddr::BROADCAST)
}

/// A reply to us.
fn reply(sender: (MacAddr, [u8; 4])) -> Vec<u8> {
    arp(2, sender, (OWN, [10, 0, 0, 1]), OWN)
}
