// SPDX-License-Identifier: Apache-2.0
//! Super-packets (GSO) that leave by a link, with and without the feature `gso`.

use super::frag::joined;
use super::*;
use crate::rewrite::{To, fit};
use buffer::Flags;
use net::{AdjIndex, Adjacencies, Column, Gso, IpMeta};

/// Payload of the packets.
const LEN: usize = 20_000;

/// A super-packet of TCP with a partial checksum, and the same packet with a complete one.
fn packets(v6: bool, df: bool) -> [Vec<u8>; 2] {
    let payload: Vec<u8> = (0..LEN as u32).map(|i| (i * 7 + i / 251) as u8).collect();
    let ip = if v6 { pkt::ip6(HOST6, "3000::1") } else { pkt::ip4("10.0.1.9", "20.0.0.1").id(7) };
    let ip = if df { ip.df() } else { ip };
    let whole = ip.ttl(9).tcp(1, 2).payload(&payload).build();
    let mut partial = whole.clone();
    wire::l4::set_partial(&mut partial).expect("TCP");
    [partial, whole]
}

/// Marks a packet as a super-packet of this `gso_type` (1 TCP over IPv4, 4 over IPv6, 5 UDP).
fn mark(b: &mut Buffer, adj: AdjIndex, kind: u8, size: u16) {
    let header = if b.data()[0] >> 4 == 6 { 40 } else { 20 };
    b.flags.insert(Flags::GSO | Flags::CSUM_PARTIAL);
    (b.offload.csum_start, b.offload.csum_offset) = (header, 16);
    (b.offload.gso_kind, b.offload.gso_size) = (kind, size);
    b.set_scratch(IpMeta::of(adj, 0));
}

fn adjacency(bench: &Bench, v6: bool) -> AdjIndex {
    let nexthop = if v6 { ip6("2001:db8:2::2").into() } else { ip("10.0.2.2").into() };
    bench.world.get::<Adjacencies>().find_neighbor(T2, nexthop).expect("held")
}

/// With the feature a segment isn't longer than a fragment; and where segments don't fit, the whole
/// packet goes to fragmentation. Without it the segments become smaller.
#[suite::test]
fn the_size_of_segments() {
    let mut bench = router6();
    for (v6, kind, size, mtu, gso, want) in [
        // 2048 bytes with headers of 54 and 74 bytes.
        (false, 1, 8940, 9000, true, Ok(1994)),
        (true, 4, 8900, 9000, true, Ok(1974)),
        (false, 1, 1460, 1500, true, Ok(1460)),
        (false, 1, 8940, 9000, false, Ok(8940)),
        (true, 4, 8900, 9000, false, Ok(8900)),
        (false, 1, 1460, 576, true, Err(To::Fragment)),
        (false, 1, 1460, 576, false, Ok(536)),
        // IPv6 isn't fragmented on its way.
        (true, 4, 1440, 1280, true, Err(To::MtuExceeded)),
        (true, 4, 1440, 1280, false, Err(To::MtuExceeded)),
    ] {
        let adj = adjacency(&bench, v6);
        let mut b = bench.buffer(&packets(v6, false)[0]);
        mark(&mut b, adj, kind, size);
        let fits =
            if v6 { fit::<Ip6>(&mut b, mtu, adj, gso) } else { fit::<Ip4>(&mut b, mtu, adj, gso) };
        let got = fits.map(|()| b.offload.gso_size);
        assert!(got == want, "v6 {v6} size {size} mtu {mtu} gso {gso}: {got:?}");
        bench.rt.cache().free(b);
    }
}

/// The fragments have the bytes of the packet with its complete checksum.
#[suite::test]
fn whole_super_packets_are_fragmented() {
    let mut bench = router6();
    let world = bench.world.clone();
    let adj = adjacency(&bench, false);
    let [partial, whole] = packets(false, false);
    for (on, kind, fragmented) in [(false, 1, false), (true, 1, true), (true, 5, false)] {
        world.get::<Column<Gso>>().set(&world, T2, Gso(on)).expect("set");
        world.get::<Interfaces>().set_mtu(&world, T2, net::MtuKind::Ip4, 576).expect("set");
        let out = bench.node("ip4-rewrite", std::slice::from_ref(&partial), |b| {
            mark(b, adj, kind, 1460);
        });
        let nodes: Vec<_> = out.iter().map(|o| o.node.as_str()).collect();
        let to = if fragmented { "ip4-frag" } else { "t2-output" };
        assert_eq!(nodes, [to], "on {on} kind {kind}");
    }
    let out = bench.node("ip4-frag", std::slice::from_ref(&partial), |b| mark(b, adj, 1, 1460));
    assert_eq!(out.len(), (LEN + 20).div_ceil(552));
    assert!(out.iter().all(|o| o.bytes.len() <= 576));
    assert!(joined(&out, false) == whole[20..], "the packet's bytes");
    // One that may not be fragmented is refused.
    let [partial, _] = packets(false, true);
    let out = bench.node("ip4-rewrite", &[partial], |b| mark(b, adj, 1, 1460));
    assert_eq!(out[0].reason, Some("ip4 MTU exceeded and DF set"));
    assert_eq!(out[0].node, "ip4-icmp-error");
}
