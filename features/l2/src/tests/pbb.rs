// SPDX-License-Identifier: Apache-2.0
//! Headers of backbone bridges.

use super::*;
use crate::api::L2InterfacePbbTagRewrite;
use net::api::{InterfaceIndex, MacAddress};
use net::{BackboneRewrite, Column};

const WORDS: &str = "dmac 02:b0:00:00:00:01 smac 02:b0:00:00:00:02 s_id 11259375 b_vlanid 291";

/// A frame behind the header that [`WORDS`] describe. Scapy makes the same bytes.
fn behind(frame: &[u8]) -> Vec<u8> {
    let addresses = [2, 0xb0, 0, 0, 0, 1, 2, 0xb0, 0, 0, 0, 2];
    let tags = [0x88, 0xa8, 0x01, 0x23, 0x88, 0xe7, 0x00, 0xab, 0xcd, 0xef];
    [&addresses[..], &tags, frame].concat()
}

#[suite::test]
fn received_frames_get_the_header_and_sent_ones_lose_it() {
    for (op, outer) in [("push", 1), ("pop", 0)] {
        let mut rig = rig(2);
        rig.cli("set interface l2 xconnect p0 p1");
        rig.cli("set interface l2 xconnect p1 p0");
        rig.cli(&format!("set interface l2 pbb-tag-rewrite p0 {op} {WORDS}"));
        let inner = 1 - outer;
        for (n, len) in [14, 60, 300, 1514, 2030, 5000].into_iter().enumerate() {
            let mut frame = frame(1, 2, n as u8);
            frame.resize(len, n as u8);
            assert_eq!(rig.pass(inner, &frame), at(&[outer], &behind(&frame)), "{op}, {len} bytes");
            assert_eq!(rig.pass(outer, &behind(&frame)), at(&[inner], &frame), "{op}, {len} bytes");
        }
        // A vector, in which frames differ.
        let frames: Vec<_> = (0..200).map(|n| frame(1, 2, n)).collect();
        let mut want: Vec<_> =
            frames.iter().flat_map(|frame| at(&[outer], &behind(frame))).collect();
        want.sort();
        assert_eq!(rig.pass_all(inner, &frames), want);
        rig.cli("set interface l2 pbb-tag-rewrite p0 disable");
        assert_eq!(rig.pass(0, &frames[0]), at(&[1], &frames[0]));
        assert_eq!(rig.pass(1, &frames[0]), at(&[0], &frames[0]));
        assert_eq!(rig.bench.drops(), 0);
    }
}

#[suite::test]
fn addresses_are_learned_below_the_header() {
    let mut rig = bridged(3);
    rig.cli(&format!("set interface l2 pbb-tag-rewrite p0 pop {WORDS}"));
    assert_eq!(rig.pass(0, &behind(&frame(1, 2, 3))), at(&[1, 2], &frame(1, 2, 3)));
    assert_eq!(rig.pass(1, &frame(2, 1, 4)), at(&[0], &behind(&frame(2, 1, 4))));
    assert_eq!(rig.pass(0, &behind(&frame(1, 2, 5))), at(&[1], &frame(1, 2, 5)));
    let detail = rig.cli("show bridge-domain 1 detail");
    assert!(detail.contains("pbb pop 291 i-sid 11259375"), "{detail}");
}

#[suite::test]
fn frames_without_the_header_are_dropped_by_name() {
    let mut rig = rig(2);
    rig.cli("set interface l2 xconnect p0 p1");
    rig.cli("set interface l2 xconnect p1 p0");
    let good = behind(&frame(1, 2, 3));
    let with = |at: usize, byte: u8| {
        let mut frame = good.clone();
        frame[at] = byte;
        frame
    };
    // Other types of the tags, and frames that end before the inner Ethernet header does.
    let bad = [
        frame(1, 2, 3),
        with(12, 0x81),
        with(13, 0),
        with(16, 0x81),
        with(17, 0),
        good[..35].to_vec(),
    ];
    for (op, port, node, counter) in [
        ("pop", 0, "l2-input-vtr", "L2 input tag rewrite drops"),
        ("push", 1, "l2-output", "L2 output tag rewrite drops"),
    ] {
        rig.cli(&format!("set interface l2 pbb-tag-rewrite p0 {op} {WORDS}"));
        for frame in bad.iter().cloned().chain((14..35).map(|len| good[..len].to_vec())) {
            assert_eq!(rig.pass(port, &frame), [], "{frame:02x?}");
        }
        assert_eq!(rig.count(node, counter), 6 + 21);
        let least = &good[..36];
        assert_eq!(rig.pass(port, least), at(&[1 - port], &least[22..]));
    }
}

