// SPDX-License-Identifier: Apache-2.0
//! A whole instance beside another router.

use super::*;
use crate::counters::Event;
use net::{Addresses, FurtherMacs};
use wire::{Ip4, Ip6};

const VMAC: MacAddr = MacAddr([0, 0, 0x5e, 0, 1, 7]);

#[suite::test]
fn a_backup_takes_over_from_a_silent_master_and_gives_back() {
    let mut rig = rig(1);
    rig.cli("vrrp vr add p0 vr_id 7 10.0.0.9");
    rig.cli("vrrp proto start p0 vr_id 7");
    assert_eq!((state(&rig, 7, false), sent(&rig).len()), (State::Backup, 1), "the report");
    // The master speaks for 3 s, then no more: 300 cs + 156 × 100 / 256 cs.
    for _ in 0..3 {
        rig.receive_all(0, &[advertisement(7, 200, "10.0.0.2", "10.0.0.9")]);
        pass(&mut rig, 100);
    }
    assert_eq!(sent(&rig), Vec::<Vec<u8>>::new());
    pass(&mut rig, 260);
    assert_eq!(state(&rig, 7, false), State::Backup);
    pass(&mut rig, 1);
    assert_eq!(state(&rig, 7, false), State::Master);
    let frames = sent(&rig);
    let kinds: Vec<_> = frames.iter().map(|f| (f[..6].to_vec(), f[6..12].to_vec())).collect();
    let own = net::drive::port_mac(0).0.to_vec();
    let virtual_mac = VMAC.0.to_vec();
    assert_eq!(
        kinds,
        [
            (vec![1, 0, 0x5e, 0, 0, 22], own),
            (vec![1, 0, 0x5e, 0, 0, 18], virtual_mac.clone()),
            (vec![255; 6], virtual_mac),
        ]
    );
    let content = Content {
        id: 7,
        priority: 100,
        interval: 100,
        addresses: &[ip("10.0.0.9")],
        is_plain: false,
    };
    let ours = content.frame(VMAC, ip("10.0.0.1"));
    assert_eq!(frames[1], ours);
    assert_eq!(rig.world().get::<FurtherMacs>().list(rig.ports[0]), [VMAC]);
    pass(&mut rig, 300);
    assert_eq!(sent(&rig), vec![ours.clone(); 3]);
    // A lower priority is answered at once.
    rig.receive_all(0, &[advertisement(7, 50, "10.0.0.3", "10.0.0.9")]);
    assert_eq!((state(&rig, 7, false), sent(&rig)), (State::Master, vec![ours]));
    // The master is back.
    rig.receive_all(0, &[advertisement(7, 200, "10.0.0.2", "10.0.0.9")]);
    assert_eq!((state(&rig, 7, false), sent(&rig).len()), (State::Backup, 1));
    assert_eq!(rig.world().get::<FurtherMacs>().list(rig.ports[0]), []);
    // It takes leave: the backup waits for the skew only.
    rig.receive_all(0, &[advertisement(7, 0, "10.0.0.2", "10.0.0.9")]);
    pass(&mut rig, 60);
    assert_eq!(state(&rig, 7, false), State::Backup);
    pass(&mut rig, 1);
    assert_eq!(state(&rig, 7, false), State::Master);
    sent(&rig);
    rig.cli("vrrp proto stop p0 vr_id 7");
    let leave = Content { priority: 0, ..content }.frame(VMAC, ip("10.0.0.1"));
    assert_eq!((state(&rig, 7, false), sent(&rig)), (State::Init, vec![leave]));
    pass(&mut rig, 500);
    assert!(sent(&rig).is_empty());
    let count = |event| vrrp(&rig).counters.of(0, event);
    assert_eq!((count(Event::Master), count(Event::Received)), (2, 6));
    assert_eq!((count(Event::Sent), count(Event::SentZero)), (7, 1));
    assert_eq!((count(Event::ReceivedZero), count(Event::Preempted)), (1, 1));
    assert_eq!(rig.count("vrrp4-input", "VRRP packets processed"), 6);
}

