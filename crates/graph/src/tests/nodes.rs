// SPDX-License-Identifier: Apache-2.0
//! Nodes that come and go.

use super::*;
use crate::counters::{ERRORS, VECTORS};

static NONE: &[&Plugin] = &[&Plugin { name: "test", ..Plugin::EMPTY }];

/// Every packet is a drop, and the last of many reasons.
struct Dropper;

#[derive(Next, Clone, Copy)]
#[allow(dead_code, reason = "numbers are what matters")]
enum DropperTo {
    /// one.
    #[drop]
    One,
    /// two.
    #[drop]
    Two,
    /// three.
    #[drop]
    Three,
    /// four.
    #[drop]
    Four,
    /// five.
    #[drop]
    Five,
    /// the last of six.
    #[drop]
    Last,
}

impl Node for Dropper {
    const NAME: &'static str = "dropper";
    type Next = DropperTo;
    type Trace = ();
    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, _: &mut Buffer, _: &mut Cx<'_, TRACED>) -> DropperTo {
        DropperTo::Last
    }
}

fn listed(world: &World) -> Vec<String> {
    let all = stats::Reader::new(&world.stats).expect("a segment").list().expect("readable");
    all.into_iter().map(|(name, _)| name).collect()
}

#[suite::test]
fn nodes_that_go_leave_nothing_behind() {
    let mut bench = Bench::new(NONE);
    let world = bench.world.clone();
    let state = |world: &World| {
        let mut listed = listed(world);
        listed.sort();
        (world.nodes().len(), world.node_names().len(), world.reasons().len(), listed)
    };
    // Names where drops go, which stay.
    world.remove_node(world.add_node("first", |_, _| Dropper).expect("room"));
    bench.settle();
    let start = state(&world);
    for i in 0..3000_u32 {
        let name = format!("host-veth{:08x}-tx", i.wrapping_mul(2_654_435_761));
        let index = world.add_node(&name, |_, _| Dropper).expect("room");
        assert_eq!(bench.count(&name, "last"), 0, "{name} begins with its predecessor's drops");
        assert_eq!(world.stats.simple(VECTORS).sum(index.at()), 0, "{name}");
        let out = bench.node(&name, &[packet(1, 0)], |_| {});
        assert_eq!((out[0].node.as_str(), out[0].reason), ("error-drop", Some("the last of six")));
        assert_eq!(
            (bench.count(&name, "last"), world.stats.simple(VECTORS).sum(index.at())),
            (1, 1)
        );
        let link = format!("/err/{name}/last");
        let reader = stats::Reader::new(&world.stats).expect("a segment");
        assert_eq!(reader.get(&link).expect("readable").map(|v| v.total()), Some(1));
        world.remove_node(index);
        assert_eq!((world.node(&name), reader.get(&link).expect("readable")), (None, None));
        bench.settle();
    }
    assert_eq!(state(&world), start);
    assert_eq!(world.stats.simple(ERRORS).sum(crate::registry::NO_NODE as usize), 0);
}

/// A node may count its drops under another node's name (`of = …`).
#[suite::test]
fn a_counter_may_be_another_nodes() {
    #[derive(Next, Clone, Copy)]
    enum To {
        /// the first one's own reason
        #[drop]
        Own,
        /// the {ip4|ip6} input's reason
        #[drop]
        #[counter("rpf_failure", of = "{ip}-input")]
        Other,
    }
    struct Second(u8);
    impl Node for Second {
        const NAME: &'static str = "second";
        const V6: Option<bool> = Some(true);
        type Next = To;
        type Trace = ();
        fn packet<const TRACED: bool>(&mut self, _: &mut Buffer, _: &mut Cx<'_, TRACED>) -> To {
            self.0 += 1;
            if self.0.is_multiple_of(3) { To::Own } else { To::Other }
        }
    }
    let mut bench = Bench::new(NONE);
    let world = bench.world.clone();
    let index = world.add_node("second", |_, _| Second(0)).expect("room");
    bench.settle();
    let packets: Vec<_> = (0..9).map(|i| packet(i, 0)).collect();
    let out = bench.node("second", &packets, |_| {});
    let other = |o: &&graph::drive::Outcome| o.reason == Some("the ip6 input's reason");
    assert_eq!(out.iter().filter(other).count(), 6);
    assert_eq!((bench.count("second", "own"), bench.count("ip6-input", "rpf_failure")), (3, 6));
    let listed = listed(&world);
    assert!(
        listed.contains(&"/err/second/own".into())
            && listed.contains(&"/err/ip6-input/rpf_failure".into())
    );
    world.remove_node(index);
    bench.settle();
    assert!(!self::listed(&world).iter().any(|name| name.ends_with("/rpf_failure")));
}

/// A thread that hasn't taken the removal still has the old body there.
#[suite::test]
fn an_index_is_used_again_when_every_thread_has_given_it_back() {
    let config = WorldConfig { threads: 2, buffers: 63, ..WorldConfig::default() };
    let (world, mut runtimes) = World::new(&config, NONE).expect("an instance");
    let old = world.add_node("old", |_, _| Dropper).expect("room");
    runtimes.iter_mut().for_each(|rt| _ = rt.turn(true));
    world.remove_node(old);
    let one = world.add_node("one", |_, _| Dropper).expect("room");
    runtimes[0].turn(true);
    let two = world.add_node("two", |_, _| Dropper).expect("room");
    assert!(one != old && two != old, "thread 1 still sends by it");
    runtimes[1].turn(true);
    assert_eq!(world.add_node("three", |_, _| Dropper).expect("room"), old);
    runtimes.iter_mut().for_each(|rt| _ = rt.turn(true));
}

