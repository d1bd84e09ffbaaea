// SPDX-License-Identifier: Apache-2.0
//! Malformed fragments with reassembly: for us, forwarded, and only seemingly fragments.

use testkit::pkt;
use wire::{EtherType, Ethernet, Header, Ipv4Header};

use crate::mutated::{Rig, send_all};

/// Number of frames of each kind.
const FRAMES: u64 = 1_000_000;

/// A datagram that was given up is followed by others of its name: three vectors later.
const SOON: &str = "set ip4-full-reassembly timeout 30";

const HOST: &str = "02:aa:00:00:00:01";
const ROUTER: &str = "02:fe:00:00:00:01";

/// Fragments of a datagram, in order.
fn fragments(to: &str, id: u16, protocol: u8, size: usize) -> Vec<Vec<u8>> {
    let ip = || pkt::ip4("10.0.1.2", to).id(id);
    let whole = match protocol {
        1 => ip().icmp_echo(7, id).payload_len(2000),
        6 => ip().tcp(1000, 2000).payload_len(2000),
        _ => ip().udp(1234, 4321).payload_len(2000),
    };
    let whole = whole.build();
    let cut = |(i, bytes): (usize, &[u8])| {
        let (at, more) = (i * size, (i + 1) * size < whole.len() - 20);
        let frame = pkt::ether(HOST, ROUTER).ip4("10.0.1.2", to).id(id).fragment(at as u16, more);
        frame.protocol(wire::IpProtocol(protocol)).payload(bytes).build()
    };
    whole[20..].chunks(size).enumerate().map(cut).collect()
}

fn bases() -> Vec<Vec<u8>> {
    let to = ["10.0.1.1", "10.0.2.2", "10.4.0.9", "10.0.1.255"];
    let all = to.iter().flat_map(|to| [1, 6, 17].map(|protocol| (to, protocol)));
    all.enumerate()
        .flat_map(|(i, (to, protocol))| fragments(to, i as u16, protocol, 400 + 80 * (i % 4)))
        .collect()
}

/// Most faults end at the header's checksum: half of the frames get a right one.
fn mend(frame: &mut [u8]) {
    let is_ip4 =
        Ethernet::view(frame).is_some_and(|ether| ether.ethertype.get() == EtherType::IP4.0);
    if is_ip4 && frame.len().is_multiple_of(2) {
        Ipv4Header::set_checksum_at(&mut frame[14..]);
    }
}

/// The reasons of reassembly's nodes that were counted.
fn seen(rig: &Rig) -> Vec<String> {
    let all =
        rig.reasons().into_iter().filter(|(reason, n)| *n > 0 && reason.contains("reassembly"));
    all.map(|(reason, n)| format!("{n:>8}  {reason}")).inspect(|line| println!("{line}")).collect()
}

#[test]
fn a_million_mutated_fragments_put_together() {
    let mut rig = Rig::new(&["set interface reassembly pg0 on", SOON]);
    let end = send_all(&mut rig, &bases(), FRAMES, mend);
    assert!(end.joined > FRAMES / 200, "{end:#?}");
    assert!(seen(&rig).len() >= 10);
}

#[test]
fn a_million_mutated_fragments_passed_on() {
    let mut rig = Rig::new(&[
        "set interface virtual-reassembly pg0 on",
        SOON,
        "set ip4-sv-reassembly timeout 30",
        "set interface feature pg1 ip4-sv-reassembly-output-feature arc ip4-output",
    ]);
    let end = send_all(&mut rig, &bases(), FRAMES, mend);
    assert!(end.joined > FRAMES / 1000, "those that are for us: {end:#?}");
    assert!(seen(&rig).len() >= 14);
}
