// SPDX-License-Identifier: Apache-2.0
mod api;
mod captures;

use crate::PLUGIN;
use graph::drive::Bench;
use graph::{
    ArcIndex, Build, Cx, Input, InputMode, Next, NodeDef, Plugin, Shared, StateDef, SwIfIndex,
    ThreadIndex, ThreadPlan, Threads, World, WorldConfig,
};
use net::Interfaces;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use testkit::golden::without_times;
use testkit::{golden, pkt};

/// Packets that the next poll brings, each from an interface.
#[derive(Default)]
struct Feed(Mutex<VecDeque<(SwIfIndex, Vec<u8>)>>);
impl Shared for Feed {
    fn make(_: &World) -> Self {
        Self::default()
    }
}

/// A driver's input.
struct TestInput {
    feed: Arc<Feed>,
    arc: ArcIndex,
    frame: Box<buffer::Frame>,
}
#[derive(Next, Clone, Copy)]
enum To {
    #[next("ethernet-input")]
    Ethernet,
    #[next("ip4-input")]
    Ip4,
}
impl Input for TestInput {
    const NAME: &'static str = "test-input";
    type Next = To;
    fn poll(&mut self, cx: &mut Cx<'_, false>) -> usize {
        let packets = std::mem::take(&mut *self.feed.0.lock().expect("no panic inside"));
        for (interface, bytes) in &packets {
            let mut b = cx.alloc().expect("a free buffer");
            b.rx_if = interface.0;
            assert!(b.append_bytes(bytes, cx.cache()), "short enough");
            if bytes[0] == 0x45 {
                cx.emit(To::Ip4, b);
                continue;
            }
            assert!(self.frame.push(b).is_ok(), "few enough");
            cx.emit_frame_on(self.arc, *interface, To::Ethernet, &mut self.frame);
        }
        packets.len()
    }
}
impl Build for TestInput {
    fn build(world: &World, _: ThreadIndex) -> Self {
        let arc = world.arc("device-input").expect("the interface feature brings it");
        Self { feed: world.get(), arc, frame: buffer::Frame::new(world.pool) }
    }
}

static TEST: Plugin = Plugin {
    name: "test",
    state: &[StateDef::of::<Feed>()],
    nodes: &[NodeDef::input::<TestInput>()],
    ..Plugin::EMPTY
};
static PLUGINS: &[&Plugin] = &[&interface::PLUGIN, &ethernet::PLUGIN, &PLUGIN, &TEST];

const OWN: &str = "02:00:00:00:00:01";
const OTHER: &str = "02:00:00:00:00:09";

/// Two interfaces, up.
fn bench() -> Bench {
    let mut bench = Bench::new(PLUGINS);
    bench.rt.receive();
    let input = bench.index("test-input");
    bench.rt.set_input_mode(input, InputMode::Adaptive);
    for i in 0..2 {
        run(&mut bench, &format!("create loopback interface mac {OWN}"));
        run(&mut bench, &format!("set interface state loop{i} up"));
    }
    bench
}

fn run(bench: &mut Bench, line: &str) -> String {
    bench.cli(line).unwrap_or_else(|e| panic!("{line}: {e}"))
}

fn json(bench: &mut Bench, line: &str) -> serde_json::Value {
    serde_json::from_str(&run(bench, &format!("{line} -j"))).expect("valid JSON")
}

/// Brings packets in by loop`i`, and runs the graph.
fn receive(bench: &mut Bench, i: u32, packets: impl IntoIterator<Item = Vec<u8>>) {
    let feed: Arc<Feed> = bench.world.get();
    feed.0
        .lock()
        .expect("no panic inside")
        .extend(packets.into_iter().map(|p| (SwIfIndex(i + 1), p)));
    bench.settle();
}

fn ping(to: &str) -> Vec<u8> {
    pkt::ether(OTHER, to).ip4("10.0.0.9", "10.0.0.1").icmp_echo(7, 1).payload_len(56).build()
}

fn dns() -> Vec<u8> {
    pkt::ether(OTHER, OWN).ip4("10.0.0.9", "10.0.0.1").udp(4000, 53).payload_len(20).build()
}

