// SPDX-License-Identifier: Apache-2.0
//! Two bonds of one instance, port to port: 0 to 2 and 1 to 3.

use super::*;
use crate::api::*;
use graph::SwIfIndex;
use net::Interfaces;
use net::api::MacAddress;
use stats::{Reader, Value};
use testkit::pkt;

/// The port at the other end of a link.
fn other_end(port: usize) -> usize {
    [2, 3, 0, 1][port]
}

struct Pair {
    rig: Rig,
    /// Links that are cut without a sign of it.
    cut: Vec<usize>,
    /// Frames that aren't LACP, by the port that sent them.
    traffic: Vec<(usize, Vec<u8>)>,
}

impl Pair {
    /// `BondEthernet0` of ports 0 and 1 with 10.0.0.1/24 in its table, `BondEthernet1` of ports 2
    /// and 3 in table 7.
    fn new(words: [&str; 2]) -> Self {
        let mut rig = Rig::new(PLUGINS, 4);
        for (bond, words) in words.iter().enumerate() {
            rig.cli("create bond mode lacp load-balance l34");
            for port in [2 * bond, 2 * bond + 1] {
                rig.cli(&format!("bond add BondEthernet{bond} p{port} {words}"));
            }
            rig.cli(&format!("set interface state BondEthernet{bond} up"));
        }
        Self { rig, cut: Vec::new(), traffic: Vec::new() }
    }

    /// Carries frames over the links until none is left.
    fn carry(&mut self) {
        for _ in 0..50 {
            let sent = self.rig.sent();
            if sent.is_empty() {
                return;
            }
            for (port, bytes) in sent {
                let to = other_end(port);
                if bytes[12..14] != [0x88, 9] {
                    self.traffic.push((port, bytes.clone()));
                }
                if !self.cut.contains(&port) && !self.cut.contains(&to) {
                    self.rig.receive_all(to, &[bytes]);
                }
            }
        }
        panic!("frames go in a circle");
    }

    fn seconds(&mut self, n: u64) {
        for _ in 0..4 * n {
            self.rig.bench.world.clock.adjust(SECOND / 4);
            self.rig.bench.settle();
            self.carry();
        }
    }

    /// The states of this end, by port.
    fn states(&self) -> Vec<u8> {
        self.rig.bench.api().dump(SwInterfaceLacpDump {}).iter().map(|d| d.actor_state).collect()
    }

    fn active(&self) -> [usize; 2] {
        let bonds = self.rig.world().get::<bond::Bonds>().list();
        [bonds[0].active.len(), bonds[1].active.len()]
    }

    fn is_up(&self, name: &str) -> bool {
        let interfaces = self.rig.world().get::<Interfaces>();
        interfaces.get(interfaces.find(name).expect("there")).expect("there").link_up
    }

    fn gauges(&self) -> Vec<(String, u64)> {
        let reader = Reader::new(&self.rig.bench.world.stats).expect("a segment");
        let all = reader.read(|name| name.starts_with("/if/lacp/")).expect("read");
        let value = |value| match value {
            Value::Gauge(n) => n,
            other => panic!("{other:?}"),
        };
        all.into_iter().map(|stat| (stat.name, value(stat.value))).collect()
    }
}

