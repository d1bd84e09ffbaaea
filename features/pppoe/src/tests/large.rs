// SPDX-License-Identifier: Apache-2.0
//! Packets of several buffers, and super-packets.

use super::*;

/// Sessions whose packets may be as long as jumbo frames.
fn with_jumbo() -> Rig {
    let mut rig = with_sessions();
    for name in ["p0", "p1", "p2", "pppoe_session0", "pppoe_session2"] {
        rig.cli(&format!("set interface mtu 9216 {name}"));
    }
    rig
}

#[suite::test]
fn jumbo_frames_pass_both_ends() {
    let mut rig = with_jumbo();
    for (session, address, there, port) in
        [(7, "100.64.0.1", "30.0.0.1", 2), (8, "2001:db8:64::1", "2004::1", 1)]
    {
        for len in [2000, 2020, 4100, 9000] {
            let whole = packet(there, address, 64, len);
            let protocol = protocol_of(&whole);
            let ethertype = if protocol == 0x57 { 0x86dd } else { 0x0800 };
            let came = frame(peer_mac(1), port_mac(1), &[], ethertype, &whole);
            let hop = packet(there, address, 63, len);
            let out = session_frame(port_mac(0), client(1), session, protocol, &hop);
            assert_eq!(rig.pass(1, &came), [(0, out)], "{address} {len}");
            let whole = packet(address, there, 64, len);
            let hop = packet(address, there, 63, len);
            let out = frame(port_mac(port), peer_mac(port), &[], ethertype, &hop);
            // Bytes behind the packet aren't the packet's, in whichever buffer they are.
            for padding in [0, 1, 46, 2500] {
                let mut came = session_frame(client(1), port_mac(0), session, protocol, &whole);
                came.resize(came.len() + padding, 0xee);
                assert_eq!(rig.pass(0, &came), [(port, out.clone())], "{address} {len} {padding}");
            }
        }
    }
    assert_eq!(rig.bench.buffers_out(), 0, "buffers are lost");
}

/// The header tells how long the payload is: an IP packet that would be longer is cut short, though
/// the frame has more bytes.
#[suite::test]
fn packets_end_where_the_header_says() {
    let mut rig = with_jumbo();
    let whole = packet("100.64.0.1", "30.0.0.1", 64, 9000);
    let good = session_frame(client(1), port_mac(0), 7, 0x21, &whole);
    for len in [2 + 20, 100, 1400, 2030, 2100, 5000, 2 + whole.len() - 1] {
        let mut came = good.clone();
        came[18..20].copy_from_slice(&(len as u16).to_be_bytes());
        let before = rig.bench.drops();
        assert_eq!(rig.pass(0, &came), [], "{len}");
        assert_eq!(rig.bench.drops(), before + 1, "{len}");
    }
    // A whole short packet in a long frame.
    let short = packet("100.64.0.1", "30.0.0.1", 64, 30);
    let mut came = session_frame(client(1), port_mac(0), 7, 0x21, &short);
    came.resize(9000, 0xee);
    let hop = packet("100.64.0.1", "30.0.0.1", 63, 30);
    let out = frame(port_mac(2), peer_mac(2), &[], 0x800, &hop);
    assert_eq!(rig.pass(0, &came), [(2, out)]);
    assert_eq!(rig.bench.buffers_out(), 0, "buffers are lost");
}

/// The segments of super-packets get headers each. Those of many at once wait for one another, and
/// all of them leave.
#[suite::test]
fn super_packets_are_cut_before_they_get_headers() {
    const LEN: usize = 10_000;
    const PACKETS: u16 = 100;
    let mut rig = with_sessions();
    let rx = rig.ports[1];
    let payload = |n: u16| -> Vec<u8> {
        (0..LEN as u32).map(|i| (i.wrapping_mul(u32::from(n) * 2 + 3) >> 3) as u8).collect()
    };
    let receive = |rig: &mut Rig, n, size| {
        let ip = pkt::ip4("30.0.0.1", "100.64.0.1").ttl(64);
        let whole = ip.tcp(n, 2).payload(payload(n)).build();
        let came = frame(peer_mac(1), port_mac(1), &[], 0x800, &whole);
        rig.bench.arrive_as(rx, &came, |b| {
            b.flags.insert(buffer::Flags::GSO | buffer::Flags::CSUM_PARTIAL);
            (b.offload.csum_start, b.offload.csum_offset, b.offload.gso_size) = (34, 16, size);
        });
    };
    (0..PACKETS).for_each(|n| receive(&mut rig, n, 1400));
    rig.bench.settle();
    let mut sent = rig.sent();
    assert_eq!(sent.len(), usize::from(PACKETS) * LEN.div_ceil(1400));
    assert_eq!(rig.count("pppoe-encap", "encapsulated"), sent.len() as u64);
    // By the source port, which is the packet's number, and the sequence number.
    sent.sort_by_key(|(_, frame)| [frame[42..44].to_vec(), frame[46..50].to_vec()]);
    let mut got = vec![Vec::new(); PACKETS.into()];
    for (port, sent) in &sent {
        let packet = &sent[22..];
        let whole = session_frame(port_mac(0), client(1), 7, 0x21, packet);
        assert_eq!((*port, sent), (0, &whole));
        assert_eq!(wire::l4::verify(packet), Ok(wire::l4::Verdict::Valid));
        assert_eq!((packet[8], &packet[12..20]), (63, &[30, 0, 0, 1, 100, 64, 0, 1][..]));
        let n = u16::from_be_bytes([packet[20], packet[21]]);
        got[usize::from(n)].extend_from_slice(&packet[40..]);
    }
    for (n, got) in (0..).zip(got) {
        assert_eq!(got, payload(n), "{n}");
    }
    // Into too many segments.
    receive(&mut rig, 0, 7);
    rig.bench.settle();
    assert_eq!((rig.sent(), rig.count("pppoe-encap", "bad_super")), (vec![], 1));
    assert_eq!(rig.bench.buffers_out(), 0, "buffers are lost");
}
