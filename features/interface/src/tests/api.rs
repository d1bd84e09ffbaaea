// SPDX-License-Identifier: Apache-2.0
//! The binary API.

use super::*;
use crate::api::details::*;
use crate::api::feature::FeatureGsoEnableDisable;
use crate::api::feature::*;
use crate::api::rx::*;
use crate::api::tx::*;
use crate::api::*;
use graph::{InputMode, ThreadIndex};
use msg::Loopback;
use net::RxQueue;
use net::api::{IfStatusFlags, InterfaceIndex, MacAddress};
use net::{FurtherMacs, Gso, IfKind, NewInterface};
use std::sync::Mutex;

/// A device with two receive queues, which take any thread and any mode.
struct Queues(Mutex<[RxQueue; 2]>);
impl Device for Queues {
    fn driver(&self) -> &'static str {
        "queues"
    }
    fn rx_queues(&self) -> Vec<RxQueue> {
        self.0.lock().expect("no panic inside").to_vec()
    }
    fn tx_queues(&self) -> u16 {
        1
    }
    fn place(&self, _: &World, queue: RxQueue) -> Result<(), cli::Error> {
        self.0.lock().expect("no panic inside")[usize::from(queue.queue)] = queue;
        Ok(())
    }
}

/// An interface without Ethernet header and with two queues, beside that of [`bench`].
fn with_queues(bench: &Bench) -> InterfaceIndex {
    let queue = |queue| RxQueue { queue, thread: ThreadIndex(0), mode: InputMode::Adaptive };
    let new = NewInterface {
        name: "Q1".into(),
        kind: IfKind::Ip,
        device: Arc::new(Queues(Mutex::new([queue(0), queue(1)]))),
        mac: MacAddr([2, 0, 0, 0, 0, 2]),
        mtu: 9000,
        link_up: false,
    };
    bench.world.get::<Interfaces>().create(&bench.world, new, |_, _, _| Tx).expect("created").into()
}

fn dump(
    client: &mut Loopback<'_, World>,
    sw_if_index: u32,
    filter: Option<&str>,
) -> Vec<SwInterfaceDetails> {
    client.dump(SwInterfaceDump {
        sw_if_index: InterfaceIndex(sw_if_index),
        name_filter_valid: filter.is_some(),
        name_filter: filter.unwrap_or_default().into(),
    })
}

fn names(all: &[SwInterfaceDetails]) -> Vec<&str> {
    all.iter().map(|d| d.interface_name.as_str()).collect()
}

const ALL: u32 = u32::MAX;
const GONE: InterfaceIndex = InterfaceIndex(77);

#[suite::test]
fn interfaces_are_told() {
    let (bench, sw_if, _) = bench();
    let q1 = with_queues(&bench);
    let mut client = bench.api();
    let all = dump(&mut client, ALL, None);
    assert_eq!(names(&all), ["local0", "t0", "Q1"]);
    let t0 = &all[1];
    assert_eq!(
        (t0.sw_if_index.0, t0.sup_sw_if_index, t0.flags),
        (sw_if.0, sw_if.0, IfStatusFlags::LINK_UP)
    );
    assert_eq!(
        (t0.link_mtu, t0.mtu, t0.interface_dev_type.as_str()),
        (1500, [1500, 0, 0, 0], "test")
    );
    assert_eq!(t0.l2_address, MacAddress([2, 0, 0, 0, 0, 1]));
    assert_eq!((all[2].l2_address, all[2].flags), (MacAddress::default(), IfStatusFlags(0)));
    assert_eq!(names(&dump(&mut client, 0, None)).len(), 3);
    assert_eq!(names(&dump(&mut client, q1.0, None)), ["Q1"]);
    assert_eq!(names(&dump(&mut client, GONE.0, None)), [""; 0]);
    assert_eq!(names(&dump(&mut client, sw_if.0, Some("q"))), ["Q1"]);
    assert_eq!(names(&dump(&mut client, ALL, Some("L0"))), ["local0"]);
    assert_eq!(names(&dump(&mut client, ALL, Some("no"))), [""; 0]);
}

