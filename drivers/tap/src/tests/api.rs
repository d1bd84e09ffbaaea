// SPDX-License-Identifier: Apache-2.0
//! The binary API.

use crate::api::*;
use driver::rig::Rig;
use graph::drive::Bench;
use graph::{Plugin, SwIfIndex};
use msg::Loopback;
use net::api::*;
use net::{Column, Interfaces, Note};
use testkit::lab;

static PLUGINS: &[&Plugin] = &[&interface::PLUGIN, &ethernet::PLUGIN, &crate::PLUGIN];

fn v3(id: u32, flags: TapFlags) -> TapCreateV3 {
    TapCreateV3 {
        id,
        use_random_mac: true,
        mac_address: MacAddress::default(),
        num_rx_queues: 1,
        num_tx_queues: 1,
        tx_ring_sz: 256,
        rx_ring_sz: 256,
        host_mtu_set: false,
        host_mtu_size: 0,
        host_mac_addr_set: false,
        host_mac_addr: MacAddress::default(),
        host_ip4_prefix_set: false,
        host_ip4_prefix: Ip4AddressWithPrefix::default(),
        host_ip6_prefix_set: false,
        host_ip6_prefix: Ip6AddressWithPrefix::default(),
        host_ip4_gw_set: false,
        host_ip4_gw: Ip4Address::default(),
        host_ip6_gw_set: false,
        host_ip6_gw: Ip6Address::default(),
        tap_flags: flags,
        host_namespace_set: false,
        host_namespace: "".into(),
        host_if_name_set: false,
        host_if_name: "".into(),
        host_bridge_set: false,
        host_bridge: "".into(),
        tag: String::new(),
    }
}

fn v2(id: u32) -> TapCreateV2 {
    let r = v3(id, TapFlags::TUN);
    TapCreateV2 {
        id: r.id,
        use_random_mac: r.use_random_mac,
        mac_address: r.mac_address,
        num_rx_queues: 2,
        tx_ring_sz: r.tx_ring_sz,
        rx_ring_sz: 500,
        host_mtu_set: true,
        host_mtu_size: 1400,
        host_mac_addr_set: false,
        host_mac_addr: r.host_mac_addr,
        host_ip4_prefix_set: false,
        host_ip4_prefix: r.host_ip4_prefix,
        host_ip6_prefix_set: false,
        host_ip6_prefix: r.host_ip6_prefix,
        host_ip4_gw_set: false,
        host_ip4_gw: r.host_ip4_gw,
        host_ip6_gw_set: false,
        host_ip6_gw: r.host_ip6_gw,
        tap_flags: r.tap_flags,
        host_namespace_set: false,
        host_namespace: r.host_namespace,
        host_if_name_set: true,
        host_if_name: "t9".into(),
        host_bridge_set: false,
        host_bridge: r.host_bridge,
        tag: r.tag,
    }
}

const ALL: SwInterfaceTapV2Dump = SwInterfaceTapV2Dump { sw_if_index: InterfaceIndex::NONE };

#[suite::test(netns)]
fn taps_are_made_told_and_deleted_in_netns() {
    let Some(lab) = lab::require(&["root", "/dev/net/tun"]) else { return };
    let middle = lab.netns("m");
    let rig = Rig::new(middle.name().expect("it has one"), PLUGINS, 1);
    rig.control(|world| {
        let mut client = Loopback::new(world, &world.api);
        let prefix = Ip4Prefix { address: Ip4Address([10, 9, 0, 1]), len: 24 };
        let request = TapCreateV3 {
            use_random_mac: false,
            mac_address: MacAddress([2, 0, 0, 0, 0, 7]),
            host_mac_addr_set: true,
            host_mac_addr: MacAddress([2, 0, 0, 0, 0, 8]),
            host_ip4_prefix_set: true,
            host_ip4_prefix: Ip4AddressWithPrefix(prefix),
            host_if_name_set: true,
            host_if_name: "h4".into(),
            tag: "lab".into(),
            ..v3(4, TapFlags::GSO)
        };
        let tap4 = client.call(request).expect("made").sw_if_index;
        let tun9 = client.call(v2(9)).expect("made").sw_if_index;
        let tap0 = client.call(v3(u32::MAX, TapFlags(0))).expect("made").sw_if_index;
        let told = client.dump(ALL);
        let names: Vec<_> = told
            .iter()
            .map(|d| (d.dev_name.as_str(), d.host_if_name.as_str(), d.id, d.tap_flags))
            .collect();
        assert_eq!(
            names,
            [
                ("tap0", "tap0", 0, TapFlags(0)),
                ("tap4", "h4", 4, TapFlags::GSO),
                ("tun9", "t9", 9, TapFlags::TUN),
            ]
        );
        assert_eq!((told[2].host_mtu_size, told[2].rx_ring_sz), (1400, 500));
        let one = client.dump(SwInterfaceTapV2Dump { sw_if_index: tap4 });
        assert_eq!((one.len(), one[0].sw_if_index), (1, tap4.0));
        assert_eq!(one[0].host_mac_addr, MacAddress([2, 0, 0, 0, 0, 8]));
        assert_eq!(one[0].host_ip4_prefix, Ip4AddressWithPrefix(prefix));
        let interface = world.get::<Interfaces>().get(SwIfIndex(tap4.0)).expect("there");
        let note = world.get::<Column<Note>>().get(interface.sw_if);
        assert_eq!((note.0.as_str(), interface.mac.octets()), ("lab", [2, 0, 0, 0, 0, 7]));

        assert_eq!(client.call(v3(4, TapFlags(0))).err(), Some(-71), "the number is taken");
        let same =
            TapCreateV3 { host_if_name_set: true, host_if_name: "h4".into(), ..v3(5, TapFlags(0)) };
        assert_eq!(client.call(same).err(), Some(-11), "the host's name is taken");
        for gone in [tap4, tun9, tap0] {
            assert_eq!(client.call(TapDeleteV2 { sw_if_index: gone }), Ok(()));
            assert_eq!(client.call(TapDeleteV2 { sw_if_index: gone }), Err(-2));
        }
        assert!(client.dump(ALL).is_empty());
        let again =
            client.call(v3(4, TapFlags::GSO)).expect("its number is free again").sw_if_index;
        assert_eq!(client.call(TapDeleteV2 { sw_if_index: again }), Ok(()));
    });
    let text = rig.script("show tap");
    assert_eq!(text, "");
    rig.finish();
}

#[suite::test]
fn what_cannot_be_is_refused() {
    let bench = Bench::new(PLUGINS);
    let mut client = bench.api();
    for flag in [TapFlags::GRO_COALESCE, TapFlags::CONSISTENT_QP] {
        assert_eq!(client.call(v3(0, flag)).err(), Some(-9));
    }
    assert_eq!(client.call(v3(0, TapFlags::ATTACH)).err(), Some(-7), "attach to what?");
    let mac = TapCreateV3 { use_random_mac: false, ..v3(0, TapFlags(0)) };
    assert_eq!(client.call(mac).err(), Some(-7));
    let long = Ip4AddressWithPrefix(Ip4Prefix { address: Ip4Address([10, 0, 0, 1]), len: 33 });
    let long =
        TapCreateV3 { host_ip4_prefix_set: true, host_ip4_prefix: long, ..v3(0, TapFlags(0)) };
    assert_eq!(client.call(long).err(), Some(-7));
    for other in [0, 77] {
        assert_eq!(client.call(TapDeleteV2 { sw_if_index: InterfaceIndex(other) }), Err(-2));
    }
    assert!(client.dump(ALL).is_empty());
}
