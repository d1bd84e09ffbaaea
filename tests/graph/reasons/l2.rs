// SPDX-License-Identifier: Apache-2.0
//! Switched frames.

use super::*;

/// The address of a host.
fn host(n: u8) -> [u8; 6] {
    [2, 0xaa, 0, 0, 0, n]
}

/// A frame between hosts.
fn frame(from: u8, to: u8) -> Vec<u8> {
    [&host(to)[..], &host(from), &[0x88, 0xb5], &[7; 46]].concat()
}

/// The nodes of layer-2 switching.
pub fn switching(w: &mut Walk) {
    for line in [
        "create packet-generator interface pg10",
        "create packet-generator interface pg11",
        "create packet-generator interface pg12",
        "set interface state pg10 up",
        "set interface state pg11 up",
        "set interface state pg12 up",
        "create loopback interface instance 70",
        "set interface state loop70 up",
        "create bridge-domain 5",
        "set interface l2 bridge pg10 5",
    ] {
        w.run(line);
    }
    let at = |w: &mut Walk, counter: &str, rx: &str, frames: &[Vec<u8>]| {
        w.at(counter, "ethernet-input", rx, frames, |_| {});
    };
    w.at("l2-input/L2 input drops", "l2-input", "pg2", &[frame(1, 2)], |_| {});
    at(w, "l2-input/L2 input packets", "pg10", &[frame(1, 2)]);
    at(w, "l2-flood/L2 replication complete", "pg10", &[frame(1, 2)]);
    w.run("set interface l2 bridge pg11 5");
    w.run("set interface l2 bridge loop70 5 bvi");
    at(w, "l2-flood/L2 flood packets", "pg10", &[frame(1, 2)]);
    at(w, "l2-flood/BVI L3 mac mismatch", "pg10", &[frame(1, 2)]);
    at(w, "l2-output/L2 output packets", "pg10", &[frame(1, 2)]);
    w.run("set interface l2 storm-control pg10 all packets-per-second 1");
    for (class, to) in [
        ("broadcast", [0xff; 6]),
        ("multicast", [1, 0, 0x5e, 0, 0, 9]),
        ("unknown unicast", host(2)),
    ] {
        let storm = vec![with(frame(1, 2), 0, &to); 20];
        at(w, &format!("l2-flood/{class} storm control drops"), "pg10", &storm);
    }
    w.run("set interface l2 storm-control pg10 all off");
    at(w, "l2-learn/L2 learn packets", "pg10", &[frame(1, 2)]);
    at(w, "l2-learn/L2 learn misses", "pg10", &[frame(3, 2)]);
    at(w, "l2-learn/L2 mac moves", "pg11", &[frame(3, 2)]);
    w.wait(10_000_000_000);
    at(w, "l2-learn/L2 learn hit updates", "pg11", &[frame(3, 2)]);
    at(w, "l2-fwd/L2 forward packets", "pg10", &[frame(1, 3)]);
    at(w, "l2-fwd/L2 forward hits", "pg10", &[frame(1, 3)]);
    at(w, "l2-fwd/Reflection Drop", "pg10", &[frame(4, 9), frame(1, 4)]);
    w.run("l2fib add 02:aa:00:00:00:07 5 filter");
    at(w, "l2-fwd/Filter Mac Drop", "pg10", &[frame(1, 7)]);
    at(w, "l2-learn/L2 filter mac drops", "pg10", &[frame(7, 1)]);
    w.run("l2fib add 02:aa:00:00:00:08 5 pg11 static");
    at(w, "l2-learn/L2 mac move violations", "pg10", &[frame(8, 1)]);
    w.run("l2fib add 02:aa:00:00:00:09 5 loop70 bvi");
    at(w, "l2-fwd/BVI L3 MAC mismatch", "pg10", &[frame(1, 9)]);
    w.run("set bridge-domain learn-limit 5 1");
    at(w, "l2-learn/L2 not learned due to limit", "pg10", &[frame(20, 1)]);
    w.run("set bridge-domain uu-flood 5 disable");
    at(w, "l2-fwd/L2 forward misses", "pg10", &[frame(1, 77)]);
    w.run("set interface l2 bridge pg12 5 uu-fwd");
    at(w, "l2-uu-fwd/L2 UU fwd", "pg10", &[frame(1, 77)]);
    w.run("set interface l2 bridge pg10 5 3");
    w.run("set interface l2 bridge pg11 5 3");
    at(w, "l2-output/L2 split horizon drops", "pg10", &[frame(1, 8)]);
    w.run("set interface l3 pg11");
    at(
        w,
        "l2-output-bad-intf/L2 output to interface not in L2 mode or deleted",
        "pg10",
        &[frame(1, 8)],
    );
    w.run("set interface l2 bridge pg11 0");
    at(w, "feature-bitmap-drop/L2 feature forwarding disabled", "pg11", &[frame(1, 2)]);
    w.run("set interface l2 xconnect pg11 pg0");
    at(w, "l2-output/L2 Output interface not valid", "pg11", &[frame(1, 2)]);
}

/// ARP and ND termination.
pub fn termination(w: &mut Walk) {
    for line in [
        "create packet-generator interface pg10",
        "set interface state pg10 up",
        "set interface l2 bridge pg10 5",
        "set bridge-domain arp term 5",
        "set bridge-domain arp entry 5 10.0.0.1 02:aa:00:00:00:99",
        "set bridge-domain arp entry 5 2001:db8::1 02:aa:00:00:00:99",
    ] {
        w.run(line);
    }
    let ask = pkt::arp_request(HOST, "10.0.0.2", "10.0.0.1").build();
    let reply = with(pkt::arp_reply(HOST, "10.0.0.2", ROUTER, "10.0.0.1").build(), 0, &[0xff; 6]);
    let group = pkt::ether(HOST, "33:33:ff:00:00:01").ip6("2001:db8::2", "ff02::1:ff00:1").ttl(255);
    let target = "2001:db8::1".parse::<std::net::Ipv6Addr>().expect("an address").octets();
    let question = [&target[..], &[1, 1, 2, 0xaa, 0, 0, 0, 1]].concat();
    let solicit =
        group.icmp6(wire::Icmp6Type::NEIGHBOR_SOLICITATION, 0, 0).payload(question).build();
    for (counter, frame) in [
        ("ARP replies sent", ask.clone()),
        ("advertisements", solicit),
        ("ARP replies received", reply),
        ("too_short", ask[..30].to_vec()),
        ("L2 type not ethernet", with(ask.clone(), 14, &[0, 6])),
        ("L3 type not IP4", with(ask.clone(), 16, &[8, 6])),
        ("ARP opcode not request", with(ask.clone(), 20, &[0, 9])),
        ("ARP hw addr does not match L2 frame src addr", with(ask.clone(), 6, &host(9))),
        ("IP4 source address not local to subnet", with(ask.clone(), 28, &[224, 0, 0, 1])),
        ("ARP probe or announcement dropped", with(with(ask.clone(), 28, &[0; 4]), 38, &[0; 4])),
    ] {
        w.at(&format!("arp-term-l2bd/{counter}"), "ethernet-input", "pg10", &[frame], |_| {});
    }
}
