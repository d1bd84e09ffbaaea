// SPDX-License-Identifier: Apache-2.0
//! Messages.

use super::*;
use crate::api::*;
use net::api::InterfaceIndex;
use std::net::IpAddr;

fn request(address: &str, n: u8, session_id: u16) -> PppoeAddDelSession {
    PppoeAddDelSession {
        is_add: true,
        session_id,
        client_ip: address.parse::<IpAddr>().expect("an address").into(),
        decap_vrf_id: 0,
        client_mac: client(n).into(),
    }
}

#[suite::test]
fn sessions_are_made_listed_and_deleted() {
    let mut rig = rig(&[]);
    let four = request("100.64.0.1", 1, 7);
    let six = request("2001:db8:64::1", 1, 8);
    assert_eq!(rig.bench.api().call(four), Err(-2));
    // Seen by PPP's control protocol alone.
    rig.pass(0, &session_frame(client(1), port_mac(0), 7, LCP, &[1, 1, 0, 4]));
    let mut api = rig.bench.api();
    let first = api.call(four).expect("made").sw_if_index;
    let second = api.call(six).expect("made").sw_if_index;
    assert_eq!(api.call(four), Err(-75));
    for decap_vrf_id in [7, 8] {
        assert_eq!(api.call(PppoeAddDelSession { session_id: 9, decap_vrf_id, ..four }), Err(-4));
    }
    let details = |sw_if_index, r: PppoeAddDelSession| PppoeSessionDetails {
        sw_if_index,
        session_id: r.session_id,
        client_ip: r.client_ip,
        encap_if_index: rig.ports[0].into(),
        decap_vrf_id: 0,
        local_mac: port_mac(0).into(),
        client_mac: r.client_mac,
    };
    let dump = |sw_if_index| PppoeSessionDump { sw_if_index };
    let both = [details(first, four), details(second, six)];
    assert_eq!(api.dump(dump(InterfaceIndex::NONE)), both);
    assert_eq!(api.dump(dump(second)), both[1..]);
    assert_eq!(api.dump(dump(rig.ports[0].into())), []);
    for r in [four, six] {
        let del = PppoeAddDelSession { is_add: false, ..r };
        assert!(api.call(del).is_ok());
        assert_eq!(api.call(del), Err(-6));
    }
    assert_eq!(api.dump(dump(InterfaceIndex::NONE)), []);
}

#[suite::test]
fn the_control_plane_is_set() {
    let rig = rig(&[]);
    let mut api = rig.bench.api();
    let set = |sw_if_index, is_add| PppoeAddDelCp { sw_if_index, is_add };
    let p1 = rig.ports[1].into();
    assert_eq!(api.call(set(InterfaceIndex(99), 1)), Err(-2));
    assert_eq!(api.call(set(p1, 0)), Err(-6));
    assert_eq!(api.call(set(p1, 1)), Ok(()));
    assert_eq!(api.call(set(p1, 1)), Ok(()));
    assert_eq!(rig.world().get::<crate::Clients>().control_plane(), Some(rig.ports[1]));
    assert_eq!(api.call(set(p1, 0)), Ok(()));
    assert_eq!(rig.world().get::<crate::Clients>().control_plane(), None);
}