/// Nodes of each trace that is shown.
fn shown(bench: &mut Bench) -> Vec<Vec<String>> {
    let json = json(bench, "show trace");
    let packets = json[0]["packets"].as_array().expect("a list");
    let nodes = |p: &serde_json::Value| {
        let nodes = p["nodes"].as_array().expect("a list").iter();
        nodes.map(|n| n["node"].as_str().expect("a name").to_string()).collect()
    };
    packets.iter().map(nodes).collect()
}

#[suite::test]
fn a_trace_shows_every_node_and_header() {
    let mut bench = bench();
    golden!("trace-empty", run(&mut bench, "show trace"));
    run(&mut bench, "trace add test-input 2");
    receive(&mut bench, 0, [ping(OWN), ping(OTHER), ping(OWN)]);
    golden!("trace", without_times(&run(&mut bench, "show trace")));
    let value = json(&mut bench, "show trace max 1");
    assert_eq!(
        (&value[0]["of"], value[0]["packets"].as_array().map(Vec::len)),
        (&2.into(), Some(1))
    );
    assert!(value[0]["packets"][0]["nodes"][0]["time"].as_f64() > Some(0.0));
    assert!(run(&mut bench, "show trace max 1").contains("Limiting display to 1 of 2 packets"));
    golden!("trace-brief", run(&mut bench, "show trace brief"));
    let value = json(&mut bench, "show trace brief max 1");
    let nodes = value[0]["packets"][0]["nodes"].as_array().expect("a list");
    assert_eq!(nodes[1]["news"], serde_json::json!([]), "{nodes:#?}");
    run(&mut bench, "clear trace");
    receive(&mut bench, 0, [ping(OWN)]);
    assert_eq!(shown(&mut bench), [[""; 0]; 0]);
}

#[suite::test]
fn times_of_traces_are_written_as_chosen() {
    let mut bench = bench();
    run(&mut bench, "trace add test-input 1");
    receive(&mut bench, 0, [ping(OWN)]);
    let mut time = |format: &str| {
        run(&mut bench, &format!("set trace timestamp-format {format}"));
        let shown = run(&mut bench, "show trace timestamp-format");
        assert!(shown.contains(format), "{shown}");
        let trace = run(&mut bench, "show trace");
        let line = trace.lines().find(|line| line.ends_with(": test-input")).expect("the input");
        line.trim_end_matches(": test-input").to_string()
    };
    let (unix, datetime, relative) = (time("unix"), time("datetime"), time("relative"));
    // 2025 and later; and the same instant in all three.
    assert!(
        unix.split_once('.').expect("a point").0.parse::<u64>().expect("seconds") > 1_735_000_000
    );
    assert!(datetime.starts_with("20") && datetime.as_bytes()[10] == b'T', "{datetime}");
    assert_eq!(relative.split(':').count(), 4, "{relative}");
    // A moment that was recorded stays where it was.
    bench.world.clock.adjust(3_000_000_000);
    run(&mut bench, "set trace timestamp-format unix");
    assert!(run(&mut bench, "show trace").contains(&format!("{unix}: test-input")), "{unix}");
}

#[suite::test]
fn asking_again_asks_for_more() {
    let mut bench = bench();
    for _ in 0..2 {
        run(&mut bench, "trace add test-input 1");
    }
    receive(&mut bench, 0, [ping(OWN), ping(OWN), ping(OWN)]);
    assert_eq!(shown(&mut bench).len(), 2);
    run(&mut bench, "trace add test-input 3");
    receive(&mut bench, 0, [ping(OWN)]);
    assert_eq!(shown(&mut bench).len(), 3);
}

