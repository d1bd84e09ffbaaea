// SPDX-License-Identifier: Apache-2.0
//! Clocks per packet of each node on the path through an ordinary router, best and median over
//! blocks.
//!
//! `cargo run --release -p ferrovia-super-path --features tests --example clocks --
//! [vector=256] [routes=1] [flows=1]`

use buffer::{FRAME_SIZE, Frame};
use graph::{
    Build, Cx, Input, InputMode, Next, NodeDef, Plugin, Runtime, SwIfIndex, ThreadIndex, World,
    WorldConfig,
};
use net::drive::{Tx, ethernet};
use net::{
    Addresses, Adjacencies, Fib, Interfaces, Neighbor, Neighbors, Path, PathKind, Source,
    TableIndex,
};
use std::net::Ipv4Addr;
use std::sync::OnceLock;
use wire::{Ip4, Ip4Prefix, MacAddr};

/// Brings vectors of ready packets in at `ethernet-input`.
struct Generator {
    frame: Option<Box<Frame>>,
}

#[derive(Next, Clone, Copy)]
enum GeneratorTo {
    #[next("ethernet-input")]
    Ethernet,
}

struct Plan {
    vector: usize,
    packets: Vec<Vec<u8>>,
}
static PLAN: OnceLock<Plan> = OnceLock::new();

impl Build for Generator {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self { frame: Some(Frame::new(world.pool)) }
    }
}

impl Input for Generator {
    const NAME: &'static str = "generator";
    type Next = GeneratorTo;
    fn poll(&mut self, cx: &mut Cx<'_, false>) -> usize {
        let (Some(plan), Some(mut frame)) = (PLAN.get(), self.frame.take()) else { return 0 };
        let n = cx.alloc_frame(&mut frame, plan.vector.min(FRAME_SIZE));
        let start = cx.random() as usize;
        for (i, b) in frame.iter_mut().enumerate() {
            let packet = &plan.packets[(start + i) % plan.packets.len()];
            assert!(b.set_data(packet));
            b.rx_if = 1;
        }
        cx.emit_frame(GeneratorTo::Ethernet, &mut frame);
        self.frame = Some(frame);
        n
    }
}

static GENERATOR: Plugin =
    Plugin { name: "bench", nodes: &[NodeDef::input::<Generator>()], ..Plugin::EMPTY };
static PLUGINS: &[&Plugin] = &[
    &interface::PLUGIN,
    &ethernet::PLUGIN,
    &fib::PLUGIN,
    &ip::PLUGIN,
    &super_path::PLUGIN,
    &GENERATOR,
];

fn main() {
    let mut args = std::env::args().skip(1).map(|a| a.parse::<usize>().expect("a number"));
    let (vector, routes, flows) =
        (args.next().unwrap_or(256), args.next().unwrap_or(1), args.next().unwrap_or(1));
    let (world, mut runtimes) =
        World::new(&WorldConfig { buffers: 16_384, ..WorldConfig::default() }, PLUGINS)
            .expect("an instance");
    let mut rt = runtimes.pop().expect("one thread");
    let out = set_up(&world, routes);
    rt.receive();
    let mac = [2, 0, 0, 0, 0, 1];
    let packets = (0..flows).map(|flow| {
        let dst = if routes > 1 {
            out[flow * 7919 % out.len()]
        } else {
            Ipv4Addr::new(16, 0, 0, flow as u8)
        };
        testkit::pkt::ether("02:ff:00:00:00:01", MacAddr(mac))
            .ip4("10.0.0.9", dst)
            .udp(1, 2)
            .payload_len(18)
            .build()
    });
    PLAN.set(Plan { vector, packets: packets.collect() }).ok().expect("set once");
    let source = world.node("generator").expect("there");
    rt.set_input_mode(source, InputMode::Polling);
    measure(&world, &mut rt, vector);
}

fn set_up(world: &World, routes: usize) -> Vec<Ipv4Addr> {
    let interfaces = world.get::<Interfaces>();
    for i in 1..=2u8 {
        let new = ethernet(format!("if{i}"), MacAddr([2, 0, 0, 0, 0, i]));
        let sw_if = interfaces.create(world, new, |_, _, _| Tx).expect("created");
        interfaces.set_admin(world, sw_if, true).expect("up");
        let address = Ip4Prefix::new(Ipv4Addr::new(10, 0, i - 1, 1), 24).expect("a prefix");
        world.get::<Addresses<Ip4>>().add(world, sw_if, address).expect("added");
    }
    let sw_if = SwIfIndex(2);
    world.get::<Adjacencies>();
    let neighbors = world.get::<Neighbors>();
    let next_hops: Vec<Ipv4Addr> =
        (0..if routes > 1 { 200 } else { 1 }).map(|i| Ipv4Addr::new(10, 0, 1, 2 + i)).collect();
    for nexthop in &next_hops {
        let mac = MacAddr([2, 0, 0, 0, 1, nexthop.octets()[3]]);
        neighbors
            .set(
                world,
                Neighbor { is_static: true, ..Neighbor::new(sw_if, (*nexthop).into(), mac) },
            )
            .expect("set");
    }
    let fib = world.get::<Fib<Ip4>>();
    let start = std::time::Instant::now();
    let mut destinations = Vec::new();
    for i in 0..routes {
        let (net, len) =
            if routes == 1 { (16 << 24, 8) } else { ((16 << 24) + ((i as u32) << 8), 24) };
        let net = Ipv4Addr::from(net);
        let path = Path::new(PathKind::Neighbor {
            sw_if,
            nexthop: next_hops[i * 31 % next_hops.len()].into(),
        });
        fib.set(
            world,
            TableIndex(0),
            Ip4Prefix::new(net, len).expect("a prefix"),
            Source::Cli,
            &[path],
        )
        .expect("set");
        destinations.push(Ipv4Addr::from(net.to_bits() + 9));
    }
    if routes > 1 {
        println!("{routes} routes in {:?}", start.elapsed());
    }
    destinations
}

fn measure(world: &World, rt: &mut Runtime, vector: usize) {
    let names =
        ["ethernet-input", "ip4-input", "ip4-lookup", "ip4-rewrite", "if2-output", "if2-tx"];
    let nodes = names.map(|n| world.node(n).unwrap_or_else(|| panic!("no node {n}")).at());
    let (clocks, vectors) =
        (world.stats.simple("/sys/node/clocks"), world.stats.simple("/sys/node/vectors"));
    let turns = (40_000 / vector).max(1);
    let mut blocks: Vec<Vec<f64>> = vec![Vec::new(); names.len()];
    for _ in 0..std::env::var("BLOCKS").map_or(300, |b| b.parse().expect("a number")) {
        let before = nodes.map(|n| (clocks.sum(n), vectors.sum(n)));
        for _ in 0..turns {
            rt.turn(true);
        }
        for (i, (n, (c, v))) in nodes.iter().zip(before).enumerate() {
            blocks[i].push((clocks.sum(*n) - c) as f64 / (vectors.sum(*n) - v).max(1) as f64);
        }
    }
    let (mut best, mut median) = (0.0, 0.0);
    for (name, block) in names.iter().zip(&mut blocks) {
        block.sort_by(f64::total_cmp);
        println!("{name:16} {:6.1} {:6.1}", block[0], block[block.len() / 2]);
        (best, median) = (best + block[0], median + block[block.len() / 2]);
    }
    println!("{:16} {best:6.1} {median:6.1}", "all");
}
