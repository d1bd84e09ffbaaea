// SPDX-License-Identifier: Apache-2.0
//! Files that other programs have made: scapy's and Wireshark's writers.

use super::*;
use std::path::Path;
use testkit::lab;

/// Writes the files, and the packets as text: time in nanoseconds, bytes in hexadecimal.
const SCAPY: &str = r#"
import random, sys
from scapy.all import Ether, IP, UDP, Raw, wrpcap, wrpcapng, PcapWriter
folder = sys.argv[1]
random.seed(7)
packets, text = [], []
for n in range(40):
    size = random.choice([0, 1, 18, 500, 1472, 8000])
    packet = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02") / IP(src="10.0.0.1", dst="10.0.0.2") / UDP(sport=n + 1, dport=9) / Raw(bytes(random.randrange(256) for _ in range(size)))
    packet = Ether(bytes(packet))
    packet.time = 1700000000 + n
    packets.append(packet)
    text.append("%d %s\n" % ((1700000000 + n) * 10**9, bytes(packet).hex()))
open(folder + "/packets", "w").write("".join(text))
for name, endianness, nano in [("le-us", "<", False), ("be-us", ">", False), ("le-ns", "<", True), ("be-ns", ">", True)]:
    with PcapWriter(folder + "/" + name + ".pcap", endianness=endianness, nano=nano) as writer:
        for packet in packets:
            writer.write(packet)
wrpcapng(folder + "/scapy.pcapng", packets)
"#;

fn expected(folder: &Path) -> Vec<(u64, Vec<u8>)> {
    let text = std::fs::read_to_string(folder.join("packets")).expect("the packets");
    let byte = |pair: &[u8]| {
        let digits = std::str::from_utf8(pair).expect("digits");
        u8::from_str_radix(digits, 16).expect("a byte")
    };
    let packet = |line: &str| {
        let (time, hex) = line.split_once(' ').expect("two words");
        let bytes = hex.as_bytes().chunks(2).map(byte).collect();
        (time.parse().expect("a number"), bytes)
    };
    text.lines().map(packet).collect()
}

#[track_caller]
fn compare(path: &Path, want: &[(u64, Vec<u8>)]) {
    let bytes = std::fs::read(path).expect("it was made");
    let (found, error) = packets(&bytes);
    let name = path.display();
    assert_eq!(error, None, "{name}");
    assert!(found.iter().all(|(_, link, _)| *link == Link::Ethernet), "{name}");
    let found: Vec<_> = found.into_iter().map(|(time, _, bytes)| (time, bytes)).collect();
    assert!(found == want, "{name}: {} packets, {} wanted", found.len(), want.len());
}

#[suite::test]
fn files_of_scapy_and_editcap_are_read() {
    let Some(lab) = lab::require(&["root", "/usr/bin/python3"]) else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    let text = path.to_str().expect("plain letters");
    let made = lab.root().command("/usr/bin/python3").args(["-c", SCAPY, text]).run();
    if !made.success() && made.stderr.contains("No module named") {
        return testkit::skip("no scapy for /usr/bin/python3");
    }
    assert!(made.success(), "{}", made.complaint());
    let want = expected(path);
    assert_eq!(want.len(), 40);
    for name in ["le-us.pcap", "be-us.pcap", "le-ns.pcap", "be-ns.pcap", "scapy.pcapng"] {
        compare(&path.join(name), &want);
    }
    if lab::find_program("editcap").is_none() {
        return testkit::skip("no editcap");
    }
    for from in ["be-ns.pcap", "scapy.pcapng"] {
        for kind in ["pcap", "nsecpcap", "pcapng"] {
            let to = path.join(format!("{from}.{kind}"));
            let to_text = to.to_str().expect("plain letters");
            let from = path.join(from);
            let arguments = ["-F", kind, from.to_str().expect("plain letters"), to_text];
            lab.root().command("editcap").args(arguments).ok();
            compare(&to, &want);
        }
    }
}
