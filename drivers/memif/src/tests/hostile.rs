// SPDX-License-Identifier: Apache-2.0
//! Rings whose other end writes anything.

use super::peer::take;
use crate::io::{Buffers, Desc, Event, Layout, Region, Regions, Ring, RxRing, TxRing};
use buffer::MAX_PACKET;
use driver::Loss;
use std::sync::Arc;
use testkit::Rng;
use wire::offload::Offload;

const LOG2: u8 = 5;
const SIZE: u16 = 1 << LOG2;

fn memory() -> (Regions, Ring, Layout) {
    let layout = Layout { s2m: 1, m2s: 0, log2: LOG2, buffer: 256 };
    let len = layout.len().expect("it fits");
    let region = Arc::new(Region::create(len).expect("memory"));
    let ring = Ring::new(region.clone(), 0, LOG2).expect("it fits");
    ring.init();
    (vec![region].into(), ring, layout)
}

fn event() -> Arc<Event> {
    Arc::new(Event::new().expect("an eventfd"))
}

/// A ring with frames as a client makes them, and the server's end of it.
fn server() -> (TxRing, RxRing, Ring, Buffers) {
    let (regions, ring, layout) = memory();
    let event = event();
    let own = layout.buffers(0);
    let tx = TxRing::new(ring.clone(), regions.clone(), Some(own), event.clone());
    (tx, RxRing::new(ring.clone(), regions, None, event), ring, own)
}

fn send(tx: &mut TxRing, frames: &[Vec<u8>]) -> Vec<Loss> {
    let mut lost = Vec::new();
    tx.send(frames.iter().map(|f| (Offload::NONE, [&f[..]].into_iter())), |_, loss| {
        lost.push(loss)
    });
    lost
}

fn frame(n: u8, len: usize) -> Vec<u8> {
    (0..len).map(|i| (i as u8).wrapping_mul(31) ^ n).collect()
}

#[suite::test]
fn a_broken_chain_is_dropped_as_a_whole() {
    type Break = fn(&Ring, &mut Desc);
    let breaks: [Break; 4] = [
        |_, desc| desc.region = 1,
        |_, desc| desc.offset = u32::MAX,
        |_, desc| desc.len = u32::MAX,
        |_, desc| desc.len = 1 << 20,
    ];
    for broken in 0..3 {
        for change in breaks {
            let (mut tx, mut rx, ring, _) = server();
            let frames = [frame(1, 600), frame(2, 600), frame(3, 100)];
            assert_eq!(send(&mut tx, &frames), []);
            let mut desc = ring.desc(3 + broken);
            change(&ring, &mut desc);
            ring.set_desc(3 + broken, desc);
            assert_eq!(take(&mut rx), [frames[0].clone(), frames[2].clone()]);
            assert_eq!((rx.take_bad(), ring.tail()), (1, 7));
        }
    }
}

#[suite::test]
fn the_rest_of_a_broken_chain_that_comes_later_is_no_packet() {
    let (_tx, mut rx, ring, own) = server();
    // A bad descriptor that goes on.
    ring.set_desc(0, Desc { flags: 1, region: 9, len: 10, offset: 0 });
    ring.set_head(1);
    assert!(take(&mut rx).is_empty());
    assert_eq!((rx.take_bad(), ring.tail()), (1, 1));
    // Its rest, and a packet.
    ring.set_desc(1, Desc { flags: 1, region: 0, len: 20, offset: own.offset(1) });
    ring.set_desc(2, Desc { flags: 0, region: 0, len: 20, offset: own.offset(2) });
    ring.set_head(3);
    assert!(take(&mut rx).is_empty());
    assert_eq!((rx.take_bad(), ring.tail()), (0, 3));
    ring.set_desc(3, Desc { flags: 0, region: 0, len: 64, offset: own.offset(3) });
    ring.set_head(4);
    assert_eq!(take(&mut rx), [[0; 64]]);
}

/// A chain is read from its first descriptor whenever it has grown, so it may not be as long as a
/// large ring.
#[suite::test]
fn a_chain_that_is_too_long_is_dropped_before_its_end() {
    let layout = Layout { s2m: 1, m2s: 0, log2: 12, buffer: 64 };
    let region = Arc::new(Region::create(layout.len().expect("it fits")).expect("memory"));
    let ring = Ring::new(region.clone(), 0, layout.log2).expect("it fits");
    ring.init();
    let own = layout.buffers(0);
    let mut rx = RxRing::new(ring.clone(), vec![region].into(), None, event());
    for n in 0..2000 {
        ring.set_desc(n, Desc { flags: 1, region: 0, len: 1, offset: own.offset(n.into()) });
    }
    ring.set_head(1023);
    assert!(take(&mut rx).is_empty());
    assert_eq!((rx.take_bad(), ring.tail()), (0, 0));
    ring.set_head(2000);
    assert!(take(&mut rx).is_empty());
    assert_eq!((rx.take_bad(), ring.tail()), (1, 2000));
    // The end of the chain, and a packet.
    ring.set_desc(2000, Desc { flags: 0, region: 0, len: 1, offset: 0 });
    ring.set_desc(2001, Desc { flags: 0, region: 0, len: 64, offset: own.offset(2001) });
    ring.set_head(2002);
    assert_eq!(take(&mut rx), [[0; 64]]);
    assert_eq!((rx.take_bad(), ring.tail()), (0, 2002));
}

