// SPDX-License-Identifier: Apache-2.0
//! Two next hops, and one of them fails, or the link to it: the number of stores, and the next hop
//! that takes the packets.

use daemon::plugins;
use graph::drive::Bench;
use net::{Adjacencies, IfCounters, Interfaces, NextHops};
use std::net::Ipv6Addr;
use testkit::Rng;
use testkit::pkt;
use wire::Icmp6Type;

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
            this.run(&format!(
                "create packet-generator interface pg{port} hw-addr 02:fe:00:00:00:0{port}"
            ));
            this.run(&format!("set interface state pg{port} up"));
            this.run(&format!("set interface ip address pg{port} {address}/{len}"));
            if ip6 {
                this.run(&format!("ip6 nd pg{port} ra-suppress"));
            }
            this.run(&format!(
                "set ip neighbor pg{port} {} 02:aa:00:00:00:0{port} static",
                this.hop(port)
            ));
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

    /// The first route to send by, and the next hop further away.
    fn first_and_far(&self) -> [&'static str; 2] {
        if self.ip6 { ["2600::/128", "fd09::9/128"] } else { ["20.0.0.0/32", "192.0.2.9/32"] }
    }

    /// A route that the two next hops belong to.
    fn near(&self, shape: Shape) -> &'static str {
        self.first_and_far()[usize::from(shape != Shape::Both)]
    }

    fn route(&mut self, shape: Shape) {
        let ([first, far], routes) = (self.first_and_far(), self.routes);
        let reserve = if shape == Shape::Reserve { " preference 1" } else { "" };
        let near = format!("via {} pg1 via {} pg2{reserve}", self.hop(1), self.hop(2));
        if shape == Shape::Both {
            self.run(&format!("ip route add {first} count {routes} {near}"));
        } else {
            let via = far.split('/').next().expect("an address");
            self.run(&format!("ip route add {far} {near}"));
            self.run(&format!("ip route add {first} count {routes} via {via}"));
        }
    }

    /// Packets to any of the routes; how many left by each of the two links, and how many were
    /// dropped.
    fn send(&mut self) -> [u64; 3] {
        let interfaces = self.bench.world.get::<Interfaces>();
        let [from, one, two] =
            ["pg0", "pg1", "pg2"].map(|name| interfaces.find(name).expect("made"));
        let counters = self.bench.world.get::<IfCounters>();
        let count = |bench: &Bench| {
            [counters.tx.sum(one.at()).0, counters.tx.sum(two.at()).0, bench.drops()]
        };
        let before = count(&self.bench);
        for _ in 0..FRAMES {
            let n = self.rng.below(self.routes as usize) as u32;
            let port = self.rng.below(60_000) as u16 + 1;
            let ether = pkt::ether("02:aa:00:00:00:00", "02:fe:00:00:00:00");
            let ip = if self.ip6 {
                ether.ip6("fd00::2", Ipv6Addr::from_bits((0x2600 << 112) | u128::from(n)))
            } else {
                ether.ip4("10.0.0.2", std::net::Ipv4Addr::from_bits((20 << 24) | n))
            };
            self.bench.arrive(from, &ip.udp(port, 2000).payload_len(20).build());
        }
        self.bench.settle();
        let after = count(&self.bench);
        [0, 1, 2].map(|i| after[i] - before[i])
    }

    /// Takes the cable of `pg1` out, or puts it in: one turn of control. Gives how often
    /// adjacencies were written.
    fn link(&mut self, up: bool) -> u64 {
        let (world, adjacencies) = (&self.bench.world, self.bench.world.get::<Adjacencies>());
        let before = adjacencies.stores();
        let interfaces = world.get::<Interfaces>();
        interfaces.set_link(world, interfaces.find("pg1").expect("made"), up).expect("set");
        adjacencies.stores() - before
    }
}

/// Routes by two links at once, each by itself or all by a next hop further away, or with the
/// second link in reserve.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Shape {
    Both,
    Recursive,
    Reserve,
}

