// SPDX-License-Identifier: Apache-2.0
mod tunnels;

use crate::PLUGIN;
use buffer::{Buffer, Frame};
use graph::drive::Bench;
use graph::{
    ArcIndex, Build, Cx, Feature, Input, InputMode, Next, Node, NodeDef, Plugin, Runtime, Shared,
    StateDef, SwIfIndex, ThreadIndex, World, WorldConfig,
};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex};
use testkit::pkt;

/// Frames that each thread's next poll brings, and the frames behind `soft-rss`, with their thread;
/// of packets from tunnels also the interfaces that have received them.
#[derive(Default)]
struct Wire {
    feed: Mutex<BTreeMap<u16, VecDeque<Vec<u8>>>>,
    seen: Mutex<Vec<(u16, Vec<u8>)>>,
    inside: Mutex<Vec<(u16, u32)>>,
}

impl Shared for Wire {
    fn make(_: &World) -> Self {
        Self::default()
    }
}

impl Wire {
    /// Keeps what came, with its thread.
    fn keep(&self, b: &Buffer, thread: ThreadIndex) {
        let bytes = b.segments().flatten().copied().collect();
        self.seen.lock().expect("no panic inside").push((thread.0, bytes));
    }
}

/// A driver's input.
struct TestInput {
    wire: Arc<Wire>,
    arc: ArcIndex,
    frame: Box<Frame>,
}

#[derive(Next, Clone, Copy)]
enum InputTo {
    #[next("ethernet-input")]
    Ethernet,
}

impl Input for TestInput {
    const NAME: &'static str = "test-input";
    type Next = InputTo;

    fn poll(&mut self, cx: &mut Cx<'_, false>) -> usize {
        let mut feed = self.wire.feed.lock().expect("no panic inside");
        let frames = feed.remove(&cx.thread().0).unwrap_or_default();
        for bytes in &frames {
            let mut b = cx.alloc().expect("a free buffer");
            b.rx_if = 1;
            assert!(b.append_bytes(bytes, cx.cache()), "short enough");
            assert!(self.frame.push(b).is_ok(), "few enough");
        }
        cx.emit_frame_on(self.arc, SwIfIndex(1), InputTo::Ethernet, &mut self.frame);
        frames.len()
    }
}

impl Build for TestInput {
    fn build(world: &World, _: ThreadIndex) -> Self {
        let arc = world.arc("device-input").expect("the interface plugin has it");
        Self { wire: world.get(), arc, frame: Frame::new(world.pool) }
    }
}

/// Keeps what comes, with its thread.
struct Behind(Arc<Wire>);

#[derive(Next, Clone, Copy)]
enum BehindTo {
    #[free]
    Seen,
}

impl Build for Behind {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self(world.get())
    }
}

impl Node for Behind {
    const NAME: &'static str = "test-behind";
    type Next = BehindTo;
    type Trace = ();

    fn packet<const T: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, T>) -> BehindTo {
        self.0.keep(b, cx.thread());
        BehindTo::Seen
    }
}

static TEST: Plugin = Plugin {
    name: "test",
    state: &[StateDef::of::<Wire>()],
    nodes: &[NodeDef::input::<TestInput>(), NodeDef::of::<Behind>()],
    features: &[Feature {
        arc: "device-input",
        node: "test-behind",
        before: &[],
        after: &["soft-rss"],
    }],
    ..Plugin::EMPTY
};

static PLUGINS: &[&Plugin] = &[&interface::PLUGIN, &ethernet::PLUGIN, &PLUGIN, &TEST];

/// An instance with threads that take turns when the test says so.
struct Rig {
    plugins: &'static [&'static Plugin],
    world: Arc<World>,
    threads: Vec<Runtime>,
}

