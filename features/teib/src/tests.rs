// SPDX-License-Identifier: Apache-2.0
use crate::api::*;
use crate::{PLUGIN, Teib};
use graph::drive::Bench;
use graph::{Plugin, SwIfIndex};
use net::Interfaces;
use net::api::InterfaceIndex;
use std::net::IpAddr;

static PLUGINS: &[&Plugin] =
    &[&interface::PLUGIN, &ethernet::PLUGIN, &fib::PLUGIN, &ip::PLUGIN, &PLUGIN];

fn addr(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

fn bench() -> (Bench, SwIfIndex) {
    let mut bench = Bench::new(PLUGINS);
    bench.cli("create loopback interface").expect("made");
    bench.cli("ip6 table add 7").expect("made");
    let sw_if = bench.world.get::<Interfaces>().find("loop0").expect("made");
    (bench, sw_if)
}

#[suite::test]
fn peers_are_kept_told_and_go_with_their_interface() {
    let (mut bench, sw_if) = bench();
    bench.cli("create teib loop0 peer 10.0.0.9 nh 2001:db8::9 nh-table-id 7").expect("made");
    bench.cli("create teib loop0 peer 2001:db8:5::1 nh 192.0.2.1").expect("made");
    let found = bench.world.get::<Teib>().find(sw_if, addr("10.0.0.9")).expect("known");
    assert_eq!((found.nexthop, found.table), (addr("2001:db8::9"), 7));
    let shown = bench.cli("show teib").expect("shown");
    assert!(shown.contains("loop0      10.0.0.9       2001:db8::9      7"), "{shown}");
    assert!(bench.cli("show teib -j").expect("shown").contains("192.0.2.1"));
    let lines =
        || bench.world.running_config().into_iter().map(|l| l.text).filter(|l| l.contains("teib"));
    let want = [
        "create teib loop0 peer 10.0.0.9 nh 2001:db8::9 nh-table-id 7",
        "create teib loop0 peer 2001:db8:5::1 nh 192.0.2.1",
    ];
    assert_eq!(lines().collect::<Vec<_>>(), want);
    for (line, part) in [
        ("create teib loop0 peer 10.0.0.9 nh 192.0.2.1", "known already"),
        ("create teib loop0 peer 10.0.0.8 nh 192.0.2.1 nh-table-id 7", "no table 7"),
        ("create teib loop0 peer 10.0.0.8 nh ff02::1", "not that of one host"),
        ("delete teib loop0 peer 10.0.0.8", "isn't known"),
        ("create teib loop9 peer 10.0.0.8 nh 192.0.2.1", "loop9"),
    ] {
        let error = bench.cli(line).expect_err(line).to_string();
        assert!(error.contains(part), "{line}: {error}");
    }
    bench.cli("delete teib loop0 peer 10.0.0.9").expect("deleted");
    bench.cli("delete loopback interface intfc loop0").expect("deleted");
    assert_eq!(bench.world.get::<Teib>().list(), []);
}

#[suite::test]
fn the_same_by_messages() {
    let (bench, sw_if) = bench();
    let entry = |peer: &str, nh: &str, nh_table_id| TeibEntry {
        sw_if_index: InterfaceIndex::from(sw_if),
        peer: addr(peer).into(),
        nh: addr(nh).into(),
        nh_table_id,
    };
    let call = |is_add, entry| bench.api().call(TeibEntryAddDel { is_add, entry });
    assert_eq!(call(1, entry("10.0.0.9", "2001:db8::9", 7)), Ok(()));
    assert_eq!(call(1, entry("10.0.0.9", "2001:db8::9", 7)), Err(msg::retval::VALUE_EXIST.code()));
    assert_eq!(call(1, entry("10.0.0.8", "192.0.2.1", 7)), Err(-3));
    assert_eq!(
        call(1, TeibEntry { sw_if_index: InterfaceIndex(99), ..entry("1.1.1.1", "2.2.2.2", 0) }),
        Err(-2)
    );
    let all = bench.api().dump(TeibDump {});
    assert_eq!(
        all.iter().map(|d| d.entry).collect::<Vec<_>>(),
        [entry("10.0.0.9", "2001:db8::9", 7)]
    );
    assert_eq!(call(0, entry("10.0.0.9", "::", 0)), Ok(()));
    assert_eq!(call(0, entry("10.0.0.9", "::", 0)), Err(-6));
}
