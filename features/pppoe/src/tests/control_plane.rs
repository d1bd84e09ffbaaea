// SPDX-License-Identifier: Apache-2.0
//! Discovery and control packets, in both directions.

use super::*;
use crate::Clients;
use crate::clients::{Client, MOST};
use net::NewInterface;
use net::drive::{Listening, Recorder, ethernet};
use std::sync::Arc;

const TAG100: [u8; 4] = [0x81, 0, 0, 100];
const DATA: [u8; 9] = [1, 1, 0, 0, 1, 3, 0, 1, 42];

fn clients(rig: &mut Rig) -> Vec<String> {
    let shown = rig.cli("show pppoe fib");
    let line = |line: &str| line.split_whitespace().take(2).collect::<Vec<_>>().join(" ");
    shown.lines().skip(1).map(line).collect()
}

/// From the first packet of a client to its session, with the answers, as two programs exchange
/// them.
#[suite::test]
fn a_client_finds_the_control_plane_and_gets_a_session() {
    let mut rig = rig(&["create pppoe cp cp-if-index p1"]);
    let server = MacAddr([2, 0xcc, 0, 0, 0, 1]);
    let create =
        "create pppoe session client-ip 100.64.0.1 session-id 7 client-mac 02:aa:00:00:00:01";
    assert_eq!(rig.refused(create).0, -2, "it wasn't seen");
    // The client's own frame, to all servers.
    let padi = discovery(client(1), MacAddr::BROADCAST, PADI, 0, &DATA);
    assert_eq!(rig.pass(0, &padi), [(1, padi.clone())]);
    assert_eq!(clients(&mut rig), ["02:aa:00:00:00:01 p0"]);
    // The answer comes from the port's address.
    for (code, session) in [(PADO, 0), (PADS, 7), (PADT, 7)] {
        let answer = discovery(server, client(1), code, session, &DATA);
        let sent = discovery(port_mac(0), client(1), code, session, &DATA);
        assert_eq!(rig.pass(1, &answer), [(0, sent)]);
    }
    for (code, session) in [(PADR, 0), (PADT, 7)] {
        let asks = discovery(client(1), port_mac(0), code, session, &DATA);
        assert_eq!(rig.pass(0, &asks), [(1, asks.clone())]);
    }
    // PPP's control protocols, before there is a session and after.
    for round in 0..2 {
        for protocol in [LCP, 0xc023, 0xc223, 0x8021, 0x8057] {
            let asks = session_frame(client(1), port_mac(0), 7, protocol, &[1, 1, 0, 4]);
            assert_eq!(rig.pass(0, &asks), [(1, asks.clone())]);
            let answer = session_frame(server, client(1), 7, protocol, &[2, 1, 0, 4]);
            let sent = session_frame(port_mac(0), client(1), 7, protocol, &[2, 1, 0, 4]);
            assert_eq!(rig.pass(1, &answer), [(0, sent)]);
        }
        if round == 0 {
            rig.cli(create);
        }
    }
    assert_eq!(rig.count(INPUT, CONTROL), 10);
    assert_eq!(rig.count(DISPATCH, CONTROL), 13);
    assert_eq!(rig.count(CP_INPUT, CONTROL), 13);
    // Other frames of the control plane's interface are as before.
    let packet = |ttl| packet("10.0.1.2", "10.0.2.2", ttl, 30);
    let came = frame(peer_mac(1), port_mac(1), &[], 0x800, &packet(64));
    let out = frame(port_mac(2), peer_mac(2), &[], 0x800, &packet(63));
    assert_eq!(rig.pass(1, &came), [(2, out)]);
}

