// SPDX-License-Identifier: Apache-2.0
mod alarm;
mod config;
mod control;
mod field;
mod handoff;
mod nodes;
mod shared;
mod stuck;

use crate::drive::Bench;
use crate::*;
use buffer::{Buffer, Flags, Owned};
use proptest::prelude::*;
use simd::{Isa, Level};
use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

/// Goes where the packet's first byte says.
struct Switch;

#[derive(Next, Clone, Copy)]
enum SwitchTo {
    #[next("a")]
    A,
    /// went to b
    #[next("b", count)]
    B,
    #[dynamic]
    Node(NodeIndex),
    /// no good.
    #[drop]
    NoGood,
    #[next_feature]
    Continue,
    #[free]
    Gone,
    #[keep]
    Mine,
}

#[derive(Clone, Copy)]
struct Seen(u8);
impl Trace for Seen {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "first byte {}", self.0)
    }
}

impl Node for Switch {
    const NAME: &'static str = "switch";
    const HOT: bool = true;
    type Next = SwitchTo;
    type Trace = Seen;
    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> SwitchTo {
        let first = b.data().first().copied().unwrap_or(0);
        cx.trace(b, Seen(first));
        match first {
            0 => SwitchTo::A,
            1 => SwitchTo::B,
            2 => SwitchTo::NoGood,
            3 => SwitchTo::Continue,
            4 => SwitchTo::Gone,
            5 => SwitchTo::Mine,
            n => SwitchTo::Node(NodeIndex(u32::from(n) % 3 + DYNAMIC_BASE.load(Ordering::Relaxed))),
        }
    }
    fn keep(&mut self, mut buffer: Owned, cx: &mut Cx<'_, false>) {
        buffer.data_mut()[0] = 0;
        cx.emit(SwitchTo::A, buffer);
    }
}
impl Build for Switch {
    fn build(_: &World, _: ThreadIndex) -> Self {
        Self
    }
}
static DYNAMIC_BASE: AtomicU32 = AtomicU32::new(0);

/// Writes to every packet, with a body that the compiler turns into vector code.
struct Mangle;
#[derive(Next, Clone, Copy)]
enum MangleTo {
    #[next("switch")]
    Switch,
}
impl Node for Mangle {
    const NAME: &'static str = "mangle";
    const PREFETCH: Prefetch = Prefetch::Packet;
    const HOT: bool = true;
    type Next = MangleTo;
    type Trace = ();
    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, _: &mut Cx<'_, TRACED>) -> MangleTo {
        for (i, byte) in b.data_mut().iter_mut().enumerate().skip(1) {
            *byte = byte.wrapping_mul(7).wrapping_add(i as u8);
        }
        MangleTo::Switch
    }
    #[inline(always)]
    fn stages<I: Isa>(&mut self, v: &mut Vector<'_, MangleTo>, cx: &mut Cx<'_, false>) {
        for i in 0..v.len() {
            let next = self.packet::<false>(v.get_mut(i), cx);
            v.set(i, next);
        }
    }
}
impl Build for Mangle {
    fn build(_: &World, _: ThreadIndex) -> Self {
        Self
    }
}

static PLUGIN: Plugin = Plugin {
    name: "test",
    nodes: &[NodeDef::of::<Switch>(), NodeDef::of::<Mangle>()],
    arcs: &[ArcDef { name: "arc", starts: &["mangle"], end: "the-end" }],
    features: &[Feature { arc: "arc", node: "switch", before: &[], after: &[] }],
    ..Plugin::EMPTY
};
static PLUGINS: &[&Plugin] = &[&PLUGIN];

fn packet(first: u8, id: u32) -> Vec<u8> {
    let mut bytes = vec![first; 60];
    bytes[1..5].copy_from_slice(&id.to_be_bytes());
    bytes
}

fn names(bench: &Bench) -> (u32, Vec<String>) {
    // Three nodes that no plugin brings, to be chosen at run time.
    let base = bench.index("a").0;
    DYNAMIC_BASE.store(base, Ordering::Relaxed);
    (base, bench.world.nodes().iter().map(|n| n.name.to_string()).collect())
}

