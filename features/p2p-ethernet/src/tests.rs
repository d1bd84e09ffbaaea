// SPDX-License-Identifier: Apache-2.0
use crate::PLUGIN;
use crate::api::*;
use graph::{Plugin, SwIfIndex};
use net::api::{InterfaceIndex, MacAddress};
use net::drive::{Rig, peer_mac, port_mac};
use net::{Adjacencies, Interfaces, Neighbors};
use std::collections::BTreeMap;
use testkit::mutate::Mutator;
use testkit::pkt::{self, Packet};
use wire::MacAddr;

static PLUGINS: &[&Plugin] = &[
    &interface::PLUGIN,
    &ethernet::PLUGIN,
    &fib::PLUGIN,
    &ip::PLUGIN,
    &super_path::PLUGIN,
    &icmp::PLUGIN,
    &ip_neighbor::PLUGIN,
    &arp::PLUGIN,
    &l2::PLUGIN,
    &PLUGIN,
    &trace::PLUGIN,
];

const NODE: &str = "p2p-ethernet-input";
const PROCESSED: &str = "P2P ethernet incoming packets processed";

fn client(n: usize) -> MacAddr {
    MacAddr([2, 0xaa, 0, 0, (n >> 8) as u8, n as u8])
}

fn find(rig: &Rig, name: &str) -> SwIfIndex {
    rig.bench.world.get::<Interfaces>().find(name).expect(name)
}

/// Port 0 with two clients, each in 192.0.2.N/32 behind a route, and ports with networks.
fn rig(ports: usize) -> Rig {
    let mut rig = Rig::new(PLUGINS, ports);
    rig.networks();
    for n in 1..=2 {
        rig.cli(&format!("p2p_ethernet p0 {} sub-id {n}", client(n)));
        rig.cli(&format!("set interface state p0.{n} up"));
        rig.cli(&format!("set interface unnumbered p0.{n} use p0"));
        rig.cli(&format!("ip route add 192.0.2.{n}/32 via p0.{n}"));
        rig.cli(&format!("ip route add 2001:db8:ff::{n}/128 via p0.{n}"));
    }
    rig
}

fn packet(ether: Packet, v6: bool, src: &str, dst: &str, ttl: u8) -> Vec<u8> {
    let ip = if v6 { ether.ip6(src, dst) } else { ether.ip4(src, dst) };
    ip.ttl(ttl).udp(5, 6).payload_len(60).build()
}

/// Clients' packets come in by their sub-interface, with its table; others by the port.
#[suite::test]
fn the_source_address_chooses_the_interface() {
    let mut rig = rig(3);
    rig.cli("ip table add 7");
    rig.cli("set interface ip table p0.2 7");
    rig.cli("set interface ip address p0.2 198.51.100.1/32");
    rig.cli("ip route add 10.0.1.0/24 table 7 via 10.0.2.2 p2");
    let from = |mac| pkt::ether(mac, port_mac(0));
    let out = |i: usize| pkt::ether(port_mac(i), peer_mac(i));
    for state in ["on", "off"] {
        rig.cli(&format!("set super-path {state}"));
        for (mac, to) in [(client(1), 1), (client(2), 2), (client(3), 1), (peer_mac(0), 1)] {
            let came = packet(from(mac), false, "192.0.2.1", "10.0.1.2", 64);
            let want = packet(out(to), false, "192.0.2.1", "10.0.1.2", 63);
            assert_eq!(rig.pass(0, &came), [(to, want)], "{mac} {state}");
        }
    }
    assert_eq!(rig.count(NODE, PROCESSED), 4);
    assert_eq!(rig.packets(find(&rig, "p0.1")), (2, 0));
    assert_eq!(rig.packets(find(&rig, "p0.2")), (2, 0));
    // Down, it receives nothing, and its client isn't the port's.
    rig.cli("set interface state p0.1 down");
    let came = packet(from(client(1)), false, "192.0.2.1", "10.0.1.2", 64);
    assert_eq!(rig.pass(0, &came), []);
    // Not known on another port.
    let came = packet(pkt::ether(client(2), port_mac(1)), false, "192.0.2.1", "10.0.2.2", 64);
    let want = packet(out(2), false, "192.0.2.1", "10.0.2.2", 63);
    assert_eq!(rig.pass(1, &came), [(2, want)]);
}

