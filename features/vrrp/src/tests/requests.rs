// SPDX-License-Identifier: Apache-2.0
//! Commands and messages: what they set, answer and refuse.

use super::*;
use crate::api::*;
use net::api::{Address, InterfaceIndex};

const ALL: InterfaceIndex = InterfaceIndex(u32::MAX);

fn add(rig: &Rig, id: u8, priority: u8, interval: u16, addresses: &[&str]) -> VrrpVrAddDel {
    let addrs: Vec<_> = addresses.iter().map(|text| Address::from(ip(text))).collect();
    VrrpVrAddDel {
        is_add: 1,
        sw_if_index: rig.ports[0].into(),
        vr_id: id,
        priority,
        interval,
        flags: VrrpVrFlags::PREEMPT,
        addrs,
    }
}

#[suite::test]
fn wrong_requests_have_vpps_return_values() {
    let rig = rig(2);
    let mut client = rig.bench.api();
    let good = || add(&rig, 7, 100, 100, &["10.0.0.9"]);
    let port = good().sw_if_index;
    assert_eq!(client.call(good()), Ok(()));
    assert_eq!(client.call(good()), Err(-116));
    for (request, error) in [
        (add(&rig, 0, 100, 100, &["10.0.0.8"]), -7),
        (add(&rig, 8, 0, 100, &["10.0.0.8"]), -7),
        (add(&rig, 8, 100, 0, &["10.0.0.8"]), -7),
        (add(&rig, 8, 100, 4096, &["10.0.0.8"]), -7),
        (add(&rig, 8, 100, 100, &["10.0.0.8", "10.0.0.8"]), -7),
        (add(&rig, 8, 100, 100, &[]), -57),
        (add(&rig, 8, 100, 100, &["2001:db8::8"]), -73),
        (add(&rig, 8, 100, 100, &["224.0.0.8"]), -73),
        (add(&rig, 8, 255, 100, &["10.0.0.8"]), -60),
        (add(&rig, 8, 100, 100, &["10.0.0.9"]), -105),
        (VrrpVrAddDel { sw_if_index: InterfaceIndex(77), ..good() }, -2),
        (VrrpVrAddDel { sw_if_index: InterfaceIndex(0), ..good() }, -7),
        (VrrpVrAddDel { is_add: 0, vr_id: 9, ..good() }, -6),
    ] {
        let text = format!("{request:?}");
        assert_eq!(client.call(request), Err(error), "{text}");
    }
    // The same address on another interface is another's.
    let other = VrrpVrAddDel { sw_if_index: rig.ports[1].into(), ..good() };
    assert_eq!(client.call(other), Ok(()));
    let owner = add(&rig, 8, 255, 100, &["10.0.0.1"]);
    assert_eq!(client.call(owner), Ok(()));
    let start =
        |vr_id, is_start| VrrpVrStartStop { sw_if_index: port, vr_id, is_ipv6: 0, is_start };
    assert_eq!(client.call(start(9, 1)), Err(-6));
    for is_start in [1, 1, 0, 0] {
        assert_eq!(client.call(start(7, is_start)), Ok(()));
    }
    let peers = |vr_id, addrs: &[&str]| VrrpVrSetPeers {
        sw_if_index: port,
        vr_id,
        is_ipv6: 0,
        addrs: addrs.iter().map(|text| Address::from(ip(text))).collect(),
    };
    assert_eq!(client.call(peers(7, &["10.0.0.2"])), Err(-73), "it isn't unicast");
    let flags = VrrpVrFlags::UNICAST;
    assert_eq!(client.call(VrrpVrAddDel { flags, ..add(&rig, 9, 1, 1, &["10.0.0.7"]) }), Ok(()));
    assert_eq!(client.call(start(9, 1)), Err(-144));
    assert_eq!(client.call(peers(9, &[])), Err(-58));
    assert_eq!(client.call(peers(9, &["2001:db8::2"])), Err(-73));
    assert_eq!(client.call(peers(9, &["10.0.0.2", "10.0.0.3"])), Ok(()));
    assert_eq!(client.call(start(9, 1)), Ok(()));
    assert_eq!(client.call(peers(9, &["10.0.0.2"])), Err(-155));
    let track = |is_add, sw_if_index, priority| VrrpVrTrackIfAddDel {
        sw_if_index: port,
        is_ipv6: 0,
        vr_id: 7,
        is_add,
        ifs: vec![VrrpVrTrackIf { sw_if_index, priority }],
    };
    assert_eq!(client.call(track(1, port, 10)), Err(-10), "its own");
    assert_eq!(client.call(track(1, InterfaceIndex(77), 10)), Err(-10));
    assert_eq!(client.call(track(1, rig.ports[1].into(), 0)), Err(-7));
    assert_eq!(client.call(track(0, rig.ports[1].into(), 10)), Err(-6));
    assert_eq!(client.call(track(1, rig.ports[1].into(), 10)), Ok(()));
    let tracked =
        client.dump(VrrpVrTrackIfDump { sw_if_index: port, is_ipv6: 0, vr_id: 7, dump_all: 0 });
    assert_eq!(tracked.len(), 1);
    assert_eq!(tracked[0].ifs[0].priority, 10);
    let all = VrrpVrTrackIfDump { sw_if_index: ALL, is_ipv6: 0, vr_id: 0, dump_all: 1 };
    assert_eq!(client.dump(all), tracked);
    let dump = VrrpVrPeerDump { sw_if_index: ALL, is_ipv6: 0, vr_id: 0 };
    let listed = client.dump(dump);
    assert_eq!((listed.len(), listed[0].vr_id, listed[0].peer_addrs.len()), (1, 9, 2));
}

