// SPDX-License-Identifier: Apache-2.0
//! IPv6, and the default route in both families.

use super::*;
use std::net::Ipv6Addr;

fn ip6(text: &str) -> Ipv6Addr {
    text.parse().expect("an address")
}

/// Interfaces with 2001:db8:0::1/64 and 2001:db8:1::1/64, each with a neighbour ::2 that is known,
/// and routes of all kinds.
fn bench6() -> Bench {
    let mut bench = bench();
    for i in 0..2 {
        run(&mut bench, &format!("set interface ip address t{i} 2001:db8:{i}::1/64"));
        let neighbor: Ipv6Addr = ip6(&format!("2001:db8:{i}::2"));
        let known =
            Neighbor::new(SwIfIndex(i + 1), neighbor.into(), MacAddr([2, 0, 0, 0, 1, i as u8]));
        bench.world.get::<Neighbors>().set(&bench.world, known).expect("set");
    }
    run(&mut bench, "ip6 table add 7");
    for route in [
        "3000::/16 via 2001:db8:0::2 t0",
        "3001::/16 via 2001:db8:0::2 t0 via 2001:db8:1::2 t1",
        "3001:8000::/17 via 2001:db8:1::2 t1",
        "3002::/16 via drop",
        "3003::/16 via 3000::5",
        "3004::/16 via ip6-lookup-in-table 7",
        "3005::/16 via unreach",
        "table 7 3004:3::/32 via 2001:db8:1::2 t1",
    ] {
        run(&mut bench, &format!("ip route add {route}"));
    }
    bench
}

/// By source: passes on `t0` and `t1` when strict, passes when loose.
const CASES6: [(&str, bool, bool, bool); 16] = [
    ("3000::9", true, false, true),
    ("3001::9", true, true, true),
    ("3001:8000::9", false, true, true),
    ("3002::9", false, false, false),
    ("3003::9", true, false, true),
    ("3004:3::9", false, true, true),
    ("3004:4::9", false, false, false),
    ("3005::9", false, false, false),
    ("2001:db8:0::2", true, false, true),
    ("2001:db8:0::99", true, false, true),
    ("2001:db8:1::99", false, true, true),
    ("2001:db8:0::1", false, false, false),
    ("2001:db8:1::1", false, false, false),
    ("4000::1", false, false, false),
    ("::", false, false, false),
    // It means nothing behind the link: it isn't checked, whatever the route.
    ("fe80::9", true, true, true),
];

/// Returns for each source whether it passes on an interface, packets together and one by one.
fn passes6(bench: &mut Bench, sw_if: SwIfIndex, sources: &[Ipv6Addr]) -> Vec<bool> {
    let source = |o: &Outcome| Ipv6Addr::from(*o.bytes[8..].first_chunk::<16>().expect("a header"));
    let packets: Vec<_> =
        sources.iter().map(|s| pkt::ip6(*s, "2001:db8:0::77").udp(1, 2).build()).collect();
    let passed = |out: Vec<Outcome>| -> Vec<Ipv6Addr> {
        out.iter().filter(|o| o.reason.is_none()).map(source).collect()
    };
    let together = passed(bench.feature("ip6-unicast", sw_if, &packets));
    let one = |p| passed(bench.feature("ip6-unicast", sw_if, std::slice::from_ref(p)));
    let alone: Vec<_> = packets.iter().flat_map(one).collect();
    let answer =
        |all: &[Ipv6Addr]| -> Vec<bool> { sources.iter().map(|s| all.contains(s)).collect() };
    assert_eq!(answer(&together), answer(&alone));
    answer(&alone)
}

#[suite::test]
fn sources_of_ipv6_pass_by_their_routes() {
    let mut bench = bench6();
    let sources: Vec<_> = CASES6.iter().map(|c| ip6(c.0)).collect();
    for (mode, strict) in [("strict", true), ("loose", false)] {
        for (i, sw_if) in [T0, T1].into_iter().enumerate() {
            run(&mut bench, &format!("set urpf ip6 rx {mode} t{i}"));
            let got = passes6(&mut bench, sw_if, &sources);
            for (case, got) in CASES6.iter().zip(got) {
                let want = if strict { [case.1, case.2][i] } else { case.3 };
                assert_eq!(got, want, "{mode} t{i} {}", case.0);
            }
        }
    }
    assert!(bench.count("ip6-rx-urpf-strict", "uRPF Drop") > 0);
    assert!(bench.count("ip6-rx-urpf-loose", "uRPF Drop") > 0);
    run(&mut bench, "set urpf-accept 4000::/16");
    assert_eq!(passes6(&mut bench, T0, &[ip6("4000::1"), ip6("4001::1")]), [true, false]);
    // Duplicate address detection: the source is unspecified.
    let ask = pkt::ip6("::", "ff02::1:ff00:1").udp(1, 2).build();
    assert_eq!(bench.feature("ip6-unicast", T0, &[ask])[0].reason, None);
}

#[suite::test]
fn what_leaves_is_checked_in_ipv6_too() {
    let mut bench = bench6();
    run(&mut bench, "set urpf ip6 tx strict t0");
    let known = Neighbor::new(T0, ip6("2001:db8:0::77").into(), MacAddr([2, 0, 0, 0, 1, 9]));
    bench.world.get::<Neighbors>().set(&bench.world, known).expect("set");
    let mut dropped = |src: &str| {
        let before = bench.drops();
        let packet = pkt::ip6(ip6(src), "2001:db8:0::77").udp(1, 2).build();
        bench.send("ip6-lookup", &packet, |b| b.rx_if = T1.0);
        bench.drops() > before
    };
    assert!(!dropped("3000::9") && !dropped("3001::9"));
    assert!(dropped("3001:8000::9") && dropped("4000::1"));
    assert_eq!(bench.count("ip6-tx-urpf-strict", "uRPF Drop"), 2);
}

#[suite::test]
fn the_default_route_counts_unless_it_is_denied() {
    let mut bench = bench6();
    run(&mut bench, "ip route add 0.0.0.0/0 via 10.0.1.2 t1");
    run(&mut bench, "ip route add ::/0 via 2001:db8:1::2 t1");
    // One list of paths with the default route, but a route of its own.
    run(&mut bench, "ip route add 7.0.0.0/8 via 10.0.1.2 t1");
    run(&mut bench, "ip route add 4007::/16 via 2001:db8:1::2 t1");
    let (four, six) =
        (["8.8.8.8", "7.7.7.7", "192.0.2.9"].map(ip), ["4000::1", "4007::1", "3000::9"].map(ip6));
    for (words, sw_if, want) in [
        ("loose t0", T0, [true, true, true]),
        ("loose allow-default t0", T0, [true, true, true]),
        ("loose deny-default t0", T0, [false, true, true]),
        ("strict deny-default t1", T1, [false, true, false]),
        ("strict allow-default t1", T1, [true, true, false]),
    ] {
        for family in ["ip4", "ip6"] {
            run(&mut bench, &format!("set urpf {family} rx {words}"));
        }
        assert_eq!(passes(&mut bench, sw_if, &four), want, "{words}");
        assert_eq!(passes6(&mut bench, sw_if, &six), want, "{words}");
    }
    run(&mut bench, "set urpf rx loose deny-default t0");
    run(&mut bench, "set urpf-accept 8.0.0.0/8");
    assert_eq!(passes(&mut bench, T0, &four), [true, true, true]);
    let said: Vec<String> =
        bench.world.running_config().into_iter().map(|line| line.text).collect();
    assert!(said.iter().any(|line| line == "set urpf ip4 rx loose deny-default t0"), "{said:#?}");
}
