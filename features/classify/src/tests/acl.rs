// SPDX-License-Identifier: Apache-2.0
//! ACLs of IP packets, punted packets, routes to tables.

use super::*;
use net::{Fib, Interfaces};
use wire::Ip4;

/// A table of `p0` with a session that leads packets of one source port on; others are dropped.
fn only_port(rig: &mut Rig, v6: bool, port: u16) {
    let upper = if v6 { 40 } else { 20 };
    rig.cli(&format!(
        "classify table mask hex {}ffff acl-miss-next deny current-data-flag 1 current-data-offset 0",
        "00".repeat(upper)
    ));
    rig.cli(&format!(
        "classify session table-index 0 match hex {}{port:04x} acl-hit-next permit",
        "00".repeat(upper)
    ));
}

#[suite::test]
fn input_acls_let_packets_pass_or_drop_them() {
    for v6 in [false, true] {
        let mut rig = routers(2);
        let to = address(v6, 1, 2);
        only_port(&mut rig, v6, 7);
        let (kind, node, input) = if v6 {
            ("ip6-table", "ip6-inacl", "ip6-input")
        } else {
            ("ip4-table", "ip4-inacl", "ip4-input")
        };
        rig.cli(&format!("set interface input acl intfc p0 {kind} 0"));
        let came = [7, 8, 7].map(|port| packet(v6, None, &to, (port, 9)));
        let left = packet(v6, Some(1), &to, (7, 9));
        assert_eq!(rig.pass_all(0, &came), [(1, left.clone()), (1, left)]);
        assert_eq!(
            (rig.count(node, "input ACL hits"), rig.count(node, "input ACL misses")),
            (2, 1)
        );
        assert_eq!(
            (rig.count(input, "inacl_table_miss"), rig.count(input, "inacl_session_deny")),
            (1, 0)
        );
        assert_eq!(hits(&rig, 0, 0), 2);
        // A session that denies, and packets of the other protocol, which no ACL is for.
        let upper = if v6 { 40 } else { 20 };
        rig.cli(&format!(
            "classify session table-index 0 match hex {}0008 acl-hit-next deny",
            "00".repeat(upper)
        ));
        let other = address(!v6, 1, 2);
        let sent =
            rig.pass_all(0, &[packet(v6, None, &to, (8, 9)), packet(!v6, None, &other, (8, 9))]);
        assert_eq!(sent, [(1, packet(!v6, Some(1), &other, (8, 9)))]);
        assert_eq!(rig.count(input, "inacl_session_deny"), 1);
        // Other interfaces have no ACL, and this one neither any longer.
        rig.cli(&format!("set interface input acl intfc p0 {kind} 0 del"));
        assert_eq!(
            rig.pass_all(0, &[packet(v6, None, &to, (8, 9))]),
            [(1, packet(v6, Some(1), &to, (8, 9)))]
        );
    }
}

#[suite::test]
fn output_acls_see_ip_and_ethernet_headers() {
    for v6 in [false, true] {
        let mut rig = routers(2);
        let to = address(v6, 1, 2);
        only_port(&mut rig, v6, 7);
        // Behind it, the new Ethernet header: that of the neighbour.
        rig.cli("classify table mask l2 dst current-data-flag 1 current-data-offset -14 acl-miss-next deny");
        rig.cli("classify table table 0 next-table 1");
        let (kind, node, input) = if v6 {
            ("ip6-table", "ip6-outacl", "ip6-input")
        } else {
            ("ip4-table", "ip4-outacl", "ip4-input")
        };
        rig.cli(&format!("set interface output acl intfc p1 {kind} 0"));
        let came = [7, 8].map(|port| packet(v6, None, &to, (port, 9)));
        assert_eq!(rig.pass_all(0, &came), [(1, packet(v6, Some(1), &to, (7, 9)))]);
        assert_eq!(rig.count(input, "outacl_table_miss"), 1);
        rig.cli(&format!("classify session table-index 1 match l2 dst {}", neighbor(1)));
        let left = [7, 8].map(|port| (1, packet(v6, Some(1), &to, (port, 9))));
        assert_eq!(rig.pass_all(0, &came), left);
        assert_eq!(rig.count(node, "output ACL hits"), 3);
        assert_eq!(rig.count(node, "output ACL hits after chain walk"), 1);
        rig.cli(&format!(
            "classify session table-index 1 match l2 dst {} acl-hit-next deny",
            neighbor(1)
        ));
        assert_eq!(rig.pass_all(0, &came), left[..1]);
        assert_eq!(rig.count(input, "outacl_session_deny"), 1);
    }
}

