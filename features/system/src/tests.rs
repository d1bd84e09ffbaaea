// SPDX-License-Identifier: Apache-2.0
use crate::PLUGIN;
use buffer::Buffer;
use graph::drive::Bench;
use graph::{
    ArcDef, Build, Cx, Feature, Input, InputMode, Next, Node, NodeDef, Plugin, ThreadIndex,
    ThreadPlan, Threads, World, WorldConfig,
};
use testkit::golden;

/// Brings three packets, once.
struct Source(u8);
#[derive(Next, Clone, Copy)]
enum SourceTo {
    #[next("sort")]
    Sort,
}
impl Input for Source {
    const NAME: &'static str = "source";
    type Next = SourceTo;
    fn poll(&mut self, cx: &mut Cx<'_, false>) -> usize {
        let n = std::mem::take(&mut self.0);
        for i in 0..n {
            let Some(mut b) = cx.alloc() else { return i.into() };
            assert!(b.set_data(&[i]), "one byte fits");
            cx.emit(SourceTo::Sort, b);
        }
        n.into()
    }
}
impl Build for Source {
    fn build(_: &World, thread: ThreadIndex) -> Self {
        Self(if thread.0 == 0 { 3 } else { 0 })
    }
}

struct Sort;
#[derive(Next, Clone, Copy)]
enum SortTo {
    #[next("sink-tx")]
    Good,
    /// seen.
    #[next("sink-tx", count)]
    Seen,
    /// the first byte is a two.
    #[drop]
    Two,
}
impl Node for Sort {
    const NAME: &'static str = "sort";
    const HOT: bool = true;
    type Next = SortTo;
    type Trace = ();
    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, _: &mut Cx<'_, TRACED>) -> SortTo {
        match b.data() {
            [2, ..] => SortTo::Two,
            [1, ..] => SortTo::Seen,
            _ => SortTo::Good,
        }
    }
}
impl Build for Sort {
    fn build(_: &World, _: ThreadIndex) -> Self {
        Self
    }
}

struct Sink;
#[derive(Next, Clone, Copy)]
enum SinkTo {
    #[free]
    Sent,
}
impl Node for Sink {
    const NAME: &'static str = "sink-tx";
    const HOT: bool = true;
    type Next = SinkTo;
    type Trace = ();
    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, _: &mut Buffer, _: &mut Cx<'_, TRACED>) -> SinkTo {
        SinkTo::Sent
    }
}
impl Build for Sink {
    fn build(_: &World, _: ThreadIndex) -> Self {
        Self
    }
}

static TEST: Plugin = Plugin {
    name: "test",
    about: "A source, a sorter, a sink",
    state: &[net::STATE],
    counters: net::COUNTERS,
    nodes: &[NodeDef::input::<Source>(), NodeDef::of::<Sort>(), NodeDef::of::<Sink>()],
    arcs: &[ArcDef { name: "test-output", starts: &["sort"], end: "error-drop" }],
    features: &[Feature { arc: "test-output", node: "sink-tx", before: &[], after: &[] }],
    ..Plugin::EMPTY
};
static PLUGINS: &[&Plugin] = &[&PLUGIN, &TEST];

/// An instance after three packets have passed it.
fn bench() -> Bench {
    let mut bench = Bench::new(PLUGINS);
    let source = bench.index("source");
    bench.rt.receive();
    bench.rt.set_input_mode(source, InputMode::Adaptive);
    bench.rt.turn(true);
    bench.settle();
    bench
}

fn run(bench: &mut Bench, line: &str) -> String {
    bench.cli(line).unwrap_or_else(|e| panic!("{line}: {e}"))
}

/// Every number with a point in it depends on the machine: `#`, as wide.
fn masked(text: &str) -> String {
    let word = |word: &str| {
        let number = word.trim_end_matches(',');
        let measured = number.contains('.') && number.parse::<f64>().is_ok();
        if measured { word.replace(number, &"#".repeat(number.len())) } else { word.to_string() }
    };
    text.split_inclusive([' ', '\n'])
        .map(|piece| {
            let end = piece.len() - usize::from(piece.ends_with([' ', '\n']));
            word(&piece[..end]) + &piece[end..]
        })
        .collect()
}

