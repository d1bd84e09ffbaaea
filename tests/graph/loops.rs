// SPDX-License-Identifier: Apache-2.0
//! Packets that come back to nodes that they have passed: each ends, by name, and a thread goes on
//! with other work meanwhile.

use daemon::plugins;
use graph::drive::Bench;
use net::Interfaces;
use testkit::pkt::{self, Packet};

const HOST: &str = "02:aa:00:00:00:01";
const ROUTER: &str = "02:fe:00:00:00:01";

const PORT: &str = "create packet-generator interface pg0 hw-addr 02:fe:00:00:00:01
     set interface state pg0 up
     set interface ip address pg0 10.0.1.1/24
     set interface ip address pg0 2001:db8:1::1/64
     set ip neighbor pg0 10.0.1.2 02:aa:00:00:00:01 static";

/// An instance with a port, after these lines.
fn after(lines: &str) -> Bench {
    let mut bench = Bench::new(plugins::ALL);
    for line in PORT.lines().chain(lines.lines()).map(str::trim) {
        bench.cli(line).unwrap_or_else(|e| panic!("{line}: {e}"));
    }
    bench.settle();
    bench
}

fn to_router(from: &str) -> Packet {
    pkt::ether(HOST, ROUTER).ip4(from, "10.0.1.1")
}

/// A frame that arrives at pg0 ends, and is counted under this name. Nothing is lost.
#[track_caller]
fn ends(lines: &str, frame: &[u8], (node, counter): (&str, &str)) {
    let mut bench = after(lines);
    let port = bench.world.get::<Interfaces>().find("pg0").expect("the port");
    let out = bench.buffers_out();
    bench.arrive(port, frame);
    // A packet in a circle would never let this return.
    bench.settle();
    let errors = bench.cli("show errors").expect("shown");
    // Packets of the router's own (MLD) may go the same way.
    assert!(bench.count(node, counter) > 0, "{lines}\n{errors}");
    assert_eq!(bench.buffers_out(), out, "{lines}");
}

const LOOPED: (&str, &str) = ("loop0-tx", "looped");

#[test]
fn loopbacks_that_send_to_each_other() {
    let lines = "create loopback interface
         create loopback interface
         set interface state loop0 up
         set interface state loop1 up
         set interface l2 xconnect loop0 loop1
         set interface l2 xconnect loop1 loop0
         set interface l2 xconnect pg0 loop0";
    // The sixteenth return is that of the second one.
    let frame = to_router("10.0.1.2").udp(1, 2).payload_len(40).build();
    ends(lines, &frame, ("loop1-tx", "looped"));
}

#[test]
fn punted_packets_that_are_redirected_behind_a_loopback() {
    for (ip, via) in [("ip", "10.0.9.2"), ("ip6", "2001:db8:9::2")] {
        let lines = format!(
            "create loopback interface
             set interface state loop0 up
             set interface ip address loop0 10.0.9.1/24
             set interface ip address loop0 2001:db8:9::1/64
             set ip neighbor loop0 {via} de:ad:00:00:00:00 static
             set punt ipv4 udp all
             set punt ipv6 udp all
             {ip} punt redirect add rx all via {via} loop0"
        );
        let frame = match ip {
            "ip" => to_router("10.0.1.2"),
            _ => pkt::ether(HOST, ROUTER).ip6("2001:db8:1::2", "2001:db8:1::1"),
        };
        ends(&lines, &frame.udp(1, 2).payload_len(40).build(), LOOPED);
    }
}

#[test]
fn a_gtpu_forward_that_leads_back() {
    let tunnel = "create gtpu tunnel src 10.0.1.1 dst 10.0.1.9 teid 1";
    // The address becomes ours later, or is behind a route that leads back.
    let lines = format!(
        "{tunnel}
         create gtpu forward dst 10.0.7.1 bad-header
         create loopback interface
         set interface state loop0 up
         set interface ip address loop0 10.0.7.1/24"
    );
    let frame = to_router("10.0.1.2").udp(1, 2152).payload_len(4).build();
    ends(&lines, &frame, ("gtpu4-input", "looped"));
    let mut bench = after(tunnel);
    let error = bench.cli("create gtpu forward dst 10.0.1.1 bad-header").expect_err("our own");
    assert!(error.message().contains("10.0.1.1 is an address of pg0"), "{error}");
}

#[test]
fn a_pppoe_control_plane_behind_a_loopback() {
    let padi = pkt::ether(HOST, "ff:ff:ff:ff:ff:ff")
        .ethertype(wire::EtherType(0x8863))
        .payload([0x11, 9, 0, 0, 0, 0]);
    let mut bench = after("create loopback interface\nset interface state loop0 up");
    let error = bench.cli("create pppoe cp cp-if-index loop0").expect_err("it comes back");
    assert!(error.message().contains("packets to loop0 come back"), "{error}");
    // A routed interface that leaves its bridge domain gives the control plane up.
    let lines = "create loopback interface
         set interface state loop0 up
         create bridge-domain 1
         set interface l2 bridge loop0 1 bvi
         create pppoe cp cp-if-index loop0
         set interface l3 loop0";
    ends(lines, &padi.build(), ("pppoe-cp-dispatch", "no_control_plane"));
}

#[test]
fn sessions_that_lead_to_an_earlier_node() {
    let udp = to_router("10.0.1.2").udp(1, 2).payload_len(40).build();
    ends(
        "classify table mask l3 ip4 src
         classify session table-index 0 match l3 ip4 src 10.0.1.2 acl-hit-next node ip4-input
         set interface input acl intfc pg0 ip4-table 0",
        &udp,
        ("ip4-inacl", "looped"),
    );
    ends(
        "create bridge-domain 1
         set interface l2 bridge pg0 1
         classify table mask l2 src
         classify session table-index 0 match l2 src 02:aa:00:00:00:01 acl-hit-next node l2-input
         set interface input acl intfc pg0 l2-table 0",
        &udp,
        ("l2-input-acl", "looped"),
    );
}