/// Without `current-data-flag`, tables begin where the driver put the packet: at its Ethernet
/// header. Skipped vectors count from there.
#[suite::test]
fn tables_begin_at_the_ethernet_header_or_at_an_offset() {
    let mut rig = routers(2);
    let to = address(false, 1, 2);
    // Source port: at 34 from the Ethernet header, 20 from the IP header.
    for (n, (words, at)) in [
        ("", 34),
        ("current-data-flag 1 current-data-offset -14", 34),
        ("current-data-flag 1", 20),
        ("current-data-flag 1 current-data-offset 4", 16),
        ("current-data-flag 1 current-data-offset -16", 36),
    ]
    .into_iter()
    .enumerate()
    {
        let front = "00".repeat(at);
        rig.cli(&format!("classify table table {n} mask hex {front}ffff acl-miss-next 0 {words}"));
        rig.cli(&format!("classify session table-index {n} match hex {front}1234"));
        rig.cli(&format!("set interface input acl intfc p0 ip4-table {n}"));
        let came = [0x1234, 0x1235].map(|port| packet(false, None, &to, (port, 9)));
        assert_eq!(
            rig.pass_all(0, &came),
            [(1, packet(false, Some(1), &to, (0x1234, 9)))],
            "{words}"
        );
        rig.cli(&format!("set interface input acl intfc p0 ip4-table {n} del"));
    }
    // Bytes behind the packet are zero, and nothing lies in front of it.
    let end = 14 + 20 + 8 + 100;
    rig.cli(&format!(
        "classify table table 9 mask hex {} acl-miss-next 0",
        "00".repeat(end - 1) + "ffffff"
    ));
    let last = *packet(false, None, &to, (1, 1)).last().expect("bytes");
    rig.cli(&format!(
        "classify session table-index 9 match hex {}{last:02x}0000",
        "00".repeat(end - 1)
    ));
    rig.cli("classify table table 8 mask hex ffffffff acl-miss-next 0 current-data-flag 1 current-data-offset -18");
    rig.cli("classify session table-index 8 match hex 00000000");
    rig.cli("classify table table 7 mask hex ffffffff acl-miss-next 0 current-data-flag 1 current-data-offset -32768");
    rig.cli("classify session table-index 7 match hex 00000000");
    for table in [9, 8, 7] {
        rig.cli(&format!("set interface input acl intfc p0 ip4-table {table}"));
        let left = [(1, packet(false, Some(1), &to, (1, 1)))];
        assert_eq!(rig.pass_all(0, &[packet(false, None, &to, (1, 1))]), left, "table {table}");
        rig.cli(&format!("set interface input acl intfc p0 ip4-table {table} del"));
    }
}

/// Policy routing: packets of a session are looked up in another table of routes, which lives as
/// long as the session.
#[suite::test]
fn a_session_chooses_the_table_of_routes() {
    for v6 in [false, true] {
        let mut rig = routers(3);
        let to = address(v6, 1, 2);
        let (ip, kind) = if v6 { ("ip6", "ip6-table") } else { ("ip4", "ip4-table") };
        rig.cli(&format!("classify table mask l3 {ip} src"));
        let matched = format!("match l3 {ip} src {}", address(v6, 0, 2));
        let tables = if v6 { "show ip6 table" } else { "show ip table" };
        rig.cli(&format!("classify session table-index 0 {matched} action set-{ip}-fib-id 200"));
        assert!(rig.cli(tables).contains("200"), "{}", rig.cli(tables));
        rig.cli(&format!("set interface input acl intfc p0 {kind} 0"));
        let came = [packet(v6, None, &to, (1, 2))];
        let ports: Vec<_> = rig.pass_all(0, &came).into_iter().map(|(port, _)| port).collect();
        assert_eq!(ports, [0], "no route there: the sender is told");
        let (prefix, hop) = (if v6 { "::/0" } else { "0.0.0.0/0" }, address(v6, 2, 2));
        rig.cli(&format!("ip route add {prefix} table 200 via {hop} p2"));
        assert_eq!(rig.pass_all(0, &came), [(2, packet(v6, Some(2), &to, (1, 2)))]);
        // A second session holds the table too; an action of the other protocol does nothing.
        let other = format!("match l3 {ip} src {}", address(v6, 1, 7));
        rig.cli(&format!("classify session table-index 0 {other} action set-{ip}-fib-id 200"));
        rig.cli(&format!("ip route del {prefix} table 200 via {hop} p2"));
        let wrong = if v6 { "set-ip4-fib-id" } else { "set-ip6-fib-id" };
        rig.cli(&format!("classify session table-index 0 {matched} action {wrong} 300"));
        assert_eq!(rig.pass_all(0, &came), [(1, packet(v6, Some(1), &to, (1, 2)))]);
        assert!(rig.cli(tables).contains("200"));
        rig.cli(&format!("classify session table-index 0 {other} del"));
        assert!(!rig.cli(tables).contains("200"), "{}", rig.cli(tables));
        rig.cli(&format!("set interface input acl intfc p0 {kind} 0 del"));
        rig.cli("classify table table 0 del");
        let tables = if v6 { "show ip table" } else { "show ip6 table" };
        assert!(!rig.cli(tables).contains("300"), "the table's sessions are gone");
    }
}

