// SPDX-License-Identifier: Apache-2.0
mod control_plane;
mod large;
mod messages;
mod sessions;

use crate::PLUGIN;
use graph::{Plugin, SwIfIndex};
use net::Interfaces;
use net::drive::{Rig, peer_mac, port_mac};
use testkit::mutate::Mutator;
use testkit::pkt::{self, Packet};
use wire::MacAddr;

static PLUGINS: &[&Plugin] = &[
    &interface::PLUGIN,
    &ethernet::PLUGIN,
    &fib::PLUGIN,
    &ip::PLUGIN,
    &icmp::PLUGIN,
    &l2patch::PLUGIN,
    &PLUGIN,
];

const INPUT: &str = "pppoe-input";
const DISPATCH: &str = "pppoe-cp-dispatch";
const CP_INPUT: &str = "pppoe-cp-input";
const DECAPSULATED: &str = "good packets decapsulated";
const CONTROL: &str = "control plane packet";
const NO_SESSION: &str = "no such sessions";
const BAD_VERSION: &str = "bad version and type in pppoe header";

const PADI: u8 = 0x09;
const PADO: u8 = 0x07;
const PADR: u8 = 0x19;
const PADS: u8 = 0x65;
const PADT: u8 = 0xa7;
const LCP: u16 = 0xc021;

/// The MAC address of a client at p0.
fn client(n: u8) -> MacAddr {
    MacAddr([2, 0xaa, 0, 0, 0, n])
}

fn find(rig: &Rig, name: &str) -> SwIfIndex {
    rig.bench.world.get::<Interfaces>().find(name).expect(name)
}

/// Ports with networks, and commands.
fn rig(lines: &[&str]) -> Rig {
    let mut rig = Rig::new(PLUGINS, 3);
    rig.networks();
    lines.iter().for_each(|line| _ = rig.cli(line));
    rig
}

/// Clients 1 and 2 at p0 with a session each, and one of IPv6. All take addresses of p0.
fn with_sessions() -> Rig {
    rig(&[
        "create pppoe session client-ip 100.64.0.1 session-id 7 client-mac 02:aa:00:00:00:01 interface p0",
        "create pppoe session client-ip 100.64.0.2 session-id 7 client-mac 02:aa:00:00:00:02 interface p0",
        "create pppoe session client-ip 2001:db8:64::1 session-id 8 client-mac 02:aa:00:00:00:01 interface p0",
        "set interface unnumbered pppoe_session0 use p0",
        "set interface unnumbered pppoe_session1 use p0",
        "enable ip6 interface pppoe_session0",
        "enable ip6 interface pppoe_session2",
        "ip route add 30.0.0.0/8 via 10.0.2.2 p2",
        "ip route add 2004::/16 via 2001:db8:1::2 p1",
    ])
}

/// A PPPoE header and its payload, as RFC 2516 4 has it.
fn pppoe(code: u8, session: u16, payload: &[u8]) -> Vec<u8> {
    let ([s0, s1], [l0, l1]) = (session.to_be_bytes(), (payload.len() as u16).to_be_bytes());
    [&[0x11, code, s0, s1, l0, l1][..], payload].concat()
}

fn ppp(protocol: u16, payload: &[u8]) -> Vec<u8> {
    [&protocol.to_be_bytes()[..], payload].concat()
}

/// A frame, with tags.
fn frame(src: MacAddr, dst: MacAddr, tags: &[u8], ethertype: u16, payload: &[u8]) -> Vec<u8> {
    [&dst.0[..], &src.0, tags, &ethertype.to_be_bytes(), payload].concat()
}

fn discovery(src: MacAddr, dst: MacAddr, code: u8, session: u16, payload: &[u8]) -> Vec<u8> {
    frame(src, dst, &[], 0x8863, &pppoe(code, session, payload))
}

fn session_frame(src: MacAddr, dst: MacAddr, session: u16, protocol: u16, data: &[u8]) -> Vec<u8> {
    frame(src, dst, &[], 0x8864, &pppoe(0, session, &ppp(protocol, data)))
}

/// A packet with a payload of its own.
fn packet(src: &str, dst: &str, ttl: u8, len: usize) -> Vec<u8> {
    inner(src, dst, ttl).udp(5, 6).payload_len(len).build()
}

fn inner(src: &str, dst: &str, ttl: u8) -> Packet {
    let ip = if dst.contains(':') { pkt::ip6(src, dst) } else { pkt::ip4(src, dst) };
    ip.ttl(ttl)
}

fn protocol_of(packet: &[u8]) -> u16 {
    if packet[0] >> 4 == 6 { 0x57 } else { 0x21 }
}