fn fails_over(ip6: bool, routes: u32, shape: Shape) -> u64 {
    let mut rig = Rig::new(ip6, routes);
    rig.route(shape);
    let all = FRAMES as u64;
    // The router says a word of its own now and then, of its addresses.
    let own = |n: u64| n < 8;
    let usual = |[one, two, dropped]: [u64; 3]| {
        assert!(
            one + two >= all && own(one + two - all) && dropped == 0,
            "{shape:?}: {one}, {two}, {dropped}"
        );
        let spread = one > all / 4 && two > all / 4;
        assert!(
            if shape == Shape::Reserve { own(two) } else { spread },
            "{shape:?}: {one} and {two}"
        );
    };
    usual(rig.send());
    let stores = rig.link(false);
    let [one, two, dropped] = rig.send();
    assert!(
        one == 0 && two >= all && own(two - all) && dropped == 0,
        "{shape:?}: {one}, {two}, {dropped}"
    );
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

impl Rig {
    fn pass(&mut self, seconds: u64) {
        for _ in 0..seconds {
            self.bench.world.clock.adjust(1_000_000_000);
            self.bench.settle();
        }
    }

    /// The neighbour on `pg1` answers a question about him.
    fn answer(&mut self) {
        let (him, us) = ("02:aa:00:00:00:01", "02:fe:00:00:00:01");
        let hop = self.hop(1);
        let frame = if self.ip6 {
            let solicited = 0x6000_0000;
            let target: Ipv6Addr = hop.parse().expect("an address");
            let behind = [&target.octets()[..], &[2, 1, 2, 0xaa, 0, 0, 0, 1]].concat();
            let na = pkt::ether(him, us).ip6(hop.as_str(), "fd00:1::1").ttl(255);
            na.icmp6(Icmp6Type::NEIGHBOR_ADVERTISEMENT, 0, solicited).payload(behind).build()
        } else {
            pkt::arp_reply(him, hop.as_str(), us, "10.1.0.1").pad_to(60).build()
        };
        let port = self.bench.world.get::<Interfaces>().find("pg1").expect("made");
        self.bench.arrive(port, &frame);
        self.bench.settle();
    }

    fn down(&self) -> Vec<String> {
        let all = self.bench.world.get::<NextHops>().list();
        all.into_iter().map(|(hop, _)| hop.ip.to_string()).collect()
    }
}

#[test]
fn packets_leave_a_next_hop_that_does_not_answer() {
    let all = FRAMES as u64;
    let own = |n: u64| n < 8;
    for (ip6, shape) in
        [false, true].map(|ip6| [(ip6, Shape::Both), (ip6, Shape::Recursive)]).concat()
    {
        let mut rig = Rig::new(ip6, MANY);
        let (family, hop) = (if ip6 { "ip6" } else { "ip4" }, rig.hop(1));
        rig.route(shape);
        rig.run(&format!("set ip neighbor del pg1 {hop}"));
        // Its packets wait for it, or find no room to.
        let [one, two, _] = rig.send();
        assert!(own(one) && two > all / 4 && two < all * 3 / 4, "{shape:?}: {one}, {two}");
        assert_eq!(rig.down(), [] as [&str; 0], "only just asked");
        // Three questions, a second each.
        rig.pass(4);
        assert_eq!(rig.down(), [hop.as_str()]);
        let [one, two, dropped] = rig.send();
        assert!(
            own(one) && two >= all && own(two - all) && dropped == 0,
            "{shape:?}: {one}, {two}, {dropped}"
        );
        let fib = rig.bench.cli(&format!(
            "show {} fib {}",
            if ip6 { "ip6" } else { "ip" },
            rig.near(shape)
        ));
        assert!(
            fib.expect("shown").contains(&format!("attached-nexthop: {hop} pg1 next-hop down"))
        );
        let adj = rig.bench.cli("show adj pg1").expect("shown");
        assert!(adj.lines().any(|l| l.contains(&hop) && l.contains("next-hop down")), "{adj}");
        let known = rig.bench.cli("show ip neighbors -j").expect("shown");
        let known: serde_json::Value = serde_json::from_str(&known).expect("JSON");
        let line = known
            .as_array()
            .expect("a list")
            .iter()
            .find(|n| n["ip"] == hop.as_str())
            .expect("listed");
        assert_eq!(
            (&line["state"], &line["next_hop_down"][0], &line["flags"]),
            (&"silent".into(), &"neighbor".into(), &"F".into())
        );
        // It isn't asked by packets any more, but by control, and answers.
        rig.pass(5);
        rig.answer();
        assert_eq!(rig.down(), [] as [&str; 0]);
        let [one, two, dropped] = rig.send();
        assert!(
            one > all / 4 && two > all / 4 && dropped == 0,
            "{shape:?}: {one}, {two}, {dropped}"
        );
        // It is in use, is asked whether it is still there, and isn't.
        rig.pass(40);
        assert_eq!(rig.down(), [hop.as_str()]);
        let [one, two, dropped] = rig.send();
        assert!(
            own(one) && two >= all && own(two - all) && dropped == 0,
            "{shape:?}: {one}, {two}, {dropped}"
        );
        // Routes that don't mind.
        rig.run(&format!("set ip neighbor-config {family} retry 0"));
        rig.pass(1);
        assert_eq!(rig.down(), [] as [&str; 0]);
        let [_, two, _] = rig.send();
        assert!(two < all * 3 / 4, "{shape:?}: {two}");
        rig.pass(5);
        assert_eq!(rig.down(), [] as [&str; 0]);
    }
}
