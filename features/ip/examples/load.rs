// SPDX-License-Identifier: Apache-2.0
//! Time of `ip route add file` for a table like the Internet's, as the control thread runs it, and
//! the memory that remains.
//!
//! `cargo run --release -p ferrovia-ip --features tests --example load --
//! [routes=1000000] [ip=4] [rounds=3]`

use cli::{Runner, Tree};
use graph::{Plugin, World, WorldConfig};
use net::Interfaces;
use net::drive::{Tx, ethernet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::{Duration, Instant};
use testkit::internet::{Internet, routes};
use wire::{Ip4, Ip6, MacAddr};

static PLUGINS: &[&Plugin] = &[&interface::PLUGIN, &ethernet::PLUGIN, &ip::PLUGIN];

fn main() {
    let mut settings = [1_000_000, 4, 3];
    for (setting, given) in settings.iter_mut().zip(std::env::args().skip(1)) {
        *setting = given.parse().expect("a number");
    }
    let [n, version, rounds] = settings;
    let lines = if version == 6 { lines::<Ip6>(n) } else { lines::<Ip4>(n) };
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), &lines).expect("written");
    drop(lines);

    let (world, _runtimes) = World::new(&WorldConfig::default(), PLUGINS).expect("an instance");
    let interfaces = world.get::<Interfaces>();
    let new = ethernet("eth0", MacAddr([2, 0, 0, 0, 0, 1]));
    let sw_if = interfaces.create(&world, new, |_, _, _| Tx).expect("an interface");
    interfaces.set_admin(&world, sw_if, true).expect("up");
    let tree = Tree::new(world.plugins().iter().flat_map(|plugin| plugin.cli)).expect("a grammar");
    let flush = if version == 6 { "ip6 table flush 0" } else { "ip table flush 0" };
    println!("{:>8} MB at first", resident() / 1_000_000);
    for _ in 0..rounds {
        for line in [&format!("ip route add file {}", file.path().display()), flush] {
            let (took, longest) = run(&world, &tree, line);
            let line = line.split('/').next().unwrap_or(line);
            let megabytes = resident() / 1_000_000;
            println!(
                "{megabytes:>8} MB {:>8.3} s, the longest turn {:.1} ms: {line}",
                took,
                longest * 1e3
            );
        }
    }
}

/// The command, as the control loop runs it: seconds it took, and its longest turn did.
fn run(world: &World, tree: &Tree<World>, line: &str) -> (f64, f64) {
    let (mut runner, mut said, start, mut longest) =
        (Runner::default(), Vec::new(), Instant::now(), 0.0);
    let mut at = start;
    runner.line(tree, world, line, false, &mut said);
    loop {
        let done = runner.poll(tree, world, Duration::ZERO, &mut said);
        world.processes.run(world);
        world.qsbr.collect();
        longest = at.elapsed().as_secs_f64().max(longest);
        at = Instant::now();
        if let Some(done) = done {
            done.unwrap_or_else(|error| panic!("{line}: {error}"));
            return (start.elapsed().as_secs_f64(), longest);
        }
    }
}

/// The routes in no order, as `ip route add file` takes them.
fn lines<F: Internet>(n: usize) -> String {
    let hop = |number: u16| -> IpAddr {
        if F::BITS == 128 {
            Ipv6Addr::new(0xfd00, 0, 0, 1, 0, 0, 0, 2 + number).into()
        } else {
            Ipv4Addr::from_bits(0x0a01_0002 + u32::from(number)).into()
        }
    };
    let all = routes::<F>(n, 1).into_iter();
    all.map(|route| format!("{} via {} eth0\n", route.prefix, hop(route.hop))).collect()
}

fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    status.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0) * 4096
}
