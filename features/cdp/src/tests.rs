// SPDX-License-Identifier: Apache-2.0
use crate::PLUGIN;
use crate::api::CdpEnableDisable;
use crate::pdu::{self, LocalSystem};
use graph::Plugin;
use graph::drive::Bench;
use net::Interfaces;
use net::drive::{Rig, port_mac};
use testkit::mutate::Mutator;
use wire::MacAddr;

static PLUGINS: &[&Plugin] = &[&interface::PLUGIN, &::ethernet::PLUGIN, &PLUGIN];
const PEER: MacAddr = MacAddr([2, 0, 0, 0, 0, 9]);

/// A neighbour's frame, padded to the 60 bytes that Ethernet wants.
fn frame(device: &str, port: &str, ttl: u8) -> Vec<u8> {
    pdu::frame(&LocalSystem { mac: PEER, device, port, addresses: &[], ttl, software: "IOS\n12.2" })
}

/// A frame with these bytes behind the SNAP header, and a valid checksum.
fn raw(packet: &[u8]) -> Vec<u8> {
    let mut packet = packet.to_vec();
    packet[2..4].fill(0);
    let (words, rest) = packet.as_chunks::<2>();
    assert!(rest.is_empty(), "of even length");
    let sum = words.iter().fold(0, |sum: u32, word| sum + u32::from(u16::from_be_bytes(*word)));
    let folded = (sum & 0xffff) + (sum >> 16);
    packet[2..4].copy_from_slice(&(!(folded as u16)).to_be_bytes());
    let mut frame = [pdu::GROUP.0, PEER.0].concat();
    frame.extend((8 + packet.len() as u16).to_be_bytes());
    frame.extend([0xaa, 0xaa, 3, 0, 0, 0x0c, 0x20, 0]);
    frame.extend(packet);
    frame.resize(frame.len().max(60), 0x5a);
    frame
}

/// Our own packet at port `n`.
fn own(n: usize) -> Vec<u8> {
    let device = std::fs::read_to_string("/proc/sys/kernel/hostname").expect("a name");
    let software = concat!("Ferrovia ", env!("CARGO_PKG_VERSION"));
    let port = format!("p{n}");
    pdu::frame(&LocalSystem {
        mac: port_mac(n),
        device: device.trim(),
        port: &port,
        addresses: &[],
        ttl: 180,
        software,
    })
}

#[suite::test]
fn a_new_neighbour_gets_three_packets_and_then_one_each_half_minute() {
    let mut rig = Rig::new(PLUGINS, 2);
    rig.cli("cdp enable");
    rig.seconds(40);
    assert_eq!(rig.sent(), [], "nobody is there");
    let mut sent = Vec::new();
    rig.receive_all(0, &[frame("switch", "Gi0/1", 180)]);
    for second in 0..100 {
        let now = rig.sent();
        assert!(now.iter().all(|sent| *sent == (0, own(0))), "{now:?}");
        sent.extend(now.iter().map(|_| second));
        rig.seconds(1);
    }
    assert_eq!(sent, [0, 1, 2, 32, 62, 92]);
    // It is known already, and another one on the same link isn't.
    rig.receive_all(0, &[frame("switch", "Gi0/1", 180)]);
    assert_eq!(rig.sent(), []);
    rig.receive_all(0, &[frame("switch", "Gi0/2", 180)]);
    assert_eq!(rig.sent(), [(0, own(0))]);
    rig.cli("set interface state p0 down");
    rig.seconds(40);
    assert_eq!(rig.sent(), [], "a link that is down carries nothing");
    rig.cli("set interface state p0 up");
    assert_eq!(rig.sent(), [(0, own(0))], "at once");
    rig.cli("cdp disable");
    rig.seconds(40);
    assert_eq!(rig.sent(), []);
}