#[suite::test]
fn every_show_has_a_form_for_programs() {
    let mut bench = bench();
    let lines: Vec<_> =
        PLUGIN.cli.iter().map(|c| c.path).filter(|path| path.starts_with("show")).collect();
    assert!(lines.len() > 12);
    for line in lines {
        assert!(!run(&mut bench, line).is_empty(), "{line}");
        let json = run(&mut bench, &format!("{line} -j"));
        let value: serde_json::Value =
            serde_json::from_str(&json).unwrap_or_else(|e| panic!("{line}: {e}"));
        assert!(value.is_array() || value.is_object(), "{line}: {json}");
        assert!(value.get("text").is_none(), "{line} has only text");
    }
}

/// `show runtime` without what depends on the machine.
fn runtime(bench: &mut Bench) -> String {
    let text = run(bench, "show runtime");
    // The number of turns that the command itself took depends on the bench.
    let lines = text.lines().map(|line| match line.split_whitespace().next() {
        Some("rates-process") => "rates-process …",
        Some("Time") => "Time …",
        Some("vector") => "  vector rates …",
        Some("source") => "source …",
        _ => line,
    });
    masked(&(lines.collect::<Vec<_>>().join("\n") + "\n"))
}

#[suite::test]
fn runtime_shows_what_ran_and_starts_again() {
    let mut bench = bench();
    golden!("runtime", runtime(&mut bench));
    let json: serde_json::Value =
        serde_json::from_str(&run(&mut bench, "show runtime -j")).expect("valid");
    let sink = json[0]["nodes"].as_array().expect("a list").iter().find(|n| n["name"] == "sink-tx");
    let sink = sink.expect("it ran");
    assert_eq!(
        (&sink["vectors"], &sink["calls"], &sink["state"]),
        (&2.into(), &1.into(), &"active".into())
    );
    assert!(sink["clocks"].as_u64() > Some(0));
    assert!(
        json[0]["drop"].as_f64() > Some(0.0) && json[0]["out"].as_f64() > json[0]["drop"].as_f64()
    );
    run(&mut bench, "clear runtime");
    assert!(!runtime(&mut bench).contains("sink-tx"));
    assert!(run(&mut bench, "show runtime verbose").contains("sink-tx"));
    assert!(!run(&mut bench, "show runtime summary").contains("Vectors/Call"));
}

#[suite::test]
fn states_of_inputs_come_from_their_threads() {
    let mut bench = bench();
    let source = bench.index("source");
    for (mode, word) in [
        (InputMode::Polling, "polling"),
        (InputMode::Interrupt, "interrupt wa"),
        (InputMode::Adaptive, "polling"),
        (InputMode::Disabled, "disabled"),
    ] {
        bench.rt.set_input_mode(source, mode);
        let text = run(&mut bench, "show runtime verbose");
        let line = text.lines().find(|line| line.starts_with("source")).expect("an input");
        assert!(line.contains(word), "{line}");
    }
}

#[suite::test]
fn errors_have_count_node_reason_severity() {
    let mut bench = bench();
    golden!("errors", run(&mut bench, "show errors"));
    assert_eq!(run(&mut bench, "show node counters"), run(&mut bench, "show errors"));
    run(&mut bench, "clear errors");
    assert_eq!(run(&mut bench, "show errors").lines().count(), 1);
}

#[suite::test]
fn errors_of_each_thread() {
    let mut bench = bench();
    let text = run(&mut bench, "show errors verbose");
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[0], ["Thread", "0", "(vpp_main):"]);
    let head = ["Count", "Node", "Reason", "Severity", "Index"];
    let blocks: Vec<_> = rows.iter().filter(|row| **row == head).collect();
    assert_eq!(blocks.len(), 2, "one thread and all of them: {text}");
    let json: serde_json::Value =
        serde_json::from_str(&run(&mut bench, "show errors verbose -j")).expect("JSON");
    let all = json.as_array().expect("a list");
    for thread in [0.into(), serde_json::Value::Null] {
        let two =
            all.iter().find(|e| e["thread"] == thread && e["reason"] == "the first byte is a two");
        let two = two.unwrap_or_else(|| panic!("{thread}: {json}"));
        assert_eq!(
            (&two["count"], &two["node"], &two["severity"]),
            (&1.into(), &"sort".into(), &"error".into())
        );
        assert!(two["index"].is_u64());
    }
}