#[suite::test]
fn tag_rewriting_takes_precedence() {
    let mut rig = rig(2);
    rig.cli("set interface l2 xconnect p0 p1");
    rig.cli("set interface l2 xconnect p1 p0");
    rig.cli(&format!("set interface l2 pbb-tag-rewrite p0 push {WORDS}"));
    rig.cli("set interface l2 tag-rewrite p0 push dot1q 5");
    let plain = frame(1, 2, 3);
    let mut tagged = plain.clone();
    tagged.splice(12..12, [0x81, 0, 0, 5]);
    assert_eq!(rig.pass(0, &plain), at(&[1], &tagged));
    rig.cli("set interface l2 tag-rewrite p0 disable");
    assert_eq!(rig.pass(0, &plain), at(&[1], &behind(&plain)));
    // It holds in whatever mode, and ends with the interface.
    rig.cli("set interface l3 p0");
    rig.cli("set interface l2 xconnect p0 p1");
    assert_eq!(rig.pass(0, &plain), at(&[1], &behind(&plain)));
    rig.delete_port(0);
    rig.add_port(0);
    rig.cli("set interface l2 xconnect p0 p1");
    rig.cli("set interface l2 xconnect p1 p0");
    assert_eq!(rig.pass(0, &plain), at(&[1], &plain));
}

#[suite::test]
fn rewrites_that_cant_be_are_refused() {
    let mut rig = rig(1);
    for line in
        ["p0 push", "p0 pop dmac 02:b0:00:00:00:01 smac 02:b0:00:00:00:02", "p0 push s_id 5"]
    {
        let (_, why) = rig.refused(&format!("set interface l2 pbb-tag-rewrite {line}"));
        assert!(why.contains("is missing"), "{why}");
    }
    let port = rig.ports[0].0;
    let message = |sw_if: u32, vtr_op, b_vlanid, i_sid| L2InterfacePbbTagRewrite {
        sw_if_index: InterfaceIndex(sw_if),
        vtr_op,
        outer_tag: 0,
        b_dmac: MacAddress([2, 0xb0, 0, 0, 0, 1]),
        b_smac: MacAddress([2, 0xb0, 0, 0, 0, 2]),
        b_vlanid,
        i_sid,
    };
    let mut client = rig.bench.api();
    for (sw_if, op, vlan, service, want) in [
        (port, 2, 4094, 0xff_ffff, Ok(())),
        (port, 4, 0, 0, Ok(())),
        (port, 7, 1, 1, Err(-9)),
        (port, 1, 1, 1, Err(-7)),
        (port, 9, 1, 1, Err(-7)),
        (port, 2, 4095, 1, Err(-7)),
        (port, 2, 1, 0x100_0000, Err(-7)),
        (99, 2, 1, 1, Err(-2)),
        (0, 2, 1, 1, Err(-71)),
    ] {
        assert_eq!(client.call(message(sw_if, op, vlan, service)), want, "{op} {vlan} {service}");
    }
    drop(client);
    let world = rig.world();
    let set = || world.get::<Column<Option<BackboneRewrite>>>().get(SwIfIndex(port));
    let (destination, source) = (MacAddr([2, 0xb0, 0, 0, 0, 1]), MacAddr([2, 0xb0, 0, 0, 0, 2]));
    assert_eq!(set(), Some(BackboneRewrite { op: 4, destination, source, vlan: 0, service: 0 }));
    assert_eq!(rig.bench.api().call(message(port, 0, 0, 0)), Ok(()));
    assert_eq!(set(), None);
}
