// SPDX-License-Identifier: Apache-2.0
//! VLANs in bridge domains: sub-interfaces as ports, and tag rewriting.

use super::*;
use crate::vtr::{compile, describe, words};
use net::{Interface, SubFrames, TagRewrite, Tags, Vlan};
use proptest::prelude::*;

const Q: u16 = 0x8100;
const AD: u16 = 0x88a8;

/// A frame with tags (protocol, TCI).
fn tagged(tags: &[(u16, u16)], frame: &[u8]) -> Vec<u8> {
    let tags = tags.iter().flat_map(|(kind, tci)| [*kind, *tci]).flat_map(u16::to_be_bytes);
    frame[..12].iter().copied().chain(tags).chain(frame[12..].iter().copied()).collect()
}

/// Makes sub-interfaces, which are up, members of domain 1.
fn subs(rig: &mut Rig, lines: &[&str]) {
    for line in lines {
        let name = rig.cli(&format!("create sub-interfaces {line}"));
        let name = name.trim_end();
        rig.cli(&format!("set interface state {name} up"));
        rig.cli(&format!("set interface l2 bridge {name} 1"));
    }
}

#[suite::test]
fn sub_interfaces_are_ports_that_leave_tags_alone() {
    let mut rig = rig(3);
    subs(&mut rig, &["p0 100", "p1 200", "p2 1 dot1q 7 inner-dot1q 8 exact-match"]);
    let plain = frame(1, 2, 5);
    let sent = tagged(&[(Q, 0xa064)], &plain);
    assert_eq!(rig.pass(0, &sent), at(&[1, 2], &sent), "as it came, priority too");
    // The other host is learned at p1, below its tag.
    let answer = tagged(&[(Q, 200)], &frame(2, 1, 6));
    assert_eq!(rig.pass(1, &answer), at(&[0], &answer));
    assert_eq!(rig.pass(0, &sent), at(&[1], &sent));
    // Other frames of the ports belong to no sub-interface.
    for (port, other) in [
        (0, tagged(&[(Q, 101)], &plain)),
        (0, tagged(&[(Q, 100), (Q, 1)], &plain)),
        (2, tagged(&[(Q, 7)], &plain)),
    ] {
        assert_eq!(rig.pass(port, &other), []);
    }
    assert_eq!(rig.pass(0, &plain), [], "p0 itself routes");
}

#[suite::test]
fn vlans_meet_through_rewrites() {
    let mut rig = rig(4);
    subs(&mut rig, &["p0 100", "p1 200", "p2 300 dot1ad 300 inner-dot1q 8 exact-match"]);
    rig.cli("set interface l2 bridge p3 1");
    for line in ["p0.100 pop 1", "p1.200 pop 1", "p2.300 pop 2", "p3 disable"] {
        rig.cli(&format!("set interface l2 tag-rewrite {line}"));
    }
    let plain = frame(1, 2, 5);
    let came = tagged(&[(Q, 100)], &plain);
    let want = vec![
        (1, tagged(&[(Q, 200)], &plain)),
        (2, tagged(&[(AD, 300), (Q, 8)], &plain)),
        (3, plain.clone()),
    ];
    assert_eq!(rig.pass(0, &came), want);
    let back = frame(2, 1, 9);
    assert_eq!(
        rig.pass(2, &tagged(&[(AD, 300), (Q, 8)], &back)),
        at(&[0], &tagged(&[(Q, 100)], &back))
    );
    assert_eq!(
        rig.pass(3, &frame(4, 2, 3)),
        at(&[2], &tagged(&[(AD, 300), (Q, 8)], &frame(4, 2, 3)))
    );
    let detail = rig.cli("show bridge-domain 1 detail");
    assert!(detail.contains("pop-2"), "{detail}");
    rig.cli("set interface l2 tag-rewrite p0.100 disable");
    assert_eq!(rig.pass(0, &came), at(&[2], &tagged(&[(AD, 300), (Q, 8)], &came)), "one tag more");
}

