// SPDX-License-Identifier: Apache-2.0
//! The commands.

use super::*;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;

fn refused(bench: &mut Bench, line: &str) -> String {
    bench.cli(line).expect_err(line).to_string()
}

/// The prefixes that a command shows.
fn shown(bench: &mut Bench, line: &str) -> Vec<String> {
    let text = bench.cli(&format!("{line} -j")).expect(line);
    let tables: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let routes = tables.as_array().into_iter().flatten().flat_map(|t| t["routes"].as_array());
    routes.flatten().filter_map(|route| route["prefix"].as_str()).map(String::from).collect()
}

#[suite::test]
fn routes_inside_a_prefix_and_by_next_hop() {
    let mut bench = router();
    for line in [
        "ip route add 40.0.0.0/8 via 10.0.2.3",
        "ip route add 40.1.0.0/16 via 10.0.2.2",
        "ip route add 40.1.2.0/24 via 10.0.2.3 via 10.0.2.2",
        "ip route add 41.0.0.0/8 via 10.0.2.2",
        "ip route add 42.0.0.0/8 drop",
    ] {
        bench.cli(line).expect(line);
    }
    let inside = "show ip fib 40.0.0.0/8 longer-prefixes";
    assert_eq!(shown(&mut bench, inside), ["40.0.0.0/8", "40.1.0.0/16", "40.1.2.0/24"]);
    let via = format!("{inside} via 10.0.2.3");
    assert_eq!(shown(&mut bench, &via), ["40.0.0.0/8", "40.1.2.0/24"]);
    let via = "show ip fib via 10.0.2.2";
    let all = shown(&mut bench, via);
    assert_eq!(all, ["10.0.2.2/32", "20.0.0.0/8", "40.1.0.0/16", "40.1.2.0/24", "41.0.0.0/8"]);
    // A prefix needs no route of its own.
    assert_eq!(shown(&mut bench, "show ip fib 40.0.0.0/9 longer-prefixes").len(), 2);
    assert!(shown(&mut bench, "show ip fib 43.0.0.0/8 longer-prefixes").is_empty());
    let counts = bench.cli("show ip fib 40.0.0.0/8 longer-prefixes summary").expect("shown");
    assert!(counts.ends_with("                24               1\n"), "{counts}");
    assert!(refused(&mut bench, "show ip fib via 10.0.2.2 summary").contains("next hops"));
}

/// An operator's first question to a route that leads nowhere.
#[suite::test]
fn a_path_says_that_its_link_is_down() {
    let mut bench = router();
    bench.cli("ip route add 40.0.0.0/8 via 10.0.2.2 t2").expect("added");
    let interfaces = bench.world.get::<Interfaces>();
    interfaces.set_link(&bench.world, SwIfIndex(2), false).expect("set");
    let shown = bench.cli("show ip fib 40.0.0.0/8").expect("shown");
    assert!(shown.contains("unresolved (t2: link down)"), "{shown}");
    interfaces.set_admin(&bench.world, SwIfIndex(2), false).expect("set");
    let shown = bench.cli("show ip fib 40.0.0.0/8").expect("shown");
    assert!(shown.contains("unresolved (t2: down)"), "{shown}");
}

