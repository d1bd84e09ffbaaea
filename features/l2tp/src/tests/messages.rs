// SPDX-License-Identifier: Apache-2.0
//! Messages.

use super::*;
use crate::api::*;
use net::api::InterfaceIndex;
use std::net::IpAddr;

fn address(text: &str) -> net::api::Address {
    text.parse::<IpAddr>().expect("an address").into()
}

/// As a client that fills in no more than the addresses.
fn request(client: &str, our: &str) -> L2tpv3CreateTunnel {
    L2tpv3CreateTunnel {
        client_address: address(client),
        our_address: address(our),
        local_session_id: 0,
        remote_session_id: 0,
        local_cookie: 0,
        remote_cookie: 0,
        l2_sublayer_present: false,
        encap_vrf_id: 0,
    }
}

#[suite::test]
fn sessions_are_made_changed_listed_and_deleted() {
    let mut rig = rig(&[]);
    let whole = L2tpv3CreateTunnel {
        local_session_id: 5,
        remote_session_id: 6,
        local_cookie: LOCAL,
        remote_cookie: REMOTE,
        l2_sublayer_present: true,
        ..request(CLIENT, OUR)
    };
    let (first, second) =
        {
            let mut api = rig.bench.api();
            let first = api.call(whole).expect("made").sw_if_index;
            for (request, retval) in [
                (whole, -7),
                (request("10.0.1.2", "10.0.1.1"), -9),
                (request(OUR, OUR), -82),
                (L2tpv3CreateTunnel { encap_vrf_id: 9, ..request(CLIENT, "2001:db8:2::1") }, -3),
            ] {
                assert_eq!(api.call(request), Err(retval));
            }
            let second = api.call(request(CLIENT, "2001:db8:2::1")).expect("made").sw_if_index;
            let cookies = |sw_if_index, new_local_cookie, new_remote_cookie| {
                L2tpv3SetTunnelCookies { sw_if_index, new_local_cookie, new_remote_cookie }
            };
            assert_eq!(api.call(cookies(InterfaceIndex(99), 1, 2)), Err(-2));
            assert_eq!(api.call(cookies(rig.ports[0].into(), 1, 2)), Err(-2));
            assert_eq!(api.call(cookies(first, 1, 2)), Ok(()));
            let listed = api.dump(SwIfL2tpv3TunnelDump {});
            let details = |sw_if_index, name: &str, r: L2tpv3CreateTunnel, cookies, remote| {
                SwIfL2tpv3TunnelDetails {
                    sw_if_index,
                    interface_name: name.into(),
                    client_address: r.client_address,
                    our_address: r.our_address,
                    local_session_id: r.local_session_id,
                    remote_session_id: r.remote_session_id,
                    local_cookie: cookies,
                    remote_cookie: remote,
                    l2_sublayer_present: r.l2_sublayer_present,
                }
            };
            let expected = [
                details(first, "l2tpv3_tunnel0", whole, [1, LOCAL], 2),
                details(second, "l2tpv3_tunnel1", request(CLIENT, "2001:db8:2::1"), [0, 0], 0),
            ];
            assert_eq!(listed, expected);
            (first, second)
        };
    rig.cli("set interface state l2tpv3_tunnel0 up");
    let packet = received(&l2tp(5, 1, &[0; 4]), &frame(2, 9));
    rig.route(&packet);
    assert_eq!(rig.count(NODE, DECAPSULATED), 1);
    // Identifier 0 is the control connection's.
    rig.cli("set interface state l2tpv3_tunnel1 up");
    rig.route(&outer(CLIENT, "2001:db8:2::1", 64, &[l2tp(0, 0, &[]), frame(2, 9)].concat()));
    assert_eq!(rig.count(NODE, "control"), 1);
    let mut api = rig.bench.api();
    for sw_if_index in [first, second] {
        assert_eq!(api.call(L2tpv3DeleteTunnel { sw_if_index }), Ok(()));
    }
    assert_eq!(api.call(L2tpv3DeleteTunnel { sw_if_index: first }), Err(-2));
    assert_eq!(api.call(L2tpv3DeleteTunnel { sw_if_index: rig.ports[0].into() }), Err(-6));
    assert_eq!(api.dump(SwIfL2tpv3TunnelDump {}), []);
}

#[suite::test]
fn lookups_and_interfaces_are_set() {
    let mut rig = rig(&[CREATE, "set interface state l2tpv3_tunnel0 up"]);
    let packet = received(&l2tp(5, LOCAL, &[]), &frame(2, 9));
    for key in 0..3 {
        let set = L2tpv3SetLookupKey { key: L2tLookupKey(key) };
        assert_eq!(rig.bench.api().call(set), Ok(()));
        rig.bench.settle();
        rig.route(&packet);
        assert_eq!(rig.count(NODE, DECAPSULATED), u64::from(key) + 1);
    }
    let enable = |rig: &Rig, on, sw_if_index| {
        let message = L2tpv3InterfaceEnableDisable { enable_disable: on, sw_if_index };
        rig.bench.api().call(message)
    };
    assert_eq!(rig.bench.api().call(L2tpv3SetLookupKey { key: L2tLookupKey(3) }), Err(-7));
    assert_eq!(enable(&rig, true, InterfaceIndex(99)), Err(-2));
    let p0 = rig.ports[0].into();
    for (on, taken) in [(true, 1), (true, 2), (false, 2)] {
        assert_eq!(enable(&rig, on, p0), Ok(()));
        rig.bench.settle();
        rig.route(&packet);
        assert_eq!(rig.count("l2tp-decap", DECAPSULATED), taken);
    }
}
