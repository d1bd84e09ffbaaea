// SPDX-License-Identifier: Apache-2.0
//! Commands and messages, and their errors.

use super::rig;
use crate::Pairs;
use crate::api::*;
use net::Interfaces;
use net::api::InterfaceIndex;

#[suite::test]
fn pairs_are_shown() {
    let mut rig = rig();
    assert_eq!(
        rig.cli("show lcp"),
        "lcp default netns '<unset>'\nlcp lcp-auto-subint off\nlcp lcp-sync off\n\
         lcp lcp-sync-unnumbered on\nlcp del-static-on-link-down off\n\
         lcp del-dynamic-on-link-down off\nitf-pair: [0] p0 p1  0 type tap\n"
    );
    assert_eq!(rig.cli("show lcp phy p0"), "itf-pair: [0] p0 p1  0 type tap\n");
    rig.cli("lcp default netns red");
    assert!(rig.cli("show lcp").starts_with("lcp default netns 'red'\n"));
    rig.cli("lcp default netns");
    assert_eq!(rig.cli("show lcp osi-proto"), "");
    assert!(rig.cli("show lcp -j").contains("\"interface\": \"p0\""));
}

#[suite::test]
fn what_cant_be_is_refused() {
    let mut rig = rig();
    rig.cli("create sub-interfaces p2 7 dot1q 7");
    rig.cli("create sub-interfaces p2 8");
    for (line, code) in [
        ("test lcp add phy p0 host p2", -81),
        ("test lcp add phy p2 host p1", -81),
        ("test lcp add phy p2 host p2", -73),
        ("test lcp del phy p2 host p1", -2),
        ("lcp create p0 host-if x", -81),
        ("lcp create p1 host-if x", -81),
        ("lcp create local0 host-if x", -2),
        ("lcp create p2 host-if sixteen-letters-", -73),
        ("lcp create p2 host-if a/b", -73),
        ("lcp create p2.8 host-if x", -2),
        ("lcp create p2 host-if x netns thirty-two-letters-are-too-many-here", -73),
        ("lcp default netns thirty-two-letters-are-too-many-here", -73),
        ("lcp delete p2", -2),
        ("lcp ethertype enable 0x0801", -7),
        ("lcp ethertype enable nonsense", -7),
        ("lcp ethertype enable ARP", -31),
        ("lcp ethertype disable PTP", -6),
        ("lcp osi-proto enable isis", -30),
    ] {
        let (got, text) = rig.refused(line);
        assert_eq!(got, code, "{line}: {text}");
    }
    // No driver makes taps here.
    assert_eq!(rig.refused("lcp create p2 host-if x").0, -9);
    assert_eq!(rig.bench.world.get::<Pairs>().list().len(), 1);
}

#[suite::test]
fn pairs_go_with_their_interfaces() {
    for port in [0, 1] {
        let mut rig = rig();
        rig.delete_port(port);
        assert_eq!(rig.bench.world.get::<Pairs>().list(), []);
        assert_eq!(rig.cli("show lcp adj").lines().count(), 1);
        rig.add_port(port);
        rig.cli("test lcp add phy p0 host p1");
        rig.cli("test lcp del phy p0 host p1");
        let lines = rig.bench.world.running_config();
        assert!(!lines.iter().any(|line| line.text.contains("punt redirect")));
    }
}

#[suite::test]
fn an_operators_redirect_is_kept() {
    let mut rig = rig();
    rig.cli("ip punt redirect add rx p0 via 10.0.2.2 p2");
    rig.cli("test lcp del phy p0 host p1");
    assert!(rig.cli("show ip punt redirect").contains("10.0.2.2"));
}

#[suite::test]
fn messages_are_answered_as_clients_expect() {
    let mut rig = rig();
    let [p0, p1, p2] = [0, 1, 2].map(|i: usize| InterfaceIndex::from(rig.ports[i]));
    let add = |is_add, sw_if_index, name: &str| LcpItfPairAddDelV3 {
        is_add,
        sw_if_index,
        host_if_name: name.into(),
        host_if_type: LcpItfHostType::Tap,
        netns: "".into(),
    };
    {
        let mut client = rig.bench.api();
        assert_eq!(client.call(add(true, p0, "x")).err(), Some(-81));
        assert_eq!(client.call(add(true, InterfaceIndex(99), "x")).err(), Some(-2));
        assert_eq!(client.call(add(true, p2, "a b")).err(), Some(-73));
        assert_eq!(client.call(add(false, p2, "x")).err(), Some(-2));
        let all = client.dump(LcpItfPairGet { cursor: 0 });
        assert_eq!(all.len(), 1);
        assert_eq!((all[0].phy_sw_if_index, all[0].host_sw_if_index), (p0, p1));
        assert_eq!(all[0].host_if_type, LcpItfHostType::Tap);
        let of = |sw_if_index| LcpItfPairGetV2 { cursor: u32::MAX, sw_if_index };
        assert_eq!(client.dump(of(p0)).len(), 1);
        assert_eq!(client.dump(of(p2)).len(), 0);
        assert_eq!(client.call(LcpEthertypeEnable { ethertype: 0x88f7 }), Ok(()));
        assert_eq!(client.call(LcpEthertypeEnable { ethertype: 0x0801 }), Err(-7));
        assert_eq!(client.call(LcpEthertypeEnable { ethertype: 0x0806 }), Err(-31));
        assert_eq!(client.call(LcpEthertypeGet {}).map(|r| r.ethertypes), Ok(vec![0x88f7]));
        assert_eq!(client.call(LcpOsiProtoEnable { osi_proto: 0x83 }), Err(-30));
        assert_eq!(client.call(LcpOsiProtoGet {}).map(|r| r.osi_protos), Ok(vec![]));
        assert_eq!(client.call(LcpDefaultNsSet { netns: "blue".into() }), Ok(()));
        let netns = client.call(LcpDefaultNsGet {}).map(|r| r.netns.as_str().to_string());
        assert_eq!(netns, Ok("blue".to_string()));
        assert_eq!(client.call(LcpSyncUnnumberedGet {}).map(|r| r.is_enable), Ok(true));
        assert_eq!(client.call(LcpSyncUnnumberedSet { is_enable: false }), Ok(()));
        assert_eq!(client.call(LcpSyncUnnumberedGet {}).map(|r| r.is_enable), Ok(false));
        assert_eq!(client.call(LcpItfPairReplaceBegin {}), Ok(()));
        assert_eq!(client.call(LcpItfPairReplaceEnd {}), Ok(()));
    }
    rig.bench.settle();
    assert_eq!(rig.bench.world.get::<Pairs>().list(), [], "none was made again");
    let there = rig.bench.world.get::<Interfaces>().get(rig.ports[1]);
    assert!(there.is_ok(), "an interface that was there stays");
}
