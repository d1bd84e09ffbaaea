// SPDX-License-Identifier: Apache-2.0
//! The commands of VPP's introductions: an interface to the host, pings, a trace, neighbours, the
//! FIB, two instances with routes, and VRFs with the same network in both. Scripts go through
//! `ferroctl`, one command a line.
//!
//! Covers: bin/ferrovia, bin/ferroctl, features/ip, features/fib, features/trace, features/arp,
//! drivers/af_packet.

use fixture::{Router, eventually};
use testkit::lab::{self, Lab, Netns};

/// A host of the introductions: `eth0`, with this address and the gateway that the network's first
/// one is.
fn host(lab: &Lab, name: &str, (router, port): (&Netns, &str), network: &str) -> Netns {
    let host = lab.netns(name);
    lab.veth((&host, "eth0"), (router, port));
    host.addr("eth0", &format!("{network}.2/24"));
    host.route("default", &format!("{network}.1"));
    host
}

/// A namespace whose kernel says nothing by itself.
fn silent(lab: &Lab, name: &str) -> Netns {
    let netns = lab.netns(name);
    netns.sysctl("net/ipv6/conf/all/disable_ipv6", "1");
    netns.sysctl("net/ipv6/conf/default/disable_ipv6", "1");
    netns
}

/// Pings until an answer comes: the first packets may be lost to the question for the neighbour.
#[track_caller]
fn reaches(from: &Netns, to: &str) {
    eventually(&format!("an answer from {to}"), || {
        from.command("ping").args(["-c", "1", "-W", "1", to]).run().success().then_some(())
    });
}

#[test]
fn an_interface_a_ping_and_a_trace() {
    let Some(lab) = lab::require(&["root", "ping"]) else { return };
    let netns = silent(&lab, "vpp1");
    let kernel = host(&lab, "host", (&netns, "vpp1out"), "10.10.1");
    let router = Router::start(&netns, "");
    let said = router.script(
        "create host-interface name vpp1out\nset int state host-vpp1out up\n\
         set int ip address host-vpp1out 10.10.1.1/24\ntrace add af-packet-input 10\n",
    );
    assert_eq!(said.trim(), "host-vpp1out");
    let interfaces = router.run("show int");
    let line = interfaces.lines().find(|l| l.starts_with("host-vpp1out")).expect("the interface");
    assert!(line.split_whitespace().take(3).eq(["host-vpp1out", "1", "up"]), "{line}");
    assert!(router.run("show int addr").contains("L3 10.10.1.1/24"));

    reaches(&kernel, "10.10.1.1");
    // The way of an echo request, node by node.
    let trace = router.run("show trace");
    let nodes = [
        "af-packet-input",
        "ethernet-input",
        "ip4-icmp-input",
        "ip4-icmp-echo-request",
        "host-vpp1out-output",
    ];
    let packet = trace.split("Packet ").find(|p| nodes.iter().all(|node| p.contains(node)));
    let packet = packet.unwrap_or_else(|| panic!("no echo request in\n{trace}"));
    assert!(packet.contains("10.10.1.2 -> 10.10.1.1"), "{packet}");
    router.run("clear trace");
    assert!(router.run("show trace").contains("No packets in trace buffer"));

    let pinged = router.run("ping 10.10.1.2 repeat 2 interval 0.1");
    assert!(pinged.contains("2 sent, 2 received"), "{pinged}");
    let neighbors = router.run("show ip neighbors");
    assert!(
        neighbors.lines().any(|l| l.contains("10.10.1.2") && l.contains("host-vpp1out")),
        "{neighbors}"
    );
    let fib = router.run("show ip fib 10.10.1.0/24");
    assert!(fib.contains("10.10.1.0/24"), "{fib}");
    let runtime = router.run("show run");
    assert!(runtime.lines().any(|l| l.starts_with("af-packet-input")), "{runtime}");
    assert!(router.run("show hardware-interfaces").contains("host-vpp1out"));
    router.script("clear run\nclear interfaces\nclear err\n");
    router.stop();
}