#[suite::test]
fn times_are_nanoseconds() {
    let mut bench = bench();
    let value = |text: &str| -> f64 {
        let line = text.lines().find(|line| line.starts_with("sort")).expect("it ran").to_string();
        line.split_whitespace().nth(5).and_then(|word| word.parse().ok()).expect("a number")
    };
    let (clocks, time) =
        (value(&run(&mut bench, "show runtime")), value(&run(&mut bench, "show runtime time")));
    let nanoseconds = clocks * 1e9 / simd::tsc_hz() as f64;
    assert!(
        (time / nanoseconds - 1.0).abs() < 0.02,
        "{clocks} clocks are {nanoseconds} ns, not {time}"
    );
}

#[suite::test]
fn longest_calls_are_kept_until_they_are_cleared() {
    let mut bench = bench();
    let text = run(&mut bench, "show runtime max");
    assert!(text.contains("Max Node Clocks") && text.contains("Avg Vectors/Call"), "{text}");
    let line = text.lines().find(|line| line.starts_with("sort")).expect("it ran").to_string();
    let words: Vec<&str> = line.split_whitespace().collect();
    // It ran once, with three packets: its longest call is its only one.
    assert_eq!((words[2], words[5]), ("3", "3.00"), "{line}");
    let [most, max, average] = [1, 3, 4].map(|i| words[i].parse::<f64>().expect("a number"));
    assert!(most > 0.0 && max == average && (most / max / 3.0 - 1.0).abs() < 0.02, "{line}");
    run(&mut bench, "clear runtime");
    let text = run(&mut bench, "show runtime max verbose");
    let line =
        text.lines().find(|line| line.starts_with("sort")).expect("all are shown").to_string();
    assert_eq!(
        line.split_whitespace().collect::<Vec<_>>(),
        ["sort", "0.00e0", "0", "0.00e0", "0.00e0", "0.00"]
    );
}

#[suite::test]
fn what_vpp_is_asked_for_has_an_answer() {
    let mut bench = bench();
    let cpu: serde_json::Value =
        serde_json::from_str(&run(&mut bench, "show cpu -j")).expect("JSON");
    assert_eq!(cpu["base_frequency_hz"], simd::tsc_hz());
    assert!(cpu["model_name"].as_str().is_some_and(|name| !name.is_empty()));
    assert!(cpu["flags"].as_array().is_some_and(|flags| flags.contains(&"sse2".into())));
    let memory: serde_json::Value =
        serde_json::from_str(&run(&mut bench, "show physmem -j")).expect("JSON");
    assert_eq!(memory[0]["bytes"], bench.world.pool.region().len());
    let number = |key: &str| memory[0][key].as_u64().unwrap_or_else(|| panic!("{memory}"));
    // Pages are committed as buffers are taken.
    assert_eq!(number("used"), (bench.world.pool.stats().carved * buffer::SLOT_SIZE) as u64);
    assert!(0 < number("committed") && number("committed") <= number("bytes"), "{memory}");
    let text = run(&mut bench, "show physmem");
    let pages = bench.world.pool.region().page_kind().to_string();
    assert!(
        text.starts_with("default-numa-0: size ") && text.ends_with(&format!(", {pages}\n")),
        "{text}"
    );
    assert!(!text.contains("4096"), "pages aren't all of that size: {text}");
    let base = format!("{:#x}-", bench.world.pool.region().base().addr().get());
    for words in ["verbose", "detail", "map", "verbose map"] {
        let text = run(&mut bench, &format!("show physmem {words}"));
        assert!(
            text.lines().nth(1).is_some_and(|line| line.trim().starts_with(&base)),
            "{words}: {text}"
        );
    }
    let text = run(&mut bench, "show cpu");
    let first: Vec<_> = text.lines().filter_map(|line| Some(line.split_once(':')?.0)).collect();
    assert_eq!(
        first,
        ["Model name", "Microarch model (family)", "Instruction set", "Flags", "Base frequency"],
        "{text}"
    );
    assert_eq!(run(&mut bench, "show event-logger"), "0 of 0 events in buffer, logger stopped\n");
    assert_eq!(run(&mut bench, "show frame-queue"), run(&mut bench, "show handoff"));
    assert!(run(&mut bench, "show unix errors").contains("show logging"));
    assert!(run(&mut bench, "show fib walk").starts_with("No walks"));
}

