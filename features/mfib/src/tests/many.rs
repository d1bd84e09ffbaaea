// SPDX-License-Identifier: Apache-2.0
//! Many copies at once, and what is in them.

use super::*;
use std::collections::BTreeMap;
use wire::{Ethernet, Header, Ipv4Header};

const LINKS: u8 = 100;
const PACKETS: u16 = 128;
const GROUP: &str = "239.1.1.1";
const ETHERNET: usize = size_of::<Ethernet>();

/// A group whose packets come in by `t1` and leave by the others of these links.
fn wide(links: u8) -> Bench {
    let mut bench = bench(links);
    run(&mut bench, &format!("ip mroute add {GROUP} via t1 Accept"));
    let paths: Vec<_> = (2..=links).map(|i| format!("via t{i} Forward")).collect();
    run(&mut bench, &format!("ip mroute add {GROUP} {}", paths.join(" ")));
    bench
}

/// A payload with the packet's number and the word's own offset in every word.
fn payload(number: u16, len: usize) -> Vec<u8> {
    (0..len as u16)
        .step_by(4)
        .flat_map(|at| [number.to_be_bytes(), at.to_be_bytes()].concat())
        .take(len)
        .collect()
}

/// Sends numbered packets, all of which wait at the lookup at once.
fn inject(bench: &mut Bench, packets: u16, len: usize) {
    let node = bench.index("ip4-mfib-forward-lookup");
    bench.rt.receive();
    for number in 0..packets {
        let frame =
            packet("10.0.1.9", GROUP).id(number).udp(1, 2).payload(payload(number, len)).build();
        let mut b = bench.buffer(&frame[ETHERNET..]);
        b.rx_if = 1;
        bench.rt.inject(node, b);
    }
    bench.settle();
}

/// The numbers of the packets that an interface has sent whole, byte by byte, and their fragments
/// by number and offset.
#[derive(Default)]
struct Seen {
    whole: Vec<u16>,
    parts: BTreeMap<(u16, u16), usize>,
}

/// Sent packets by interface; checks that all bytes behind the headers are as they were received.
fn compared(bench: &Bench, len: usize) -> BTreeMap<u32, Seen> {
    let mut all: BTreeMap<u32, Seen> = BTreeMap::new();
    for (tx_if, bytes) in bench.world.get::<Recorded>().take() {
        let header = Ipv4Header::view_at(&bytes, ETHERNET).expect("an IPv4 packet");
        let (number, at) = (header.id.get(), header.fragment_offset() as u16);
        let sent = packet("10.0.1.9", GROUP).udp(1, 2).payload(payload(number, len)).build();
        let upper = &sent[ETHERNET + 20..][at.into()..];
        let got = &bytes[ETHERNET + 20..];
        assert_eq!(usize::from(header.total_len.get()), 20 + got.len());
        assert!(
            got.len() <= upper.len() && *got == upper[..got.len()],
            "bytes of packet {number}, by {tx_if}"
        );
        let seen = all.entry(tx_if).or_default();
        if got.len() == upper.len() && at == 0 {
            seen.whole.push(number);
        } else {
            assert_eq!(seen.parts.insert((number, at), got.len()), None, "a fragment twice");
        }
    }
    all
}

/// More copies than there are buffers: what was made leaves before there are more.
#[suite::test]
fn many_copies_of_many_packets() {
    const LEN: usize = 1000;
    let mut bench = wide(LINKS);
    inject(&mut bench, PACKETS, LEN);
    let seen = compared(&bench, LEN);
    assert_eq!(seen.keys().copied().collect::<Vec<_>>(), (2..=LINKS.into()).collect::<Vec<_>>());
    for seen in seen.values() {
        let mut whole = seen.whole.clone();
        whole.sort();
        assert_eq!(whole, (0..PACKETS).collect::<Vec<_>>());
    }
    assert_eq!(bench.count("ip4-replicate", "Buffer Allocation Failure"), 0);
    assert_eq!(bench.count("ip4-replicate", "copied"), u64::from(PACKETS) * u64::from(LINKS - 1));
    assert!(bench.count("ip4-replicate", "again") > 0);
}

/// Buffers are allocated while copies wait: none of them is one that the copies share. Frames of
/// usual sizes, some packets wholly in the copies' heads, some in one segment, some in chains.
#[suite::test]
fn fragments_beside_copies() {
    for (packets, len) in [(128, 1000), (256, 1000), (256, 100), (128, 5000)] {
        let mut bench = wide(3);
        run(&mut bench, "set interface mtu ip4 600 t2");
        for _ in 0..3 {
            inject(&mut bench, packets, len);
            let seen = compared(&bench, len);
            for (tx_if, mtu) in [(2, 600), (3, 1500)] {
                let seen = &seen[&tx_if];
                let mut whole = seen.whole.clone();
                whole.sort();
                let numbers = 0..packets;
                if len + 28 <= mtu {
                    assert_eq!((whole, seen.parts.len()), (numbers.collect(), 0));
                    continue;
                }
                assert!(whole.is_empty());
                // Each packet's fragments cover it.
                for number in numbers {
                    let parts = seen.parts.range((number, 0)..=(number, u16::MAX));
                    let end = parts.fold(0, |end, ((_, at), n)| {
                        assert_eq!(
                            usize::from(*at),
                            end,
                            "a fragment of packet {number} is missing"
                        );
                        end + n
                    });
                    assert_eq!(end, len + 8, "packet {number} by {tx_if}");
                }
            }
        }
    }
}

#[suite::test]
fn copies_without_buffers_are_counted() {
    const LEN: usize = 1000;
    let mut bench = wide(LINKS);
    let mut held = Vec::new();
    while let Some(b) = bench.rt.cache().alloc() {
        held.push(b);
    }
    for b in held.drain(..40) {
        bench.rt.cache().free(b);
    }
    inject(&mut bench, 1, LEN);
    let got = compared(&bench, LEN);
    assert!(got.values().all(|seen| seen.whole == [0]));
    assert_eq!(
        (got.len(), bench.count("ip4-replicate", "Buffer Allocation Failure")),
        (39, u64::from(LINKS - 1) - 39)
    );
    held.into_iter().for_each(|b| bench.rt.cache().free(b));
}