#[suite::test]
fn routes_come_and_go() {
    let mut bench = router();
    let lines = [
        "ip table add 7",
        "ip route add 30.0.0.0/24 via 10.0.2.2 t2",
        "ip route add 30.0.0.0/24 via 10.0.2.3 t2 weight 3",
        "ip route add count 300 40.0.0.0/24 via 10.0.2.2",
        "ip route add table 7 50.0.0.0/8 via 10.0.2.2 next-hop-table 0 weight 2 preference 1 via drop preference 2",
        "ip route add 50.0.0.0/8 table 7 via t1",
        "ip route add 60.0.0.0/8 via ip4-lookup-in-table 7",
        "ip route add 61.0.0.0/8 drop",
        "ip route add 62.0.0.0/8 via prohibit",
    ];
    lines.iter().for_each(|line| drop(bench.cli(line).unwrap_or_else(|e| panic!("{line}: {e}"))));
    let fib = bench.cli("show ip fib 30.0.0.0/24").expect("shown");
    testkit::golden!("show-ip-fib-prefix", fib);
    let summary = bench.cli("show ip fib summary").expect("shown");
    assert!(
        summary.starts_with("ipv4-VRF:0, fib_index:0")
            && summary.contains("ipv4-VRF:7, fib_index:1")
    );
    assert!(summary.contains("24             303"), "{summary}");
    assert!(bench.cli("show ip fib 40.1.43.9").expect("shown").contains("40.1.43.0/24"));
    assert!(bench.cli("show ip fib table 7 50.0.0.1").expect("shown").contains("attached: t1"));
    assert!(bench.cli("show ip fib table 7 -j").expect("shown").contains("\"50.0.0.0/8\""));
    assert!(bench.cli("show ip fib").expect("shown").contains("[0] [@0]: dpo-drop ip4"));
    let six = bench.cli("show ip6 fib").expect("shown");
    assert!(six.contains("dpo-drop ip6") && !six.contains("ip4"), "{six}");
    assert!(bench.cli("show ip table").expect("shown").contains("ipv4-VRF:7"));
    assert!(
        bench
            .cli("show adj t2")
            .expect("shown")
            .contains("ipv4 via 10.0.2.2 t2: mtu:1500 next:t2-output")
    );
    assert!(
        bench.cli("show adjacency summary").expect("shown").starts_with("Number of adjacencies:")
    );
    let back = [
        "ip route del 30.0.0.0/24 via 10.0.2.2 t2",
        "ip route del 30.0.0.0/24",
        "ip route del 40.0.0.0/24 count 300",
        "ip route del 60.0.0.0/8 via ip4-lookup-in-table 7",
        "ip table del 7",
    ];
    back.iter().for_each(|line| drop(bench.cli(line).unwrap_or_else(|e| panic!("{line}: {e}"))));
    assert!(refused(&mut bench, "ip route del 30.0.0.0/24").contains("no route 30.0.0.0/24"));
    assert!(refused(&mut bench, "ip route add 30.0.0.0/24").contains("via"));
    assert!(refused(&mut bench, "ip route add 30.0.0.0/24 via 1.1.1.1 t3").contains("t3"));
    assert!(
        refused(&mut bench, "ip route add 30.0.0.0/24 table 7 via 1.1.1.1").contains("no table 7")
    );
    assert!(
        refused(&mut bench, "ip route add count 2 255.255.255.0/24 via 1.1.1.1")
            .contains("not so many")
    );
    let wrong = refused(&mut bench, "ip route add 20.0.0.0/8 via ip6-lookup-in-table 0");
    assert!(wrong.contains("other protocol"), "{wrong}");
    assert!(refused(&mut bench, "show ip fib 99.0.0.0/8").contains("no route 99.0.0.0/8"));
    assert!(refused(&mut bench, "show adj 4711").contains("4711"));
}