#[suite::test]
fn packets_to_a_node_that_has_gone_are_counted_and_never_sent_by_another() {
    let mut bench = Bench::new(NONE);
    let world = bench.world.clone();
    let old = world.add_node("old", |_, _| Dropper).expect("room");
    bench.settle();
    world.remove_node(old);
    let b = bench.buffer(&packet(1, 0));
    // Control has taken the node away, the thread hears of it in the same turn.
    bench.rt.inject(old, b);
    bench.settle();
    assert_eq!(bench.count("graph", "no_node"), 1);
    let new = world.add_node("new", |_, _| Dropper).expect("room");
    assert_eq!(new, old);
    // A packet overtakes the new body: it waits for that.
    let b = bench.buffer(&packet(1, 0));
    bench.rt.inject(new, b);
    bench.settle();
    assert_eq!((bench.count("graph", "no_node"), bench.count("new", "last")), (2, 1));
}

#[suite::test]
fn a_reason_beyond_65_536_is_told_right() {
    let mut bench = Bench::new(NONE);
    let world = bench.world.clone();
    for i in 0..12_000 {
        world.add_node(&format!("d{i}"), |_, _| Dropper).expect("room");
    }
    assert!(world.reasons().len() > 70_000);
    for i in (0..12_000).step_by(499).chain([10_921, 10_922, 10_923, 11_999]) {
        let name = format!("d{i}");
        let before = bench.count(&name, "last");
        let out = bench.node(&name, &[packet(1, 0)], |_| {});
        assert_eq!(out[0].reason, Some("the last of six"), "{name}");
        assert_eq!(bench.count(&name, "last"), before + 1, "{name}");
        let of_name = world.reasons().into_iter().filter(|r| *r.node == *name).count();
        assert_eq!(of_name, 6, "{name}");
    }
}

#[suite::test]
fn one_node_too_many_is_an_error() {
    let mut bench = Bench::new(NONE);
    let world = bench.world.clone();
    let error = (0..=MAX_NODES).find_map(|i| world.add_node(&format!("n{i}"), |_, _| Over).err());
    let error = error.expect("there is an end");
    assert_eq!((error.to_string(), error.code()), ("too many nodes, 266240 at most".into(), -162));
    assert_eq!(world.nodes().len(), MAX_NODES);
    let (last, other) =
        (world.node("n262000").expect("there"), world.node("n4711").expect("there"));
    let out = bench.node("n262000", &[packet(1, 0)], |_| {});
    assert_eq!(out[0].node, "n0", "the highest codes lead to nodes");
    world.remove_node(other);
    assert!(world.add_node("late", |_, _| Over).is_err(), "no thread has given it back");
    bench.settle();
    assert_eq!(world.add_node("late", |_, _| Over).expect("room"), other);
    assert!(last.at() > 0xffff);
}

/// Sends to the first node.
struct Over;

#[derive(Next, Clone, Copy)]
enum OverTo {
    #[dynamic]
    Node(NodeIndex),
}

impl Node for Over {
    const NAME: &'static str = "over";
    type Next = OverTo;
    type Trace = ();
    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, _: &mut Buffer, _: &mut Cx<'_, TRACED>) -> OverTo {
        OverTo::Node(NodeIndex(0))
    }
}

/// Every packet goes round for ever, until `ends` is set.
struct Spinner(NodeIndex, Arc<AtomicU32>);

#[derive(Next, Clone, Copy)]
enum SpinnerTo {
    #[dynamic]
    Again(NodeIndex),
    #[free]
    End,
}

impl Node for Spinner {
    const NAME: &'static str = "spinner";
    type Next = SpinnerTo;
    type Trace = ();
    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, _: &mut Cx<'_, TRACED>) -> SpinnerTo {
        let ends = self.1.load(Ordering::Relaxed);
        if b.data()[0] < ends as u8 { SpinnerTo::End } else { SpinnerTo::Again(self.0) }
    }
}

/// A packet that goes round for ever takes only a part of each turn: messages of control and other
/// packets get through.
#[suite::test]
fn a_packet_in_a_circle_keeps_no_thread() {
    let mut bench = Bench::new(NONE);
    let (world, ends) = (bench.world.clone(), Arc::new(AtomicU32::new(1)));
    let (first, also) = (Arc::new(AtomicU32::new(0)), ends.clone());
    let at = first.clone();
    let spinner = world
        .add_node("spinner", move |_, _| {
            Spinner(NodeIndex(at.load(Ordering::Relaxed)), also.clone())
        })
        .expect("room");
    // Its index is known now: the node is made once more, with it.
    world.remove_node(spinner);
    bench.settle();
    first.store(spinner.0, Ordering::Relaxed);
    let (at, also) = (first, ends.clone());
    let spinner = world
        .add_node("spinner", move |_, _| {
            Spinner(NodeIndex(at.load(Ordering::Relaxed)), also.clone())
        })
        .expect("room");
    bench.settle();
    let out = bench.buffers_out();
    let packet = bench.buffer(&[9]);
    bench.rt.inject(spinner, packet);
    for _ in 0..3 {
        let (run, seen) = (Arc::new(AtomicU32::new(0)), bench.buffers_out());
        let also = run.clone();
        world.on_thread(ThreadIndex(0), move |_| also.store(1, Ordering::Relaxed));
        let other = bench.buffer(&[0]);
        bench.rt.inject(spinner, other);
        // Every call of a node returns, and so does every turn.
        bench.rt.turn(true);
        assert!(bench.rt.has_work(), "the packet still goes round");
        assert_eq!(run.load(Ordering::Relaxed), 1, "control gets through");
        assert_eq!(bench.buffers_out(), seen, "the other packet got through");
    }
    ends.store(10, Ordering::Relaxed);
    bench.settle();
    assert_eq!(bench.buffers_out(), out);
}
