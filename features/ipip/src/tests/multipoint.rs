// SPDX-License-Identifier: Apache-2.0
//! Tunnels with several other ends, which are entries of `create teib`.

use super::*;

/// A tunnel with several other ends: nothing goes to a peer, and nothing is taken from where it is,
/// before it is known.
#[suite::test]
fn other_ends_come_and_go() {
    let mut rig = rig(&[
        "create ipip tunnel src 10.0.1.1 p2mp",
        "set interface state ipip0 up",
        "set interface ip address ipip0 10.9.0.1/24",
        "ip route add 20.0.0.0/8 via 10.9.0.2 ipip0",
        "ip route add 30.0.0.0/8 via 10.0.2.2 p2",
    ]);
    let out = |rig: &mut Rig, to| rig.route(&whole(&inner4(to)));
    let back = |rig: &mut Rig| {
        let mut outer = outer4(&whole(&inner4("30.0.0.1")), 0, 7, false);
        let (a, b) = outer[12..20].split_at_mut(4);
        a.swap_with_slice(b);
        Ipv4Header::set_checksum_at(&mut outer);
        rig.route(&outer).len()
    };
    let refused = |rig: &Rig| rig.count("ip4-lookup", "unreachable");
    for to in ["20.0.0.1", "10.9.0.2", "10.9.0.3"] {
        let before = refused(&rig);
        assert_eq!(out(&mut rig, to), []);
        assert_eq!(refused(&rig), before + 1);
    }
    assert_eq!((back(&mut rig), rig.count("ipip4-input", "no tunnel")), (0, 1));
    rig.cli("create teib ipip0 peer 10.9.0.2 nh 10.0.1.2");
    for (id, to) in (0..).zip(["20.0.0.1", "10.9.0.2"]) {
        assert_eq!(out(&mut rig, to), [(1, outer4(&hop(&inner4(to)), 0, id, false))]);
    }
    assert_eq!(back(&mut rig), 1);
    assert!(rig.cli("show adj nbr ipip0 10.9.0.2").lines().count() == 1);
    // Two peers at one place; each goes by itself.
    rig.cli("create teib ipip0 peer 10.9.0.3 nh 10.0.1.2");
    rig.cli("delete teib ipip0 peer 10.9.0.2");
    assert_eq!(
        (out(&mut rig, "10.9.0.3")[0].0, out(&mut rig, "20.0.0.1").len(), back(&mut rig)),
        (1, 0, 1)
    );
    rig.cli("delete teib ipip0 peer 10.9.0.3");
    assert_eq!((out(&mut rig, "10.9.0.3").len(), back(&mut rig)), (0, 0));
    // An end that another tunnel has, or of another protocol.
    rig.cli("create ipip tunnel src 10.0.1.1 dst 10.0.1.2");
    assert_eq!(rig.refused("create teib ipip0 peer 10.9.0.2 nh 10.0.1.2").0, -79);
    assert_eq!(rig.refused("create teib ipip0 peer 10.9.0.2 nh 2001:db8:1::2").0, -153);
    rig.cli("delete ipip tunnel ipip1");
    // The table of the interface changes, and the peers' routes with it.
    rig.cli("create teib ipip0 peer 10.9.0.2 nh 10.0.1.2");
    rig.cli("set interface ip address del ipip0 10.9.0.1/24");
    rig.cli("ip table add 7");
    rig.cli("set interface ip table ipip0 7");
    assert!(rig.cli("show ip fib table 7 10.9.0.2/32").contains("ipip0"));
    rig.refused("show ip fib 10.9.0.2/32");
    rig.cli("delete ipip tunnel ipip0");
    rig.refused("show ip fib table 7 10.9.0.2/32");
    assert_eq!(rig.cli("show teib").lines().filter(|line| line.contains("10.9")).count(), 0);
}

/// A packet of IPv4 may go to a peer of IPv6 in the overlay (RFC 8950).
#[suite::test]
fn peers_of_the_other_protocol() {
    let mut rig = rig(&[
        "create ipip tunnel src 10.0.1.1 p2mp",
        "set interface state ipip0 up",
        "set interface ip address ipip0 10.9.0.1/24",
        "set interface ip address ipip0 2001:db8:9::1/64",
        "create teib ipip0 peer 2001:db8:9::2 nh 10.0.1.2",
        "ip route add 20.0.0.0/8 via 2001:db8:9::2 ipip0",
        "ip route add 2002::/16 via 2001:db8:9::2 ipip0",
    ]);
    for (id, inner) in [inner4("20.0.0.1"), inner6("2002::1")].iter().enumerate() {
        assert_eq!(rig.route(&whole(inner)), [(1, outer4(&hop(inner), 0, id as u16, false))]);
    }
}

/// A peer may be known on two tunnels, and link-local ones need IPv6 on the tunnel.
#[suite::test]
fn host_routes_of_peers() {
    let mut rig = rig(&[
        "create ipip tunnel src 10.0.1.1 p2mp",
        "create ipip tunnel src 10.0.2.1 p2mp",
        "create teib ipip0 peer 10.9.0.2 nh 10.0.1.2",
        "create teib ipip1 peer 10.9.0.2 nh 10.0.2.2",
    ]);
    for (line, there, gone) in [
        ("delete teib ipip1 peer 10.9.0.2", "ipip0", "ipip1"),
        ("create teib ipip1 peer 10.9.0.2 nh 10.0.2.2", "ipip1", "nothing"),
        ("delete ipip tunnel ipip0", "ipip1", "ipip0"),
    ] {
        rig.cli(line);
        let shown = rig.cli("show ip fib 10.9.0.2/32");
        assert!(shown.contains(there) && !shown.contains(gone), "{line}: {shown}");
    }
    rig.cli("create teib ipip1 peer fe80::2 nh 10.0.2.2");
    let link_local = |rig: &Rig| {
        let interface = rig.bench.world.get::<net::Interfaces>();
        let sw_if = interface.find("ipip1").expect("there");
        let table = net::IpBinding::of(&rig.bench.world, sw_if)
            .table_of("fe80::2".parse().expect("an address"))?;
        let fib = rig.bench.world.get::<net::Fib<wire::Ip6>>();
        Some(fib.route(table, "fe80::2/128".parse().expect("a prefix")).is_some())
    };
    assert_eq!(link_local(&rig), None);
    for _ in 0..2 {
        rig.cli("enable ip6 interface ipip1");
        assert_eq!(link_local(&rig), Some(true));
        rig.cli("disable ip6 interface ipip1");
        assert_eq!(link_local(&rig), None);
    }
}