#[suite::test]
fn routes_of_ip6_and_next_hops_of_the_other_protocol() {
    let mut bench = router();
    let lines = [
        "ip route add 2001:db8:77::/48 via fe80::1 t2",
        "ip route add count 3 2001:db8:100::/40 via 2001:db8:77::9 weight 2",
        "ip route add 30.0.0.0/24 via fe80::1 t2",
        "ip route add 31.0.0.0/24 via 2001:db8:77::9",
        "ip route 2001:db8:78::/48 via 10.0.2.2",
        "ip table add 7",
        "ip route 32.0.0.0/8 via 0.0.0.0 next-hop-table 7",
        "ip route 33.0.0.0/8 via ip4-source-lookup-in-table 7",
        "ip route 2001:db8:79::/48 via 10.0.2.2 next-hop-table 7",
    ];
    lines.iter().for_each(|line| drop(bench.cli(line).unwrap_or_else(|e| panic!("{line}: {e}"))));
    let fib6 = bench.world.get::<Fib<Ip6>>();
    let at = |addr: &str| {
        fib6.covering(TableIndex::DEFAULT, ip6(addr)).expect("a route").prefix.to_string()
    };
    assert_eq!(at("2001:db8:77::1"), "2001:db8:77::/48");
    assert_eq!(at("2001:db8:3ff::1"), "2001:db8:300::/40");
    assert_eq!(at("2001:db8:4ff::1"), "::/0");
    let fib = bench.cli("show ip fib 30.0.0.0/24").expect("shown");
    assert!(fib.contains("attached-nexthop: fe80::1 t2"), "{fib}");
    let others = [
        ("show ip fib 31.0.0.0/24", "recursive: via 2001:db8:77::9 in table 0"),
        ("show ip6 fib 2001:db8:78::/48", "recursive: via 10.0.2.2 in table 0"),
        ("show ip fib 32.0.0.0/8", "lookup in table 7"),
        ("show ip fib 33.0.0.0/8", "source lookup in table 7"),
        ("show ip6 fib 2001:db8:79::/48", "recursive: via 10.0.2.2 in table 7 unresolved"),
    ];
    for (line, path) in others {
        let shown = bench.cli(line).expect(line);
        assert!(shown.contains(path), "{line}: {shown}");
    }
    let mut config = graph::RunningConfig::default();
    for plugin in PLUGINS {
        (plugin.config)(&bench.world, &mut config);
    }
    let said: Vec<_> =
        config.lines(&bench.world).all(&bench.world).into_iter().map(|line| line.text).collect();
    for line in [
        "ip route add 31.0.0.0/24 via 2001:db8:77::9 next-hop-table 0",
        "ip route add 32.0.0.0/8 via ip4-lookup-in-table 7",
        "ip route add 33.0.0.0/8 via ip4-source-lookup-in-table 7",
        "ip route add 2001:db8:79::/48 via 10.0.2.2 next-hop-table 7",
    ] {
        assert!(said.iter().any(|said| said == line), "{line}: {said:#?}");
    }
    bench.cli("ip route del count 3 2001:db8:100::/40").expect("removed");
    assert_eq!(at("2001:db8:3ff::1"), "::/0");
}

#[suite::test]
fn a_file_of_routes_is_read_as_a_whole() {
    let mut bench = router();
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("routes");
    let add = format!("ip route add file {}", file.display());
    assert!(refused(&mut bench, &add).contains("No such file"));
    for device in ["/dev/zero", "/dev/full"] {
        let wrong = refused(&mut bench, &format!("ip route add file {device}"));
        assert!(wrong.contains("is not a regular file"), "{wrong}");
    }
    std::fs::write(&file, [&b"# fine\n"[..], &[b'1'; 1 << 17]].concat()).expect("written");
    assert!(refused(&mut bench, &add).contains(":2: the line is longer than 65536 bytes"));
    let mut text = String::from("# routes\n\n40.0.0.0/24 via 10.0.2.2 t2\n");
    (0..9000u32).rev().for_each(|i| {
        text += &format!("{}/24 via 10.0.2.2 t2\n", Ipv4Addr::from(0x3200_0000 + (i << 8)))
    });
    text += "ip route add 60.0.0.0/24 via 10.0.2.3 t2 weight 2 via 10.0.2.2 t2\n";
    text += "70.0.0.0/16 count 10 via drop # the last\n2001:db8:77::/48 via fe80::1 t2";
    let fib = bench.world.get::<Fib<Ip4>>();
    let routes = || fib.list_tables()[0].routes;
    let before = routes();
    std::fs::write(
        &file,
        format!(
            "{text}\n10.0.0.0/33 via drop\n1.0.0.0/8 via 1.1.1.1 t9\n2.0.0.0/8 via 224.0.0.1 t2"
        ),
    )
    .expect("written");
    let wrong = refused(&mut bench, &add);
    let places: Vec<&str> =
        wrong.lines().filter_map(|line| line.strip_prefix(file.to_str()?)).collect();
    assert_eq!(places.len(), 3, "{wrong}");
    assert!(places[0].starts_with(":9007:1:") && places[1].starts_with(":9008:23:"), "{wrong}");
    assert_eq!(routes(), before, "nothing was added");
    // The daemon can read files that a user of its CLI can't: their text isn't quoted.
    let secret = "root:$6$salt$hash:19000:0:99999:7:::";
    std::fs::write(&file, secret).expect("written");
    std::fs::set_permissions(&file, Permissions::from_mode(0o640)).expect("set");
    let wrong = refused(&mut bench, &add);
    assert!(wrong.contains(":1:1: no route") && !wrong.contains("root"), "{wrong}");
    std::fs::set_permissions(&file, Permissions::from_mode(0o644)).expect("set");
    std::fs::write(&file, text).expect("written");
    assert_eq!(bench.cli(&add).expect("added"), "9013 routes added\n");
    assert_eq!(routes(), before + 9012);
    let show = bench.cli("show ip fib 60.0.0.0/24").expect("shown");
    assert!(show.contains("weight=2 pref=0 attached-nexthop: 10.0.2.3 t2"), "{show}");
    assert!(bench.cli("show ip fib 70.9.0.1").expect("shown").contains("70.9.0.0/16"));
    bench.cli("ip route del count 9000 50.0.0.0/24").expect("removed in slices");
    assert_eq!(routes(), before + 12);
}

