// SPDX-License-Identifier: Apache-2.0
//! Capture files, as the generator and other programs write them.

use super::*;
use testkit::pkt::ether;

/// Writes a classic capture of whole packets.
pub fn write(path: &Path, snaplen: u32, frames: &[Vec<u8>]) {
    let frames: Vec<_> = frames.iter().map(|frame| (&frame[..], frame.len())).collect();
    write_parts(path, snaplen, &frames);
}

/// The same, each packet with the length that it had.
fn write_parts(path: &Path, snaplen: u32, frames: &[(&[u8], usize)]) {
    let mut bytes: Vec<u8> = Vec::new();
    let words = |bytes: &mut Vec<u8>, words: &[u32]| {
        words.iter().for_each(|word| bytes.extend(word.to_ne_bytes()));
    };
    words(&mut bytes, &[0xa1b2_c3d4, 0x0004_0002, 0, 0, snaplen, 1]);
    for (frame, len) in frames {
        words(&mut bytes, &[0, 0, frame.len() as u32, *len as u32]);
        bytes.extend_from_slice(frame);
    }
    std::fs::write(path, bytes).expect("written");
}

/// Sends the packets of a file from an interface, and gives what its capture wrote.
fn pass(s: &mut Setup, input: &Path, output: &Path) -> Vec<Vec<u8>> {
    s.run(&format!("packet-generator capture pg0 pcap {}", output.display()));
    s.run(&format!(
        "packet-generator new name x pcap {} interface pg0 node pg0-output",
        input.display()
    ));
    s.run("packet-generator enable x");
    s.finish();
    s.run("packet-generator capture pg0 disable");
    read(output).1
}

fn setup() -> Setup {
    let s = Setup::new();
    s.run("create packet-generator interface pg0");
    s.run("set interface state pg0 up");
    s
}

#[suite::test]
fn the_longest_packets_go_through_files_and_back() {
    let mut s = setup();
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    let frame = |payload| {
        let ether = ether("02:00:00:00:00:01", "02:00:00:00:00:02");
        ether.ip4("10.0.0.1", "10.0.0.2").udp(7, 8).payload_len(payload).build()
    };
    // The last one is an IPv4 packet of 65535 bytes, which makes a frame beyond 65536.
    let frames = [18, 9000, 65_507].map(frame);
    assert_eq!(frames[2].len(), 14 + 65_535);
    // As tcpdump writes it.
    write(&path("in.pcap"), 262_144, &frames);
    assert_eq!(pass(&mut s, &path("in.pcap"), &path("out.pcap")), frames);
    assert_eq!(pass(&mut s, &path("out.pcap"), &path("again.pcap")), frames);
}

#[suite::test]
fn a_file_of_cut_packets_is_sent_as_it_is() {
    let mut s = setup();
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    let frames = [(0..64).collect::<Vec<u8>>(), (64..100).collect()];
    // The first packet had 1500 bytes, and the file keeps 64 of each.
    write_parts(&path("in.pcap"), 64, &[(&frames[0], 1500), (&frames[1], 36)]);
    assert_eq!(pass(&mut s, &path("in.pcap"), &path("out.pcap")), frames);
    write(&path("long.pcap"), 262_144, &[vec![0; 60], vec![0; buffer::MAX_PACKET + 1]]);
    let error = s
        .error(&format!("packet-generator new pcap {} interface pg0", path("long.pcap").display()));
    assert!(error.contains("packet 2: 65600 bytes, 65599 at most"), "{error}");
}

/// Each packet finds a first buffer, but not the 29 others that it needs: nothing of it is sent.
#[suite::test]
fn a_packet_that_finds_no_buffers_is_not_sent() {
    let mut s = setup();
    let folder = tempfile::tempdir().expect("a folder");
    let (from, to) = (folder.path().join("in.pcap"), folder.path().join("out.pcap"));
    let packet = |first| [&[first][..], &[7; 59_999]].concat();
    write(&from, 65_536, &[packet(1), packet(3)]);
    s.run(&format!(
        "packet-generator new name x pcap {} interface pg0 node pg0-output",
        from.display()
    ));
    s.run(&format!("packet-generator capture pg0 pcap {}", to.display()));
    let mut held: Vec<_> = std::iter::from_fn(|| s.bench.rt.cache().alloc()).collect();
    held.drain(held.len() - 20..).for_each(|b| s.bench.rt.cache().free(b));
    s.run("packet-generator enable-stream");
    s.finish();
    let pg0 = s.bench.world.get::<Interfaces>().find("pg0").expect("there");
    let counters = s.bench.world.get::<IfCounters>();
    assert_eq!((counters.rx_no_buf.sum(pg0.at()), counters.rx.sum(pg0.at())), (2, (0, 0)));
    drop(held);
    s.run("packet-generator enable-stream");
    s.finish();
    s.run("packet-generator capture pg0 disable");
    assert!(read(&to).1 == [packet(1), packet(3)], "these are sent, whole");
}
