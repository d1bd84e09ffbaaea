// SPDX-License-Identifier: Apache-2.0
//! Modes of interfaces, and their end.

use super::*;
use crate::{Bridge, Mode};
use net::IfFlags;

#[suite::test]
fn a_cross_connect_has_one_direction() {
    let mut rig = rig(3);
    rig.cli("set interface l2 xconnect p0 p1");
    rig.cli("set interface l2 xconnect p1 p2");
    rig.cli("set interface l2 bridge p2 1");
    for dst in [host(2), MacAddr::BROADCAST, MacAddr([1, 0x80, 0xc2, 0, 0, 0])] {
        let frame = frame_to(host(1), dst, 9);
        assert_eq!(rig.pass(0, &frame), at(&[1], &frame));
        assert_eq!(rig.pass(1, &frame), at(&[2], &frame), "not back to p0");
    }
    assert_eq!(rig.pass(2, &frame(1, 2, 0)), [], "p2 is alone in its domain");
    assert_eq!(rig.world().get::<Bridge>().entry_count(), 1);
    rig.cli("set interface l3 p0");
    assert_eq!(rig.pass(0, &frame(1, 2, 0)), [], "p0 routes");
    assert_eq!(rig.count("ethernet-input", "l3 mac mismatch"), 1);
}

#[suite::test]
fn tags_stay_and_runts_pass() {
    let mut rig = bridged(2);
    let mut tagged = frame(1, 2, 4);
    tagged.splice(12..12, [0x81, 0, 0x20, 7, 0x81, 0, 0, 9]);
    assert_eq!(rig.pass(0, &tagged), at(&[1], &tagged));
    let runt = frame(1, 2, 0)[..14].to_vec();
    assert_eq!(rig.pass(0, &runt), at(&[1], &runt));
    assert_eq!(rig.pass(0, &runt[..13]), []);
    assert_eq!(rig.count("ethernet-input", "too_short"), 1);
}

#[suite::test]
fn a_new_mode_ends_the_old_one() {
    let mut rig = bridged(3);
    rig.cli("set interface l2 xconnect p0 p1");
    let frame = frame(1, 2, 0);
    assert_eq!(rig.pass(0, &frame), at(&[1], &frame));
    assert_eq!(rig.pass(1, &frame), at(&[2], &frame), "p0 is no member any more");
    rig.cli("set interface l2 bridge p0 7 3");
    assert_eq!(rig.pass(0, &frame), []);
    assert_eq!(
        rig.cli("show mode p0 p1 p2"),
        "l2 bridge p0 bd_id 7 shg 3\nl2 bridge p1 bd_id 1 shg 0\nl2 bridge p2 bd_id 1 shg 0\n"
    );
    rig.cli("set interface l3 p0");
    rig.cli("set interface l2 xconnect p1 p2");
    let shown = rig.cli("show mode");
    assert!(shown.ends_with("l3 p0\nl2 xconnect p1 p2\nl2 bridge p2 bd_id 1 shg 0\n"), "{shown}");
    let json: serde_json::Value = serde_json::from_str(&rig.cli("show mode p1 -j")).expect("JSON");
    assert_eq!(
        json,
        serde_json::json!([{ "interface": "p1", "mode": "l2 xconnect", "peer": "p2" }])
    );
}

#[suite::test]
fn output_to_an_interface_that_is_not_switched_is_dropped_by_name() {
    let mut rig = rig(3);
    rig.cli("set interface l2 xconnect p0 p1");
    assert_eq!(rig.pass(0, &frame(1, 2, 0)), []);
    assert_eq!(rig.count("l2-output", "L2 Output interface not valid"), 1);
    rig.cli("set interface l2 bridge p1 1");
    let frame = frame(1, 2, 0);
    assert_eq!(rig.pass(0, &frame), at(&[1], &frame));
    rig.cli("set interface l3 p1");
    assert_eq!(rig.pass(0, &frame), []);
    let left = ("l2-output-bad-intf", "L2 output to interface not in L2 mode or deleted");
    assert_eq!(rig.count(left.0, left.1), 1);
    // An operator's entry leads to a port that has left the domain for another one.
    rig.cli("set interface l2 bridge p1 1");
    rig.cli("set interface l2 bridge p2 1");
    rig.cli(&format!("l2fib add {} 1 p1", host(5)));
    rig.cli("set interface l2 bridge p1 2");
    assert_eq!(rig.pass(2, &frame_to(host(6), host(5), 0)), []);
    assert_eq!(rig.count(left.0, left.1), 2);
}

#[suite::test]
fn workers_see_the_role_of_an_interface() {
    let mut rig = rig(2);
    let world = rig.world();
    let interfaces = world.get::<Interfaces>();
    let roles = world.get::<net::Column<net::L2Role>>();
    let role = |sw_if| roles.get(sw_if);
    rig.cli("create loopback interface");
    let loop0 = interfaces.find("loop0").expect("made");
    rig.cli("set interface l2 bridge p0 1");
    rig.cli("set interface l2 bridge loop0 1 bvi");
    assert_eq!([role(rig.ports[0]), role(loop0)], [net::L2Role::Port, net::L2Role::Bvi]);
    rig.cli("set interface l3 loop0");
    rig.cli("set interface l3 p0");
    assert_eq!([role(rig.ports[0]), role(loop0)], [net::L2Role::None; 2]);
    assert!((IfFlags::L2 | IfFlags::BVI).contains(IfFlags::L2));
}