#[suite::test]
fn interfaces_are_set() {
    let (bench, sw_if, tree) = bench();
    let (t0, q1) = (InterfaceIndex(sw_if.0), with_queues(&bench));
    let mut client = bench.api();
    let mac = MacAddress([2, 0, 0, 0, 0, 0x99]);
    let tag = |sw_if_index, is_add, tag: &str| SwInterfaceTagAddDel {
        is_add,
        sw_if_index,
        tag: tag.into(),
    };
    let rename = |name: &str| SwInterfaceSetInterfaceName { sw_if_index: t0, name: name.into() };
    assert_eq!(client.call(SwInterfaceSetMtu { sw_if_index: t0, mtu: [1400, 1300, 0, 0] }), Ok(()));
    assert_eq!(client.call(HwInterfaceSetMtu { sw_if_index: t0, mtu: 2000 }), Ok(()));
    assert_eq!(client.call(SwInterfaceSetMacAddress { sw_if_index: t0, mac_address: mac }), Ok(()));
    assert_eq!(client.call(SwInterfaceSetPromisc { sw_if_index: t0, promisc_on: true }), Ok(()));
    assert_eq!(client.call(rename("wan")), Ok(()));
    assert_eq!(client.call(tag(t0, true, "uplink")), Ok(()));
    let got = client.call(SwInterfaceGetMacAddress { sw_if_index: t0 }).expect("an address");
    assert_eq!(got.mac_address, mac);
    let got =
        client.call(SwInterfaceGetMacAddress { sw_if_index: q1 }).expect("none, but an answer");
    assert_eq!(got.mac_address, MacAddress::default());
    let wan = &dump(&mut client, t0.0, None)[0];
    assert_eq!((wan.link_mtu, wan.mtu, wan.tag.as_str()), (2000, [1400, 1300, 0, 0], "uplink"));
    assert!(run(&bench, &tree, "show interface wan").contains("1400/1300/0/0"));
    assert!(run(&bench, &tree, "show interface tag wan").contains("uplink"));
    assert!(bench.world.get::<Column<Promiscuous>>().get(sw_if).0);

    assert_eq!(client.call(tag(t0, false, "")), Ok(()));
    assert_eq!(run(&bench, &tree, "show interface tag wan"), "wan: no tag\n");
    assert_eq!(client.call(tag(t0, true, "")), Err(-7));
    assert_eq!(client.call(tag(GONE, true, "x")), Err(-2));
    assert_eq!(client.call(rename("Q1")), Err(-79));
    assert_eq!(client.call(rename("")), Err(-7));
    assert_eq!(client.call(SwInterfaceSetMtu { sw_if_index: t0, mtu: [0, 0, 0, 70_000] }), Err(-7));
    assert_eq!(client.call(SwInterfaceSetMtu { sw_if_index: GONE, mtu: [0; 4] }), Err(-2));
    assert_eq!(client.call(HwInterfaceSetMtu { sw_if_index: t0, mtu: 20 }), Err(-7));
    assert_eq!(client.call(SwInterfaceSetPromisc { sw_if_index: q1, promisc_on: true }), Err(-7));
    let group = MacAddress([1, 0, 0x5e, 0, 0, 1]);
    assert_eq!(
        client.call(SwInterfaceSetMacAddress { sw_if_index: t0, mac_address: group }),
        Err(-7)
    );
    assert_eq!(client.call(SwInterfaceGetMacAddress { sw_if_index: GONE }).err(), Some(-2));
    let further =
        |sw_if_index, addr, is_add| SwInterfaceAddDelMacAddress { sw_if_index, addr, is_add };
    let other = MacAddress([2, 0, 0, 0, 0, 0x98]);
    assert_eq!(client.call(further(GONE.0, other, 1)), Err(-2));
    assert_eq!(client.call(further(t0.0, group, 1)), Err(-7));
    assert_eq!(client.call(further(q1.0, other, 1)), Err(-7));
    assert_eq!(client.call(further(t0.0, other, 0)), Err(-6));
    assert_eq!(client.call(further(t0.0, other, 1)), Ok(()));
    assert_eq!(client.call(further(t0.0, other, 1)), Ok(()), "it has it already");
    let list = || bench.world.get::<FurtherMacs>().list(sw_if);
    assert_eq!(list(), [other.into()]);
    assert_eq!(client.call(further(t0.0, other, 0)), Ok(()));
    assert!(list().is_empty());
}