#[suite::test]
fn nodes_of_a_kind() {
    let mut bench = bench();
    let mut names = |line: &str| -> Vec<String> {
        let json: serde_json::Value =
            serde_json::from_str(&run(&mut bench, &format!("{line} -j"))).expect("JSON");
        json.as_array()
            .expect("a list")
            .iter()
            .filter_map(|n| n["name"].as_str().map(String::from))
            .collect()
    };
    assert_eq!(names("show graph node input"), ["source"]);
    assert_eq!(names("show graph trace_supported"), ["source"]);
    assert_eq!(names("show graph node want_arcs output"), ["sink-tx"]);
    assert_eq!(names("show graph drop"), ["error-drop"]);
    // Of any of the kinds.
    let several =
        names("show graph node want_arcs input drop output punt handoff no_free polling interrupt");
    for name in ["source", "error-drop", "sink-tx"] {
        assert!(several.iter().any(|n| n == name), "{several:?}");
    }
    assert!(!several.iter().any(|n| n == "sort"), "{several:?}");
    assert_eq!(names("show graph no_free"), Vec::<String>::new());
    assert!(names("show graph").len() > 3);
}

#[suite::test]
fn nodes_are_found_by_name_and_by_index() {
    let mut bench = bench();
    run(&mut bench, "set node variant default v1");
    let by_name = run(&mut bench, "show node sort");
    let only_v1: Vec<_> = by_name
        .lines()
        .filter(|line| !line.contains("x86-64-v3") && !line.contains("x86-64-v4"))
        .collect();
    golden!("node", only_v1.join("\n"));
    let index = bench.index("sort");
    assert_eq!(run(&mut bench, &format!("show node index {index}")), by_name);
    let error = bench.cli("show node sork").expect_err("no such node").to_string();
    assert!(error.contains("did you mean `sort'"), "{error}");
    golden!("graph", run(&mut bench, "show vlib graph"));
    assert_eq!(run(&mut bench, "show graph node sort"), run(&mut bench, "show vlib graph sort"));
}

#[suite::test]
fn variants_are_chosen_by_word() {
    let (mut bench, highest) = (bench(), simd::Level::detect());
    // A node without a variant of its own follows the others.
    for line in ["sink-tx v1", "sink-tx default", "default v1", &format!("sort {highest}")] {
        run(&mut bench, &format!("set node variant {line}"));
    }
    let text = run(&mut bench, "show node variants");
    let of = |node: &str| {
        text.lines().find(|l| l.starts_with(node)).and_then(|l| l.split_whitespace().nth(1))
    };
    assert_eq!((of("sort"), of("sink-tx")), (Some(highest.name()), Some("v1")));
    assert!(
        bench
            .cli("set node variant source v1")
            .expect_err("an input")
            .to_string()
            .contains("no variants")
    );
    assert!(
        bench
            .cli("set node variant sort v2")
            .expect_err("no such level")
            .to_string()
            .contains("v3")
    );
}

#[suite::test]
fn lists() {
    let mut bench = bench();
    golden!("features", run(&mut bench, "show features verbose"));
    golden!("plugins", run(&mut bench, "show plugins"));
    golden!("threads-of-a-bench", run(&mut bench, "show threads"));
    golden!("buffers", run(&mut bench, "show buffers"));
    golden!("buffers-verbose", run(&mut bench, "show buffers verbose"));
    assert_eq!(run(&mut bench, "show buffers detail"), run(&mut bench, "show buffers verbose"));
    let text = run(&mut bench, "show processes");
    assert!(
        text.lines()
            .nth(1)
            .is_some_and(|l| l.starts_with("rates-process") && l.contains("any wait")),
        "{text}"
    );
    assert_eq!(run(&mut bench, "show handoff").lines().count(), 1, "one thread hands nothing over");
}

