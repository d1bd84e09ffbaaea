// SPDX-License-Identifier: Apache-2.0
//! Pipes and point-to-point Ethernet between Linux hosts.
//!
//! Covers: features/pipe, features/p2p-ethernet.

use testkit::lab::require;

use crate::host::transfer;
use crate::six;
use crate::star::Star;

/// Two bridge domains that a pipe connects are one network to their hosts; routed ends lead from
/// one table into another.
#[test]
fn hosts_reach_each_other_through_a_pipe() {
    if require(&["root"]).is_none() {
        return;
    }
    let Some((_lab, site)) = six::site(six::VETH) else { return };
    let (router, left, right) = (site.router(), &site.left, &site.right);
    router.script(&format!(
        "pipe create
         set interface state pipe0 up
         create bridge-domain 1
         create bridge-domain 2
         set interface l2 bridge {} 1
         set interface l2 bridge pipe0.0 1
         set interface l2 bridge pipe0.1 2
         set interface l2 bridge {} 2",
        left.port, right.port
    ));
    left.host.addr("eth0", "10.9.0.1/24");
    right.host.addr("eth0", "10.9.0.2/24");
    left.host.ip("-6 addr add 2001:db8:9::1/64 dev eth0 nodad");
    right.host.ip("-6 addr add 2001:db8:9::2/64 dev eth0 nodad");
    for to in ["10.9.0.2", "2001:db8:9::2"] {
        let text = left.host.pings("-c3 -i0.05 -s 1400", to);
        assert!(text.contains("ttl=64"), "switched, not routed: {text}");
    }
    transfer(&left.host, &right.host, "10.9.0.2", 5);
    transfer(&right.host, &left.host, "10.9.0.1", 5);
    site.finish();
}

#[test]
fn a_routed_pipe_leads_from_one_table_into_another() {
    let Some(lab) = require(&["root", "ping", "/usr/bin/python3"]) else { return };
    let star = Star::new(&lab, &[("red", 1, 10), ("blue", 2, 20)]);
    let [red, blue] = &star.spokes[..] else { panic!("two") };
    star.router.script(
        "pipe create
         set interface ip table pipe0.0 10
         set interface ip6 table pipe0.0 10
         set interface ip table pipe0.1 20
         set interface ip6 table pipe0.1 20
         set interface state pipe0 up
         set interface ip address pipe0.0 10.9.0.1/24
         set interface ip address pipe0.1 10.9.0.2/24
         set interface ip address pipe0.0 2001:db8:9::1/64
         set interface ip address pipe0.1 2001:db8:9::2/64
         ip route add 10.0.2.0/24 table 10 via 10.9.0.2 pipe0.0
         ip route add 10.0.1.0/24 table 20 via 10.9.0.1 pipe0.1
         ip route add 2001:db8:2::/64 table 10 via 2001:db8:9::2 pipe0.0
         ip route add 2001:db8:1::/64 table 20 via 2001:db8:9::1 pipe0.1",
    );
    for to in blue.addresses() {
        let text = red.host.pings("-c3 -i0.05 -s 1400", &to);
        assert!(text.contains("ttl=62"), "routed twice: {text}");
    }
    transfer(&red.host, &blue.host, &blue.addresses()[0], 5);
    transfer(&blue.host, &red.host, &red.addresses()[0], 5);
    drop(star.router.stop());
}

/// Two clients on one port, by their MAC addresses, have a sub-interface each, and in it a table of
/// their own; other hosts on the port stay on it.
#[test]
fn a_client_has_its_own_sub_interface() {
    if require(&["root"]).is_none() {
        return;
    }
    let Some((lab, site)) = six::site(six::VETH) else { return };
    let (router, left, right) = (site.router(), &site.left, &site.right);
    // The left host becomes a switch; behind it are two clients.
    let clients = ["one", "two"].map(|name| lab.netns(name));
    left.host.ip("addr flush dev eth0");
    left.host.ip("link add br0 type bridge");
    left.host.ip("link set eth0 master br0");
    left.host.up("br0");
    for (n, client) in clients.iter().enumerate() {
        let port = format!("c{n}");
        lab.veth((client, "eth0"), (&left.host, &port));
        left.host.ip(&format!("link set {port} master br0"));
        client.addr("eth0", &format!("10.0.1.{}/24", 10 + n));
        client.route("default", "10.0.1.1");
        let mac = client.mac("eth0");
        router.script(&format!(
            "p2p_ethernet {} {mac} sub-id {n}
             set interface state {}.{n} up
             set interface unnumbered {}.{n} use {}
             ip route add 10.0.1.{}/32 via {}.{n}",
            left.port,
            left.port,
            left.port,
            left.port,
            10 + n,
            left.port
        ));
    }
    for (n, client) in clients.iter().enumerate() {
        client.pings("-c3 -i0.05 -s 1400", right.address);
        transfer(client, &right.host, right.address, 5);
        transfer(&right.host, client, &format!("10.0.1.{}", 10 + n), 5);
        let counters = router.run(&format!("show interface {}.{n}", left.port));
        assert!(counters.contains("rx packets") && counters.contains("tx packets"), "{counters}");
    }
    site.finish();
}