#[suite::test]
fn gso_is_turned_on_and_off() {
    let (bench, sw_if, tree) = bench();
    let gso = || bench.world.get::<Column<Gso>>().get(sw_if).0;
    let mut client = bench.api();
    let mut set = |sw_if_index, enable_disable| {
        client.call(FeatureGsoEnableDisable { sw_if_index, enable_disable })
    };
    assert_eq!((set(sw_if.into(), true), gso()), (Ok(()), true));
    assert!(run(&bench, &tree, "show interface features t0").contains("gso:"));
    assert_eq!((set(sw_if.into(), false), gso()), (Ok(()), false));
    assert!(!run(&bench, &tree, "show interface features t0").contains("gso:"));
    assert_eq!(set(GONE, true), Err(-2));
    for (words, on) in [("", true), (" disable", false), (" enable", true)] {
        run(&bench, &tree, &format!("set interface feature gso t0{words}"));
        assert_eq!(gso(), on, "{words}");
    }
}

#[suite::test]
fn counters_start_again() {
    let (bench, sw_if, _) = bench();
    let q1 = with_queues(&bench);
    let Bench { world, mut rt, .. } = bench;
    let counters: Arc<IfCounters> = world.get();
    let add = || [sw_if.at(), q1.0 as usize].iter().for_each(|i| counters.drops.lane(0).add(*i, 5));
    let sums = || (counters.drops.sum(sw_if.at()), counters.drops.sum(q1.0 as usize));
    let mut client = Loopback::new(&*world, &world.api);
    let mut clear = |sw_if_index| {
        client.call_while(SwInterfaceClearStats { sw_if_index }, || {
            rt.turn(true);
        })
    };
    add();
    assert_eq!(clear(q1), Ok(()));
    assert_eq!(sums(), (5, 0));
    add();
    assert_eq!(clear(InterfaceIndex::NONE), Ok(()));
    assert_eq!(sums(), (0, 0));
    assert_eq!(clear(GONE), Err(-2));
    let detailed =
        |sw_if_index| CollectDetailedInterfaceStats { sw_if_index, enable_disable: true };
    assert_eq!((client.call(detailed(q1)), client.call(detailed(GONE))), (Ok(()), Err(-2)));
}