/// VPP's words, each with what its block begins with.
#[suite::test]
fn memory_is_shown_by_vpps_words() {
    let mut bench = bench();
    let heap = ["Thread 0 vpp_main", "  name 'main heap', "];
    for line in [
        "show memory",
        "show memory verbose",
        "show memory main-heap",
        "show memory main-heap verbose",
    ] {
        let text = run(&mut bench, line);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0] == heap[0] && lines[1].starts_with(heap[1]), "{line}: {text}");
        // Its figures are sizes, in this order.
        let figures: Vec<_> = lines[2]
            .trim_start()
            .split(", ")
            .map(|f| f.split_once(": ").expect("a name"))
            .collect();
        assert_eq!(
            figures.iter().map(|(name, _)| *name).collect::<Vec<_>>(),
            ["total", "used", "free"],
            "{text}"
        );
        for (_, size) in figures {
            let number = size.trim_end_matches(['K', 'M', 'G']).parse::<f64>();
            assert!(number.is_ok_and(|n| n > 0.0), "{line}: {text}");
        }
        assert_eq!(
            text.contains("\nStats segment\n  name 'stats segment', "),
            !line.contains("main"),
            "{text}"
        );
        assert_eq!(text.contains("\nProcess  "), !line.ends_with("main-heap"), "{text}");
    }
    let text = run(&mut bench, "show memory stats-segment");
    assert!(
        text.starts_with("Stats segment\n  name 'stats segment', 4k pages\n    total: "),
        "{text}"
    );
    assert_eq!(text.lines().count(), 3);
    let none = "API segment\n  none: the binary API has its sockets only\n";
    assert_eq!(run(&mut bench, "show memory api-segment"), none);
    assert_eq!(run(&mut bench, "show memory numa-heaps"), "Numa 0 uses the main heap...\n");
    let map = run(&mut bench, "show memory map");
    let names: Vec<_> = map.lines().map(|l| l.split("  ").next().unwrap_or("")).take(4).collect();
    assert_eq!(names, ["Memory", "main heap", "stats segment", "buffers"]);
    let json: serde_json::Value =
        serde_json::from_str(&run(&mut bench, "show memory stats-segment -j")).expect("JSON");
    let (total, used) = bench.world.stats.memory();
    assert_eq!(
        json,
        serde_json::json!([{ "memory": "stats segment", "size": total, "used": used, "pages": "4k pages" }])
    );
}

#[suite::test]
fn threads_that_run_have_a_kernel_side() {
    let config = WorldConfig { threads: 2, buffers: 63, ..WorldConfig::default() };
    let (world, runtimes) = World::new(&config, PLUGINS).expect("an instance");
    let threads = Threads::start(runtimes, &ThreadPlan::default()).expect("threads");
    let tree = cli::Tree::new(PLUGIN.cli).expect("the commands fit together");
    world.query(|_| ()).wait();
    let json = tree.answer(&world, "show threads -j").expect("an answer");
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!((&json[0]["name"], &json[1]["name"]), (&"vpp_main".into(), &"vpp_wk_0".into()));
    assert_eq!(json[1]["type"], "workers");
    assert!(json[1]["lwp"].as_u64() > Some(0) && json[1]["lcore"].is_u64(), "{json}");
    assert_eq!(json[1]["sched_policy"], "other (0)");
    drop(threads.stop(&world));
}