#[suite::test]
fn neighbours_age() {
    let mut rig = Rig::new(PLUGINS, 2);
    assert_eq!(rig.cli("show cdp").trim_end(), "CDP is not enabled...");
    rig.receive_all(0, &[frame("switch", "Gi0/1", 40)]);
    assert_eq!(rig.count("cdp-input", "cdp packets received on disabled interfaces"), 1);
    rig.cli("cdp enable");
    rig.receive_all(0, &[frame("switch", "Gi0/1", 40)]);
    rig.receive_all(1, &[frame("router", "eth1", 90)]);
    let shown = rig.cli("show cdp");
    let rows: Vec<Vec<_>> = shown.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(
        rows[..],
        [
            vec!["Our", "Port", "Peer", "System", "Peer", "Port", "Last", "Heard"],
            vec!["p0", "switch", "Gi0/1", "0.0"],
            vec!["p1", "router", "eth1", "0.0"]
        ]
    );
    let verbose = rig.cli("show cdp verbose");
    assert!(verbose.contains("IOS.12.2") && verbose.contains("Ferrovia"), "{verbose}");
    let json = rig.cli("show cdp -j");
    assert!(
        json.contains(r#""system":"switch""#) || json.contains(r#""system": "switch""#),
        "{json}"
    );
    rig.seconds(39);
    assert!(rig.cli("show cdp").contains("switch"));
    rig.seconds(2);
    let shown = rig.cli("show cdp");
    assert!(!shown.contains("switch") && shown.contains("41."), "{shown}");
    // A TTL of 0 takes leave.
    rig.receive_all(1, &[frame("router", "eth1", 0)]);
    assert_eq!(rig.cli("show cdp").lines().count(), 1);
    // The same bytes again are a cache hit, but not behind the end of the neighbour.
    for (times, hits) in [(3, 2), (3, 4)] {
        rig.receive_all(0, &vec![frame("switch", "Gi0/1", 9); times]);
        assert_eq!(rig.count("cdp-input", "good cdp packets (cache hit)"), hits);
        rig.seconds(10);
    }
    assert_eq!(rig.count("cdp-input", "good cdp packets (processed)"), 3 + 2);
    rig.receive_all(0, &[frame("switch", "Gi0/1", 40)]);
    rig.cli("cdp disable");
    rig.cli("cdp enable");
    assert!(!rig.cli("show cdp").contains("switch"), "forgotten");
}

#[suite::test]
fn what_is_wrong_is_counted_by_name() {
    let mut rig = Rig::new(PLUGINS, 1);
    rig.cli("cdp enable");
    let device: &[u8] = &[2, 180, 0, 0, 0, 1, 0, 6, b'a', b'b'];
    // As VPP's tests send them: an element shorter than its head, and one that is longer than the
    // packet.
    let bad = [&[0, 9, 0, 3, b'.', b'.'][..], &[0, 9, 0, 8, b'.', b'.'], &[0, 1, 0, 0], &[0, 1]];
    for (n, element) in bad.into_iter().enumerate() {
        rig.receive_all(0, &[raw(&[device, element].concat())]);
        assert_eq!(
            rig.count("cdp-input", "cdp packets with bad TLVs"),
            n as u64 + 1,
            "{element:?}"
        );
    }
    for version in [0, 3] {
        rig.receive_all(0, &[raw(&[&[version], &device[1..]].concat())]);
    }
    assert_eq!(rig.count("cdp-input", "cdp packets with bad protocol versions"), 2);
    let mut other = raw(device);
    other[30] ^= 1;
    rig.receive_all(0, &[other]);
    assert_eq!(rig.count("cdp-input", "cdp packets with bad checksums"), 1);
    assert_eq!(rig.cli("show cdp").lines().count(), 1);
    // A valid packet, behind a priority tag too.
    rig.receive_all(0, &[raw(device)]);
    let mut tagged = raw(&[device, &[0, 3, 0, 6, b'e', b'1']].concat());
    tagged.splice(12..12, [0x81, 0, 0xe0, 0]);
    rig.receive_all(0, &[tagged]);
    assert!(rig.cli("show cdp").contains("e1"));
    // A frame that ends before its length.
    let cut = frame("switch", "Gi0/1", 180);
    rig.receive_all(0, &[cut[..cut.len() - 1].to_vec(), cut[..14].to_vec(), cut[..16].to_vec()]);
    assert_eq!(rig.count("llc-input", "too_short"), 3);
    let with = |at: usize, byte: u8| {
        let mut frame = cut.clone();
        frame[at] = byte;
        frame
    };
    rig.receive_all(0, &[with(14, 0xfe), with(16, 0x13), with(21, 1)]);
    assert_eq!(rig.count("llc-input", "unknown llc ssap/dsap"), 1);
    assert_eq!(rig.count("llc-input", "control != 0x3"), 1);
    assert_eq!(rig.count("snap-input", "unknown oui/snap protocol"), 1);
    let mut short = cut[..20].to_vec();
    short[12..14].copy_from_slice(&[0, 6]);
    rig.receive_all(0, &[short]);
    assert_eq!(rig.count("snap-input", "too_short"), 1);
}

#[suite::test]
fn a_port_that_receives_much_takes_nothing_from_another() {
    let mut rig = Rig::new(PLUGINS, 2);
    rig.cli("cdp enable");
    // All come before control reads the first.
    let (first, second) = (rig.ports[0].0, rig.ports[1].0);
    let packets = |device: &str, n: usize| vec![frame(device, "e0", 40)[22..].to_vec(); n];
    let lost = rig.bench.node("cdp-input", &packets("one", 100), |b| b.rx_if = first);
    rig.bench.node("cdp-input", &packets("two", 1), |b| b.rx_if = second);
    rig.bench.settle();
    let shown = rig.cli("show cdp");
    assert!(shown.contains("one") && shown.contains("two"), "{shown}");
    assert_eq!(lost.len(), 96);
    assert!(lost.iter().all(|lost| lost.reason == Some("control is too far behind to take note")));
}

#[suite::test]
fn ports_come_and_go() {
    let mut rig = Rig::new(PLUGINS, 1);
    let mut client = rig.bench.api();
    assert_eq!(client.call(CdpEnableDisable { enable_disable: true }), Ok(()));
    assert_eq!(client.call(CdpEnableDisable { enable_disable: true }), Ok(()));
    drop(client);
    rig.add_port(1);
    rig.receive_all(1, &[frame("switch", "Gi0/1", 180)]);
    assert!(rig.cli("show cdp").contains("p1"));
    rig.sent();
    rig.delete_port(1);
    assert_eq!(rig.cli("show cdp").lines().count(), 1);
    rig.seconds(40);
    assert_eq!(rig.sent(), []);
    rig.cli("create loopback interface");
    rig.cli("set interface state loop0 up");
    let world = rig.world();
    let loopback = world.get::<Interfaces>().find("loop0").expect("there").0;
    rig.bench.send("ethernet-input", &frame("switch", "Gi0/1", 180), |b| b.rx_if = loopback);
    assert_eq!(rig.count("cdp-input", "cdp packets received on disabled interfaces"), 1);
    assert_eq!(rig.bench.api().call(CdpEnableDisable { enable_disable: false }), Ok(()));
    assert_eq!(rig.cli("show cdp").trim_end(), "CDP is not enabled...");
}

#[suite::test]
fn a_trace_shows_the_neighbour() {
    let mut rig = Rig::new(PLUGINS, 1);
    rig.cli("cdp enable");
    rig.bench.rt.trace().order(graph::NodeIndex(999), 1, graph::TraceLog::room(16), 0);
    rig.bench.arrive_as(rig.ports[0], &frame("switch", "Gi0/1", 180), |b| Bench::trace(b, 7));
    rig.bench.settle();
    let trace = rig.bench.rt.trace().records().map(|record| record.to_string()).collect::<String>();
    for line in [
        "LLC 0xaa -> 0xaa, control 0x03",
        "SNAP oui 00000c, protocol 0x2000",
        "CDP version 2, ttl(secs) 180, device switch, port Gi0/1",
    ] {
        assert!(trace.contains(line), "{line} isn't in {trace}");
    }
}

/// Mutated frames never panic, and each is counted once: as a packet of CDP, or as a drop. Half of
/// them have a right checksum.
#[suite::test]
fn each_of_many_broken_frames_is_counted_once() {
    let mut rig = Rig::new(PLUGINS, 2);
    rig.cli("cdp enable");
    let bases = vec![frame("switch", "Gi0/1", 180), frame("router", "eth1", 1), frame("", "", 0)];
    let mut mutator = Mutator::new(7);
    let mut received = 0;
    for round in 0..12_500 {
        let mut frames = Vec::new();
        for n in 0..8 {
            let mut bytes = Vec::new();
            mutator.next_frame(&bases, &mut bytes);
            bytes.truncate(1500);
            let length = bytes.len().next_multiple_of(2);
            if n % 2 == 0 && length >= 30 {
                bytes.resize(length, 0);
                bytes = raw(&bytes[22..]);
            }
            frames.push(bytes);
        }
        received += frames.len() as u64;
        rig.receive_all(round % 2, &frames);
        if round % 100 == 0 {
            let shown = rig.cli("show cdp verbose");
            assert!(shown.lines().count() <= 3, "one neighbour a port: {shown}");
            assert!(shown.chars().all(|c| c == '\n' || net::is_printable(c)), "{shown:?}");
            rig.seconds(1);
        }
    }
    let good = ["good cdp packets (processed)", "good cdp packets (cache hit)"];
    let noted: u64 = good.iter().map(|name| rig.count("cdp-input", name)).sum();
    assert_eq!(noted + rig.bench.drops(), received);
    assert!(noted > 1000, "{noted}");
    for name in ["bad TLVs", "bad checksums", "bad protocol versions"] {
        assert!(rig.count("cdp-input", &format!("cdp packets with {name}")) > 100, "{name}");
    }
}

#[suite::test]
fn a_port_sends_one_packet_a_second_whatever_it_receives() {
    let mut rig = Rig::new(PLUGINS, 1);
    rig.cli("cdp enable");
    rig.seconds(1);
    for _ in 0..20 {
        for n in 0..50 {
            rig.receive_all(0, &[frame(&format!("switch{n}"), "e0", 180)]);
        }
        // One that leaves and comes back is new, too.
        rig.receive_all(0, &[frame("switch", "e0", 0)]);
        rig.receive_all(0, &[frame("switch", "e0", 180)]);
        assert_eq!(rig.sent(), [(0, own(0))]);
        rig.seconds(1);
        rig.sent();
        rig.bench.world.clock.adjust(1_000_000_000);
    }
}

#[suite::test]
fn ten_thousand_ports_leave_nothing_behind() {
    let mut rig = Rig::new(PLUGINS, 2);
    rig.cli("cdp enable");
    let before = rig.ports[1];
    for _ in 0..10_000 {
        rig.receive_all(1, &[frame("switch", "e0", 180)]);
        rig.delete_port(1);
        rig.add_port(1);
    }
    assert_eq!(rig.ports[1], before, "the index is given back");
    assert_eq!(rig.cli("show cdp").lines().count(), 1);
}
