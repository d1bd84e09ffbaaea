// SPDX-License-Identifier: Apache-2.0
//! Column positions of `show interface` and its relatives, as VPP prints them and scripts cut them.

use super::*;
use graph::{InputMode, ThreadIndex};
use net::{Addresses, IfKind, NewInterface, RxQueue};
use wire::Ip4;

/// A device with two receive queues.
struct Queues;

impl Device for Queues {
    fn driver(&self) -> &'static str {
        "test"
    }
    fn input_node(&self) -> &'static str {
        "test-input"
    }
    fn rx_queues(&self) -> Vec<RxQueue> {
        let queue = |queue, mode| RxQueue { queue, thread: ThreadIndex(0), mode };
        vec![queue(0, InputMode::Polling), queue(1, InputMode::Interrupt)]
    }
    fn tx_queues(&self) -> u16 {
        1
    }
    fn link_speed(&self) -> Option<u64> {
        Some(25_000_000)
    }
    fn details(&self) -> Vec<String> {
        vec!["more of it".into()]
    }
}

/// `t0` of index 1, `host-vpp1out` of index 2.
fn two() -> (Bench, Tree<World>) {
    let (bench, _, tree) = bench();
    let new = NewInterface {
        name: "host-vpp1out".into(),
        kind: IfKind::Ethernet,
        device: Arc::new(Queues),
        mac: MacAddr([2, 0, 0, 0, 0, 2]),
        mtu: 9000,
        link_up: true,
    };
    bench.world.get::<Interfaces>().create(&bench.world, new, |_, _, _| Tx).expect("created");
    run(&bench, &tree, "set interface state host-vpp1out up");
    (bench, tree)
}

const HEAD: &str = "              Name               Idx    State  MTU (L3/IP4/IP6/MPLS)     Counter          Count";
const LOCAL0: &str = "local0                            0     down          0/0/0/0";
const T0: &str = "t0                                1     down         1500/0/0/0";
const HOST: &str = "host-vpp1out                      2      up          9000/0/0/0";

#[suite::test]
fn interfaces_stand_by_name_with_a_gap_before_their_counters() {
    let (bench, tree) = two();
    let lines =
        |line: &str| run(&bench, &tree, line).lines().map(str::to_string).collect::<Vec<_>>();
    assert_eq!(lines("show interface"), [HEAD, HOST, LOCAL0, T0]);
    let counters = bench.world.get::<IfCounters>();
    counters.rx.lane(0).add(2, 7, 420);
    counters.rx_unicast.lane(0).add(2, 7, 420);
    counters.drops.lane(0).add(2, 123_456);
    let more = |name: &str, n: u64| format!("{:68}{name:<16}{n:>16}", "");
    let counted = |first: String| {
        [format!("{HOST:<68}{}", first.trim_start()), more("rx bytes", 420), more("drops", 123_456)]
    };
    let first = more("rx packets", 7);
    let host = counted(first.clone());
    assert!(host[0].contains("9000/0/0/0     rx packets                     7"), "{}", host[0]);
    assert_eq!(lines("show int host-vpp1out"), [&[HEAD.to_string()][..], &host].concat());
    // By number, several in the order in which they are named, and none that isn't there.
    assert_eq!(lines("show interface 1 0"), [HEAD, T0, LOCAL0]);
    assert!(tree.execute(&bench.world, "show interface 7").is_err());
    let verbose = lines("show interface host-vpp1out verbose");
    assert_eq!(
        verbose[3..],
        [more("rx-unicast packets", 7), more("rx-unicast bytes", 420), more("drops", 123_456)]
    );
    bench
        .world
        .get::<Interfaces>()
        .set_name(&bench.world, SwIfIndex(1), "a-name-of-more-than-thirty-two-letters")
        .expect("set");
    assert!(lines("show interface")[1].starts_with("a-name-of-more-than-thirty-two-letters  1  "));
}

#[suite::test]
fn words_behind_an_interface_mean_what_they_mean_before_it() {
    let (bench, tree) = two();
    let prefix = "10.0.0.1/24".parse().expect("a prefix");
    bench.world.get::<Addresses<Ip4>>().add(&bench.world, SwIfIndex(1), prefix).expect("added");
    run(&bench, &tree, "set interface tag t0 uplink");
    let addresses = "t0 (dn):\n  L3 10.0.0.1/24\n";
    for line in [
        "show interface address t0",
        "show int addr t0",
        "show interface t0 addr",
        "sh int t0 address",
        "show interface 1 addr",
    ] {
        assert_eq!(run(&bench, &tree, line), addresses, "{line}");
    }
    let all = run(&bench, &tree, "show int addr");
    assert_eq!(all, format!("host-vpp1out (up):\nlocal0 (dn):\n{addresses}"));
    for line in ["show interface tag t0", "show interface t0 tag"] {
        assert_eq!(run(&bench, &tree, line), "t0: uplink\n", "{line}");
    }
    for line in
        ["show interface features t0", "show interface t0 feat", "show interface t0 features"]
    {
        let text = run(&bench, &tree, line);
        assert!(text.starts_with("Feature paths configured on t0...\n\n"), "{line}: {text}");
        assert!(text.contains("interface-output:\n  none configured"), "{line}: {text}");
    }
}

