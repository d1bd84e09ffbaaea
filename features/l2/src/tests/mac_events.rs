// SPDX-License-Identifier: Apache-2.0
//! Events of MAC addresses.

use super::*;
use crate::api::*;
use net::api::InterfaceIndex;
use startup::Source;
use startup::text::tokens;

fn want(learn_limit: u32, max_macs_in_event: u8, enable_disable: bool) -> WantL2MacsEvents {
    WantL2MacsEvents { learn_limit, scan_delay: 10, max_macs_in_event, enable_disable, pid: 7 }
}

/// The events of half a second, each as the addresses that it has.
fn told(
    rig: &mut Rig,
    suspended: &mut Option<msg::Suspended<World>>,
) -> Vec<Vec<(MacEventAction, MacAddr, u32)>> {
    for _ in 0..5 {
        rig.bench.world.clock.adjust(SECOND / 10);
        rig.bench.settle();
    }
    let world = rig.world();
    let mut client =
        msg::Loopback::resume(&*world, &world.api, suspended.take().expect("connected"));
    let events = client.events::<L2MacsEvent>().into_iter().map(|(pid, event)| {
        assert_eq!(pid, 7);
        event.mac.iter().map(|mac| (mac.action, mac.mac_addr.into(), mac.sw_if_index.0)).collect()
    });
    let events = events.collect();
    *suspended = Some(client.suspend());
    events
}

#[suite::test]
fn a_client_hears_what_is_learned_moves_and_is_forgotten() {
    let mut rig = bridged(2);
    rig.pass(0, &frame(99, 98, 0));
    let mut client = rig.bench.api();
    assert_eq!(client.call(want(0, 1, true)), Err(-7));
    assert_eq!(client.call(want((1 << 24) + 1, 1, true)), Err(-7));
    assert_eq!(client.call(want(10, 0, true)), Err(-7));
    assert_eq!(client.call(WantL2MacsEvents { scan_delay: 0, ..want(10, 1, true) }), Err(-7));
    assert_eq!(client.call(L2fibSetScanDelay { scan_delay: 0 }), Err(-7));
    assert_eq!(client.call(want(50, 1, true)), Ok(()));
    let mut suspended = Some(client.suspend());
    let mut other = rig.bench.api();
    assert_eq!(other.call(want(50, 1, true)), Err(-124));
    assert_eq!(other.call(want(50, 1, false)), Err(-124));
    drop(other);
    let bridge = rig.world().get::<crate::Bridge>();
    let p = rig.ports.clone();
    let forgotten = vec![(MacEventAction::Delete, host(99), p[0].0)];
    assert_eq!(told(&mut rig, &mut suspended), [forgotten], "what was learned before");
    assert_eq!(bridge.learned(), (0, 50));
    for n in 1..=12 {
        rig.pass(0, &frame(n, 98, 0));
        rig.pass(0, &frame(n, 98, 1));
    }
    let events = told(&mut rig, &mut suspended);
    // The end of a slice ends an event, too.
    let lens: Vec<_> = events.iter().map(Vec::len).collect();
    assert!(lens.iter().all(|len| (1..=10).contains(len)), "at most ten in an event: {lens:?}");
    let mut all = events.concat();
    all.sort_by_key(|(_, mac, _)| *mac);
    let want_all: Vec<_> = (1..=12).map(|n| (MacEventAction::Add, host(n), p[0].0)).collect();
    assert_eq!(all, want_all);
    assert!(told(&mut rig, &mut suspended).is_empty(), "once");
    rig.pass(1, &frame(3, 98, 0));
    rig.pass(1, &frame(3, 98, 0));
    assert_eq!(told(&mut rig, &mut suspended), [vec![(MacEventAction::Move, host(3), p[1].0)]]);
    rig.cli("l2fib flush-mac interface p1");
    assert_eq!(told(&mut rig, &mut suspended), [vec![(MacEventAction::Delete, host(3), p[1].0)]]);
    // An address that moves before it was reported is reported as new at the new port; one removed
    // before that isn't reported.
    rig.pass(0, &frame(30, 98, 0));
    rig.pass(1, &frame(30, 98, 0));
    rig.pass(0, &frame(31, 98, 0));
    rig.cli("l2fib flush-mac interface p0");
    let mut all = told(&mut rig, &mut suspended).concat();
    all.retain(|(action, ..)| *action == MacEventAction::Add);
    assert_eq!(all, [(MacEventAction::Add, host(30), p[1].0)]);
    let world = rig.world();
    let mut client =
        msg::Loopback::resume(&*world, &world.api, suspended.take().expect("connected"));
    assert_eq!(client.call(want(1, 1, false)), Ok(()));
    assert_eq!(bridge.learned().1, 1 << 24);
    let mut suspended = Some(client.suspend());
    rig.pass(0, &frame(40, 98, 0));
    assert!(told(&mut rig, &mut suspended).is_empty());
}

/// The limit of startup.conf applies again when a client that set another one is gone.
#[suite::test]
fn the_limit_of_startup_conf_comes_back() {
    let source = Source::file("startup.conf", "{ limit 7 }");
    let tokens = tokens(&source).expect("braces in pairs");
    let mut startup = startup::Values::new(PLUGIN.startup);
    startup
        .read("l2learn", &mut startup::Cursor::new(&source, &tokens))
        .expect("declared")
        .expect("right");
    let bench = Bench::configured(&graph::WorldConfig { startup, ..Default::default() }, PLUGINS);
    let bridge = bench.world.get::<crate::Bridge>();
    assert_eq!(bridge.learned(), (0, 7));
    let mut client = bench.api();
    assert_eq!(client.call(want(50, 1, true)), Ok(()));
    assert_eq!(bridge.learned(), (0, 50));
    assert_eq!(client.call(want(1, 1, false)), Ok(()));
    assert_eq!(bridge.learned(), (0, 7));
}

#[suite::test]
fn the_second_message_sets_no_limit() {
    let mut rig = bridged(2);
    rig.pass(0, &frame(1, 98, 0));
    let mut client = rig.bench.api();
    let want2 = |enable_disable| WantL2MacsEvents2 { max_macs_in_event: 1, enable_disable, pid: 7 };
    assert_eq!(client.call(L2fibSetScanDelay { scan_delay: 5 }), Ok(()));
    assert_eq!(client.call(want2(true)), Ok(()));
    let mut suspended = Some(client.suspend());
    let p0 = InterfaceIndex::from(rig.ports[0]).0;
    assert_eq!(told(&mut rig, &mut suspended), [vec![(MacEventAction::Delete, host(1), p0)]]);
    assert_eq!(rig.world().get::<crate::Bridge>().learned(), (0, 1 << 24));
    rig.pass(0, &frame(1, 98, 0));
    assert_eq!(told(&mut rig, &mut suspended), [vec![(MacEventAction::Add, host(1), p0)]]);
    // A client that goes without a word keeps no other out.
    drop(suspended);
    let mut other = rig.bench.api();
    assert_eq!(other.call(want2(true)), Ok(()));
}