/// Its packets are dropped when an operator deletes a table of routes that a session leads to.
#[suite::test]
fn a_table_of_routes_stays_as_long_as_a_session_uses_it() {
    let mut rig = routers(2);
    let to = address(false, 1, 2);
    rig.cli("classify table mask l3 ip4 src");
    rig.cli("classify session table-index 0 match l3 ip4 src 10.0.0.2 action set-ip4-fib-id 200");
    rig.cli("set interface input acl intfc p0 ip4-table 0");
    rig.cli("ip table del 200");
    assert!(rig.world().get::<Fib<Ip4>>().find_table(200).is_ok());
    rig.cli("ip table add 201");
    rig.cli("ip route add 0.0.0.0/0 table 201 via 10.0.1.2 p1");
    // Another table has another index: this one has no route.
    let sent = rig.pass_all(0, &[packet(false, None, &to, (1, 2))]);
    let errors: Vec<_> = sent.iter().map(|(port, frame)| (*port, &frame[34..36])).collect();
    assert_eq!(errors, [(0, &[3, 0][..])], "network unreachable");
    rig.cli("classify session table-index 0 match l3 ip4 src 10.0.0.2 del");
    assert!(rig.world().get::<Fib<Ip4>>().find_table(200).is_err());
    assert_eq!(rig.pass_all(0, &[packet(false, None, &to, (1, 2))]).len(), 1);
    assert!(rig.cli("show ip table").contains("201"));
}

/// `advance` moves the start of a packet; a session may name a node.
#[suite::test]
fn sessions_move_packets_and_send_them_elsewhere() {
    let mut rig = routers(2);
    let to = address(false, 1, 2);
    rig.cli("classify table mask l3 ip4 proto");
    rig.cli("classify session table-index 0 match l3 ip4 proto udp advance 200");
    rig.cli("set interface input acl intfc p0 ip4-table 0");
    let came = [packet(false, None, &to, (1, 2))];
    assert_eq!(rig.pass_all(0, &came), [], "the packet is shorter");
    assert_eq!(rig.count("ip4-inacl", "moved"), 1);
    rig.cli("classify session table-index 0 match l3 ip4 proto udp advance -300");
    assert_eq!((rig.pass_all(0, &came), rig.count("ip4-inacl", "moved")), (vec![], 2));
    // Back to the Ethernet header, and to the node that reads it: the packet comes round once, by
    // another interface's arc.
    rig.cli("set interface input acl intfc p0 ip4-table 0 del");
    rig.cli("classify table mask l3 ip4 src");
    rig.cli(
        "classify session table-index 1 match l3 ip4 src 10.0.0.2 acl-hit-next node ip4-lookup",
    );
    rig.cli("set interface input acl intfc p0 ip4-table 1");
    assert_eq!(rig.pass_all(0, &came), [(1, packet(false, Some(1), &to, (1, 2)))]);
    assert!(
        rig.refused("classify session table-index 1 match hex 00 acl-hit-next node nowhere")
            .1
            .contains("nowhere")
    );
    // Numbers that are no node's let packets go on.
    rig.cli("classify session table-index 1 match l3 ip4 src 10.0.0.2 acl-hit-next 60000");
    assert_eq!(rig.pass_all(0, &came).len(), 1);
}

