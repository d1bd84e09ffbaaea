// SPDX-License-Identifier: Apache-2.0
//! Sessions of a router, frame by frame.

use super::*;
use crate::packet::Diag;
use net::Interfaces;

/// A packet with this state among those sent; the order of frames isn't kept.
fn find(rig: &Rig, v6: bool, state: State) -> Control {
    let sent = controls(rig, v6);
    let found = sent.iter().find(|(_, control)| control.state == state);
    found.unwrap_or_else(|| panic!("no {state} in {sent:?}")).1
}

#[suite::test]
fn a_session_comes_up_with_the_right_bytes() {
    for v6 in [false, true] {
        let mut rig = rig(1);
        rig.cli("bfd udp tos 192");
        add(&mut rig, v6, 0, "");
        pass(&mut rig, 2);
        let sent = rig.sent();
        let [(0, bytes)] = &sent[..] else { panic!("{sent:02x?}") };
        let at = if v6 { 62 } else { 42 };
        let (control, _) = Control::read(&bytes[at..]).expect("a packet");
        // Slow while it is down, and everything that the peer has to know.
        let expected = Control {
            state: State::Down,
            detect_mult: 3,
            my_disc: control.my_disc,
            desired_min_tx: 1_000_000,
            required_min_rx: 60_000,
            required_min_echo_rx: 1,
            ..Control::default()
        };
        assert_eq!(control, expected);
        assert_ne!(control.my_disc, 0);
        let mut payload = [0; MAX_LEN];
        let len = expected.write(&mut payload);
        let built = pkt::ether(port_mac(0), peer_mac(0))
            .ip(own(v6, 0), peer(v6, 0))
            .ttl(255)
            .tos(192)
            .udp(49152, 3784)
            .payload(&payload[..len])
            .build();
        assert_eq!(*bytes, built);
        // The peer hears us, and we hear it.
        rig.receive_all(0, &[frame(v6, 0, &packet(State::Down, 0))]);
        assert_eq!(state(&rig, v6, 0), State::Init);
        pass(&mut rig, 50);
        let init = find(&rig, v6, State::Init);
        assert_eq!(init.your_disc, 0x1234);
        rig.receive_all(0, &[frame(v6, 0, &packet(State::Init, init.my_disc))]);
        assert_eq!(state(&rig, v6, 0), State::Up);
        pass(&mut rig, 50);
        let up = find(&rig, v6, State::Up);
        assert_eq!((up.diag, up.desired_min_tx), (Diag::NONE, 50_000));
        // An answer to a poll leaves at once.
        let poll = Control { poll: true, ..packet(State::Up, init.my_disc) };
        rig.receive_all(0, &[frame(v6, 0, &poll)]);
        let sent = controls(&rig, v6);
        assert!(matches!(sent[..], [(0, Control { r#final: true, poll: false, .. })]), "{sent:?}");
        // Silence.
        pass(&mut rig, 179);
        assert_eq!(state(&rig, v6, 0), State::Up);
        pass(&mut rig, 2);
        assert_eq!(state(&rig, v6, 0), State::Down);
        pass(&mut rig, 1000);
        let down = find(&rig, v6, State::Down);
        assert_eq!((down.diag, down.your_disc), (Diag::EXPIRED, 0));
        rig.cli(&format!("bfd udp session del {}", words(v6, 0)));
        rig.sent();
        pass(&mut rig, 2000);
        assert_eq!(rig.sent(), []);
    }
}

#[suite::test]
fn each_bad_packet_has_its_counter() {
    for v6 in [false, true] {
        let mut rig = rig(2);
        rig.cli("bfd key set conf-key-id 1 type keyed-sha1 secret 0102");
        add(&mut rig, v6, 0, "");
        add(&mut rig, v6, 1, "conf-key-id 1 bfd-key-id 5");
        rig.cli(&format!(
            "bfd udp session add multihop local-addr {} peer-addr {} desired-min-tx 50000 required-min-rx 60000 detect-mult 3",
            own(v6, 0), if v6 { "2001:db8:9::9" } else { "10.9.9.9" }
        ));
        let disc = up(&mut rig, v6, 0);
        let good = packet(State::Up, disc);
        let mut bytes = [0; MAX_LEN];
        let len = good.write(&mut bytes);
        let broken = |at: usize, value: &[u8]| {
            let mut payload = bytes[..len].to_vec();
            payload[at..at + value.len()].copy_from_slice(value);
            framed(v6, 0, &payload).build()
        };
        let from = |source: IpAddr, destination: IpAddr, ttl| {
            pkt::ether(peer_mac(0), port_mac(0))
                .ip(source, destination)
                .ttl(ttl)
                .udp(50_000, 3784)
                .payload(&bytes[..len])
                .build()
        };
        let other: IpAddr =
            if v6 { "2001:db8::77".parse() } else { "10.0.0.77".parse() }.expect("an address");
        let node = if v6 { "bfd-udp6-input" } else { "bfd-udp4-input" };
        let cases: Vec<(&str, usize, Vec<u8>)> = vec![
            ("none", 0, frame(v6, 0, &good)),
            ("version", 0, broken(0, &[0])),
            ("length", 0, broken(3, &[23])),
            ("detect_multi", 0, broken(2, &[0])),
            ("multi_point", 0, broken(1, &[0xc1])),
            ("my_disc", 0, broken(4, &[0; 4])),
            ("your_disc", 0, broken(8, &[0; 4])),
            ("no_session", 0, broken(8, &[0x7f, 1, 2, 3])),
            ("src_mismatch", 0, from(other, own(v6, 0), 255)),
            ("dst_mismatch", 0, from(peer(v6, 0), own(v6, 1), 255)),
            ("ttl", 0, from(peer(v6, 0), own(v6, 0), 254)),
            ("failed_verification", 1, frame(v6, 1, &packet(State::Down, 0))),
        ];
        for (reason, port, frame) in cases {
            let before = rig.count(node, reason);
            rig.receive_all(port, &[frame]);
            assert_eq!(rig.count(node, reason), before + 1, "{reason}");
        }
        // By another interface than the session's.
        let elsewhere = pkt::ether(peer_mac(1), port_mac(1))
            .ip(peer(v6, 0), own(v6, 0))
            .ttl(255)
            .udp(50_000, 3784)
            .payload(&bytes[..len])
            .build();
        rig.receive_all(1, &[elsewhere]);
        // At the port of sessions over several hops, where the TTL is any.
        let far = pkt::ether(peer_mac(0), port_mac(0))
            .ip(peer(v6, 0), own(v6, 0))
            .ttl(7)
            .udp(50_000, 4784)
            .payload(&bytes[..len])
            .build();
        rig.receive_all(0, &[far]);
        assert_eq!(rig.count(node, "bad"), 2);
        rig.cli(&format!("bfd udp session set-flags {} admin down", words(v6, 0)));
        rig.receive_all(0, &[frame(v6, 0, &good)]);
        assert_eq!((rig.count(node, "admin_down"), state(&rig, v6, 0)), (1, State::AdminDown));
        pass(&mut rig, 1000);
        assert_eq!(find(&rig, v6, State::AdminDown).diag, Diag::ADMIN_DOWN);
        rig.cli(&format!("bfd udp session set-flags {} admin up", words(v6, 0)));
        assert_eq!(state(&rig, v6, 0), State::Down);
    }
}

/// A host on the link can change the state of a session with each packet: control and the peer see
/// a few of the changes, and the last one.
#[suite::test]
fn a_session_that_flaps_is_reported_up_to_a_rate() {
    let mut rig = rig(1);
    add(&mut rig, false, 0, "");
    pass(&mut rig, 2);
    let disc = find(&rig, false, State::Down).my_disc;
    let flap = |state| {
        let control = Control { required_min_rx: 1, ..packet(state, disc) };
        frame(false, 0, &control)
    };
    let (up, down) = (flap(State::Init), flap(State::AdminDown));
    let downs = |rig: &Rig| rig.world().stats.simple("/net/nexthop/down").sum(rig.ports[0].at());
    assert_eq!(downs(&rig), 1, "a new session is down");
    for _ in 0..500 {
        rig.receive_all(0, std::slice::from_ref(&up));
        rig.receive_all(0, std::slice::from_ref(&down));
    }
    assert_eq!(rig.count("bfd-udp4-input", "none"), 1000);
    assert_eq!(downs(&rig), 17, "a burst of 32 reports");
    assert!(controls(&rig, false).len() <= 1, "no time has passed");
    rig.receive_all(0, &[up]);
    assert_eq!(state(&rig, false, 0), State::Down);
    pass(&mut rig, 110);
    assert_eq!((state(&rig, false, 0), downs(&rig)), (State::Up, 17));
}

/// Without sessions another program may have the ports.
#[suite::test]
fn ports_are_taken_for_sessions_only() {
    let mut rig = rig(1);
    let any = frame(false, 0, &packet(State::Down, 0));
    let replies = |rig: &mut Rig| {
        rig.sent();
        rig.pass(0, &any).len()
    };
    assert_eq!(replies(&mut rig), 1, "port unreachable");
    add(&mut rig, false, 0, "");
    pass(&mut rig, 2);
    rig.sent();
    rig.receive_all(0, std::slice::from_ref(&any));
    assert_eq!(rig.count("bfd-udp4-input", "none"), 1);
    rig.cli(&format!("bfd udp session del {}", words(false, 0)));
    rig.sent();
    rig.seconds(2);
    assert_eq!(replies(&mut rig), 1);
}

/// Echo packets come back by the peer's forwarding, and their loss is detected.
#[suite::test]
fn echo_packets_watch_the_path() {
    for v6 in [false, true] {
        let mut rig = rig(2);
        rig.cli("create loopback interface");
        rig.cli("set interface ip address loop0 10.9.0.1/24");
        rig.cli("set interface ip address loop0 2001:db8:9::1/64");
        rig.cli("set interface state loop0 up");
        rig.cli("bfd udp echo-source set interface loop0");
        add(&mut rig, v6, 0, "");
        let disc = up(&mut rig, v6, 0);
        let willing = Control { required_min_echo_rx: 70_000, ..packet(State::Up, disc) };
        let at = if v6 { 62 } else { 42 };
        let node = if v6 { "bfd-udp-echo6-input" } else { "bfd-udp-echo4-input" };
        rig.receive_all(0, &[frame(v6, 0, &willing)]);
        let is_echo = |frame: &[u8]| frame[at - 6..at - 4] == 3785u16.to_be_bytes();
        let is_bfd = |frame: &[u8]| {
            let ports = [3784u16, 3785].map(u16::to_be_bytes);
            frame.len() > at && ports.iter().any(|port| frame[at - 6..at - 4] == *port)
        };
        let (mut echoes, mut slow, mut first) = (0, false, None);
        for i in 0..3000u32 {
            pass(&mut rig, 1);
            for (port, mut frame) in rig.sent() {
                if port != 0 || !is_bfd(&frame) {
                    continue;
                }
                if is_echo(&frame) {
                    echoes += 1;
                    assert_eq!(frame.len(), at + 20);
                    let (source, destination) = match v6 {
                        false => (frame[26..30].to_vec(), frame[30..34].to_vec()),
                        true => (frame[22..38].to_vec(), frame[38..54].to_vec()),
                    };
                    // The last bit of the loopback's address is flipped: the network's own address,
                    // from which no other packet may come.
                    let expected: (Vec<u8>, Vec<u8>) = match own(v6, 0) {
                        IpAddr::V4(own) => (vec![10, 9, 0, 0], own.octets().into()),
                        IpAddr::V6(own) => {
                            let source: std::net::Ipv6Addr = "2001:db8:9::".parse().expect("it is");
                            (source.octets().into(), own.octets().into())
                        }
                    };
                    assert_eq!((source, destination), expected);
                    frame[..12].rotate_left(6);
                    first.get_or_insert(frame.clone());
                    rig.receive_all(0, &[frame]);
                } else {
                    let (control, _) = Control::read(&frame[at..]).expect("a packet");
                    // Control packets are slow while echo packets come back (6.8.9).
                    slow |= control.required_min_rx == 1_000_000;
                    let answer = Control { r#final: control.poll, ..willing };
                    rig.receive_all(0, &[super::frame(v6, 0, &answer)]);
                }
            }
            if i % 1000 == 0 {
                rig.receive_all(0, &[super::frame(v6, 0, &willing)]);
            }
        }
        assert!(slow && (40..60).contains(&echoes), "{slow} {echoes}");
        assert_eq!(state(&rig, v6, 0), State::Up);
        assert_eq!(rig.count(node, "none"), echoes);
        // An old one, a forged one, a short one, and nobody's.
        let old = first.expect("an echo packet");
        let mut forged = old.clone();
        forged[at + 19] ^= 1;
        let tail = old[at..].to_vec();
        let with = |payload: &[u8]| {
            pkt::ether(peer_mac(0), port_mac(0))
                .ip(peer(v6, 0), own(v6, 0))
                .udp(1, 3785)
                .payload(payload)
                .build()
        };
        rig.receive_all(
            0,
            &[old, with(&[&tail[..19], &[tail[19] ^ 1]].concat()), with(&tail[..19])],
        );
        let counts = ["bad", "failed_verification", "length"].map(|reason| rig.count(node, reason));
        assert_eq!(counts, [1; 3]);
        let mut latest = None;
        // None comes back any more.
        for _ in 0..1000 {
            pass(&mut rig, 1);
            for (_, mut frame) in rig.sent() {
                if !is_bfd(&frame) {
                    continue;
                }
                if is_echo(&frame) {
                    frame[..12].rotate_left(6);
                    latest = Some(frame);
                } else {
                    rig.receive_all(0, &[super::frame(v6, 0, &willing)]);
                }
            }
        }
        let (_, session) = rig.bench.world.get::<crate::control::Bfd>().list().remove(0);
        assert_eq!((session.state, session.diag), (State::Down, Diag::ECHO_FAILED));
        rig.cli(&format!("bfd udp session del {}", words(v6, 0)));
        add(&mut rig, v6, 1, "");
        let world = rig.world();
        world.clock.adjust(0);
        let mut late = latest.expect("an echo packet");
        // Of a session that is gone. Its time is up as well, so a fresh one is made.
        let home = world.get::<crate::home::Home>();
        let expires = world.clock.now() + MS;
        late[at..at + 4].copy_from_slice(&1u32.to_be_bytes());
        late[at + 4..at + 12].copy_from_slice(&expires.to_be_bytes());
        late[at + 12..at + 20].copy_from_slice(&home.checksum(1, expires).to_be_bytes());
        let fresh = with(&late[at..]);
        rig.receive_all(0, &[fresh]);
        assert_eq!(rig.count(node, "no_session"), 1);
    }
}

/// Sessions whose interface goes end with an event; the session of another interface stays.
#[suite::test]
fn sessions_end_with_their_interface() {
    let mut rig = rig(2);
    add(&mut rig, false, 0, "");
    add(&mut rig, false, 1, "");
    rig.cli("bfd udp echo-source set interface p0");
    rig.delete_port(0);
    let left = rig.world().get::<crate::control::Bfd>().list();
    assert!(matches!(&left[..], [(1, session)] if session.key.peer == peer(false, 1)));
    assert_eq!(rig.cli("show bfd echo-source"), "UDP echo source is not set.\n");
    assert!(rig.world().get::<Interfaces>().check(rig.ports[1]).is_ok());
    pass(&mut rig, 2000);
}

/// 1,000 sessions with packets each 50 ms run without control: none goes down, each packet is sent
/// in time.
#[suite::test]
fn a_thousand_sessions_need_no_control() {
    const SESSIONS: u32 = 1000;
    let mut rig = Rig::new(PLUGINS, 1);
    rig.bench.world.clock.stop();
    let world = rig.world();
    let ip = |i: u32| IpAddr::from([10, 0, (i >> 8) as u8 + 1, i as u8]);
    rig.cli("set interface ip address p0 10.0.0.1/16");
    let mut discs = Vec::new();
    for i in 0..SESSIONS {
        let known = net::Neighbor {
            is_static: true,
            ..net::Neighbor::new(rig.ports[0], ip(i), peer_mac(0))
        };
        world.get::<net::Neighbors>().set(&world, known).expect("set");
        let key = crate::home::SessionKey {
            sw_if: Some(rig.ports[0]),
            local: own(false, 0),
            peer: ip(i),
        };
        let settings = crate::session::Settings {
            desired_min_tx: 50_000,
            required_min_rx: 50_000,
            detect_mult: 3,
        };
        world.get::<crate::control::Bfd>().add(&world, key, settings, None).expect("added");
    }
    pass(&mut rig, 5);
    let peer_of = |frame: &[u8]| u32::from_be_bytes([frame[30], frame[31], frame[32], frame[33]]);
    for (_, frame) in rig.sent() {
        let (control, _) = Control::read(&frame[42..]).expect("a packet");
        discs.push((peer_of(&frame), control.my_disc));
    }
    discs.sort_unstable();
    discs.dedup();
    assert_eq!(discs.len(), SESSIONS as usize);
    let answer = |state, (peer, disc): (u32, u32)| {
        let mut bytes = [0; MAX_LEN];
        let len = packet(state, disc).write(&mut bytes);
        pkt::ether(peer_mac(0), port_mac(0))
            .ip(std::net::Ipv4Addr::from(peer).into(), own(false, 0))
            .ttl(255)
            .udp(50_000, 3784)
            .payload(&bytes[..len])
            .build()
    };
    let init: Vec<_> = discs.iter().map(|of| answer(State::Init, *of)).collect();
    rig.receive_all(0, &init);
    let is_up = |rig: &Rig| {
        let all = rig.world().get::<crate::control::Bfd>().list();
        all.iter().filter(|(_, session)| session.state == State::Up).count()
    };
    assert_eq!(is_up(&rig), SESSIONS as usize);
    // From here on, only the graph's thread runs: control is busy for two seconds.
    let mut last: std::collections::BTreeMap<u32, u64> = std::collections::BTreeMap::new();
    let mut sent = 0;
    for i in 0..2000u32 {
        world.clock.adjust(MS);
        // The peers send each 40 ms.
        for of in discs.iter().skip(i as usize % 40).step_by(40) {
            let frame = answer(State::Up, *of);
            rig.bench.arrive(rig.ports[0], &frame);
        }
        while rig.bench.rt.turn(true) > 0 || rig.bench.rt.is_busy() {}
        for (_, frame) in rig.sent() {
            let now = world.clock.now();
            let (control, _) = Control::read(&frame[42..]).expect("a packet");
            assert_eq!(control.state, State::Up);
            let before = last.insert(peer_of(&frame), now);
            assert!(before.is_none_or(|before| now - before <= 51 * MS));
            sent += 1;
        }
    }
    // 2 s with intervals of 37.5 to 50 ms.
    assert!((39 * SESSIONS..=54 * SESSIONS).contains(&sent), "{sent}");
    rig.bench.settle();
    assert_eq!(is_up(&rig), SESSIONS as usize, "without one flap");
}

/// An address with the last bit flipped that this router has is no source of echo packets.
#[suite::test]
fn an_echo_source_is_no_address_of_the_router() {
    let mut rig = rig(1);
    rig.cli("create loopback interface");
    rig.cli("set interface state loop0 up");
    rig.cli("bfd udp echo-source set interface loop0");
    for (address, source) in [
        ("10.9.0.2/24", "10.9.0.3"),
        ("10.9.0.3/24", "none"),
        ("10.10.0.5/31", "10.10.0.4"),
        ("2001:db8:9::2/64", "2001:db8:9::3"),
        ("2001:db8:9::3/64", "none"),
    ] {
        rig.cli(&format!("set interface ip address loop0 {address}"));
        let version = if address.contains(':') { 6 } else { 4 };
        let expected = format!("IPv{version} address usable as echo source: {source}\n");
        let shown = rig.cli("show bfd echo-source");
        assert!(shown.contains(&expected), "{address}: {shown}");
    }
}