/// Nobody is asked for a client's address.
#[suite::test]
fn packets_go_to_the_client() {
    let mut rig = rig(2);
    for state in ["on", "off"] {
        rig.cli(&format!("set super-path {state}"));
        for n in 1..=2 {
            for v6 in [false, true] {
                let (src, dst) = match v6 {
                    false => ("10.0.1.2", format!("192.0.2.{n}")),
                    true => ("2001:db8:1::2", format!("2001:db8:ff::{n}")),
                };
                let came = packet(pkt::ether(peer_mac(1), port_mac(1)), v6, src, &dst, 64);
                let want = packet(pkt::ether(port_mac(0), client(n)), v6, src, &dst, 63);
                assert_eq!(rig.pass(1, &came), [(0, want)], "{dst} {state}");
            }
        }
    }
    assert_eq!(rig.packets(find(&rig, "p0.1")), (0, 4));
    // A next hop on the sub-interface, and a connected network.
    rig.cli("ip route add 203.0.113.0/25 via 192.0.2.77 p0.1");
    rig.cli("set interface unnumbered del p0.1");
    rig.cli("set interface ip address p0.1 203.0.113.129/25");
    let world = rig.world();
    for dst in ["203.0.113.5", "203.0.113.200"] {
        let came = packet(pkt::ether(peer_mac(1), port_mac(1)), false, "10.0.1.2", dst, 64);
        let want = packet(pkt::ether(port_mac(0), client(1)), false, "10.0.1.2", dst, 63);
        assert_eq!(rig.pass(1, &came), [(0, want)], "{dst}");
    }
    let sub = find(&rig, "p0.1");
    let hop = "203.0.113.200".parse().expect("an address");
    assert_eq!(world.get::<Adjacencies>().find_neighbor(sub, hop), None, "all share one");
    // The port's new address.
    let mac = MacAddr([2, 1, 1, 1, 1, 1]);
    rig.cli(&format!("set interface mac address p0 {mac}"));
    let came = packet(pkt::ether(peer_mac(1), port_mac(1)), false, "10.0.1.2", "192.0.2.2", 64);
    let want = packet(pkt::ether(mac, client(2)), false, "10.0.1.2", "192.0.2.2", 63);
    assert_eq!(rig.pass(1, &came), [(0, want)]);
}

/// A client asks for its gateway, and is answered on its sub-interface.
#[suite::test]
fn a_client_resolves_its_gateway() {
    let mut rig = rig(1);
    let ask = pkt::arp_request(client(1), "192.0.2.1", "10.0.0.1").build();
    let sent = rig.pass(0, &ask);
    let want = pkt::arp_reply(port_mac(0), "10.0.0.1", client(1), "192.0.2.1").build();
    assert_eq!(sent, [(0, want)]);
    let world = rig.world();
    let known = world.get::<Neighbors>().get(find(&rig, "p0.1"), [192, 0, 2, 1].into());
    assert_eq!(known.map(|known| known.mac), Some(client(1)));
    let came = packet(pkt::ether(peer_mac(0), port_mac(0)), false, "10.0.0.2", "192.0.2.1", 64);
    let want = packet(pkt::ether(port_mac(0), client(1)), false, "10.0.0.2", "192.0.2.1", 63);
    assert!(rig.pass(0, &came).contains(&(0, want)));
}

