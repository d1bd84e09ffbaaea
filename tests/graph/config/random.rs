// SPDX-License-Identifier: Apache-2.0
//! Random commands, then a restart: configuration, `show` output and forwarding are the same afterwards.

use fixture::scripts;
use graph::Needs;
use testkit::Rng;

use super::{Instance, made_again, sorted};
use daemon::store;

/// Some command; many of them don't fit what is there, and are refused.
fn any_line(rng: &mut Rng) -> String {
    let mut n = |below: usize| rng.below(below);
    let interface = ["pg0", "pg1", "pg2", "loop0", "loop1", "wan"][n(6)];
    let other = ["pg0", "pg1", "pg2", "loop0", "wan"][n(5)];
    let table = [0, 7, 9][n(3)];
    let net = n(6);
    let del = ["", "del "][usize::from(n(4) == 0)];
    let up = ["up", "up", "up", "down"][n(4)];
    let on = ["enable", "disable"][n(2)];
    match n(20) {
        0 => format!(
            "create packet-generator interface pg{}{}",
            n(3),
            ["", " mode ip4"][usize::from(n(4) == 0)]
        ),
        1 => format!("create loopback interface instance {}", n(2)),
        2 if n(2) == 0 => format!("delete packet-generator interface {interface}"),
        2 => format!("delete loopback interface intfc {interface}"),
        3 | 4 => format!("set interface state {interface} {up}"),
        5 | 6 => format!("set interface ip address {del}{interface} 10.{net}.0.{}/24", 1 + n(3)),
        7 => format!("set interface ip table {interface} {table}"),
        8 => format!("ip table {} {table}", ["add", "add", "del"][n(3)]),
        9 => format!(
            "ip route {} 10.{net}.0.0/{} table {table} via 10.{}.0.2 {interface}",
            ["add", "add", "del"][n(3)],
            16 + n(9),
            n(6)
        ),
        10 => format!("ip route add 10.{net}.0.0/16 via 10.{}.0.{}", n(6), 1 + n(5)),
        11 => format!(
            "ip route add table {table} 10.{net}.1.0/24 via {} weight {}",
            ["drop", "unreach", interface, "ip4-lookup-in-table 9"][n(4)],
            1 + n(4)
        ),
        12 => format!("set ip neighbor {del}{interface} 10.{net}.0.2 02:00:00:00:00:0{} static", n(9)),
        13 => format!("set interface name {interface} {}", ["wan", "pg0", "lan"][n(3)]),
        14 => format!("set interface mtu {}{} {interface}", ["", "ip4 ", "packet "][n(3)], 1000 + n(500)),
        15 => format!("set interface mac address {interface} 02:00:00:00:01:0{}", n(9)),
        16 => format!("set interface proxy-arp {other} {on}"),
        17 => format!("set arp proxy {del}table-id {table} start 10.{net}.0.1 end 10.{net}.0.99"),
        18 => format!(
            "set ip icmp {}",
            ["echo disable", "echo enable", "error-rate 5", "echo-broadcast enable"][n(4)]
        ),
        _ => format!("{on} ip4 interface {interface}"),
    }
}

#[test]
fn what_any_lines_make_is_said_again() {
    let mut last: Option<String> = None;
    for seed in 0..24 {
        let mut rng = Rng::new(seed);
        let mut instance = Instance::new();
        let mut lines = String::new();
        for _ in 0..60 {
            let line = any_line(&mut rng);
            if instance.run(&line).is_ok() {
                lines += &format!("{line}\n");
            }
        }
        let text = instance.config();
        // Indices that were given back come in another order: names tell what is meant.
        if !lines.contains("delete ") {
            made_again(&mut instance, &format!("seed {seed}\n{lines}"));
        }
        let again = Instance::after(&text);
        assert_eq!(sorted(&again.config()), sorted(&text), "seed {seed}\n{lines}");
        if let Some(last) = &last {
            let said = instance.go_to(last);
            assert_eq!(sorted(&instance.config()), sorted(last), "seed {seed}\n{lines}{said}");
        }
        last = Some(text);
    }
}