#[suite::test]
fn the_stats_segment_says_what_show_says() {
    let mut bench = bench();
    let reader = stats::Reader::new(&bench.world.stats).expect("a segment");
    let total = |name: &str| {
        reader.get(name).expect("readable").unwrap_or_else(|| panic!("no {name}")).total()
    };
    assert_eq!((total("/err/sort/seen"), total("/err/sort/two")), (1, 1));
    assert_eq!((total("/nodes/sort/vectors"), total("/nodes/sort/calls")), (3, 1));
    assert_eq!((total("/nodes/sort/suspends"), total("/sys/num_worker_threads")), (0, 0));
    assert!(total("/nodes/sort/clocks") > 0);
    assert!(total("/sys/process/resident-bytes") > 1 << 20);
    assert!(total("/sys/process/cpu-milliseconds") < 3_600_000);
    // The collector has run once.
    assert!(total("/sys/heartbeat") == 1 && total("/sys/boottime") > 1_600_000_000);
    assert!(total("/buffer-pools/default-numa-0/available") > 0);
    let (used, all) = (total("/mem/stat segment/used"), total("/mem/stat segment/total"));
    assert!(0 < used && used < all, "{used} of {all}");
    bench.world.get::<crate::Gauges>().set_interval(std::time::Duration::from_secs(3));
    bench.world.clock.adjust(11_000_000_000);
    bench.settle();
    assert!(total("/sys/heartbeat") == 2 && total("/sys/last_update") >= 11);
    let text = run(&mut bench, "show statistics segment /err/sort verbose");
    let lines: Vec<_> =
        text.lines().skip(2).map(|l| l.split_whitespace().collect::<Vec<_>>()).collect();
    assert_eq!(
        lines,
        [["/err/sort/seen", "0", "0", "1"], ["/err/sort/two", "0", "0", "1"]],
        "{text}"
    );
    let ours = bench.world.stats.simple("/net/own");
    ours.start(0);
    ours.control().add(0, 7);
    let text = run(&mut bench, "show statistics segment /net/own verbose");
    let last: Vec<_> =
        text.lines().last().map(|l| l.split_whitespace().collect()).unwrap_or_default();
    assert_eq!(last, ["/net/own", "control", "0", "7"], "{text}");
    run(&mut bench, "clear errors");
    assert_eq!((total("/err/sort/seen"), total("/nodes/sort/vectors")), (0, 3));
    run(&mut bench, "clear runtime");
    assert_eq!((total("/nodes/sort/vectors"), total("/nodes/sort/clocks")), (0, 0));
}

#[suite::test]
fn no_frame_stays_in_use_when_an_interface_is_made() {
    let mut bench = bench();
    let before = run(&mut bench, "show vlib frame-allocation -j");
    let rows: serde_json::Value = serde_json::from_str(&before).expect("JSON");
    let row = &rows.as_array().expect("a table")[0];
    let number = |key: &str| {
        row.as_object().and_then(|r| r.get(key)?.as_u64()).unwrap_or_else(|| panic!("{rows}"))
    };
    assert_eq!((number("thread"), number("size")), (0, size_of::<buffer::Frame>() as u64));
    assert!(number("free") > 0);
    bench.settle();
    assert_eq!(run(&mut bench, "show vlib frame-allocation -j"), before);
    let text = run(&mut bench, "show vlib frame-allocation");
    assert!(text.lines().nth(1).is_some_and(|l| l.split_whitespace().count() == 4), "{text}");
}

#[suite::test]
fn bins_of_a_histogram_are_shown_by_their_exponents() {
    let mut bench = bench();
    let histogram = bench.world.stats.histogram("/test/sizes", 4, 4).expect("room");
    [0, 31, 32, 63, 128, u64::MAX].into_iter().for_each(|value| histogram.count(0, value));
    let text = run(&mut bench, "show statistics segment /test/sizes verbose");
    let lines: Vec<_> =
        text.lines().skip(2).map(|l| l.split_whitespace().collect::<Vec<_>>()).collect();
    let want = [
        ["/test/sizes", "0", "<2^5", "2"],
        ["/test/sizes", "0", "2^5", "2"],
        ["/test/sizes", "0", ">=2^7", "2"],
    ];
    assert_eq!(lines, want, "{text}");
    let json = run(&mut bench, "show statistics segment /test/sizes verbose -j");
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let row = serde_json::json!({ "min_exp": 4, "bins": [2, 2, 0, 2] });
    assert_eq!(json["stats"]["/test/sizes"][0], row, "{json}");
}
