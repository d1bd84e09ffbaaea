// SPDX-License-Identifier: Apache-2.0
//! Sub-interfaces: how they are made and shown, and what leaves by them.

use super::*;
use crate::api::details::*;
use crate::api::sub::*;
use net::api::InterfaceIndex;

/// An untagged frame.
fn frame(destination: [u8; 6]) -> Vec<u8> {
    let mut bytes = destination.to_vec();
    bytes.extend([2, 0, 0, 0, 0, 1, 8, 0]);
    bytes.extend(0..46);
    bytes
}

#[suite::test]
fn frames_leave_with_the_tags() {
    let (mut bench, parent, tree) = bench();
    let cases: [(&str, &str, &[u8]); 4] = [
        ("100", "t0.100", &[0x81, 0, 0, 100]),
        ("4094", "t0.4094", &[0x81, 0, 0xf, 0xfe]),
        ("7 dot1q 9 inner-dot1q 300 exact-match", "t0.7", &[0x81, 0, 0, 9, 0x81, 0, 1, 0x2c]),
        ("8 dot1ad 9 inner-dot1q 300 exact-match", "t0.8", &[0x88, 0xa8, 0, 9, 0x81, 0, 1, 0x2c]),
    ];
    run(&bench, &tree, "set interface state t0 up");
    let counters: Arc<IfCounters> = bench.world.get();
    let interfaces: Arc<Interfaces> = bench.world.get();
    for (words, name, tags) in cases {
        assert_eq!(
            run(&bench, &tree, &format!("create sub-interfaces t0 {words}")),
            format!("{name}\n")
        );
        let sub = interfaces.find(name).expect("there");
        let node = format!("{name}-output");
        let down = bench.node(&node, &[frame([0xff; 6])], |_| {});
        assert_eq!(
            (down[0].reason, &down[0].bytes),
            (Some("interface is down"), &frame([0xff; 6]))
        );
        run(&bench, &tree, &format!("set interface state {name} up"));
        let before = counters.tx.sum(parent.at()).0;
        for (n, destination) in [(1, [0xff; 6]), (20, [2, 0, 0, 0, 0, 9])] {
            let mut want = frame(destination);
            want.splice(12..12, tags.iter().copied());
            for o in bench.node(&node, &vec![frame(destination); n], |_| {}) {
                assert_eq!((o.node.as_str(), o.tx_if, &o.bytes), ("t0-tx", sub.0, &want));
            }
        }
        assert_eq!(counters.tx.sum(sub.at()), (21, 21 * (60 + tags.len() as u64)));
        assert_eq!(counters.tx_broadcast.sum(sub.at()).0, 1);
        assert_eq!(counters.tx.sum(parent.at()).0, before + 21, "its parent's too");
        for len in [0, 11] {
            let short = bench.node(&node, &[vec![1; len]], |_| {});
            assert_eq!(
                short[0].reason,
                Some("frame is shorter than an Ethernet header, or has no room for tags")
            );
        }
    }
    for words in ["20 dot1q 20", "21 default", "22 dot1q any", "23 dot1q 23 inner-dot1q any"] {
        let name = run(&bench, &tree, &format!("create sub-interfaces t0 {words}"));
        let name = name.trim_end();
        run(&bench, &tree, &format!("set interface state {name} up"));
        let out = bench.node(&format!("{name}-output"), &[frame([0xff; 6])], |_| {});
        assert_eq!(
            out[0].reason,
            Some("sub-interface doesn't say exactly which tags its frames have")
        );
    }
    // A sub-interface sends nothing without its parent, whichever of them comes up first.
    run(&bench, &tree, "set interface state t0 down");
    let out = bench.node("t0.100-output", &[frame([0xff; 6])], |_| {});
    assert_eq!(out[0].reason, Some("interface is down"));
    let flags = |name| {
        let sub = interfaces.get(interfaces.find(name).expect("there")).expect("there");
        (sub.admin_up, sub.link_up)
    };
    run(&bench, &tree, "set interface state t0.7 down");
    run(&bench, &tree, "set interface state t0.7 up");
    assert_eq!((flags("t0.100"), flags("t0.7")), ((true, false), (true, false)));
    let out = bench.node("t0.7-output", &[frame([0xff; 6])], |_| {});
    assert_eq!(out[0].reason, Some("interface is down"));
    run(&bench, &tree, "set interface state t0 up");
    assert_eq!((flags("t0.100"), flags("t0.7")), ((true, true), (true, true)));
}