/// Clients are ports of bridge domains, tags and other stations behind them included.
#[suite::test]
fn clients_are_switched() {
    let mut rig = Rig::new(PLUGINS, 2);
    rig.cli("create bridge-domain 9");
    rig.cli("set interface l2 bridge p1 9");
    for n in 1..=2 {
        rig.cli(&format!("p2p_ethernet p0 {} sub-id {n}", client(n)));
        rig.cli(&format!("set interface state p0.{n} up"));
        rig.cli(&format!("set interface l2 bridge p0.{n} 9"));
    }
    let other = MacAddr([2, 0xbb, 0, 0, 0, 9]);
    for (tag, len) in [(false, 60), (true, 64), (true, 1514)] {
        let frame = |src: MacAddr, dst: MacAddr| {
            let ether = pkt::ether(src, dst);
            let ether = if tag { ether.vlan(5) } else { ether };
            ether.ip4("10.0.0.2", "10.0.1.2").udp(1, 2).payload_len(len - 46).build()
        };
        let out = frame(client(1), other);
        let mut sent = rig.pass(0, &out);
        sent.dedup();
        assert!(sent.contains(&(1, out.clone())), "{sent:?}");
        let back = frame(other, client(1));
        assert_eq!(rig.pass(1, &back), [(0, back.clone())]);
        assert_eq!(rig.pass(0, &out), [(1, out)], "learned");
    }
    let before = rig.packets(find(&rig, "p0.1"));
    assert_eq!(before, (6, 3));
}

/// As many as clients ask for: each frame finds its own.
#[suite::test]
fn many_clients_are_told_apart() {
    const MANY: usize = 3000;
    let mut rig = Rig::new(PLUGINS, 2);
    rig.networks();
    let mut client_of = BTreeMap::new();
    for n in 0..MANY {
        let name = rig.cli(&format!("p2p_ethernet p0 {} sub-id {n}", client(n)));
        client_of.insert(n, find(&rig, name.trim()));
    }
    assert_eq!(rig.cli("show p2p_ethernet").lines().count(), MANY + 1);
    let came: Vec<_> = (0..MANY + 100)
        .map(|n| packet(pkt::ether(client(n), port_mac(0)), false, "192.0.2.1", "10.0.1.2", 64))
        .collect();
    let sent = rig.pass_all(0, &came);
    assert_eq!(sent.len(), 100, "sub-interfaces are down, others' frames are the port's");
    assert!(client_of.values().all(|sub| rig.packets(*sub).0 == 1));
    for n in (0..MANY).step_by(2) {
        rig.cli(&format!("p2p_ethernet p0 {} del", client(n)));
    }
    let sent = rig.pass_all(0, &came);
    assert_eq!(sent.len(), 100 + MANY / 2);
    let left = client_of.iter().filter(|(n, _)| **n % 2 == 1);
    assert!(left.into_iter().all(|(_, sub)| rig.packets(*sub).0 == 2));
    let world = rig.world();
    rig.delete_port(0);
    assert_eq!(rig.cli("show p2p_ethernet").lines().count(), 1);
    assert_eq!(world.get::<Interfaces>().list().len(), 2, "local0 and p1");
}

#[suite::test]
fn mutated_frames_find_a_client_or_the_port() {
    let mut rig = rig(2);
    let mut mutator = Mutator::new(22);
    let base = packet(pkt::ether(client(1), port_mac(0)), false, "192.0.2.1", "10.0.1.2", 64);
    let (sub, port) = (find(&rig, "p0.1"), rig.ports[0]);
    let mut from_client = 0;
    for _ in 0..3000 {
        let mut frame = base.clone();
        let _ = mutator.mutate(&mut frame);
        from_client += u64::from(frame.get(6..12) == Some(&client(1).0[..]));
        rig.pass(0, &frame);
    }
    assert_eq!((rig.packets(sub).0, rig.count(NODE, PROCESSED)), (from_client, from_client));
    assert!(from_client > 2000 && rig.packets(port).0 <= 3000);
}