#[suite::test]
fn addresses_come_and_go() {
    let mut bench = router();
    bench.cli("set interface ip address t1 11.0.0.1/24").expect("set");
    bench.cli("set interface ip address del t1 11.0.0.1/24").expect("removed");
    bench.cli("set interface ip address t1 11.0.0.1/24").expect("set");
    bench.cli("set interface ip address t1 11.0.0.1/24 del").expect("removed");
    bench
        .cli("set interface ip address t1 11.0.0.0/24")
        .expect("set: it is for the operator to know");
    bench.cli("set interface ip address del t1 11.0.0.0/24").expect("removed");
    assert!(refused(&mut bench, "set interface ip address t1 10.0.2.9/24").contains("overlaps"));
    assert!(refused(&mut bench, "set interface ip table t1 9").contains("no table 9"));
    bench.cli("ip table add 9").expect("made");
    assert!(refused(&mut bench, "set interface ip table t1 9").contains("remove it first"));
    bench.cli("set interface ip address del t1 all").expect("removed");
    bench.cli("set interface ip table t1 9").expect("moved");
    let out = bench.node("ip4-input", &[udp("20.1.2.3").build()], |b| b.rx_if = T1.0);
    assert_eq!(out[0].node, "ip4-not-enabled");
    bench.cli("enable ip4 interface t1").expect("enabled");
    let out = bench.node("ip4-input", &[udp("20.1.2.3").build()], |b| b.rx_if = T1.0);
    assert_eq!(out[0].node, "ip4-lookup");
    bench.cli("disable ip4 interface t1").expect("disabled");
}

#[suite::test]
fn tables_are_set_up() {
    let mut bench = router();
    assert_eq!(bench.cli("ip table add allocate name one").expect("made"), "1\n");
    for line in [
        "set ip flow-hash table 1 sport dst symmetric",
        "ip route add table 1 30.0.0.0/24 via 10.0.2.2 t2",
        "set ip route-counters off",
    ] {
        bench.cli(line).unwrap_or_else(|e| panic!("{line}: {e}"));
    }
    assert!(
        bench
            .cli("show ip fib table 1")
            .expect("shown")
            .contains("flow hash:[dst sport symmetric ]")
    );
    assert!(bench.cli("show ip table 1").expect("shown").contains("dst sport symmetric"));
    assert!(bench.cli("show ip fib table 1 -j").expect("shown").contains("\"symmetric\""));
    let packets = [udp("20.1.2.3").build(), udp("30.1.2.3").build()];
    bench.node("ip4-lookup", &packets[..1], |b| b.rx_if = T1.0);
    bench.node("ip4-lookup", &packets, |b| b.rx_if = T1.0);
    assert!(bench.cli("show ip fib 20.0.0.0/8").expect("shown").contains("to:[0:0]"));
    bench.cli("set ip route-counters on").expect("set");
    bench.node("ip4-lookup", &packets, |b| b.rx_if = T1.0);
    assert!(bench.cli("show ip fib 20.0.0.0/8").expect("shown").contains("to:[1:46]"));
    bench.cli("ip table flush 1").expect("flushed");
    assert!(refused(&mut bench, "show ip fib table 1 30.0.0.0/24").contains("no route"));
    assert!(refused(&mut bench, "set ip flow-hash table 9 src").contains("no table 9"));
    assert!(refused(&mut bench, "ip table flush 9").contains("no table 9"));
    bench.cli("ip table del 1").expect("deleted");
}

