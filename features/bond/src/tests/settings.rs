// SPDX-License-Identifier: Apache-2.0
//! Addresses, MTUs, link state, conditions for members, and commands that show bonds.

use super::*;
use crate::Stage;
use net::MtuKind;
use std::sync::{Arc, Mutex};

fn mac(rig: &Rig, name: &str) -> MacAddr {
    rig.world().get::<Interfaces>().get(find(rig, name)).expect("there").mac
}

#[suite::test]
fn members_have_the_bonds_address_while_they_are_members() {
    let mut rig = Rig::new(PLUGINS, 3);
    rig.cli("create bond mode xor");
    let random = mac(&rig, "BondEthernet0");
    assert_eq!(random.octets()[..2], [2, 0xfe]);
    rig.cli("bond add BondEthernet0 p1");
    rig.cli("bond add BondEthernet0 p0");
    for name in ["BondEthernet0", "p0", "p1"] {
        assert_eq!(mac(&rig, name), port_mac(1), "{name}: the first member's");
    }
    assert_eq!(rig.refused("set interface mac address p0 02:00:00:00:00:33").0, -80);
    rig.cli("set interface mac address BondEthernet0 02:00:00:00:00:44");
    let new = MacAddr([2, 0, 0, 0, 0, 0x44]);
    assert_eq!((mac(&rig, "p0"), mac(&rig, "p1")), (new, new));
    rig.cli("bond del p0");
    assert_eq!((mac(&rig, "p0"), mac(&rig, "p1")), (port_mac(0), new));
    rig.cli("delete bond BondEthernet0");
    assert_eq!(mac(&rig, "p1"), port_mac(1));
    rig.cli("create bond mode xor hw-addr 02:00:00:00:00:55 id 4");
    rig.cli("bond add BondEthernet4 p2");
    assert_eq!(mac(&rig, "p2"), MacAddr([2, 0, 0, 0, 0, 0x55]), "one of its own");
    // Its device appears, with another address than was expected.
    let world = rig.world();
    let later = MacAddr([2, 0, 0, 0, 0, 0x66]);
    world.get::<Interfaces>().note_made(&world, rig.ports[2], later, 1500).expect("noted");
    assert_eq!(mac(&rig, "p2"), MacAddr([2, 0, 0, 0, 0, 0x55]), "the bond's still");
    rig.cli("bond del p2");
    assert_eq!(mac(&rig, "p2"), later);
    rig.cli("bond add BondEthernet4 p2");
    rig.delete_port(2);
    assert_eq!(rig.world().get::<Bonds>().list()[0].members, []);
}

#[suite::test]
fn the_mtu_is_the_smallest_of_the_members_or_the_operators() {
    let mut rig = Rig::new(PLUGINS, 2);
    let mtu = |rig: &Rig, name: &str| {
        rig.world().get::<Interfaces>().get(find(rig, name)).expect("there").mtu_of(MtuKind::Link)
    };
    rig.cli("create bond mode xor");
    assert_eq!(mtu(&rig, "BondEthernet0"), 9000);
    rig.cli("bond add BondEthernet0 p0");
    assert_eq!(mtu(&rig, "BondEthernet0"), 1500);
    rig.cli("set interface mtu 1400 p1");
    rig.cli("bond add BondEthernet0 p1");
    assert_eq!((mtu(&rig, "BondEthernet0"), mtu(&rig, "p0")), (1400, 1500));
    rig.cli("set interface mtu 1300 BondEthernet0");
    assert_eq!((mtu(&rig, "p0"), mtu(&rig, "p1")), (1300, 1300));
    rig.cli("bond del p1");
    assert_eq!((mtu(&rig, "p0"), mtu(&rig, "p1")), (1300, 1400), "its own again");
    rig.cli("set interface mtu 0 BondEthernet0");
    assert_eq!((mtu(&rig, "BondEthernet0"), mtu(&rig, "p0")), (1500, 1500));
    rig.cli("bond add BondEthernet0 p1");
    rig.cli("set interface mtu 1200 BondEthernet0");
    rig.cli("set interface mtu 1100 p0");
    assert_eq!(
        (mtu(&rig, "BondEthernet0"), mtu(&rig, "p0")),
        (1200, 1200),
        "the bond's comes first"
    );
    rig.cli("set interface mtu 0 p0");
    rig.cli("set interface mtu 0 BondEthernet0");
    assert_eq!(mtu(&rig, "BondEthernet0"), 1400);
    assert_eq!((mtu(&rig, "p0"), mtu(&rig, "p1")), (1500, 1400), "each its own");
    rig.cli("bond del p1");
    rig.cli("bond del p0");
    assert_eq!(mtu(&rig, "BondEthernet0"), 9000);
}

