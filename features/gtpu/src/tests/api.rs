// SPDX-License-Identifier: Apache-2.0
//! Messages.

use super::*;
use crate::api::*;
use net::api::InterfaceIndex;
use std::net::IpAddr;

fn address(text: &str) -> net::api::Address {
    text.parse::<IpAddr>().expect("an address").into()
}

fn request(remote: &str, teid: u32, tteid: u32) -> GtpuAddDelTunnelV2 {
    GtpuAddDelTunnelV2 {
        is_add: true,
        src_address: address("10.0.1.1"),
        dst_address: address(remote),
        mcast_sw_if_index: InterfaceIndex::NONE,
        encap_vrf_id: 0,
        decap_next_index: GtpuDecapNextType::IP4,
        teid,
        tteid,
        pdu_extension: false,
        qfi: 0,
    }
}

fn details(
    made: InterfaceIndex,
    r: &GtpuAddDelTunnelV2,
    counters: SwIfCounters,
) -> GtpuTunnelV2Details {
    GtpuTunnelV2Details {
        sw_if_index: made,
        src_address: r.src_address,
        dst_address: r.dst_address,
        mcast_sw_if_index: InterfaceIndex::NONE,
        encap_vrf_id: r.encap_vrf_id,
        decap_next_index: r.decap_next_index,
        teid: r.teid,
        tteid: if r.tteid == 0 { r.teid } else { r.tteid },
        pdu_extension: r.pdu_extension,
        qfi: r.qfi,
        is_forwarding: false,
        forwarding_type: GtpuForwardingType::NONE,
        counters,
    }
}

#[suite::test]
fn tunnels_are_made_changed_counted_and_deleted() {
    let mut rig = rig(&["ip route add 30.0.0.0/8 via 10.0.2.2 p2"]);
    let with_qfi =
        || GtpuAddDelTunnelV2 { pdu_extension: true, qfi: 9, ..request("10.0.1.3", 13, 5) };
    let (first, second) = {
        let mut api = rig.bench.api();
        let none = SwIfCounters::default();
        let first = api.call(request("10.0.1.2", 13, 0)).expect("made");
        let second = api.call(with_qfi()).expect("made");
        assert_eq!((first.counters, second.counters), (none, none));
        for (request, retval) in [
            (request("10.0.1.2", 13, 9), -75),
            (request("10.0.1.1", 1, 0), -82),
            (request("2001:db8::1", 1, 0), -7),
            (request("239.1.1.1", 1, 0), -2),
            (GtpuAddDelTunnelV2 { encap_vrf_id: 9, ..request("10.0.1.4", 1, 0) }, -3),
            (
                GtpuAddDelTunnelV2 {
                    decap_next_index: GtpuDecapNextType(9999),
                    ..request("10.0.1.4", 1, 0)
                },
                -76,
            ),
            (GtpuAddDelTunnelV2 { is_add: false, ..request("10.0.1.4", 1, 0) }, -6),
            (GtpuAddDelTunnelV2 { pdu_extension: true, qfi: 64, ..request("10.0.1.4", 1, 0) }, -7),
        ] {
            assert_eq!(api.call(request).expect_err("refused"), retval);
        }
        let update = |dst: &str, teid, tteid| GtpuTunnelUpdateTteid {
            dst_address: address(dst),
            encap_vrf_id: 0,
            teid,
            tteid,
        };
        assert_eq!(api.call(update("10.0.1.2", 13, 77)), Ok(()));
        assert_eq!(api.call(update("10.0.1.2", 13, 0)), Err(-7));
        assert_eq!(api.call(update("10.0.1.2", 14, 7)), Err(-6));
        let lost = GtpuTunnelUpdateTteid { encap_vrf_id: 9, ..update("10.0.1.2", 13, 7) };
        assert_eq!(api.call(lost), Err(-3));
        (first, second)
    };
    rig.cli("set interface ip address gtpu_tunnel0 10.9.0.1/24");
    let packet = inner("30.0.0.1", 9);
    rig.route(&from4(&header(0x30, 255, 13, &[], 0), &packet));
    let counters =
        SwIfCounters { packets_rx: 1, packets_tx: 0, bytes_rx: packet.len() as u64, bytes_tx: 0 };
    let mut api = rig.bench.api();
    let dump = api.dump(GtpuTunnelV2Dump { sw_if_index: InterfaceIndex::NONE });
    let want = [
        details(first.sw_if_index, &request("10.0.1.2", 13, 77), counters),
        details(second.sw_if_index, &with_qfi(), SwIfCounters::default()),
    ];
    assert_eq!(dump, want);
    let old = api.dump(GtpuTunnelDump { sw_if_index: first.sw_if_index });
    assert_eq!(
        old.iter().map(|d| (d.teid, d.tteid, d.decap_next_index)).collect::<Vec<_>>(),
        [(13, 77, 2)]
    );
    let counts =
        |sw_if_index_start, capacity| GtpuGetTransferCounts { sw_if_index_start, capacity };
    let all = api.call(counts(InterfaceIndex(0), 10)).expect("counted").tunnels;
    let metrics = |of: &GtpuAddDelTunnelV2Reply, counters| TunnelMetrics {
        sw_if_index: of.sw_if_index,
        reserved: 0,
        counters,
    };
    assert_eq!(all, [metrics(&first, counters), metrics(&second, SwIfCounters::default())]);
    let rest = api.call(counts(second.sw_if_index, 10)).expect("counted").tunnels;
    assert_eq!(rest, all[1..]);
    assert_eq!(api.call(counts(InterfaceIndex(0), 1)).expect("counted").tunnels, all[..1]);
    assert_eq!(api.call(counts(InterfaceIndex(u32::MAX), 9)).expect("counted").tunnels, []);
    // The answer to a deletion has the last counters.
    let gone = GtpuAddDelTunnelV2 { is_add: false, ..request("10.0.1.2", 13, 0) };
    let gone = api.call(gone).expect("deleted");
    assert_eq!(gone, GtpuAddDelTunnelV2Reply { sw_if_index: first.sw_if_index, counters });
    let old = GtpuAddDelTunnel {
        is_add: true,
        src_address: address("10.0.1.1"),
        dst_address: address("10.0.1.5"),
        mcast_sw_if_index: InterfaceIndex::NONE,
        encap_vrf_id: 0,
        decap_next_index: u32::MAX,
        teid: 1,
        tteid: 0,
    };
    api.call(old).expect("made");
}

