// SPDX-License-Identifier: Apache-2.0
mod six;

use crate::PLUGIN;
use crate::api::*;
use ::graph::drive::{Bench, Outcome};
use ::graph::{Plugin, SwIfIndex};
use msg::Call;
use net::api::{AddressFamily, InterfaceIndex};
use net::drive::networks;
use net::{Interfaces, Neighbor, Neighbors};
use std::net::Ipv4Addr;
use testkit::pkt;
use wire::MacAddr;

static PLUGINS: &[&Plugin] =
    &[&interface::PLUGIN, &ethernet::PLUGIN, &fib::PLUGIN, &ip::PLUGIN, &PLUGIN];

const T0: SwIfIndex = SwIfIndex(1);
const T1: SwIfIndex = SwIfIndex(2);

fn run(bench: &mut Bench, line: &str) -> String {
    bench.cli(line).unwrap_or_else(|e| panic!("{line}: {e}"))
}

/// Interfaces with 10.0.0.1/24 and 10.0.1.1/24, each with a neighbour .2 that is known, and routes
/// of all kinds.
fn bench() -> Bench {
    let mut bench = Bench::new(PLUGINS);
    networks(&mut bench, 2);
    run(&mut bench, "ip table add 7");
    for route in [
        "192.0.2.0/24 via 10.0.0.2 t0",
        "198.51.100.0/24 via 10.0.0.2 t0 via 10.0.1.2 t1",
        "198.51.100.128/25 via 10.0.1.2 t1",
        "203.0.113.0/24 via drop",
        "100.64.0.0/16 via 192.0.2.5",
        "100.65.0.0/16 via ip4-lookup-in-table 7",
        "100.66.0.0/16 via unreach",
        "100.67.0.0/16 via ip4-source-lookup-in-table 7",
        "table 7 100.65.3.0/24 via 10.0.1.2 t1",
    ] {
        run(&mut bench, &format!("ip route add {route}"));
    }
    bench
}

fn packet(src: impl Into<Ipv4Addr>) -> Vec<u8> {
    pkt::ip4(src.into(), "10.0.0.77").udp(1, 2).build()
}

fn ip(text: &str) -> Ipv4Addr {
    text.parse().expect("an address")
}

/// By source: passes on `t0` and `t1` when strict, passes when loose.
const CASES: [(&str, bool, bool, bool); 17] = [
    ("192.0.2.9", true, false, true),
    ("198.51.100.9", true, true, true),
    ("198.51.100.200", false, true, true),
    ("203.0.113.9", false, false, false),
    ("100.64.1.1", true, false, true),
    ("100.65.3.1", false, true, true),
    ("100.65.4.1", false, false, false),
    ("100.66.0.1", false, false, false),
    ("100.67.0.1", false, false, false),
    ("10.0.0.2", true, false, true),
    ("10.0.0.99", true, false, true),
    ("10.0.1.99", false, true, true),
    ("10.0.0.1", false, false, false),
    ("10.0.1.1", false, false, false),
    ("8.8.8.8", false, false, false),
    ("0.0.0.0", false, false, false),
    ("127.0.0.1", false, false, false),
];

/// Returns for each source whether it passes on an interface, packets together and one by one.
fn passes(bench: &mut Bench, sw_if: SwIfIndex, sources: &[Ipv4Addr]) -> Vec<bool> {
    // The source is the packet's mark.
    let source = |o: &Outcome| Ipv4Addr::from(*o.bytes[12..].first_chunk::<4>().expect("a header"));
    let packets: Vec<_> = sources.iter().map(|s| packet(*s)).collect();
    let passed = |out: Vec<Outcome>| -> Vec<Ipv4Addr> {
        out.iter().filter(|o| o.reason.is_none()).map(source).collect()
    };
    let together = passed(bench.feature("ip4-unicast", sw_if, &packets));
    let alone: Vec<_> = packets
        .iter()
        .flat_map(|p| passed(bench.feature("ip4-unicast", sw_if, std::slice::from_ref(p))))
        .collect();
    let answer =
        |all: &[Ipv4Addr]| -> Vec<bool> { sources.iter().map(|s| all.contains(s)).collect() };
    assert_eq!(answer(&together), answer(&alone));
    answer(&alone)
}