fn expected(first: u8, base: u32, names: &[String]) -> Option<String> {
    Some(match first {
        0 | 5 => "a".to_string(),
        1 => "b".to_string(),
        2 => "error-drop".to_string(),
        3 => "the-end".to_string(),
        4 => return None,
        n => names[(n as u32 % 3 + base) as usize].clone(),
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    /// Whatever the edges and the length: every packet arrives where it was sent, in order, at
    /// every level.
    #[suite::test]
    fn packets_arrive_where_they_were_sent(firsts in prop_oneof![
        prop::collection::vec(0u8..12, 0..600),
        prop::collection::vec(0u8..2, 0..300),
        prop::collection::vec(Just(1u8), 0..300),
    ]) {
        for level in Level::ALL.into_iter().filter(|l| l.is_supported()) {
            let mut bench = Bench::new(PLUGINS);
            let (base, names) = names(&bench);
            let switch = bench.index("switch");
            bench.rt.receive();
            prop_assert!(bench.rt.set_variant(switch, level));
            let mut want: Vec<(String, Vec<u8>)> = Vec::new();
            let packets: Vec<_> = firsts.iter().enumerate().map(|(i, f)| packet(*f, i as u32)).collect();
            // A step of a chain, for those that continue.
            bench.world.set_feature("arc", "switch", SwIfIndex(1), true).expect("enabled");
            for p in &packets {
                if let Some(node) = expected(p[0], base, &names) {
                    let mut p = p.clone();
                    if p[0] == 5 { p[0] = 0 }
                    want.push((node, p));
                }
            }
            let got = bench.node("switch", &packets, |b| b.feature = 1);
            let mut got: Vec<_> = got.into_iter().map(|o| (o.node, o.bytes)).collect();
            // Kept packets come after the frame's others.
            let key = |x: &(String, Vec<u8>)| (x.0.clone(), x.1[1..5].to_vec());
            for pairs in [&got, &want] {
                // Per node and first byte, the order is that of sending.
                let mut last = std::collections::HashMap::new();
                for (node, bytes) in pairs.iter().filter(|(_, b)| b[0] != 0) {
                    let id = u32::from_be_bytes(bytes[1..5].try_into().expect("four"));
                    if let Some(before) = last.insert((node.clone(), bytes[0]), id) { prop_assert!(before < id, "{} out of order", node) }
                }
            }
            got.sort_by_key(key);
            want.sort_by_key(key);
            prop_assert_eq!(got, want);
            let dropped = firsts.iter().filter(|f| **f == 2).count() as u64;
            let counted = firsts.iter().filter(|f| **f == 1).count() as u64;
            prop_assert_eq!((bench.count("switch", "no_good"), bench.count("switch", "b")), (dropped, counted));
            prop_assert_eq!(bench.drops(), dropped);
        }
    }

    /// All levels give the same bytes.
    #[suite::test]
    fn levels_agree(packets in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..200), 1..40)) {
        let mut results = Vec::new();
        for level in Level::ALL.into_iter().filter(|l| l.is_supported()) {
            let mut bench = Bench::new(PLUGINS);
            let mangle = bench.index("mangle");
            bench.rt.receive();
            prop_assert!(bench.rt.set_variant(mangle, level));
            results.push(bench.node("mangle", &packets, |_| {}));
        }
        prop_assert_eq!(results[0].len(), packets.len());
        for result in &results {
            prop_assert_eq!(result, &results[0]);
        }
    }
}

#[suite::test]
fn a_drop_names_its_reason() {
    let mut bench = Bench::new(PLUGINS);
    let out = bench.node("switch", &[packet(2, 0)], |_| {});
    assert_eq!((out[0].node.as_str(), out[0].reason), ("error-drop", Some("no good")));
}

#[suite::test]
fn a_trace_tells_every_node_and_what_it_saw() {
    let mut bench = Bench::new(PLUGINS);
    bench.rt.receive();
    let room = TraceLog::room(4);
    bench.rt.trace().order(NodeIndex(999), 1, room, 0);
    bench.node("mangle", &[packet(2, 7), packet(1, 8)], |b| Bench::trace(b, 5));
    let records: Vec<_> = bench.rt.trace().records().map(|r| (r.trace, r.to_string())).collect();
    assert_eq!(records, [(5, String::new()), (5, String::new())]);
    let packets = [packet(2, 7), packet(0, 8)];
    bench.node("switch", &packets, |b| {
        if b.data()[0] == 2 {
            Bench::trace(b, 6)
        }
    });
    let last = bench.rt.trace().records().last().map(|r| (r.trace, r.to_string()));
    assert_eq!(last, Some((6, "first byte 2".to_string())));
}