#[suite::test]
fn the_link_is_up_while_the_bond_and_a_member_are() {
    let mut rig = Rig::new(PLUGINS, 2);
    let up = |rig: &Rig| {
        rig.world().get::<Interfaces>().get(find(rig, "BondEthernet0")).expect("there").link_up
    };
    for (line, want) in [
        ("create bond mode round-robin", false),
        ("set interface state BondEthernet0 up", false),
        ("bond add BondEthernet0 p0", true),
        ("set interface state p0 down", false),
        ("bond add BondEthernet0 p1", true),
        ("set interface state BondEthernet0 down", false),
        ("set interface state BondEthernet0 up", true),
        ("bond del p1", false),
        ("set interface state p0 up", true),
    ] {
        rig.cli(line);
        assert_eq!(up(&rig), want, "{line}");
    }
    let world = rig.world();
    world.get::<Interfaces>().set_link(&world, rig.ports[0], false).expect("set");
    assert!(!up(&rig), "the cable");
}

#[suite::test]
fn what_can_be_a_member_and_what_not() {
    let mut rig = Rig::new(PLUGINS, 4);
    for line in [
        "create bond mode xor",
        "create bond mode xor",
        "bond add BondEthernet0 p0",
        "create sub-interfaces p1 10",
        "set interface l2 bridge p2 1",
    ] {
        rig.cli(line);
    }
    for (line, code) in [
        ("bond add BondEthernet0 p0", -81),
        ("bond add BondEthernet1 p0", -81),
        ("bond add p3 p2", -71),
        ("bond add BondEthernet0 BondEthernet1", -71),
        ("bond add BondEthernet0 local0", -71),
        ("bond add BondEthernet0 p1", -71),
        ("bond add BondEthernet0 p1.10", -71),
        ("bond add BondEthernet0 p2", -71),
        ("bond del p3", -71),
        ("bond del BondEthernet0", -71),
        ("create sub-interfaces p0 10", -80),
        ("set interface l2 bridge p0 1", -80),
        ("set interface bond p3 weight 1", -71),
        ("set interface bond p0 weight 1", -73),
        ("set interface bond sw_if_index 99 weight 1", -2),
        ("create bond mode xor id 1", -147),
        ("create bond mode lacp", -30),
        ("create bond mode broadcast load-balance l2", -73),
        ("create bond mode xor hw-addr 01:00:00:00:00:01", -7),
        ("delete bond p0", -2),
        ("delete bond sw_if_index 99", -2),
    ] {
        assert_eq!(rig.refused(line).0, code, "{line}");
    }
    rig.cli("delete bond sw_if_index 5");
    assert_eq!(rig.cli("create bond mode xor"), "BondEthernet0\n", "the first free number");
}

#[suite::test]
fn promiscuity_reaches_the_members() {
    #[derive(Default)]
    struct Seen(Mutex<Vec<bool>>);
    impl net::Device for Seen {
        fn driver(&self) -> &'static str {
            "test"
        }
        fn set_promiscuous(&self, _: &World, on: bool) -> Result<(), cli::Error> {
            self.0.lock().expect("no panic").push(on);
            Ok(())
        }
    }
    let mut rig = Rig::new(PLUGINS, 0);
    let device = Arc::new(Seen::default());
    let mut new = net::drive::ethernet("s0", host(1));
    new.device = device.clone();
    let world = rig.world();
    world.get::<Interfaces>().create(&world, new, |_, _, _| net::drive::Tx).expect("made");
    let last = |want: bool| assert_eq!(device.0.lock().expect("no panic").last(), Some(&want));
    rig.cli("create bond mode xor");
    rig.cli("set interface l2 bridge BondEthernet0 1");
    rig.cli("bond add BondEthernet0 s0");
    last(true);
    rig.cli("set interface l3 BondEthernet0");
    last(false);
    rig.cli("set interface promiscuous on BondEthernet0");
    last(true);
    rig.cli("set interface promiscuous on s0");
    rig.cli("set interface promiscuous off BondEthernet0");
    last(true);
    rig.cli("set interface promiscuous off s0");
    last(false);
    rig.cli("set interface promiscuous on BondEthernet0");
    last(true);
    rig.cli("set interface promiscuous off s0");
    last(true);
    rig.cli("bond del s0");
    last(false);
}