#[suite::test]
fn two_bonds_come_up_and_survive_a_link() {
    let mut pair = Pair::new(["", ""]);
    assert!(!pair.is_up("BondEthernet0"));
    assert_eq!(pair.active(), [0, 0], "not before the partner agrees");
    pair.seconds(4);
    assert_eq!((pair.states(), pair.active()), (vec![0x3f; 4], [2, 2]));
    assert!(pair.is_up("BondEthernet0") && pair.is_up("BondEthernet1"));

    // A dump, byte by byte.
    let dump = pair.rig.bench.api().dump(SwInterfaceLacpDump {});
    let [bond0, bond1] = [0, 1].map(|n| {
        pair.rig.world().get::<Interfaces>().find(&format!("BondEthernet{n}")).expect("there")
    });
    let want = SwInterfaceLacpDetails {
        sw_if_index: pair.rig.ports[1].into(),
        interface_name: "p1".into(),
        rx_state: 5,
        tx_state: 0,
        mux_state: 3,
        ptx_state: 1,
        bond_interface_name: "BondEthernet0".into(),
        actor_system_priority: 0xffff,
        actor_system: MacAddress::from(port_mac(0)),
        actor_key: bond0.0 as u16,
        actor_port_priority: 0xff,
        actor_port_number: 2,
        actor_state: 0x3f,
        partner_system_priority: 0xffff,
        partner_system: MacAddress::from(port_mac(2)),
        partner_key: bond1.0 as u16,
        partner_port_priority: 0xff,
        partner_port_number: 2,
        partner_state: 0x3f,
    };
    assert_eq!(dump[1], want);
    let gauge = |bond: SwIfIndex, port: usize, what: &str| {
        (format!("/if/lacp/{}/{}/{what}", bond.0, pair.rig.ports[port].0), 0x3f)
    };
    let mut gauges = pair.gauges();
    gauges.sort();
    let mut all: Vec<_> = [(bond0, 0), (bond0, 1), (bond1, 2), (bond1, 3)]
        .into_iter()
        .flat_map(|(bond, port)| ["state", "partner-state"].map(|what| gauge(bond, port, what)))
        .collect();
    all.sort();
    assert_eq!(gauges, all);
    let shown = pair.rig.cli("show lacp p1");
    let bits = "  0   0   1   1   1   1   1   1";
    assert!(
        shown.lines().any(|line| line.starts_with("p1 ")
            && line.contains("BondEthernet0")
            && line.matches(bits).count() == 2),
        "{shown}"
    );
    assert!(shown.contains("  LAG ID: [(ffff,02-fe-00-00-00-00,"), "{shown}");
    assert!(shown.contains("  RX-state: CURRENT, TX-state: TRANSMIT, MUX-state: COLLECTING_DISTRIBUTING, PTX-state: FAST_PERIODIC\n"), "{shown}");
    assert!(!shown.contains("p0 "), "{shown}");
    let json: serde_json::Value =
        serde_json::from_str(&pair.rig.cli("show lacp -j")).expect("JSON");
    assert_eq!(
        (json.as_array().map(Vec::len), &json[2]["mux_state"]),
        (Some(4), &"COLLECTING_DISTRIBUTING".into())
    );

    // A link goes down at one end: the other end notices within the time out, and both use the
    // other link.
    pair.rig.cli("set interface state p0 down");
    assert_eq!(pair.active(), [1, 2], "at once");
    pair.cut = vec![0];
    pair.seconds(4);
    assert_eq!(pair.active(), [1, 1]);
    assert!(pair.is_up("BondEthernet0") && pair.is_up("BondEthernet1"));
    pair.rig.cli("set interface state p0 up");
    pair.cut.clear();
    pair.seconds(4);
    assert_eq!((pair.states(), pair.active()), (vec![0x3f; 4], [2, 2]), "and back");
    // A link that loses all frames and stays up.
    pair.cut = vec![1];
    pair.seconds(4);
    assert_eq!(pair.active(), [1, 1]);
    pair.cut.clear();
    pair.seconds(5);
    assert_eq!(pair.active(), [2, 2]);

    // The partner of a bond that is taken down learns of it.
    pair.rig.cli("set interface state BondEthernet1 down");
    pair.seconds(4);
    assert_eq!(pair.active(), [0, 0]);
    pair.rig.cli("set interface state BondEthernet1 up");
    pair.seconds(5);
    assert_eq!(pair.active(), [2, 2]);

    pair.rig.cli("bond del p0");
    assert_eq!(pair.gauges().len(), 6, "gone with the membership");
    pair.rig.delete_port(1);
    assert_eq!(pair.gauges().len(), 4);
    pair.rig.cli("delete bond BondEthernet0");
    pair.rig.cli("delete bond BondEthernet1");
    assert_eq!(pair.gauges(), []);
    pair.rig.seconds(40);
    assert_eq!(pair.rig.sent(), [], "nothing is sent any more");
    assert_eq!(pair.rig.cli("show lacp").lines().count(), 2);
}