#[suite::test]
fn they_follow_their_parent() {
    let (bench, parent, tree) = bench();
    let interfaces: Arc<Interfaces> = bench.world.get();
    assert_eq!(run(&bench, &tree, "create sub-interfaces t0 10-12"), "t0.10\nt0.11\nt0.12\n");
    assert_eq!(
        run(&bench, &tree, "create sub-interfaces t0 11-13"),
        "t0.13\n",
        "those that are there stay"
    );
    run(&bench, &tree, "set interface mac address t0 02:00:00:00:00:99");
    run(&bench, &tree, "set interface mtu 1400 t0");
    run(&bench, &tree, "set interface name t0 wan");
    for sub in interfaces.subs(parent) {
        let sub = interfaces.get(sub).expect("there");
        assert!(sub.name.starts_with("wan.1"), "{}", sub.name);
        assert_eq!(
            (sub.mac, sub.mtu_of(net::MtuKind::Ip4)),
            (MacAddr([2, 0, 0, 0, 0, 0x99]), 1400)
        );
    }
    let table = run(&bench, &tree, "show sub-interfaces");
    assert_eq!(table.lines().count(), 5, "{table}");
    assert!(table.contains("dot1q 12 exact-match"), "{table}");
    assert!(run(&bench, &tree, "show interface wan.12").contains("0/0/0/0"), "the parent's");
    for line in [
        "set interface mac address wan.10 02:00:00:00:00:01",
        "set interface mtu 1300 wan.10",
        "set interface name wan.10 x",
        "create sub-interfaces wan.10 5",
        "create sub-interfaces local0 5",
        "create sub-interfaces wan 5000",
        "create sub-interfaces wan 4000-5000",
        "create sub-interfaces wan 0",
        "create sub-interfaces wan 10",
        "create sub-interfaces wan 20 dot1q 10",
        "create sub-interfaces wan 20 dot1q 4095",
        "create sub-interfaces wan 20 dot1q 0",
        "create sub-interfaces wan 20 dot1q x",
        "create sub-interfaces wan 20 untagged",
        "create sub-interfaces wan 20 dot1q any exact-match",
        "create sub-interfaces wan 20-21 dot1q 20",
        "delete sub-interface wan",
        "delete sub-interface wan.9",
    ] {
        assert!(tree.answer(&bench.world, line).is_err(), "{line}");
    }
    run(&bench, &tree, "delete sub-interface wan.10");
    assert!(interfaces.find("wan.10").is_err());
    // Numbers of interfaces that are gone are used again, but above the parent's: it is restored
    // before.
    let first =
        interfaces.create(&bench.world, ethernet("t1", MacAddr([2, 0, 0, 0, 0, 2])), |_, _, _| Tx);
    let second =
        interfaces.create(&bench.world, ethernet("t2", MacAddr([2, 0, 0, 0, 0, 3])), |_, _, _| Tx);
    let (first, second) = (first.expect("made"), second.expect("made"));
    interfaces.delete(&bench.world, first).expect("gone");
    run(&bench, &tree, "create sub-interfaces t2 5");
    assert!(interfaces.find("t2.5").expect("there") > second);
    interfaces.delete(&bench.world, second).expect("gone");
    assert!(interfaces.find("t2.5").is_err());
}

