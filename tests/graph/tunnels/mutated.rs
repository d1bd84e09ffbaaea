// SPDX-License-Identifier: Apache-2.0
//! Broken datagrams of all kinds, with broken packets inside: each is taken or dropped by name, and
//! all sums match.

use testkit::{Rng, pkt};
use wire::l4;

use super::{KINDS, Kind};
use crate::mutated::{Rig, send_all};

const FRAMES: u64 = 250_000;

const LOCAL: [&str; 2] = ["10.0.1.1", "2001:db8:1::1"];
const REMOTE: [&str; 2] = ["10.0.1.2", "2001:db8:1::2"];

/// A tunnel over each protocol: the two of a kind are cross-connected, those of layer 3 route.
fn configuration(bypass: bool) -> Vec<String> {
    let mut lines = vec![
        "set interface ip address pg0 2001:db8:1::1/64".to_string(),
        "set ip neighbor pg0 2001:db8:1::2 02:aa:00:00:00:01 static".into(),
    ];
    for (n, kind) in KINDS.iter().enumerate() {
        let mut names = Vec::new();
        for (end, remote) in REMOTE.iter().enumerate() {
            // The number of its interface: each kind is here once or twice, by payload.
            let before = KINDS[..n].iter().filter(|other| other.prefix == kind.prefix).count();
            let name = format!("{}{}", kind.prefix, 2 * before + end);
            lines.push(kind.create(LOCAL[end], remote, id(kind)));
            if kind.layer3 {
                lines.push(format!("set interface ip address {name} 10.{}.{n}.1/24", 20 + end));
            } else {
                // The first one of the two isn't there before the second one.
                names.push(name);
            }
        }
        if let [a, b] = &names[..] {
            lines.push(format!("set interface l2 xconnect {a} {b}"));
            lines.push(format!("set interface l2 xconnect {b} {a}"));
        }
        if bypass {
            lines.push(format!("set interface ip {}-bypass pg0", kind.bypass));
            lines.push(format!("set interface ip6 {}-bypass pg0", kind.bypass));
        }
    }
    lines
}

fn id(kind: &Kind) -> u32 {
    if kind.layer3 { 6 } else { 5 }
}

/// Good datagrams, some with the beginning of their header random.
fn bases() -> Vec<Vec<u8>> {
    let mut rng = Rng::new(17);
    let mut all = Vec::new();
    for kind in KINDS {
        for end in 0..2 {
            for round in 0..20 {
                let packet = pkt::ip4("10.0.1.2", "10.0.2.2").udp(1, 2).payload_len(60).build();
                let station = [2, 0, 0, 0, 9, round];
                let inner = if kind.layer3 {
                    packet
                } else {
                    [&[2, 0, 0, 0, 9, 99][..], &station, &[8, 0], &packet].concat()
                };
                let mut datagram = kind.datagram(REMOTE[end], LOCAL[end], id(kind), &inner);
                let header = if end == 0 { 28 } else { 48 };
                if round >= 10 {
                    for byte in &mut datagram[header..header + 16] {
                        if rng.one_in(8) {
                            *byte = rng.next() as u8;
                        }
                    }
                    _ = (end == 1).then(|| l4::finish(&mut datagram));
                }
                let ethertype: [u8; 2] = if end == 0 { [8, 0] } else { [0x86, 0xdd] };
                let router = [2, 0xfe, 0, 0, 0, 1];
                let frame = [&router[..], &[2, 0xaa, 0, 0, 0, 1], &ethertype, &datagram].concat();
                all.push(frame);
            }
        }
    }
    all
}

/// Datagrams of IPv6 whose checksum is right get further.
fn mend(frame: &mut [u8]) {
    if frame.get(12..14) == Some(&[0x86, 0xdd]) {
        _ = l4::finish(&mut frame[14..]);
    }
}

fn send(bypass: bool) {
    let lines = configuration(bypass);
    let mut rig = Rig::new(&lines.iter().map(String::as_str).collect::<Vec<_>>());
    let end = send_all(&mut rig, &bases(), FRAMES * KINDS.len() as u64 / 2, mend);
    assert!(end.dropped > 10_000, "{end:#?}");
    for kind in KINDS {
        for version in ["4", "6"] {
            let node = kind.input.replace('#', version);
            let good = rig.bench.count(&node, "good packets decapsulated");
            assert!(good > 10_000, "{node}: {good}");
        }
    }
}

#[test]
fn mutated_datagrams() {
    send(false);
}

#[test]
fn mutated_datagrams_with_bypass() {
    send(true);
}