/// Tags of a sub-interface are taken off on the way to the control plane, and put in on the way
/// back and in frames of sessions.
#[suite::test]
fn clients_are_behind_sub_interfaces_too() {
    let mut rig = rig(&[
        "create pppoe cp cp-if-index p1",
        "create sub-interfaces p0 100",
        "set interface state p0.100 up",
        "create sub-interfaces p0 200 dot1ad 200 inner-dot1q 5 exact-match",
        "set interface state p0.200 up",
        "ip route add 30.0.0.0/8 via 10.0.2.2 p2",
    ]);
    let double = [0x88, 0xa8, 0, 200, 0x81, 0, 0, 5];
    let sub = |rig: &Rig, name: &str| find(rig, name);
    for (n, name, tags) in [(1, "p0.100", &TAG100[..]), (2, "p0.200", &double[..])] {
        let padi = pppoe(PADI, 0, &DATA);
        let came = frame(client(n), MacAddr::BROADCAST, tags, 0x8863, &padi);
        let to_server = frame(client(n), MacAddr::BROADCAST, &[], 0x8863, &padi);
        assert_eq!(rig.pass(0, &came), [(1, to_server)]);
        let answer = discovery(port_mac(1), client(n), PADO, 0, &DATA);
        let sent = frame(port_mac(0), client(n), tags, 0x8863, &pppoe(PADO, 0, &DATA));
        assert_eq!(rig.pass(1, &answer), [(0, sent)]);
        let made = rig.cli(&format!(
            "create pppoe session client-ip 100.64.0.{n} session-id 7 client-mac {}",
            client(n)
        ));
        rig.cli(&format!("set interface unnumbered {} use p0", made.trim()));
        let address = format!("100.64.0.{n}");
        let whole = |ttl| packet("30.0.0.1", &address, ttl, 30);
        let came = frame(peer_mac(1), port_mac(1), &[], 0x800, &whole(64));
        let inside = pppoe(0, 7, &ppp(0x21, &whole(63)));
        assert_eq!(rig.pass(1, &came), [(0, frame(port_mac(0), client(n), tags, 0x8864, &inside))]);
        let back = |ttl| packet(&address, "30.0.0.1", ttl, 30);
        let inside = pppoe(0, 7, &ppp(0x21, &back(64)));
        let came = frame(client(n), port_mac(0), tags, 0x8864, &inside);
        let out = frame(port_mac(2), peer_mac(2), &[], 0x800, &back(63));
        assert_eq!(rig.pass(0, &came), [(2, out)]);
        // Without its tags, it isn't the client's.
        let untagged = frame(client(n), port_mac(0), &[], 0x8864, &inside);
        assert_eq!(rig.pass(0, &untagged), []);
        assert_eq!(rig.packets(sub(&rig, name)), (2, 2));
    }
    assert_eq!(rig.count(INPUT, "other_interface"), 2);
    assert_eq!(clients(&mut rig), ["02:aa:00:00:00:01 p0.100", "02:aa:00:00:00:02 p0.200"]);
    // All of it goes with the port.
    rig.delete_port(0);
    assert_eq!(clients(&mut rig), [""; 0]);
    assert_eq!(rig.cli("show pppoe session"), "No pppoe sessions configured...\n");
}