#[suite::test]
fn messages_make_and_delete_them() {
    let (bench, parent, tree) = bench();
    let mut client = bench.api();
    let parent = InterfaceIndex(parent.0);
    let vlan = |vlan_id| CreateVlanSubif { sw_if_index: parent, vlan_id };
    let first = client.call(vlan(100)).expect("made").sw_if_index;
    assert_eq!(client.call(vlan(100)).err(), Some(-56), "the number is there");
    for id in [0, 4095, 70000] {
        assert_eq!(client.call(vlan(id)).err(), Some(-55));
    }
    assert_eq!(
        client.call(CreateVlanSubif { sw_if_index: InterfaceIndex(77), vlan_id: 1 }).err(),
        Some(-2)
    );
    assert_eq!(client.call(CreateVlanSubif { sw_if_index: first, vlan_id: 1 }).err(), Some(-71));
    let sub = |sub_id, flags, outer_vlan_id, inner_vlan_id| CreateSubif {
        sw_if_index: parent,
        sub_id,
        sub_if_flags: flags,
        outer_vlan_id,
        inner_vlan_id,
    };
    let exact = SubIfFlags::TWO_TAGS | SubIfFlags::EXACT_MATCH;
    let second =
        client.call(sub(5, exact | SubIfFlags::DOT1AD, 100, 200)).expect("made").sw_if_index;
    assert_eq!(client.call(sub(5, exact, 1, 2)).err(), Some(-56), "the number");
    assert_eq!(
        client.call(sub(6, exact | SubIfFlags::DOT1AD, 100, 200)).err(),
        Some(-1),
        "the tags"
    );
    assert_eq!(client.call(sub(6, SubIfFlags::NO_TAGS, 0, 0)).err(), Some(-1));
    assert_eq!(client.call(sub(6, SubIfFlags(0), 0, 0)).err(), Some(-7));
    assert_eq!(client.call(sub(6, SubIfFlags::ONE_TAG, 4095, 0)).err(), Some(-55));
    // The number may be 0, in commands as in messages.
    let zero = client.call(sub(0, exact, 7, 8)).expect("made").sw_if_index;
    let line = "create sub-interfaces t0 0 dot1q 7 inner-dot1q 8 exact-match";
    let config = bench.world.running_config();
    assert!(config.iter().any(|said| said.text.starts_with(line)), "{config:?}");
    assert_eq!(client.call(DeleteSubif { sw_if_index: zero }), Ok(()));
    assert!(run(&bench, &tree, line).starts_with("t0.0"));
    run(&bench, &tree, "delete sub-interface t0.0");
    let default = client.call(sub(7, SubIfFlags::DEFAULT, 0, 0)).expect("made").sw_if_index;
    let any = SubIfFlags::TWO_TAGS | SubIfFlags::INNER_VLAN_ID_ANY;
    let any = client.call(sub(8, any, 9, 0)).expect("made").sw_if_index;
    let all = client.dump(SwInterfaceDump {
        sw_if_index: InterfaceIndex::NONE,
        name_filter_valid: true,
        name_filter: "t0.".into(),
    });
    let told: Vec<_> = all
        .iter()
        .map(|d| {
            assert_eq!((d.sup_sw_if_index, d.r#type), (parent.0, IfType::Sub));
            assert_eq!(MacAddr::from(d.l2_address), MacAddr([2, 0, 0, 0, 0, 1]));
            let tags = (d.sub_number_of_tags, d.sub_outer_vlan_id, d.sub_inner_vlan_id);
            (d.sw_if_index, d.interface_name.as_str(), d.sub_id, tags, d.sub_if_flags.0)
        })
        .collect();
    let want = [
        (first, "t0.100", 100, (1, 100, 0), 2 | 16),
        (second, "t0.5", 5, (2, 100, 200), 4 | 8 | 16),
        (default, "t0.7", 7, (0, 0, 0), 32),
        (any, "t0.8", 8, (2, 9, 0), 4 | 128),
    ];
    assert_eq!(told, want);
    for (sw_if_index, want) in
        [(first, Ok(())), (first, Err(-2)), (parent, Err(-98)), (InterfaceIndex(77), Err(-2))]
    {
        assert_eq!(client.call(DeleteSubif { sw_if_index }), want);
    }
}