#[suite::test]
fn sources_pass_by_their_routes() {
    let mut bench = bench();
    let sources: Vec<_> = CASES.iter().map(|c| ip(c.0)).collect();
    for (mode, which) in [("strict", 0), ("loose", 1)] {
        for (i, sw_if) in [T0, T1].into_iter().enumerate() {
            run(&mut bench, &format!("set urpf ip4 rx {mode} t{i}"));
            let want: Vec<_> = CASES
                .iter()
                .map(|(_, t0, t1, loose)| if which == 1 { *loose } else { [*t0, *t1][i] })
                .collect();
            let got = passes(&mut bench, sw_if, &sources);
            for ((case, got), want) in CASES.iter().zip(got).zip(want) {
                assert_eq!(got, want, "{mode} t{i} {}", case.0);
            }
        }
    }
    assert!(bench.count("ip4-rx-urpf-strict", "uRPF Drop") > 0);
    assert!(bench.count("ip4-rx-urpf-loose", "uRPF Drop") > 0);
    // With a default route by t1, what has no other route comes by t1.
    run(&mut bench, "ip route add 0.0.0.0/0 via 10.0.1.2 t1");
    let google = [ip("8.8.8.8"), ip("203.0.113.9")];
    assert_eq!(passes(&mut bench, T0, &google), [true, false]);
    run(&mut bench, "set urpf strict t0");
    run(&mut bench, "set urpf strict t1");
    assert_eq!(passes(&mut bench, T0, &google), [false, false]);
    assert_eq!(passes(&mut bench, T1, &google), [true, false]);
}

#[suite::test]
fn other_tables_and_accepted_networks() {
    let mut bench = bench();
    run(&mut bench, "set urpf rx strict t1 table 7");
    let sources = ["100.65.3.9", "10.0.1.2", "192.0.2.9"].map(ip);
    assert_eq!(passes(&mut bench, T1, &sources), [true, false, false]);
    run(&mut bench, "set urpf-accept table 7 add 192.0.2.0/25");
    run(&mut bench, "set urpf-accept 192.0.2.128/25");
    let sources = ["192.0.2.9", "192.0.2.200"].map(ip);
    assert_eq!(passes(&mut bench, T1, &sources), [true, false]);
    run(&mut bench, "set urpf-accept table 7 del 192.0.2.0/25");
    assert_eq!(passes(&mut bench, T1, &sources), [false, false]);
    assert!(bench.cli("set urpf-accept table 7 del 192.0.2.0/25").is_err());
    assert!(bench.cli("set urpf strict t0 table 77").is_err());
}

