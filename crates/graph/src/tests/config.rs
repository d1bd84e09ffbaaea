// SPDX-License-Identifier: Apache-2.0
//! The configuration of features on interfaces.

use crate::drive::Bench;
use crate::*;
use buffer::Buffer;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use zerocopy::{Immutable, IntoBytes, TryFromBytes};

#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, TryFromBytes, IntoBytes, Immutable)]
#[repr(u8)]
enum Colour {
    #[default]
    Green,
    Red,
}

/// As large as a configuration may be.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, TryFromBytes, IntoBytes, Immutable)]
#[repr(C)]
struct Paint {
    first: u32,
    colour: Colour,
    is_dry: bool,
    middle: u16,
    last: u32,
}

impl Paint {
    const fn of(n: u32) -> Self {
        Self { first: n, colour: Colour::Red, is_dry: true, middle: n as u16, last: !n }
    }
}

/// Writes its configuration over the packet. With `LISTED`, its plugin lists it as it should be.
struct Painter<const LISTED: bool>;

#[derive(Next, Clone, Copy)]
enum PainterTo {
    #[next_feature]
    Continue,
}

impl<const LISTED: bool> Build for Painter<LISTED> {
    fn build(_: &World, _: ThreadIndex) -> Self {
        Self
    }
}

impl<const LISTED: bool> Configured for Painter<LISTED> {
    type Config = Paint;
}

impl<const LISTED: bool> Node for Painter<LISTED> {
    const NAME: &'static str = if LISTED { "painter" } else { "unlisted" };
    type Next = PainterTo;
    type Trace = ();
    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> PainterTo {
        let config = cx.feature_config::<Self>(b);
        b.data_mut()[..12].copy_from_slice(config.as_bytes());
        PainterTo::Continue
    }
}

static PAINT: Plugin = Plugin {
    name: "paint",
    nodes: &[
        NodeDef::configured::<Painter<true>>(),
        NodeDef::of::<Painter<false>>(),
        NodeDef::input::<Source>(),
        NodeDef::of::<Judge>(),
    ],
    state: &[StateDef::of::<Seen>()],
    arcs: &[ArcDef { name: "paints", starts: &[], end: "judge" }],
    features: &[
        Feature { arc: "paints", node: "painter", before: &[], after: &[] },
        Feature { arc: "paints", node: "unlisted", before: &[], after: &[] },
    ],
    ..Plugin::EMPTY
};
static PAINTS: &[&Plugin] = &[&PAINT];

const ONE: SwIfIndex = SwIfIndex(1);
const TWO: SwIfIndex = SwIfIndex(2);

fn painted(bench: &mut Bench, sw_if: SwIfIndex) -> Paint {
    let out = bench.feature("paints", sw_if, &[vec![0; 12]]);
    assert_eq!(out[0].node, "judge");
    Paint::try_read_from_bytes(&out[0].bytes).expect("a configuration")
}

#[suite::test]
fn a_node_reads_what_was_configured_for_the_interface() {
    let mut bench = Bench::new(PAINTS);
    let world = bench.world.clone();
    let arc = world.arc("paints").expect("an arc");
    let set = |sw_if, config| {
        world.configure_feature::<Painter<true>>("paints", sw_if, config).expect("set")
    };
    let configured = |sw_if| world.feature_config::<Painter<true>>(arc, sw_if);
    set(ONE, Some(Paint::of(7)));
    set(TWO, Some(Paint::of(8)));
    assert_eq!([ONE, TWO].map(|sw_if| painted(&mut bench, sw_if)), [Paint::of(7), Paint::of(8)]);
    assert_eq!([ONE, TWO].map(configured), [Some(Paint::of(7)), Some(Paint::of(8))]);
    set(ONE, Some(Paint::of(9)));
    assert_eq!((painted(&mut bench, ONE), configured(ONE)), (Paint::of(9), Some(Paint::of(9))));
    // Without a configuration of its own it has the default one: by name, and by an operator's
    // setting.
    world.set_feature("paints", "painter", ONE, true).expect("enabled");
    assert_eq!(painted(&mut bench, ONE), Paint::default());
    set(ONE, None);
    assert_eq!((configured(ONE), world.features_of(arc, ONE)), (None, Vec::new()));
    world.choose_feature("paints", "painter", ONE, true).expect("chosen");
    assert_eq!(painted(&mut bench, ONE), Paint::default());
    // It goes with the interface.
    world.forget_features(ONE);
    world.forget_features(TWO);
    assert_eq!([ONE, TWO].map(configured), [None, None]);
    world.set_feature("paints", "painter", TWO, true).expect("enabled");
    assert_eq!(painted(&mut bench, TWO), Paint::default(), "another interface of this index");
}

