// SPDX-License-Identifier: Apache-2.0
//! A thread that is stuck, and control beside it.

use super::*;
use cli::{Command, Output};
use std::sync::Condvar;
use std::time::{Duration, Instant};

/// Holds a thread up. State: whether the thread is held, and whether it may go on.
#[derive(Default)]
struct Gate {
    state: Mutex<(bool, bool)>,
    changed: Condvar,
}

impl Gate {
    fn hold(&self) {
        let mut state = self.state.lock().expect("no panic");
        state.0 = true;
        self.changed.notify_all();
        drop(self.changed.wait_while(state, |(_, open)| !*open));
    }

    fn wait_until_held(&self) {
        drop(self.changed.wait_while(self.state.lock().expect("no panic"), |(held, _)| !*held));
    }

    fn open(&self) {
        self.state.lock().expect("no panic").1 = true;
        self.changed.notify_all();
    }
}

/// Holds its thread up.
struct Stuck(Arc<Gate>);

#[derive(Next, Clone, Copy)]
enum StuckTo {
    #[free]
    Gone,
}

impl Node for Stuck {
    const NAME: &'static str = "stuck";
    type Next = StuckTo;
    type Trace = ();
    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, _: &mut Buffer, _: &mut Cx<'_, TRACED>) -> StuckTo {
        self.0.hold();
        StuckTo::Gone
    }
}

static CLI: &[Command<World>] = &[Command {
    path: "show answer",
    usage: "",
    help: "Answers",
    run: |world, _| Ok(Output::text(format!("{} nodes", world.nodes().len()))),
}];
static PLUGINS: &[&Plugin] = &[&Plugin { name: "test", cli: CLI, ..Plugin::EMPTY }];

fn within(seconds: u64, what: &str, mut done: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_secs(seconds);
    while !done() {
        assert!(Instant::now() < until, "{what}: not within {seconds} s");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[suite::test]
fn a_stuck_thread_stops_neither_control_nor_the_order_of_changes() {
    const CHANGES: u32 = 50_000;
    let config = WorldConfig { threads: 2, buffers: 4095, ..WorldConfig::default() };
    let (world, runtimes) = World::new(&config, PLUGINS).expect("an instance");
    let gate = Arc::new(Gate::default());
    let held = gate.clone();
    let stuck = world.add_node("stuck", move |_, _| Stuck(held.clone())).expect("room");
    let threads = Threads::start(runtimes, &ThreadPlan::default()).expect("threads");
    let mut cache = buffer::Cache::new(world.pool);
    world.inject(stuck, cache.alloc().expect("a buffer"));
    gate.wait_until_held();

    // Thousands of changes of every kind, more than any queue of a fixed length would hold.
    let seen: [Arc<Mutex<Vec<u32>>>; 2] = Default::default();
    for i in 0..CHANGES {
        for (thread, seen) in seen.iter().enumerate() {
            let seen = seen.clone();
            world.on_thread(ThreadIndex(thread as u16), move |_| {
                seen.lock().expect("no panic").push(i)
            });
        }
        if i % 100 == 0 {
            let index = world.add_node(&format!("late{i}"), |_, _| Switch).expect("room");
            world.remove_node(index);
            let _ = world.processes.run(&world);
            world.qsbr.retire(Box::new(i));
            world.qsbr.collect();
        }
    }
    // Packets of control's own may not take all buffers.
    for _ in 0..2000 {
        world.inject(stuck, cache.alloc().expect("the stuck thread holds all buffers"));
    }
    assert_eq!(world.stats.simple(counters::REFUSED).sum(0), 2000 - 1024);
    // A command, and a question that only one thread answers.
    let tree = cli::Tree::new(CLI).expect("fits together");
    let (mut runner, mut said) = (cli::Runner::default(), Vec::new());
    runner.line(&tree, &*world, "show answer", false, &mut said);
    within(20, "the command's answer", || {
        match runner.poll(&tree, &*world, Duration::ZERO, &mut said) {
            Some(answer) => answer.is_ok(),
            None => false,
        }
    });
    within(20, "thread 1 goes on", || seen[1].lock().expect("no panic").len() == CHANGES as usize);
    assert!(seen[0].lock().expect("no panic").is_empty());
    let list = world.thread_list();
    assert!(list[0].waiting >= CHANGES as usize && list[1].waiting == 0, "{list:?}");

    gate.open();
    within(20, "thread 0 goes on", || world.thread_list()[0].waiting == 0);
    drop(world.query(|_| ()).wait());
    for seen in &seen {
        assert!(seen.lock().expect("no panic").iter().copied().eq(0..CHANGES), "in order");
    }
    drop(cache);
    drop(threads.stop(&world));
    let _ = world.processes.run(&world);
    world.qsbr.collect();
    assert_eq!(world.qsbr.pending(), 0);
}

#[suite::test]
fn a_thread_that_never_ends_does_not_keep_the_process() {
    let config = WorldConfig { threads: 2, buffers: 63, ..WorldConfig::default() };
    let (world, runtimes) = World::new(&config, PLUGINS).expect("an instance");
    let gate = Arc::new(Gate::default());
    let held = gate.clone();
    let threads = Threads::start(runtimes, &ThreadPlan::default()).expect("threads");
    world.on_thread(ThreadIndex(1), move |_| held.hold());
    gate.wait_until_held();
    let ended = threads.stop(&world);
    assert_eq!(ended.iter().map(Runtime::thread).collect::<Vec<_>>(), [ThreadIndex(0)]);
    gate.open();
}
