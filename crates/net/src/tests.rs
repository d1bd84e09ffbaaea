// SPDX-License-Identifier: Apache-2.0
use crate::drive::Tx;
use crate::*;
use cli::Error;
use graph::drive::Bench;
use graph::{Plugin, SwIfIndex, World};
use std::sync::{Arc, Mutex};
use wire::MacAddr;

struct Stubborn;
impl Device for Stubborn {
    fn driver(&self) -> &'static str {
        "test"
    }
    fn set_mtu(&self, _: &World, mtu: u16) -> Result<(), Error> {
        if mtu > 9000 { Err(Error::limit("this device carries 9000 bytes")) } else { Ok(()) }
    }
}

pub(crate) fn add(bench: &Bench, name: &str) -> Result<SwIfIndex, Error> {
    add_kind(bench, name, IfKind::Ethernet)
}

pub(crate) fn add_ip(bench: &Bench, name: &str) -> Result<SwIfIndex, Error> {
    add_kind(bench, name, IfKind::Ip)
}

fn add_kind(bench: &Bench, name: &str, kind: IfKind) -> Result<SwIfIndex, Error> {
    let ifs: Arc<Interfaces> = bench.world.get();
    let mac = MacAddr([2, 0, 0, 0, 0, 1]);
    let new = NewInterface {
        name: name.into(),
        kind,
        device: Arc::new(Stubborn),
        mac,
        mtu: 1500,
        link_up: true,
    };
    ifs.create(&bench.world, new, |_, _, _| Tx)
}

/// The state of this crate alone.
pub(crate) static STATEFUL: &[&Plugin] = &[&crate::drive::STATE];

#[suite::test]
fn interfaces_come_change_and_go() {
    let bench = Bench::new(STATEFUL);
    let ifs: Arc<Interfaces> = bench.world.get();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = seen.clone();
    ifs.subscribe(move |_, event| log.lock().expect("no panic inside").push(event));
    let a = add(&bench, "a").expect("added");
    assert_eq!(a, SwIfIndex(1));
    assert_eq!(add(&bench, "a").expect_err("taken").code(), -79);
    ifs.set_admin(&bench.world, a, true).expect("up");
    ifs.set_admin(&bench.world, a, true).expect("already up");
    ifs.set_mtu(&bench.world, a, MtuKind::Ip4, 1400).expect("set");
    assert!(ifs.set_mtu(&bench.world, a, MtuKind::Ip6, 600).is_err());
    assert!(ifs.set_mtu(&bench.world, a, MtuKind::Link, 9001).is_err());
    assert!(ifs.set_mac(&bench.world, a, MacAddr::BROADCAST).is_err());
    ifs.set_name(&bench.world, a, "uplink").expect("renamed");
    assert_eq!(ifs.find("uplink").ok(), Some(a));
    let error = ifs.find("uplonk").expect_err("not there");
    assert!(error.to_string().contains("uplink"), "{error}");
    let i = ifs.get(a).expect("there");
    assert_eq!((i.mtu_of(MtuKind::Ip4), i.mtu_of(MtuKind::Ip6), i.admin_up), (1400, 1500, true));
    ifs.delete(&bench.world, a).expect("deleted");
    assert!(ifs.get(a).is_err());
    assert_eq!(add(&bench, "b").ok(), Some(a), "the index is free again");
    let want = [
        IfEvent::Added(a),
        IfEvent::Admin(a, true),
        IfEvent::Mtu(a),
        IfEvent::Name(a),
        IfEvent::Admin(a, false),
        IfEvent::Deleting(a),
        IfEvent::Added(a),
    ];
    assert_eq!(*seen.lock().expect("no panic inside"), want);
    assert!(ifs.set_admin(&bench.world, SwIfIndex(0), true).is_err(), "local0 stays down");
    assert!(ifs.delete(&bench.world, SwIfIndex(0)).is_err());
}

#[suite::test]
fn counters_follow_their_interface_in_the_stats_directory() {
    let mut bench = Bench::new(STATEFUL);
    let (ifs, counters): (Arc<Interfaces>, Arc<IfCounters>) =
        (bench.world.get(), bench.world.get());
    let reader = stats::Reader::new(&bench.world.stats).expect("a segment");
    let get = |name: &str| reader.get(name).expect("readable");
    let names =
        |names: &[&str]| Some(stats::Value::Names(names.iter().map(|n| n.to_string()).collect()));
    let a = add(&bench, "memif0/0").expect("added");
    counters.rx.lane(0).add(a.at(), 2, 120);
    bench.world.stats.simple("/net/nexthop/up").lane(0).add(a.at(), 1);
    assert_eq!(get("/if/names"), names(&["local0", "memif0/0"]));
    assert_eq!(get("/interfaces/memif0_0/rx"), Some(stats::Value::Combined(vec![vec![(2, 120)]])));
    assert_eq!(get("/interfaces/local0/drops"), Some(stats::Value::Simple(vec![vec![0]])));
    ifs.set_name(&bench.world, a, "uplink").expect("renamed");
    assert_eq!(
        (get("/interfaces/memif0_0/rx"), get("/if/names")),
        (None, names(&["local0", "uplink"]))
    );
    assert_eq!(get("/interfaces/uplink/rx").map(|v| v.total()), Some(2));
    ifs.delete(&bench.world, a).expect("deleted");
    assert_eq!((get("/interfaces/uplink/rx"), get("/if/names")), (None, names(&["local0", ""])));
    assert_eq!(add(&bench, "b").ok(), Some(a));
    bench.settle();
    assert_eq!(get("/interfaces/b/rx").map(|v| v.total()), Some(0), "somebody else's packets");
    assert_eq!(get("/net/nexthop/up").map(|v| v.total()), Some(0));
    assert_eq!(get("/interfaces/b/tx-error"), Some(stats::Value::Simple(vec![vec![0]])));
}