#[suite::test]
fn a_packet_keeps_the_configuration_that_it_started_with() {
    let mut bench = Bench::new(PAINTS);
    let world = bench.world.clone();
    let set = |config| {
        world.configure_feature::<Painter<true>>("paints", ONE, Some(config)).expect("set")
    };
    set(Paint::of(1));
    bench.rt.receive();
    let (arc, mut b) = (world.arc("paints").expect("an arc"), bench.buffer(&[0; 12]));
    let node = bench.rt.start_arc(arc, ONE, &mut b).expect("enabled");
    set(Paint::of(2));
    world.forget_features(ONE);
    bench.rt.inject(node, b);
    bench.rt.run_node(node);
    assert_eq!(bench.collect()[0].bytes, Paint::of(1).as_bytes());
}

#[suite::test]
fn a_configuration_of_another_type_is_refused() {
    let world = Bench::new(PAINTS).world.clone();
    let set = world.configure_feature::<Painter<false>>("paints", ONE, Some(Paint::of(1)));
    let error = set.expect_err("listed without it");
    assert!(
        error.contains("feature unlisted") && error.contains("Paint") && error.contains("()"),
        "{error}"
    );
}

/// Packets that were painted by a value and its complement, and all others.
#[derive(Default)]
struct Seen {
    whole: AtomicU64,
    torn: AtomicU64,
    last: AtomicU64,
}

impl Shared for Seen {
    fn make(_: &World) -> Self {
        Self::default()
    }
}

/// Brings packets as long as it is polled.
struct Source(Option<ArcIndex>);

#[derive(Next, Clone, Copy)]
enum SourceTo {
    #[dynamic]
    Node(NodeIndex),
    #[free]
    Nowhere,
}

impl Input for Source {
    const NAME: &'static str = "paint-source";
    type Next = SourceTo;
    fn poll(&mut self, cx: &mut Cx<'_, false>) -> usize {
        let Some(arc) = self.0 else { return 0 };
        for _ in 0..64 {
            let Some(mut b) = cx.alloc() else { return 0 };
            assert!(b.set_data(&[0; 12]));
            let to = cx.start_arc(arc, ONE.0, &mut b).map_or(SourceTo::Nowhere, SourceTo::Node);
            cx.emit(to, b);
        }
        64
    }
}

impl Build for Source {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self(world.arc("paints"))
    }
}

struct Judge(Arc<Seen>);

#[derive(Next, Clone, Copy)]
enum JudgeTo {
    #[free]
    Gone,
}

impl Build for Judge {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self(world.get())
    }
}

impl Node for Judge {
    const NAME: &'static str = "judge";
    type Next = JudgeTo;
    type Trace = ();
    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, _: &mut Cx<'_, TRACED>) -> JudgeTo {
        let paint = Paint::try_read_from_bytes(b.data()).unwrap_or_default();
        let is_whole = paint == Paint::of(paint.first);
        let count = if is_whole { &self.0.whole } else { &self.0.torn };
        self.0.last.store(paint.first.into(), Ordering::Relaxed);
        count.fetch_add(1, Ordering::Relaxed);
        JudgeTo::Gone
    }
}

#[suite::test]
fn it_changes_while_packets_flow() {
    let config = WorldConfig { threads: 2, buffers: 4096, ..WorldConfig::default() };
    let (world, runtimes) = World::new(&config, PAINTS).expect("an instance");
    let set =
        |config| world.configure_feature::<Painter<true>>("paints", ONE, config).expect("set");
    let threads = Threads::start(runtimes, &ThreadPlan::default()).expect("threads");
    let (source, seen) = (world.node("paint-source").expect("there"), world.get::<Seen>());
    world.on_threads(move |rt| rt.set_input_mode(source, InputMode::Polling));
    let deadline = Instant::now() + Duration::from_secs(20);
    for n in 1..200 {
        set(Some(Paint::of(n)));
        while seen.last.load(Ordering::Relaxed) != u64::from(n) {
            assert!(Instant::now() < deadline, "no packet has configuration {n}");
            std::thread::yield_now();
        }
        if n % 8 == 0 {
            set(None);
        }
    }
    drop(threads.stop(&world));
    assert_eq!(seen.torn.load(Ordering::Relaxed), 0);
    assert!(seen.whole.load(Ordering::Relaxed) >= 199);
    assert_eq!(world.pool.release(), Ok(()), "no buffer leaks");
}
