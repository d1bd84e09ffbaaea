// SPDX-License-Identifier: Apache-2.0
//! Random commands, then a restart: configuration, `show` output and forwarding are the same
//! afterwards.

use fixture::scripts;
use graph::Needs;
use testkit::Rng;

use super::compare::{Difference, as_started, compare_again, made_again};
use super::shrink::shrink;
use super::{Instance, sorted};
use daemon::store;
use std::ops::Range;

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
        12 => {
            format!("set ip neighbor {del}{interface} 10.{net}.0.2 02:00:00:00:00:0{} static", n(9))
        }
        13 => format!("set interface name {interface} {}", ["wan", "pg0", "lan"][n(3)]),
        14 => format!(
            "set interface mtu {}{} {interface}",
            ["", "ip4 ", "packet "][n(3)],
            1000 + n(500)
        ),
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

/// Takes back something that the line which makes an object implies: admin states, tables, enabled
/// protocols, punts, and the tables that objects were made with. Most of the objects aren't there,
/// and most lines are refused.
fn undone(rng: &mut Rng) -> String {
    let mut n = |below: usize| rng.below(below);
    let interface = [
        "vxlan_tunnel0",
        "vxlan_tunnel5",
        "vxlan_gpe_tunnel0",
        "vxlan_gpe_tunnel1",
        "vxlan_gpe_tunnel5",
        "geneve_tunnel0",
        "gtpu_tunnel0",
        "gtpu_tunnel1",
        "gtpu_tunnel9",
        "pppoe_session0",
        "pppoe_session1",
        "pppoe_session4",
        "ip6ip-6rd0",
        "ip6ip-6rd1",
        "ipip0",
        "gre0",
        "l2tpv3_tunnel0",
        "xcrw0",
        "xcrw9",
        "pipe0",
        "pipe0.0",
        "pipe0.1",
    ][n(22)];
    let (ip, table) = (["ip", "ip6"][n(2)], [0, 0, 7, 9][n(4)]);
    match n(6) {
        0 | 1 => format!("set interface state {interface} {}", ["down", "down", "up"][n(3)]),
        2 => format!("set interface {ip} table {interface} {table}"),
        3 => {
            let (on, version) = (["disable", "disable", "enable"][n(3)], ["ip4", "ip6"][n(2)]);
            format!("{on} {version} interface {interface}")
        }
        4 => format!(
            "set punt {} {} {}all",
            ["ipv4", "ipv6"][n(2)],
            ["tcp", "udp"][n(2)],
            ["del ", "del ", ""][n(3)]
        ),
        _ => format!("{ip} table del {}", [7, 9][n(2)]),
    }
}

/// Any lines of the scripts, which have every command that sets something: in any order, about any
/// interface. Some are refused.
fn mixed(seed: u64, count: usize) -> Vec<String> {
    let pool: Vec<String> = scripts()
        .filter(|s| s.needs == Needs::Nothing)
        .flat_map(|s| store::file::lines(s.lines))
        // Gaps in the indices of interfaces are closed; what a stream sends is sent again.
        .filter(|line| !line.contains("delete") && !line.starts_with("packet-generator"))
        .filter(|line| !line.ends_with(" del") || line.starts_with("set "))
        .filter(|line| !line.contains("xcrw") || !line.ends_with(" del"))
        // Such a cross-connect goes with its table, and leaves a gap, too.
        .filter(|line| !line.contains("tx-fib-id"))
        // Addresses that were ours before this was enabled aren't asked for; after a restart all
        // are.
        .filter(|line| !line.starts_with("set ip6 dad"))
        .collect();
    let mut rng = Rng::new(seed);
    let dad = if seed.is_multiple_of(2) {
        "set ip6 dad enable transmits 3 delay 0.5"
    } else {
        "set ip6 dad disable"
    };
    let mut lines = [
        dad,
        "create packet-generator interface pg0",
        "create packet-generator interface pg1",
        "create loopback interface",
    ]
    .map(String::from)
    .to_vec();
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
        // A loopback interface hears its own units, until it sends none.
        if line.starts_with("set interface lldp loop") {
            continue;
        }
        lines.push(line);
        if rng.below(2) == 0 {
            lines.push(undone(&mut rng));
        }
    }
    lines
}

/// Runs lines, some of which are refused, and loads the saved text into a fresh instance, as after
/// `kill -9`.
fn comes_back(lines: &[String]) -> Result<(), Difference> {
    let run = || {
        let mut instance = Instance::new();
        for line in lines {
            let _ = instance.run(line);
        }
        compare_again(&mut instance)
    };
    std::panic::catch_unwind(run).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| text.to_string()));
        Err(Difference::new("a panic", text.unwrap_or_default()))
    })
}