#[suite::test]
fn tables_are_laid_out_for_counting_or_without_it() {
    let mut bench = router6();
    let fib = bench.world.get::<Fib<Ip6>>();
    for line in
        ["ip6 table add 1", "ip route add 2a00::/32 table 1 count 9000 via 2001:db8:2::2 t2"]
    {
        bench.cli(line).unwrap_or_else(|e| panic!("{line}: {e}"));
    }
    let mut reader = bench.world.qsbr.register();
    let mut memory = |id| {
        let turn = reader.turn();
        let table = fib.find_table(id).expect("there");
        fib.table(table, &turn).expect("there").memory()
    };
    let counting = memory(1);
    bench.cli("set ip route-counters off").expect("set");
    let without = memory(1);
    // Nine thousand neighbours have one next hop: five to a line of 64 bytes, or all in one line.
    assert!(without + 9000 / 5 * 64 <= counting, "{without} after {counting}");
    for line in
        ["ip6 table add 2", "ip route add 2a00::/32 table 2 count 9000 via 2001:db8:2::2 t2"]
    {
        bench.cli(line).unwrap_or_else(|e| panic!("{line}: {e}"));
    }
    assert_eq!(memory(2), without, "a table that comes later");
    bench.cli("set ip route-counters on").expect("set");
    assert_eq!([1, 2].map(memory), [counting; 2]);
}

#[suite::test]
fn a_large_table_is_flushed_in_pieces() {
    let mut bench = router();
    for line in ["ip table flush 0", "ip route add 40.0.0.0/24 count 7000 via 10.0.2.2"] {
        bench.cli(line).expect(line);
    }
    let fib = bench.world.get::<Fib<Ip4>>();
    let before = fib.list_tables()[0].routes - 7000;
    let t = TableIndex::DEFAULT;
    let path = [Path::new(PathKind::Fixed(net::AdjIndex::DROP))];
    // One route is also from the API, and one also from a plugin.
    fib.set(&bench.world, t, prefix("40.0.9.0/24"), Source::Api, &path).expect("set");
    fib.set(&bench.world, t, prefix("40.1.9.0/24"), Source::Plugin, &path).expect("set");
    bench.cli("ip table flush 0").expect("flushed");
    assert_eq!(fib.list_tables()[0].routes, before + 1);
    let left = fib.route(t, prefix("40.1.9.0/24")).expect("there").sources;
    assert_eq!(left.iter().map(|s| s.source).collect::<Vec<_>>(), [Source::Plugin]);
    assert!(fib.route(t, prefix("10.0.2.0/24")).is_some());
    bench.cli("ip table flush 0").expect("nothing to flush");
}