#[suite::test]
fn bonds_are_shown() {
    let mut rig = Rig::new(PLUGINS, 2);
    rig.cli("create bond mode active-backup hw-addr 02:00:00:00:00:55 id 3 gso");
    rig.cli("bond add BondEthernet3 p1");
    rig.cli("bond add BondEthernet3 p0 long-timeout passive");
    rig.cli("set interface bond p0 weight 4");
    let said = rig.cli("show bond");
    let words: Vec<Vec<&str>> =
        said.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(
        words[0].join(" "),
        "interface name sw_if_index mode load balance active members members"
    );
    assert_eq!(words[1], ["BondEthernet3", "3", "active-backup", "active-backup", "2", "2"]);
    let details = rig.cli("show bond details");
    assert_eq!(
        details,
        "BondEthernet3\n  mode: active-backup\n  load balance: active-backup\n  gso enable\n  number of active members: 2\n    p0\n    p1\n  \
         number of members: 2\n    p1\n    p0 passive long-timeout weight 4\n  interface id: 3\n  sw_if_index: 3\n"
    );
    for line in ["show bond -j", "show bond details -j"] {
        let json: serde_json::Value = serde_json::from_str(&rig.cli(line)).expect("JSON");
        assert_eq!(json[0]["active_members"], serde_json::json!(["p0", "p1"]));
        assert_eq!(json[0]["members"][1]["weight"], 4);
    }
    assert!(rig.cli("show hardware-interfaces BondEthernet3").contains("driver bond"));
}

/// A device that refuses one kind of setting while a test wants it to, and records the others.
#[derive(Default)]
struct Stubborn {
    refuses: Mutex<&'static str>,
    mac: Mutex<Option<MacAddr>>,
    /// All MTUs that were set.
    mtus: Mutex<Vec<u16>>,
}

impl Stubborn {
    fn check(&self, what: &str) -> Result<(), cli::Error> {
        let refuses = *self.refuses.lock().expect("no panic");
        if refuses == what { Err(cli::Error::failed(format!("no {what}"))) } else { Ok(()) }
    }
}

impl net::Device for Stubborn {
    fn driver(&self) -> &'static str {
        "test"
    }
    fn set_mac(&self, _: &World, mac: MacAddr) -> Result<(), cli::Error> {
        self.check("address").map(|()| *self.mac.lock().expect("no panic") = Some(mac))
    }
    fn set_mtu(&self, _: &World, mtu: u16) -> Result<(), cli::Error> {
        self.check("MTU").map(|()| self.mtus.lock().expect("no panic").push(mtu))
    }
    fn set_promiscuous(&self, _: &World, _: bool) -> Result<(), cli::Error> {
        self.check("promiscuity")
    }
}