/// A packet for us that no listener takes is punted if the table lets it.
fn for_us(v6: bool, port: u16) -> Vec<u8> {
    packet(v6, None, &address(v6, 0, 1), (port, 4321))
}

#[suite::test]
fn acls_of_punted_packets_are_for_all_interfaces_or_one() {
    for v6 in [false, true] {
        let mut rig = routers(2);
        let ip = if v6 { "ip6" } else { "ip4" };
        only_port(&mut rig, v6, 7);
        rig.cli(&format!("set punt {} udp all", if v6 { "ipv6" } else { "ipv4" }));
        let hop = address(v6, 1, 2);
        rig.cli(&format!("{} punt redirect add rx p0 via {hop} p1", if v6 { "ip6" } else { "ip" }));
        let redirected = |port| {
            let mut bytes = for_us(v6, port);
            bytes[..6].copy_from_slice(&neighbor(1).octets());
            bytes[6..12].copy_from_slice(&port_mac(1).octets());
            (1, bytes)
        };
        let came = [for_us(v6, 7), for_us(v6, 8)];
        assert_eq!(rig.pass_all(0, &came), [redirected(7), redirected(8)]);
        rig.cli(&format!("set interface input acl intfc local0 {ip}-punt-table 0"));
        assert_eq!(rig.pass_all(0, &came), [redirected(7)]);
        let node = format!("{ip}-punt-acl");
        assert_eq!(
            (rig.count(&node, "input ACL hits"), rig.count(&node, "input ACL misses")),
            (1, 1)
        );
        assert_eq!(rig.count(&node, "inacl_table_miss"), 1);
        // An interface may have a table of its own.
        rig.cli("classify table mask l3 ip4 ttl current-data-flag 1");
        rig.cli(&format!("set interface input acl intfc p0 {ip}-punt-table 1"));
        assert_eq!(rig.pass_all(0, &came).len(), 2);
        rig.cli(&format!("set interface input acl intfc p0 {ip}-punt-table 1 del"));
        assert_eq!(rig.pass_all(0, &came).len(), 1, "that for all again");
        rig.cli(&format!("set interface input acl intfc local0 {ip}-punt-table 0 del"));
        assert_eq!(rig.pass_all(0, &came).len(), 2);
    }
}

/// Packets to the first address of an interface are classified first; sessions deliver, punt, drop,
/// or name an adjacency.
#[suite::test]
fn packets_to_an_interface_are_classified() {
    for v6 in [false, true] {
        let mut rig = routers(2);
        let (set, node) = if v6 { ("set ip6", "ip6-classify") } else { ("set ip", "ip4-classify") };
        // The source port behind the Ethernet header.
        let front = "00".repeat(if v6 { 54 } else { 34 });
        rig.cli(&format!("classify table mask hex {front}ffff"));
        rig.cli(&format!("{set} classify intfc p0 table-index 0"));
        let name = if v6 { "ip6" } else { "ip4" };
        let unreachable = |rig: &mut Rig, port| rig.pass_all(0, &[for_us(v6, port)]).len();
        assert_eq!(unreachable(&mut rig, 7), 0, "no session: dropped");
        assert_eq!((rig.count(node, "Classify misses"), rig.count(node, "deny")), (1, 1));
        rig.cli(&format!("classify session table-index 0 match hex {front}0007 hit-next local"));
        assert_eq!(unreachable(&mut rig, 7), 1, "delivered: {name} port unreachable");
        let neighbors =
            rig.cli(&format!("show {} fib {}", if v6 { "ip6" } else { "ip" }, address(v6, 1, 2)));
        let index = neighbors
            .split("dpo-idx")
            .nth(1)
            .and_then(|rest| rest.split_whitespace().next().map(String::from));
        if let Some(index) = index {
            rig.cli(&format!(
                "classify session table-index 0 match hex {front}0008 hit-next rewrite opaque-index {index}"
            ));
            assert_eq!(unreachable(&mut rig, 8), 1);
        }
        rig.cli(&format!(
            "classify session table-index 0 match hex {front}0009 hit-next rewrite opaque-index 4000000"
        ));
        assert_eq!((unreachable(&mut rig, 9), rig.count(node, "no_adjacency")), (0, 1));
        assert_eq!(hits(&rig, 0, 0), 1);
        rig.cli(&format!(
            "classify session table-index 0 match hex {front}000b hit-next punt advance 10000"
        ));
        assert_eq!((unreachable(&mut rig, 11), rig.count(node, "moved")), (0, 1));
        rig.cli(&format!("classify session table-index 0 match hex {front}000b hit-next punt"));
        assert_eq!((unreachable(&mut rig, 11), rig.count(node, "punt")), (0, 1));
        // Another first address, and another table of routes, take the classification with them.
        let (own, len) = (address(v6, 0, 1), if v6 { 64 } else { 24 });
        rig.cli(&format!("set interface ip address del p0 {own}/{len}"));
        assert_eq!(rig.count(node, "Classify misses"), 1);
        rig.cli(&format!("set interface ip address p0 {own}/{len}"));
        assert_eq!(unreachable(&mut rig, 10), 0);
        assert_eq!(rig.count(node, "Classify misses"), 2);
        assert!(rig.refused("classify table table 0 del").1.contains("p0"));
        rig.cli(&format!("{set} classify intfc p0 table-index none"));
        assert_eq!(unreachable(&mut rig, 10), 1);
        rig.cli("classify table table 0 del");
    }
}