#[suite::test]
fn packets_that_clients_or_servers_do_not_send_are_dropped_by_name() {
    let mut rig = rig(&[]);
    let padi = discovery(client(1), MacAddr::BROADCAST, PADI, 0, &DATA);
    // Learned without a control plane, too: a session can be made.
    assert_eq!(rig.pass(0, &padi), []);
    assert_eq!(rig.count(DISPATCH, "no_control_plane"), 1);
    assert_eq!(clients(&mut rig), ["02:aa:00:00:00:01 p0"]);
    rig.cli("create pppoe cp cp-if-index p1");
    let with = |at: usize, byte: u8| {
        let mut frame = padi.clone();
        frame[at] = byte;
        frame
    };
    for (frame, counter) in [
        (discovery(client(2), MacAddr::BROADCAST, PADO, 0, &DATA), "of_server"),
        (discovery(client(2), port_mac(0), PADS, 7, &DATA), "of_server"),
        (discovery(client(2), port_mac(0), 0x33, 7, &DATA), "of_server"),
        (discovery(client(2), port_mac(0), PADR, 7, &DATA), "has_session"),
        (discovery(client(2), MacAddr::BROADCAST, PADI, 1, &DATA), "has_session"),
        (discovery(MacAddr::ZERO, MacAddr::BROADCAST, PADI, 0, &DATA), "bad_source"),
        (with(6, 3), "bad_source"),
        (with(14, 0x10), BAD_VERSION),
        (with(19, 10), "too_short"),
        (padi[..18].to_vec(), "too_short"),
    ] {
        let before = rig.count(DISPATCH, counter);
        assert_eq!(rig.pass(0, &frame), [], "{counter}");
        assert_eq!(rig.count(DISPATCH, counter), before + 1, "{counter}");
    }
    // An end of a session makes no client known.
    let padt = discovery(client(2), port_mac(0), PADT, 7, &DATA);
    assert_eq!(rig.pass(0, &padt).len(), 1);
    assert_eq!(clients(&mut rig), ["02:aa:00:00:00:01 p0"]);
    // Of the control plane.
    for (frame, counter) in [
        (discovery(port_mac(1), client(9), PADO, 0, &DATA), "unknown_client"),
        (discovery(port_mac(1), MacAddr::BROADCAST, PADO, 0, &DATA), "unknown_client"),
        (frame(port_mac(1), client(1), &[], 0x8863, &[0x12, 7, 0, 0, 0, 0]), BAD_VERSION),
        (frame(port_mac(1), client(1), &[], 0x8863, &[0x11, 7, 0, 0, 0]), "too_short"),
    ] {
        assert_eq!(rig.pass(1, &frame), [], "{counter}");
        assert!(rig.count(CP_INPUT, counter) > 0, "{counter}");
    }
    rig.cli("set interface state p1 down");
    assert_eq!(rig.pass(1, &discovery(port_mac(1), client(1), PADO, 0, &DATA)), []);
    assert_eq!(rig.count(CP_INPUT, "down"), 1);
}

/// A client that is seen at another interface is answered there.
#[suite::test]
fn clients_move() {
    let mut rig = rig(&["create pppoe cp cp-if-index p2"]);
    for port in [0, 1, 0] {
        let padi = discovery(client(1), MacAddr::BROADCAST, PADI, 0, &DATA);
        assert_eq!(rig.pass(port, &padi), [(2, padi.clone())]);
        let answer = discovery(port_mac(2), client(1), PADO, 0, &DATA);
        let sent = discovery(port_mac(port), client(1), PADO, 0, &DATA);
        assert_eq!(rig.pass(2, &answer), [(port, sent)]);
    }
    assert_eq!(clients(&mut rig), ["02:aa:00:00:00:01 p0"]);
    // The control plane moves as well, and goes.
    rig.cli("create pppoe cp cp-if-index p1");
    let padr = discovery(client(1), port_mac(0), PADR, 0, &DATA);
    assert_eq!(rig.pass(0, &padr), [(1, padr.clone())]);
    assert!(!rig.cli("show interface features p2").contains("pppoe"));
    assert_eq!(rig.refused("create pppoe cp cp-if-index p2 del").0, -6);
    rig.cli("create pppoe cp cp-if-index p1 del");
    assert_eq!(rig.pass(0, &padr), []);
    rig.cli("create pppoe cp cp-if-index p1");
    rig.delete_port(1);
    assert_eq!(rig.pass(0, &padr), []);
    for line in ["create pppoe cp cp-if-index p9", "create pppoe cp cp-if-index local0"] {
        assert_eq!(rig.refused(line).0, -2);
    }
}

/// Makes a client known at a port.
fn learn(rig: &Rig, mac: MacAddr, port: usize) {
    rig.world().get::<Clients>().learn(Client { mac, sw_if: rig.ports[port].0 });
}

/// One of the addresses of a flood.
fn station(flood: u8, n: u32) -> MacAddr {
    let [a, b, c, d] = n.to_be_bytes();
    MacAddr([2, flood, a, b, c, d])
}

/// A flood of clients takes bounded memory: those seen first go.
#[suite::test]
fn clients_are_bounded() {
    let rig = rig(&[]);
    let clients = rig.world().get::<Clients>();
    let (most, mac) = (MOST as u32, |n| station(0xaa, n));
    for n in 0..most + 10 {
        learn(&rig, mac(n), 0);
        // Seen once more: as new.
        if n == 100 {
            learn(&rig, mac(0), 1);
        }
    }
    assert_eq!(clients.list().len(), MOST);
    assert_eq!(clients.interface_of(mac(0)), Some(rig.ports[1]));
    for (n, known) in [(1, false), (10, false), (11, true), (most + 9, true)] {
        assert_eq!(clients.interface_of(mac(n)).is_some(), known, "{n}");
    }
}

