// SPDX-License-Identifier: Apache-2.0
//! Broken frames: each is answered, noted, or dropped by name.

use super::*;
use testkit::mutate::Mutator;

#[suite::test]
fn every_broken_frame_is_answered_noted_or_dropped_by_name() {
    let mut r = rig();
    let (us, peer) = ((OWN, [10, 0, 0, 1]), (PEER, [10, 0, 0, 9]));
    let bases = [
        request(peer, us.1),
        reply(peer),
        request(peer, peer.1),
        request((PEER, [0; 4]), us.1),
        request(peer, [10, 0, 0, 77]),
        request((PEER, us.1), us.1),
        arp(1, peer, us, OWN),
    ];
    // Proxy ARP sees what is for others.
    crate::set_proxy(&r.bench.world, r.t0, true).expect("set");
    let range = crate::Range { table: 0, start: [10, 0, 0, 70].into(), end: [10, 0, 0, 80].into() };
    r.bench.world.get::<crate::Ranges>().add(range).expect("added");
    let mut mutator = Mutator::new(0xa49);
    let (mut frame, mut answered, mut noted, mut dropped) = (Vec::new(), 0u32, 0u32, 0u32);
    let heard = |r: &Rig| ["rx/replies", "rx/gratuitous"].map(|c| r.counted(c)).iter().sum::<u64>();
    for i in 0..50_000 {
        mutator.next_frame(&bases, &mut frame);
        frame.truncate(2000);
        // A host that became a neighbour is deleted now and then, and may be learned again.
        if i % 100 == 0 {
            r.neighbors.flush(&r.bench.world, false, None);
            r.pass(1);
            r.sent();
        }
        let (drops, heard_before) = (r.bench.drops(), heard(&r));
        r.receive(&frame);
        // A conflict is dropped, and our address defended.
        let defence = |f: &Vec<u8>| f[..6] == [0xff; 6] && f[6..12] == OWN.0;
        let sent: Vec<_> = r.sent().into_iter().filter(|f| !defence(f)).collect();
        let now = r.bench.drops() - drops;
        match (now, sent.as_slice()) {
            (1, []) => dropped += 1,
            (0, [answer]) => {
                assert_eq!(
                    (&answer[6..12], &answer[20..22]),
                    (&OWN.0[..], &[0, 2][..]),
                    "{frame:02x?}"
                );
                answered += 1;
            }
            (0, []) if heard(&r) == heard_before + 1 => noted += 1,
            other => panic!("{other:?} became of {frame:02x?}"),
        }
    }
    assert!(answered > 3000 && noted > 1000 && dropped > 10_000, "{answered} {noted} {dropped}");
    for n in r.neighbors.list(false, None) {
        assert!(n.mac.is_unicast() && !n.mac.is_zero() && n.mac != OWN, "{n:?}");
        assert!(matches!(n.ip, std::net::IpAddr::V4(a) if a.octets()[..3] == [10, 0, 0]), "{n:?}");
    }
}
