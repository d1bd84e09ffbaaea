// SPDX-License-Identifier: Apache-2.0
//! Messages.

use super::*;
use crate::Features;
use crate::api::*;
use net::api::{InterfaceIndex, MacAddress};

fn add(bd_id: u32) -> BridgeDomainAddDel {
    BridgeDomainAddDel {
        bd_id,
        flood: true,
        uu_flood: true,
        forward: true,
        learn: true,
        arp_term: false,
        arp_ufwd: false,
        mac_age: 3,
        bd_tag: "note".into(),
        is_add: true,
    }
}

fn v2(bd_id: u32, is_add: bool) -> BridgeDomainAddDelV2 {
    let BridgeDomainAddDel {
        flood,
        uu_flood,
        forward,
        learn,
        arp_term,
        arp_ufwd,
        mac_age,
        bd_tag,
        ..
    } = add(0);
    BridgeDomainAddDelV2 {
        bd_id,
        flood,
        uu_flood,
        forward,
        learn,
        arp_term,
        arp_ufwd,
        mac_age,
        bd_tag,
        is_add,
    }
}

fn join(sw_if: SwIfIndex, bd_id: u32, port_type: L2PortType) -> SwInterfaceSetL2Bridge {
    SwInterfaceSetL2Bridge { rx_sw_if_index: sw_if.into(), bd_id, port_type, shg: 2, enable: true }
}

#[suite::test]
fn clients_create_and_change_domains() {
    let rig = rig(2);
    let mut client = rig.bench.api();
    assert_eq!(client.call(add(5)), Ok(()));
    assert_eq!(client.call(add(5)), Err(-119));
    assert_eq!(client.call(add(0)), Err(-121));
    assert_eq!(client.call(add(1 << 24)), Err(-122));
    assert_eq!(client.call(BridgeDomainAddDel { is_add: false, ..add(6) }), Err(-6));
    assert_eq!(client.call(v2(u32::MAX, true)).map(|r| r.bd_id), Ok(1), "the lowest that is free");
    assert_eq!(client.call(v2(9, true)).map(|r| r.bd_id), Ok(9));
    assert_eq!(client.call(v2(9, false)).map(|r| r.bd_id), Ok(9));
    assert_eq!(client.call(join(rig.ports[0], 5, L2PortType::Normal)), Ok(()));
    assert_eq!(client.call(join(rig.ports[1], 5, L2PortType::UuFwd)), Ok(()));
    assert_eq!(client.call(join(SwIfIndex(99), 5, L2PortType::Normal)), Err(-2));
    assert_eq!(client.call(join(rig.ports[0], 5, L2PortType::Bvi)), Err(-7));
    assert_eq!(client.call(BridgeDomainAddDel { is_add: false, ..add(5) }), Err(-120));
    assert_eq!(client.call(BridgeDomainSetMacAge { bd_id: 5, mac_age: 7 }), Ok(()));
    assert_eq!(client.call(BridgeDomainSetMacAge { bd_id: 6, mac_age: 7 }), Err(-6));
    assert_eq!(client.call(BridgeDomainSetLearnLimit { bd_id: 0, learn_limit: 7 }), Err(-121));
    assert_eq!(client.call(BridgeDomainSetLearnLimit { bd_id: 5, learn_limit: 7 }), Ok(()));
    assert_eq!(client.call(BridgeDomainSetDefaultLearnLimit { learn_limit: 8 }), Ok(()));
    let flags = |is_set, flags| BridgeFlags { bd_id: 5, is_set, flags };
    let now = client.call(flags(false, BdFlags::LEARN | BdFlags::UU_FLOOD)).expect("set");
    let bits = Features::from_bits_retain(now.resulting_feature_bitmap);
    assert!(
        !bits.contains(Features::LEARN)
            && !bits.contains(Features::UU_FLOOD)
            && bits.contains(Features::FWD)
    );
    let now = client.call(flags(true, BdFlags::ARP_TERM)).expect("set");
    assert!(Features::from_bits_retain(now.resulting_feature_bitmap).contains(Features::ARP_TERM));
    assert_eq!(
        client.call(BridgeFlags { bd_id: 6, ..flags(true, BdFlags::LEARN) }).err(),
        Some(-6)
    );
    let dump = |client: &mut msg::Loopback<'_, World>, bd_id, sw_if_index| {
        client.dump(BridgeDomainDump { bd_id, sw_if_index })
    };
    let all = dump(&mut client, u32::MAX, InterfaceIndex::NONE);
    assert_eq!(all.iter().map(|d| d.bd_id).collect::<Vec<_>>(), [1, 5]);
    let one = dump(&mut client, u32::MAX, rig.ports[0].into());
    let [d] = &one[..] else { panic!("{} domains", one.len()) };
    assert_eq!((d.bd_id, d.mac_age, d.learn, d.bd_tag.as_str()), (5, 7, false, "note"));
    assert_eq!(
        (d.uu_fwd_sw_if_index, d.bvi_sw_if_index),
        (rig.ports[1].into(), InterfaceIndex::NONE)
    );
    let member = BridgeDomainSwIf { context: 0, sw_if_index: rig.ports[0].into(), shg: 2 };
    assert_eq!(d.sw_if_details, [member]);
    let off =
        |sw_if| SwInterfaceSetL2Bridge { enable: false, ..join(sw_if, 5, L2PortType::Normal) };
    assert_eq!(client.call(off(rig.ports[0])), Ok(()));
    assert_eq!(
        client.call(BridgeDomainAddDel { is_add: false, ..add(5) }),
        Ok(()),
        "the uu-fwd port leaves too"
    );
    assert_eq!(dump(&mut client, 5, InterfaceIndex::NONE).len(), 0);
}