#[suite::test]
fn an_interface_speaks_by_anothers_addresses() {
    let mut bench = router();
    bench.cli("set interface ip address del t1 all").expect("removed");
    assert!(refused(&mut bench, "set interface unnumbered t1 use t1").contains("itself"));
    let line = "set interface unnumbered t1 use t2";
    bench.cli(line).expect("set");
    assert!(
        refused(&mut bench, "set interface unnumbered t2 use t1").contains("lends its addresses")
    );
    let shown = bench.cli("show interface address").expect("shown");
    assert_eq!(
        shown,
        "local0 (dn):\nt1 (up):\n  unnumbered, use t2\n  L3 10.0.2.1/24\nt2 (up):\n  L3 10.0.2.1/24\n"
    );
    bench.cli("set interface ip address t2 12.0.0.1/24").expect("set");
    assert!(bench.cli("show interface address t1 -j").expect("shown").contains("12.0.0.1/24"));
    let addresses = bench.world.get::<Addresses<Ip4>>();
    {
        let mut reader = bench.world.qsbr.register();
        let turn = reader.turn();
        assert_eq!(addresses.of(T1.0, &turn), [prefix("10.0.2.1/24"), prefix("12.0.0.1/24")]);
    }
    // Packets come in by it and go out by it where a route says so; its lender's network doesn't
    // move.
    let out = bench.node("ip4-input", &[udp("20.1.2.3").build()], |b| b.rx_if = T1.0);
    assert_eq!(out[0].node, "ip4-lookup");
    bench.cli("ip route add 10.0.2.77/32 via 10.0.2.77 t1").expect("set");
    assert!(bench.cli("show ip fib 10.0.2.77/32").expect("shown").contains("10.0.2.77 t1"));
    assert!(bench.cli("show ip fib 10.0.2.0/24").expect("shown").contains("attached: t2"));
    bench.cli("set interface ip address t1 11.0.0.1/24").expect("it may have addresses of its own");
    let listed: Vec<String> = addresses.list(T1).iter().map(|p| p.to_string()).collect();
    assert_eq!(listed, ["11.0.0.1/24", "10.0.2.1/24", "12.0.0.1/24"]);
    assert_eq!(addresses.usable(T1), addresses.list(T1));
    bench.cli("set interface unnumbered del t1").expect("unset");
    assert_eq!(addresses.list(T1).len(), 1);
    bench.cli("set interface ip address del t1 all").expect("removed");
    let out = bench.node("ip4-input", &[udp("20.1.2.3").build()], |b| b.rx_if = T1.0);
    assert_eq!(out[0].node, "ip4-not-enabled");
    // An interface that is deleted takes the addresses that it lends along.
    bench.cli(line).expect("set");
    bench.world.get::<Interfaces>().delete(&bench.world, T2).expect("deleted");
    assert!(addresses.list(T1).is_empty() && addresses.unnumbered(T1).is_none());
}