/// Whatever its device refuses, an interface that can't join is no member, and the bond is as it
/// was.
#[suite::test]
fn a_device_that_refuses_leaves_all_as_it_was() {
    for (first, what) in
        ["address", "MTU", "promiscuity"].into_iter().flat_map(|w| [(true, w), (false, w)])
    {
        let mut rig = Rig::new(PLUGINS, 1);
        let device = Arc::new(Stubborn::default());
        let mut new = net::drive::ethernet("s0", host(1));
        new.device = device.clone();
        let world = rig.world();
        let sw_if =
            world.get::<Interfaces>().create(&world, new, |_, _, _| net::drive::Tx).expect("made");
        rig.cli("create bond mode xor");
        rig.cli("set interface mtu 1300 BondEthernet0");
        if !first {
            rig.cli("bond add BondEthernet0 p0");
        }
        let state = |rig: &Rig| {
            let interfaces = rig.world().get::<Interfaces>();
            let of = |name| interfaces.get(find(rig, name)).expect("there");
            let bonds = rig.world().get::<Bonds>().list();
            let brief = |i: net::Interface| {
                (i.mac, i.mtu_of(MtuKind::Link), i.original.mac, i.original.mtu, i.kept_mac)
            };
            (brief(of("BondEthernet0")), brief(of("s0")), brief(of("p0")), bonds)
        };
        let before = state(&rig);
        *device.refuses.lock().expect("no panic") = what;
        assert_eq!(rig.refused("bond add BondEthernet0 s0").1, format!("no {what}"));
        assert_eq!(state(&rig), before, "{what} {first}");
        assert_eq!(rig.refused("bond del s0").0, -71);
        *device.refuses.lock().expect("no panic") = "";
        rig.cli("bond add BondEthernet0 s0");
        let bond = rig.world().get::<Interfaces>().get(find(&rig, "BondEthernet0")).expect("there");
        assert_eq!(*device.mac.lock().expect("no panic"), Some(bond.mac));
        let mtus = || std::mem::take(&mut *device.mtus.lock().expect("no panic"));
        assert_eq!(mtus().last(), Some(&1300));
        rig.cli("set interface mtu 1350 BondEthernet0");
        assert_eq!(mtus(), [1350], "once");
        rig.cli("set interface mtu 1300 BondEthernet0");

        // A bond's new address or MTU is all members', or none's.
        rig.cli(if first { "bond add BondEthernet0 p0" } else { "set interface state p0 up" });
        let before = state(&rig);
        *device.refuses.lock().expect("no panic") = what;
        let refused = [
            ("address", "set interface mac address BondEthernet0 02:00:00:00:00:44"),
            ("MTU", "set interface mtu 1200 BondEthernet0"),
            ("promiscuity", "set interface promiscuous on BondEthernet0"),
        ];
        let (_, line) = refused.into_iter().find(|(of, _)| *of == what).expect("one of them");
        assert_eq!(rig.refused(line).1, format!("no {what}"));
        assert_eq!(state(&rig), before, "{line}");

        // A member whose device refuses its old settings leaves nevertheless.
        rig.bench.cli("bond del s0").expect_err("refused");
        assert_eq!(world.get::<Interfaces>().get(sw_if).expect("there").kept_mac, None);
        assert_eq!(world.get::<Bonds>().bond_of(sw_if), None);
        assert_eq!(world.get::<Bonds>().list()[0].members.len(), 1);
        assert_eq!(rig.refused("bond del s0").0, -71);
    }
}

/// The feature that runs LACP is notified of members, and sets their stages.
#[suite::test]
fn lacp_decides_which_members_are_active() {
    static HEARD: Mutex<Vec<(u32, bool)>> = Mutex::new(Vec::new());

    let mut rig = Rig::new(PLUGINS, 3);
    let world = rig.world();
    let lacp = Lacp {
        joined: |_, member: &MemberInfo| {
            HEARD.lock().expect("no panic").push((member.sw_if.0, member.passive))
        },
        left: |_, sw_if| HEARD.lock().expect("no panic").push((sw_if.0, false)),
    };
    register_lacp(&world, lacp).expect("the first");
    assert!(register_lacp(&world, lacp).is_err());
    for line in [
        "create bond mode lacp load-balance l34",
        "create bond mode xor",
        "bond add BondEthernet0 p0 passive",
        "bond add BondEthernet0 p1",
        "bond add BondEthernet1 p2",
        "set interface state BondEthernet0 up",
    ] {
        rig.cli(line);
    }
    let bonds = world.get::<Bonds>();
    let group = frame(host(1), MacAddr::BROADCAST, 1);
    let active = || bonds.list()[0].active.iter().map(|sw_if| sw_if.0).collect::<Vec<_>>();
    assert_eq!((active(), rig.refused("show lacp").0), (vec![], -1));
    bonds.set_stage(&world, rig.ports[1], Stage::Collecting);
    rig.receive_all(1, std::slice::from_ref(&group));
    assert_eq!(
        (active(), rig.count("bond-input", "no error")),
        (vec![], 1),
        "it takes frames and sends none"
    );
    bonds.set_stage(&world, rig.ports[1], Stage::Distributing);
    assert_eq!(active(), [rig.ports[1].0]);
    rig.receive_all(0, std::slice::from_ref(&group));
    assert_eq!(rig.count("bond-input", "not_collecting"), 1);
    rig.receive_all(1, std::slice::from_ref(&group));
    assert_eq!(rig.count("bond-input", "no error"), 2);
    bonds.set_stage(&world, rig.ports[0], Stage::Distributing);
    assert_eq!(active(), [rig.ports[0].0, rig.ports[1].0]);
    bonds.set_stage(&world, rig.ports[1], Stage::Idle);
    assert_eq!(active(), [rig.ports[0].0]);
    bonds.set_stage(&world, rig.ports[2], Stage::Idle);
    rig.cli("bond del p1");
    rig.cli("delete bond BondEthernet0");
    let [a, b] = [rig.ports[0].0, rig.ports[1].0];
    assert_eq!(*HEARD.lock().expect("no panic"), [(a, true), (b, false), (b, false), (a, false)]);
}
