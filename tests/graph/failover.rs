// SPDX-License-Identifier: Apache-2.0
//! Two next hops, and the link to one of them goes down: what that costs, and who takes the packets.

use daemon::plugins;
use graph::drive::Bench;
use net::{Adjacencies, IfCounters, Interfaces};
use testkit::Rng;
use testkit::pkt;

const MANY: u32 = 20_000;
const FRAMES: usize = 512;

struct Rig {
    bench: Bench,
    ip6: bool,
    routes: u32,
    rng: Rng,
}

impl Rig {
    fn new(ip6: bool, routes: u32) -> Self {
        let mut this = Self { bench: Bench::new(plugins::ALL), ip6, routes, rng: Rng::new(3) };
        for port in 0..=2 {
            let (address, len) =
                if ip6 { (format!("fd00:{port}::1"), 64) } else { (format!("10.{port}.0.1"), 24) };
            this.run(&format!("create packet-generator interface pg{port} hw-addr 02:fe:00:00:00:0{port}"));
            this.run(&format!("set interface state pg{port} up"));
            this.run(&format!("set interface ip address pg{port} {address}/{len}"));
            if ip6 {
                this.run(&format!("ip6 nd pg{port} ra-suppress"));
            }
            this.run(&format!("set ip neighbor pg{port} {} 02:aa:00:00:00:0{port} static", this.hop(port)));
        }
        this
    }

    fn run(&mut self, line: &str) {
        self.bench.cli(line).unwrap_or_else(|e| panic!("{line}: {e}"));
        self.bench.settle();
    }

    fn hop(&self, port: usize) -> String {
        if self.ip6 { format!("fd00:{port}::2") } else { format!("10.{port}.0.2") }
    }

    /// Packets to any of the routes; how many left by each of the two links, and how many were dropped.
    fn send(&mut self) -> [u64; 3] {
        let interfaces = self.bench.world.get::<Interfaces>();
        let [from, one, two] = ["pg0", "pg1", "pg2"].map(|name| interfaces.find(name).expect("made"));
        let counters = self.bench.world.get::<IfCounters>();
        let count = |bench: &Bench| [counters.tx.sum(one.at()).0, counters.tx.sum(two.at()).0, bench.drops()];
        let before = count(&self.bench);
        for _ in 0..FRAMES {
            let n = self.rng.below(self.routes as usize) as u32;
            let port = self.rng.below(60_000) as u16 + 1;
            let ether = pkt::ether("02:aa:00:00:00:00", "02:fe:00:00:00:00");
            let ip = if self.ip6 {
                ether.ip6("fd00::2", std::net::Ipv6Addr::from_bits((0x2600 << 112) | u128::from(n)))
            } else {
                ether.ip4("10.0.0.2", std::net::Ipv4Addr::from_bits((20 << 24) | n))
            };
            self.bench.arrive(from, &ip.udp(port, 2000).payload_len(20).build());
        }
        self.bench.settle();
        let after = count(&self.bench);
        [0, 1, 2].map(|i| after[i] - before[i])
    }

    /// Takes the cable of `pg1` out, or puts it in: one turn of control. Gives how often adjacencies were written.
    fn link(&mut self, up: bool) -> u64 {
        let (world, adjacencies) = (&self.bench.world, self.bench.world.get::<Adjacencies>());
        let before = adjacencies.stores();
        let interfaces = world.get::<Interfaces>();
        interfaces.set_link(world, interfaces.find("pg1").expect("made"), up).expect("set");
        adjacencies.stores() - before
    }
}

/// Routes by two links at once, each by itself or all by a next hop further away, or with the second link in reserve.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Shape {
    Both,
    Recursive,
    Reserve,
}

fn fails_over(ip6: bool, routes: u32, shape: Shape) -> u64 {
    let mut rig = Rig::new(ip6, routes);
    let (len, first, far) = if ip6 { (128, "2600::", "fd09::9") } else { (32, "20.0.0.0", "192.0.2.9") };
    let reserve = if shape == Shape::Reserve { " preference 1" } else { "" };
    let near = format!("via {} pg1 via {} pg2{reserve}", rig.hop(1), rig.hop(2));
    if shape == Shape::Both {
        rig.run(&format!("ip route add {first}/{len} count {routes} {near}"));
    } else {
        rig.run(&format!("ip route add {far}/{len} {near}"));
        rig.run(&format!("ip route add {first}/{len} count {routes} via {far}"));
    }
    let all = FRAMES as u64;
    // The router says a word of its own now and then, of its addresses.
    let own = |n: u64| n < 8;
    let usual = |[one, two, dropped]: [u64; 3]| {
        assert!(
            one + two >= all && own(one + two - all) && dropped == 0,
            "{shape:?}: {one}, {two}, {dropped}"
        );
        let spread = one > all / 4 && two > all / 4;
        assert!(if shape == Shape::Reserve { own(two) } else { spread }, "{shape:?}: {one} and {two}");
    };
    usual(rig.send());
    let stores = rig.link(false);
    let [one, two, dropped] = rig.send();
    assert!(one == 0 && two >= all && own(two - all) && dropped == 0, "{shape:?}: {one}, {two}, {dropped}");
    rig.link(true);
    usual(rig.send());
    stores
}

#[test]
fn many_routes_take_the_other_link_as_fast_as_ten() {
    for ip6 in [false, true] {
        for shape in [Shape::Both, Shape::Recursive, Shape::Reserve] {
            let stores = [10, MANY].map(|routes| fails_over(ip6, routes, shape));
            println!("{shape:?}, IPv6 {ip6}: {} stores", stores[0]);
            assert_eq!(stores[0], stores[1], "{shape:?}");
            assert!(stores[0] <= 8, "{shape:?}: {stores:?}");
        }
    }
}