#[suite::test]
fn the_form_of_the_checksum_follows_the_master() {
    let mut rig = rig(1);
    rig.cli("vrrp vr add p0 vr_id 7 10.0.0.9");
    rig.cli("vrrp proto start p0 vr_id 7");
    let theirs =
        Content { id: 7, priority: 200, interval: 1, addresses: &[ip("10.0.0.9")], is_plain: true };
    rig.receive_all(0, &[theirs.frame(VMAC, ip("10.0.0.2"))]);
    sent(&rig);
    pass(&mut rig, 10);
    let ours = Content { priority: 100, interval: 100, ..theirs };
    assert_eq!(sent(&rig)[1], ours.frame(VMAC, ip("10.0.0.1")));
}

#[suite::test]
fn ip6_and_ip4_have_virtual_routers_of_their_own() {
    let mut rig = rig(1);
    rig.cli("vrrp vr add p0 vr_id 7 ipv6 interval 10 fe80::9 2001:db8:0::9");
    rig.cli("vrrp vr add p0 vr_id 7 interval 10 10.0.0.9");
    rig.cli("vrrp proto start p0 vr_id 7 ipv6");
    pass(&mut rig, 50);
    assert_eq!((state(&rig, 7, true), state(&rig, 7, false)), (State::Master, State::Init));
    let frames = sent(&rig);
    let to = |frame: &Vec<u8>| frame[..6].to_vec();
    // Two reports, as backup and as master; the advertisement; two announcements.
    assert_eq!(
        frames[..5].iter().map(to).collect::<Vec<_>>(),
        [
            [0x33, 0x33, 0, 0, 0, 0x16],
            [0x33, 0x33, 0, 0, 0, 0x16],
            [0x33, 0x33, 0, 0, 0, 0x12],
            [0x33, 0x33, 0, 0, 0, 1],
            [0x33, 0x33, 0, 0, 0, 1],
        ]
    );
    assert_eq!(frames[2][6..12], [0, 0, 0x5e, 0, 2, 7]);
    let mut two = advertisement(7, 200, "fe80::2", "fe80::9");
    rig.receive_all(0, &[two.clone()]);
    assert_eq!(rig.count("vrrp6-input", "VR addrs do not match configuration"), 1);
    let content = Content {
        id: 7,
        priority: 200,
        interval: 10,
        addresses: &[ip("fe80::9"), ip("2001:db8:0::9")],
        is_plain: false,
    };
    two = content.frame(MacAddr([0, 0, 0x5e, 0, 2, 7]), ip("fe80::2"));
    rig.receive_all(0, &[two]);
    assert_eq!(state(&rig, 7, true), State::Backup);
}

#[suite::test]
fn accept_mode_gives_a_master_the_addresses() {
    let mut rig = rig(1);
    rig.cli("vrrp vr add p0 vr_id 7 accept_mode 10.0.0.9 192.0.2.1");
    rig.cli("vrrp vr add p0 vr_id 8 ipv6 accept_mode fe80::9 2001:db8:0::9 2001:db8:77::9");
    rig.cli("vrrp proto start p0 vr_id 7");
    rig.cli("vrrp proto start p0 vr_id 8 ipv6");
    let list = |rig: &Rig| {
        let (world, port) = (rig.world(), rig.ports[0]);
        let ip4 = world.get::<Addresses<Ip4>>().own(port).into_iter().map(|p| p.to_string());
        let ip6 = world.get::<Addresses<Ip6>>().own(port).into_iter().map(|p| p.to_string());
        ip4.chain(ip6).collect::<Vec<_>>()
    };
    assert_eq!(list(&rig), ["10.0.0.1/24", "2001:db8::1/64"]);
    pass(&mut rig, 400);
    assert_eq!(
        list(&rig),
        [
            "10.0.0.1/24",
            "10.0.0.9/24",
            "192.0.2.1/24",
            "2001:db8::1/64",
            "2001:db8::9/64",
            "2001:db8:77::9/64",
        ]
    );
    // They aren't part of the configuration, and nothing is sent from them.
    let lines: Vec<_> = rig.world().config_lines().all(&rig.world());
    let lines = lines.iter().filter(|l| l.text.starts_with("set interface ip address"));
    assert_eq!(lines.count(), 2);
    // The owner of the addresses advertises from one that is ours for now.
    let owner = Content {
        id: 7,
        priority: 255,
        interval: 100,
        addresses: &[ip("10.0.0.9"), ip("192.0.2.1")],
        is_plain: false,
    };
    rig.receive_all(0, &[owner.frame(VMAC, ip("10.0.0.9"))]);
    let accepted = "VRRP owner accept advertisements processed";
    assert_eq!(rig.count("vrrp4-accept-owner-input", accepted), 1);
    assert_eq!(state(&rig, 7, false), State::Backup);
    rig.cli("vrrp vr del p0 vr_id 8 ipv6");
    assert_eq!(list(&rig), ["10.0.0.1/24", "2001:db8::1/64"]);
}