impl Rig {
    fn with(plugins: &'static [&'static Plugin], threads: usize) -> Self {
        let config = WorldConfig { threads, buffers: 32_768, ..WorldConfig::default() };
        let (world, mut threads) = World::new(&config, plugins).expect("an instance");
        let input = world.node("test-input").expect("there");
        threads.iter_mut().for_each(|rt| rt.set_input_mode(input, InputMode::Polling));
        Self { plugins, world, threads }
    }

    fn new(threads: usize) -> Self {
        let rig = Self::with(PLUGINS, threads);
        rig.cli("create loopback interface").expect("created");
        rig.world.set_feature("device-input", "test-behind", SwIfIndex(1), true).expect("set");
        rig
    }

    fn cli(&self, line: &str) -> Result<String, String> {
        let tree = cli::Tree::new(self.plugins.iter().flat_map(|p| p.cli)).expect("commands fit");
        let (mut runner, mut out) = (cli::Runner::default(), Vec::new());
        runner.line(&tree, &self.world, line, false, &mut out);
        for _ in 0..100 {
            let now = std::time::Duration::from_nanos(self.world.clock.now());
            if let Some(result) = runner.poll(&tree, &self.world, now, &mut out) {
                let texts = out.into_iter().map(|piece| match piece {
                    cli::OutputPiece::Answer(text) | cli::OutputPiece::Chunk(text) => text,
                });
                return result.map(|()| texts.collect()).map_err(|e| e.to_string());
            }
        }
        panic!("`{line}' doesn't end");
    }

    /// Receives frames on one thread; returns those behind, each with its thread, in order.
    fn pass(&mut self, thread: u16, frames: &[Vec<u8>]) -> Vec<(u16, Vec<u8>)> {
        let wire: Arc<Wire> = self.world.get();
        wire.feed.lock().expect("no panic inside").insert(thread, frames.to_vec().into());
        self.turns(3);
        std::mem::take(&mut *wire.seen.lock().expect("no panic inside"))
    }

    fn turns(&mut self, n: usize) {
        for _ in 0..n {
            self.threads.iter_mut().for_each(|rt| _ = rt.turn(true));
            self.world.processes.run(&self.world);
        }
    }

    /// Drops the threads, and checks that every buffer came back.
    fn end(self) {
        drop(self.threads);
        assert_eq!(self.world.pool.release(), Ok(()), "no buffer leaks");
    }
}

fn frame(n: u16, payload: u8) -> Vec<u8> {
    pkt::ether("02:00:00:00:00:09", "02:00:00:00:00:01")
        .ip4("10.0.0.9", "10.0.1.9")
        .udp(1000 + n, 53)
        .payload(vec![payload; 40])
        .build()
}

/// The frames of each thread.
fn by_thread(seen: &[(u16, Vec<u8>)]) -> BTreeMap<u16, Vec<&[u8]>> {
    seen.iter().fold(BTreeMap::new(), |mut all, (thread, frame)| {
        all.entry(*thread).or_insert_with(Vec::new).push(frame);
        all
    })
}

#[suite::test]
fn flows_are_spread_and_stay_in_order() {
    let mut rig = Rig::new(4);
    rig.cli("soft-rss config loop0 type 4-tuple").expect("set");
    rig.cli("soft-rss enable loop0").expect("enabled");
    // Forty flows with five packets each, one after the other.
    let frames: Vec<_> = (0..200).map(|i| frame(i % 40, i as u8)).collect();
    let seen = rig.pass(1, &frames);
    let mut all: Vec<_> = seen.iter().map(|(_, frame)| frame.clone()).collect();
    let mut want = frames.clone();
    all.sort();
    want.sort();
    assert_eq!(all.len(), want.len(), "all arrive");
    assert!(all == want, "with their bytes");
    let threads = by_thread(&seen);
    assert_eq!(threads.keys().copied().collect::<Vec<_>>(), [1, 2, 3], "the workers");
    assert!(threads.values().all(|frames| frames.len() >= 25), "no worker has only a few flows");
    let port = |frame: &[u8]| u16::from_be_bytes([frame[34], frame[35]]);
    let mut homes = BTreeMap::new();
    for (thread, frames) in &threads {
        let mut last = BTreeMap::new();
        for frame in frames {
            assert_eq!(*homes.entry(port(frame)).or_insert(*thread), *thread, "one thread a flow");
            let before = last.insert(port(frame), frame[42]);
            assert!(before.is_none_or(|before| before < frame[42]), "in order within the flow");
        }
    }
    // The same flows have the same threads when they come in elsewhere.
    for (thread, frame) in rig.pass(3, &frames[..40]) {
        assert_eq!(homes[&port(&frame)], thread);
    }
    rig.cli("soft-rss disable loop0").expect("disabled");
    assert!(rig.pass(2, &frames[..40]).iter().all(|(thread, _)| *thread == 2), "as it came");
    rig.end();
}

