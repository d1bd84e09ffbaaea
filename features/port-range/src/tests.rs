// SPDX-License-Identifier: Apache-2.0
use crate::PLUGIN;
use crate::api::*;
use crate::control::{Checks, Range};
use crate::ranges::{RANGES, Ranges};
use ::graph::drive::{Bench, Outcome};
use ::graph::{Plugin, SwIfIndex};
use msg::Call;
use net::Interfaces;
use net::api::{InterfaceIndex, Prefix};
use net::drive::networks;
use sync::Qsbr;
use tables::Forest;
use testkit::pkt;
use wire::Ip4Prefix;

static PLUGINS: &[&Plugin] = &[
    &interface::PLUGIN,
    &ethernet::PLUGIN,
    &fib::PLUGIN,
    &ip::PLUGIN,
    &ip_reassembly::PLUGIN,
    &PLUGIN,
];

const T0: SwIfIndex = SwIfIndex(1);
const RX: &str = "ip4-source-and-port-range-check-rx";
const TX: &str = "ip4-source-and-port-range-check-tx";

fn run(bench: &mut Bench, line: &str) -> String {
    bench.cli(line).unwrap_or_else(|e| panic!("{line}: {e}"))
}

/// Interfaces with 10.0.0.1/24 and 10.0.1.1/24, each with a neighbour .2, and ports of two
/// networks, one in the other.
fn bench() -> Bench {
    let mut bench = Bench::new(PLUGINS);
    networks(&mut bench, 2);
    for ports in [
        "172.16.0.0/16 range 20 - 100",
        "172.16.0.0/16 port 443",
        "172.16.1.0/24 range 65535 - 65535",
    ] {
        run(&mut bench, &format!("set ip source-and-port-range-check vrf 7 {ports}"));
    }
    bench
}

fn udp(source: &str, port: u16) -> Vec<u8> {
    pkt::ip4(source, "10.0.1.2").udp(5000, port).build()
}

fn tcp(source: &str, port: u16) -> Vec<u8> {
    pkt::ip4(source, "10.0.1.2").tcp(5000, port).build()
}

/// Which of these pass what is checked on an interface where they come in, together and one by one.
fn passes(bench: &mut Bench, packets: &[Vec<u8>]) -> Vec<bool> {
    let passed = |out: &Outcome| {
        assert!(
            matches!(out.reason, None | Some("ip4 source and port range check bad packets")),
            "{out:?}"
        );
        out.reason.is_none()
    };
    let alone: Vec<bool> = packets
        .iter()
        .map(|packet| passed(&bench.feature("ip4-unicast", T0, std::slice::from_ref(packet))[0]))
        .collect();
    let together = bench.feature("ip4-unicast", T0, packets);
    assert_eq!(
        together.iter().filter(|out| passed(out)).count(),
        alone.iter().filter(|pass| **pass).count()
    );
    alone
}

#[suite::test]
fn sources_send_to_the_ports_of_their_longest_network() {
    let mut bench = bench();
    run(&mut bench, "set interface ip source-and-port-range-check t0 udp-out-vrf 7");
    let cases = [
        ("172.16.9.9", 19, false),
        ("172.16.9.9", 20, true),
        ("172.16.9.9", 100, true),
        ("172.16.9.9", 101, false),
        ("172.16.9.9", 443, true),
        ("172.16.9.9", 65535, false),
        ("172.16.9.9", 0, false),
        ("172.16.1.9", 65535, true),
        ("172.16.1.9", 443, false),
        ("172.16.1.9", 0, false),
        ("172.17.0.1", 20, false),
        ("0.0.0.0", 20, false),
    ];
    let packets: Vec<_> = cases.iter().map(|(source, port, _)| udp(source, *port)).collect();
    assert_eq!(passes(&mut bench, &packets), cases.map(|(.., pass)| pass));
    assert!(bench.count(RX, "ip4 source and port range check bad packets") > 0);
    // The protocol that has no table here, others, and groups.
    let ping = pkt::ip4("172.17.0.1", "10.0.1.2").icmp_echo(1, 1).build();
    let free = [tcp("172.17.0.1", 1), ping, udp("224.0.0.5", 1), udp("255.255.255.255", 1)];
    assert_eq!(passes(&mut bench, &free), [true; 4]);
    run(&mut bench, "set interface ip source-and-port-range-check t0 tcp-out-vrf 7");
    assert_eq!(passes(&mut bench, &[tcp("172.17.0.1", 1), tcp("172.16.0.1", 443)]), [false, true]);
    // A segment that ends before its ports.
    let mut short = tcp("172.16.0.1", 443);
    short.truncate(22);
    short[2..4].copy_from_slice(&22u16.to_be_bytes());
    assert_eq!(passes(&mut bench, &[short]), [false]);
    run(&mut bench, "set ip source-and-port-range-check vrf 7 172.16.0.0/16 port 443 del");
    assert_eq!(passes(&mut bench, &[udp("172.16.0.1", 443), udp("172.16.0.1", 20)]), [false, true]);
    run(&mut bench, "set ip source-and-port-range-check vrf 7 172.16.1.0/24 port 65535 del");
    assert_eq!(
        passes(&mut bench, &[udp("172.16.1.9", 20)]),
        [true],
        "the network around it speaks again"
    );
}

