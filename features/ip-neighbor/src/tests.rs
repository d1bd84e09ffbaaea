// SPDX-License-Identifier: Apache-2.0
use crate::PLUGIN;
use cli::Tree;
use graph::drive::Bench;
use graph::{Plugin, World};
use net::Interfaces;
use net::drive::{Tx, ethernet};
use stats::Space;
use wire::MacAddr;

/// Declares the counters of both protocols, as their plugins do.
static PROTOCOLS: Plugin = Plugin {
    counters: &[("/net/arp", Space::Interface), ("/net/ip6-nd", Space::Interface)],
    ..Plugin::EMPTY
};
static PLUGINS: &[&Plugin] = &[&net::drive::STATE, &PROTOCOLS, &PLUGIN];

fn bench() -> (Bench, Tree<World>) {
    let bench = Bench::new(PLUGINS);
    let interfaces = bench.world.get::<Interfaces>();
    for name in ["t0", "t1"] {
        let new = ethernet(name, MacAddr([2, 0, 0, 0, 0, 1]));
        interfaces.create(&bench.world, new, |_, _, _| Tx).expect("created");
    }
    (bench, Tree::new(PLUGIN.cli).expect("the commands are well-formed"))
}

fn run(bench: &Bench, tree: &Tree<World>, line: &str) -> String {
    tree.answer(&bench.world, line).unwrap_or_else(|e| panic!("{line}: {e}"))
}

/// The table without ages.
fn shown(bench: &Bench, tree: &Tree<World>, line: &str) -> Vec<String> {
    let text = run(bench, tree, line);
    let words = |l: &str| l.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(text.lines().next().map(words).as_deref(), Some("Age IP Flags Ethernet Interface"));
    text.lines()
        .skip(1)
        .map(|l| words(l).split_once(' ').expect("an age and more").1.to_string())
        .collect()
}

#[suite::test]
fn entries_are_set_shown_and_removed() {
    let (bench, tree) = bench();
    run(&bench, &tree, "set ip neighbor t0 10.0.0.2 02:00:00:00:00:02");
    run(
        &bench,
        &tree,
        "set ip neighbor t1 10.0.1.255 02:00:00:00:00:ff static no-fib-entry count 2",
    );
    run(&bench, &tree, "ip neighbor t0 2001:db8::1 0200.0000.0003 static");
    let want4 = [
        "10.0.0.2 D 02:00:00:00:00:02 t0",
        "10.0.1.255 SN 02:00:00:00:00:ff t1",
        "10.0.2.0 SN 02:00:00:00:01:00 t1",
    ];
    assert_eq!(shown(&bench, &tree, "show ip4 neighbors"), want4);
    assert_eq!(shown(&bench, &tree, "show ip4 neighbor-sorted"), want4);
    assert_eq!(shown(&bench, &tree, "show ip6 neighbors"), ["2001:db8::1 S 02:00:00:00:00:03 t0"]);
    assert_eq!(shown(&bench, &tree, "sh ip neighbors").len(), 4);
    assert_eq!(shown(&bench, &tree, "show ip neighbor t0").len(), 2);
    let json: serde_json::Value =
        serde_json::from_str(&run(&bench, &tree, "show ip neighbors t0 -j")).expect("JSON");
    assert_eq!(
        (json[0]["ip"].as_str(), json[0]["state"].as_str()),
        (Some("10.0.0.2"), Some("reachable"))
    );
    assert!(json[0]["age"].as_f64().is_some_and(|age| age < 60.0), "{json}");
    run(&bench, &tree, "set ip neighbor del t1 10.0.1.255 02:00:00:00:00:ff");
    run(&bench, &tree, "ip neighbor del t1 10.0.2.0");
    run(&bench, &tree, "clear ip neighbors");
    assert_eq!(shown(&bench, &tree, "show ip neighbors"), ["2001:db8::1 S 02:00:00:00:00:03 t0"]);
}