#[suite::test]
fn packets_without_a_flow_stay_on_the_first_thread() {
    let mut rig = Rig::new(4);
    rig.cli("soft-rss config loop0 threads 2-3").expect("set");
    rig.cli("soft-rss enable loop0").expect("enabled");
    let ether = || pkt::ether("02:00:00:00:00:09", "02:00:00:00:00:01");
    let mut fragment = frame(3, 3);
    fragment[20] = 0x20;
    let mut options = frame(4, 4);
    options[14] = 0x46;
    let mut short = frame(5, 5);
    short.truncate(30);
    let mut six = ether().ip6("2001:db8::1", "2001:db8::2").udp(7, 8).payload_len(20).build();
    six[20] = 44;
    let frames = [vec![0xff; 14], vec![1; 60], fragment, options, short, six, vec![7; 5]];
    let seen = rig.pass(1, &frames);
    assert_eq!(seen, frames.map(|frame| (2, frame)), "in order");
    rig.end();
}

#[suite::test]
fn fields_decide() {
    let ether = || pkt::ether("02:00:00:00:00:09", "02:00:00:00:00:01");
    // 64 frames that differ in one field.
    let by_port: Vec<_> = (0..64).map(|n| frame(n, 0)).collect();
    let hosts = |from: bool| -> Vec<_> {
        let host = |n: u8| format!("10.{n}.3.{n}");
        let ends =
            |n| if from { (host(n), "10.9.9.9".into()) } else { ("10.9.9.9".into(), host(n)) };
        let one = |n| {
            let (from, to): (String, String) = ends(n);
            ether().ip4(&*from, &*to).tcp(1, 2).payload_len(9).build()
        };
        (0..64).map(one).collect()
    };
    let six: Vec<_> = (0..64)
        .map(|n| ether().ip6(&*format!("2001:db8::{n}"), "2001:db8::ffff").udp(1, 2).build())
        .collect();
    let tagged: Vec<_> = by_port
        .iter()
        .map(|f| [&f[..12], &[0x88, 0xa8, 0, 5, 0x81, 0, 0, 6], &f[12..]].concat())
        .collect();
    let shifted: Vec<_> = by_port.iter().map(|f| [&[9, 9, 9, 9], &f[..]].concat()).collect();
    for (config, frames, spread) in [
        ("type 4-tuple", &by_port, true),
        ("type 2-tuple", &by_port, false),
        ("type src-ip", &hosts(true), true),
        ("type src-ip", &hosts(false), false),
        ("type dst-ip", &hosts(false), true),
        ("type dst-ip", &hosts(true), false),
        ("type disabled", &by_port, false),
        ("ipv4-type disabled", &six, true),
        ("ipv6-type disabled", &six, false),
        ("ipv6-type dst-ip", &six, false),
        ("", &tagged, true),
        ("l2-offset 4", &shifted, true),
        ("", &shifted, false),
        ("l2-offset 1024", &by_port, false),
    ] {
        let mut rig = Rig::new(3);
        rig.cli(&format!("soft-rss config loop0 {config} with-main-thread")).expect(config);
        rig.cli("soft-rss enable loop0").expect(config);
        let seen = rig.pass(1, frames);
        let threads: BTreeSet<_> = seen.iter().map(|(thread, _)| *thread).collect();
        assert_eq!(threads.len(), if spread { 3 } else { 1 }, "{config}");
        let mut bytes: Vec<_> = seen.into_iter().map(|(_, frame)| frame).collect();
        let mut want = frames.clone();
        bytes.sort();
        want.sort();
        assert_eq!(bytes, want, "{config}");
        rig.end();
    }
}