/// Tries every seed. Those that fail are listed, each with the few lines that it takes if it fails
/// every time.
fn all_come_back(seeds: Range<u64>, count: usize) {
    let mut failed = Vec::new();
    for seed in seeds {
        let lines = mixed(seed, count);
        let Err(found) = comes_back(&lines) else { continue };
        let again = comes_back(&lines).is_err();
        let (few, found) = if again { shrink(lines, found, comes_back) } else { (lines, found) };
        // Now, too: a run over all seeds takes minutes.
        let chance = if again { "" } else { ", but not every time" };
        eprintln!(
            "seed {seed}: {} differs{chance}\n{}\n{}\n",
            found.of,
            few.join("\n"),
            found.text
        );
        failed.push(seed);
    }
    assert!(failed.is_empty(), "{} seeds fail: {failed:?}", failed.len());
}

/// `replace` from one random configuration to another: as a fresh start with the other, whatever
/// was there before.
#[test]
fn what_replaces_another_configuration_is_as_if_started_with_it() {
    let configs: Vec<_> = (0..10)
        .map(|seed| {
            let mut instance = Instance::new();
            mixed(seed, 60).iter().for_each(|line| drop(instance.run(line)));
            instance.config()
        })
        .collect();
    let mut rng = Rng::new(42);
    for (seed, to) in configs.iter().enumerate() {
        let from = (seed + 1 + rng.below(configs.len() - 1)) % configs.len();
        let mut replaced = Instance::after(&configs[from]);
        let said = replaced.go_to(to);
        as_started(&mut replaced, to, &format!("seed {from} to {seed}\n{said}"));
    }
}

#[test]
fn what_any_lines_of_all_scripts_make_comes_back() {
    all_come_back(0..32, 80);
}

/// The seeds of `FERROVIA_SEEDS=300..310`, which may be others than the usual ones.
pub fn wanted_seeds() -> Option<Range<u64>> {
    let text = std::env::var("FERROVIA_SEEDS").ok()?;
    let range = text.split_once("..").and_then(|(a, b)| Some(a.parse().ok()?..b.parse().ok()?));
    Some(range.unwrap_or_else(|| panic!("FERROVIA_SEEDS={text}: FIRST..END is expected")))
}

#[test]
#[ignore = "long: 4,000 instances of all kinds are made once more, some minutes"]
fn long_what_any_lines_of_all_scripts_make_comes_back() {
    let wanted = wanted_seeds().unwrap_or(32..4032);
    for (seeds, count) in [(32..3032, 80), (3032..4032, 400), (4032..u64::MAX, 80)] {
        all_come_back(seeds.start.max(wanted.start)..seeds.end.min(wanted.end), count);
    }
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
        // A sub-interface stays up when its parent goes down.
        "create sub-interfaces pg0 10\nset interface state pg0 up\nset interface state pg0.10 up\nset interface state pg0 down",
        // Advertisements are sent as soon as the link-local address may be used.
        "set ip6 dad enable\nip6 nd pg0 no ra-suppress\nset interface state pg0 up\n\
         set ip6 link-local address pg0 fe80::30\nset ip6 link-local address pg0 fe80::30 del",
        // An unnumbered interface and its lender, made in different tables and moved to others.
        "ip table add 7\ncreate gtpu forward dst 192.0.2.7 bad-header encap-vrf-id 7\n\
         create loopback interface\nset interface ip table loop0 7\n\
         set interface unnumbered gtpu_tunnel0 use loop0\nset interface ip table gtpu_tunnel0 0",
        "ip table add 7\nip table add 9\ncreate gtpu forward dst 192.0.2.7 bad-header encap-vrf-id 7\n\
         create loopback interface\nset interface ip table gtpu_tunnel0 0\n\
         set interface unnumbered gtpu_tunnel0 use loop0\nset interface ip table loop0 9\n\
         set interface ip table gtpu_tunnel0 7",
        // A receive queue keeps the mode that was the default when it was made.
        "create interface memif id 1\nset interface default rx-mode polling\ncreate interface memif id 2\n\
         set interface default rx-mode interrupt\nset interface rx-mode memif0/1 adaptive",
        // A table of routes that a session needs has the usual name.
        "classify table mask l3 ip4 src\n\
         classify session table-index 0 match l3 ip4 src 10.0.0.2 action set-ip4-fib-id 7",
    ] {
        came_back(lines);
    }
}

#[track_caller]
fn came_back(lines: &str) {
    let ports = "create packet-generator interface pg0\ncreate packet-generator interface pg1";
    let mut first = Instance::after(&format!("{ports}\n{lines}"));
    made_again(&mut first, lines);
    let (text, empty) = (first.config(), first.go_to(""));
    assert_eq!(first.config(), "", "{lines}: {empty}");
    first.go_to(&text);
    assert_eq!(sorted(&first.config()), sorted(&text), "{lines}");
}