#[suite::test]
fn a_trace_begins_at_any_node() {
    let mut bench = bench();
    run(&mut bench, "trace add ethernet-input 2");
    receive(&mut bench, 0, [ping(OWN)]);
    receive(&mut bench, 0, [ping(OWN), ping(OWN)]);
    let whole = {
        run(&mut bench, "trace add test-input 1");
        receive(&mut bench, 0, [ping(OWN)]);
        shown(&mut bench).pop().expect("a trace")
    };
    assert_eq!(whole[..2], ["test-input", "ethernet-input"]);
    assert_eq!(shown(&mut bench), [&whole[1..], &whole[1..], &whole[..]], "two, and no more");
    // A filter sees the headers that the packet has there.
    run(&mut bench, "clear trace");
    run(&mut bench, "set bpf trace filter {icmp}");
    run(&mut bench, "trace add ethernet-input 5");
    receive(&mut bench, 0, [dns(), ping(OWN)]);
    assert_eq!(shown(&mut bench), [&whole[1..]]);
    // Forgotten with the traces.
    run(&mut bench, "clear trace");
    receive(&mut bench, 0, [ping(OWN)]);
    assert_eq!(shown(&mut bench), [[""; 0]; 0]);
}

#[suite::test]
fn what_cannot_be_traced_is_refused() {
    let mut bench = bench();
    let error = bench.cli("trace add test-inptu 5").expect_err("no node").to_string();
    assert!(
        error.contains("isn't there") && error.contains("did you mean `test-input'"),
        "{error}"
    );
    assert!(bench.cli("trace add test-input 0").is_err());
    assert_eq!(cli::Live::candidates(&*bench.world, "input", "te"), ["test-input"]);
}

#[suite::test]
fn filters_choose_packets_as_they_come_in() {
    let mut bench = bench();
    assert_eq!(run(&mut bench, "show trace filter"), "No filter\n");
    run(&mut bench, "trace filter interface loop1");
    run(&mut bench, "set bpf trace filter {udp dst port 53 and host 10.0.0.1}");
    let text = run(&mut bench, "show bpf trace filter");
    assert!(
        text.starts_with("interface: loop1\nexpression: udp dst port 53 and host 10.0.0.1\n"),
        "{text}"
    );
    run(&mut bench, "trace add test-input 10");
    for i in 0..2 {
        receive(&mut bench, i, [ping(OWN), dns()]);
    }
    assert_eq!(shown(&mut bench).len(), 1);
    assert!(run(&mut bench, "show trace").contains("UDP: 4000 -> 53"));
    run(&mut bench, "set bpf trace filter del");
    receive(&mut bench, 1, [ping(OWN)]);
    assert_eq!(shown(&mut bench).len(), 2);
    run(&mut bench, "trace filter clear");
    receive(&mut bench, 0, [ping(OWN)]);
    assert_eq!(shown(&mut bench).len(), 3);
    // An expression that is set aside counts no longer, until it decides again.
    run(&mut bench, "set bpf trace filter {{tcp}}");
    assert!(run(&mut bench, "show bpf trace filter").contains("\n(000) "));
    let functions = run(&mut bench, "show trace filter function");
    assert!(functions.starts_with("(*) name:bpf_trace_filter "), "{functions}");
    receive(&mut bench, 0, [ping(OWN)]);
    assert_eq!(shown(&mut bench).len(), 3);
    run(&mut bench, "set trace filter function vnet_is_packet_traced");
    receive(&mut bench, 0, [ping(OWN)]);
    assert_eq!(shown(&mut bench).len(), 4);
    run(&mut bench, "set trace filter function bpf_trace_filter");
    receive(&mut bench, 0, [ping(OWN)]);
    assert_eq!(shown(&mut bench).len(), 4);
    assert_eq!(bench.cli("set trace filter function nobody").expect_err("none").code(), -6);
    let error =
        bench.cli("set bpf trace filter udp prot 53").expect_err("no expression").to_string();
    assert!(error.contains("syntax error") && error.contains("pcap-filter(7)"), "{error}");
}

#[suite::test]
fn packets_without_ethernet_header_are_understood() {
    let mut bench = bench();
    run(&mut bench, "set bpf trace filter icmp and src host 10.0.0.9");
    run(&mut bench, "trace add test-input 10");
    receive(&mut bench, 0, [ping(OWN)[14..].to_vec(), dns()[14..].to_vec()]);
    let text = run(&mut bench, "show trace");
    assert!(
        text.contains("loop0, 84 bytes, next ip4-input\n  ICMP: 10.0.0.9 -> 10.0.0.1\n"),
        "{text}"
    );
    assert_eq!(shown(&mut bench).len(), 1);
}