struct Source(u32);
#[derive(Next, Clone, Copy)]
enum SourceTo {
    #[next("relay")]
    Relay,
}
impl Input for Source {
    const NAME: &'static str = "source";
    type Next = SourceTo;
    fn poll(&mut self, cx: &mut Cx<'_, false>) -> usize {
        let n = self.0.min(200);
        self.0 -= n;
        for i in 0..n {
            let Some(mut b) = cx.alloc() else { return i as usize };
            assert!(b.set_data(&packet(4, i)));
            cx.emit(SourceTo::Relay, b);
        }
        n as usize
    }
}
impl Build for Source {
    fn build(_: &World, thread: ThreadIndex) -> Self {
        Self(if thread.0 == 0 { 2000 } else { 0 })
    }
}

/// Hands every packet to the last thread, which counts and frees it.
struct Relay {
    last: ThreadIndex,
    sink: Arc<Sink>,
}
struct Sink(AtomicU32, Mutex<Vec<u16>>);
impl Shared for Sink {
    fn make(_: &World) -> Self {
        Self(AtomicU32::new(0), Mutex::default())
    }
}
#[derive(Next, Clone, Copy)]
enum RelayTo {
    #[free]
    Gone,
    #[keep]
    Over,
}
impl Node for Relay {
    const NAME: &'static str = "relay";
    type Next = RelayTo;
    type Trace = ();
    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, _: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> RelayTo {
        if cx.thread() != self.last {
            return RelayTo::Over;
        }
        self.sink.0.fetch_add(1, Ordering::Relaxed);
        RelayTo::Gone
    }
    fn keep(&mut self, buffer: Owned, cx: &mut Cx<'_, false>) {
        let node = cx.node();
        cx.handoff(self.last, node, buffer);
    }
}
impl Build for Relay {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self { last: ThreadIndex(world.threads() as u16 - 1), sink: world.get() }
    }
}

static RELAY: Plugin = Plugin {
    name: "relay",
    state: &[StateDef::of::<Sink>()],
    nodes: &[NodeDef::input::<Source>(), NodeDef::of::<Relay>()],
    ..Plugin::EMPTY
};

static RELAYS: &[&Plugin] = &[&RELAY];

#[suite::test]
fn threads_hand_over_sleep_and_end() {
    for n in [1, 3] {
        let config = WorldConfig { threads: n, buffers: 4096, ..WorldConfig::default() };
        let (world, runtimes) = World::new(&config, RELAYS).expect("an instance");
        let threads = Threads::start(runtimes, &ThreadPlan::default()).expect("threads");
        let source = world.node("source").expect("there");
        world.on_threads(move |rt| rt.set_input_mode(source, InputMode::Adaptive));
        let sink: Arc<Sink> = world.get();
        let congestion = world.stats.simple(crate::counters::CONGESTION);
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
        let total = || sink.0.load(Ordering::Relaxed) as u64 + congestion.sum(n - 1);
        while total() < 2000 && std::time::Instant::now() < deadline {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        assert_eq!(total(), 2000);
        let runtimes = threads.stop(&world);
        assert_eq!(runtimes.len(), n);
        drop(runtimes);
        assert_eq!(world.pool.release(), Ok(()), "no buffer leaks");
        assert_eq!(threads.list().len(), n);
    }
}

#[suite::test]
fn a_core_that_is_not_there_is_refused() {
    let (_, runtimes) = World::new(&WorldConfig { buffers: 63, ..WorldConfig::default() }, PLUGINS)
        .expect("an instance");
    let plan = ThreadPlan { main_core: Some(999), ..ThreadPlan::default() };
    let error = Threads::start(runtimes, &plan).err().expect("no such core");
    assert!(error.contains("core 999"), "{error}");
}

struct Counter(u32, Arc<Sink>);
impl Process for Counter {
    fn name(&self) -> &'static str {
        "counter-process"
    }
    fn run(&mut self, world: &World, wake: Wake) -> Sleep {
        self.0 += 1;
        self.1.1.lock().expect("no panic inside").push(self.0 as u16 * 10 + wake as u16);
        match self.0 {
            1 => Sleep::Until(world.clock.now() + 60_000_000_000),
            2 => Sleep::Event,
            _ => Sleep::Done,
        }
    }
}

#[suite::test]
fn processes_run_by_time_and_by_signal() {
    let bench = Bench::new(RELAYS);
    let world = &bench.world;
    let signal = world.processes.signal();
    let sink: Arc<Sink> = world.get();
    world.processes.spawn(Box::new(Counter(0, sink.clone())), &signal);
    let due = world.processes.run(world).expect("a time");
    assert!(due > world.clock.now() + 50_000_000_000);
    assert_eq!(world.processes.run(world), Some(due));
    world.clock.adjust(61_000_000_000);
    assert_eq!(world.processes.run(world), None);
    signal.raise();
    world.processes.run(world);
    assert_eq!(*sink.1.lock().expect("no panic inside"), [10, 21, 32]);
    assert!(world.processes.list().is_empty());
}

