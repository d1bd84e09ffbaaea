// SPDX-License-Identifier: Apache-2.0
use crate::PLUGIN;
use crate::api::*;
use graph::Plugin;
use net::Interfaces;
use net::api::{Address, InterfaceIndex};
use net::drive::{Rig, peer_mac, port_mac};
use std::net::IpAddr;
use testkit::mutate::Mutator;
use testkit::pkt;
use wire::{MacAddr, TcpFlags};

static PLUGINS: &[&Plugin] = &[
    &interface::PLUGIN,
    &ethernet::PLUGIN,
    &fib::PLUGIN,
    &ip::PLUGIN,
    &super_path::PLUGIN,
    &icmp::PLUGIN,
    &punt::PLUGIN,
    &PLUGIN,
];

const FROM: MacAddr = MacAddr([0, 0, 0, 0, 0, 1]);
const TO: MacAddr = MacAddr([0, 0, 0, 0, 0, 2]);

fn rig() -> Rig {
    let mut rig = Rig::new(PLUGINS, 3);
    rig.networks();
    rig
}

/// To the router's own address, as received, and as sent to the host.
fn packets(v6: bool, sent: bool) -> Vec<Vec<u8>> {
    let ether = || match sent {
        false => pkt::ether(peer_mac(0), port_mac(0)),
        true => pkt::ether(FROM, TO),
    };
    let ip = || match v6 {
        false => ether().ip4("10.0.0.2", "10.0.0.1"),
        true => ether().ip6("2001:db8:0::2", "2001:db8:0::1"),
    };
    vec![
        ip().udp(1000, 4321).payload_len(50).build(),
        ip().tcp(1000, 80).segment(TcpFlags::SYN, 1, 0).payload_len(3).build(),
    ]
}

#[suite::test]
fn packets_that_nothing_takes_leave_by_the_interface() {
    for (v6, address) in [(false, "10.0.0.1"), (true, "2001:db8::1")] {
        let mut rig = rig();
        rig.cli(&format!("stn rule address {address} interface p2"));
        let node = if v6 { "stn-ip6-punt" } else { "stn-ip4-punt" };
        for (came, want) in packets(v6, false).into_iter().zip(packets(v6, true)) {
            assert_eq!(rig.pass(0, &came), [(2, want)], "{address}");
        }
        assert_eq!(rig.count(node, "no error"), 2);
        // Pings are answered here.
        let ether = pkt::ether(peer_mac(0), port_mac(0));
        let ping = match v6 {
            false => ether.ip4("10.0.0.2", "10.0.0.1").icmp_echo(1, 1),
            true => ether.ip6("2001:db8:0::2", "2001:db8:0::1").icmp6_echo(1, 1),
        };
        let sent = rig.pass(0, &ping.payload_len(8).build());
        assert!(matches!(&sent[..], [(0, _)]), "{sent:?}");
        // Another address of the router, and the other protocol, have no rule.
        let other = match v6 {
            false => pkt::ether(peer_mac(0), port_mac(0)).ip4("10.0.0.2", "10.0.1.1"),
            true => pkt::ether(peer_mac(0), port_mac(0)).ip6("2001:db8:0::2", "2001:db8:1::1"),
        };
        assert_eq!(rig.pass(0, &other.udp(1, 2).payload_len(5).build()), []);
        assert_eq!(rig.pass(0, &packets(!v6, false)[0]), []);
        // Another interface, also for packets that a new port receives.
        rig.cli(&format!("stn rule address {address} interface p1"));
        rig.delete_port(0);
        rig.add_port(0);
        rig.networks_of_new_port(v6);
        for (came, want) in packets(v6, false).into_iter().zip(packets(v6, true)) {
            assert_eq!(rig.pass(0, &came), [(1, want)], "{address}");
        }
        rig.cli(&format!("stn rule address {address} interface p1 del"));
        assert_eq!(rig.pass(0, &packets(v6, false)[0]), [], "punted without a taker");
    }
}

/// Gives port 0 its address again.
trait Again {
    fn networks_of_new_port(&mut self, v6: bool);
}

impl Again for Rig {
    fn networks_of_new_port(&mut self, v6: bool) {
        let address = if v6 { "2001:db8:0::1/64" } else { "10.0.0.1/24" };
        self.cli(&format!("set interface ip address p0 {address}"));
    }
}

