// SPDX-License-Identifier: Apache-2.0
//! Fragments, byte by byte.

use super::*;
use graph::drive::Outcome;
use net::{Adjacencies, IpMeta};
use wire::{Header, Ip6Fragment, IpHeader, Ipv4Header, Ipv6Header};

/// The payload of fragments, reassembled; each begins where the one before it ends.
pub fn joined(out: &[Outcome], v6: bool) -> Vec<u8> {
    let mut whole = Vec::new();
    for (i, o) in out.iter().enumerate() {
        let last = i + 1 == out.len();
        let (at, more, header) = if v6 {
            let ip = Ipv6Header::view(&o.bytes).expect("a header");
            assert_eq!(ip.packet_len(), o.bytes.len());
            let fragment = Ip6Fragment::view_at(&o.bytes, 40).expect("a fragment");
            (fragment.offset(), fragment.more_fragments(), 48)
        } else {
            let ip = Ipv4Header::view(&o.bytes).expect("a header");
            assert_eq!(usize::from(ip.total_len.get()), o.bytes.len());
            assert!(Ipv4Header::checksum_ok_at(&o.bytes));
            (ip.fragment_offset(), ip.more_fragments(), 20)
        };
        assert_eq!((at, more), (whole.len(), !last), "fragment {i}");
        whole.extend(&o.bytes[header..]);
    }
    whole
}

/// Of packets in one segment and in several, alone and with copies that have the same segments.
#[suite::test]
fn fragments_have_the_packets_bytes() {
    let mut bench = router6();
    for (v6, to, nexthop, rewrite) in [
        (false, "20.0.0.1", std::net::IpAddr::from(ip("10.0.2.2")), "ip4-rewrite"),
        (true, "3000::1", ip6("2001:db8:2::2").into(), "ip6-rewrite"),
    ] {
        let adj = bench.world.get::<Adjacencies>().find_neighbor(T2, nexthop).expect("held");
        let node = bench.index(if v6 { "ip6-frag" } else { "ip4-frag" });
        for len in [1500usize, 1900, 2500, 9000, 40_000] {
            let payload: Vec<u8> = (0..len as u32).map(|i| (i * 7 + i / 251) as u8).collect();
            let packet = if v6 {
                pkt::ip6("2001:db8:2::1", to).udp(1, 2).payload(&payload).build()
            } else {
                pkt::ip4("10.0.2.1", to).id(7).udp(1, 2).payload(&payload).build()
            };
            let header = if v6 { 40 } else { 20 };
            for head in [None, Some(64), Some(256)] {
                let prepare = |b: &mut Buffer| {
                    b.flags.insert(buffer::Flags::LOCAL);
                    b.set_scratch(IpMeta::of(adj, 0));
                };
                let mut b = bench.buffer(&packet);
                let other = match head {
                    None => None,
                    Some(head) => {
                        let original = b.into_original(head);
                        let mut copy = || original.copy(bench.rt.cache()).expect("a buffer");
                        b = copy();
                        let other = copy();
                        assert!(original.finish(bench.rt.cache()).is_none());
                        Some(other)
                    }
                };
                prepare(&mut b);
                bench.rt.inject(node, b);
                bench.rt.run_node(node);
                let out = bench.collect();
                assert!(out.iter().all(|o| o.node == rewrite && o.bytes.len() <= 1500), "{len}");
                assert_eq!(
                    out.len(),
                    (len + 8).div_ceil((1500 - header - if v6 { 8 } else { 0 }) & !7),
                    "{len}"
                );
                assert!(joined(&out, v6) == packet[header..], "bytes of {len}, head {head:?}");
                if let Some(other) = other {
                    assert!(other.segments().flatten().eq(&packet), "the other copy's bytes");
                    bench.rt.cache().free(other);
                }
            }
        }
    }
}