#[suite::test]
fn a_unicast_router_sends_to_its_peers_from_its_own_mac_address() {
    let mut rig = rig(1);
    rig.cli("vrrp vr add p0 vr_id 7 unicast interval 10 10.0.0.9");
    assert_eq!(rig.refused("vrrp proto start p0 vr_id 7").0, -144);
    rig.cli("vrrp peers p0 vr_id 7 10.0.0.2");
    rig.cli("vrrp proto start p0 vr_id 7");
    assert!(sent(&rig).is_empty(), "no report");
    pass(&mut rig, 40);
    assert_eq!(state(&rig, 7, false), State::Master);
    let content = Content {
        id: 7,
        priority: 100,
        interval: 10,
        addresses: &[ip("10.0.0.9")],
        is_plain: false,
    };
    let packet = content.packet(ip("10.0.0.1"), ip("10.0.0.2"));
    let ethernet = [&peer_mac(0).0[..], &net::drive::port_mac(0).0, &[8, 0]].concat();
    assert_eq!(sent(&rig)[0], [ethernet, packet].concat());
    assert_eq!(rig.world().get::<FurtherMacs>().list(rig.ports[0]), []);
    // From a peer, to us.
    let better = Content { priority: 101, ..content }.packet(ip("10.0.0.2"), ip("10.0.0.1"));
    let frame = [&net::drive::port_mac(0).0[..], &peer_mac(0).0, &[8, 0], &better].concat();
    rig.receive_all(0, &[frame]);
    assert_eq!(state(&rig, 7, false), State::Backup);
}

#[suite::test]
fn interfaces_that_are_down_lower_the_priority_or_end_the_state() {
    let mut rig = rig(3);
    rig.cli("vrrp vr add p0 vr_id 7 priority 200 10.0.0.9");
    rig.cli("vrrp vr track-if add p0 vr_id 7 track p1 priority 50 track p2 priority 190");
    let priority = |rig: &Rig| vrrp(rig).get(&rig.world(), 0).expect("it is there").priority;
    assert_eq!(priority(&rig), 200);
    rig.cli("set interface state p1 down");
    assert_eq!(priority(&rig), 150);
    rig.cli("set interface state p2 down");
    assert_eq!(priority(&rig), 1, "at least");
    rig.cli("set interface state p1 up");
    assert_eq!(priority(&rig), 10);
    rig.cli("vrrp vr track-if del p0 vr_id 7 track p2 priority 190");
    assert_eq!(priority(&rig), 200);
    rig.delete_port(1);
    assert_eq!(priority(&rig), 200, "an interface that is gone isn't tracked");
    rig.cli("vrrp proto start p0 vr_id 7");
    pass(&mut rig, 400);
    assert_eq!(state(&rig, 7, false), State::Master);
    sent(&rig);
    rig.cli("set interface state p0 down");
    assert_eq!((state(&rig, 7, false), sent(&rig).len()), (State::InterfaceDown, 0));
    pass(&mut rig, 400);
    rig.cli("set interface state p0 up");
    assert_eq!(state(&rig, 7, false), State::Backup);
    rig.cli("set interface ip address del p0 10.0.0.1/24");
    assert_eq!(state(&rig, 7, false), State::InterfaceDown, "nothing to send from");
    rig.cli("set interface ip address p0 10.0.0.1/24");
    assert_eq!(state(&rig, 7, false), State::Backup);
    rig.delete_port(0);
    assert!(vrrp(&rig).indices().is_empty());
}