/// All of it goes with the interface, and a new one with its index has nothing.
#[suite::test]
fn acls_go_with_their_interface() {
    let mut rig = routers(2);
    only_port(&mut rig, false, 7);
    rig.cli("set interface input acl intfc p0 ip4-table 0");
    rig.cli("set interface output acl intfc p0 ip4-table 0");
    rig.cli("set interface input acl intfc p0 ip4-punt-table 0");
    rig.cli("set interface l2 input classify intfc p0 ip4-table 0");
    rig.cli("set ip classify intfc p0 table-index 0");
    rig.cli("classify filter p0 mask l3 ip4 src match l3 ip4 src 10.0.0.2");
    assert!(rig.refused("classify table table 0 del").0 == -155);
    rig.delete_port(0);
    assert_eq!(rig.cli("show inacl type ip4"), "No input ACL tables configured\n");
    assert_eq!(rig.cli("show outacl type ip4"), "No output ACL tables configured\n");
    assert!(!rig.cli("show classify filter").contains("p0"));
    rig.cli("classify table table 0 del");
    assert_eq!(rig.cli("show classify tables"), "No classifier tables configured\n");
    rig.add_port(0);
    rig.cli("set interface ip address p0 10.0.0.1/24");
    let to = address(false, 1, 2);
    assert_eq!(rig.pass_all(0, &[packet(false, None, &to, (8, 9))]).len(), 1);
}

/// New interfaces take part in what is for all punted packets.
#[suite::test]
fn a_new_interface_has_the_acl_of_punted_packets() {
    let mut rig = routers(1);
    only_port(&mut rig, false, 7);
    rig.cli("set interface input acl intfc local0 ip4-punt-table 0");
    rig.add_port(1);
    let arc = rig.world().arc("ip4-punt").expect("an arc");
    let world = rig.world();
    for port in &rig.ports {
        assert_eq!(world.features_of(arc, *port), ["ip4-punt-acl"]);
    }
    assert!(world.get::<Interfaces>().list().len() > 2);
}

/// Trace output of ACLs.
#[suite::test]
fn traces_name_tables_and_sessions() {
    let mut rig = routers(2);
    let to = address(true, 1, 2);
    rig.cli("classify table mask l3 ip6 src");
    rig.cli(
        "classify session table-index 0 match l3 ip6 src 2001:db8::2 action set-sr-policy-index 5",
    );
    rig.cli("set interface input acl intfc p0 ip6-table 0");
    rig.cli("set interface output acl intfc p1 ip6-table 0");
    rig.bench.rt.trace().order(graph::NodeIndex(999), 1, graph::TraceLog::room(16), 0);
    rig.bench.arrive_as(rig.ports[0], &packet(true, None, &to, (1, 2)), |b| {
        graph::drive::Bench::trace(b, 7)
    });
    rig.bench.settle();
    let text =
        rig.bench.rt.trace().records().map(|record| record.to_string() + "\n").collect::<String>();
    let (p0, p1) = (rig.ports[0].0, rig.ports[1].0);
    let line = format!("INACL: sw_if_index {p0}, next_index ");
    assert!(text.contains(&line), "{text}");
    assert!(
        text.contains(", table_index 0, offset 0, action set-metadata, metadata 5, fib_index 0"),
        "{text}"
    );
    assert!(text.contains(&format!("OUTACL: sw_if_index {p1}, next_index ")), "{text}");
}