#[suite::test]
fn words_come_in_any_order() {
    let (bench, tree) = bench();
    let mac = "02:00:00:00:00:02";
    for (line, want) in [
        (
            format!("set ip neighbor static t0 10.0.0.2 {mac}"),
            vec!["10.0.0.2 S 02:00:00:00:00:02 t0"],
        ),
        (format!("set ip neighbor delete t0 10.0.0.2 {mac}"), vec![]),
        (
            format!("set ip neighbor count 2 no-fib-entry t0 10.0.0.2 {mac}"),
            vec!["10.0.0.2 DN 02:00:00:00:00:02 t0", "10.0.0.3 DN 02:00:00:00:00:03 t0"],
        ),
        (format!("ip neighbor count 2 t0 10.0.0.2 {mac} del"), vec![]),
        (
            format!("ip neighbor static count 1 t1 10.0.0.2 {mac}"),
            vec!["10.0.0.2 S 02:00:00:00:00:02 t1"],
        ),
        (format!("ip neighbor t1 10.0.0.2 {mac} static delete"), vec![]),
        (
            format!("set ip neighbor t0 10.0.0.2 {mac} count 1 static"),
            vec!["10.0.0.2 S 02:00:00:00:00:02 t0"],
        ),
        (format!("set ip neighbor static delete t0 10.0.0.2 {mac}"), vec![]),
    ] {
        run(&bench, &tree, &line);
        assert_eq!(shown(&bench, &tree, "show ip neighbors"), want, "{line}");
    }
}

#[suite::test]
fn what_was_set_for_good_stays_until_it_is_removed() {
    let (bench, tree) = bench();
    run(&bench, &tree, "set ip neighbor t0 10.0.0.2 02:00:00:00:00:02");
    run(&bench, &tree, "set ip neighbor t0 10.0.0.2 02:00:00:00:00:03 static");
    run(&bench, &tree, "set ip neighbor t0 10.0.0.2 02:00:00:00:00:03");
    let kept = ["10.0.0.2 S 02:00:00:00:00:03 t0"];
    assert_eq!(shown(&bench, &tree, "show ip neighbors"), kept);
    let error = tree
        .execute(&bench.world, "set ip neighbor t0 10.0.0.2 02:00:00:00:00:04")
        .expect_err("kept");
    assert!(error.code() == -2 && error.to_string().contains("02:00:00:00:00:03"), "{error}");
    assert_eq!(shown(&bench, &tree, "show ip neighbors"), kept);
    run(&bench, &tree, "set ip neighbor t0 10.0.0.2 02:00:00:00:00:04 static");
    assert_eq!(shown(&bench, &tree, "show ip neighbors"), ["10.0.0.2 S 02:00:00:00:00:04 t0"]);
}

#[suite::test]
fn clients_that_watch_neighbours_are_shown() {
    use crate::api::*;
    use net::api::InterfaceIndex;
    let (bench, tree) = bench();
    assert_eq!(run(&bench, &tree, "sh ip neighbor-watcher"), "");
    let mut client = bench.api();
    let any = std::net::IpAddr::from([0, 0, 0, 0]).into();
    let ip = std::net::IpAddr::from([10, 0, 0, 2]).into();
    let (all, t0) = (InterfaceIndex::NONE, InterfaceIndex(1));
    for (pid, ip, sw_if_index) in [(7, any, all), (8, any, t0), (9, ip, t0)] {
        client.call(WantIpNeighborEvents { enable: true, pid, ip, sw_if_index }).expect("taken");
    }
    client
        .call(WantIpNeighborEventsV2 { enable: true, pid: 10, ip, sw_if_index: t0 })
        .expect("taken");
    let lines = |text: String| {
        let of = |line: &str| line.split(", client:").next().unwrap_or_default().to_string();
        text.lines().map(of).collect::<Vec<_>>()
    };
    let text = lines(run(&bench, &tree, "show ip neighbor-watcher"));
    let want = [
        "Key: [t0, 10.0.0.2]",
        "  [pid:9",
        "  [pid:10",
        "Key: [t0, any]",
        "  [pid:8",
        "Key: [all, any]",
        "  [pid:7",
    ];
    assert_eq!(text, want);
    let json: serde_json::Value =
        serde_json::from_str(&run(&bench, &tree, "show ip neighbor-watcher -j")).expect("JSON");
    assert_eq!(
        (json[0]["interface"].as_str(), json[0]["ip"].as_str()),
        (Some("t0"), Some("10.0.0.2"))
    );
    // Each registration brings an event of its own.
    run(&bench, &tree, "set ip neighbor t0 10.0.0.2 02:00:00:00:00:02");
    let mut pids: Vec<u32> =
        client.events::<IpNeighborEvent>().into_iter().map(|(pid, _)| pid).collect();
    pids.sort_unstable();
    assert_eq!(pids, [7, 8, 9]);
    client
        .call(WantIpNeighborEvents { enable: false, pid: 9, ip, sw_if_index: t0 })
        .expect("taken");
    assert_eq!(lines(run(&bench, &tree, "show ip neighbor-watcher")).len(), 6);
}