/// Any lines of the scripts, which have every command that sets something: in any order, about any interface.
fn mixed(seed: u64, count: usize) -> (Instance, String) {
    let pool: Vec<String> = scripts()
        .filter(|s| s.needs == Needs::Nothing)
        .flat_map(|s| store::file::lines(s.lines))
        // Gaps in the indices of interfaces are closed; what a stream sends is sent again.
        .filter(|line| !line.contains("delete") && !line.starts_with("packet-generator"))
        // Addresses that were ours before this was enabled aren't asked for; after a restart all are.
        .filter(|line| !line.starts_with("set ip6 dad"))
        .collect();
    let mut rng = Rng::new(seed);
    let mut instance = Instance::new();
    let mut done = String::new();
    let dad = if seed.is_multiple_of(2) {
        "set ip6 dad enable transmits 3 delay 0.5"
    } else {
        "set ip6 dad disable"
    };
    for line in [
        dad,
        "create packet-generator interface pg0",
        "create packet-generator interface pg1",
        "create loopback interface",
    ] {
        instance.must(line);
        done += &format!("{line}\n");
    }
    for _ in 0..count {
        let mut line = pool[rng.below(pool.len())].clone();
        if rng.below(3) == 0 {
            let name = ["pg0", "pg1", "loop0"][rng.below(3)];
            line = line.replace(["pg0", "pg1", "loop0"][rng.below(3)], name);
        }
        if rng.below(6) == 0 {
            line = match line.strip_prefix("enable ") {
                Some(rest) => format!("disable {rest}"),
                None => line.replace(" enable", " disable"),
            };
        }
        if instance.run(&line).is_ok() {
            done += &format!("{line}\n");
        }
    }
    (instance, done)
}

/// Loads the saved text into a fresh instance, as after `kill -9`. Every seed is tried, and those that fail are listed.
fn comes_back(seeds: std::ops::Range<u64>, count: usize) {
    let comes_back = |seed: &u64| {
        std::panic::catch_unwind(|| {
            let (mut instance, lines) = mixed(*seed, count);
            made_again(&mut instance, &format!("seed {seed}\n{lines}"));
        })
        .is_ok()
    };
    let failed: Vec<u64> = seeds.filter(|seed| !comes_back(seed)).collect();
    assert!(failed.is_empty(), "{} seeds fail: {failed:?}", failed.len());
}

#[test]
fn what_any_lines_of_all_scripts_make_comes_back() {
    comes_back(0..32, 80);
}

#[test]
#[ignore = "long: 4,000 instances of all kinds are made once more, some minutes"]
fn long_what_any_lines_of_all_scripts_make_comes_back() {
    comes_back(32..3032, 80);
    comes_back(3032..4032, 400);
}

/// Sequences that random runs found.
#[test]
fn what_did_not_come_back_does() {
    for lines in [
        // A feature switched by the operator is configured after its owner's commands.
        "set interface proxy-arp pg0 enable\nset interface feature pg0 arp-proxy arc arp disable",
        "set urpf ip4 rx strict pg0\nset interface feature pg0 ip4-rx-urpf-strict arc ip4-unicast disable",
        "set interface feature pg0 arp-proxy arc arp\nset interface proxy-arp pg0 enable",
        // Path selection doesn't depend on the order in which neighbours were learned.
        "set interface state pg0 up\nset interface state pg1 up\n\
         set interface ip address pg0 10.0.0.1/24\nset interface ip address pg1 10.1.0.1/24\n\
         set ip neighbor pg1 10.1.0.2 02:00:00:00:01:02 static\nset ip neighbor pg0 10.0.0.2 02:00:00:00:00:02 static\n\
         ip route add 10.4.0.0/14 via 10.1.0.2 pg1\nip route add 10.4.0.0/14 via 10.0.0.2 pg0",
        // Disabled IPv6 stays disabled, also after a command that enables it as a side effect.
        "ip6 nd address autoconfig pg0 default-route\ndisable ip6 interface pg0",
        // A container and a host that is answered for move with their interface.
        "ip container 10.9.0.2 pg0\nip table add 7\nset interface ip table pg0 7",
        "set ip6 nd proxy pg0 2001:db8::77\nip6 table add 7\nset interface ip6 table pg0 7",
        // A host behind two interfaces is proxied on both, also where IPv6 is enabled later.
        "set ip6 nd proxy pg1 2001:db8::77\nset ip6 nd proxy pg0 2001:db8::77\nenable ip6 interface pg0",
    ] {
        let ports = "create packet-generator interface pg0\ncreate packet-generator interface pg1";
        let mut first = Instance::after(&format!("{ports}\n{lines}"));
        made_again(&mut first, lines);
    }
}