/// A flood of clients at one port displaces neither those with sessions nor those of other ports.
#[suite::test]
fn a_flood_at_one_port_displaces_its_own_clients_only() {
    let mut rig = rig(&[]);
    let all @ [with_session, other, same_port] = [1, 2, 3].map(|n| station(0xbb, n));
    let ports = [0, 0, 1];
    all.into_iter().zip(ports).for_each(|(mac, port)| learn(&rig, mac, port));
    rig.cli(&format!(
        "create pppoe session client-ip 10.9.0.5 session-id 1 client-mac {with_session}"
    ));
    let second =
        format!("create pppoe session client-ip 10.9.0.6 session-id 1 client-mac {same_port}");
    rig.cli(&second);
    let clients = rig.world().get::<Clients>();
    let at = |mac| clients.interface_of(mac);
    (10..MOST as u32 + 1000).for_each(|n| learn(&rig, station(0xbb, n), 1));
    assert_eq!(all.map(at), ports.map(|at| Some(rig.ports[at])), "clients stay, at their ports");
    // Without its session, a client is one of many at the flooded port.
    rig.cli(&format!("{second} del"));
    (0..MOST as u32).for_each(|n| learn(&rig, station(0xcc, n), 1));
    assert_eq!([other, same_port].map(at), [Some(rig.ports[0]), None]);
}

/// A patch and the control plane need frames for all MAC addresses of the same device. It receives
/// them until the last one goes, in either order.
#[suite::test]
fn the_control_planes_device_can_be_patched_too() {
    let mut rig = rig(&[]);
    let world = rig.world();
    let device = Arc::new(Listening::default());
    let new =
        NewInterface { device: device.clone(), ..ethernet("dev", MacAddr([2, 0, 0, 0, 0, 7])) };
    let dev = world
        .get::<Interfaces>()
        .create(&world, new, |w, _, sw_if| Recorder::new(w, sw_if))
        .expect("created");
    rig.cli("set interface state dev up");
    rig.pass(0, &discovery(client(1), MacAddr::BROADCAST, PADI, 0, &DATA));
    let [patch, unpatch] = ["", " del"].map(|del| format!("test l2patch rx dev tx p2{del}"));
    let [set, unset] = ["", " del"].map(|del| format!("create pppoe cp cp-if-index dev{del}"));
    let answer = discovery(port_mac(1), client(1), PADO, 0, &DATA);
    let sent = discovery(port_mac(0), client(1), PADO, 0, &DATA);
    let other = frame(peer_mac(1), MacAddr([2, 0, 0, 0, 0, 8]), &[], 0x800, &[0; 46]);
    for (lines, patched) in [
        ([&patch, &set, &unset, &unpatch], true),
        ([&set, &patch, &unpatch, &unset], false),
        ([&set, &patch, &unset, &unpatch], true),
        ([&patch, &set, &unpatch, &unset], false),
    ] {
        for (line, on) in lines.into_iter().zip([true, true, true, false]) {
            rig.cli(line);
            assert_eq!(device.is_promiscuous(), on, "{line}, of {lines:?}");
            if line == lines[2] {
                rig.bench.arrive(dev, &other);
                rig.bench.arrive(dev, &answer);
                rig.bench.settle();
                let want = if patched {
                    vec![(2, other.clone()), (2, answer.clone())]
                } else {
                    vec![(0, sent.clone())]
                };
                assert_eq!(rig.sent(), want, "{lines:?}");
            }
        }
    }
    // With the port that it patches to, the patch goes, and what the control plane needs stays.
    rig.cli(&set);
    rig.cli(&patch);
    rig.delete_port(2);
    assert!(device.is_promiscuous());
    rig.cli(&unset);
    assert!(!device.is_promiscuous());
}
