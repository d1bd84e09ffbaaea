// SPDX-License-Identifier: Apache-2.0
//! Data units that are wrong, markers, and what isn't LACP.

use super::*;
use crate::control::Ports;
use crate::machine::Rx;

/// A bond of ports 0 and 1, up; port 2 is none of its members.
pub fn rig() -> Rig {
    let mut rig = Rig::new(PLUGINS, 3);
    for line in [
        "create bond mode lacp",
        "bond add BondEthernet0 p0",
        "bond add BondEthernet0 p1",
        "set interface state BondEthernet0 up",
    ] {
        rig.cli(line);
    }
    rig.sent();
    rig
}

pub fn unit(actor: Participant) -> Vec<u8> {
    pdu::frame(PEER, &Pdu { actor, partner: Participant::default() })
}

pub fn marker() -> Vec<u8> {
    let mut marker =
        [&pdu::GROUP.octets()[..], &PEER.octets(), &[0x88, 9, 2, 1, 1, 16, 0, 9]].concat();
    marker.extend([2, 0xbb, 0, 0, 0, 1, 0xde, 0xad, 0xbe, 0xef, 0, 0, 0, 0]);
    marker.resize(124, 0);
    marker
}

/// The answer to a marker from the bond's system.
pub fn answer(marker: &[u8]) -> Vec<u8> {
    let mut answer = [&pdu::GROUP.octets()[..], &port_mac(0).octets(), &marker[12..]].concat();
    answer[16] = 2;
    answer
}

fn with(mut frame: Vec<u8>, at: usize, byte: u8) -> Vec<u8> {
    frame[at] = byte;
    frame
}

#[suite::test]
fn each_kind_of_wrong_data_unit_has_a_name() {
    let mut rig = rig();
    let good = unit(peer(1, 0x47));
    let own = Participant { system: port_mac(0), ..peer(1, 7) };
    let answer = with(with(with(good.clone(), 14, 2), 16, 2), 17, 16);
    for (port, frame, counter) in [
        (2, good.clone(), "lacp packets received on disabled interfaces"),
        (0, good[..123].to_vec(), "bad lacp packets -- packet too small"),
        (0, with(good.clone(), 17, 21), "bad lacp packets -- bad TLV length"),
        (0, with(good.clone(), 14, 3), "unsupported slow protocol packets"),
        (0, answer, "unsupported slow protocol packets"),
        (0, unit(own), "loopback port"),
        (0, good.clone(), "good lacp packets -- consumed"),
        (1, unit(Participant { key: 99, ..peer(2, 0x47) }), "Bad key"),
    ] {
        let before = rig.count("lacp-input", counter);
        rig.receive_all(port, &[frame]);
        assert_eq!(rig.count("lacp-input", counter), before + 1, "{counter}");
    }
    let ports = rig.world().get::<Ports>().list();
    assert_eq!((ports[0].port.selected, ports[1].port.selected), (true, false));
    assert_eq!(rig.count("lacp-input", "good lacp packets -- consumed"), 2);
    // Data units of a member that is down are ignored.
    rig.cli("set interface state p0 down");
    rig.receive_all(0, &[good]);
    assert_eq!(rig.world().get::<Ports>().list()[0].port.rx, Rx::PortDisabled);
}

/// A member that receives much loses its own data units, and no other member's.
#[suite::test]
fn a_flood_of_data_units_is_bounded() {
    let mut rig = rig();
    let sw_if = rig.ports[0].0;
    let all = vec![unit(peer(1, 0x47))[14..].to_vec(); 50];
    let lost = rig.bench.node("lacp-input", &all, |b| b.rx_if = sw_if);
    assert_eq!(lost.len(), 42);
    assert_eq!(rig.count("lacp-input", "busy"), 42);
    rig.receive_all(1, &[unit(peer(2, 0x47))]);
    assert!(rig.world().get::<Ports>().list().iter().all(|status| status.port.rx == Rx::Current));
}

/// IEEE 802.1AX-2014 6.5.4: the same data unit with another type, from this port's address.
#[suite::test]
fn markers_are_answered() {
    let mut rig = rig();
    let marker = marker();
    let want = answer(&marker);
    // From the member that it came by, with the bond's address.
    assert_eq!(rig.pass(1, &marker), [(1, want.clone())]);
    assert_eq!(rig.pass(0, &marker), [(0, want)]);
    assert_eq!(rig.count("lacp-input", "marker"), 2);
    assert_eq!(rig.pass(2, &marker), [], "not where LACP is disabled");
}

#[suite::test]
fn commands_say_what_is_wrong() {
    let mut rig = rig();
    assert_eq!(rig.refused("debug lacp p2 on").0, -71);
    rig.cli("debug lacp p0 on");
    rig.cli("debug lacp p0 off");
    assert_eq!(rig.refused("show lacp p9").0, -2);
    let json: serde_json::Value =
        serde_json::from_str(&rig.cli("show lacp p0 details -j")).expect("JSON");
    assert_eq!(
        json[0]["actor"]["state_bits"],
        serde_json::json!(["exp", "def", "agg", "tim", "act"])
    );
}

#[suite::test]
fn traces_show_both_ends_and_markers() {
    let mut rig = rig();
    rig.bench.rt.trace().order(graph::NodeIndex(999), 2, graph::TraceLog::room(32), 0);
    let port = rig.ports[0];
    for (id, frame) in [(7, unit(peer(3, 0x47))), (8, marker())] {
        rig.bench.arrive_as(port, &frame, |b| graph::drive::Bench::trace(b, id));
        rig.bench.settle();
    }
    let text =
        rig.bench.rt.trace().records().map(|record| record.to_string() + "\n").collect::<String>();
    for part in [
        "Actor Information TLV: system 02:bb:00:00:00:01 priority 32768, key 17, port 3 priority 128, state 0x47",
        "Marker Information TLV:",
    ] {
        assert!(text.contains(part), "no {part} in {text}");
    }
}