#[suite::test]
fn a_line_for_each_interface_has_what_is_asked_first() {
    let (mut bench, _) = two();
    let prefix = "10.0.0.1/24".parse().expect("a prefix");
    bench.world.get::<Addresses<Ip4>>().add(&bench.world, SwIfIndex(1), prefix).expect("added");
    let counters = bench.world.get::<IfCounters>();
    counters.drops.lane(0).add(1, 5);
    let text = bench.cli("show interface brief").expect("shown");
    let lines: Vec<Vec<&str>> = text.lines().map(|l| l.split_whitespace().collect()).collect();
    assert_eq!(lines[0][..4], ["Name", "Admin", "Link", "Addresses"]);
    assert_eq!(lines[1][..3], ["host-vpp1out", "up", "up"]);
    assert_eq!(lines[3], ["t0", "down", "up", "10.0.0.1/24", "1500", "0", "0", "5"], "{text}");
    let json = bench.cli("show interface brief t0 -j").expect("shown");
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json[0]["addresses"][0], "10.0.0.1/24", "{json}");
}

#[suite::test]
fn devices_show_their_queues_and_threads() {
    let (bench, tree) = two();
    let want = "              Name                Idx   Link  Hardware
host-vpp1out                       2     up   host-vpp1out
  Link speed: 25 Gbps
  RX Queues:
    queue thread         mode
    0     vpp_main (0)   polling
    1     vpp_main (0)   interrupt
  TX Queues:
    queue shared thread(s)
    0     no     0
  Ethernet address 02:00:00:00:00:02
  driver test, link MTU 9000
  more of it
";
    assert_eq!(run(&bench, &tree, "show hardware-interfaces host-vpp1out"), want);
    assert_eq!(run(&bench, &tree, "show hardware 2"), want);
    let brief: Vec<&str> = want.lines().take(2).collect();
    assert_eq!(
        run(&bench, &tree, "show hardware-interfaces brief 2").lines().collect::<Vec<_>>(),
        brief
    );
    let json: serde_json::Value =
        serde_json::from_str(&run(&bench, &tree, "show hardware 2 -j")).expect("JSON");
    assert_eq!(json[0]["link_speed"], 25_000_000);
    assert!(run(&bench, &tree, "show hardware t0").contains("\n  Link speed: unknown\n"));
    assert_eq!(
        (json[0]["rx_queues"][1]["mode"].as_str(), &json[0]["tx_queues"][0]["threads"][0]),
        (Some("interrupt"), &0.into())
    );
    assert_eq!(
        run(&bench, &tree, "show interface rx-placement"),
        "Thread 0 (vpp_main):\n node test-input:\n    host-vpp1out queue 0 (polling)\n    host-vpp1out queue 1 (interrupt)\n"
    );
}

#[suite::test]
fn what_drivers_count_starts_again_alone() {
    let (mut bench, tree) = two();
    let counters = bench.world.get::<IfCounters>();
    let fill = || {
        for sw_if in [1, 2] {
            for counter in [
                &counters.rx_miss,
                &counters.rx_error,
                &counters.rx_no_buf,
                &counters.tx_error,
                &counters.drops,
            ] {
                counter.lane(0).add(sw_if, 5);
            }
        }
    };
    let sums = |sw_if: usize| {
        [
            &counters.rx_miss,
            &counters.rx_error,
            &counters.rx_no_buf,
            &counters.tx_error,
            &counters.drops,
        ]
        .map(|c| c.sum(sw_if))
    };
    fill();
    bench.cli("clear hardware-interfaces t0").expect("cleared");
    assert_eq!((sums(1), sums(2)), ([0, 0, 0, 0, 5], [5; 5]));
    bench.cli("clear hardware").expect("cleared");
    assert_eq!((sums(1), sums(2)), ([0, 0, 0, 0, 5], [0, 0, 0, 0, 5]));
    assert!(tree.execute(&bench.world, "clear hardware-interfaces t9").is_err());
}
