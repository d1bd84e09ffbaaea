// SPDX-License-Identifier: Apache-2.0
//! Other programs read what the tunnels send: Wireshark takes it apart without a complaint, and
//! Scapy builds the same bytes.

use std::fs;
use std::path::Path;
use std::process::Command;

use testkit::lab::require;
use testkit::pkt;

use super::{KINDS, Kind, rig};

/// The classic format of captures (pcap), Ethernet.
fn capture(frames: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    // Version 2.4, packets up to 65,535 bytes, link type 1.
    for word in [0xa1b2_c3d4_u32, 4 << 16 | 2, 0, 0, 65_535, 1] {
        bytes.extend(word.to_le_bytes());
    }
    for frame in frames {
        let len = frame.len() as u32;
        [0, 0, len, len].iter().for_each(|word: &u32| bytes.extend(word.to_le_bytes()));
        bytes.extend(frame);
    }
    bytes
}

/// Frames that leave with a packet inside, over IPv4 and IPv6.
fn sent(kind: &Kind) -> Vec<Vec<u8>> {
    let mut rig = rig(2);
    rig.add_port(2);
    rig.cli("set interface l2 bridge p2 9");
    let mut all = Vec::new();
    for (local, remote) in [("10.0.1.1", "10.0.1.2"), ("2001:db8:1::1", "2001:db8:1::2")] {
        let name = rig.cli(&kind.create(local, remote, 99)).trim().to_string();
        let packet = pkt::ip4("10.0.0.9", "20.0.0.1").udp(5001, 5002).payload_len(30).build();
        let frames = if kind.layer3 {
            rig.cli(&format!("set interface ip address {name} 10.9.0.1/24"));
            rig.cli(&format!("ip route add 20.0.0.0/8 via {name}"));
            let mac = net::drive::port_mac(0).0;
            rig.pass(0, &[&mac[..], &[2, 0, 0, 0, 9, 1], &[8, 0], &packet].concat())
        } else {
            rig.cli(&format!("set interface l2 bridge {name} 9"));
            rig.pass(2, &[&[2, 0, 0, 0, 9, 2][..], &[2, 0, 0, 0, 9, 1], &[8, 0], &packet].concat())
        };
        all.extend(frames.into_iter().filter(|(port, _)| *port == 1).map(|(_, frame)| frame));
        rig.cli(&format!("{} del", kind.create(local, remote, 99)));
    }
    all
}

fn output(command: &mut Command) -> String {
    let output = command.output().expect("it is there");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    text
}

/// Builds the headers, and compares them with those in a capture.
const SCAPY: &str = "
import sys
from scapy.all import *
from scapy.layers.vxlan import VXLAN
from scapy.contrib.geneve import GENEVE
from scapy.contrib.gtp import GTP_U_Header, GTPPDUSessionContainer
kind, layer3, file = sys.argv[1:]
for frame in rdpcap(file):
    udp = frame[UDP]
    payload = bytes(udp.payload)
    inner = Raw(payload[16 if kind == 'gtpu' and layer3 == 'true' else 8:])
    header = {
        'vxlan': VXLAN(vni=99, flags=8),
        'geneve': GENEVE(vni=99, proto=0x6558),
        'gtpu': GTP_U_Header(teid=99, gtp_type=255),
        'vxlan-gpe': VXLAN(vni=99, flags=0x0c, NextProtocol=1 if layer3 == 'true' else 3),
    }[kind]
    if kind == 'gtpu' and layer3 == 'true':
        header = GTP_U_Header(teid=99, gtp_type=255, E=1, next_ex=0x85)
        header = header / GTPPDUSessionContainer(type=0, QFI=9)
    built = bytes(header / inner)
    assert built == payload, (kind, built.hex(), payload.hex())
    print('same')
";

fn read(kind: &Kind, dir: &Path) {
    let file = dir.join(kind.bypass);
    let frames = sent(kind);
    assert_eq!(frames.len(), 2, "{}", kind.prefix);
    fs::write(&file, capture(&frames)).expect("written");
    let mut tshark = Command::new("tshark");
    tshark.arg("-r").arg(&file).args(["-T", "fields"]);
    for field in ["frame.protocols", "_ws.malformed", "_ws.expert.message", "udp.checksum.status"] {
        tshark.args(["-e", field]);
    }
    tshark.args(["-o", "udp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE"]);
    if !kind.layer3 {
        // It guesses that the payload is PPP.
        tshark.args(["-o", "gtp.dissect_tpdu_as:none"]);
    }
    let text = output(tshark.env("HOME", dir));
    let protocol = match kind.bypass {
        // It isn't in the list of protocols.
        "vxlan-gpe" => "",
        "gtpu" => ":gtp",
        "geneve" => ":geneve",
        _ => ":vxlan",
    };
    for line in text.lines() {
        let fields: Vec<_> = line.split('\t').collect();
        let [protocols, malformed, expert, checksums] = fields[..] else { panic!("{line}") };
        let inside = match (kind.bypass, kind.layer3) {
            ("gtpu", false) => "",
            (_, false) => ":eth:ethertype:ip:udp",
            (_, true) => ":ip:udp",
        };
        let want = format!(":udp{protocol}{inside}");
        assert!(protocols.contains(&want), "{}: {line}", kind.prefix);
        assert_eq!((malformed, expert), ("", ""), "{}: {line}", kind.prefix);
        // 0: bad, 1: good, 3: not present.
        assert!(checksums.split(',').all(|status| status != "0"), "{}: {line}", kind.prefix);
    }
    assert_eq!(text.lines().count(), 2);
    let mut scapy = Command::new("/usr/bin/python3");
    scapy.args(["-c", SCAPY, kind.bypass, &kind.layer3.to_string()]).arg(&file);
    assert_eq!(output(scapy.env("HOME", dir)), "same\nsame\n", "{}", kind.prefix);
}

