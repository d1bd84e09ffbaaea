// SPDX-License-Identifier: Apache-2.0
use super::*;

/// An Ethernet frame with a TCP packet of `len` payload bytes over IPv4 whose checksum is partial.
pub fn tcp(len: usize) -> Vec<u8> {
    let mut bytes = vec![2; 12];
    bytes.extend([8, 0]);
    let total = (40 + len) as u16;
    bytes.extend([
        0x45,
        0,
        (total >> 8) as u8,
        total as u8,
        1,
        2,
        0,
        0,
        64,
        6,
        0,
        0,
        10,
        0,
        0,
        1,
        10,
        0,
        0,
        2,
    ]);
    bytes.extend([0x12, 0x34, 0x56, 0x78, 0, 0, 0, 1, 0, 0, 0, 2, 0x50, 0x18, 1, 0, 0, 0, 0, 0]);
    bytes.extend((0..len).map(|n| (n * 7) as u8));
    wire::l4::set_partial(&mut bytes[14..]).expect("TCP");
    bytes
}

fn super_packet(b: &mut Buffer) {
    let gso = Gso { kind: GsoKind::TcpV4, ecn: false, size: 1000, hdr_len: 54 };
    note(b, Offload { csum: Csum::Partial { start: 34, offset: 16 }, gso: Some(gso) });
}

#[test]
fn devices_get_packets_with_the_work_that_they_take() {
    let sizes = [5, 60_000, 10, 1001, 62_000, 62_000, 62_000, 62_000, 62_000, 20];
    let packets: Vec<_> = sizes.map(tcp).to_vec();
    let is_valid = |i: &Item| wire::l4::verify(&i.bytes[14..]) == Ok(wire::l4::Verdict::Valid);
    for traced in [false, true] {
        let (mut bench, f) = rig(false, Takes::ALL);
        let prepare = |b: &mut Buffer| {
            super_packet(b);
            if traced {
                Bench::trace(b, 1);
            }
        };
        assert!(bench.node("f0-tx", &packets, prepare).is_empty(), "all are sent");
        let sent = f.tx.take();
        let gso = Gso { kind: GsoKind::TcpV4, ecn: false, size: 1000, hdr_len: 54 };
        let offload = Offload { csum: Csum::Partial { start: 34, offset: 16 }, gso: Some(gso) };
        assert_eq!(sent, packets.iter().map(|p| Item { offload, ..item(p) }).collect::<Vec<_>>());

        // Without segmentation: some 380 segments, in order.
        f.txq.set_takes(&bench.world, Takes { csum: true, gso: false });
        assert!(bench.node("f0-tx", &packets, prepare).is_empty());
        let sent = f.tx.take();
        assert_eq!(sent.len(), sizes.iter().map(|s| s.div_ceil(1000)).sum::<usize>());
        assert!(sent.iter().all(|i| i.offload == Offload::NONE && i.bytes.len() <= 1054 && is_valid(i)));
        let payload = |bytes: &[u8]| bytes[54..].to_vec();
        let all: Vec<u8> = sent.iter().flat_map(|i| payload(&i.bytes)).collect();
        assert_eq!(all, packets.iter().flat_map(|p| payload(p)).collect::<Vec<_>>());

        // Without checksums either, and no super-packets.
        f.txq.set_takes(&bench.world, Takes { csum: false, gso: true });
        let short = bench.node("f0-tx", &packets[..3], |b| {
            prepare(b);
            b.flags.clear(Flags::GSO);
        });
        assert!(short.is_empty());
        let sent = f.tx.take();
        assert!(sent.len() == 3 && sent.iter().all(|i| i.offload == Offload::NONE && is_valid(i)));
    }
}

#[test]
fn what_is_not_sent_is_dropped_by_name() {
    for takes in [Takes::ALL, Takes::default()] {
        let (mut bench, f) = rig(false, takes);
        let names = [
            "transmit queue is full",
            "link is down",
            "frame is longer than the link takes",
            "refused by the device",
        ];
        let mut packets = vec![tcp(100); 20];
        for (i, first) in [0xf0, 0xf1, 0xf2, 0xf3].into_iter().enumerate() {
            packets[i * 4 + 1][0] = first;
        }
        let out = bench.node("f0-tx", &packets, super_packet);
        let reasons: Vec<_> = out.iter().map(|o| (o.node.as_str(), o.reason)).collect();
        assert_eq!(reasons, names.map(|name| ("error-drop", Some(name))));
        assert_eq!(f.tx.take().len(), 16);
        // A super-packet of which a segment is lost, in the middle of others that take more than one batch.
        let mut packets = vec![tcp(62_000); 9];
        packets[4][0] = 0xf0;
        let out = bench.node("f0-tx", &packets, super_packet);
        assert_eq!(out.iter().map(|o| o.reason).collect::<Vec<_>>(), [Some(names[0])]);
        let each = if takes.gso { 1 } else { 62 };
        assert_eq!(f.tx.take().len(), 8 * each);
        let errors = bench.world.get::<IfCounters>().tx_error.sum(f.sw_if.at());
        assert_eq!(errors, 5);
    }
    let (mut bench, f) = rig(false, Takes::default());
    let out = bench.node("f0-tx", &[vec![1; 60], tcp(4000)], super_packet);
    assert_eq!(
        out.iter().map(|o| o.reason).collect::<Vec<_>>(),
        [Some("checksum or segmentation can't be done for it")]
    );
    assert_eq!(f.tx.take().len(), 4);
    f.txq.close(&bench.world);
    let out = bench.node("f0-tx", &[tcp(1), tcp(2)], |_| {});
    assert!(out.len() == 2 && out.iter().all(|o| o.reason == Some("device is closed")));
    f.txq.open(&bench.world, vec![FakeTx(f.tx.clone())]);
    assert!(bench.node("f0-tx", &[tcp(1)], |_| {}).is_empty());
    assert_eq!(f.tx.take().len(), 1);
}

#[test]
fn a_trace_says_what_was_left_and_what_became_of_it() {
    let (mut bench, f) = rig(false, Takes::ALL);
    bench.rt.trace().order(graph::NodeIndex(999), 1, graph::TraceLog::room(4), 0);
    let mut refused = tcp(100);
    refused[0] = 0xf3;
    bench.node("f0-tx", &[tcp(5000), refused], |b| {
        super_packet(b);
        Bench::trace(b, 1);
    });
    let texts: Vec<_> = bench.rt.trace().records().map(ToString::to_string).collect();
    let left = "checksum to be completed at 34+16 to be segmented: TcpV4 1000";
    let n = f.sw_if;
    assert_eq!(
        texts,
        [
            format!("sw_if_index {n} length 5054 {left}"),
            format!("sw_if_index {n} length 154 {left} not sent: Refused")
        ]
    );
}
