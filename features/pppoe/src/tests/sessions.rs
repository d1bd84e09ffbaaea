// SPDX-License-Identifier: Apache-2.0
//! Sessions: their routes and tables, what is shown and what is refused.

use super::*;
use testkit::Rng;

const SHOWN: &str = "\
[0] sw-if-index 4 client-ip 100.64.0.1 session-id 7 encap-if-index 1 decap-vrf-id 0
    local-mac 02:fe:00:00:00:00 client-mac 02:aa:00:00:00:01
[1] sw-if-index 5 client-ip 100.64.0.2 session-id 7 encap-if-index 1 decap-vrf-id 0
    local-mac 02:fe:00:00:00:00 client-mac 02:aa:00:00:00:02
[2] sw-if-index 6 client-ip 2001:db8:64::1 session-id 8 encap-if-index 1 decap-vrf-id 0
    local-mac 02:fe:00:00:00:00 client-mac 02:aa:00:00:00:01
";

#[suite::test]
fn sessions_are_shown() {
    let mut rig = with_sessions();
    assert_eq!(rig.cli("show pppoe session"), SHOWN);
    let json = rig.cli("show pppoe session -j");
    assert!(json.contains("\"client_mac\"") && json.contains("2001:db8:64::1"), "{json}");
    let clients = "Client             Interface  sw_if_index\n\
                   02:aa:00:00:00:01  p0                   1\n\
                   02:aa:00:00:00:02  p0                   1\n";
    assert_eq!(rig.cli("show pppoe fib"), clients);
    // The port's new address is that of its sessions.
    rig.cli("set interface mac address p0 02:00:00:00:00:99");
    let came =
        frame(peer_mac(1), port_mac(1), &[], 0x800, &packet("30.0.0.1", "100.64.0.1", 64, 9));
    let mac = MacAddr([2, 0, 0, 0, 0, 0x99]);
    let out = session_frame(mac, client(1), 7, 0x21, &packet("30.0.0.1", "100.64.0.1", 63, 9));
    assert_eq!(rig.pass(1, &came), [(0, out)]);
}

#[suite::test]
fn bad_ones_are_refused() {
    let mut rig = with_sessions();
    let create = |rest: &str| format!("create pppoe session {rest}");
    for (rest, want, code) in [
        ("client-ip 10.9.0.1 session-id 7 client-mac 02:aa:00:00:00:01", "pppoe_session0", -75),
        ("client-ip 10.9.0.1 session-id 9 client-mac 02:aa:00:00:00:09", "02:aa:00:00:00:09", -2),
        ("client-ip 10.9.0.1 session-id 0 client-mac 02:aa:00:00:00:01", "identifier 0", -7),
        ("client-ip 10.9.0.1 session-id 65535 client-mac 02:aa:00:00:00:01", "65535", -7),
        ("client-ip 239.1.1.1 session-id 9 client-mac 02:aa:00:00:00:01", "239.1.1.1", -7),
        ("client-ip :: session-id 9 client-mac 02:aa:00:00:00:01", "::", -7),
        ("client-ip 10.9.0.1 session-id 9 client-mac 03:aa:00:00:00:01 interface p0", "03:aa", -7),
        (
            "client-ip 10.9.0.1 session-id 9 client-mac 02:aa:00:00:00:01 interface local0",
            "local0",
            -2,
        ),
        ("client-ip 10.9.0.1 session-id 9 client-mac 02:aa:00:00:00:01 decap-vrf-id 7", "7", -4),
        ("client-ip 2001::1 session-id 9 client-mac 02:aa:00:00:00:01 decap-vrf-id 7", "7", -4),
        (
            "client-ip 10.9.0.1 session-id 9 client-mac 02:aa:00:00:00:01 instance 1",
            "session1",
            -147,
        ),
        ("client-ip 10.9.0.1 session-id 9 client-mac 02:aa:00:00:00:01 del", "session 9", -6),
    ] {
        let (retval, error) = rig.refused(&create(rest));
        assert!(error.contains(want) && retval == code, "{rest}: {retval} {error}");
    }
    assert_eq!(rig.cli("show pppoe session"), SHOWN, "what is refused changes nothing");
    rig.cli(&create("client-ip 100.64.0.2 session-id 7 client-mac 02:aa:00:00:00:02 del"));
    assert!(!rig.cli("show ip fib").contains("100.64.0.2"));
    // The lowest number is free again.
    let made = rig.cli(&create("client-ip 10.9.0.1 session-id 9 client-mac 02:aa:00:00:00:01"));
    assert_eq!(made.trim(), "pppoe_session1");
}

