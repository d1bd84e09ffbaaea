// SPDX-License-Identifier: Apache-2.0
//! Packets that are put into a tunnel come out of it: datagrams are sent back with their ends
//! exchanged.

use net::drive::{Rig, peer_mac, port_mac};
use testkit::{Rng, pkt};

use super::{KINDS, Kind, rig};

const FLAGS: [&str; 7] = [
    "",
    "encap-copy-df encap-copy-dscp encap-copy-ecn",
    "encap-set-df",
    "encap-inner-hash dscp 10",
    "encap-copy-hop-limit encap-copy-flow-label",
    "hop-limit 3",
    "encap-copy-ecn decap-copy-ecn",
];

/// Exchanges the addresses of a packet, as its receiver would send it back.
fn turned(frame: &[u8], port: usize) -> Vec<u8> {
    let mut packet = frame[14..].to_vec();
    let (at, len) = if packet[0] >> 4 == 6 { (8, 16) } else { (12, 4) };
    let (source, destination) = packet[at..at + 2 * len].split_at_mut(len);
    source.swap_with_slice(destination);
    [&port_mac(port).0[..], &peer_mac(port).0, &frame[12..14], &packet].concat()
}

/// Sends all back that has left by port p1; returns what then leaves by another port.
fn back(rig: &mut Rig, sent: &[(usize, Vec<u8>)]) -> Vec<(usize, Vec<u8>)> {
    assert!(!sent.is_empty() && sent.iter().all(|(port, _)| *port == 1), "{sent:?}");
    let frames: Vec<_> = sent.iter().map(|(_, frame)| turned(frame, 1)).collect();
    rig.pass_all(1, &frames)
}

fn ends(is_v6: bool) -> (&'static str, &'static str) {
    if is_v6 { ("2001:db8:1::1", "2001:db8:1::2") } else { ("10.0.1.1", "10.0.1.2") }
}

/// Frames go from a port into a bridge domain with the tunnel, and come out at that port.
fn frames(kind: &Kind, is_v6: bool, flags: &str, rng: &mut Rng) {
    let mut rig = rig(2);
    rig.add_port(2);
    let (local, remote) = ends(is_v6);
    let tunnel = rig.cli(&format!("{} {flags}", kind.create(local, remote, 99)));
    rig.cli("set interface l2 bridge p2 9");
    rig.cli(&format!("set interface l2 bridge {} 9", tunnel.trim()));
    for _ in 0..60 {
        let long = if flags.contains("set-df") { 1300 } else { 3000 };
        let mut frame = vec![0; 14 + rng.below(long)];
        rng.fill(&mut frame);
        let from = [2, 0, 0, 0, 9, rng.next() as u8];
        frame[..12].copy_from_slice(&[&[2, 0, 0, 0, 7, rng.next() as u8][..], &from].concat());
        // IP in half of the frames, a random type in the others.
        if rng.one_in(2) {
            let payload = frame[14..].to_vec();
            let ip = pkt::ip4("192.0.2.1", "192.0.2.2").ttl(9).udp(1, rng.next() as u16);
            frame.splice(12.., [&[8, 0][..], &ip.payload(payload).build()].concat());
        } else {
            frame[12..14].copy_from_slice(&[0x88, 0xb5]);
        }
        let sent = rig.pass(2, &frame);
        assert_eq!(back(&mut rig, &sent), [(2, frame)], "{} {flags} {is_v6}", kind.prefix);
    }
}

/// Packets are routed into the tunnel, and out of it by its table.
fn packets(kind: &Kind, is_v6: bool, flags: &str, rng: &mut Rng) {
    let mut rig = rig(3);
    let (local, remote) = ends(is_v6);
    let tunnel = rig.cli(&format!("{} {flags}", kind.create(local, remote, 99)));
    let tunnel = tunnel.trim();
    for line in [
        "ip table add 9".into(),
        "ip6 table add 9".into(),
        format!("set interface ip table {tunnel} 9"),
        format!("set interface ip6 table {tunnel} 9"),
        format!("set interface ip address {tunnel} 10.9.0.1/24"),
        format!("enable ip6 interface {tunnel}"),
        format!("ip route add 20.0.0.0/8 via {tunnel}"),
        format!("ip route add 2004::/16 via {tunnel}"),
        "ip route add 20.0.0.0/8 table 9 via 10.0.2.2 p2".into(),
        "ip route add 2004::/16 table 9 via 2001:db8:2::2 p2".into(),
    ] {
        rig.cli(&line);
    }
    for _ in 0..60 {
        let long = if flags.contains("set-df") { 1100 } else { 2500 };
        let mut payload = vec![0; 1 + rng.below(long)];
        rng.fill(&mut payload);
        let port = rng.next() as u16;
        let inner = if rng.one_in(2) {
            payload.truncate(1300);
            |ttl| pkt::ip6("2001:db8::9", "2004::1").ttl(ttl)
        } else {
            |ttl| pkt::ip4("10.0.0.9", "20.0.0.1").ttl(ttl)
        };
        let whole = |ttl| inner(ttl).udp(port, 2).payload(&payload).build();
        let ethertype: [u8; 2] = if whole(64)[0] >> 4 == 6 { [0x86, 0xdd] } else { [8, 0] };
        let frame = [&port_mac(0).0[..], &peer_mac(0).0, &ethertype, &whole(64)].concat();
        let sent = rig.pass(0, &frame);
        let out: Vec<_> =
            back(&mut rig, &sent).into_iter().map(|(port, f)| (port, f[14..].to_vec())).collect();
        // A packet longer than the link behind leaves in fragments: their data is compared.
        if whole(62).len() <= 1500 {
            assert_eq!(out, [(2, whole(62))], "{} {flags} {is_v6}", kind.prefix);
        } else {
            let mut parts: Vec<_> = out
                .iter()
                .map(|(_, p)| (u16::from_be_bytes([p[6], p[7]]) & 0x1fff, p[20..].to_vec()))
                .collect();
            parts.sort();
            let data: Vec<u8> = parts.into_iter().flat_map(|(_, data)| data).collect();
            assert_eq!(data, whole(62)[20..], "{} {flags} {is_v6}", kind.prefix);
        }
    }
}

#[test]
fn what_is_put_in_comes_out() {
    let mut rng = Rng::new(3);
    for kind in KINDS {
        for is_v6 in [false, true] {
            for flags in FLAGS {
                if kind.layer3 {
                    packets(kind, is_v6, flags, &mut rng);
                } else {
                    frames(kind, is_v6, flags, &mut rng);
                }
            }
        }
    }
}