/// A device that notes its promiscuous mode.
#[derive(Default)]
struct Noting(std::sync::atomic::AtomicBool);

impl net::Device for Noting {
    fn driver(&self) -> &'static str {
        "test"
    }
    fn set_promiscuous(&self, _: &World, on: bool) -> Result<(), cli::Error> {
        self.0.store(on, std::sync::atomic::Ordering::Relaxed);
        Ok(())
    }
}

#[suite::test]
fn a_port_is_promiscuous_while_it_is_switched() {
    let mut rig = rig(1);
    let world = rig.world();
    let device = Arc::new(Noting::default());
    let new = net::NewInterface { device: device.clone(), ..ethernet("q0", port_mac(9)) };
    let made = world.get::<Interfaces>().create(&world, new, |w, _, sw_if| Recorder::new(w, sw_if));
    made.expect("created");
    let is_on = || device.0.load(std::sync::atomic::Ordering::Relaxed);
    rig.cli("set interface l2 bridge q0 1");
    assert!(is_on());
    rig.cli("set interface promiscuous off q0");
    assert!(is_on(), "an operator's wish doesn't end it");
    rig.cli("set interface l2 xconnect q0 p0");
    assert!(is_on());
    rig.cli("set interface l3 q0");
    assert!(!is_on());
    rig.cli("set interface promiscuous on q0");
    rig.cli("set interface l2 bridge q0 1");
    rig.cli("set interface l3 q0");
    assert!(is_on(), "as the operator wants");
}

#[suite::test]
fn traces_name_domain_addresses_and_features() {
    let mut rig = bridged(2);
    let frame = frame(1, 2, 0);
    let port = rig.ports[0];
    rig.bench.rt.trace().order(::graph::NodeIndex(999), 1, ::graph::TraceLog::room(16), 0);
    rig.bench.send("l2-input", &frame, |b| {
        Bench::trace(b, 7);
        b.rx_if = port.0;
    });
    let text = rig.bench.rt.trace().records().map(|record| record.to_string()).collect::<String>();
    let features = "[l2-learn l2-fwd l2-flood l2-flood feature-bitmap-drop]";
    let addresses = "dst 02:aa:00:00:00:02 src 02:aa:00:00:00:01";
    assert!(text.contains(&format!("sw_if_index {port} {addresses} {features}")), "{text}");
    assert!(text.contains(&format!("sw_if_index {port} {addresses} bd_index 1")), "{text}");
}

#[suite::test]
fn an_interface_that_is_deleted_leaves_nothing_behind() {
    let mut rig = bridged(4);
    let world = rig.world();
    let bridge = world.get::<Bridge>();
    rig.cli("set interface l2 xconnect p3 p2");
    rig.cli(&format!("l2fib add {} 1 p2 static", host(5)));
    rig.pass(2, &frame(1, 99, 0));
    rig.pass(0, &frame(2, 99, 0));
    let gone = rig.ports[2];
    // A frame is queued for the port while the port is deleted.
    rig.bench.arrive(rig.ports[0], &frame(2, 1, 0));
    world.get::<Interfaces>().delete(&world, gone).expect("deleted");
    rig.bench.settle();
    rig.sent();
    assert_eq!(bridge.mode(rig.ports[3]), None, "its cross-connect routes again");
    let ports: Vec<_> = bridge.modes().into_iter().map(|(sw_if, _)| sw_if).collect();
    assert_eq!(ports, [rig.ports[0], rig.ports[1]]);
    assert_eq!((bridge.entry_count(), bridge.provisioned().len()), (1, 0), "host 2 on p0");
    let to = frame(3, 1, 1);
    assert_eq!(rig.pass(0, &to), at(&[1], &to));
    // The next interface with this index is no member, and frames don't go there.
    rig.add_port(4);
    assert_eq!(rig.ports[4], gone);
    rig.ports[2] = SwIfIndex(u32::MAX);
    assert_eq!(bridge.mode(gone), None);
    let group = frame_to(host(3), MacAddr::BROADCAST, 1);
    assert_eq!(rig.pass(0, &group), at(&[1], &group));
}

#[suite::test]
fn wrong_modes_are_refused() {
    let mut rig = rig(2);
    assert_eq!(rig.refused("set interface l2 bridge local0 1").0, -71);
    assert_eq!(rig.refused("set interface l2 bridge p0 16777216").0, -122);
    assert_eq!(rig.refused("set interface l2 bridge p0 1 bvi").0, -7);
    assert_eq!(rig.refused("set interface l2 xconnect p0 p0").0, -7);
    assert_eq!(rig.refused("set interface l2 xconnect p0 local0").0, -71);
    rig.cli("set interface l2 bridge p0 1 uu-fwd");
    assert_eq!(rig.refused("set interface l2 bridge p1 1 uu-fwd").0, -81);
    assert_eq!(rig.refused("set interface l2 learn p1").0, -2);
    rig.cli("set interface l2 bridge p0 1 uu-fwd 3");
    let mode = rig.world().get::<Bridge>().mode(rig.ports[0]);
    assert!(matches!(mode, Some(Mode::Bridge { id: 1, shg: 3, .. })), "again, with a group");
}