/// The client's packets are looked up in the session's table, which has the client's route, and
/// moves with the interface.
#[suite::test]
fn tables_are_the_sessions() {
    let mut rig = rig(&[
        "ip table add 7",
        "ip6 table add 8",
        "ip route add 30.0.0.0/8 table 7 via 10.0.2.2 p2",
        "ip route add 30.0.0.0/8 via 10.0.1.2 p1",
        "create pppoe session client-ip 100.64.0.1 session-id 7 client-mac 02:aa:00:00:00:01 decap-vrf-id 7 interface p0",
        "create pppoe session client-ip 2001:db8:64::1 session-id 8 client-mac 02:aa:00:00:00:01 decap-vrf-id 8 interface p0",
        "create loopback interface",
        "set interface ip table loop0 7",
        "set interface ip address loop0 10.77.0.1/32",
        "set interface state loop0 up",
        "set interface unnumbered pppoe_session0 use loop0",
    ]);
    let came =
        session_frame(client(1), port_mac(0), 7, 0x21, &packet("100.64.0.1", "30.0.0.1", 64, 9));
    let out = |port| {
        frame(port_mac(port), peer_mac(port), &[], 0x800, &packet("100.64.0.1", "30.0.0.1", 63, 9))
    };
    assert_eq!(rig.pass(0, &came), [(2, out(2))]);
    let has = |rig: &mut Rig, family: &str, table: u32, address: &str| {
        let line = format!("show {family} fib table {table} {address}");
        rig.bench.cli(&line).is_ok_and(|shown| shown.contains("pppoe_session"))
    };
    assert!(
        has(&mut rig, "ip", 7, "100.64.0.1/32") && has(&mut rig, "ip6", 8, "2001:db8:64::1/128")
    );
    rig.cli("set interface unnumbered del pppoe_session0");
    rig.cli("set interface ip table pppoe_session0 0");
    assert!(!has(&mut rig, "ip", 7, "100.64.0.1/32") && has(&mut rig, "ip", 0, "100.64.0.1/32"));
    rig.cli("set interface unnumbered pppoe_session0 use p0");
    assert_eq!(rig.pass(0, &came), [(1, out(1))]);
    for (n, session) in [(1, 7), (1, 8)] {
        let mac = client(n);
        rig.cli(&format!(
            "create pppoe session client-ip 10.0.0.1 session-id {session} client-mac {mac} del"
        ));
    }
    assert!(
        !has(&mut rig, "ip", 0, "100.64.0.1/32") && !has(&mut rig, "ip6", 8, "2001:db8:64::1/128")
    );
}

/// Of random sessions of few clients, each frame belongs to the one that a search finds.
#[suite::test]
fn frames_belong_to_the_session_that_a_search_finds() {
    let mut rig = rig(&[]);
    let mut rng = Rng::new(5);
    let mut all: Vec<((u8, u16), String)> = Vec::new();
    let (mut taken, mut unknown) = (0, 0);
    for round in 0..5000 {
        let key = (*rng.pick::<u8>(&[1, 2, 3, 4, 5]), *rng.pick::<u16>(&[1, 2, 3, 256, 0xfffe]));
        let (n, session) = key;
        if round % 10 == 0 {
            let mac = client(n);
            let line = format!(
                "create pppoe session client-ip 100.64.{n}.1 session-id {session} client-mac {mac}"
            );
            if let Some(at) = all.iter().position(|(other, _)| *other == key) {
                rig.cli(&format!("{line} del"));
                all.remove(at);
            } else {
                let name = rig.cli(&format!("{line} interface p0")).trim().to_string();
                all.push((key, name));
            }
        }
        let counters = rig.world().get::<net::IfCounters>();
        let interfaces = rig.world().get::<Interfaces>();
        let received = |name: &str| counters.rx.sum(interfaces.find(name).expect("there").at()).0;
        let before: Vec<u64> = all.iter().map(|(_, name)| received(name)).collect();
        let whole = packet("100.64.0.1", "30.0.0.1", 64, 20);
        rig.pass(0, &session_frame(client(n), port_mac(0), session, 0x21, &whole));
        for ((other, name), before) in all.iter().zip(before) {
            assert_eq!(received(name), before + u64::from(*other == key), "{other:?} {key:?}");
        }
        match all.iter().any(|(other, _)| *other == key) {
            true => taken += 1,
            false => unknown += 1,
        }
    }
    assert_eq!(rig.count(INPUT, NO_SESSION), unknown);
    assert!(taken > 500 && unknown > 500, "{taken} {unknown}");
}
