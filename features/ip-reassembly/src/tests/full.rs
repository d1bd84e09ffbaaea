// SPDX-License-Identifier: Apache-2.0
use super::*;
use testkit::pkt;

const NODE: &str = "ip4-full-reassembly-feature";

fn datagram(id: u16, len: usize) -> Vec<u8> {
    pkt::ip4("192.0.2.9", "198.51.100.7").id(id).udp(1000, 2000).payload_len(len).build()
}

fn feature(bench: &mut Bench, sw_if: SwIfIndex, packets: &[Vec<u8>]) -> Vec<Outcome> {
    bench.feature("ip4-unicast", sw_if, packets)
}

#[suite::test]
fn others_pass_and_datagrams_become_whole() {
    let (mut bench, sw_if) = bench();
    run(&mut bench, "set interface reassembly t0 ip4");
    let (plain, large) = (datagram(1, 100), datagram(2, 8000));
    let mut packets = cut(&large, 1480);
    packets.insert(3, plain.clone());
    let out = feature(&mut bench, sw_if, &packets);
    let bytes: Vec<_> = went(&out, "ip4-lookup").iter().map(|o| o.bytes.clone()).collect();
    assert!(bytes.contains(&plain) && bytes.contains(&large), "{out:?}");
    assert_eq!((out.len(), bench.count(NODE, "reass_success")), (2, 1));
    // In reverse, and with the padding of an Ethernet frame.
    let mut packets = cut(&datagram(3, 1500), 1480);
    packets.iter_mut().for_each(|p| p.resize(p.len().max(46), 0));
    packets.reverse();
    let out = feature(&mut bench, sw_if, &packets);
    assert_eq!(out[0].bytes, datagram(3, 1500));
}

#[suite::test]
fn headers_end_up_in_the_first_segment() {
    let (mut bench, sw_if) = bench();
    run(&mut bench, "set interface reassembly t0 on");
    let (input, node) = (bench.index("ip4-input"), bench.index(NODE));
    let lookup = bench.index("ip4-lookup");
    let large = datagram(4, 3000);
    // A few bytes, then one fragment that fills its buffer.
    for bytes in [part(&large, 0, 16), part(&large, 16, 2032), part(&large, 2032, 3008)] {
        let mut b = bench.buffer(&bytes);
        b.rx_if = sw_if.0;
        bench.rt.inject(input, b);
    }
    bench.rt.run_node(input);
    bench.rt.run_node(node);
    let [b] = &bench.rt.waiting(lookup)[..] else { panic!("one packet") };
    assert!(b.len() >= 256 && b.segments().flatten().eq(&large), "{b:?}");
}

#[suite::test]
fn a_datagram_of_64_kib_fits_and_a_longer_one_does_not() {
    let (mut bench, sw_if) = bench();
    run(&mut bench, "set interface reassembly t0 on");
    let large = datagram(5, 65_507);
    let out = feature(&mut bench, sw_if, &cut(&large, 1480));
    assert_eq!(out.len(), 1);
    assert_eq!(out[0].bytes, large);
    // RFC 791's greatest offset, with more bytes than there can be.
    let beyond = with(part(&large, 0, 800), |ip| ip.flags_fragment = U16::new(0x1fff));
    let out = feature(&mut bench, sw_if, &[beyond]);
    assert_eq!(out[0].reason, Some("malformed fragment"));
    // Each fragment may be; with the first one's options the whole is too long.
    let pieces = cut(&datagram(6, 65_507), 1480);
    let options =
        pkt::ip4("192.0.2.9", "198.51.100.7").id(6).options([1; 40]).udp(1000, 2000).build();
    let mut first = [&options[..60], &pieces[0][20..]].concat();
    let ip = Ipv4Header::view_mut(&mut first).expect("a header");
    ip.total_len = U16::new(1540);
    ip.flags_fragment = U16::new(Ipv4Header::MF);
    Ipv4Header::set_checksum_at(&mut first);
    let out = feature(&mut bench, sw_if, &[&[first], &pieces[1..]].concat());
    assert_eq!(out.len(), 1);
    assert_eq!(out[0].reason, Some("datagram that is longer than a packet may be"));
}

