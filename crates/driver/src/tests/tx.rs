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

#[suite::test]
fn devices_get_packets_with_the_work_that_they_take() {
    let sizes = [5, 60_000, 10, 1001, 62_000, 62_000, 62_000, 62_000, 62_000, 20];
    let packets: Vec<_> = sizes.map(tcp).to_vec();
    let is_valid = |i: &Item| wire::l4::verify(&i.bytes[14..]) == Ok(wire::l4::Verdict::Valid);
    for traced in [false, true] {
        let (mut bench, f) = rig(false, TxOffloads::ALL);
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
        f.txq.set_tx_offloads(&bench.world, TxOffloads { csum: true, gso: false, udp_gso: false });
        assert!(bench.node("f0-tx", &packets, prepare).is_empty());
        let sent = f.tx.take();
        assert_eq!(sent.len(), sizes.iter().map(|s| s.div_ceil(1000)).sum::<usize>());
        assert!(
            sent.iter().all(|i| i.offload == Offload::NONE && i.bytes.len() <= 1054 && is_valid(i))
        );
        let payload = |bytes: &[u8]| bytes[54..].to_vec();
        let all: Vec<u8> = sent.iter().flat_map(|i| payload(&i.bytes)).collect();
        assert_eq!(all, packets.iter().flat_map(|p| payload(p)).collect::<Vec<_>>());

        // Without checksums either, and no super-packets.
        f.txq.set_tx_offloads(&bench.world, TxOffloads { csum: false, gso: true, udp_gso: true });
        let short = bench.node("f0-tx", &packets[..3], |b| {
            prepare(b);
            b.flags.remove(Flags::GSO);
        });
        assert!(short.is_empty());
        let sent = f.tx.take();
        assert!(sent.len() == 3 && sent.iter().all(|i| i.offload == Offload::NONE && is_valid(i)));
    }
}

/// As [`tcp`], of UDP.
fn udp(len: usize) -> Vec<u8> {
    let mut bytes = tcp(len);
    bytes.drain(34..46);
    let total = (28 + len) as u16;
    bytes[16..18].copy_from_slice(&total.to_be_bytes());
    bytes[23] = 17;
    bytes[34..38].copy_from_slice(&[0x12, 0x34, 0x56, 0x78]);
    bytes[38..40].copy_from_slice(&(total - 20).to_be_bytes());
    bytes[40..42].fill(0);
    wire::l4::set_partial(&mut bytes[14..]).expect("UDP");
    bytes
}

#[suite::test]
fn a_device_that_cuts_tcp_only_gets_datagrams_in_segments() {
    let (mut bench, f) = rig(false, TxOffloads { udp_gso: false, ..TxOffloads::ALL });
    let packets = [udp(30_000), tcp(30_000), udp(2500), tcp(100)];
    let offload = |b: &Buffer| match b.bytes::<1>(23) {
        Some([17]) => {
            let gso = Gso { kind: GsoKind::UdpL4, ecn: false, size: 1000, hdr_len: 42 };
            Offload { csum: Csum::Partial { start: 34, offset: 6 }, gso: Some(gso) }
        }
        _ => {
            let gso = Gso { kind: GsoKind::TcpV4, ecn: false, size: 1000, hdr_len: 54 };
            Offload { csum: Csum::Partial { start: 34, offset: 16 }, gso: Some(gso) }
        }
    };
    let prepare = |b: &mut Buffer| {
        let offload = offload(b);
        note(b, offload);
    };
    // Alone, so that no TCP packet waits behind a datagram.
    for (n, packet) in packets.iter().enumerate() {
        assert!(bench.node("f0-tx", std::slice::from_ref(packet), prepare).is_empty());
        let sent = f.tx.take();
        if packet[23] == 6 {
            assert!(sent.len() == 1 && sent[0].offload.gso.is_some(), "{n}");
            assert_eq!(sent[0].bytes, *packet);
        } else {
            let is_valid =
                |i: &Item| wire::l4::verify(&i.bytes[14..]) == Ok(wire::l4::Verdict::Valid);
            assert!(sent.iter().all(|i| i.offload == Offload::NONE && is_valid(i)), "{n}");
            let all: Vec<u8> = sent.iter().flat_map(|i| i.bytes[42..].to_vec()).collect();
            assert_eq!(all, packet[42..]);
            assert_eq!(sent.len(), (packet.len() - 42).div_ceil(1000));
        }
    }
}