#[suite::test]
fn a_router_is_changed_in_place() {
    let mut rig = rig(1);
    let port = InterfaceIndex::from(rig.ports[0]);
    let update = |vrrp_index, vr_id, priority, addresses: &[&str]| VrrpVrUpdate {
        vrrp_index,
        sw_if_index: port,
        vr_id,
        priority,
        interval: 10,
        flags: VrrpVrFlags::PREEMPT,
        addrs: addresses.iter().map(|text| Address::from(ip(text))).collect(),
    };
    let mut client = rig.bench.api();
    let made = client.call(update(u32::MAX, 7, 100, &["10.0.0.9"])).expect("made");
    assert_eq!(made.vrrp_index, 0);
    let again = client.call(update(u32::MAX, 7, 100, &["10.0.0.9"]));
    assert_eq!(again.err(), Some(-116));
    assert_eq!(client.call(update(0, 8, 100, &["10.0.0.9"])).err(), Some(-73));
    assert_eq!(client.call(update(5, 7, 100, &["10.0.0.9"])).err(), Some(-6));
    drop(client);
    rig.cli("vrrp proto start p0 vr_id 7");
    pass(&mut rig, 40);
    assert_eq!(state(&rig, 7, false), State::Master);
    sent(&rig);
    let mut client = rig.bench.api();
    let changed = client.call(update(0, 7, 200, &["10.0.0.8", "10.0.0.7"])).expect("changed");
    assert_eq!(changed.vrrp_index, 0);
    let shown = client.dump(VrrpVrDump { sw_if_index: port });
    assert_eq!((shown[0].config.priority, shown[0].addrs.len()), (200, 2));
    assert_eq!(shown[0].runtime.state, VrrpVrState::Master, "it goes on");
    drop(client);
    rig.bench.settle();
    // The advertisement, and two announcements.
    let frames = sent(&rig);
    assert_eq!((frames.len(), frames[0][36], frames[0][37]), (3, 200, 2));
    assert_eq!(rig.world().get::<net::FurtherMacs>().list(rig.ports[0]).len(), 1);
    let mut client = rig.bench.api();
    assert_eq!(client.call(VrrpVrDel { vrrp_index: 0 }), Ok(()));
    assert_eq!(client.call(VrrpVrDel { vrrp_index: 0 }), Err(-6));
}

#[suite::test]
fn clients_see_states_and_their_changes() {
    let mut rig = rig(1);
    rig.cli("vrrp vr add p0 vr_id 7 accept_mode 10.0.0.9 10.0.0.10");
    let world = rig.world();
    let mut client = msg::Loopback::new(&*world, &world.api);
    assert_eq!(client.call(WantVrrpVrEvents { enable_disable: true, pid: 1 }), Ok(()));
    rig.cli("vrrp proto start p0 vr_id 7");
    pass(&mut rig, 400);
    rig.cli("vrrp proto stop p0 vr_id 7");
    let events = client.events::<VrrpVrEvent>();
    let states: Vec<_> = events.iter().map(|(_, e)| (e.old_state, e.new_state)).collect();
    assert_eq!(
        states,
        [
            (VrrpVrState::Init, VrrpVrState::Backup),
            (VrrpVrState::Backup, VrrpVrState::Master),
            (VrrpVrState::Master, VrrpVrState::Init),
        ]
    );
    assert_eq!((events[0].1.vr.vr_id, events[0].1.vr.is_ipv6), (7, 0));
    let all = client.dump(VrrpVrDump { sw_if_index: ALL });
    let [vr] = &all[..] else { panic!("{all:?}") };
    assert_eq!(vr.config.flags, VrrpVrFlags::PREEMPT | VrrpVrFlags::ACCEPT);
    let runtime = &vr.runtime;
    assert_eq!((runtime.master_adv_int, runtime.skew, runtime.master_down_int), (100, 60, 360));
    assert_eq!(runtime.mac.0, [0, 0, 0x5e, 0, 1, 7]);
    assert_eq!((runtime.tracking.interfaces_dec, runtime.tracking.priority), (0, 100));
    assert_eq!(
        rig.cli("show vrrp vr p0"),
        "[0] sw_if_index 1 VR ID 7 IPv4\n   \
            state Initialize flags: preempt yes accept yes unicast no\n   \
            priority: configured 100 adjusted 100\n   \
            timers: adv interval 100 master adv 100 skew 60 master down 360\n   \
            virtual MAC 00:00:5e:00:01:07\n   \
            addresses 10.0.0.9 10.0.0.10 \n   \
            peer addresses \n   \
            tracked interfaces\n"
    );
    assert!(rig.cli("show vrrp vr -j").contains("\"state\": \"Initialize\""));
}