#[suite::test]
fn ipv6_has_the_same_commands() {
    let mut bench = router();
    let lines = [
        "ip6 table add 7 name six",
        "set interface ip address t1 2001:db8:1::1/64",
        "set interface ip6 table t2 7",
        "set interface ip address t2 2001:db8:1::1/64",
        "set ip6 link-local address t2 fe80::77",
        "set ip6 flow-hash table 7 src flowlabel",
        "ip route add 3000::/16 via 2001:db8:1::2 t1",
        "ip route add 3000::/16 via fe80::9 t1 weight 3",
        "ip route add count 300 4000::/64 via 2001:db8:1::2",
        "ip route add 5000::/16 via ip6-lookup-in-table 7",
        "ip route add table 7 6000::/16 via prohibit",
    ];
    lines.iter().for_each(|line| drop(bench.cli(line).unwrap_or_else(|e| panic!("{line}: {e}"))));
    let fib = bench.cli("show ip6 fib 3000::/16").expect("shown");
    assert!(
        fib.contains("attached-nexthop: fe80::9 t1") && fib.contains("unicast-ip6-chain"),
        "{fib}"
    );
    assert!(
        bench.cli("show ip6 fib 4000::12b:0:0:0:1").expect("shown").contains("4000:0:0:12b::/64")
    );
    assert!(bench.cli("show ip6 fib summary").expect("shown").contains("64             301"));
    assert!(bench.cli("show ip6 fib table 7 -j").expect("shown").contains("\"6000::/16\""));
    assert!(bench.cli("show ip6 table").expect("shown").contains("src flowlabel"));
    let links = bench.cli("show ip6-ll t2").expect("shown");
    assert!(
        links.starts_with("t2 fib_index:")
            && links.contains("fe80::77/128")
            && !links.contains("t1"),
        "{links}"
    );
    for (line, part) in [
        ("show ip6-ll t2 fe80::77", "fe80::77/128"),
        ("show ip6-ll t2 fe80::77/128 detail", "fe80::77/128"),
        ("show ip6-ll t2 fe80::5", "fe80::/10"),
        ("show ip6-ll summary t2", "128"),
    ] {
        let shown = bench.cli(line).expect(line);
        assert!(shown.starts_with("t2 fib_index:") && shown.contains(part), "{line}: {shown}");
    }
    assert!(refused(&mut bench, "show ip6-ll t2 fe80::78/128").contains("no route fe80::78/128"));
    assert!(refused(&mut bench, "show ip6-ll t2 10.0.0.1").contains("no IPv6 address"));
    assert!(
        bench
            .cli("show interface address t2")
            .expect("shown")
            .contains("L3 2001:db8:1::1/64 ip6 table-id 7")
    );
    let config = |bench: &Bench| {
        let mut config = graph::RunningConfig::default();
        for plugin in PLUGINS {
            (plugin.config)(&bench.world, &mut config);
        }
        config
            .lines(&bench.world)
            .all(&bench.world)
            .into_iter()
            .map(|line| line.text)
            .collect::<Vec<_>>()
    };
    let said = config(&bench);
    for line in [
        "ip6 table add 7 name six",
        "set ip6 link-local address t2 fe80::77",
        "ip route add 3000::/16 via fe80::9 t1 weight 3",
        "ip route add 5000::/16 via ip6-lookup-in-table 7",
        "set interface ip6 table t2 7",
    ] {
        assert!(said.iter().any(|said| said == line), "{line}: {said:#?}");
    }
    for (line, part) in [
        ("ip route add 5000::/16 via ip4-lookup-in-table 0", "other protocol"),
        ("ip route add count 2 ffff:ffff:ffff:ffff::/64 via t1", "not so many"),
        ("set interface ip6 table t1 7", "remove it first"),
        ("set ip6 link-local address t1 2001::1", "no link-local address"),
        ("set interface ip address t1 ::/128", "not an address of a host"),
        ("set interface ip address t1 fe80::5/64", "with 128 bits"),
        ("set interface ip address del t2 fe80::77/128", "stays while IPv6 is enabled"),
        ("set interface ip address del t2 fe80::78/128", "no address fe80::78/128"),
        ("show ip6 fib 10.0.0.0/8", "no IPv6 address"),
    ] {
        assert!(refused(&mut bench, line).contains(part), "{line}: {}", refused(&mut bench, line));
    }
    assert_eq!(
        bench.cli("ip6 table del 7").expect("taken back"),
        "table 7 stays for now: t2 is in it\n"
    );
    let back = [
        "set ip6 link-local address t2 fe80::77 del",
        "set interface ip address del t2 all",
        "set interface ip6 table t2 0",
        "ip route del 5000::/16",
        "enable ip6 interface t2",
        "disable ip6 interface t2",
    ];
    back.iter().for_each(|line| drop(bench.cli(line).unwrap_or_else(|e| panic!("{line}: {e}"))));
    assert!(!bench.cli("show ip6-ll").expect("shown").contains("t2"));
    assert!(
        refused(&mut bench, "ip6 table flush 7").contains("no table 7"),
        "it went with its last user"
    );
}

/// A container is where its interface is: in its table, and beside those of other interfaces.
#[suite::test]
fn containers_follow_their_interfaces() {
    let mut bench = router();
    let local = |bench: &mut Bench, table: u32| {
        let shown = bench.cli(&format!("show ip fib table {table} 50.0.0.1"));
        shown.map_or(0, |text| text.matches("dpo-receive: 50.0.0.1").count())
    };
    bench.cli("ip table add 7").expect("added");
    let world = bench.world.clone();
    let new = ethernet("t3", MacAddr([2, 0, 0, 0, 0, 3]));
    world.get::<Interfaces>().create(&world, new, |_, _, _| Tx).expect("created");
    bench.cli("ip container 50.0.0.1 t1").expect("added");
    bench.cli("ip container 50.0.0.1 t3").expect("added");
    assert_eq!(local(&mut bench, 0), 2);
    bench.cli("set interface ip table t3 7").expect("bound");
    assert_eq!((local(&mut bench, 0), local(&mut bench, 7)), (1, 1));
    bench.cli("ip container 50.0.0.1 t1 del").expect("gone");
    assert_eq!((local(&mut bench, 0), local(&mut bench, 7)), (0, 1));
    bench.cli("ip container 50.0.0.1 t3 del").expect("gone");
    assert_eq!((local(&mut bench, 0), local(&mut bench, 7)), (0, 0));
}
