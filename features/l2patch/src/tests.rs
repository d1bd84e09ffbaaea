// SPDX-License-Identifier: Apache-2.0
use crate::PLUGIN;
use crate::api::L2PatchAddDel;
use graph::drive::Bench;
use graph::{Plugin, World};
use net::api::InterfaceIndex;
use net::drive::{Listening, NullDevice, Recorder, Rig, at, ethernet, port_mac};
use net::{Column, Device, FrameTakers, Interfaces, NewInterface};
use std::sync::Arc;
use wire::MacAddr;

static PLUGINS: &[&Plugin] = &[
    &interface::PLUGIN,
    &ethernet::PLUGIN,
    &fib::PLUGIN,
    &ip::PLUGIN,
    &icmp::PLUGIN,
    &ip_neighbor::PLUGIN,
    &l2::PLUGIN,
    &span::PLUGIN,
    &bond::PLUGIN,
    &trace::PLUGIN,
    &PLUGIN,
];

/// A frame for another host, of `len` bytes that all differ with `n`.
fn frame(len: usize, n: u8) -> Vec<u8> {
    let mut bytes: Vec<u8> = (0..len).map(|i| (i as u8).wrapping_mul(7).wrapping_add(n)).collect();
    bytes[..12].copy_from_slice(&[2, 0xaa, 0, 0, 0, 1, 2, 0xaa, 0, 0, 0, 2]);
    bytes
}

#[suite::test]
fn all_frames_leave_by_the_other_device() {
    let mut rig = Rig::new(PLUGINS, 3);
    assert_eq!(rig.cli("show l2patch").trim_end(), "no l2patch entries");
    rig.cli("create sub-interfaces p0 100");
    rig.cli("set interface state p0.100 up");
    rig.cli("set interface ip address p0 10.0.0.1/24");
    rig.cli("test l2patch rx p0 tx p1");
    rig.cli("test l2patch rx p1 tx p0");
    assert_eq!(rig.cli("show l2patch"), "p0 -> p1\np1 -> p0\n");
    let json = rig.cli("show l2patch -j");
    assert!(json.contains("p0") && json.contains("\"tx\""), "{json}");
    let mut sent = 0;
    for (n, len) in [14, 60, 255, 257, 1514, 2049, 5000, 9018].into_iter().enumerate() {
        let mut tagged = frame(len + 4, n as u8);
        tagged[12..16].copy_from_slice(&[0x81, 0, 0, 100]);
        let mut own = frame(len, n as u8);
        own[..6].copy_from_slice(&port_mac(0).octets());
        let mut group = frame(len, n as u8);
        // LLDP's, which bridges keep to themselves.
        group[..6].copy_from_slice(&[1, 0x80, 0xc2, 0, 0, 0x0e]);
        for frame in [frame(len, n as u8), tagged, own, group] {
            assert_eq!(rig.pass(0, &frame), at(&[1], &frame), "{len}");
            assert_eq!(rig.pass(1, &frame), at(&[0], &frame), "{len}");
            assert_eq!(rig.pass(2, &frame), [], "p2 isn't patched");
            sent += 2;
        }
    }
    assert_eq!(rig.count("l2-patch", "L2 patch packets"), sent);
    // A vector of them.
    let frames: Vec<_> = (0..200).map(|n| frame(300, n)).collect();
    let mut want: Vec<_> = frames.iter().flat_map(|frame| at(&[1], frame)).collect();
    want.sort();
    assert_eq!(rig.pass_all(0, &frames), want);
    assert_eq!(rig.packets(rig.ports[1]).1, sent / 2 + 200, "counted at the output");
}

#[suite::test]
fn patches_are_replaced_and_end() {
    let mut rig = Rig::new(PLUGINS, 3);
    let frame = frame(100, 3);
    rig.cli("test l2patch rx p0 tx p1");
    rig.cli("test l2patch rx p0 tx p2");
    assert_eq!(rig.pass(0, &frame), at(&[2], &frame));
    rig.cli("set interface state p2 down");
    assert_eq!(rig.pass(0, &frame), []);
    rig.cli("set interface state p2 up");
    rig.cli("test l2patch rx p0 tx p2 del");
    rig.cli("test l2patch rx p0 tx p2 del");
    assert_eq!(rig.pass(0, &frame), []);
    assert_eq!(rig.cli("show l2patch").trim_end(), "no l2patch entries");
    // Each end may go.
    for gone in [2, 0] {
        rig.cli("test l2patch rx p0 tx p2");
        rig.delete_port(gone);
        assert_eq!(rig.cli("show l2patch").trim_end(), "no l2patch entries");
        rig.add_port(gone);
        assert_eq!(rig.pass(0, &frame), []);
    }
    // A frame that began its way before the other device went.
    rig.cli("test l2patch rx p0 tx p2");
    rig.bench.arrive(rig.ports[0], &frame);
    rig.delete_port(2);
    assert_eq!(rig.sent(), []);
    assert_eq!(rig.count("l2-patch", "L2 patch misconfigured drops"), 1);
}

