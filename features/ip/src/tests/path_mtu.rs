// SPDX-License-Identifier: Apache-2.0
//! Packets larger than their path, and directed broadcasts.

use super::*;
use ::path_mtu::api::*;
use net::IpMeta;

/// Where packets of this many bytes behind UDP go from the rewrite, and how long what comes there
/// is.
fn went(bench: &mut Bench, packet: Vec<u8>, v6: bool) -> String {
    let nodes = if v6 {
        ["ip6-input", "ip6-lookup", "ip6-rewrite"]
    } else {
        ["ip4-input", "ip4-lookup", "ip4-rewrite"]
    };
    let nodes = nodes.map(|n| bench.index(n));
    bench.rt.receive();
    let mut b = bench.buffer(&packet);
    b.rx_if = T1.0;
    bench.rt.inject(nodes[0], b);
    nodes.into_iter().for_each(|node| bench.rt.run_node(node));
    let out = bench.collect();
    assert_eq!(out.len(), 1);
    out[0].node.clone()
}

#[suite::test]
fn a_path_may_take_less_than_its_link() {
    let mut bench = router6();
    let four = |to: &str, len: usize| udp(to).payload_len(len - 46).build();
    let six = |to: &str, len: usize| udp6(to).payload_len(len - 66).build();
    for line in
        ["ip path-mtu 20.0.0.1 1000", "ip path-mtu 3000::1 1300", "ip path-mtu fe80::2 1290"]
    {
        bench.cli(line).unwrap_or_else(|e| panic!("{line}: {e}"));
    }
    for (len, to, node) in [
        (1000, "20.0.0.1", "t2-output"),
        (1001, "20.0.0.1", "ip4-frag"),
        (1001, "20.0.0.2", "t2-output"),
        (1500, "20.0.0.2", "t2-output"),
        (1501, "20.0.0.2", "ip4-frag"),
    ] {
        assert_eq!(went(&mut bench, four(to, len), false), node, "{to} {len}");
    }
    for (len, to, node) in [
        (1300, "3000::1", "t2-output"),
        (1301, "3000::1", "ip6-icmp-error"),
        (1500, "3000::2", "t2-output"),
        (1290, "3001::1", "t2-output"),
        (1291, "3001::1", "ip6-icmp-error"),
    ] {
        assert_eq!(went(&mut bench, six(to, len), true), node, "{to} {len}");
    }
    let shown = bench.cli("show ip pmtu").expect("shown");
    assert!(shown.contains("3000::1") && shown.contains("1290"), "{shown}");
    assert!(bench.cli("show ip pmtu -j").expect("shown").contains("fe80::2"));
    for (line, part) in [
        ("ip path-mtu 3000::1 1279", "at least 1280"),
        ("ip path-mtu ff02::1 1400", "not that of one host"),
        ("ip path-mtu 3000::7 del", "no path MTU"),
        ("ip path-mtu 3000::7 1400 table 9", "no table 9"),
    ] {
        let error = bench.cli(line).expect_err(line).to_string();
        assert!(error.contains(part), "{line}: {error}");
    }
}

#[suite::test]
fn a_table_takes_its_path_mtus_along() {
    let mut bench = router6();
    let mut run = |line: &str| bench.cli(line).unwrap_or_else(|e| panic!("{line}: {e}"));
    for line in ["ip table add 9", "ip6 table add 9", "ip path-mtu 20.0.0.9 1000 table 9"] {
        run(line);
    }
    run("ip path-mtu 20.0.0.1 1100");
    run("ip path-mtu 3000::9 1300 table 9");
    assert!(run("show ip pmtu").contains("20.0.0.9") && run("show ip pmtu").contains("3000::9"));
    // The next table has the same index.
    for line in ["ip table del 9", "ip6 table del 9", "ip table add 10", "ip6 table add 10"] {
        run(line);
    }
    let shown = run("show ip pmtu");
    assert!(
        !shown.contains("20.0.0.9") && !shown.contains("3000::9") && shown.contains("20.0.0.1"),
        "{shown}"
    );
}

