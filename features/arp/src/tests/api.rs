// SPDX-License-Identifier: Apache-2.0
//! The binary API.

use super::*;
use crate::api::*;
use net::api::{InterfaceIndex, Ip4Address};

fn range(low: [u8; 4], hi: [u8; 4]) -> ProxyArp {
    ProxyArp { table_id: 0, low: Ip4Address(low), hi: Ip4Address(hi) }
}

/// Returns true if an ARP request for the address is answered.
fn answered(r: &mut Rig, ip: [u8; 4]) -> bool {
    r.receive(&arp(1, (PEER, [10, 0, 0, 9]), (MacAddr::ZERO, ip), MacAddr::BROADCAST));
    !r.sent().is_empty()
}

#[suite::test]
fn ranges_are_answered_for_where_the_api_says_so() {
    let mut r = rig();
    let (all, one) = (range([10, 0, 0, 20], [10, 0, 0, 29]), range([10, 0, 0, 40], [10, 0, 0, 40]));
    let t0 = InterfaceIndex::from(r.t0);
    let add = |is_add, proxy| ProxyArpAddDel { is_add, proxy };
    {
        let mut client = r.bench.api();
        assert_eq!(client.call(add(true, all)), Ok(()));
        assert_eq!(client.call(add(true, one)), Ok(()));
        assert_eq!(client.call(add(true, one)), Ok(()), "said twice");
        let known = client.dump(ProxyArpDump {});
        assert_eq!(known.iter().map(|d| d.proxy).collect::<Vec<_>>(), [all, one]);
        assert!(client.dump(ProxyArpIntfcDump {}).is_empty());
    }
    assert!(!answered(&mut r, [10, 0, 0, 25]));
    let enable = |sw_if_index, enable| ProxyArpIntfcEnableDisable { sw_if_index, enable };
    assert_eq!(r.bench.api().call(enable(t0, true)), Ok(()));
    assert!(answered(&mut r, [10, 0, 0, 25]) && answered(&mut r, [10, 0, 0, 40]));
    assert!(!answered(&mut r, [10, 0, 0, 30]));
    assert!(r.bench.cli("show arp proxy").expect("shown").contains("Interfaces: t0"));
    {
        let mut client = r.bench.api();
        assert_eq!(
            client.dump(ProxyArpIntfcDump {}).iter().map(|d| d.sw_if_index).collect::<Vec<_>>(),
            [t0.0]
        );
        assert_eq!(client.call(add(false, all)), Ok(()));
        assert_eq!(client.call(add(false, all)), Err(-6));
        assert_eq!(client.call(add(true, range([10, 0, 0, 9], [10, 0, 0, 8]))), Err(-7));
        assert_eq!(client.call(add(true, ProxyArp { table_id: 77, ..one })), Err(-3));
        assert_eq!(client.call(enable(InterfaceIndex(77), true)), Err(-2));
        assert_eq!(
            client.call(enable(InterfaceIndex(0), true)),
            Err(-151),
            "local0 is no Ethernet"
        );
    }
    assert!(!answered(&mut r, [10, 0, 0, 25]) && answered(&mut r, [10, 0, 0, 40]));
    assert_eq!(r.bench.api().call(enable(t0, false)), Ok(()));
    assert!(!answered(&mut r, [10, 0, 0, 40]));
}
