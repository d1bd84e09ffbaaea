// SPDX-License-Identifier: Apache-2.0
//! Sessions and routes (RFC 5882).

use super::*;

/// The port by which a packet to an address leaves, if any.
fn leaves(rig: &mut Rig, to: &str) -> Option<usize> {
    let ip: IpAddr = to.parse().expect("an address");
    let source: IpAddr = if ip.is_ipv6() { "2001:db8:7::7".parse() } else { "10.7.7.7".parse() }
        .expect("an address");
    rig.sent();
    let packet =
        pkt::ether(peer_mac(0), port_mac(0)).ip(source, ip).udp(1, 2).payload([0xee; 30]).build();
    let sent = rig.pass(0, &packet);
    let ours = |(_, frame): &&(usize, Vec<u8>)| {
        frame.ends_with(&[0xee; 30]) && frame.len() == packet.len()
    };
    sent.iter().find(ours).map(|(port, _)| *port)
}

#[suite::test]
fn routes_over_a_neighbor_need_its_session() {
    for (v6, far, prefix, via) in [
        (false, "20.0.0.1", "20.0.0.0/8", "10.0.1.2 p1"),
        (true, "2001:db8:f::1", "2001:db8:f::/48", "2001:db8:1::2 p1"),
    ] {
        let mut rig = rig(3);
        let hop2 = if v6 { "2001:db8:2::2 p2" } else { "10.0.2.2 p2" };
        rig.cli(&format!("ip route add {prefix} via {via}"));
        assert_eq!(leaves(&mut rig, far), Some(1));
        // Down until the session is up, though there is no other path.
        add(&mut rig, v6, 1, "");
        assert_eq!(leaves(&mut rig, far), None);
        let near = peer(v6, 1).to_string();
        assert_eq!(leaves(&mut rig, &near), None);
        let disc = up(&mut rig, v6, 1);
        assert_eq!((leaves(&mut rig, far), leaves(&mut rig, &near)), (Some(1), Some(1)));
        // Another path takes over, and gives it back.
        rig.cli(&format!("ip route add {prefix} via {hop2} preference 1"));
        assert_eq!(leaves(&mut rig, far), Some(1));
        pass(&mut rig, 250);
        assert_eq!((state(&rig, v6, 1), leaves(&mut rig, far)), (State::Down, Some(2)));
        rig.receive_all(1, &[frame(v6, 1, &packet(State::Init, disc))]);
        assert_eq!(leaves(&mut rig, far), Some(1));
        rig.cli(&format!("bfd udp session set-flags {} admin down", words(v6, 1)));
        assert_eq!(leaves(&mut rig, far), Some(2));
        // Without the session the next hop is used.
        rig.cli(&format!("bfd udp session del {}", words(v6, 1)));
        assert_eq!(leaves(&mut rig, far), Some(1));
    }
}

#[suite::test]
fn routes_by_a_far_router_are_used_until_its_session_is_down() {
    let mut rig = rig(3);
    rig.cli("ip route add 9.9.9.9/32 via 10.0.1.2 p1");
    rig.cli("ip route add 20.0.0.0/8 via 9.9.9.9");
    rig.cli("bfd udp session add multihop local-addr 10.0.1.1 peer-addr 9.9.9.9 desired-min-tx 50000 required-min-rx 60000 detect-mult 3");
    assert_eq!(leaves(&mut rig, "20.0.0.1"), Some(1));
    pass(&mut rig, 2);
    let far = |rig: &Rig| {
        let sent = rig.sent();
        let found = sent
            .iter()
            .find(|(_, frame)| frame.len() == 66 && frame[36..38] == 4784u16.to_be_bytes());
        Control::read(&found.expect("a packet").1[42..]).expect("a packet").0
    };
    pass(&mut rig, 1001);
    let control = far(&rig);
    let arrive = |rig: &mut Rig, state, ttl| {
        let mut bytes = [0; MAX_LEN];
        let len = packet(state, control.my_disc).write(&mut bytes);
        let frame = pkt::ether(peer_mac(1), port_mac(1))
            .ip4("9.9.9.9", "10.0.1.1")
            .ttl(ttl)
            .udp(50_000, 4784)
            .payload(&bytes[..len])
            .build();
        rig.receive_all(1, &[frame]);
    };
    arrive(&mut rig, State::Init, 250);
    let list = |rig: &Rig| rig.bench.world.get::<crate::control::Bfd>().list().remove(0).1.state;
    assert_eq!((list(&rig), leaves(&mut rig, "20.0.0.1")), (State::Up, Some(1)));
    pass(&mut rig, 200);
    assert_eq!((list(&rig), leaves(&mut rig, "20.0.0.1")), (State::Down, None));
    assert_eq!(leaves(&mut rig, "9.9.9.9"), Some(1), "the route to the router itself stays");
    arrive(&mut rig, State::Down, 64);
    assert_eq!((list(&rig), leaves(&mut rig, "20.0.0.1")), (State::Init, None));
    arrive(&mut rig, State::Up, 64);
    assert_eq!((list(&rig), leaves(&mut rig, "20.0.0.1")), (State::Up, Some(1)));
    pass(&mut rig, 200);
    assert_eq!(leaves(&mut rig, "20.0.0.1"), None);
    rig.cli("bfd udp session del multihop local-addr 10.0.1.1 peer-addr 9.9.9.9");
    assert_eq!(leaves(&mut rig, "20.0.0.1"), Some(1));
}
