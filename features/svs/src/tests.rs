// SPDX-License-Identifier: Apache-2.0
use crate::PLUGIN;
use crate::api::*;
use crate::control::Svs;
use graph::Plugin;
use net::Interfaces;
use net::api::{AddressFamily, InterfaceIndex, Prefix};
use net::drive::{Rig, peer_mac, port_mac};
use proptest::prelude::*;
use std::net::Ipv4Addr;
use testkit::mutate::Mutator;
use testkit::pkt;
use wire::{Ip4, Ip4Prefix};

static PLUGINS: &[&Plugin] = &[
    &interface::PLUGIN,
    &ethernet::PLUGIN,
    &fib::PLUGIN,
    &ip::PLUGIN,
    &super_path::PLUGIN,
    &PLUGIN,
];

/// Three ports with networks; tables 1 and 2 lead everything to the neighbours of ports 1 and 2.
fn rig() -> Rig {
    let mut rig = Rig::new(PLUGINS, 4);
    rig.networks();
    for i in 1..=2 {
        rig.cli(&format!("ip table add {i}"));
        rig.cli(&format!("ip6 table add {i}"));
        rig.cli(&format!("ip route add table {i} 0.0.0.0/0 via 10.0.{i}.2 p{i}"));
        rig.cli(&format!("ip route add table {i} ::/0 via 2001:db8:{i}::2 p{i}"));
    }
    rig.cli("ip route add 192.0.2.0/24 via 10.0.3.2 p3");
    rig.cli("ip route add 2001:db8:ff::/48 via 2001:db8:3::2 p3");
    rig
}

fn packet(v6: bool, src: &str, sent: Option<usize>) -> Vec<u8> {
    let (ether, ttl) = match sent {
        None => (pkt::ether(peer_mac(0), port_mac(0)), 64),
        Some(i) => (pkt::ether(port_mac(i), peer_mac(i)), 63),
    };
    let ip = if v6 { ether.ip6(src, "2001:db8:ff::1") } else { ether.ip4(src, "192.0.2.1") };
    ip.ttl(ttl).udp(1, 2).payload_len(30).build()
}

#[suite::test]
fn the_source_selects_the_table() {
    for v6 in [false, true] {
        let mut rig = rig();
        let ip = if v6 { "ip6" } else { "ip4" };
        let [wide, narrow] = match v6 {
            false => ["172.16.0.0/16", "172.16.9.0/24"],
            true => ["2001:db8:a::/48", "2001:db8:a:9::/64"],
        };
        rig.cli(&format!("svs table add {ip} table-id 70"));
        rig.cli(&format!("svs route add {wide} table-id 70 src-table-id 1"));
        rig.cli(&format!("svs route add {narrow} table-id 70 src-table-id 2"));
        let sources = match v6 {
            false => ["172.16.1.1", "172.16.9.1", "172.17.0.1"],
            true => ["2001:db8:a::1", "2001:db8:a:9::1", "2001:db8:b::1"],
        };
        let check = |rig: &mut Rig, ports: [usize; 3]| {
            for state in ["on", "off"] {
                rig.cli(&format!("set super-path {state}"));
                for (source, port) in sources.iter().zip(ports) {
                    let want = [(port, packet(v6, source, Some(port)))];
                    assert_eq!(rig.pass(0, &packet(v6, source, None)), want, "{source} {state}");
                }
            }
        };
        check(&mut rig, [3; 3]);
        rig.cli(&format!("svs enable {ip} table-id 70 p0"));
        check(&mut rig, [1, 2, 3]);
        rig.cli(&format!("svs route delete {narrow} table-id 70"));
        check(&mut rig, [1, 1, 3]);
        rig.cli(&format!("svs route add {wide} table-id 70 src-table-id 2"));
        check(&mut rig, [2, 2, 3]);
        // An operator's routes in the table select nothing.
        rig.cli(&format!("ip route add table 70 {narrow} via p1"));
        check(&mut rig, [2, 3, 3]);
        rig.cli(&format!("svs enable disable {ip} table-id 70 p0"));
        check(&mut rig, [3; 3]);
    }
}