#[suite::test]
fn limits_are_set_and_shown() {
    let (bench, tree) = bench();
    run(&bench, &tree, "set ip neighbor-config ip4 limit 1 age 10 recycle retry 0");
    run(&bench, &tree, "set ip neighbor-config ip6 confirm 5");
    let want = "ip4:\n  limit:1, age:10, recycle:1, confirm:30, retry:0\nip6:\n  limit:50000, age:1200, recycle:0, confirm:5, retry:5\n";
    assert_eq!(run(&bench, &tree, "show ip neighbor-config"), want);
    run(&bench, &tree, "set ip neighbor t0 10.0.0.2 02:00:00:00:00:02");
    run(&bench, &tree, "set ip neighbor t0 10.0.0.3 02:00:00:00:00:03");
    assert_eq!(shown(&bench, &tree, "show ip neighbors"), ["10.0.0.3 D 02:00:00:00:00:03 t0"]);
    run(&bench, &tree, "set ip neighbor-config ip4 norecycle");
    let json: serde_json::Value =
        serde_json::from_str(&run(&bench, &tree, "show ip neighbor-stats t0 -j")).expect("JSON");
    assert_eq!(json[0]["displaced"].as_u64(), Some(0), "no protocol runs here that would count");
    run(&bench, &tree, "set ip neighbor t0 10.0.0.3 02:00:00:00:00:03 static");
    for (line, part) in [
        ("set ip neighbor t0 10.0.0.4 02:00:00:00:00:04", "its limit is 1"),
        ("set ip neighbor t0 10.0.0.4", "usage"),
        ("set ip neighbor t9 10.0.0.4 02:00:00:00:00:04", "no interface is named `t9'"),
        ("set ip neighbor t0 224.0.0.1 02:00:00:00:00:04", "not that of one host"),
        ("set ip neighbor static t0 10.0.0.4 ff:ff:ff:ff:ff:ff", "not that of one station"),
        ("set ip neighbor t0 10.0.0.4 ab:00:00:00:00:01", "not that of one station"),
        ("set ip neighbor del t0 10.0.0.9", "t0 has no neighbour 10.0.0.9"),
        ("set ip neighbor-config limit 3", "ip4"),
    ] {
        let error =
            tree.execute(&bench.world, line).err().unwrap_or_else(|| panic!("{line} was taken"));
        assert!(error.to_string().contains(part), "{line}: {error}");
    }
}

#[suite::test]
fn questions_and_answers_are_counted_by_interface() {
    let (bench, tree) = bench();
    bench.world.stats.simple("/net/arp/rx/requests").lane(0).add(1, 5);
    bench.world.stats.simple("/net/ip6-nd/tx/replies").lane(0).add(2, 7);
    let json: serde_json::Value =
        serde_json::from_str(&run(&bench, &tree, "show ip neighbor-stats -j")).expect("JSON");
    assert_eq!(
        (json[1]["rx_requests"].as_u64(), json[2]["tx_replies"].as_u64()),
        (Some(5), Some(7))
    );
    assert_eq!(run(&bench, &tree, "show ip neighbor-stats t1").lines().count(), 2);
}