#[suite::test]
fn traces_are_shown_by_the_nodes_they_passed() {
    let mut bench = bench();
    run(&mut bench, "trace add test-input 10");
    // Not taken by anybody: dropped. Sent to another host: dropped too, for another reason.
    receive(&mut bench, 0, [ping(OWN), ping(OTHER)]);
    run(&mut bench, "trace filter include drop 1");
    assert_eq!(shown(&mut bench).len(), 1);
    run(&mut bench, "trace filter exclude drop 10");
    assert!(shown(&mut bench).is_empty());
    run(&mut bench, "trace filter none");
    assert_eq!(shown(&mut bench).len(), 2);
    assert!(
        bench
            .cli("trace filter include dorp 1")
            .expect_err("no node")
            .to_string()
            .contains("`drop'")
    );
}

/// Sends every packet on to thread 0.
struct Over;
#[derive(Next, Clone, Copy)]
enum OverTo {
    #[free]
    There,
    #[keep]
    Here,
}
impl graph::Node for Over {
    const NAME: &'static str = "test-handoff";
    type Next = OverTo;
    type Trace = ();
    fn packet<const TRACED: bool>(
        &mut self,
        _: &mut buffer::Buffer,
        cx: &mut Cx<'_, TRACED>,
    ) -> OverTo {
        if cx.thread().0 == 0 { OverTo::There } else { OverTo::Here }
    }
    fn keep(&mut self, b: buffer::Owned, cx: &mut Cx<'_, false>) {
        let node = cx.node();
        cx.handoff(ThreadIndex(0), node, b);
    }
}

#[suite::test]
fn a_packet_that_changes_threads_has_one_trace() {
    let config = WorldConfig { threads: 2, buffers: 1024, ..WorldConfig::default() };
    let (world, runtimes) = World::new(&config, PLUGINS).expect("an instance");
    let threads = Threads::start(runtimes, &ThreadPlan::default()).expect("threads");
    world.add_node("test-handoff", |_, _| Over).expect("room");
    ethernet::register_ethertype(&world, wire::EtherType::IP4, "test-handoff").expect("free");
    let tree =
        cli::Tree::new(PLUGINS.iter().flat_map(|p| p.cli)).expect("the commands fit together");
    let run = |line: &str| {
        let (mut runner, mut said) = (cli::Runner::default(), Vec::new());
        runner.line(&tree, &world, line, true, &mut said);
        loop {
            let now = std::time::Duration::from_nanos(world.clock.now());
            if let Some(result) = runner.poll(&tree, &world, now, &mut said) {
                result.unwrap_or_else(|e| panic!("{line}: {e}"));
                let [cli::OutputPiece::Answer(text)] = &said[..] else {
                    panic!("{line}: {said:?}")
                };
                break serde_json::from_str::<serde_json::Value>(text).expect("valid JSON");
            }
            std::thread::sleep(std::time::Duration::from_micros(100));
        }
    };
    run(&format!("create loopback interface mac {OWN}"));
    run("set interface state loop0 up");
    run("trace add test-input 5");
    let feed: Arc<Feed> = world.get();
    feed.0.lock().expect("no panic inside").push_back((SwIfIndex(1), ping(OWN)));
    let input = world.node("test-input").expect("there");
    world.on_thread(ThreadIndex(1), move |rt| rt.set_input_mode(input, InputMode::Polling));
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
    let steps = loop {
        let value = run("show trace");
        let steps = value[1]["packets"][0]["nodes"].as_array().cloned().unwrap_or_default();
        assert_eq!(value[0]["of"], 0, "it came in on the other thread");
        if steps.len() == 4 || std::time::Instant::now() > deadline {
            break steps;
        }
    };
    let step = |s: &serde_json::Value| {
        (s["node"].as_str().unwrap_or("").to_string(), s["thread"].as_u64())
    };
    let steps: Vec<_> = steps.iter().map(step).collect();
    let want = [("test-input", 1), ("ethernet-input", 1), ("test-handoff", 1), ("test-handoff", 0)];
    assert_eq!(steps, want.map(|(node, thread)| (node.to_string(), Some(thread))));
    drop(threads.stop(&world));
    assert_eq!(world.pool.release(), Ok(()), "no buffer leaks");
}