/// Tables stay as long as they are used, and go with their last user.
#[suite::test]
fn tables_outlive_their_owners() {
    let mut rig = rig();
    rig.cli("svs table add table-id 70");
    rig.cli("svs route add 172.16.0.0/16 table-id 70 src-table-id 1");
    rig.cli("svs enable table-id 70 p0");
    let source = "172.16.1.1";
    let want = [(1, packet(false, source, Some(1)))];
    assert_eq!(rig.pass(0, &packet(false, source, None)), want);
    rig.refused("svs table delete table-id 70");
    // Deleted by an operator, the table loses its routes and is left until nothing uses it.
    rig.cli("ip table del 70");
    let own = [(3, packet(false, source, Some(3)))];
    assert_eq!(rig.pass(0, &packet(false, source, None)), own);
    let world = rig.world();
    world.get::<Interfaces>().delete(&world, rig.ports[0]).expect("deleted");
    rig.bench.settle();
    assert_eq!(world.get::<Svs<Ip4>>().interfaces(), []);
    assert_eq!(world.get::<Svs<Ip4>>().tables(), Vec::<u32>::new());
    assert!(!rig.cli("show ip table").contains("70"));
}

fn addresses() -> impl Strategy<Value = u32> {
    (0u32..16, 0u32..4).prop_map(|(high, low)| 0xac10_0000 | high << 8 | low)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Against a list of prefixes.
    #[suite::test]
    fn the_longest_prefix_decides(
        routes in proptest::collection::vec((addresses(), 12u8..=32, 1u32..=2), 0..12),
        sources in proptest::collection::vec(addresses(), 1..20),
    ) {
        let mut rig = rig();
        rig.cli("svs table add table-id 70");
        rig.cli("svs enable table-id 70 p0");
        let mut known: Vec<(Ip4Prefix, u32)> = Vec::new();
        for (addr, len, to) in routes {
            let prefix = Ip4Prefix::new(Ipv4Addr::from(addr), len).expect("a length").network();
            known.retain(|(there, _)| *there != prefix);
            known.push((prefix, to));
            rig.cli(&format!("svs route add {prefix} table-id 70 src-table-id {to}"));
        }
        for source in sources.into_iter().map(Ipv4Addr::from) {
            let best = known.iter().filter(|(prefix, _)| prefix.contains(source));
            let port = best.max_by_key(|(prefix, _)| prefix.len()).map_or(3, |(_, to)| *to as usize);
            let source = source.to_string();
            let sent = rig.pass(0, &packet(false, &source, None));
            prop_assert_eq!(sent, vec![(port, packet(false, &source, Some(port)))]);
        }
    }
}

#[suite::test]
fn mutated_packets_pass() {
    let mut rig = rig();
    for ip in ["ip4", "ip6"] {
        rig.cli(&format!("svs table add {ip} table-id 70"));
        rig.cli(&format!("svs enable {ip} table-id 70 p0"));
    }
    let mut mutator = Mutator::new(23);
    for n in 0..3000 {
        let v6 = n % 2 == 1;
        let mut packet =
            packet(v6, if v6 { "2001:db8::2" } else { "10.0.0.2" }, None)[14..].to_vec();
        let _ = mutator.mutate(&mut packet);
        let arc = if v6 { "ip6-unicast" } else { "ip4-unicast" };
        let out = rig.bench.feature(arc, rig.ports[0], std::slice::from_ref(&packet));
        assert_eq!((out.len(), out[0].reason, &out[0].bytes), (1, None, &packet));
    }
}