#[suite::test]
fn packets_go_to_clients_and_come_from_them() {
    let mut rig = with_sessions();
    for (n, session, address, there, port) in [
        (1, 7, "100.64.0.1", "30.0.0.1", 2),
        (2, 7, "100.64.0.2", "30.0.0.1", 2),
        (1, 8, "2001:db8:64::1", "2004::1", 1),
    ] {
        for len in [0, 1, 500, 1400] {
            // To the client.
            let whole = packet(there, address, 64, len);
            let ethertype = if protocol_of(&whole) == 0x57 { 0x86dd } else { 0x0800 };
            let came = frame(peer_mac(1), port_mac(1), &[], ethertype, &whole);
            let hop = packet(there, address, 63, len);
            let out = session_frame(port_mac(0), client(n), session, protocol_of(&hop), &hop);
            assert_eq!(rig.pass(1, &came), [(0, out)], "{address} {len}");
            // And from it, in the shortest frame too.
            let whole = packet(address, there, 64, len);
            let mut came =
                session_frame(client(n), port_mac(0), session, protocol_of(&whole), &whole);
            came.resize(came.len().max(60), 0xee);
            let hop = packet(address, there, 63, len);
            let out = frame(port_mac(port), peer_mac(port), &[], ethertype, &hop);
            assert_eq!(rig.pass(0, &came), [(port, out)], "{address} {len}");
        }
    }
    assert_eq!(rig.count(INPUT, DECAPSULATED), 12);
    assert_eq!(rig.count("pppoe-encap", "encapsulated"), 12);
    // Received: what the client's packet has; sent: with all headers.
    let world = rig.world();
    let counters = world.get::<net::IfCounters>();
    let at = find(&rig, "pppoe_session0").at();
    let lens: u64 = [0, 1, 500, 1400].iter().map(|len| len + 28).sum();
    assert_eq!((counters.rx.sum(at), counters.tx.sum(at)), ((4, lens), (4, lens + 4 * 22)));
}

/// The packets that one router puts into frames are those that the other takes out.
#[suite::test]
fn packets_pass_two_ends_unchanged() {
    let mut near = with_sessions();
    let mut far = rig(&[
        "create pppoe session client-ip 100.64.0.9 session-id 7 client-mac 02:fe:00:00:00:00 interface p0",
        "set interface unnumbered pppoe_session0 use p0",
        "set interface mac address p0 02:aa:00:00:00:01",
        "ip route add 100.64.0.1/32 via 10.0.2.2 p2",
    ]);
    for len in [0, 33, 1000] {
        let came =
            frame(peer_mac(1), port_mac(1), &[], 0x800, &packet("30.0.0.1", "100.64.0.1", 64, len));
        let [(0, between)] = &near.pass(1, &came)[..] else { panic!("{len}") };
        let out =
            frame(port_mac(2), peer_mac(2), &[], 0x800, &packet("30.0.0.1", "100.64.0.1", 62, len));
        assert_eq!(far.pass(0, between), [(2, out)]);
    }
}

#[suite::test]
fn frames_that_are_not_the_sessions_are_dropped_by_name() {
    let mut rig = with_sessions();
    let whole = packet("100.64.0.1", "30.0.0.1", 64, 20);
    let good = session_frame(client(1), port_mac(0), 7, 0x21, &whole);
    let with = |at: usize, byte: u8| {
        let mut frame = good.clone();
        frame[at] = byte;
        frame
    };
    let cut = |len| good[..len].to_vec();
    let frames = [
        (session_frame(client(1), port_mac(0), 9, 0x21, &whole), NO_SESSION),
        (session_frame(client(3), port_mac(0), 7, 0x21, &whole), NO_SESSION),
        (session_frame(client(2), port_mac(0), 8, 0x57, &whole), NO_SESSION),
        (with(14, 0x21), BAD_VERSION),
        (with(14, 0x12), BAD_VERSION),
        (with(15, PADT), "bad_code"),
        (with(18, 0x40), "too_short"),
        (cut(19), "too_short"),
        (cut(14), "too_short"),
        (frame(client(1), port_mac(0), &[], 0x8864, &pppoe(0, 7, &[])), "too_short"),
        (frame(client(1), port_mac(0), &[], 0x8864, &pppoe(0, 7, &[0])), "too_short"),
    ];
    for (frame, counter) in frames {
        let before = rig.count(INPUT, counter);
        assert_eq!(rig.pass(0, &frame), [], "{counter}");
        assert_eq!(rig.count(INPUT, counter), before + 1, "{counter}");
    }
    // A client's packets come by the interface where its session was made.
    let elsewhere = session_frame(client(1), port_mac(1), 7, 0x21, &whole);
    assert_eq!(rig.pass(1, &elsewhere), []);
    assert_eq!(rig.count(INPUT, "other_interface"), 1);
    let out =
        frame(port_mac(2), peer_mac(2), &[], 0x800, &packet("100.64.0.1", "30.0.0.1", 63, 20));
    assert_eq!(rig.pass(0, &good), [(2, out)]);
    rig.cli("set interface state pppoe_session0 down");
    assert_eq!(rig.pass(0, &good), []);
    assert_eq!(rig.count(INPUT, "down"), 1);
}