#[suite::test]
fn the_interface_itself_can_push() {
    let mut rig = bridged(2);
    rig.cli("set interface l2 tag-rewrite p0 push dot1ad 10 20");
    let plain = frame(1, 2, 5);
    let pushed = tagged(&[(AD, 10), (Q, 20)], &plain);
    assert_eq!(rig.pass(0, &plain), at(&[1], &pushed));
    let back = frame(2, 1, 6);
    assert_eq!(
        rig.pass(1, &tagged(&[(AD, 11), (Q, 20)], &back)),
        at(&[0], &back),
        "whatever they say, two tags go"
    );
    for short in [back.clone(), tagged(&[(Q, 10)], &back), tagged(&[(Q, 10)], &back)[..15].to_vec()]
    {
        assert_eq!(rig.pass(1, &short), []);
    }
    assert_eq!(rig.count("l2-output", "L2 output tag rewrite drops"), 3);
    rig.cli("set interface l2 xconnect p0 p1");
    assert_eq!(rig.pass(0, &plain), at(&[1], &pushed), "in cross-connects too");
}

#[suite::test]
fn a_filter_lets_only_own_frames_leave() {
    let mut rig = rig(2);
    subs(&mut rig, &["p0 100", "p1 200"]);
    rig.cli("set interface l2 tag-rewrite p0.100 translate 1-1 dot1q 5");
    rig.cli("set interface l2 efp-filter p0.100");
    let plain = frame(1, 2, 5);
    // p1's frames have the tag 200, and p0.100 gives its own 5.
    assert_eq!(rig.pass(1, &tagged(&[(Q, 200)], &plain)), []);
    assert_eq!(rig.count("l2-output", "L2 EFP filter pre-rewrite drops"), 1);
    rig.cli("set interface l2 tag-rewrite p1.200 translate 1-1 dot1q 5");
    assert_eq!(rig.pass(1, &tagged(&[(Q, 200)], &plain)), at(&[0], &tagged(&[(Q, 100)], &plain)));
    let two = tagged(&[(Q, 200), (Q, 9)], &plain);
    rig.cli("create sub-interfaces p1 201 dot1q 200 inner-dot1q any");
    rig.cli("set interface state p1.201 up");
    rig.cli("set interface l2 bridge p1.201 1");
    rig.cli("set interface l2 tag-rewrite p1.201 pop 1");
    rig.cli("set interface l2 tag-rewrite p0.100 disable");
    // p1.200 takes whatever tag there is for the one that it gave.
    let other = tagged(&[(Q, 200)], &plain);
    assert_eq!(rig.pass(1, &two), at(&[1], &other), "9 is no VLAN of p0.100");
    assert_eq!(rig.count("l2-efp-filter", "L2 EFP filter post-rewrite drops"), 1);
    rig.cli("set interface l2 efp-filter p0.100 disable");
    assert_eq!(rig.pass(1, &two), [(0, tagged(&[(Q, 9)], &plain)), (1, other)]);
    let (code, _) = rig.refused("set interface l2 efp-filter p0");
    assert_eq!(code, -71);
}