/// Settings that a creating line implies and an operator has taken back stay taken back.
#[test]
fn what_a_line_implies_and_was_taken_back_stays_so() {
    for lines in [
        "create vxlan tunnel src 192.0.2.1 dst 192.0.2.9 vni 13\nset interface state vxlan_tunnel0 down",
        "create vxlan-gpe tunnel local 192.0.2.1 remote 192.0.2.9 vni 13\nset interface state vxlan_gpe_tunnel0 down",
        "create geneve tunnel local 192.0.2.1 remote 192.0.2.9 vni 13\nset interface state geneve_tunnel0 down",
        "create gtpu tunnel src 192.0.2.1 dst 192.0.2.9 teid 13\nset interface state gtpu_tunnel0 down",
        "create gtpu forward dst 192.0.2.7 bad-header\nset interface state gtpu_tunnel0 down",
        "create pppoe session client-ip 10.0.0.5 session-id 1 client-mac 02:aa:00:00:00:01 interface pg0\n\
         set interface state pppoe_session0 down",
        "classify table mask l3 ip4 src\n\
         classify session table-index 0 match l3 ip4 src 10.0.0.3 action set-ip6-fib-id 7\nip6 table del 7",
        "set interface state pg0 up\nset interface l2 xcrw pg0 next ip4-lookup rw 4500\n\
         set interface state xcrw0 down",
        // Tables, of which the first is needed by the line that makes the interface.
        "ip table add 1\nset interface state pg0 up\n\
         create pppoe session client-ip 10.0.0.5 session-id 1 client-mac 02:aa:00:00:00:01 decap-vrf-id 1 interface pg0\n\
         set interface ip table pppoe_session0 0\nip table del 1",
        "ip table add 1\ncreate gtpu forward dst 192.0.2.7 bad-header encap-vrf-id 1\n\
         set interface ip table gtpu_tunnel0 0\nip table del 1",
        "ip6 table add 1\ncreate gtpu forward dst 2001:db8::7 bad-header encap-vrf-id 1\n\
         disable ip6 interface gtpu_tunnel0\nenable ip4 interface gtpu_tunnel0",
        "ip table add 2\nip6 table add 2\n\
         create vxlan-gpe tunnel local 192.0.2.1 remote 192.0.2.10 vni 15 next-ip4\n\
         set interface ip table vxlan_gpe_tunnel0 2",
        "ip table add 2\ncreate vxlan-gpe tunnel local 192.0.2.1 remote 192.0.2.10 vni 15 next-ip4 decap-vrf-id 2\n\
         ip6 table add 2\nset interface ip table vxlan_gpe_tunnel0 0\nip table del 2",
        "create vxlan-gpe tunnel local 192.0.2.1 remote 192.0.2.10 vni 15 next-ethernet decap-vrf-id 2",
        "ip6 table add 7\ncreate 6rd tunnel ip6-pfx 2001:db8::/32 ip4-pfx 10.0.0.0/8 ip4-src 10.0.0.1 ip6-table-id 7\n\
         set interface ip6 table ip6ip-6rd0 0\nip6 table del 7",
        "create 6rd tunnel ip6-pfx 2001:db8::/32 ip4-pfx 10.0.0.0/8 ip4-src 10.0.0.1\n\
         disable ip6 interface ip6ip-6rd0\nset interface state ip6ip-6rd0 down",
        "set interface unnumbered pg0 use pg1\nip6 nd address autoconfig pg0\ndisable ip6 interface pg0",
        // Punts.
        "stn rule address 192.0.2.1 interface pg0\nset punt ipv4 tcp del all\nset punt ipv6 udp del all",
        "punt socket register ipv4 tcp all socket /run/client.sock\nstn rule address 192.0.2.1 interface pg0",
    ] {
        came_back(lines);
    }
}

/// A route has one path of each kind, as if each had been added by itself.
#[test]
fn paths_that_differ_in_weight_only_are_one() {
    for lines in [
        "ip route add 1.0.0.0/8 via 10.0.0.2 pg0 weight 1 via 10.0.0.2 pg0 weight 3",
        "ip route add 1.0.0.0/8 via 10.0.0.2 pg0 via 10.0.0.3 pg0 via 10.0.0.2 pg0 preference 3",
        "ip route add 1.0.0.0/8 via drop via drop",
        "ip route add 2001:db8::/32 count 4 via 2001:db8:1::1 weight 2 via 2001:db8:1::1 weight 3",
    ] {
        came_back(lines);
    }
}

/// Tables that something needs are saved, although nobody owns them.
#[test]
fn tables_in_use_are_saved() {
    for lines in [
        "ip6 table add 1\ncreate gre tunnel src 2001:db8::9 multipoint\n\
         create teib gre0 peer 10.0.0.2 nh 2001:db8::1 nh-table-id 1\nip6 table del 1",
        "ip table add 1\ncreate teib pg0 peer 10.0.0.2 nh 192.0.2.9 nh-table-id 1\nip table del 1",
    ] {
        came_back(lines);
    }
    // Filters aren't saved, but tables of theirs that interfaces use.
    let mut first = Instance::after(
        "create packet-generator interface pg0\n\
         classify filter trace mask l3 ip4 src match l3 ip4 src 10.0.0.1\n\
         classify filter trace mask l3 ip4 src dst match l3 ip4 src 10.0.0.1 dst 10.0.0.2\n\
         set interface input acl intfc pg0 ip4-table 1",
    );
    let text = first.config();
    let mut again = Instance::after(&text);
    assert_eq!(again.config(), text);
    let acl = "show inacl type ip4";
    assert_eq!(again.must(acl), first.must(acl));
}
