// SPDX-License-Identifier: Apache-2.0
//! Broken frames, floods, and many bonds.

use super::broken::{answer, marker, rig, unit};
use super::*;
use crate::control::Ports;
use crate::machine::Rx;
use bond::{Bonds, MemberInfo, Mode, NewBond, Stage};
use testkit::mutate::Mutator;

/// Returns true if a frame was sent by control: a data unit from the bond's system.
fn is_own_unit(frame: &[u8]) -> bool {
    frame[14] == 1 && frame[6..12] == port_mac(0).octets()
}

#[suite::test]
fn each_broken_frame_is_read_answered_or_dropped_by_name() {
    let mut rig = rig();
    let bases = [unit(peer(1, 0x3f)), unit(peer(2, 0x47)), unit(peer(1, 0x0d)), marker()];
    let mut mutator = Mutator::new(0x8809);
    let (mut frame, mut read, mut answered, mut dropped) = (Vec::new(), 0u32, 0u32, 0u32);
    let counted = |rig: &Rig| {
        ["good lacp packets -- consumed", "marker"].map(|counter| rig.count("lacp-input", counter))
    };
    for i in 0..100_000 {
        mutator.next_frame(&bases, &mut frame);
        frame.truncate(2000);
        let (drops, [good, markers]) = (rig.bench.drops(), counted(&rig));
        let port = i % 3;
        rig.receive_all(port, std::slice::from_ref(&frame));
        let (units, sent): (Vec<_>, Vec<_>) =
            rig.sent().into_iter().partition(|(_, b)| is_own_unit(b));
        for (_, bytes) in units {
            assert!(bytes.len() == 124 && pdu::read(&bytes[14..]).is_ok(), "{bytes:02x?}");
        }
        let [good, markers] = std::array::from_fn(|i| counted(&rig)[i] - [good, markers][i]);
        match (good, markers, rig.bench.drops() - drops, &sent[..]) {
            (1, 0, 0, []) => read += 1,
            (0, 1, 0, [(to, bytes)]) => {
                assert_eq!((*to, bytes), (port, &answer(&frame)));
                answered += 1;
            }
            (0, 0, 1, []) => dropped += 1,
            other => panic!("{other:?} became of {frame:02x?}"),
        }
        rig.bench.world.clock.adjust(SECOND / 20);
    }
    assert!(read > 15_000 && answered > 5_000 && dropped > 50_000, "{read} {answered} {dropped}");
    assert_eq!(read + answered + dropped, 100_000);
    assert_eq!(u64::from(read), counted(&rig)[0]);
}

/// However much one member receives, control reads 10 data units of it in a second, and another
/// member's are all read.
#[suite::test]
fn a_flood_takes_nothing_from_others() {
    const SECONDS: u64 = 20;
    let mut rig = rig();
    let runs = |rig: &Rig| {
        let all = rig.bench.world.processes.list();
        all.iter().find(|process| process.name == "lacp-process").expect("there").runs
    };
    // Each changes what is known of the partner.
    let flood: Vec<_> =
        (0..500u16).map(|n| unit(Participant { key: n, ..peer(n, n as u8) })).collect();
    let (before, good) = (runs(&rig), rig.count("lacp-input", "good lacp packets -- consumed"));
    let start = rig.bench.world.clock.now();
    for second in 0..SECONDS {
        for tenth in 0..10 {
            rig.bench.world.clock.adjust(SECOND / 10);
            rig.receive_all(0, &flood);
            if tenth == 5 {
                rig.receive_all(1, &[unit(peer(2, 0x47))]);
            }
        }
        let status = &rig.world().get::<Ports>().list()[1];
        assert_eq!((status.port.rx, status.port.partner), (Rx::Current, peer(2, 0x47)), "{second}");
    }
    let good = rig.count("lacp-input", "good lacp packets -- consumed") - good;
    // Real time passes too. With the burst, and the data units that wait at the end.
    let tenths = (rig.bench.world.clock.now() - start) / (SECOND / 10);
    let most = tenths + 10 + 8;
    assert!((SECONDS * 10..=most + SECONDS).contains(&good), "{good}");
    assert_eq!(rig.count("lacp-input", "busy"), SECONDS * 10 * 500 + SECONDS - good);
    let runs = runs(&rig) - before;
    assert!(runs < 4 * good, "{runs} runs of the process for {good} data units");
    // This end sends no more than it does without a flood.
    let sent = rig.sent().into_iter().filter(|(port, _)| *port == 0).count() as u64;
    assert!(sent <= 3 * tenths.div_ceil(10) + 3, "{sent} data units sent");
}

/// Bonds have their turn one after another, and all have it.
#[suite::test]
fn many_bonds_run_in_slices() {
    const BONDS: usize = 300;
    let mut rig = Rig::new(PLUGINS, 2 * BONDS);
    let world = rig.world();
    let bonds = world.get::<Bonds>();
    for pair in 0..BONDS {
        let bond = bonds.create(&world, NewBond::of(Mode::Lacp)).expect("made");
        for sw_if in [rig.ports[2 * pair], rig.ports[2 * pair + 1]] {
            let (passive, long_timeout, weight, stage) = (false, false, 0, Stage::Idle);
            let member = MemberInfo { sw_if, bond, passive, long_timeout, weight, stage };
            bonds.add_member(&world, member).expect("joined");
        }
        world.get::<net::Interfaces>().set_admin(&world, bond, true).expect("set");
    }
    rig.bench.settle();
    let all: Vec<usize> = (0..2 * BONDS).collect();
    let ports = |rig: &Rig| rig.sent().into_iter().map(|(port, _)| port).collect::<Vec<_>>();
    assert_eq!(ports(&rig), all, "each has sent its first data unit");
    for _ in 0..3 {
        world.clock.adjust(SECOND);
        let mut sent = Vec::new();
        for turn in 0..3 {
            world.processes.run(&world);
            while rig.bench.rt.turn(true) > 0 || rig.bench.rt.is_busy() {}
            let now = ports(&rig);
            assert_eq!(now.len(), [256, 256, 88][turn], "{turn}");
            sent.extend(now);
        }
        sent.sort_unstable();
        assert_eq!(sent, all);
    }
}