#[suite::test]
fn traffic_passes_both_ways() {
    let mut pair = Pair::new(["", ""]);
    for line in [
        "ip table add 7",
        "set interface ip table BondEthernet1 7",
        "set interface ip address BondEthernet0 10.0.0.1/24",
        "set interface ip address BondEthernet1 10.0.0.2/24",
    ] {
        pair.rig.cli(line);
    }
    pair.seconds(4);
    pair.traffic.clear();
    // A host behind the first bond pings the second one: both answer each other's ARP.
    let flows: Vec<_> = (0..32)
        .map(|n| {
            let packet = pkt::ether(port_mac(2), port_mac(0)).ip4("10.0.0.2", "10.0.0.1").ttl(64);
            packet.icmp_echo(n, 1).payload(n.to_be_bytes().repeat(10)).build()
        })
        .collect();
    pair.rig.receive_all(0, &flows);
    pair.carry();
    pair.seconds(1);
    pair.rig.receive_all(0, &flows);
    pair.carry();
    let replies: Vec<_> =
        pair.traffic.iter().filter(|(_, b)| b[12..14] == [8, 0] && b[34] == 0).collect();
    let mut answered = std::collections::BTreeSet::new();
    for (port, reply) in &replies {
        let number = u16::from_be_bytes([reply[38], reply[39]]);
        assert_eq!(reply[42..], number.to_be_bytes().repeat(10), "the payload of the request");
        answered.insert(number);
        assert!(*port < 2);
        assert_eq!(
            (&reply[..6], &reply[6..12]),
            (&port_mac(2).octets()[..], &port_mac(0).octets()[..])
        );
        assert_eq!((&reply[26..30], &reply[30..34]), (&[10, 0, 0, 1][..], &[10, 0, 0, 2][..]));
    }
    assert_eq!(answered, (0..32).collect());
    let asked = pair.traffic.iter().filter(|(port, b)| *port < 2 && b[12..14] == [8, 6]).count();
    let told = pair.traffic.iter().filter(|(port, b)| *port >= 2 && b[12..14] == [8, 6]).count();
    assert!(asked > 0 && told > 0, "{:?}", pair.traffic);
}

#[suite::test]
fn passive_ends_and_long_timeouts() {
    for (words, states, is_up) in [
        (["passive", ""], [0x3e, 0x3e, 0x3f, 0x3f], true),
        (["long-timeout", "long-timeout passive"], [0x3d, 0x3d, 0x3c, 0x3c], true),
        (["passive", "passive"], [0x46; 4], false),
    ] {
        let mut pair = Pair::new(words);
        pair.seconds(40);
        assert_eq!(pair.states(), states, "{words:?}");
        assert_eq!(pair.active(), if is_up { [2, 2] } else { [0, 0] }, "{words:?}");
        pair.seconds(120);
        assert_eq!(pair.states(), states, "{words:?}: it lasts");
    }
}

/// The bond's own address is the system. A new one is agreed on again.
#[suite::test]
fn a_new_address_of_a_bond_is_its_new_system() {
    let mut pair = Pair::new(["", ""]);
    pair.seconds(4);
    pair.rig.cli("set interface mac address BondEthernet0 02:00:00:00:00:77");
    pair.seconds(6);
    assert_eq!(pair.active(), [2, 2]);
    let dump = pair.rig.bench.api().dump(SwInterfaceLacpDump {});
    assert!(dump[2..].iter().all(|d| d.partner_system.0 == [2, 0, 0, 0, 0, 0x77]));
}