#[suite::test]
fn a_packet_that_is_published_in_parts_is_waited_for() {
    let (_tx, mut rx, ring, own) = server();
    ring.set_desc(0, Desc { flags: 1, region: 0, len: 256, offset: own.offset(0) });
    ring.set_head(1);
    assert!(take(&mut rx).is_empty() && take(&mut rx).is_empty());
    ring.set_desc(1, Desc { flags: 0, region: 0, len: 4, offset: own.offset(1) });
    ring.set_head(2);
    assert_eq!((take(&mut rx).len(), rx.take_bad()), (1, 0));
    // One that never ends fills the ring: it is dropped.
    for n in 2..2 + SIZE {
        ring.set_desc(n, Desc { flags: 1, region: 0, len: 1, offset: 0 });
    }
    ring.set_head(2 + SIZE);
    assert!(take(&mut rx).is_empty());
    assert_eq!((rx.take_bad(), ring.tail()), (1, 2 + SIZE));
}

#[suite::test]
fn impossible_indices_are_counted_once_and_move_nothing() {
    let (mut tx, mut rx, ring, _) = server();
    ring.set_head(SIZE + 1);
    assert!(take(&mut rx).is_empty() && take(&mut rx).is_empty());
    assert_eq!((rx.take_bad(), ring.tail()), (1, 0));
    ring.set_head(0);
    ring.set_tail(1);
    assert_eq!(
        send(&mut tx, &[frame(1, 60)]),
        [Loss::Full],
        "the server can't be in front of the client"
    );
}

#[suite::test]
fn a_frame_without_room_leaves_no_trace() {
    let (mut tx, mut rx, ring, _) = server();
    let frames: Vec<_> = (0..40).map(|n| frame(n, 1000)).collect();
    let lost = send(&mut tx, &frames);
    // Four descriptors each.
    assert_eq!((lost.len(), ring.head()), (32, SIZE));
    assert!(lost.iter().all(|loss| *loss == Loss::Full));
    assert_eq!(take(&mut rx), frames[..8]);
    assert_eq!(send(&mut tx, &[frame(1, 256 * 33)]), [Loss::TooLong]);
    assert_eq!(send(&mut tx, &[frame(1, 256 * 32)]), []);
    assert_eq!(take(&mut rx), [frame(1, 256 * 32)]);
}

/// A server sends into buffers that a client offers.
#[suite::test]
fn buffers_outside_of_their_region_are_not_written() {
    let (regions, ring, layout) = memory();
    let (event, own) = (event(), layout.buffers(0));
    let mut tx = TxRing::new(ring.clone(), regions.clone(), None, event.clone());
    let mut rx = RxRing::new(ring.clone(), regions, Some(own), event);
    assert_eq!(send(&mut tx, &[frame(1, 700)]), []);
    assert_eq!(take(&mut rx), [frame(1, 700)]);
    let good = ring.desc(3);
    for bad in [
        Desc { region: 7, ..good },
        Desc { offset: u32::MAX, ..good },
        Desc { len: u32::MAX, ..good },
        Desc { len: 0, ..good },
    ] {
        ring.set_desc(3, bad);
        assert_eq!(send(&mut tx, &[frame(1, 60)]), [Loss::Refused]);
        assert_eq!(ring.tail(), 3);
    }
    ring.set_desc(3, good);
    assert_eq!(send(&mut tx, &[frame(2, 60)]), []);
    // A server's descriptors don't lead the client to other memory.
    let desc = ring.desc(3);
    ring.set_desc(3, Desc { offset: 0, region: 99, ..desc });
    assert_eq!(take(&mut rx), [frame(2, 60)]);
}

#[suite::test]
fn anything_in_shared_memory_is_survived() {
    let mut rng = Rng::new(21);
    for as_client in [false, true] {
        let (regions, ring, layout) = memory();
        let (event, own) = (event(), as_client.then(|| layout.buffers(0)));
        let len = regions[0].len();
        let mut rx = RxRing::new(ring.clone(), regions.clone(), own, event.clone());
        let (regions, other, _) = memory();
        let mut tx = TxRing::new(other.clone(), regions, own, event);
        let (mut packets, mut bad, mut sent) = (0, 0, 0);
        for _ in 0..100_000 {
            let receiving = (&ring, rx.next(), true);
            let free = if as_client { tx.next().wrapping_sub(SIZE) } else { tx.next() };
            for (ring, base, receives) in [receiving, (&other, free, false)] {
                for _ in 0..rng.below(4) {
                    let desc = Desc {
                        flags: rng.below(4) as u16,
                        region: if rng.below(20) == 0 { rng.next() as u16 } else { 0 },
                        len: if rng.below(10) == 0 {
                            rng.next() as u32
                        } else {
                            rng.below(400) as u32
                        },
                        offset: if rng.below(10) == 0 {
                            rng.next() as u32
                        } else {
                            rng.below(len) as u32
                        },
                    };
                    ring.set_desc(rng.next() as u16, desc);
                }
                // A peer that isn't confused knows the index up to which the other end has
                // consumed.
                let index = if rng.below(40) == 0 {
                    rng.next() as u16
                } else {
                    base.wrapping_add(rng.below(34) as u16)
                };
                match rng.below(6) {
                    0 => ring.set_flags(rng.next() as u16),
                    1 => {
                        ring.set_head(index);
                        ring.set_tail(index);
                    }
                    _ if receives != as_client => ring.set_head(index),
                    _ => ring.set_tail(index),
                }
            }
            for packet in take(&mut rx) {
                assert!((1..=MAX_PACKET).contains(&packet.len()));
                packets += 1;
            }
            bad += rx.take_bad();
            let frame = frame(1, rng.below(3000));
            sent += usize::from(send(&mut tx, &[frame]).is_empty());
            if rng.below(100) == 0 {
                rx.discard();
            }
        }
        assert!(
            packets > 1000 && bad > 1000 && sent > 1000,
            "{packets} packets, {bad} bad ones, {sent} sent"
        );
    }
}