#[suite::test]
fn fragments_fit_on_the_path() {
    let mut bench = router6();
    bench.cli("ip path-mtu 20.0.0.1 620").expect("set");
    let packet = udp("20.0.0.1").payload_len(1400).build();
    bench.send("ip4-input", &packet, |b| b.rx_if = T1.0);
    assert_eq!(bench.count("ip4-frag", "fragment_sent"), 3);
    // Our own packets of IPv6, in two.
    let packet = pkt::ip6("2001:db8:2::1", "3000::1").udp(1, 2).payload_len(2000).build();
    let index =
        bench.world.get::<net::Adjacencies>().find_neighbor(T2, ip6("2001:db8:2::2").into());
    let out = bench.node("ip6-frag", std::slice::from_ref(&packet), |b| {
        b.flags.insert(buffer::Flags::LOCAL);
        b.set_scratch(IpMeta::of(index.expect("held"), 0));
    });
    assert_eq!(out.len(), 2);
    let mut whole = packet[40..48].to_vec();
    whole.clear();
    for o in &out {
        assert!(o.node == "ip6-rewrite" && o.bytes.len() <= 1500 && o.bytes[6] == 44, "{o:?}");
        assert_eq!(usize::from(o.bytes[4]) << 8 | usize::from(o.bytes[5]), o.bytes.len() - 40);
        assert_eq!((usize::from(o.bytes[42]) << 8 | usize::from(o.bytes[43])) & !7, whole.len());
        whole.extend(&o.bytes[48..]);
    }
    assert_eq!((out[0].bytes[40], out[0].bytes[43] & 1, out[1].bytes[43] & 1), (17, 1, 0));
    assert_eq!(whole, packet[40..]);
    assert_eq!(out[0].bytes[44..48], out[1].bytes[44..48], "one identification");
}

#[suite::test]
fn path_mtus_by_the_api() {
    let bench = router6();
    let set = |to: &str, path_mtu| {
        let nh = to.parse::<std::net::IpAddr>().expect("an address").into();
        bench
            .api()
            .call(IpPathMtuUpdate { pmtu: IpPathMtu { nh, path_mtu, ..IpPathMtu::default() } })
    };
    assert_eq!(
        (set("20.0.0.1", 1000), set("3000::1", 1300), set("3000::2", 1300)),
        (Ok(()), Ok(()), Ok(()))
    );
    assert_eq!((set("20.0.0.1", 60), set("3000::7", 0)), (Err(-7), Err(-6)));
    let all = || {
        bench
            .api()
            .dump(IpPathMtuGet { cursor: 0 })
            .iter()
            .map(|d| d.pmtu.path_mtu)
            .collect::<Vec<_>>()
    };
    assert_eq!(all(), [1000, 1300, 1300]);
    assert_eq!(bench.api().call(IpPathMtuReplaceBegin {}), Ok(()));
    assert_eq!(set("3000::1", 1400), Ok(()));
    assert_eq!(bench.api().call(IpPathMtuReplaceEnd {}), Ok(()));
    assert_eq!(all(), [1400]);
    assert_eq!(set("3000::1", 0), Ok(()));
    assert_eq!(all(), [0u16; 0]);
}

#[suite::test]
fn broadcasts_of_a_network_are_sent_where_that_is_wanted() {
    let mut bench = router();
    let packet = || udp("10.0.2.255").build();
    assert_eq!(went(&mut bench, packet(), false), "ip4-drop");
    bench.cli("set interface ip directed-broadcast t2 enable").expect("set");
    assert_eq!(went(&mut bench, packet(), false), "t2-output");
    let interfaces = bench.world.get::<Interfaces>();
    for up in [false, true] {
        interfaces.set_admin(&bench.world, T2, up).expect("set");
    }
    bench.cli("set interface ip address t2 12.0.0.1/24").expect("set");
    assert_eq!(went(&mut bench, packet(), false), "t2-output");
    let out = bench.node("ip4-lookup", &[udp("12.0.0.255").build()], |b| b.rx_if = T1.0);
    assert_eq!(out[0].node, "ip4-rewrite");
    bench.cli("set interface ip directed-broadcast t2 disable").expect("set");
    assert_eq!(went(&mut bench, packet(), false), "ip4-drop");
}