#[suite::test]
fn mirrors_see_the_frames() {
    let mut rig = Rig::new(PLUGINS, 3);
    let frame = frame(100, 3);
    rig.cli("set interface span p0 destination p2");
    rig.cli("test l2patch rx p0 tx p1");
    assert_eq!(rig.pass(0, &frame), at(&[1, 2], &frame));
}

#[suite::test]
fn messages_have_vpps_return_values() {
    let mut rig = Rig::new(PLUGINS, 2);
    rig.cli("create sub-interfaces p0 100");
    let world = rig.world();
    let sub = world.get::<Interfaces>().find("p0.100").expect("there").0;
    let (p0, p1) = (rig.ports[0].0, rig.ports[1].0);
    let mut client = rig.bench.api();
    for (rx, tx, want) in [
        (p0, p1, Ok(())),
        (p0, p1, Ok(())),
        (sub, p1, Err(-2)),
        (99, p1, Err(-2)),
        (0, p1, Err(-2)),
        (p0, sub, Err(-10)),
        (p0, 99, Err(-10)),
    ] {
        for is_add in [true, false, false, true] {
            let (rx_sw_if_index, tx_sw_if_index) = (InterfaceIndex(rx), InterfaceIndex(tx));
            assert_eq!(
                client.call(L2PatchAddDel { rx_sw_if_index, tx_sw_if_index, is_add }),
                want,
                "{rx} {tx}"
            );
        }
    }
    drop(client);
    assert_eq!(rig.cli("show l2patch"), "p0 -> p1\n");
}

#[suite::test]
fn the_receiving_device_is_promiscuous() {
    let mut rig = Rig::new(PLUGINS, 1);
    let device = Arc::new(Listening::default());
    let new =
        NewInterface { device: device.clone(), ..ethernet("dev", MacAddr([2, 0, 0, 0, 0, 7])) };
    let world = rig.world();
    world
        .get::<Interfaces>()
        .create(&world, new, |w, _, sw_if| Recorder::new(w, sw_if))
        .expect("created");
    let mut now = |line: &str| {
        rig.cli(line);
        device.is_promiscuous()
    };
    assert!(now("test l2patch rx dev tx p0"));
    // For two reasons at once.
    assert!(now("set interface l2 bridge dev 1"));
    assert!(now("set interface l3 dev"));
    assert!(now("set interface promiscuous on dev"));
    assert!(now("test l2patch rx dev tx p0 del"));
    assert!(!now("set interface promiscuous off dev"));
    assert!(now("test l2patch rx dev tx p0"));
    assert!(!now("test l2patch rx dev tx p0 del"));
}

#[suite::test]
fn a_trace_shows_both_devices() {
    let mut rig = Rig::new(PLUGINS, 2);
    rig.cli("test l2patch rx p0 tx p1");
    rig.bench.rt.trace().order(graph::NodeIndex(999), 1, graph::TraceLog::room(16), 0);
    rig.bench.arrive_as(rig.ports[0], &frame(100, 0), |b| Bench::trace(b, 7));
    rig.bench.settle();
    let trace = rig.bench.rt.trace().records().map(|record| record.to_string()).collect::<String>();
    let line = format!("L2_PATCH: rx {} tx {}", rig.ports[0], rig.ports[1]);
    assert!(trace.contains(&line), "{line} isn't in {trace}");
}

/// A device that refuses to receive frames for all MAC addresses.
struct Refusing;

impl Device for Refusing {
    fn driver(&self) -> &'static str {
        NullDevice.driver()
    }

    fn set_promiscuous(&self, _: &World, on: bool) -> Result<(), cli::Error> {
        if on { Err(cli::Error::failed("it can't")) } else { Ok(()) }
    }
}

#[suite::test]
fn a_device_that_refuses_isnt_patched() {
    let mut rig = Rig::new(PLUGINS, 1);
    let world = rig.world();
    let device = Arc::new(Refusing);
    let new = NewInterface { device, ..ethernet("dev", MacAddr([2, 0, 0, 0, 0, 7])) };
    let interfaces = world.get::<Interfaces>();
    let sw_if =
        interfaces.create(&world, new, |w, _, sw_if| Recorder::new(w, sw_if)).expect("created");
    let (_, why) = rig.refused("test l2patch rx dev tx p0");
    assert!(why.contains("it can't"), "{why}");
    assert_eq!(rig.cli("show l2patch").trim_end(), "no l2patch entries");
    assert!(world.get::<Column<FrameTakers>>().get(sw_if).0.is_empty());
}

#[suite::test]
fn ten_thousand_patches_leave_nothing_behind() {
    let mut rig = Rig::new(PLUGINS, 3);
    let before = rig.ports[1];
    for _ in 0..5_000 {
        rig.cli("test l2patch rx p0 tx p1");
        rig.cli("test l2patch rx p1 tx p2");
        rig.delete_port(1);
        rig.add_port(1);
    }
    assert_eq!(rig.ports[1], before, "the index is given back");
    assert_eq!(rig.cli("show l2patch").trim_end(), "no l2patch entries");
    let frame = frame(100, 3);
    for port in 0..3 {
        assert_eq!(rig.pass(port, &frame), [], "no patch is left");
    }
}