#[suite::test]
fn the_binary_api_sets_dumps_replaces_and_tells() {
    use crate::api::*;
    use net::api::{AddressFamily, InterfaceIndex};
    let (bench, tree) = bench();
    let mut client = bench.api();
    let neighbor = |host: u8| IpNeighbor {
        sw_if_index: InterfaceIndex(1),
        flags: IpNeighborFlags::STATIC,
        mac_address: MacAddr([2, 0, 0, 0, 1, host]).into(),
        ip_address: std::net::IpAddr::from([10, 0, 0, host]).into(),
    };
    let all = InterfaceIndex::NONE;
    let want = WantIpNeighborEventsV2 {
        enable: true,
        pid: 42,
        ip: neighbor(2).ip_address,
        sw_if_index: all,
    };
    assert_eq!(client.call(want), Ok(()));
    for host in [1, 2, 3] {
        client.call(IpNeighborAddDel { is_add: true, neighbor: neighbor(host) }).expect("added");
    }
    let events = client.events::<IpNeighborEventV2>();
    assert_eq!(events.len(), 1);
    assert_eq!(
        (events[0].0, events[0].1.flags, events[0].1.neighbor),
        (42, IpNeighborEventFlags::ADDED, neighbor(2))
    );
    assert_eq!(shown(&bench, &tree, "show ip neighbors").len(), 3);

    let dump = |sw_if_index, af| IpNeighborDump { sw_if_index, af };
    let known = client.dump(dump(all, AddressFamily::Ip4));
    assert_eq!(
        known.iter().map(|d| d.neighbor).collect::<Vec<_>>(),
        [neighbor(1), neighbor(2), neighbor(3)]
    );
    assert!(client.dump(dump(InterfaceIndex(2), AddressFamily::Ip4)).is_empty());
    assert!(client.dump(dump(all, AddressFamily::Ip6)).is_empty());

    assert_eq!(client.call(IpNeighborReplaceEnd {}), Err(-6));
    assert_eq!(client.call(IpNeighborReplaceBegin {}), Ok(()));
    client.call(IpNeighborAddDel { is_add: true, neighbor: neighbor(3) }).expect("said again");
    assert_eq!(client.call(IpNeighborReplaceEnd {}), Ok(()));
    let known = client.dump(dump(all, AddressFamily::Ip4));
    assert_eq!(known.iter().map(|d| d.neighbor).collect::<Vec<_>>(), [neighbor(3)]);
    assert_eq!(client.events::<IpNeighborEventV2>()[0].1.flags, IpNeighborEventFlags::REMOVED);

    let gone = IpNeighbor { sw_if_index: InterfaceIndex(77), ..neighbor(1) };
    assert_eq!(client.call(IpNeighborAddDel { is_add: true, neighbor: gone }).err(), Some(-2));
    assert_eq!(
        client.call(IpNeighborAddDel { is_add: false, neighbor: neighbor(1) }).err(),
        Some(-6)
    );
    let config =
        IpNeighborConfig { af: AddressFamily::Ip4, max_number: 7, max_age: 9, recycle: true };
    assert_eq!(client.call(config), Ok(()));
    let config = client.call(IpNeighborConfigGet { af: AddressFamily::Ip4 }).expect("limits");
    assert_eq!((config.max_number, config.max_age, config.recycle), (7, 9, true));
    assert_eq!(client.call(IpNeighborFlush { af: AddressFamily::Ip4, sw_if_index: all }), Ok(()));
    assert_eq!(client.dump(dump(all, AddressFamily::Ip4)).len(), 1, "static ones stay");
}