/// However large the link's packets may be, a fragment lies in one buffer.
#[suite::test]
fn fragments_lie_in_one_buffer() {
    let mut bench = router6();
    let world = bench.world.clone();
    for kind in [net::MtuKind::Link, net::MtuKind::L3] {
        world.get::<Interfaces>().set_mtu(&world, T2, kind, 5000).expect("set");
    }
    for (v6, to, nexthop) in [
        (false, "20.0.0.1", std::net::IpAddr::from(ip("10.0.2.2"))),
        (true, "3000::1", ip6("2001:db8:2::2").into()),
    ] {
        let adj = world.get::<Adjacencies>().find_neighbor(T2, nexthop).expect("held");
        let packet = if v6 {
            pkt::ip6("2001:db8:2::1", to).udp(1, 2).payload_len(5900).build()
        } else {
            pkt::ip4("10.0.2.1", to).id(7).udp(1, 2).payload_len(5900).build()
        };
        let out = bench.node(
            if v6 { "ip6-frag" } else { "ip4-frag" },
            std::slice::from_ref(&packet),
            |b| {
                b.set_scratch(IpMeta::of(adj, 0));
            },
        );
        let lens: Vec<usize> = out.iter().map(|o| o.bytes.len()).collect();
        // 5908 bytes behind the header, in parts that are multiples of 8.
        assert_eq!(lens, if v6 { [2048, 2048, 48 + 1908] } else { [2044, 2044, 20 + 1860] });
        assert!(joined(&out, v6) == packet[if v6 { 40 } else { 20 }..]);
    }
}

/// An adjacency counts the packets that it sends: the fragments, not the original.
#[suite::test]
fn an_adjacency_counts_fragments() {
    let mut bench = router6();
    let adjacencies = bench.world.get::<Adjacencies>();
    for (v6, nexthop) in
        [(false, std::net::IpAddr::from(ip("10.0.2.2"))), (true, ip6("2001:db8:2::2").into())]
    {
        let adj = adjacencies.find_neighbor(T2, nexthop).expect("held");
        // 4008 bytes behind the header, in parts of 1480 and 1448 at most.
        let (node, packet, frames) = if v6 {
            let packet = pkt::ip6("2001:db8:2::1", "3000::1").udp(1, 2).payload_len(4000).build();
            ("ip6", packet, 3 * 48 + 4008)
        } else {
            (
                "ip4",
                pkt::ip4("10.0.2.1", "20.0.0.1").udp(1, 2).payload_len(4000).build(),
                3 * 20 + 4008,
            )
        };
        let before = adjacencies.counters.sum(adj.at());
        let (mut packets, mut sent) = (vec![packet], Vec::new());
        for step in ["lookup", "rewrite", "frag"] {
            let out = bench.node(&format!("{node}-{step}"), &packets, |b| {
                b.flags.insert(buffer::Flags::LOCAL);
                if step != "lookup" {
                    b.set_scratch(IpMeta::of(adj, 0));
                }
            });
            sent = out.iter().map(|o| o.node.clone()).collect();
            packets = out.into_iter().map(|o| o.bytes).collect();
        }
        assert_eq!(sent, vec![format!("{node}-rewrite"); 3]);
        let after = adjacencies.counters.sum(adj.at());
        assert_eq!((after.0 - before.0, after.1 - before.1), (3, frames), "{node}");
    }
}

/// Buffers that run out in the middle of a packet: nothing is left of it.
#[suite::test]
fn what_can_not_be_cut_leaves_nothing_behind() {
    let mut bench = router6();
    let adj =
        bench.world.get::<Adjacencies>().find_neighbor(T2, ip("10.0.2.2").into()).expect("held");
    let packet = pkt::ip4("10.0.2.1", "20.0.0.1").udp(1, 2).payload_len(9000).build();
    let node = bench.index("ip4-frag");
    let mut b = bench.buffer(&packet);
    b.set_scratch(IpMeta::of(adj, 0));
    bench.rt.inject(node, b);
    let mut held: Vec<_> = std::iter::from_fn(|| bench.rt.cache().alloc()).collect();
    held.drain(..3).for_each(|b| bench.rt.cache().free(b));
    bench.rt.run_node(node);
    let out = bench.collect();
    let (dropped, sent): (Vec<_>, Vec<_>) = out.iter().partition(|o| o.node == "ip4-drop");
    assert_eq!((dropped.len(), sent.len()), (1, 3));
    assert!(dropped[0].bytes == packet && sent.iter().all(|o| o.bytes.len() == 1500));
    held.into_iter().for_each(|b| bench.rt.cache().free(b));
}