#[test]
fn other_programs_read_what_is_sent() {
    if require(&["tshark", "/usr/bin/python3"]).is_none() {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    // VXLAN with IP packets is a habit of VPP: others expect frames in it.
    let is_common = |kind: &&Kind| !(kind.layer3 && kind.bypass == "vxlan");
    KINDS.iter().filter(is_common).for_each(|kind| read(kind, dir.path()));
}

/// L2TPv3: session identifier and cookie, and behind them the frame.
#[test]
fn l2tpv3_is_read() {
    if require(&["tshark"]).is_none() {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    for (option, sublayer) in [("", "None"), (" l2-sublayer-present", "Default L2-Specific")] {
        let mut rig = rig(2);
        rig.add_port(2);
        rig.cli(&format!(
            "create l2tpv3 tunnel client 2001:db8:1::2 our 2001:db8:1::1 remote-session 4026531841 \
             remote-cookie 8877665544332211{option}"
        ));
        rig.cli("set interface state l2tpv3_tunnel0 up");
        rig.cli("set interface l2 xconnect l2tpv3_tunnel0 p2");
        rig.cli("set interface l2 xconnect p2 l2tpv3_tunnel0");
        let packet = pkt::ip4("10.0.0.9", "20.0.0.1").udp(5001, 5002).payload_len(30).build();
        let frame = [&[2, 0, 0, 0, 9, 2][..], &[2, 0, 0, 0, 9, 1], &[8, 0], &packet].concat();
        let frames: Vec<_> = rig.pass(2, &frame).into_iter().map(|(_, frame)| frame).collect();
        let file = dir.path().join("l2tp");
        fs::write(&file, capture(&frames)).expect("written");
        let mut tshark = Command::new("tshark");
        tshark.arg("-r").arg(&file).args(["-T", "fields"]);
        for field in ["ipv6.nxt", "l2tp.sid", "l2tp.cookie", "_ws.malformed", "data.data"] {
            tshark.args(["-e", field]);
        }
        tshark.args(["-o", "l2tp.cookie_size:8 Byte Cookie"]);
        tshark.args(["-o", &format!("l2tp.l2_specific:{sublayer}")]);
        let text = output(tshark.env("HOME", dir.path()));
        let hex: String = frame.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(text.trim(), format!("115\t0xf0000001\t8877665544332211\t\t{hex}"), "{option}");
    }
}

/// PPPoE: packets of IPv4 and IPv6 to a client, with a tag and without.
#[test]
fn pppoe_is_read() {
    if require(&["tshark"]).is_none() {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    for (at, protocols) in
        [("p1", "eth:ethertype:pppoes"), ("p1.9", "eth:ethertype:vlan:ethertype:pppoes")]
    {
        let mut rig = rig(2);
        rig.cli("create sub-interfaces p1 9");
        rig.cli("set interface state p1.9 up");
        for (n, client) in [(258, "100.64.0.1"), (259, "2001:db8:64::1")] {
            rig.cli(&format!(
                "create pppoe session client-ip {client} session-id {n} client-mac 02:aa:00:00:00:01 interface {at}"
            ));
        }
        rig.cli("enable ip6 interface pppoe_session1");
        rig.cli("set interface unnumbered pppoe_session0 use p0");
        let four = pkt::ip4("10.0.0.9", "100.64.0.1").udp(5001, 5002).payload_len(30).build();
        let six = pkt::ip6("2001:db8::9", "2001:db8:64::1").udp(5001, 5002).payload_len(31).build();
        let mut frames = Vec::new();
        for (packet, ethertype) in [(four, [8, 0]), (six, [0x86, 0xdd])] {
            let mac = net::drive::port_mac(0).0;
            let came = [&mac[..], &[2, 0, 0, 0, 9, 1], &ethertype, &packet].concat();
            frames.extend(rig.pass(0, &came).into_iter().map(|(_, frame)| frame));
        }
        let file = dir.path().join("pppoe");
        fs::write(&file, capture(&frames)).expect("written");
        let mut tshark = Command::new("tshark");
        tshark.arg("-r").arg(&file).args(["-T", "fields"]);
        for field in ["frame.protocols", "pppoe.session_id", "_ws.malformed", "_ws.expert.message"]
        {
            tshark.args(["-e", field]);
        }
        tshark.args(["-o", "udp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE"]);
        let text = output(tshark.env("HOME", dir.path()));
        let expected = [
            format!("{protocols}:ppp:ip:udp:data\t0x0102\t\t\n"),
            format!("{protocols}:ppp:ipv6:udp:data\t0x0103\t\t\n"),
        ];
        assert_eq!(text, expected.concat(), "{at}");
    }
}
