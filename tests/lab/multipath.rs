// SPDX-License-Identifier: Apache-2.0
//! Two next hops that are real hosts: the share of flows of each, and the flows when one's link
//! fails, or it doesn't answer any more.
//!
//! Covers: features/ip, features/fib, features/ip-neighbor, features/interface.

use std::collections::BTreeSet;
use std::time::Duration;

use fixture::{PATIENCE, eventually};
use testkit::lab::{Background, Netns, require};

use crate::star::{Spoke, Star, both};

/// Flows: source ports from here on.
const FIRST: u16 = 20_000;
const FLOWS: u16 = 10_000;

/// Addresses that both hosts have, and that the router knows by its route only.
fn shared() -> [String; 2] {
    both(99, 9)
}

/// Prints the source ports that it has received from, when it receives from port 1.
const LISTEN: &str = "
import socket, sys
family = socket.AF_INET6 if ':' in sys.argv[1] else socket.AF_INET
s = socket.socket(family, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, 33, 64 << 20)  # SO_RCVBUFFORCE
s.bind((sys.argv[1], 7000))
print('listening', flush=True)
heard = set()
while True:
    port = s.recvfrom(64)[1][1]
    if port == 1: break
    heard.add(port)
print(*heard, flush=True)
";

/// Each flow twice, paced, from a real socket.
const SEND: &str = "
import socket, sys, time
to, first, n = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
family = socket.AF_INET6 if ':' in to else socket.AF_INET
for port in range(first, first + n):
    s = socket.socket(family, socket.SOCK_DGRAM)
    s.bind(('', port))
    for _ in range(2): s.sendto(b'flow', (to, 7000))
    s.close()
    if port % 50 == 0: time.sleep(0.002)
";

const END: &str = "
import socket, sys
family = socket.AF_INET6 if ':' in sys.argv[1] else socket.AF_INET
s = socket.socket(family, socket.SOCK_DGRAM)
s.bind(('', 1))
s.sendto(b'end', (sys.argv[1], 7000))
";

fn python(host: &Netns, script: &str, words: &[&str]) -> testkit::lab::Command {
    host.command("/usr/bin/python3").args(["-c", script]).args(words)
}

/// Flows that each host has received, of those to the address that they share.
fn heard(star: &Star, to: &str, flows: u16) -> [BTreeSet<u16>; 2] {
    let [sender, hosts @ ..] = &star.spokes[..] else { panic!("a sender and two hosts") };
    let listeners: Vec<Background> = hosts
        .iter()
        .map(|spoke| {
            let listener = python(&spoke.host, LISTEN, &[to]).spawn();
            listener.wait_for("listening", PATIENCE);
            listener
        })
        .collect();
    python(&sender.host, SEND, &[to, &FIRST.to_string(), &flows.to_string()])
        .timeout(PATIENCE)
        .ok();
    let heard = hosts.iter().zip(listeners).map(|(spoke, mut listener)| {
        // From himself: what was sent before is in his queue already.
        eventually("the last packets", || {
            let before = spoke.host.counter("eth0", "rx_packets");
            std::thread::sleep(Duration::from_millis(500));
            (spoke.host.counter("eth0", "rx_packets") == before).then_some(())
        });
        python(&spoke.host, END, &[to]).ok();
        assert_eq!(listener.wait(PATIENCE), Some(0), "{}", listener.stderr());
        let text = listener.stdout();
        let ports = text.trim_start_matches("listening\n").split_whitespace();
        ports.map(|port| port.parse().expect("a port")).collect()
    });
    heard.collect::<Vec<_>>().try_into().expect("two hosts")
}

fn star() -> Option<(testkit::lab::Lab, Star)> {
    let lab = require(&["root", "ping", "/usr/bin/python3"])?;
    let star = Star::new(&lab, &[("sender", 1, 0), ("one", 2, 0), ("two", 3, 0)]);
    for spoke in &star.spokes[1..] {
        let [ip4, ip6] = shared();
        spoke.host.addr("lo", &format!("{ip4}/32"));
        spoke.host.addr("lo", &format!("{ip6}/128"));
    }
    Some((lab, star))
}

/// Routes to the shared addresses over both hosts.
fn route(star: &Star, add: bool, weights: [u8; 2]) {
    let word = if add { "add" } else { "del" };
    for (at, to) in shared().iter().enumerate() {
        let len = [32, 128][at];
        let path = |i: usize| {
            let Spoke { port, .. } = &star.spokes[i + 1];
            format!("via {} {port} weight {}", star.spokes[i + 1].addresses()[at], weights[i])
        };
        star.router.run(&format!("ip route {word} {to}/{len} {} {}", path(0), path(1)));
    }
}