#[suite::test]
fn commands_show_and_refuse() {
    let mut rig = rig(2);
    let shown = "Interface  Parent  Client             State\n\
                 p0.1       p0      02:aa:00:00:00:01  up\n\
                 p0.2       p0      02:aa:00:00:00:02  up\n";
    assert_eq!(rig.cli("show p2p_ethernet"), shown);
    assert!(rig.cli("show p2p_ethernet -j").contains("02:aa:00:00:00:02"));
    assert!(rig.cli("show sub-interfaces").contains("peer 02:aa:00:00:00:01"));
    rig.cli("create sub-interfaces p1 5");
    for (line, want, code) in [
        ("p2p_ethernet p9 02:aa:00:00:00:09 sub-id 9", "p9", -2),
        ("p2p_ethernet p1.5 02:aa:00:00:00:09 sub-id 9", "p1.5", -2),
        ("p2p_ethernet local0 02:aa:00:00:00:09 sub-id 9", "local0", -2),
        ("p2p_ethernet p0 02:aa:00:00:00:01 sub-id 9", "p0.1", -68),
        ("p2p_ethernet p0 02:aa:00:00:00:09 sub-id 2", "p0.2", -10),
        ("p2p_ethernet p0 01:aa:00:00:00:09 sub-id 9", "one station", -7),
        ("p2p_ethernet p0 02:aa:00:00:00:09 del", "02:aa:00:00:00:09", -123),
        ("p2p_ethernet p1 02:aa:00:00:00:01 del", "02:aa:00:00:00:01", -123),
    ] {
        let (retval, error) = rig.refused(line);
        assert!(error.contains(want) && retval == code, "{line}: {retval} {error}");
    }
    assert_eq!(rig.cli("show p2p_ethernet"), shown, "what is refused changes nothing");
    rig.cli("p2p_ethernet p0 02:aa:00:00:00:02 del");
    rig.cli("delete sub-interface p0.1");
    assert_eq!(rig.cli("show p2p_ethernet").lines().count(), 1);
    assert!(!rig.cli("show interface features p0").contains(NODE));
}

#[suite::test]
fn messages_add_and_delete() {
    let rig = Rig::new(PLUGINS, 1);
    let mut api = rig.bench.api();
    let (p0, mac) = (InterfaceIndex::from(rig.ports[0]), MacAddress::from(client(1)));
    let add = |parent_if_index, subif_id, remote_mac| P2pEthernetAdd {
        parent_if_index,
        subif_id,
        remote_mac,
    };
    let del = |parent_if_index, remote_mac| P2pEthernetDel { parent_if_index, remote_mac };
    assert_eq!(api.call(add(InterfaceIndex(99), 1, mac)), Err(-2));
    let made = api.call(add(p0, 1, mac)).expect("made");
    assert_eq!(made.sw_if_index, find(&rig, "p0.1").into());
    assert_eq!(api.call(add(p0, 2, mac)), Err(-68));
    assert_eq!(api.call(add(p0, 1, client(2).into())), Err(-10));
    assert_eq!(api.call(add(made.sw_if_index, 1, client(2).into())), Err(-2));
    assert_eq!(api.call(del(InterfaceIndex(99), mac)), Err(-2));
    assert_eq!(api.call(del(p0, client(2).into())), Err(-123));
    assert_eq!(api.call(del(p0, mac)), Ok(()));
    assert_eq!(api.call(del(p0, mac)), Err(-123));
}

/// A trace from a node on shows packets that the super-path would take, and these leave as ever.
#[suite::test]
fn a_trace_begins_here_or_further_on() {
    let mut rig = rig(3);
    let came = packet(pkt::ether(client(1), port_mac(0)), false, "192.0.2.1", "10.0.1.2", 64);
    let want = packet(pkt::ether(port_mac(1), peer_mac(1)), false, "192.0.2.1", "10.0.1.2", 63);
    rig.cli("trace add p2p-ethernet-input 1");
    for _ in 0..2 {
        assert_eq!(rig.pass(0, &came), [(1, want.clone())]);
    }
    let trace = rig.cli("show trace");
    assert!(trace.contains("P2P ethernet: 02:aa:00:00:00:01 on sw_if_index 1 -> "), "{trace}");
    assert!(!trace.contains("Packet 2"), "{trace}");
    rig.cli("clear trace");
    let came = packet(pkt::ether(peer_mac(2), port_mac(2)), false, "10.0.2.2", "10.0.1.2", 64);
    let want = packet(pkt::ether(port_mac(1), peer_mac(1)), false, "10.0.2.2", "10.0.1.2", 63);
    rig.cli("set super-path on");
    assert_eq!(rig.pass(2, &came), [(1, want.clone())]);
    rig.cli("trace add ip4-lookup 1");
    for _ in 0..2 {
        assert_eq!(rig.pass(2, &came), [(1, want.clone())]);
    }
    let trace = rig.cli("show trace");
    assert!(trace.contains(": ip4-lookup\n") && !trace.contains("Packet 2"), "{trace}");
    assert!(!trace.contains(": ip4-input\n"), "{trace}");
}
