// SPDX-License-Identifier: Apache-2.0
//! Nodes that are called at a time of the clock.

use super::*;
use crate::threads::ThreadPlan;

/// Counts its calls; a packet sets the time of the next one to its first byte, in milliseconds
/// from now, or to none if that is 0.
struct Alarmed(Arc<Calls>);

/// Counts the ticks that every node gets once in a second.
struct Other(Arc<Calls>);

/// Calls of `Alarmed`, and of `Other`.
#[derive(Default)]
struct Calls(AtomicU32, AtomicU32);

impl Shared for Calls {
    fn make(_: &World) -> Self {
        Self::default()
    }
}

#[derive(Next, Clone, Copy)]
enum To {
    #[free]
    Gone,
}

impl Build for Alarmed {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self(world.get())
    }
}

const MS: u64 = 1_000_000;

impl Node for Alarmed {
    const NAME: &'static str = "alarmed";
    type Next = To;
    type Trace = ();

    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        let after = b.data().first().copied().unwrap_or(0);
        let at = (after > 0).then(|| cx.now() + u64::from(after) * MS);
        cx.tick_at(cx.node(), at);
        To::Gone
    }

    fn tick(&mut self, _: &mut Cx<'_, false>) {
        self.0.0.fetch_add(1, Ordering::Relaxed);
    }
}

impl Build for Other {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self(world.get())
    }
}

impl Node for Other {
    const NAME: &'static str = "without-alarm";
    type Next = To;
    type Trace = ();

    fn packet<const TRACED: bool>(&mut self, _: &mut Buffer, _: &mut Cx<'_, TRACED>) -> To {
        To::Gone
    }

    fn tick(&mut self, _: &mut Cx<'_, false>) {
        self.0.1.fetch_add(1, Ordering::Relaxed);
    }
}

static ALARMED: &[&Plugin] = &[&Plugin {
    name: "alarmed",
    nodes: &[NodeDef::of::<Alarmed>(), NodeDef::of::<Other>()],
    state: &[StateDef::of::<Calls>()],
    ..Plugin::EMPTY
}];

#[suite::test]
fn a_node_is_called_when_its_time_has_come() {
    let mut bench = Bench::new(ALARMED);
    bench.world.clock.stop();
    let calls = bench.world.get::<Calls>();
    let after = |bench: &mut Bench, ms: u64| {
        bench.world.clock.adjust(ms * MS);
        bench.rt.turn(true);
        calls.0.swap(0, Ordering::Relaxed)
    };
    after(&mut bench, 1000);
    bench.send("alarmed", &[10], |_| {});
    assert_eq!([after(&mut bench, 9), after(&mut bench, 1), after(&mut bench, 50)], [0, 1, 0]);
    // The last time counts, and an alarm can end.
    bench.send("alarmed", &[10], |_| {});
    bench.send("alarmed", &[20], |_| {});
    assert_eq!([after(&mut bench, 19), after(&mut bench, 1)], [0, 1]);
    bench.send("alarmed", &[10], |_| {});
    bench.send("alarmed", &[0], |_| {});
    assert_eq!(after(&mut bench, 100), 0);
}

/// Without an alarm a thread without work sleeps for a second.
#[suite::test]
fn a_thread_that_sleeps_is_woken_by_an_alarm() {
    let config = WorldConfig { threads: 1, buffers: 63, ..WorldConfig::default() };
    let (world, runtimes) = World::new(&config, ALARMED).expect("an instance");
    let calls = world.get::<Calls>();
    let node = world.node("alarmed").expect("the node");
    let threads = Threads::start(runtimes, &ThreadPlan::default()).expect("threads");
    // Each alarm follows the last one. A thread that slept through them would wake once in a second
    // only, when both nodes are called.
    let others = calls.1.load(Ordering::Relaxed);
    for _ in 0..20 {
        let before = calls.0.load(Ordering::Relaxed);
        world.on_thread(ThreadIndex(0), move |rt| {
            let at = rt.core.clock.now() + 2 * MS;
            rt.core.set_alarm(node, Some(at));
        });
        while calls.0.load(Ordering::Relaxed) == before {
            std::thread::yield_now();
        }
    }
    assert!(calls.1.load(Ordering::Relaxed) - others < 10);
    let slept = world.thread_list()[0].sleeps;
    assert!(slept > 0);
    drop(threads.stop(&world));
}