#[suite::test]
fn events_come_as_long_as_they_are_wanted() {
    let (bench, sw_if, tree) = bench();
    let (mut client, mut other) = (bench.api(), bench.api());
    let want = |enable_disable| WantInterfaceEvents { enable_disable, pid: 42 };
    let set = |up: bool| SwInterfaceSetFlags {
        sw_if_index: sw_if.into(),
        flags: IfStatusFlags::ADMIN_UP.when(up),
    };
    assert_eq!(client.call(set(true)), Ok(()));
    assert!(other.events::<SwInterfaceEvent>().is_empty());
    assert_eq!(other.call(want(1)), Ok(()));
    let mut told = || {
        let events = other.events::<SwInterfaceEvent>();
        events
            .iter()
            .map(|(pid, e)| (*pid, e.sw_if_index.0, e.flags.0, e.deleted))
            .collect::<Vec<_>>()
    };
    assert_eq!((client.call(set(true)), told()), (Ok(()), vec![]));
    assert_eq!((client.call(set(false)), told()), (Ok(()), vec![(42, sw_if.0, 2, false)]));
    run(&bench, &tree, "set interface state t0 up");
    assert_eq!(told(), [(42, sw_if.0, 3, false)]);
    let interfaces = bench.world.get::<Interfaces>();
    interfaces.set_link(&bench.world, sw_if, false).expect("noted");
    assert_eq!(told(), [(42, sw_if.0, 1, false)]);
    let q1 = with_queues(&bench).0;
    assert_eq!(told(), [(42, q1, 0, false)]);
    interfaces.delete(&bench.world, sw_if).expect("deleted");
    assert_eq!(told(), [(42, sw_if.0, 0, false), (42, sw_if.0, 0, true)]);
    assert_eq!(client.call(set(true)), Err(-2));
    assert_eq!(
        client.call(SwInterfaceSetFlags {
            sw_if_index: InterfaceIndex(0),
            flags: IfStatusFlags::ADMIN_UP
        }),
        Err(-1)
    );
    assert_eq!(other.call(want(0)), Ok(()));
    interfaces.delete(&bench.world, SwIfIndex(q1)).expect("deleted");
    assert!(other.events::<SwInterfaceEvent>().is_empty());
}

#[suite::test]
fn transmit_queues_belong_to_threads() {
    let (bench, ..) = bench();
    let q1 = with_queues(&bench);
    let mut client = bench.api();
    let get = |sw_if_index| SwInterfaceTxPlacementGet { cursor: 0, sw_if_index };
    let want = [SwInterfaceTxPlacementDetails {
        sw_if_index: q1,
        queue_id: 0,
        shared: 0,
        threads: vec![0],
    }];
    assert_eq!(client.dump(get(InterfaceIndex::NONE)), want);
    assert_eq!(client.dump(get(q1)), want);
    let set = |sw_if_index, queue_id, threads: &[u32]| SwInterfaceSetTxPlacement {
        sw_if_index,
        queue_id,
        threads: threads.to_vec(),
    };
    assert_eq!(client.call(set(q1, 0, &[0])), Ok(()));
    assert_eq!(client.call(set(q1, 0, &[])), Err(-9));
    assert_eq!(client.call(set(q1, 1, &[0])), Err(-125));
    assert_eq!(client.call(set(q1, 0, &[1])), Err(-7));
    assert_eq!(client.call(set(GONE, 0, &[0])), Err(-2));
}

#[suite::test]
fn receive_queues_are_placed() {
    let (bench, sw_if, tree) = bench();
    let q1 = with_queues(&bench);
    let mut client = bench.api();
    let mode = |sw_if_index, queue: Option<u32>, mode| SwInterfaceSetRxMode {
        sw_if_index,
        queue_id_valid: queue.is_some(),
        queue_id: queue.unwrap_or(99),
        mode,
    };
    assert_eq!(client.call(mode(q1, None, RxMode::Interrupt)), Ok(()));
    assert_eq!(client.call(mode(q1, Some(1), RxMode::Polling)), Ok(()));
    let placement = |queue_id, is_main| SwInterfaceSetRxPlacement {
        sw_if_index: q1,
        queue_id,
        worker_id: 0,
        is_main,
    };
    assert_eq!(client.call(placement(1, true)), Ok(()));
    let all = client.dump(SwInterfaceRxPlacementDump { sw_if_index: InterfaceIndex::NONE });
    let want = [(0, RxMode::Interrupt), (1, RxMode::Polling)].map(|(queue_id, mode)| {
        SwInterfaceRxPlacementDetails { sw_if_index: q1, queue_id, worker_id: 0, mode }
    });
    assert_eq!(all, want);
    assert_eq!(client.dump(SwInterfaceRxPlacementDump { sw_if_index: q1 }), want);
    assert_eq!(client.dump(SwInterfaceRxPlacementDump { sw_if_index: sw_if.into() }), []);
    assert!(run(&bench, &tree, "show interface rx-placement Q1").contains("polling"));
    assert_eq!(client.call(mode(q1, Some(0), RxMode::Default)), Ok(()));
    assert_eq!(
        client.dump(SwInterfaceRxPlacementDump { sw_if_index: q1 })[0].mode,
        RxMode::Adaptive
    );

    assert_eq!(client.call(mode(q1, Some(2), RxMode::Polling)), Err(-9));
    assert_eq!(client.call(mode(q1, None, RxMode::Unknown)), Err(-7));
    assert_eq!(client.call(mode(sw_if.into(), None, RxMode::Polling)), Err(-9));
    assert_eq!(client.call(mode(GONE, None, RxMode::Polling)), Err(-2));
    assert_eq!(client.call(placement(2, true)), Err(-9));
    assert_eq!(client.call(placement(0, false)), Err(-9));

    let default = |client: &mut Loopback<'_, World>| {
        client.call(SwInterfaceGetDefaultRxMode {}).expect("an answer").mode
    };
    assert_eq!(default(&mut client), RxMode::Adaptive);
    assert_eq!(client.call(SwInterfaceSetDefaultRxMode { mode: RxMode::Polling }), Ok(()));
    assert_eq!(default(&mut client), RxMode::Polling);
    assert_eq!(run(&bench, &tree, "show interface default rx-mode"), "default rx-mode: polling\n");
    run(&bench, &tree, "set interface default rx-mode interrupt");
    assert_eq!(default(&mut client), RxMode::Interrupt);
    assert_eq!(client.call(SwInterfaceSetDefaultRxMode { mode: RxMode::Unknown }), Err(-7));
}

