// SPDX-License-Identifier: Apache-2.0
use crate::PLUGIN;
use ::graph::drive::Bench;
use ::graph::{Plugin, SwIfIndex};
use net::Interfaces;
use net::drive::{Tx, ethernet};
use testkit::pkt::{self, Packet};
use wire::l4::{self, Verdict};
use wire::{Header, Ipv4Header, MacAddr, TcpFlags, TcpHeader, UpperLayer};

static PLUGINS: &[&Plugin] =
    &[&interface::PLUGIN, &ethernet::PLUGIN, &fib::PLUGIN, &ip::PLUGIN, &icmp::PLUGIN, &PLUGIN];
const T0: SwIfIndex = SwIfIndex(1);

fn bench() -> Bench {
    let mut bench = Bench::new(PLUGINS);
    let new = ethernet("t0", MacAddr([2, 0, 0, 0, 0, 1]));
    bench.world.get::<Interfaces>().create(&bench.world, new, |_, _, _| Tx).expect("created");
    for line in [
        "set interface state t0 up",
        "set interface ip address t0 10.0.0.1/24",
        "set interface ip address t0 2001:db8::1/64",
    ] {
        bench.cli(line).unwrap_or_else(|e| panic!("{line}: {e}"));
    }
    bench
}

/// A segment of both versions, from ports 1000 to 22.
fn segments(shape: impl Fn(Packet) -> Packet) -> [(&'static str, Vec<u8>); 2] {
    let four = shape(pkt::ip4("10.0.0.9", "10.0.0.1").tcp(1000, 22)).build();
    let six = shape(pkt::ip6("2001:db8::9", "2001:db8::1").tcp(1000, 22)).build();
    [("ip4-local", four), ("ip6-local", six)]
}

/// Answer to a segment: flags, sequence and acknowledgment number.
fn answer(bench: &mut Bench, node: &str, segment: &[u8]) -> Option<(TcpFlags, u32, u32)> {
    let reset = node.replace("-local", "-reset").replace("ip", "tcp");
    let out = bench.node(node, &[segment.to_vec()], |b| b.rx_if = T0.0);
    assert_eq!(out.len(), 1);
    assert_eq!(out[0].node, reset, "{:?}", out[0]);
    let out = bench.node(&reset, &[segment.to_vec()], |b| b.rx_if = T0.0);
    let sent = &out[0];
    if sent.reason.is_some() {
        return None;
    }
    assert_eq!(sent.node, node.replace("local", "lookup"));
    assert_eq!(l4::verify(&sent.bytes), Ok(Verdict::Valid));
    assert!(sent.bytes[0] >> 4 == 6 || Ipv4Header::checksum_ok_at(&sent.bytes));
    let upper = UpperLayer::find(&sent.bytes).expect("whole");
    let (old, new) = (UpperLayer::find(segment).expect("whole"), upper.offset);
    let (addr, at) = if sent.bytes[0] >> 4 == 6 { (16, 8) } else { (4, 12) };
    assert_eq!(
        sent.bytes[at..at + addr],
        segment[at + addr..at + 2 * addr],
        "from the address that was asked"
    );
    assert_eq!(sent.bytes[at + addr..at + 2 * addr], segment[at..at + addr]);
    let asked = TcpHeader::view_at(segment, old.offset).expect("whole");
    let tcp = TcpHeader::view_at(&sent.bytes, new).expect("whole");
    assert_eq!((tcp.src_port, tcp.dst_port), (asked.dst_port, asked.src_port));
    assert_eq!((tcp.header_len(), tcp.window.get(), sent.bytes.len()), (20, 0, new + 20));
    Some((tcp.flags, tcp.seq.get(), tcp.ack.get()))
}

#[suite::test]
fn who_wants_a_connection_is_refused() {
    let mut bench = bench();
    let refused = TcpFlags::RST | TcpFlags::ACK;
    for (flags, seq, len, want) in [
        (TcpFlags::SYN, 9, 0, (refused, 0, 10)),
        (TcpFlags::SYN, u32::MAX, 0, (refused, 0, 0)),
        (TcpFlags::FIN, 9, 3, (refused, 0, 13)),
        (TcpFlags::PSH, 9, 5, (refused, 0, 14)),
        (TcpFlags::SYN | TcpFlags::ACK, 9, 0, (TcpFlags::RST, 77, 0)),
        (TcpFlags::ACK, 9, 100, (TcpFlags::RST, 77, 0)),
        (TcpFlags::FIN | TcpFlags::ACK, 9, 0, (TcpFlags::RST, 77, 0)),
    ] {
        for (node, segment) in segments(|p| p.segment(flags, seq, 77).payload_len(len)) {
            assert_eq!(answer(&mut bench, node, &segment), Some(want), "{node} {flags}");
        }
    }
}

#[suite::test]
fn resets_strays_and_groups_get_none() {
    let mut bench = bench();
    for (node, segment) in segments(|p| p.segment(TcpFlags::RST, 1, 1)) {
        assert_eq!(answer(&mut bench, node, &segment), None);
    }
    let syn = |p: Packet| p.tcp(1000, 22).segment(TcpFlags::SYN, 1, 0).build();
    for (node, reason, segment) in [
        ("tcp4-reset", "broadcast", syn(pkt::ip4("10.0.0.9", "10.0.0.255"))),
        ("tcp4-reset", "broadcast", syn(pkt::ip4("10.0.0.9", "224.0.0.1"))),
        ("tcp6-reset", "broadcast", syn(pkt::ip6("2001:db8::9", "ff02::1"))),
        ("tcp4-reset", "source", syn(pkt::ip4("10.0.0.255", "10.0.0.1"))),
        ("tcp6-reset", "source", syn(pkt::ip6("::", "2001:db8::1"))),
        ("tcp4-reset", "too_short", syn(pkt::ip4("10.0.0.9", "10.0.0.1"))[..30].to_vec()),
    ] {
        let before = bench.count(node, reason);
        let out = bench.node(node, &[segment], |b| b.rx_if = T0.0);
        assert!(
            out[0].reason.is_some() && bench.count(node, reason) == before + 1,
            "{reason}: {out:?}"
        );
    }
}

#[suite::test]
fn not_more_than_icmp_errors() {
    let mut bench = bench();
    bench.cli("set ip icmp error-rate 10 burst 5").expect("set");
    let [(_, segment), _] = segments(|p| p.segment(TcpFlags::SYN, 1, 0));
    bench.node("tcp4-reset", &vec![segment; 20], |b| b.rx_if = T0.0);
    assert_eq!(
        (bench.count("tcp4-reset", "rst_sent"), bench.count("tcp4-reset", "rate_limited")),
        (5, 15)
    );
}