#[suite::test]
fn later_fragments_need_shallow_reassembly() {
    let mut bench = bench();
    run(&mut bench, "set interface ip source-and-port-range-check t0 udp-out-vrf 7");
    let whole = pkt::ip4("172.16.0.1", "10.0.1.2").udp(5000, 443).payload([7; 64]).build();
    let (mut first, mut later) = (whole[..20 + 32].to_vec(), [&whole[..20], &whole[52..]].concat());
    for (fragment, field) in [(&mut first, 0x2000u16), (&mut later, 4)] {
        let len = fragment.len() as u16;
        fragment[2..4].copy_from_slice(&len.to_be_bytes());
        fragment[6..8].copy_from_slice(&field.to_be_bytes());
        fragment[10..12].fill(0);
        let sum = wire::checksum::Sum::of(&fragment[..20]).finish();
        fragment[10..12].copy_from_slice(&sum.to_be_bytes());
    }
    assert_eq!(passes(&mut bench, &[first.clone(), later.clone()]), [true, false]);
    run(&mut bench, "set interface virtual-reassembly t0 on");
    assert_eq!(passes(&mut bench, &[first, later]), [true, true]);
}

#[suite::test]
fn what_leaves_is_checked_behind_its_layer_2_header() {
    let mut bench = bench();
    run(&mut bench, "set interface ip source-and-port-range-check t1 udp-in-vrf 7 tcp-in-vrf 7");
    let mut dropped = |packet: Vec<u8>, local: bool| {
        let before = bench.drops();
        bench.send("ip4-lookup", &packet, |b| {
            b.rx_if = T0.0;
            if local {
                b.flags.insert(buffer::Flags::LOCAL);
            }
        });
        bench.drops() > before
    };
    assert!(!dropped(udp("172.16.0.1", 443), false) && !dropped(tcp("172.16.0.1", 443), false));
    assert!(dropped(udp("172.16.0.1", 444), false) && dropped(tcp("10.0.0.2", 443), false));
    assert!(!dropped(udp("10.0.1.1", 444), true), "what we send");
    assert_eq!(bench.count(TX, "ip4 source and port range check bad packets"), 2);
}

