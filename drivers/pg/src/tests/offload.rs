// SPDX-License-Identifier: Apache-2.0
//! Checksums and segmentation that packets leave to the interface that sends them.

use super::*;
use testkit::pkt::ether;
use wire::l4::{Verdict, verify};

/// Sends frames in by one interface and straight out by another, and gives what that wrote to its
/// capture.
fn pass(from: &str, to: &str, frames: &[Vec<u8>]) -> (Setup, Vec<Vec<u8>>) {
    let mut s = Setup::new();
    for (name, words) in [("pg0", from), ("pg1", to)] {
        s.run(&format!("create packet-generator interface {name} {words}"));
        s.run(&format!("set interface state {name} up"));
    }
    let packets = send(&mut s, frames);
    (s, packets)
}

fn send(s: &mut Setup, frames: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let folder = tempfile::tempdir().expect("a folder");
    let (input, output) = (folder.path().join("in.pcap"), folder.path().join("out.pcap"));
    files::write(&input, 65_536, frames);
    s.run(&format!("packet-generator capture pg1 pcap {}", output.display()));
    s.run(&format!(
        "packet-generator new pcap {} source pg0 name x node pg1-output",
        input.display()
    ));
    s.run("packet-generator enable x");
    s.finish();
    s.run("packet-generator capture pg1 disable");
    if output.exists() { read(&output).1 } else { Vec::new() }
}

/// A TCP packet of so much payload, and what its sender would have sent without segmentation
/// offload.
fn tcp(payload: usize, size: usize, v6: bool) -> (Vec<u8>, Vec<Vec<u8>>) {
    let frame = ether("02:00:00:00:00:01", "02:00:00:00:00:02");
    let frame = if v6 {
        frame.ip6("2001:db8::1", "2001:db8::2")
    } else {
        frame.ip4("10.0.0.1", "10.0.0.2")
    };
    let whole = frame.tcp(7, 8).payload_len(payload).build();
    let mut parts = Vec::new();
    wire::gso::segment(&whole, 14, size as u16, |head, payload| {
        parts.push([head, payload].concat())
    })
    .expect("TCP");
    (whole, parts)
}

fn without_checksum(mut frame: Vec<u8>, at: usize) -> Vec<u8> {
    frame[at..at + 2].fill(0);
    frame
}

#[suite::test]
fn an_interface_without_offloads_completes_what_was_left() {
    for v6 in [false, true] {
        let l4 = if v6 { 54 } else { 34 };
        let frame = ether("02:00:00:00:00:01", "02:00:00:00:00:02");
        let frame = if v6 {
            frame.ip6("2001:db8::1", "2001:db8::2")
        } else {
            frame.ip4("10.0.0.1", "10.0.0.2")
        };
        let udp = frame.udp(7, 8).payload_len(100).build();
        let (tcp, _) = tcp(3000, 60_000, v6);
        let sent = [without_checksum(udp.clone(), l4 + 6), without_checksum(tcp.clone(), l4 + 16)];
        let (_, got) = pass("csum-offload-enabled", "", &sent);
        assert_eq!(got, [udp.clone(), tcp.clone()], "v6: {v6}");
        // Without offloads what is wrong stays wrong; with them on both sides, the field holds the
        // pseudo-header's sum.
        assert_eq!(pass("", "", &sent).1, sent);
        let (_, got) = pass("csum-offload-enabled", "csum-offload-enabled", &sent);
        for (frame, (start, offset)) in got.into_iter().zip([(l4, 6), (l4, 16)]) {
            let mut done = frame;
            assert_eq!(verify(&done[14..]), Ok(Verdict::Invalid));
            assert!(wire::l4::finish_partial(&mut done, start, offset));
            assert!(done == udp || done == tcp);
        }
    }
}