#[suite::test]
fn clients_add_and_read_entries() {
    let rig = bridged(2);
    let mut client = rig.bench.api();
    let entry = |n: u8, sw_if: SwIfIndex| L2fibAddDel {
        mac: MacAddress(host(n).octets()),
        bd_id: 1,
        sw_if_index: sw_if.into(),
        is_add: true,
        static_mac: false,
        filter_mac: false,
        bvi_mac: false,
    };
    assert_eq!(client.call(entry(1, rig.ports[0])), Ok(()));
    assert_eq!(client.call(L2fibAddDel { static_mac: true, ..entry(2, rig.ports[1]) }), Ok(()));
    assert_eq!(
        client.call(L2fibAddDel { filter_mac: true, ..entry(3, SwIfIndex(u32::MAX)) }),
        Ok(())
    );
    assert_eq!(client.call(L2fibAddDel { bd_id: 7, ..entry(1, rig.ports[0]) }), Err(-6));
    assert_eq!(client.call(entry(1, SwIfIndex(0))), Err(-2));
    let dump = |client: &mut msg::Loopback<'_, World>, bd_id| {
        let mut all = client.dump(L2FibTableDump { bd_id });
        all.sort_by_key(|e| e.mac.0);
        all.into_iter()
            .map(|e| (e.mac.0[5], e.sw_if_index.0, e.static_mac, e.filter_mac))
            .collect::<Vec<_>>()
    };
    let (p0, p1) = (rig.ports[0].0, rig.ports[1].0);
    let want = [(1, p0, false, false), (2, p1, true, false), (3, u32::MAX, true, true)];
    assert_eq!(dump(&mut client, u32::MAX), want);
    assert_eq!((dump(&mut client, 1).len(), dump(&mut client, 2).len()), (3, 0));
    assert_eq!(client.call(L2fibFlushAll {}), Ok(()));
    assert_eq!(client.call(L2fibFlushBd { bd_id: 1 }), Ok(()));
    assert_eq!(client.call(L2fibFlushBd { bd_id: 2 }), Err(-6));
    assert_eq!(client.call(L2fibFlushInt { sw_if_index: rig.ports[0].into() }), Ok(()));
    assert_eq!(dump(&mut client, 1).len(), 3, "none of them is learned");
    let del = |n, sw_if| L2fibAddDel { is_add: false, ..entry(n, sw_if) };
    assert_eq!(client.call(del(1, rig.ports[1])), Err(-6), "at another port");
    assert_eq!(client.call(del(1, rig.ports[0])), Ok(()));
    assert_eq!(client.call(del(2, SwIfIndex(0))), Ok(()), "of any port");
    assert_eq!(client.call(del(3, SwIfIndex(0))), Ok(()));
    assert_eq!(client.call(del(3, SwIfIndex(0))), Err(-6));
    assert_eq!(client.call(entry(1, rig.ports[0])), Ok(()));
    assert_eq!(client.call(L2FibClearTable {}), Ok(()));
    assert_eq!(dump(&mut client, u32::MAX), []);
}