#[suite::test]
fn forwards_are_made_and_deleted() {
    let rig = rig(&[]);
    let mut api = rig.bench.api();
    let request = |is_add, dst: &str, kind| GtpuAddDelForward {
        is_add,
        dst_address: address(dst),
        forwarding_type: kind,
        encap_vrf_id: 0,
        decap_next_index: GtpuDecapNextType(u32::MAX),
    };
    let teid = GtpuForwardingType::UNKNOWN_TEID;
    let made = api.call(request(true, "10.0.1.2", teid)).expect("made").sw_if_index;
    for (request, retval) in [
        (request(true, "10.0.1.3", teid), -75),
        (request(true, "10.0.1.3", GtpuForwardingType::NONE), -73),
        (request(true, "10.0.1.3", GtpuForwardingType(3)), -73),
        (request(false, "2001:db8::1", teid), -6),
        (
            GtpuAddDelForward {
                encap_vrf_id: 9,
                ..request(true, "10.0.1.3", GtpuForwardingType::BAD_HEADER)
            },
            -3,
        ),
    ] {
        assert_eq!(api.call(request).expect_err("refused"), retval);
    }
    let [details] = &api.dump(GtpuTunnelV2Dump { sw_if_index: InterfaceIndex::NONE })[..] else {
        panic!("one forward")
    };
    assert!(details.is_forwarding && details.forwarding_type == teid);
    assert_eq!((details.sw_if_index, details.dst_address), (made, address("10.0.1.2")));
    let gone = api.call(request(false, "10.0.1.2", teid)).expect("deleted");
    assert_eq!(gone.sw_if_index, made);
    assert_eq!(api.dump(GtpuTunnelV2Dump { sw_if_index: made }), []);
    let offload = GtpuOffloadRx { hw_if_index: 99, sw_if_index: 1, enable: 1 };
    assert_eq!(api.call(offload), Err(-6));
}
