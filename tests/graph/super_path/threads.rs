// SPDX-License-Identifier: Apache-2.0
//! Two threads at once, with the fast path and without: the same bytes, the same counters, and each
//! flow in order.

use super::features::TABLES;
use super::order::{frame, in_order};
use super::router::{
    Packets, Sent, create_interfaces, quiet, same, same_counts, through, without_numbers,
};
use super::{CONFIGURATION, CONFIGURATION6, INTERFACES, bases, six};
use buffer::Frame;
use graph::{
    ArcIndex, Build, Cx, Input, InputMode, Next, NodeDef, Plugin, Runtime, Shared, StateDef,
    SwIfIndex, ThreadIndex, World, WorldConfig,
};
use std::sync::{Arc, Mutex};
use testkit::mutate::Mutator;

const FRAMES: usize = 100_000;
const SEED: u64 = 20_261_202;
const THREADS: usize = 2;

/// Features of all kinds: with a stage, without, of packets that leave; and bridged interfaces.
const FEATURES: &[&str] = &[
    "svs enable ip4 table-id 70 e2",
    "set interface tcp-mss-clamp e2 ip4 enable ip4-mss 500",
    "set interface input acl intfc e1 ip4-table 0",
    "set urpf ip4 tx loose e3",
    "l3xc add e4 via 10.0.3.2 e3",
];

/// Frames that each thread's next poll brings.
#[derive(Default)]
struct Feed([Mutex<Packets>; THREADS]);

impl Shared for Feed {
    fn make(_: &World) -> Self {
        Self::default()
    }
}

/// A driver's input.
struct FeedInput {
    feed: Arc<Feed>,
    arc: ArcIndex,
    frame: Box<Frame>,
}

#[derive(Next, Clone, Copy)]
enum To {
    #[next("ethernet-input")]
    Ethernet,
}

impl Build for FeedInput {
    fn build(world: &World, _: ThreadIndex) -> Self {
        let arc = world.arc("device-input").expect("the arc of devices");
        Self { feed: world.get(), arc, frame: Frame::new(world.pool) }
    }
}

impl Input for FeedInput {
    const NAME: &'static str = "feed-input";
    type Next = To;

    fn poll(&mut self, cx: &mut Cx<'_, false>) -> usize {
        let feed = &self.feed.0[usize::from(cx.thread().0)];
        let frames = std::mem::take(&mut *feed.lock().expect("no panic inside"));
        for of_one in frames.chunk_by(|a, b| a.0 == b.0) {
            for (rx_if, bytes) in of_one {
                let mut b = cx.alloc().expect("a free buffer");
                b.rx_if = *rx_if;
                assert!(b.append_bytes(bytes, cx.cache()), "short enough");
                assert!(self.frame.push(b).is_ok(), "few enough");
            }
            cx.emit_frame_on(self.arc, SwIfIndex(of_one[0].0), To::Ethernet, &mut self.frame);
        }
        frames.len()
    }
}

static FEED: Plugin = Plugin {
    name: "feed",
    about: "Frames of a test",
    state: &[StateDef::of::<Feed>()],
    nodes: &[NodeDef::input::<FeedInput>()],
    ..Plugin::EMPTY
};

/// A router with two threads.
struct Router {
    world: Arc<World>,
    threads: Vec<Runtime>,
    sent: Sent,
}

impl Router {
    fn new(super_path: bool) -> Self {
        let config = WorldConfig { threads: THREADS, buffers: 16_384, ..WorldConfig::default() };
        let (world, mut threads) = World::new(&config, quiet(&[&FEED])).expect("an instance");
        let input = world.node("feed-input").expect("there");
        threads.iter_mut().for_each(|rt| rt.set_input_mode(input, InputMode::Polling));
        let sent = create_interfaces(&world);
        let mut router = Self { world, threads, sent };
        router.lines(CONFIGURATION);
        six(&router.world);
        router.lines(CONFIGURATION6);
        router.lines(TABLES);
        router.lines(FEATURES);
        router.lines(&[if super_path { "set super-path on" } else { "set super-path off" }]);
        router
    }

    fn lines(&mut self, lines: &[&str]) {
        let tree = cli::Tree::new(self.world.plugins().iter().flat_map(|p| p.cli)).expect("fits");
        for line in lines {
            let (mut runner, mut out) = (cli::Runner::default(), Vec::new());
            runner.line(&tree, &self.world, line, false, &mut out);
            let result = (0..1000).find_map(|_| {
                self.turn();
                let now = std::time::Duration::from_nanos(self.world.clock.now());
                runner.poll(&tree, &self.world, now, &mut out)
            });
            result.expect("it ends").unwrap_or_else(|e| panic!("{line}: {e}"));
        }
    }

    /// All threads at once take turns until nothing waits, then control takes one.
    fn turn(&mut self) {
        std::thread::scope(|scope| {
            for rt in &mut self.threads {
                scope.spawn(|| {
                    let turns = (0..1000).take_while(|_| rt.turn(true) > 0 || rt.is_busy());
                    assert!(turns.count() < 1000, "the graph settles");
                });
            }
        });
        self.world.processes.run(&self.world);
        self.world.qsbr.collect();
    }

    /// Each thread receives frames of some interfaces; returns the packets sent.
    fn pass(&mut self, frames: &Packets) -> Packets {
        let feed = self.world.get::<Feed>();
        for (thread, feed) in feed.0.iter().enumerate() {
            let own = frames.iter().filter(|(rx_if, _)| *rx_if as usize % THREADS == thread);
            feed.lock().expect("no panic inside").extend(own.cloned());
        }
        self.world.clock.adjust(10_000_000);
        (0..3).for_each(|_| self.turn());
        std::mem::take(&mut *self.sent.lock().expect("no panic inside"))
    }
}

#[test]
fn same_bytes_same_counters_with_two_threads() {
    let [mut with, mut without] = [true, false].map(Router::new);
    let bases: Vec<_> = (1..=INTERFACES).map(bases).collect();
    let mut mutator = Mutator::new(SEED);
    let (mut sent, mut left) = (0u32, 0);
    while (sent as usize) < FRAMES {
        let flows = 1 + mutator.rng().below(40);
        let mut frames = Packets::new();
        for _ in 0..1 + mutator.rng().below(250) {
            sent += 1;
            let flow = mutator.rng().below(flows) as u32;
            let rx_if = 1 + flow % INTERFACES;
            let all = &bases[rx_if as usize - 1];
            let mut one = frame(rx_if, flow, sent);
            if mutator.rng().one_in(8) {
                one = all[mutator.rng().below(all.len())].clone();
                if mutator.rng().one_in(2) {
                    mutator.next_frame(all, &mut one);
                }
            }
            frames.push((rx_if, one));
        }
        let when = format!("{sent} frames");
        let [fast, graph] = [&mut with, &mut without].map(|router| router.pass(&frames));
        left += in_order(&fast, &when);
        same(&without_numbers(fast), &without_numbers(graph), &when);
    }
    same_counts([&with.world, &without.world], None, "at the end");
    assert!(left > FRAMES / 3, "only {left} packets were sent");
    let [few, all] = [&with, &without].map(|router| through(&router.world, "ip4-rewrite"));
    assert!(few < all / 2, "{few} of {all} packets visited ip4-rewrite");
    for Router { world, threads, .. } in [with, without] {
        drop(threads);
        assert_eq!(world.pool.release(), Ok(()), "no buffer leaks");
    }
}