#[suite::test]
fn a_node_added_later_gets_packets_sent_before_the_thread_knew_it() {
    let mut bench = Bench::new(PLUGINS);
    let b = bench.buffer(&packet(4, 1));
    let index = bench.world.add_node("late", |_, _| Switch).expect("room");
    bench.rt.core.inject(index, b);
    assert!(bench.rt.is_busy());
    bench.settle();
    assert!(!bench.rt.is_busy());
    assert_eq!(bench.rt.cache().alloc().map(|b| b.flags.contains(Flags::TRACED)), Some(false));
}

/// Notes how many packets come at once.
struct Batch(Arc<Mutex<Vec<usize>>>);
impl Node for Batch {
    const NAME: &'static str = "batch";
    const WHOLE: bool = true;
    const HOT: bool = true;
    type Next = SwitchTo;
    type Trace = ();
    fn packet<const TRACED: bool>(&mut self, _: &mut Buffer, _: &mut Cx<'_, TRACED>) -> SwitchTo {
        self.0.lock().expect("no panic inside").push(0);
        SwitchTo::A
    }
    fn stages<I: Isa>(&mut self, v: &mut Vector<'_, SwitchTo>, _: &mut Cx<'_, false>) {
        self.0.lock().expect("no panic inside").push(v.len());
        v.set_all(SwitchTo::A);
    }
}

#[suite::test]
fn whole_vectors_are_staged_whatever_their_size() {
    let mut bench = Bench::new(PLUGINS);
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = seen.clone();
    bench.world.add_node("batch", move |_, _| Batch(log.clone())).expect("room");
    for n in [1, 7, 8, 40] {
        assert_eq!(bench.node("batch", &vec![packet(0, 0); n], |_| {}).len(), n);
    }
    bench.node("batch", &[packet(0, 0)], |b| Bench::trace(b, 1));
    assert_eq!(*seen.lock().expect("no panic inside"), [1, 7, 8, 40, 0]);
}

#[suite::test]
fn a_readable_descriptor_wakes_its_process() {
    struct Reader(rustix::fd::OwnedFd, Arc<AtomicU32>);
    impl Process for Reader {
        fn name(&self) -> &'static str {
            "reader"
        }
        fn run(&mut self, _: &World, wake: Wake) -> Sleep {
            if wake == Wake::Event {
                let _ = rustix::io::read(&self.0, &mut [0u8; 8]);
                self.1.fetch_add(1, Ordering::Relaxed);
            }
            Sleep::Event
        }
    }
    let bench = Bench::new(PLUGINS);
    let (world, runs) = (&bench.world, Arc::new(AtomicU32::new(0)));
    let event =
        rustix::event::eventfd(0, rustix::event::EventfdFlags::NONBLOCK).expect("an eventfd");
    let signal = world.processes.signal();
    world.processes.watch(&event, &signal).expect("watched");
    world
        .processes
        .spawn(Box::new(Reader(event.try_clone().expect("a copy"), runs.clone())), &signal);
    for n in 0..3 {
        assert_eq!(world.processes.run(world), None);
        assert_eq!(runs.load(Ordering::Relaxed), n);
        rustix::io::write(&event, &1u64.to_ne_bytes()).expect("written");
        world.processes.run(world);
    }
}

/// Writes the report from inside of a node.
struct Reporter(Arc<Sink>);
impl Node for Reporter {
    const NAME: &'static str = "reporter";
    type Next = RelayTo;
    type Trace = Seen;
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> RelayTo {
        cx.trace(b, Seen(7));
        let mut out = Vec::new();
        crash_context(&mut out);
        let text = String::from_utf8(out).expect("text");
        assert!(text.contains("node reporter") && text.contains("a frame of 1 packets"), "{text}");
        assert!(text.contains("first byte 7"), "{text}");
        self.0.0.fetch_add(1, Ordering::Relaxed);
        RelayTo::Gone
    }
}

#[suite::test]
fn a_crash_tells_node_frame_and_last_trace() {
    let mut bench = Bench::new(RELAYS);
    let sink: Arc<Sink> = bench.world.get();
    bench.world.add_node("reporter", |world, _| Reporter(world.get())).expect("room");
    let room = TraceLog::room(4);
    bench.rt.trace().order(NodeIndex(999), 1, room, 0);
    bench.node("reporter", &[packet(0, 0)], |b| Bench::trace(b, 3));
    assert_eq!(sink.0.load(Ordering::Relaxed), 1);
}