#[suite::test]
fn mutated_packets_leave_or_are_dropped() {
    let mut rig = rig();
    for address in ["10.0.0.1", "2001:db8::1"] {
        rig.cli(&format!("stn rule address {address} interface p2"));
    }
    let mut mutator = Mutator::new(24);
    for n in 0..3000 {
        let v6 = n % 2 == 1;
        let mut packet = packets(v6, false)[n / 2 % 2][14..].to_vec();
        let _ = mutator.mutate(&mut packet);
        let node = if v6 { "ip6-punt" } else { "ip4-punt" };
        let rx_if = rig.ports[0].0;
        rig.bench.send(node, &packet, |b| b.rx_if = rx_if);
        rig.bench.settle();
        let ethertype: [u8; 2] = if v6 { [0x86, 0xdd] } else { [8, 0] };
        let frame = [&TO.0[..], &FROM.0, &ethertype, &packet].concat();
        let sent = rig.sent();
        assert!(sent.is_empty() || sent == [(2, frame)], "{sent:?}");
    }
    assert!(rig.count("stn-ip4-punt", "no error") > 1000);
}

#[suite::test]
fn commands_show_and_refuse() {
    let mut rig = rig();
    rig.cli("stn rule address 10.0.0.1 interface p2");
    rig.cli("stn rule address 2001:db8::1 interface p1");
    let shown = rig.cli("show stn rules");
    let lines: Vec<_> = shown.lines().map(|line| line.trim_start_matches(['-', ' '])).collect();
    let index = rig.ports[2];
    assert_eq!(lines[..3], ["rule_index: 0", "address: 10.0.0.1", &format!("iface: p2 ({index})")]);
    assert!(lines[3].starts_with("next_node: p2-output ("), "{shown}");
    assert_eq!(lines[4..6], ["rule_index: 1", "address: 2001:db8::1"]);
    assert!(rig.cli("show stn rules -j").contains("p2-output"));
    for (line, want, code) in [
        ("stn rule address 10.0.0.1 interface p9", "p9", -2),
        ("stn rule address 224.0.0.1 interface p1", "one host", -7),
        ("stn rule address 10.0.0.7 interface p1 del", "10.0.0.7", -6),
    ] {
        let (retval, error) = rig.refused(line);
        assert!(error.contains(want) && retval == code, "{line}: {retval} {error}");
    }
    assert_eq!(rig.cli("show stn rules"), shown, "what is refused changes nothing");
    rig.delete_port(2);
    let left = rig.cli("show stn rules");
    assert!(left.contains("rule_index: 1") && !left.contains("10.0.0.1"), "{left}");
    rig.cli("stn rule address 10.0.0.5 interface p1");
    assert!(rig.cli("show stn rules").contains("rule_index: 0"));
}

#[suite::test]
fn messages_add_delete_and_dump() {
    let rig = rig();
    let mut client = rig.bench.api();
    let [a, b] = [0, 1].map(|i: usize| InterfaceIndex::from(rig.ports[i]));
    let address = |text: &str| Address::from(text.parse::<IpAddr>().expect("an address"));
    let rule = |text, sw_if_index, is_add| StnAddDelRule {
        ip_address: address(text),
        sw_if_index,
        is_add,
    };
    assert_eq!(client.call(rule("10.0.0.1", InterfaceIndex(99), true)), Err(-2));
    assert_eq!(client.call(rule("10.0.0.1", a, true)), Ok(()));
    assert_eq!(client.call(rule("2001:db8::1", b, true)), Ok(()));
    let details = |text, sw_if_index| StnRulesDetails { ip_address: address(text), sw_if_index };
    let all = client.dump(StnRulesDump {});
    assert_eq!(all, [details("10.0.0.1", a), details("2001:db8::1", b)]);
    assert_eq!(client.call(rule("10.0.0.1", a, false)), Ok(()));
    assert_eq!(client.call(rule("10.0.0.1", a, false)), Err(-6));
    assert_eq!(client.dump(StnRulesDump {}), [details("2001:db8::1", b)]);
    let world = rig.world();
    world.get::<Interfaces>().delete(&world, rig.ports[1]).expect("deleted");
    assert_eq!(client.dump(StnRulesDump {}), []);
}