#[suite::test]
fn the_host_that_waits_too_long_tells_and_a_router_does_not() {
    let (mut bench, sw_if) = bench();
    run(&mut bench, "set interface reassembly t0 on");
    let counts = |bench: &Bench, node| {
        ["reass_timeout", "reass_time_exceeded", "reass_given_up"]
            .map(|reason| bench.count(node, reason))
    };
    let large = datagram(7, 3000);
    let (first, rest) = (part(&large, 0, 1480), part(&large, 1480, 2960));
    assert!(feature(&mut bench, sw_if, &[first, rest]).is_empty());
    // Real time passes too, however much on a busy machine.
    pass(&mut bench, 1000);
    assert_eq!(counts(&bench, NODE), [0, 0, 0]);
    pass(&mut bench, 5100);
    assert_eq!(counts(&bench, NODE), [1, 0, 2]);
    run(&mut bench, "set interface reassembly t0 off");
    let ours = pkt::ip4("192.0.2.9", "10.0.0.1").id(7).udp(1000, 2000).payload_len(3000).build();
    let (first, rest) = (part(&ours, 0, 1480), part(&ours, 1480, 2960));
    let local = "ip4-local-full-reassembly";
    for bytes in [&first, &rest] {
        bench.send("ip4-input", bytes, |b| b.rx_if = sw_if.0);
    }
    pass(&mut bench, 6000);
    assert_eq!(
        (counts(&bench, local), bench.count("ip4-icmp-error", "ttl_expire_sent")),
        ([1, 1, 1], 1)
    );
    // Without the first one, no error is sent.
    bench.send("ip4-input", &rest, |b| b.rx_if = sw_if.0);
    pass(&mut bench, 6000);
    assert_eq!(
        (counts(&bench, local), bench.count("ip4-icmp-error", "ttl_expire_sent")),
        ([2, 1, 2], 1)
    );
}

#[suite::test]
fn fragments_that_overlap_are_put_together_whatever_their_order() {
    let (mut bench, sw_if) = bench();
    run(&mut bench, "set interface reassembly t0 on");
    let packet = |id| datagram(id, 3000);
    let cuts = [(0, 1480), (800, 1600), (1600, 2400), (1480, 2960), (2000, 3008), (2960, 3008)];
    for (id, turn) in (50..).zip(0..cuts.len()) {
        let mut parts: Vec<_> =
            cuts.iter().map(|(start, end)| part(&packet(id), *start, *end)).collect();
        parts.rotate_left(turn);
        parts.push(part(&packet(id), 0, 1480));
        let out = feature(&mut bench, sw_if, &parts);
        let whole = went(&out, "ip4-lookup");
        assert_eq!(whole.len(), 1, "turn {turn}");
        assert!(whole[0].bytes == packet(id), "bytes of turn {turn}");
    }
    // Where fragments contradict each other, the one that begins later determines the bytes.
    let (one, mut other) = (packet(60), packet(60));
    other[20..].fill(0xee);
    let parts = [part(&one, 0, 1480), part(&other, 1400, 2000), part(&one, 1920, 3008)];
    let want = [&one[..20 + 1400], &other[20 + 1400..20 + 1920], &one[20 + 1920..]].concat();
    let out = feature(&mut bench, sw_if, &parts);
    assert!(out.len() == 1 && out[0].bytes == want);
}

#[suite::test]
fn limits_of_zero_let_no_fragment_pass() {
    let (mut bench, sw_if) = bench();
    run(&mut bench, "set interface reassembly t0 on");
    let plain = datagram(1, 100);
    let reasons = ["reass_given_up", "reass_limit_reached", "reass_fragment_chain_too_long"];
    let counts = |bench: &Bench| reasons.map(|reason| bench.count(NODE, reason));
    // All by the timeout, by the number of datagrams, by the number of fragments: then one has the
    // reason.
    for (limits, want) in [
        ("timeout 0", [3, 0, 0]),
        ("max-reassemblies 0 timeout 5000", [0, 3, 0]),
        ("max-reassemblies 9 max-reassembly-length 0", [2, 0, 1]),
    ] {
        let before = counts(&bench);
        run(&mut bench, &format!("set ip4-full-reassembly {limits}"));
        let mut packets = cut(&datagram(70, 3000), 1480);
        assert_eq!(packets.len(), 3);
        packets.push(plain.clone());
        let out = feature(&mut bench, sw_if, &packets);
        assert_eq!(
            went(&out, "ip4-lookup").iter().map(|o| &o.bytes).collect::<Vec<_>>(),
            [&plain],
            "{limits}"
        );
        // Without a further fragment too, and although the walk is never due.
        run(&mut bench, "set ip4-full-reassembly expire-walk-interval 0");
        pass(&mut bench, 6000);
        assert_eq!(crate::control::under_way(&bench.world, crate::Kind::Full, false), 0);
        let after = counts(&bench);
        assert_eq!([0, 1, 2].map(|i| after[i] - before[i]), want, "{limits}");
    }
    assert_eq!(bench.count(NODE, "reass_success"), 0);
}