#[test]
fn two_instances_with_routes() {
    let Some(lab) = lab::require(&["root", "ping"]) else { return };
    let (one, two) = (silent(&lab, "vpp1"), silent(&lab, "vpp2"));
    let left = host(&lab, "left", (&one, "left"), "10.10.1");
    let right = host(&lab, "right", (&two, "right"), "10.10.3");
    lab.veth((&one, "wire"), (&two, "wire"));
    let start = |netns: &Netns, port: &str, own: &str, wire: &str, route: &str| {
        let router = Router::start(netns, "");
        router.script(&format!(
            "create host-interface name {port}\ncreate host-interface name wire\n\
             set int state host-{port} up\nset int state host-wire up\n\
             set int ip address host-{port} {own}\nset int ip address host-wire {wire}\nip route add {route}\n"
        ));
        router
    };
    let first = start(&one, "left", "10.10.1.1/24", "10.10.2.1/24", "10.10.3.0/24 via 10.10.2.2");
    let second = start(&two, "right", "10.10.3.1/24", "10.10.2.2/24", "10.10.1.0/24 via 10.10.2.1");
    reaches(&left, "10.10.3.2");
    reaches(&right, "10.10.1.2");
    let fib = first.run("show ip fib 10.10.3.0/24");
    assert!(fib.contains("10.10.2.2") && fib.contains("host-wire"), "{fib}");
    // VPP's client may leave `add' out; what is taken away leads nowhere.
    first.run("ip route del 10.10.3.0/24 via 10.10.2.2");
    let lost = left.command("ping").args(["-c", "1", "-W", "1", "10.10.3.2"]).run();
    assert!(!lost.success() && lost.stdout.contains("Unreachable"), "{}", lost.stdout);
    first.run("ip route 10.10.3.0/24 via 10.10.2.2");
    reaches(&left, "10.10.3.2");
    first.stop();
    second.stop();
}

#[test]
fn vrfs_with_the_same_network() {
    let Some(lab) = lab::require(&["root", "ping"]) else { return };
    let netns = silent(&lab, "vpp1");
    let hosts = [("red", 10), ("blue", 20)]
        .map(|(name, table)| (host(&lab, name, (&netns, name), "192.168.1"), name, table));
    let router = Router::start(&netns, "");
    for (_, name, table) in &hosts {
        router.script(&format!(
            "create host-interface name {name}\nip table add {table}\nset int ip table host-{name} {table}\n\
             set int ip address host-{name} 192.168.1.1/24\nset int state host-{name} up\n"
        ));
    }
    for (host, name, table) in &hosts {
        reaches(host, "192.168.1.1");
        let fib = router.run(&format!("show ip fib table {table} 192.168.1.2/32"));
        assert!(fib.contains(&format!("host-{name}")), "{fib}");
    }
    let none = router.ctl("show ip fib table 0 192.168.1.2/32").unwrap_err();
    assert!(none.contains("there is no route"), "nothing in the default table: {none}");
    // A network of one, reached from the other by a route into its table.
    hosts[1].0.addr("lo", "172.16.0.1/32");
    router.script(
        "ip route add 172.16.0.0/16 table 20 via 192.168.1.2 host-blue\n\
         ip route add 172.16.0.0/16 table 10 via 0.0.0.0 next-hop-table 20\n\
         ip route add 192.168.2.0/24 table 20 via 0.0.0.0 next-hop-table 10\n\
         ip route add 192.168.2.0/24 table 10 via 192.168.1.2 host-red\n",
    );
    hosts[0].0.addr("lo", "192.168.2.1/32");
    eventually("an answer through both tables", || {
        hosts[0]
            .0
            .command("ping")
            .args(["-c", "1", "-W", "1", "-I", "192.168.2.1", "172.16.0.1"])
            .run()
            .success()
            .then_some(())
    });
    router.stop();
}
