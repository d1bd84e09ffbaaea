// SPDX-License-Identifier: Apache-2.0
//! TSC clocks of a packet that is handed over to another thread:
//! `cargo run --release -p ferrovia-graph --example handoff`.
//!
//! Both threads' graphs run in one thread, one after the other, so no time is lost to the
//! scheduler, and no cache line changes its core. The packets go through an input and two nodes;
//! without a handoff they stay in the first graph. A figure is the median over blocks.

use buffer::{Buffer, Owned};
use graph::{
    Build, Cx, Input, InputMode, Next, Node, NodeDef, NodeIndex, Plugin, Runtime, Shared, StateDef,
    ThreadIndex, World, WorldConfig,
};
use simd::rdtsc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const BLOCKS: usize = 2001;

/// Packets of a vector, and the thread that frees them.
#[derive(Default)]
struct Plan {
    vector: AtomicUsize,
    thread: AtomicUsize,
}

impl Shared for Plan {
    fn make(_: &World) -> Self {
        Self::default()
    }
}

struct Source(Arc<Plan>);

#[derive(Next, Clone, Copy)]
enum SourceTo {
    #[next("spread")]
    Spread,
}

impl Build for Source {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self(world.get())
    }
}

impl Input for Source {
    const NAME: &'static str = "source";
    type Next = SourceTo;
    fn poll(&mut self, cx: &mut Cx<'_, false>) -> usize {
        let n = if cx.thread().at() == 0 { self.0.vector.load(Ordering::Relaxed) } else { 0 };
        for _ in 0..n {
            let Some(b) = cx.alloc() else { return 0 };
            cx.emit(SourceTo::Spread, b);
        }
        n
    }
}

struct Spread {
    plan: Arc<Plan>,
    sink: NodeIndex,
}

#[derive(Next, Clone, Copy)]
enum SpreadTo {
    #[next("sink")]
    Here,
    #[keep]
    There,
}

impl Build for Spread {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self { plan: world.get(), sink: world.node("sink").expect("a node of this plugin") }
    }
}

impl Node for Spread {
    const NAME: &'static str = "spread";
    const HOT: bool = true;
    type Next = SpreadTo;
    type Trace = ();
    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, _: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> SpreadTo {
        let here = self.plan.thread.load(Ordering::Relaxed) == cx.thread().at();
        if here { SpreadTo::Here } else { SpreadTo::There }
    }
    fn keep(&mut self, b: Owned, cx: &mut Cx<'_, false>) {
        cx.handoff(ThreadIndex(1), self.sink, b);
    }
}

struct Sink;

#[derive(Next, Clone, Copy)]
enum SinkTo {
    #[free]
    Gone,
}

impl Build for Sink {
    fn build(_: &World, _: ThreadIndex) -> Self {
        Self
    }
}

impl Node for Sink {
    const NAME: &'static str = "sink";
    const HOT: bool = true;
    type Next = SinkTo;
    type Trace = ();
    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, _: &mut Buffer, _: &mut Cx<'_, TRACED>) -> SinkTo {
        SinkTo::Gone
    }
}

static PLUGIN: Plugin = Plugin {
    name: "handoff-example",
    state: &[StateDef::of::<Plan>()],
    nodes: &[NodeDef::input::<Source>(), NodeDef::of::<Spread>(), NodeDef::of::<Sink>()],
    ..Plugin::EMPTY
};

static PLUGINS: &[&Plugin] = &[&PLUGIN];

fn turn(rt: &mut Runtime) -> f64 {
    let start = rdtsc();
    rt.turn(true);
    (rdtsc() - start) as f64
}

fn median(blocks: &mut [f64]) -> f64 {
    blocks.sort_by(f64::total_cmp);
    blocks[blocks.len() / 2]
}

fn main() {
    let config = WorldConfig { threads: 2, buffers: 16_384, ..WorldConfig::default() };
    let (world, mut threads) = World::new(&config, PLUGINS).expect("an instance");
    let source = world.node("source").expect("there");
    world.on_threads(move |rt| rt.set_input_mode(source, InputMode::Polling));
    threads.iter_mut().for_each(Runtime::receive);
    let plan: Arc<Plan> = world.get();
    let [first, second] = &mut threads[..] else { return };
    println!("{:<8}{:>10}{:>10}{:>10}{:>10}", "vector", "stays", "sent", "received", "handoff");
    for vector in [256, 64, 16, 4, 1] {
        plan.vector.store(vector, Ordering::Relaxed);
        let mut blocks: [Vec<f64>; 4] = Default::default();
        for _ in 0..BLOCKS {
            for thread in 0..2 {
                plan.thread.store(thread, Ordering::Relaxed);
                blocks[2 * thread].push(turn(first));
                blocks[2 * thread + 1].push(turn(second));
            }
        }
        let [stays, idle, sent, received] =
            blocks.each_mut().map(|blocks| median(blocks) / vector as f64);
        let handoff = sent + received - stays - idle;
        println!("{vector:<8}{stays:>10.1}{sent:>10.1}{received:>10.1}{handoff:>10.1}");
    }
    let lost = world.stats.simple(graph::counters::CONGESTION).sum(1);
    assert_eq!(lost, 0, "packets were dropped");
    drop(threads);
}