#[suite::test]
fn rewrites_that_cant_be_are_refused() {
    let mut rig = rig(1);
    subs(&mut rig, &["p0 100", "p0 1 dot1q any", "p0 2 dot1q 7 inner-dot1q any"]);
    for (line, want) in [
        ("p0 pop 1", -72),
        ("p0 translate 1-1 dot1q 5", -72),
        ("p0.100 pop 2", -72),
        ("p0.1 pop 1", -72),
        ("p0.2 pop 2", -72),
        ("p0.100 push dot1q 4095", -7),
        ("local0 push dot1q 5", -71),
    ] {
        assert_eq!(rig.refused(&format!("set interface l2 tag-rewrite {line}")).0, want, "{line}");
    }
    for line in ["p0.100 translate 1-2 dot1q 5", "p0.100 translate 1-1 dot1q 5 6", "p0.100 pop 3"] {
        rig.refused(&format!("set interface l2 tag-rewrite {line}"));
    }
    rig.cli("set interface l2 tag-rewrite p0.2 pop 1");
    let world = rig.world();
    let mut client = rig.bench.api();
    let sub = world.get::<Interfaces>().find("p0.100").expect("there").into();
    let ask = |vtr_op, tag1| crate::api::L2InterfaceVlanTagRewrite {
        sw_if_index: sub,
        vtr_op,
        push_dot1q: 1,
        tag1,
        tag2: 0,
    };
    for (op, tag, want) in
        [(0, 0, Ok(())), (5, 70, Ok(())), (9, 0, Err(-7)), (1, 70_000, Err(-7)), (4, 0, Err(-72))]
    {
        assert_eq!(client.call(ask(op, tag)), want, "{op} {tag}");
    }
    let sub = net::api::InterfaceIndex(sub.0).existing(&world).expect("there");
    let now = world.get::<net::Column<TagRewrite>>().get(sub);
    assert_eq!(now, TagRewrite { op: 5, dot1q: true, tags: [70, 0] });
    assert_eq!(
        (describe(now), words(now)),
        ("trans-1-1 dot1q 70".into(), "translate 1-1 dot1q 70".into())
    );
}

/// Rewrites a list of tags: the simple reference.
fn by_hand(tags: &[(u16, u16)], pop: usize, push: &[(u16, u16)]) -> Option<Vec<(u16, u16)>> {
    Some(push.iter().chain(tags.get(pop..)?).copied().collect())
}

proptest! {
    #[suite::test]
    fn what_comes_in_leaves_as_it_came(
        op in 0..9u32,
        dot1q: bool,
        ids in (1..4095u16, 1..4095u16),
        own in (any::<bool>(), 1..4095u16, 1..4095u16),
        more in prop::collection::vec(1..4095u16, 0..3),
    ) {
        let mut bench = Bench::new(PLUGINS);
        let world = bench.world.clone();
        let new = ethernet("p0", port_mac(0));
        let sw_if = world.get::<Interfaces>().create(&world, new, |_, _, _| net::drive::Tx).expect("made");
        let tags = Tags { dot1ad: own.0, outer: Vlan::Id(own.1), inner: Some(Vlan::Id(own.2)), exact: true };
        let sub = net::SubInterface { id: 1, frames: SubFrames::Tagged(tags) };
        let interface = Interface { sub: Some(sub), ..world.get::<Interfaces>().get(sw_if).expect("there") };
        let rewrites = compile(&interface, TagRewrite { op, dot1q, tags: [ids.0, ids.1] }).expect("possible");
        let came: Vec<_> = [(if own.0 { AD } else { Q }, own.1), (Q, own.2)]
            .into_iter()
            .chain(more.into_iter().map(|id| (Q, id)))
            .collect();
        let (pop, push) = [(0, 0), (0, 1), (0, 2), (1, 0), (2, 0), (1, 1), (1, 2), (2, 1), (2, 2)][op as usize];
        let pushed = [(if dot1q { Q } else { AD }, ids.0), (Q, ids.1)];
        let want = by_hand(&came, pop, &pushed[..push]).expect("tags enough");
        let plain = frame(1, 2, 3);
        let mut b = bench.rt.cache().alloc().expect("room");
        prop_assert!(b.set_data(&tagged(&came, &plain)));
        prop_assert!(rewrites.input.apply(&mut b));
        prop_assert_eq!(b.data(), tagged(&want, &plain));
        prop_assert!(rewrites.may_leave(&b));
        prop_assert!(rewrites.output.apply(&mut b));
        prop_assert_eq!(b.data(), tagged(&came, &plain));
        bench.rt.cache().free(b);
    }
}