#[suite::test]
fn commands_say_what_is_wrong() {
    let rig = Rig::new(3);
    let refused = |line: &str| rig.cli(line).expect_err(line);
    assert!(refused("soft-rss enable loop0").contains("soft-rss config loop0"));
    assert!(refused("soft-rss config loop0 threads 1-3").contains("threads 0 to 2"));
    assert!(refused("soft-rss config loop0 threads x").contains('x'));
    assert!(refused("soft-rss config loop0 rss-key 6d5a").contains("80 hexadecimal digits"));
    assert!(refused("soft-rss clear loop0").contains("no configuration"));
    rig.cli("soft-rss config loop0 threads 1").expect("set");
    assert!(refused("soft-rss enable loop0").contains("one thread"));
    let key = "0x".to_string() + &"a5".repeat(40);
    rig.cli(&format!("soft-rss config loop0 ipv6-type dst-ip rss-key {key}")).expect("set");
    rig.cli("soft-rss enable loop0").expect("enabled");
    assert!(refused("soft-rss enable loop0").contains("already"));
    assert!(refused("soft-rss config loop0").contains("soft-rss disable loop0"));
    let shown = rig.cli("show soft-rss loop0").expect("shown");
    for part in ["loop0", "yes", "4-tuple", "dst-ip", "1-2", "a5a5"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let mut config = graph::RunningConfig::default();
    (PLUGIN.config)(&rig.world, &mut config);
    let lines = config.lines(&rig.world).all(&rig.world);
    let lines: Vec<_> = lines.into_iter().map(|line| line.text).collect();
    let first = format!("soft-rss config loop0 ipv6-type dst-ip rss-key {}", &key[2..]);
    assert_eq!(lines, [first, "soft-rss enable loop0".into()]);
    rig.cli("soft-rss clear loop0").expect("cleared");
    assert_eq!(rig.world.is_feature_set("device-input", "soft-rss", SwIfIndex(1)), Ok(false));
    // With its interface the configuration goes.
    rig.cli("soft-rss config loop0").expect("set");
    rig.cli("soft-rss enable loop0").expect("enabled");
    rig.cli("delete loopback interface intfc loop0").expect("deleted");
    assert!(rig.world.get::<crate::control::SoftRss>().list().is_empty());
}

/// Any bytes: nothing is lost or changed, whatever the offset.
#[suite::test]
fn mutated_frames_arrive() {
    let mut rig = Rig::new(3);
    rig.cli("soft-rss config loop0 l2-offset 3").expect("set");
    rig.cli("soft-rss enable loop0").expect("enabled");
    let mut mutator = testkit::mutate::Mutator::new(7);
    let bases: Vec<_> = (0..20).map(|n| frame(n, n as u8)).collect();
    for _ in 0..100 {
        let frames = mutator.frames(&bases, 100, 1500);
        let mut seen: Vec<_> = rig.pass(1, &frames).into_iter().map(|(_, frame)| frame).collect();
        let mut want = frames.clone();
        seen.sort();
        want.sort();
        assert_eq!(seen, want);
    }
    rig.end();
}

#[suite::test]
fn a_bench_with_one_thread_has_nothing_to_share() {
    let mut bench = Bench::new(PLUGINS);
    bench.cli("create loopback interface").expect("created");
    bench.cli("soft-rss config loop0").expect("set");
    let error = bench.cli("soft-rss enable loop0").expect_err("one thread").to_string();
    assert!(error.contains("workers"), "{error}");
}

/// An operator may enable the node where nothing is configured: packets go on, and are counted.
#[suite::test]
fn packets_without_a_configuration_go_on() {
    let mut rig = Rig::new(2);
    rig.world.set_feature("device-input", "soft-rss", SwIfIndex(1), true).expect("set");
    let frames = [frame(1, 1), frame(2, 2)];
    assert_eq!(rig.pass(1, &frames), frames.map(|frame| (1, frame)));
    let errors = rig.world.stats.simple(graph::counters::ERRORS);
    let reasons = rig.world.reasons();
    let at = reasons.iter().position(|r| r.reason == "soft-rss not enabled").expect("there");
    assert_eq!(errors.sum(at), 2);
    rig.end();
}
