// SPDX-License-Identifier: Apache-2.0
//! Broken messages: each is answered, noted, or dropped by name.

use super::*;
use testkit::mutate::Mutator;

#[suite::test]
fn every_broken_message_is_answered_noted_or_dropped_by_name() {
    let mut r = rig();
    r.run("ip6 nd t0 no ra-suppress");
    r.run("set ip6 dad enable");
    r.add_address("2001:db8:5::1/64");
    r.run("set interface ip6-nd proxy t0 enable");
    let link = link_option(NdOptionKind::SOURCE_LINK, PEER);
    let all_nodes = MacAddr([0x33, 0x33, 0, 0, 0, 1]);
    let rest = 64 << 24 | 1800;
    let prefix =
        wire::nd::PrefixInfo::new("2001:db8:42::/64".parse().expect("a prefix"), 0xc0, 7300, 100);
    let behind = [&[0; 8][..], &link, prefix.as_bytes()].concat();
    let bases = [
        solicitation(HIM, US, &link),
        solicitation("::", US, &[]),
        solicitation("::", "2001:db8:5::1", &[14, 1, 1, 2, 3, 4, 5, 6]),
        solicitation(HIM_LOCAL, US_LOCAL, &link),
        advertisement(HIM, 0x6000_0000, PEER),
        advertisement(HIM, 0x2000_0000, PEER),
        message(
            (PEER, all_nodes),
            (HIM_LOCAL, "ff02::1"),
            (Icmp6Type::ROUTER_ADVERTISEMENT, 0, rest),
            &behind,
            255,
        ),
        message(
            (PEER, all_nodes),
            (HIM_LOCAL, "ff02::2"),
            (Icmp6Type::ROUTER_SOLICITATION, 0, 0),
            &link,
            255,
        ),
        message(
            (PEER, all_nodes),
            (HIM_LOCAL, "ff02::1"),
            (Icmp6Type::MLD_QUERY, 0, 0),
            &[0; 20],
            1,
        ),
    ];
    let mut mutator = Mutator::new(0x6d);
    let (mut frame, mut answered, mut dropped, mut passed) = (Vec::new(), 0u32, 0u32, 0u32);
    for i in 0..50_000 {
        mutator.next_frame(&bases, &mut frame);
        frame.truncate(2000);
        // Half of them get a right checksum: otherwise nearly all end there.
        if i % 2 == 0 && frame.len() > 14 {
            let _ = wire::l4::finish(&mut frame[14..]);
        }
        if i % 100 == 0 {
            r.neighbors.flush(&r.bench.world, true, None);
            r.pass(1);
            r.sent();
        }
        let before = r.bench.drops();
        r.receive(&frame);
        let answers = r
            .sent()
            .iter()
            .filter(|f| f.len() == 86 && f[21] == 255 && f[54] == 136 && f[..6] != all_nodes.0)
            .count();
        match (r.bench.drops() - before, answers) {
            (1, 0) => dropped += 1,
            (0, 1) => answered += 1,
            (0, 0) => passed += 1,
            other => panic!("{other:?} became of {frame:02x?}"),
        }
    }
    assert!(answered > 1000 && passed > 3000 && dropped > 20_000, "{answered} {passed} {dropped}");
    for n in r.neighbors.list(true, None) {
        assert!(n.mac.is_unicast() && !n.mac.is_zero() && n.mac != OWN, "{n:?}");
    }
}