#[test]
fn ten_thousand_flows_are_spread_by_weight() {
    let Some((_lab, star)) = star() else { return };
    let mut before = Vec::new();
    for (weights, router_id) in [([3, 1], 0), ([1, 1], 0), ([1, 1], 17)] {
        star.router.run(&format!("set ip flow-hash router-id {router_id}"));
        route(&star, true, weights);
        for (family, to) in shared().into_iter().enumerate() {
            let [one, two] = heard(&star, &to, FLOWS);
            println!("{to}, weights {weights:?}: {} and {} flows", one.len(), two.len());
            assert!(one.is_disjoint(&two), "a flow stays on its way");
            assert_eq!(one.len() + two.len(), usize::from(FLOWS), "each flow arrives");
            let sum = f64::from(weights[0] + weights[1]);
            for (flows, weight) in [(&one, weights[0]), (&two, weights[1])] {
                let due = f64::from(FLOWS) * f64::from(weight) / sum;
                let share = flows.len() as f64 / due;
                assert!((0.9..=1.1).contains(&share), "{} flows where {due} are due", flows.len());
            }
            // With another router ID, half of the flows of the first next hop go there again.
            if router_id != 0 {
                let again = one.intersection(&before[family]).count() as f64 / one.len() as f64;
                assert!((0.4..=0.6).contains(&again), "{again} of the flows again");
            } else if weights == [1, 1] {
                before.push(one);
            }
        }
        route(&star, false, weights);
    }
    star.router.stop();
}

#[track_caller]
fn both_hear(star: &Star) {
    // An unresolved next hop keeps only some of the waiting packets.
    for address in star.spokes[1..].iter().flat_map(Spoke::addresses) {
        eventually("an answer", || {
            star.spokes[0].host.ping("-c1 -W1", &address).success().then_some(())
        });
    }
    for to in shared() {
        let [first, second] = heard(star, &to, 500).map(|flows| flows.len());
        assert!(
            first > 0 && second > 0 && first + second == 500,
            "{to}: {first} and {second} flows"
        );
    }
}

#[test]
fn flows_take_the_other_link_when_one_is_down() {
    let Some((_lab, star)) = star() else { return };
    route(&star, true, [1, 1]);
    let one = &star.spokes[1];
    let is_up = |up: bool| {
        eventually("the link's state", || {
            let word = if up { "up" } else { "down" };
            star.router
                .run(&format!("show hardware-interfaces {}", one.port))
                .contains(word)
                .then_some(())
        });
    };
    both_hear(&star);
    one.host.down("eth0");
    is_up(false);
    for to in shared() {
        let [first, second] = heard(&star, &to, 500);
        assert_eq!(
            (first.len(), second.len()),
            (0, 500),
            "{to}: {}",
            star.router.run("show errors")
        );
    }
    one.host.up("eth0");
    let [_, ip6] = one.addresses();
    one.host.ip(&format!("-6 addr replace {ip6}/64 dev eth0 nodad"));
    one.gateways().iter().for_each(|gateway| one.host.route("default", gateway));
    is_up(true);
    both_hear(&star);
    star.router.stop();
}

/// The next hops that the router reports as silent.
fn silent(star: &Star) -> BTreeSet<String> {
    let all = star.router.json("show ip neighbors");
    let all = all.as_array().expect("a list").iter();
    all.filter(|n| n["state"] == "silent")
        .map(|n| n["ip"].as_str().expect("a text").into())
        .collect()
}

#[test]
fn flows_leave_a_next_hop_that_does_not_answer() {
    let Some((_lab, star)) = star() else { return };
    let [sender, one, _] = &star.spokes[..] else { panic!("a sender and two hosts") };
    for family in ["ip4", "ip6"] {
        star.router.run(&format!("set ip neighbor-config {family} confirm 2 retry 1"));
    }
    route(&star, true, [1, 1]);
    both_hear(&star);
    // The host's addresses on the link are removed, so nothing answers for them; the carrier stays.
    let gone = |forgotten: bool| {
        for (ip, len) in one.addresses().iter().zip([24, 64]) {
            one.host.ip(&format!("addr del {ip}/{len} dev eth0"));
        }
        // Now, because the host could still send a packet before.
        if forgotten {
            star.router.run("clear ip neighbors");
        }
        // Packets go on, and so the router sends requests for it.
        eventually("the router notices", || {
            for to in shared() {
                python(&sender.host, SEND, &[&to, &FIRST.to_string(), "50"]).timeout(PATIENCE).ok();
            }
            (silent(&star) == one.addresses().into()).then_some(())
        });
        for to in shared() {
            let [first, second] = heard(&star, &to, 500).map(|flows| flows.len());
            assert_eq!((first, second), (0, 500), "{to}: {}", star.router.run("show errors"));
        }
    };
    // The host announces nothing: the router detects it.
    let back = || {
        for (ip, len) in one.addresses().iter().zip([24, 64]) {
            let quietly = if len == 64 { " nodad" } else { "" };
            one.host.ip(&format!("addr add {ip}/{len} dev eth0{quietly}"));
        }
        one.gateways().iter().for_each(|gateway| one.host.route("default", gateway));
        eventually("the router finds him", || silent(&star).is_empty().then_some(()));
        both_hear(&star);
    };
    gone(false);
    let log = star.router.log();
    assert!(
        one.addresses()
            .iter()
            .all(|ip| log.contains(&format!("next hop {ip} on {} is down", one.port))),
        "{log}"
    );
    back();
    // Not known at all, and never was since.
    gone(true);
    back();
    star.router.stop();
}