#[suite::test]
fn super_packets_are_cut_where_the_interface_does_not_take_them() {
    for v6 in [false, true] {
        let (whole, parts) = tcp(65_000, 1460, v6);
        let (_, got) = pass("gso-enabled gso-size 1460", "", &[whole.clone(), whole.clone()]);
        assert_eq!(got.len(), 90);
        assert_eq!(got, [&parts[..], &parts[..]].concat(), "v6: {v6}");
        assert!(got.iter().all(|f| verify(&f[14..]) == Ok(Verdict::Valid)));
        let (_, got) = pass(
            "gso-enabled gso-size 1460",
            "gso-enabled gso-size 1400",
            std::slice::from_ref(&whole),
        );
        assert_eq!(got.len(), 1);
        let l4 = if v6 { 54 } else { 34 };
        assert_eq!(
            without_checksum(got[0].clone(), l4 + 16),
            without_checksum(whole.clone(), l4 + 16)
        );
        // A packet that fits in one segment, or has no segment size, is not a super-packet.
        let (small, _) = tcp(1460, 1460, v6);
        assert_eq!(pass("gso-enabled gso-size 1460", "", std::slice::from_ref(&small)).1, [small]);
        assert_eq!(pass("gso-enabled gso-size 0", "", std::slice::from_ref(&whole)).1, [whole]);
    }
}

#[suite::test]
fn packets_that_offloads_do_not_fit_pass_as_they_are() {
    let (whole, _) = tcp(3000, 1460, false);
    let mut fragment = whole.clone();
    fragment[20] = 0x20;
    wire::Ipv4Header::set_checksum_at(&mut fragment[14..]);
    let mut cut = whole.clone();
    cut.truncate(50);
    let mut arp = whole[..60].to_vec();
    arp[12..14].copy_from_slice(&[8, 6]);
    let frames = [fragment, cut, arp, vec![1; 15]];
    assert_eq!(pass("gso-enabled gso-size 1460 csum-offload-enabled", "", &frames).1, frames);
}

#[suite::test]
fn a_stream_says_what_its_packets_leave_undone() {
    let mut s = Setup::new();
    let folder = tempfile::tempdir().expect("a folder");
    let output = folder.path().join("out.pcap");
    s.run("create packet-generator interface pg0");
    s.run("set interface state pg0 up");
    s.run(&format!("packet-generator capture pg0 pcap {}", output.display()));
    s.run(
        "packet-generator new {\n name x\n limit 3\n size 128-128\n interface pg0\n tx-interface pg0\n node pg0-output\n \
         buffer-flags ip4 offload\n buffer-offload-flags offload-ip-cksum offload-udp-cksum\n data {\n IP4: 1.2.3 -> 4.5.6\n \
         UDP: 11.22.33.44 -> 11.22.34.44\n ttl 2 checksum 13\n UDP: 1234 -> 2345\n checksum 11\n incrementing 114\n }\n}",
    );
    s.run("packet-generator enable x");
    s.finish();
    let (_, packets) = read(&output);
    assert_eq!(packets.len(), 3);
    for packet in packets {
        assert!(wire::Ipv4Header::checksum_ok_at(&packet[14..]));
        assert_eq!(verify(&packet[14..]), Ok(Verdict::Valid));
    }
}

#[suite::test]
fn segments_are_put_together_and_leave_with_the_next_stream() {
    let payload = 1460;
    let segments: Vec<Vec<u8>> = (0..124u32)
        .map(|i| {
            let frame = ether("02:00:00:00:00:01", "02:00:00:00:00:02").ip4("10.0.0.1", "10.0.0.2");
            let mut frame = frame.tcp(7, 8).payload_len(payload).build();
            frame[38..42].copy_from_slice(&(i * payload as u32).to_be_bytes());
            frame[47] = 0x10;
            wire::l4::finish(&mut frame[14..]).expect("TCP");
            frame
        })
        .collect();
    let (mut s, got) = pass("", "gso-enabled gso-size 1460 coalesce-enabled", &segments);
    assert_eq!(got.iter().map(Vec::len).collect::<Vec<_>>(), [64_294, 64_294], "44 segments each");
    let again = send(&mut s, &segments[..1]);
    assert_eq!(again.len(), 1, "the one that came now waits");
    assert_eq!(again[0].len(), 54 + 36 * payload);
    let sent: Vec<u8> = segments.iter().flat_map(|f| f[54..].to_vec()).collect();
    let came: Vec<u8> =
        [&got[0], &got[1], &again[0]].iter().flat_map(|f| f[54..].to_vec()).collect();
    assert_eq!(came, sent);
    // After a second it leaves by itself.
    let output = tempfile::tempdir().expect("a folder");
    let file = output.path().join("later.pcap");
    s.run(&format!("packet-generator capture pg1 pcap {}", file.display()));
    s.bench.world.clock.adjust(1_000_000_000);
    s.shown("show packet-generator");
    assert_eq!(read(&file).1, segments[..1]);
}