#[suite::test]
fn limits_hold() {
    let (mut bench, sw_if) = bench();
    run(&mut bench, "set interface reassembly t0 on");
    run(&mut bench, "set ip4-full-reassembly max-reassemblies 10 max-reassembly-length 3");
    let firsts: Vec<_> = (100..125).map(|id| part(&datagram(id, 3000), 0, 1480)).collect();
    let out = feature(&mut bench, sw_if, &firsts);
    assert_eq!(out.len(), 15);
    let why = "too many datagrams are under way: the oldest is given up";
    assert!(out.iter().all(|o| o.reason == Some(why)), "each was the only one of its datagram");
    assert_eq!(bench.count(NODE, "reass_limit_reached"), 15);
    assert_eq!(crate::control::under_way(&bench.world, crate::Kind::Full, false), 10);
    // The youngest is there still.
    let rest = [part(&datagram(124, 3000), 1480, 2960), part(&datagram(124, 3000), 2960, 3008)];
    assert_eq!(feature(&mut bench, sw_if, &rest)[0].bytes, datagram(124, 3000));
    let four = cut(&datagram(200, 1000), 256);
    let out = feature(&mut bench, sw_if, &four);
    assert_eq!((four.len(), out.len()), (4, 4));
    // Each datagram is counted once.
    let reasons = ["reass_fragment_chain_too_long", "reass_given_up"];
    assert_eq!(reasons.map(|reason| bench.count(NODE, reason)), [1, 3]);
    // Buffers: three 32nds of 4096.
    run(&mut bench, "set ip4-full-reassembly max-reassemblies 5000 max-reassembly-length 64");
    let firsts: Vec<_> = (1000..1800).map(|id| part(&datagram(id, 3000), 0, 1480)).collect();
    let out: Vec<_> = firsts.chunks(200).flat_map(|p| feature(&mut bench, sw_if, p)).collect();
    let room = bench.world.pool.stats().limit * 3 / 32;
    // The one that finds no room has been counted when the oldest goes, so its own buffer makes
    // two.
    assert_eq!(out.len(), 9 + 800 - room, "nine were there before");
    // Datagram 200, which was given up, holds no buffer and stays until its time.
    let there = room + 1;
    let details = run(&mut bench, "show ip4-full-reassembly details");
    assert!(
        details.contains(&format!("Current full IP4 reassemblies count: {there}\n")),
        "{details}"
    );
    assert!(details.contains("192.0.2.9  198.51.100.7     1799     17"), "{details}");
}

#[suite::test]
fn congestion_is_passed_on_and_contradictions_are_not() {
    let (mut bench, sw_if) = bench();
    run(&mut bench, "set interface reassembly t0 on");
    let mut try_with = |marks: [u8; 3]| {
        let packet = datagram(300 + u16::from(marks[0] * 16 + marks[1] * 4 + marks[2]), 2000);
        let packets: Vec<_> = cut(&packet, 800)
            .into_iter()
            .zip(marks)
            .map(|(p, ecn)| with(p, |ip| ip.tos = ecn))
            .collect();
        let mut out = feature(&mut bench, sw_if, &packets);
        if out.len() > 1 {
            Err(bench.count(NODE, "reass_ecn_mismatch"))
        } else {
            Ok(out.remove(0).bytes[1])
        }
    };
    assert_eq!(try_with([2, 2, 2]), Ok(2));
    assert_eq!(try_with([2, 3, 2]), Ok(3));
    assert_eq!(try_with([0, 2, 0]), Ok(0));
    assert_eq!(try_with([0, 3, 0]), Err(1));
}

#[suite::test]
fn tables_are_kept_apart() {
    let (mut bench, sw_if) = bench();
    run(&mut bench, "set interface reassembly t0 on");
    let packet = datagram(9, 2000);
    assert!(feature(&mut bench, sw_if, &[part(&packet, 0, 1480)]).is_empty());
    run(&mut bench, "ip table add 7");
    run(&mut bench, "set interface ip address del t0 10.0.0.1/24");
    run(&mut bench, "set interface ip table t0 7");
    run(&mut bench, "set interface reassembly t0 on");
    let out = feature(&mut bench, sw_if, &[part(&packet, 1480, 2008)]);
    assert!(out.is_empty(), "the other half is of another network: {out:?}");
}

#[suite::test]
fn parts_of_flooded_packets_are_copied() {
    let (mut bench, sw_if) = bench();
    run(&mut bench, "set interface reassembly t0 on");
    let packet = datagram(10, 9000);
    let (input, node) = (bench.index("ip4-input"), bench.index(NODE));
    for bytes in cut(&packet, 4000).into_iter().rev() {
        let original = bench.buffer(&bytes).into_original(100);
        for _ in 0..2 {
            let mut copy = original.copy(bench.rt.cache()).expect("a buffer");
            assert!(copy.is_shared());
            copy.rx_if = sw_if.0;
            bench.rt.inject(input, copy);
        }
        assert!(original.finish(bench.rt.cache()).is_none());
    }
    bench.rt.run_node(input);
    bench.rt.run_node(node);
    let out = bench.collect();
    assert_eq!(out.iter().filter(|o| o.bytes == packet).count(), 1, "{:?}", out.len());
    assert_eq!(bench.count(NODE, "reass_duplicate_fragment"), 2, "and the last copy begins anew");
}