#[suite::test]
fn api_and_cli() {
    let mut bench = bench();
    fn call<R: Call>(bench: &Bench, request: R) -> Result<R::Reply, i32> {
        bench.api().call(request)
    }
    let allow = |text: &str, ranges: &[(u16, u16)], vrf_id, is_add| {
        let prefix: Ip4Prefix = text.parse().unwrap();
        let column =
            |f: fn(&(u16, u16)) -> u16| std::array::from_fn(|i| ranges.get(i).map_or(0, f));
        IpSourceAndPortRangeCheckAddDel {
            is_add,
            prefix: Prefix::from(prefix),
            number_of_ranges: ranges.len() as u8,
            low_ports: column(|range| range.0),
            high_ports: column(|range| range.1),
            vrf_id,
        }
    };
    let two = [(1, 9), (50, 50)];
    assert!(call(&bench, allow("192.0.2.0/24", &two, 8, true)).is_ok());
    assert_eq!(call(&bench, allow("192.0.2.0/24", &two, 0, true)).err(), Some(-7));
    assert_eq!(call(&bench, allow("192.0.2.0/24", &[(0, 9)], 8, true)).err(), Some(-7));
    assert_eq!(call(&bench, allow("192.0.2.0/24", &[(9, 8)], 8, true)).err(), Some(-7));
    let mut many = allow("192.0.2.0/24", &two, 8, true);
    many.number_of_ranges = 33;
    assert_eq!(call(&bench, many).err(), Some(-95));
    assert!(call(&bench, allow("192.0.3.0/24", &two, 8, false)).is_ok(), "as VPP");
    assert!(call(&bench, allow("192.0.2.0/24", &two[..1], 8, false)).is_ok());
    let check = |sw_if, vrfs: [u32; 4], is_add| IpSourceAndPortRangeCheckInterfaceAddDel {
        is_add,
        sw_if_index: InterfaceIndex(sw_if),
        tcp_in_vrf_id: vrfs[0],
        tcp_out_vrf_id: vrfs[1],
        udp_in_vrf_id: vrfs[2],
        udp_out_vrf_id: vrfs[3],
    };
    const NO: u32 = u32::MAX;
    assert!(call(&bench, check(1, [7, 8, NO, 7], true)).is_ok());
    assert_eq!(call(&bench, check(9, [7, 8, NO, 7], true)).err(), Some(-2));
    assert_eq!(call(&bench, check(1, [0, NO, NO, NO], true)).err(), Some(-7));
    assert!(call(&bench, check(1, [NO, NO, NO, 7], false)).is_ok());
    let lines = |bench: &Bench| -> Vec<String> {
        let all = bench.world.running_config().into_iter().map(|line| line.text);
        all.filter(|line| line.contains("range-check")).collect()
    };
    let said = [
        "set ip source-and-port-range-check vrf 7 172.16.0.0/16 range 20 - 100",
        "set ip source-and-port-range-check vrf 7 172.16.0.0/16 port 443",
        "set ip source-and-port-range-check vrf 7 172.16.1.0/24 port 65535",
        "set ip source-and-port-range-check vrf 8 192.0.2.0/24 port 50",
        "set interface ip source-and-port-range-check t0 tcp-out-vrf 8 tcp-in-vrf 7",
    ];
    assert_eq!(lines(&bench), said);
    let shown = |bench: &mut Bench, what: &str| {
        run(bench, &format!("show ip source-and-port-range-check {what}"))
    };
    assert_eq!(shown(&mut bench, "vrf 7 172.16.1.1"), "172.16.1.1: 65535 (172.16.1.0/24)\n");
    assert_eq!(
        shown(&mut bench, "vrf 7 172.16.2.1"),
        "172.16.2.1: 20 - 100, 443 (172.16.0.0/16)\n"
    );
    assert_eq!(shown(&mut bench, "vrf 7 172.16.2.1 port 99"), "172.16.2.1 port 99 PASS\n");
    assert_eq!(shown(&mut bench, "vrf 8 172.16.2.1 port 99"), "172.16.2.1 port 99 FAIL\n");
    assert_eq!(shown(&mut bench, "vrf 8 172.16.2.1"), "172.16.2.1: src address drop\n");
    let all = shown(&mut bench, "");
    assert!(all.contains("7  172.16.0.0/16  20 - 100, 443\n"), "{all}");
    for wrong in [
        "set ip source-and-port-range-check vrf 0 10.0.0.0/8 port 1",
        "set ip source-and-port-range-check vrf 7 10.0.0.0/8 port 0",
        "set ip source-and-port-range-check vrf 7 10.0.0.0/8 range 9 - 8",
        "set ip source-and-port-range-check vrf 7 10.0.0.0/8 port 1 del",
        "set ip source-and-port-range-check vrf 9 10.0.0.0/8 port 1 del",
        "set ip source-and-port-range-check vrf 7 2001:db8::/32 port 1",
        "set interface ip source-and-port-range-check t0 tcp-in-vrf 0",
        "set interface ip source-and-port-range-check t0",
    ] {
        assert!(bench.cli(wrong).is_err(), "{wrong}");
    }
    let noted = run(
        &mut bench,
        "set interface ip source-and-port-range-check t1 tcp-in-vrf 7 udp-out-vrf 99",
    );
    assert_eq!(noted, "table 99 has no networks yet: nothing passes\n");
    run(
        &mut bench,
        "set interface ip source-and-port-range-check t1 tcp-in-vrf 7 udp-out-vrf 99 del",
    );
    bench.world.get::<Interfaces>().delete(&bench.world, T0).expect("deleted");
    assert_eq!(lines(&bench), said[..4]);
    assert!(bench.world.get::<Checks>().interfaces().is_empty());
}

#[suite::test]
fn numbers_of_networks_that_are_gone_wait_for_packets() {
    let domain = Qsbr::new();
    let mut reader = domain.register();
    let table = Ranges::new(&Forest::new(domain.clone()).unwrap()).unwrap();
    let network = |i: u8| Ip4Prefix::new([10, i, 0, 0].into(), 16).unwrap();
    let range = |port| [Range::new(port, port).unwrap()];
    table.add(network(1), &range(1)).unwrap();
    let turn = reader.turn();
    assert!(table.allow(0x0a01_0000, 1, &turn) && !table.allow(0x0a02_0000, 1, &turn));
    table.remove(network(1), &range(1)).unwrap();
    table.add(network(2), &range(2)).unwrap();
    assert!(!table.allow(0x0a01_0000, 2, &turn) && table.allow(0x0a02_0000, 2, &turn));
    drop(turn);
    // Many come and go: what is kept follows those that are there.
    for i in 0..200 {
        table.add(network(100), &range(3 + i)).unwrap();
        drop(reader.turn());
        table.remove(network(100), &range(3 + i)).unwrap();
        drop(reader.turn());
    }
    let many: Vec<Range> = (0..=RANGES as u16).map(|i| range(i * 2 + 10)[0]).collect();
    assert!(table.add(network(2), &many).is_err());
    assert_eq!(table.list(), [(network(2), range(2).to_vec())]);
}