#[suite::test]
fn words_come_in_any_order() {
    let mut bench = bench();
    for (line, shown) in [
        ("set urpf ip4 rx t0 loose", "t0 ip4 rx loose allow own"),
        ("set urpf t0 off ip4", ""),
        ("set urpf table 7 strict t0 tx ip4", "t0 ip4 tx strict allow 7"),
        ("set urpf t0 tx off", ""),
        // VPP's default.
        ("set urpf ip6 t0 deny-default", "t0 ip6 rx strict deny own"),
    ] {
        run(&mut bench, line);
        let text = run(&mut bench, "show urpf t0");
        let rows: Vec<_> = text
            .lines()
            .skip(1)
            .map(|l| l.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect();
        assert_eq!(rows.join(", "), shown, "{line}: {text}");
    }
    for line in [
        "set urpf-accept table 7 192.0.2.0/24 add",
        "set urpf-accept 198.51.100.0/24 table 7",
        "set urpf-accept add 203.0.113.0/24",
    ] {
        run(&mut bench, line);
    }
    let text = run(&mut bench, "show urpf");
    for accepted in ["table 7: 192.0.2.0/24", "table 7: 198.51.100.0/24", "table 0: 203.0.113.0/24"]
    {
        assert!(text.contains(accepted), "{text}");
    }
    run(&mut bench, "set urpf-accept 192.0.2.0/24 del table 7");
    assert!(!run(&mut bench, "show urpf").contains("192.0.2.0/24"));
}

#[suite::test]
fn who_has_no_address_yet_may_ask() {
    let mut bench = bench();
    run(&mut bench, "set urpf strict t0");
    let ask = pkt::ip4("0.0.0.0", "255.255.255.255").udp(68, 67).build();
    assert_eq!(bench.feature("ip4-unicast", T0, &[ask])[0].reason, None);
}

#[suite::test]
fn what_leaves_is_checked_behind_its_layer_2_header() {
    let mut bench = bench();
    run(&mut bench, "set urpf tx strict t0");
    let known = Neighbor::new(T0, ip("10.0.0.77").into(), MacAddr([2, 0, 0, 0, 1, 9]));
    bench.world.get::<Neighbors>().set(&bench.world, known).expect("set");
    let mut dropped = |src: &str, local: bool| {
        let before = bench.drops();
        bench.send("ip4-lookup", &packet(ip(src)), |b| {
            b.rx_if = T1.0;
            if local {
                b.flags.insert(buffer::Flags::LOCAL);
            }
        });
        bench.drops() > before
    };
    assert!(!dropped("192.0.2.9", false) && !dropped("198.51.100.9", false));
    assert!(dropped("198.51.100.200", false) && dropped("8.8.8.8", false));
    assert!(!dropped("10.0.0.1", true), "what we send");
    assert_eq!(bench.count("ip4-tx-urpf-strict", "uRPF Drop"), 2);
}

#[suite::test]
fn api_and_cli() {
    let mut bench = bench();
    fn call<R: Call>(bench: &Bench, request: R) -> Result<R::Reply, i32> {
        bench.api().call(request)
    }
    let update = |sw_if, is_input, mode, table_id| UrpfUpdateV2 {
        is_input,
        mode,
        af: AddressFamily::Ip4,
        sw_if_index: InterfaceIndex(sw_if),
        table_id,
    };
    assert!(call(&bench, update(1, true, UrpfMode::Strict, u32::MAX)).is_ok());
    assert!(call(&bench, update(1, false, UrpfMode::Loose, 7)).is_ok());
    assert_eq!(call(&bench, update(9, true, UrpfMode::Loose, 0)).err(), Some(-2));
    assert_eq!(call(&bench, update(1, true, UrpfMode::Loose, 9)).err(), Some(-3));
    let old = UrpfUpdate {
        is_input: true,
        mode: UrpfMode::Loose,
        af: AddressFamily::Ip4,
        sw_if_index: InterfaceIndex(2),
    };
    assert!(call(&bench, old).is_ok());
    let dump = |bench: &Bench, sw_if| {
        let all =
            bench.api().dump(UrpfInterfaceDump { sw_if_index: InterfaceIndex(sw_if) }).into_iter();
        all.map(|d| (d.sw_if_index.0, d.is_input, d.mode, d.table_id)).collect::<Vec<_>>()
    };
    let first = [(1, false, UrpfMode::Loose, 7), (1, true, UrpfMode::Strict, u32::MAX)];
    assert_eq!(dump(&bench, 1), first);
    assert_eq!(dump(&bench, u32::MAX).len(), 3);
    run(&mut bench, "set urpf-accept add 192.0.2.0/24");
    let lines = |bench: &Bench| -> Vec<String> {
        let all = bench.world.running_config().into_iter().map(|line| line.text);
        all.filter(|line| line.contains("urpf")).collect()
    };
    let all = [
        "set urpf ip4 tx loose t0 table 7",
        "set urpf ip4 rx strict t0",
        "set urpf ip4 rx loose t1",
        "set urpf-accept table 0 add 192.0.2.0/24",
    ];
    assert_eq!(lines(&bench), all);
    let shown = run(&mut bench, "show urpf t0");
    assert!(
        shown.contains("t0         ip4     tx         loose   allow              7\n"),
        "{shown}"
    );
    assert!(shown.contains("accepted in table 0: 192.0.2.0/24"), "{shown}");
    run(&mut bench, "set urpf off t0");
    bench.world.get::<Interfaces>().delete(&bench.world, T1).expect("deleted");
    assert_eq!(lines(&bench), [all[0], all[3]]);
}

#[suite::test]
fn what_was_said_of_a_table_goes_with_it() {
    let mut bench = bench();
    run(&mut bench, "ip table add 8");
    run(&mut bench, "set urpf strict t0 table 8");
    run(&mut bench, "set urpf-accept table 8 203.0.113.0/24");
    run(&mut bench, "ip table del 8");
    let lines = |bench: &Bench| {
        bench.world.running_config().into_iter().filter(|l| l.text.contains("urpf-accept")).count()
    };
    assert_eq!(lines(&bench), 0);
    // Another table may have the same index: it isn't asked.
    run(&mut bench, "ip table add 9");
    assert_eq!(lines(&bench), 0);
    let sources = [ip("10.0.0.2"), ip("203.0.113.9")];
    assert_eq!(passes(&mut bench, T0, &sources), [true, false], "its own table");
}