#[suite::test]
fn commands_show_and_refuse() {
    let mut rig = rig();
    rig.cli("svs table add table-id 70");
    rig.cli("svs table add ip6 table-id 71");
    rig.cli("svs route add 172.16.0.0/16 table-id 70 src-table-id 1");
    rig.cli("svs enable table-id 70 p0");
    let shown = "protocol  table  sources        lookup in\n\
                 ip4          70  172.16.0.0/16          1\n\
                 ip6          71  -                      -\n\
                 \n\
                 protocol  table  interface\n\
                 ip4          70  p0\n";
    assert_eq!(rig.cli("show svs"), shown);
    assert!(rig.cli("show svs -j").contains("172.16.0.0/16"));
    for (line, want, code) in [
        ("svs table add table-id 0", "table 0", -7),
        ("svs table delete table-id 71", "71", -3),
        ("svs table delete table-id 70", "p0", -147),
        ("svs route add 172.16.0.0/16 table-id 9 src-table-id 1", "9", -3),
        ("svs route add 172.16.0.0/16 table-id 70 src-table-id 9", "9", -3),
        ("svs route delete 172.17.0.0/16 table-id 70", "172.17", -6),
        ("svs enable table-id 9 p1", "9", -3),
        ("svs enable table-id 70 p9", "p9", -2),
        ("svs enable disable table-id 70 p1", "p1", -6),
    ] {
        let (retval, error) = rig.refused(line);
        assert!(error.contains(want) && retval == code, "{line}: {retval} {error}");
    }
    assert!(rig.refused("svs route add 172.16.0.0/16 table-id 70").1.contains("src-table-id"));
    assert_eq!(rig.cli("show svs"), shown, "what is refused changes nothing");
}

#[suite::test]
fn messages_set_and_dump() {
    let rig = rig();
    let mut client = rig.bench.api();
    let version = client.call(SvsPluginGetVersion {}).expect("answered");
    assert_eq!((version.major, version.minor), (1, 0));
    let [a, b] = [0, 1].map(|i: usize| InterfaceIndex::from(rig.ports[i]));
    let table = |is_add, af, table_id| SvsTableAddDel { is_add, af, table_id };
    let route = |is_add, prefix: &str, table_id, source_table_id| SvsRouteAddDel {
        is_add,
        prefix: Prefix::from(prefix.parse::<Ip4Prefix>().expect("a prefix")),
        table_id,
        source_table_id,
    };
    let enable = |is_enable, af, table_id, sw_if_index| SvsEnableDisable {
        is_enable,
        af,
        table_id,
        sw_if_index,
    };
    let (ip4, ip6) = (AddressFamily::Ip4, AddressFamily::Ip6);
    assert_eq!(client.call(enable(true, ip4, 70, a)), Err(-3));
    assert_eq!(client.call(table(true, ip4, 70)), Ok(()));
    assert_eq!(client.call(table(true, ip6, 70)), Ok(()));
    assert_eq!(client.call(route(true, "10.0.0.0/8", 71, 1)), Err(-3));
    assert_eq!(client.call(route(true, "10.0.0.0/8", 70, 9)), Err(-3));
    assert_eq!(client.call(route(true, "10.0.0.0/8", 70, 1)), Ok(()));
    assert_eq!(client.call(enable(true, ip4, 70, InterfaceIndex(99))), Err(-2));
    assert_eq!(client.call(enable(true, ip4, 70, a)), Ok(()));
    assert_eq!(client.call(enable(true, ip6, 70, b)), Ok(()));
    let details = |table_id, sw_if_index, af| SvsDetails { table_id, sw_if_index, af };
    assert_eq!(client.dump(SvsDump {}), [details(70, a, ip4), details(70, b, ip6)]);
    assert_eq!(client.call(table(false, ip4, 70)), Err(-147));
    assert_eq!(client.call(route(false, "10.0.0.0/8", 70, 1)), Ok(()));
    assert_eq!(client.call(enable(false, ip4, 70, a)), Ok(()));
    assert_eq!(client.call(table(false, ip4, 70)), Ok(()));
    assert_eq!(client.call(table(false, ip4, 70)), Err(-3));
}