/// A feature that does nothing.
static FEATURES: Plugin = Plugin {
    name: "features",
    nodes: &[graph::NodeDef::of::<Idle>()],
    features: &[graph::Feature { arc: "interface-output", node: "idle", before: &[], after: &[] }],
    ..Plugin::EMPTY
};
struct Idle;
#[derive(Next, Clone, Copy)]
enum IdleTo {
    #[next_feature]
    Continue,
}
impl graph::Build for Idle {
    fn build(_: &World, _: ThreadIndex) -> Self {
        Self
    }
}
impl Node for Idle {
    const NAME: &'static str = "idle";
    type Next = IdleTo;
    type Trace = ();
    fn packet<const TRACED: bool>(&mut self, _: &mut Buffer, _: &mut Cx<'_, TRACED>) -> IdleTo {
        IdleTo::Continue
    }
}

#[suite::test]
fn features_are_enabled() {
    static PLUGINS: &[&Plugin] = &[&PLUGIN, &FEATURES];
    let bench = Bench::new(PLUGINS);
    let tree = Tree::new(PLUGIN.cli).expect("the commands are well-formed");
    let q1 = with_queues(&bench);
    let mut client = bench.api();
    let set = |sw_if_index, enable, feature: &str| FeatureEnableDisable {
        sw_if_index,
        enable,
        arc_name: "interface-output".into(),
        feature_name: feature.into(),
    };
    let ask = |sw_if_index, arc: &str, feature: &str| FeatureIsEnabled {
        arc_name: arc.into(),
        feature_name: feature.into(),
        sw_if_index,
    };
    for on in [true, false] {
        assert_eq!(client.call(set(q1, on, "idle")), Ok(()));
        let told = client.call(ask(q1, "interface-output", "idle")).expect("an answer");
        assert_eq!(told.is_enabled, on);
        assert_eq!(run(&bench, &tree, "show interface features Q1").contains("idle"), on);
    }
    assert_eq!(client.call(set(q1, true, "nothing")), Err(-7));
    assert_eq!(client.call(set(GONE, true, "idle")), Err(-2));
    assert_eq!(client.call(ask(q1, "nowhere", "idle")).err(), Some(-7));
    assert_eq!(client.call(ask(q1, "interface-output", "nothing")).err(), Some(-7));
    assert_eq!(client.call(ask(GONE, "interface-output", "idle")).err(), Some(-2));
}