#[suite::test]
fn what_is_not_sent_is_dropped_by_name() {
    for tx_offloads in [TxOffloads::ALL, TxOffloads::default()] {
        let (mut bench, f) = rig(false, tx_offloads);
        let names = [
            "no free tx slots",
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
        // A super-packet of which a segment is lost, in the middle of others that take more than
        // one batch.
        let mut packets = vec![tcp(62_000); 8];
        packets[4][0] = 0xf0;
        let out = bench.node("f0-tx", &packets, super_packet);
        assert_eq!(out.iter().map(|o| o.reason).collect::<Vec<_>>(), [Some(names[0])]);
        let each = if tx_offloads.gso { 1 } else { 62 };
        assert_eq!(f.tx.take().len(), 7 * each);
        let errors = bench.world.get::<IfCounters>().tx_error.sum(f.sw_if.at());
        assert_eq!(errors, 5);
    }
    let (mut bench, f) = rig(false, TxOffloads::default());
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

#[suite::test]
fn a_trace_says_what_was_left_and_what_became_of_it() {
    let (mut bench, f) = rig(false, TxOffloads::ALL);
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

/// A TCP packet as [`tcp`], but of a sender of this number.
fn from(sender: u8, len: usize) -> Vec<u8> {
    let mut bytes = tcp(len);
    bytes[29] = sender;
    wire::l4::set_partial(&mut bytes[14..]).expect("TCP");
    bytes
}

/// Packets that a host without offloads would have sent.
fn segments(packet: &[u8], size: u16) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    wire::gso::segment(packet, 14, size, |head, payload| all.push([head, payload].concat()))
        .expect("cut");
    all
}

/// The same work for every packet, but for short ones, which are whole.
fn tiny(b: &mut Buffer) {
    if b.packet_len() > 1000 {
        let gso = Gso { kind: GsoKind::TcpV4, ecn: false, size: 48, hdr_len: 54 };
        note(b, Offload { csum: Csum::Partial { start: 34, offset: 16 }, gso: Some(gso) });
    }
}

fn inject(bench: &mut Bench, node: &str, packets: &[Vec<u8>], rx_if: u32) {
    let index = bench.index(node);
    for bytes in packets {
        let mut b = bench.buffer(bytes);
        b.rx_if = rx_if;
        tiny(&mut b);
        bench.rt.inject(index, b);
    }
}

#[suite::test]
fn segments_of_a_turn_are_bounded_and_other_packets_go_past() {
    let (mut bench, f) = rig(false, TxOffloads::default());
    let long = from(7, 48 * 1200);
    let whole = |sender, n: u8| {
        let mut bytes = from(sender, 40 + usize::from(n));
        wire::l4::finish(&mut bytes[14..]).expect("TCP");
        bytes
    };
    // A sender whose packets aren't in the group of flows of the one with super-packets: the seed
    // of an instance decides.
    let senders = 8..12;
    inject(&mut bench, "f0-tx", std::slice::from_ref(&long), 1);
    senders.clone().for_each(|sender| inject(&mut bench, "f0-tx", &[whole(sender, 0)], 1));
    bench.rt.turn(true);
    let first: Vec<_> = f.tx.take().into_iter().map(|i| i.bytes).collect();
    let sender = senders.into_iter().find(|sender| first.contains(&whole(*sender, 0)));
    let sender = sender.expect("four of 256 groups aren't one");
    bench.settle();
    f.tx.take();
    // Behind three super-packets a short packet of the same flow, in one vector.
    inject(&mut bench, "f0-tx", &[long.clone(), long.clone(), long.clone(), whole(7, 1)], 1);
    let mut flow = Vec::new();
    for turn in 0u8.. {
        // One of another sender, and one more of the same.
        let (other, behind) = (whole(sender, turn), whole(7, 100 + turn));
        inject(&mut bench, "f0-tx", std::slice::from_ref(&other), 1);
        if turn < 3 {
            inject(&mut bench, "f0-tx", std::slice::from_ref(&behind), 1);
        }
        bench.rt.turn(true);
        let mut sent: Vec<_> = f.tx.take().into_iter().map(|i| i.bytes).collect();
        let at = sent
            .iter()
            .position(|bytes| *bytes == other)
            .expect("it is sent in the turn in which it comes");
        sent.remove(at);
        assert!(sent.len() <= 512, "{} segments in turn {turn}", sent.len());
        flow.extend(sent);
        if !bench.rt.is_busy() {
            assert_eq!(turn, 7, "3604 frames");
            break;
        }
    }
    let mut want = Vec::new();
    (0..3).for_each(|_| want.extend(segments(&long, 48)));
    want.extend([whole(7, 1), whole(7, 100), whole(7, 101), whole(7, 102)]);
    assert!(flow == want, "the flow's order and bytes");
}

#[suite::test]
fn one_source_of_super_packets_leaves_room_for_others() {
    let (mut bench, f) = rig(false, TxOffloads::default());
    let (long, legitimate) = (from(7, 62_400), from(9, 62_400));
    // 1300 segments each: the segments of one interface take half of the room, whatever it sends.
    inject(&mut bench, "f0-tx", &vec![long; 20], 1);
    bench.rt.run_node(bench.world.node("ethernet-input").expect("there"));
    bench.rt.turn(true);
    inject(&mut bench, "f0-tx", std::slice::from_ref(&legitimate), 2);
    bench.settle();
    let sent: Vec<_> = f.tx.take().into_iter().map(|i| i.bytes).collect();
    let of = |sender| sent.iter().filter(|b| b[29] == sender).cloned().collect::<Vec<_>>();
    assert_eq!(of(7).len(), 6 * 1300);
    assert!(of(9) == segments(&legitimate, 48), "all of it is sent");
    assert_eq!(bench.count("f0-tx", "too_much_to_cut"), 14);
    let share =
        bench.world.pool.shares().into_iter().find(|s| s.name == "segmentation").expect("there");
    assert!(share.held == 0 && share.most >= 6 * 31, "{share:?}");
}

#[suite::test]
fn what_waits_is_freed_with_the_device() {
    let (mut bench, f) = rig(false, TxOffloads::default());
    inject(&mut bench, "f0-tx", &[from(7, 60_000), from(7, 60_000)], 1);
    bench.rt.turn(true);
    assert_eq!(f.tx.take().len(), 512);
    f.txq.close(&bench.world);
    bench.settle();
    assert_eq!(bench.count("f0-tx", "closed"), 2);
}

mod as_the_kernel_does {
    use super::*;
    use proptest::prelude::*;
    use wire::{Header, IpProtocol, Ipv4Header, Ipv6Header, TcpFlags, TcpHeader, U16};

    /// Reference segmentation of a frame, by nothing but its virtio header and its bytes.
    fn cut(item: &Item, l3: usize) -> Vec<Vec<u8>> {
        let gso = item.offload.gso.expect("to be cut");
        let Csum::Partial { start, .. } = item.offload.csum else { panic!("no checksum is left") };
        let (start, size) = (usize::from(start), usize::from(gso.size));
        let (headers, payload) = item.bytes.split_at(gso.hdr_len.into());
        let count = payload.len().div_ceil(size);
        let one = |(i, part): (usize, &[u8])| {
            let mut bytes = [headers, part].concat();
            let len = bytes.len() - l3;
            if bytes[l3] >> 4 == 4 {
                let ip = Ipv4Header::view_mut(&mut bytes[l3..]).expect("a header");
                ip.total_len = U16::new(len as u16);
                ip.id = U16::new(ip.id.get().wrapping_add(i as u16));
                Ipv4Header::set_checksum_at(&mut bytes[l3..]);
            } else {
                Ipv6Header::view_mut(&mut bytes[l3..]).expect("a header").payload_len =
                    U16::new((len - 40) as u16);
            }
            if gso.kind == GsoKind::UdpL4 {
                let len = (bytes.len() - start) as u16;
                bytes[start + 4..start + 6].copy_from_slice(&len.to_be_bytes());
            } else {
                let tcp = TcpHeader::view_mut(&mut bytes[start..]).expect("a header");
                tcp.seq.set(tcp.seq.get().wrapping_add((i * size) as u32));
                if i + 1 < count {
                    tcp.flags -= TcpFlags::FIN | TcpFlags::PSH;
                }
                if i > 0 {
                    tcp.flags -= TcpFlags::CWR;
                }
            }
            wire::l4::finish(&mut bytes[l3..]).expect("an upper layer");
            bytes
        };
        payload.chunks(size).enumerate().map(one).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]
        #[suite::test]
        fn segments_are_the_same_here_and_there(
            v6: bool, tcp: bool, tags in 0usize..3, options in 0usize..3, ecn: bool, flags in 0u8..=255,
            payload in prop::collection::vec(any::<u8>(), 200..20_000), size in 100u16..1500,
        ) {
            let protocol = if tcp { IpProtocol::TCP } else { IpProtocol::UDP };
            let mut upper = vec![0x12, 0x34, 0, 80, 9, 9, 9, 9];
            if tcp {
                // ACK; neither SYN nor URG.
                upper.extend([0, 0, 0, 1, ((5 + options) << 4) as u8, flags & 0xdd | 0x10, 1, 0, 0, 0, 0, 0]);
                upper.extend([1; 4].repeat(options));
            }
            let header_len = upper.len();
            upper.extend(&payload);
            if !tcp {
                let len = upper.len() as u16;
                upper[4..6].copy_from_slice(&len.to_be_bytes());
            }
            let mut packet = if v6 {
                let first = if options > 0 { IpProtocol::DEST_OPTIONS } else { protocol };
                let ext = [&[protocol.0, 0][..], &[1, 4, 0, 0, 0, 0]].concat();
                let ext = if options > 0 { &ext[..] } else { &[] };
                let [high, low] = ((ext.len() + upper.len()) as u16).to_be_bytes();
                let header = [&[0x60, 0, 0, 0, high, low, first.0, 64][..], &[0x20; 16], &[0x21; 16]].concat();
                [&header, ext, &upper].concat()
            } else {
                let [high, low] = ((20 + upper.len()) as u16).to_be_bytes();
                let header = [0x45, 0, high, low, 0xff, 0xfe, 0, 0, 64, protocol.0, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
                [&header[..], &upper].concat()
            };
            if !v6 {
                Ipv4Header::set_checksum_at(&mut packet);
            }
            wire::l4::set_partial(&mut packet).expect("an upper layer");
            let l3 = 14 + 4 * tags;
            let l4 = l3 + packet.len() - upper.len();
            let mut frame = vec![2; 12];
            frame.extend([0x81, 0, 0, 7].repeat(tags));
            frame.extend(if v6 { [0x86, 0xdd] } else { [8, 0] });
            frame.extend(&packet);
            let kind = if !tcp { GsoKind::UdpL4 } else if v6 { GsoKind::TcpV6 } else { GsoKind::TcpV4 };
            let gso = Gso { kind, ecn: ecn && tcp, size, hdr_len: (l4 + header_len) as u16 };
            let offload = Offload {
                csum: Csum::Partial { start: l4 as u16, offset: if tcp { 16 } else { 6 } },
                gso: Some(gso),
            };
            prop_assert_eq!(offload.check(&frame, frame.len(), false), Ok(()));

            let (mut bench, f) = rig(false, TxOffloads::ALL);
            // The hint is a peer's, and isn't trusted.
            let wrong = Offload { gso: Some(Gso { hdr_len: 1, ..gso }), ..offload };
            prop_assert!(bench.node("f0-tx", std::slice::from_ref(&frame), |b| note(b, wrong)).is_empty());
            let passed = f.tx.take();
            prop_assert_eq!(&passed, &vec![Item { offload, ..item(&frame) }]);
            f.txq.set_tx_offloads(&bench.world, TxOffloads::default());
            prop_assert!(bench.node("f0-tx", &[frame], |b| note(b, offload)).is_empty());
            let sent: Vec<_> = f.tx.take().into_iter().map(|i| i.bytes).collect();
            prop_assert_eq!(sent, cut(&passed[0], l3));
        }
    }
}
