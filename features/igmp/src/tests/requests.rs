// SPDX-License-Identifier: Apache-2.0
//! Return values of requests, and the routes by which IGMP's groups are delivered.

use super::*;
use crate::api::*;
use crate::event::FilterMode;
use net::api::{InterfaceIndex, Ip4Address, Prefix};

#[suite::test]
fn wrong_requests_have_vpps_return_values() {
    let rig = rig(3);
    let mut client = rig.bench.api();
    let [p0, p1, p2] = [0, 1, 2].map(|i| InterfaceIndex::from(rig.ports[i]));
    let none = InterfaceIndex(77);
    let enable = |sw_if_index, mode, enable| IgmpEnableDisable { enable, mode, sw_if_index };
    let listen = |sw_if_index, group: &str, filter, sources: &[&str]| IgmpListen {
        group: IgmpGroup {
            filter,
            sw_if_index,
            gaddr: Ip4Address(ip(group).octets()),
            saddrs: sources.iter().map(|text| Ip4Address(ip(text).octets())).collect(),
        },
    };
    use FilterMode::{Exclude, Include};
    assert_eq!(client.call(listen(p0, "239.1.1.1", Include, &["10.9.0.1"])), Err(-71));
    assert_eq!(client.call(enable(none, 1, true)), Err(-2));
    assert_eq!(client.call(enable(p0, 2, true)), Err(-7));
    assert_eq!(client.call(enable(p0, 1, true)), Ok(()));
    assert_eq!(client.call(enable(p0, 1, true)), Err(-1));
    assert_eq!(client.call(enable(p0, 0, false)), Err(-71), "it is a host");
    assert_eq!(client.call(enable(p1, 0, false)), Err(-1));
    assert_eq!(client.call(enable(p1, 0, true)), Ok(()));
    assert_eq!(client.call(listen(p1, "239.1.1.1", Include, &["10.9.0.1"])), Err(-71));
    assert_eq!(client.call(listen(p0, "10.1.1.1", Include, &["10.9.0.1"])), Err(-7));
    assert_eq!(client.call(listen(p0, "224.0.0.1", Include, &["10.9.0.1"])), Err(-7));
    assert_eq!(client.call(listen(p0, "239.1.1.1", Include, &["224.9.0.1"])), Err(-7));
    assert_eq!(client.call(listen(p0, "232.1.1.1", Exclude, &[])), Err(-7), "named sources only");
    assert_eq!(client.call(listen(p0, "239.1.1.1", Include, &["10.9.0.1", "10.9.0.2"])), Ok(()));
    assert_eq!(client.dump(IgmpDump { sw_if_index: InterfaceIndex::NONE }).len(), 2);
    assert_eq!(client.call(listen(p0, "239.1.1.1", Exclude, &["10.9.0.1"])), Ok(()));
    let all = client.dump(IgmpDump { sw_if_index: p0 });
    assert_eq!((all.len(), all[0].saddr.0, all[0].gaddr.0), (1, [0; 4], [239, 1, 1, 1]));
    // Proxies.
    let proxy = |sw_if_index, vrf_id, add| IgmpProxyDeviceAddDel { add, vrf_id, sw_if_index };
    let itf =
        |sw_if_index, vrf_id, add| IgmpProxyDeviceAddDelInterface { add, vrf_id, sw_if_index };
    assert_eq!(client.call(itf(p1, 0, true)), Err(-6));
    assert_eq!(client.call(proxy(p1, 0, 1)), Err(-71));
    assert_eq!(client.call(proxy(p0, 9, 1)), Err(-3));
    assert_eq!(client.call(proxy(p0, 0, 0)), Err(-6));
    assert_eq!(client.call(proxy(p0, 0, 1)), Ok(()));
    assert_eq!(client.call(proxy(p0, 0, 1)), Err(-1));
    assert_eq!(client.call(itf(p2, 0, true)), Err(-71));
    assert_eq!(client.call(itf(p1, 0, true)), Ok(()));
    assert_eq!(client.call(itf(p1, 0, true)), Err(-1));
    assert_eq!(client.call(itf(p1, 0, false)), Ok(()));
    assert_eq!(client.call(itf(p1, 0, false)), Err(-6));
    assert_eq!(client.call(proxy(p0, 0, 0)), Ok(()));
    assert_eq!(client.call(IgmpClearInterface { sw_if_index: p2 }), Ok(()), "nothing to clear");
    assert_eq!(client.call(IgmpClearInterface { sw_if_index: p0 }), Ok(()));
    assert!(client.dump(IgmpDump { sw_if_index: p0 }).is_empty());
    // Ranges.
    let range = |text: &str, len| {
        let prefix = Prefix { address: std::net::IpAddr::from(ip(text)).into(), len };
        IgmpGroupPrefixSet { gp: GroupPrefix { r#type: GroupPrefixType::Ssm, prefix } }
    };
    assert_eq!(client.call(range("10.0.0.0", 8)), Err(-7));
    assert_eq!(client.call(range("239.0.0.0", 33)), Err(-7));
    assert_eq!(client.call(range("239.232.0.0", 16)), Ok(()));
    assert_eq!(client.dump(IgmpGroupPrefixDump {}).len(), 2);
}

#[suite::test]
fn an_interface_that_is_down_listens_to_nothing_new() {
    let mut rig = rig(1);
    rig.cli("igmp enable host p0");
    rig.cli("set interface state p0 down");
    assert_eq!(rig.refused("igmp listen int p0 saddr 10.9.0.1 gaddr 239.1.1.1").0, -74);
}

#[suite::test]
fn groups_of_igmp_are_delivered_in_the_tables_of_its_interfaces() {
    let mut rig = rig(2);
    rig.cli("ip table add 7");
    let has = |rig: &mut Rig, table: u32| {
        rig.cli(&format!("show ip mfib table {table}")).contains("224.0.0.22")
    };
    rig.cli("igmp enable router p0");
    assert!(has(&mut rig, 0) && !has(&mut rig, 7));
    rig.cli("set interface ip address del p0 10.0.0.1/24");
    rig.cli("set interface ip table p0 7");
    assert!(!has(&mut rig, 0) && has(&mut rig, 7));
    rig.cli("igmp enable host p1");
    assert!(has(&mut rig, 0) && has(&mut rig, 7));
    rig.cli("igmp disable router p0");
    assert!(has(&mut rig, 0) && !has(&mut rig, 7));
    rig.delete_port(1);
    assert!(!has(&mut rig, 0));
}