#[suite::test]
fn clients_connect_interfaces_and_switch_features() {
    let rig = rig(3);
    let mut client = rig.bench.api();
    let connect = |rx: SwIfIndex, tx: SwIfIndex, enable| SwInterfaceSetL2Xconnect {
        rx_sw_if_index: rx.into(),
        tx_sw_if_index: tx.into(),
        enable,
    };
    let [p0, p1, p2] = rig.ports[..] else { panic!("three ports") };
    assert_eq!(client.call(connect(p0, p1, true)), Ok(()));
    assert_eq!(client.call(connect(p1, p0, true)), Ok(()));
    assert_eq!(client.call(connect(p1, SwIfIndex(99), true)), Err(-10));
    assert_eq!(client.call(connect(SwIfIndex(99), p0, true)), Err(-2));
    let pairs = |client: &mut msg::Loopback<'_, World>| {
        let all = client.dump(L2XconnectDump {});
        all.into_iter().map(|x| (x.rx_sw_if_index.0, x.tx_sw_if_index.0)).collect::<Vec<_>>()
    };
    assert_eq!(pairs(&mut client), [(p0.0, p1.0), (p1.0, p0.0)]);
    assert_eq!(client.call(connect(p1, p0, false)), Ok(()));
    assert_eq!(pairs(&mut client), [(p0.0, p1.0)]);
    let flags = |sw_if: SwIfIndex, is_set, feature_bitmap| L2Flags {
        sw_if_index: sw_if.into(),
        is_set,
        feature_bitmap,
    };
    assert_eq!(client.call(flags(p2, true, 1)).err(), Some(-2), "not bridged");
    assert_eq!(client.call(join(p2, 1, L2PortType::Normal)), Ok(()));
    let off = client.call(flags(p2, false, 1 | 4)).expect("set");
    let bits = Features::from_bits_retain(off.resulting_feature_bitmap);
    assert!(
        !bits.contains(Features::LEARN)
            && !bits.contains(Features::FLOOD)
            && bits.contains(Features::FWD)
    );
    assert_eq!(client.call(flags(p2, true, 1 << 20)).err(), Some(-7));
    let on = client.call(flags(p2, true, 1 | 4)).expect("set");
    assert!(Features::from_bits_retain(on.resulting_feature_bitmap).contains(Features::LEARN));
    let set = |is_set, flags| L2InterfaceFeatFlagsSet { sw_if_index: p2.into(), is_set, flags };
    let get = || L2InterfaceFeatFlagsGet { sw_if_index: p2.into() };
    assert_eq!(client.call(set(false, L2IntfFeatFlags::FLOOD | L2IntfFeatFlags::UU_FLOOD)), Ok(()));
    assert_eq!(client.call(get()).expect("bridged").flags.0, 1 | 2 | 16 | 32);
    assert_eq!(client.call(L2InterfaceFeatFlagsGet { sw_if_index: p0.into() }).err(), Some(-2));
    let bits = |client: &mut msg::Loopback<'_, World>, sw_if: SwIfIndex| {
        let r = client.call(L2FlagsGet { sw_if_index: sw_if.into() });
        r.map(|r| (r.input_feature_bitmap, r.output_feature_bitmap))
    };
    let put = |sw_if: SwIfIndex, is_set, input_feature_bitmap, output_feature_bitmap| L2FlagsSet {
        sw_if_index: sw_if.into(),
        is_set,
        input_feature_bitmap,
        output_feature_bitmap,
    };
    let (learn, arp_term) = (1 << 9, 1 << 4);
    let before = bits(&mut client, p2).expect("bridged").0;
    assert_eq!(client.call(put(p2, false, learn | arp_term, 0)), Ok(()));
    assert_eq!(bits(&mut client, p2), Ok((before & !(learn | arp_term), 1)));
    assert_eq!(client.call(put(p2, true, learn, 1)), Ok(()));
    assert_eq!(bits(&mut client, p2), Ok((before & !arp_term, 1)));
    assert_eq!(client.call(put(p2, true, 1 << 14, 0)), Err(-9), "no ACL");
    assert_eq!(client.call(put(p2, false, 0, 1)), Err(-9), "output");
    assert_eq!(bits(&mut client, SwIfIndex(0)), Err(-2));
}

#[suite::test]
fn clients_make_and_delete_bvis() {
    let mut rig = bridged(1);
    let world = rig.world();
    let interfaces = world.get::<Interfaces>();
    let mut client = rig.bench.api();
    let create = |mac, user_instance| BviCreate { mac: MacAddress(mac), user_instance };
    let first = client.call(create([0; 6], u32::MAX)).expect("made").sw_if_index;
    let ninth = client.call(create([2, 0, 0, 0, 0, 9], 9)).expect("made").sw_if_index;
    for taken in [0, 9, 16_384] {
        assert_eq!(client.call(create([0; 6], taken)).err(), Some(-31));
    }
    assert_eq!(client.call(create([1, 0, 0, 0, 0, 9], 8)).err(), Some(-7));
    let shown = [first, ninth].map(|i| {
        let i = interfaces.get(SwIfIndex(i.0)).expect("there");
        format!("{} {} {}", i.name, i.mac, i.mtu_of(net::MtuKind::Link))
    });
    assert_eq!(shown, ["bvi0 b0:b0:00:00:00:00 9000", "bvi9 02:00:00:00:00:09 9000"]);
    assert_eq!(client.call(BviDelete { sw_if_index: rig.ports[0].into() }), Err(-2));
    assert_eq!(client.call(BviDelete { sw_if_index: first }), Ok(()));
    assert_eq!(client.call(BviDelete { sw_if_index: first }), Err(-2));
    drop(client);
    rig.cli("set interface state bvi9 up");
    rig.cli("set interface l2 bridge bvi9 1 bvi");
    rig.sent();
    let frame = frame_to(MacAddr([2, 0, 0, 0, 0, 9]), host(1), 0);
    rig.bench.send("bvi9-tx", &frame, |_| {});
    assert_eq!(rig.sent(), at(&[0], &frame));
    rig.cli("create loopback interface instance 3");
    assert_eq!(rig.refused("bvi delete loop3").0, -2);
    assert_eq!(rig.refused("delete loopback interface intfc bvi9").0, -2);
    rig.cli("bvi delete bvi9");
}