/// An interface that isn't enabled for a protocol takes none of its packets.
#[suite::test]
fn the_interface_has_to_be_enabled() {
    let mut rig = with_sessions();
    let whole = |ttl| packet("100.64.0.9", "30.0.0.1", ttl, 20);
    let came = session_frame(client(1), port_mac(0), 8, 0x21, &whole(64));
    assert_eq!(rig.pass(0, &came), []);
    rig.cli("set interface unnumbered pppoe_session2 use p0");
    let out = frame(port_mac(2), peer_mac(2), &[], 0x800, &whole(63));
    assert_eq!(rig.pass(0, &came), [(2, out)]);
}

/// Packets above what a PPPoE frame holds are fragmented, or their sender learns the MTU (RFC 2516
/// 7).
#[suite::test]
fn the_mtu_leaves_room_for_the_headers() {
    let mut rig = with_sessions();
    let from = |packet: &Packet, len: usize| {
        let whole = packet.clone().udp(5, 6).payload_len(len).build();
        frame(peer_mac(1), port_mac(1), &[], 0x800, &whole)
    };
    let ip = pkt::ip4("30.0.0.1", "100.64.0.1").ttl(64);
    let sent = rig.pass(1, &from(&ip, 1492 - 28));
    assert_eq!(
        sent.iter().map(|(port, frame)| (*port, frame.len())).collect::<Vec<_>>(),
        [(0, 1514)]
    );
    assert_eq!(rig.pass(1, &from(&ip, 1493 - 28)).len(), 2);
    rig.cli("ip route add 30.0.0.1/32 via 10.0.1.2 p1");
    let sent = rig.pass(1, &from(&ip.df(), 1493 - 28));
    let [(1, error)] = &sent[..] else { panic!("{sent:?}") };
    // RFC 1191 4: type 3, code 4, the MTU.
    assert_eq!((&error[34..36], &error[40..42]), (&[3, 4][..], &1492_u16.to_be_bytes()[..]));
}

#[suite::test]
fn broken_frames_are_taken_or_dropped_by_name() {
    let mut rig = with_sessions();
    rig.cli("create pppoe cp cp-if-index p1");
    let whole = packet("100.64.0.1", "30.0.0.1", 64, 40);
    let six = packet("2001:db8:64::1", "2004::1", 64, 40);
    let bases = [
        session_frame(client(1), port_mac(0), 7, 0x21, &whole),
        session_frame(client(1), port_mac(0), 8, 0x57, &six),
        session_frame(client(1), port_mac(0), 7, LCP, &[9, 1, 0, 8, 1, 2, 3, 4]),
        discovery(client(1), MacAddr::BROADCAST, PADI, 0, &[1, 1, 0, 0]),
        discovery(client(1), port_mac(0), PADR, 0, &[1, 1, 0, 0]),
    ];
    let mut from_clients = 0;
    for bytes in Mutator::new(7).frames(&bases, 20_000, 2000) {
        from_clients += rig.pass(0, &bytes).len();
    }
    let answers = [
        discovery(port_mac(1), client(1), PADO, 0, &[1, 1, 0, 0]),
        session_frame(port_mac(1), client(1), 7, LCP, &[10, 1, 0, 8, 1, 2, 3, 4]),
    ];
    let mut to_clients = 0;
    for bytes in Mutator::new(8).frames(&answers, 5000, 2000) {
        to_clients += rig.pass(1, &bytes).len();
    }
    let counts = [
        rig.count(INPUT, DECAPSULATED),
        rig.count(INPUT, BAD_VERSION),
        rig.count(INPUT, NO_SESSION),
        rig.count(INPUT, "too_short"),
        rig.count(DISPATCH, CONTROL),
        rig.count(DISPATCH, BAD_VERSION),
        rig.count(CP_INPUT, CONTROL),
        rig.count(CP_INPUT, "unknown_client"),
    ];
    assert!(
        counts.iter().all(|n| *n > 20) && from_clients > 3000 && to_clients > 1000,
        "{counts:?}"
    );
    rig.seconds(10);
    assert_eq!(rig.bench.buffers_out(), 0, "buffers are lost");
}
