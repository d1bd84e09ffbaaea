// SPDX-License-Identifier: Apache-2.0
//! The binary API.

use super::captures::read;
use super::*;
use crate::api::capture::*;
use crate::api::function::*;
use crate::api::nodes::*;
use crate::api::*;
use msg::Loopback;
use net::api::InterfaceIndex;

/// A client; its requests may take turns of the graph, which `bench` makes.
fn client(world: &Arc<World>) -> Loopback<'_, World> {
    Loopback::new(&**world, &world.api)
}

fn capture(
    bench: &mut Bench,
    node: &str,
    max_packets: u32,
    pre_capture_clear: bool,
) -> Result<(), i32> {
    let node_index = bench.world.node(node).map_or(60_000, |n| n.at() as u32);
    let world = bench.world.clone();
    let request = TraceCapturePackets {
        node_index,
        max_packets,
        use_filter: false,
        verbose: false,
        pre_capture_clear,
    };
    client(&world).call_while(request, || bench.settle())
}

fn filter(bench: &mut Bench, flag: TraceFilterFlag, node: &str) -> Result<(), i32> {
    let node_index = bench.world.node(node).map_or(60_000, |n| n.at() as u32);
    let result = bench.api().call(TraceSetFilters {
        flag,
        count: 10,
        node_index,
        classifier_table_index: 0,
    });
    bench.settle();
    result
}

/// Thread, place, flags: more here, more elsewhere, done.
type Row = (u32, u32, [u8; 3]);

fn dump(
    bench: &mut Bench,
    (thread_id, position): (u32, u32),
    max_records: u32,
) -> (Vec<Row>, Result<TraceDumpReply, i32>) {
    let world = bench.world.clone();
    let mut client = client(&world);
    let request = TraceDump { clear_cache: 0, thread_id, position, max_records };
    let reply = client.call_while(request, || bench.settle());
    let row = |d: TraceDetails| {
        assert!(
            d.trace_data.contains("ethernet-input") && d.trace_data.contains("test-input"),
            "{d:?}"
        );
        (d.thread_id, d.position, [d.more_this_thread, d.more_threads, d.done])
    };
    (client.details::<TraceDump>().into_iter().map(row).collect(), reply)
}

fn dump_v2(bench: &mut Bench, thread_id: u32, position: u32, max: u32) -> Vec<(u32, u32, bool)> {
    let world = bench.world.clone();
    let request = TraceV2Dump { thread_id, position, max, clear_cache: true };
    let all = client(&world).dump_while(request, || bench.settle());
    all.iter().map(|d| (d.thread_id, d.position, d.more)).collect()
}

const NONE: u32 = u32::MAX;

#[suite::test]
fn traces_are_asked_for_and_dumped_page_by_page() {
    let mut bench = bench();
    assert_eq!(dump(&mut bench, (0, 0), 10), (vec![], Err(-6)));
    assert_eq!(capture(&mut bench, "test-input", 3, false), Ok(()));
    receive(&mut bench, 0, [ping(OWN), ping(OWN), ping(OTHER), ping(OWN)]);
    assert_eq!(shown(&mut bench).len(), 3);
    let reply = |last_position, more_this_thread, done| {
        let (last_thread_id, more_threads, flush_only) = (0, 0, 0);
        Ok(TraceDumpReply {
            last_thread_id,
            last_position,
            more_this_thread,
            more_threads,
            flush_only,
            done,
        })
    };
    assert_eq!(
        dump(&mut bench, (0, 0), 2),
        (vec![(0, 0, [0; 3]), (0, 1, [1, 0, 0])], reply(1, 1, 0))
    );
    assert_eq!(dump(&mut bench, (0, 2), 2), (vec![(0, 2, [0, 0, 1])], reply(2, 0, 1)));
    assert_eq!(dump(&mut bench, (0, 3), 2), (vec![], Err(-6)));
    assert_eq!(dump(&mut bench, (9, 0), 2), (vec![], Err(-6)));
    let (none, flushed) = dump(&mut bench, (NONE, NONE), 2);
    let flushed = flushed.expect("it is an answer");
    assert_eq!((none.len(), flushed.flush_only, flushed.done), (0, 1, 1));

    assert_eq!(dump_v2(&mut bench, NONE, 0, 2), [(0, 0, true), (0, 1, true)]);
    assert_eq!(dump_v2(&mut bench, 0, 2, 50), [(0, 2, false)]);
    assert_eq!(dump_v2(&mut bench, 0, NONE, 50), []);
    assert_eq!(dump_v2(&mut bench, 4, 0, 50), []);

    assert_eq!(bench.api().call(TraceClearCache {}), Ok(()));
    assert_eq!(capture(&mut bench, "test-input", 1, true), Ok(()));
    receive(&mut bench, 0, [ping(OWN)]);
    assert_eq!(
        dump_v2(&mut bench, NONE, 0, 50),
        [(0, 0, false)],
        "the others were forgotten before"
    );
    let world = bench.world.clone();
    assert_eq!(client(&world).call_while(TraceClearCapture {}, || bench.settle()), Ok(()));
    assert_eq!(shown(&mut bench), [[""; 0]; 0]);

    for (node, n, retval) in [("nowhere", 1, -63), ("test-input", 0, -7)] {
        assert_eq!(capture(&mut bench, node, n, true), Err(retval), "{node} {n}");
    }
}

#[suite::test]
fn traces_are_filtered() {
    let mut bench = bench();
    capture(&mut bench, "test-input", 10, false).expect("ordered");
    receive(&mut bench, 0, [ping(OWN), ping(OTHER)]);
    let passed = |bench: &mut Bench| dump_v2(bench, NONE, 0, 50).len();
    assert_eq!(passed(&mut bench), 2);
    assert_eq!(filter(&mut bench, TraceFilterFlag::ExcludeNode, "ethernet-input"), Ok(()));
    assert_eq!(passed(&mut bench), 0);
    assert_eq!(filter(&mut bench, TraceFilterFlag::IncludeNode, "ethernet-input"), Ok(()));
    assert_eq!(passed(&mut bench), 2);
    assert!(run(&mut bench, "show trace filter").contains("include ethernet-input, 10"));
    assert_eq!(filter(&mut bench, TraceFilterFlag::IncludeNode, "nowhere"), Err(-63));
    assert_eq!(filter(&mut bench, TraceFilterFlag::IncludeClassifier, "ethernet-input"), Err(-9));
    assert_eq!(filter(&mut bench, TraceFilterFlag::None, ""), Ok(()));
    assert_eq!(run(&mut bench, "show trace filter"), "No filter\n");
}

#[suite::test]
fn functions_and_expressions_are_chosen() {
    let bench = bench();
    let list = || {
        let all = bench.api().dump(TraceFilterFunctionDump {});
        all.into_iter().map(|f| (f.name, f.selected)).collect::<Vec<_>>()
    };
    let [bpf, traced] = ["bpf_trace_filter", "vnet_is_packet_traced"].map(String::from);
    assert_eq!(list(), [(bpf.clone(), false), (traced.clone(), true)]);
    let set = |is_add, filter: &str| {
        bench.api().call(BpfTraceFilterSetV2 { is_add, optimize: false, filter: filter.into() })
    };
    assert_eq!((set(true, "udp prot 5").err(), set(true, "tcp").err()), (Some(-7), None));
    assert_eq!(list(), [(bpf.clone(), true), (traced.clone(), false)]);
    let choose = |name: &str| {
        bench.api().call(TraceSetFilterFunction { filter_function_name: name.into() }).err()
    };
    assert_eq!((choose(&traced), choose("nobody")), (None, Some(-6)));
    assert_eq!(list(), [(bpf, false), (traced, true)]);
    assert!(bench.api().call(BpfTraceFilterSet { is_add: false, filter: String::new() }).is_ok());
    assert_eq!(bench.world.get::<crate::control::Filters>().get().expression, None);
}

#[suite::test]
fn nodes_are_told_by_name_number_and_flags() {
    let bench = bench();
    let get = |index, name: &str, flags| {
        let request = GraphNodeGet {
            cursor: u32::MAX,
            index,
            name: name.into(),
            flags: NodeFlag(flags),
            want_arcs: true,
        };
        let mut client = client(&bench.world);
        let reply = client.call(request);
        let all = client.details::<GraphNodeGet>();
        assert!(reply.as_ref().map_or(true, |r| r.cursor == u32::MAX));
        reply.map(|_| {
            all.into_iter().map(|n| (n.index, n.name.as_str().to_string())).collect::<Vec<_>>()
        })
    };
    let input = bench.index("test-input").0;
    let want = vec![(input, "test-input".to_string())];
    assert_eq!(get(u32::MAX, "test-input", 0), Ok(want.clone()));
    assert_eq!(get(input, "", 0), Ok(want.clone()));
    assert_eq!(
        (get(u32::MAX, "nobody", 0).err(), get(60_000, "", 0).err()),
        (Some(-63), Some(-63))
    );
    assert_eq!(get(65_536 + input, "", 0).err(), Some(-63), "nodes' numbers have 16 bits");
    let inputs = get(u32::MAX, "", NodeFlag::TRACE_SUPPORTED.0).expect("a list");
    assert!(inputs.contains(&want[0]) && inputs.iter().all(|(_, name)| !name.ends_with("drop")));
    let drops = get(u32::MAX, "", NodeFlag::IS_DROP.0).expect("a list");
    assert!(drops.iter().any(|(_, name)| name == "error-drop") && !drops.contains(&want[0]));
    assert!(get(u32::MAX, "", 0).expect("a list").len() > inputs.len() + drops.len());
}

#[suite::test]
fn captures_are_switched() {
    let mut bench = bench();
    let folder = tempfile::tempdir().expect("a folder");
    let on = |capture_rx, file: &str| PcapTraceOn {
        capture_rx,
        capture_tx: false,
        capture_drop: false,
        filter: false,
        preallocate_data: false,
        free_data: false,
        max_packets: 0,
        max_bytes_per_packet: 0,
        sw_if_index: InterfaceIndex(0),
        error: "".into(),
        filename: folder.path().join(file).display().to_string().into(),
    };
    let world = bench.world.clone();
    let mut client = client(&world);
    let off = |bench: &mut Bench, client: &mut Loopback<'_, World>| {
        client.call_while(PcapTraceOff {}, || bench.settle())
    };
    assert_eq!(off(&mut bench, &mut client), Err(-81));
    assert_eq!(client.call(on(false, "x")), Err(-7));
    assert_eq!(
        client.call(PcapTraceOn { filter: true, ..on(true, "x") }),
        Err(-9),
        "no classifier"
    );
    assert_eq!(
        client.call(PcapTraceOn { error: "x".into(), ..on(true, "x") }),
        Err(-7),
        "not of drops"
    );
    let drops = PcapTraceOn { capture_drop: true, error: "{a}.{b}".into(), ..on(true, "x") };
    assert_eq!(client.call(drops), Err(-6), "no such reason");
    assert_eq!(client.call(PcapTraceOn { filename: "".into(), ..on(true, "x") }), Err(-7));
    assert_eq!(client.call(PcapTraceOn { max_bytes_per_packet: 9, ..on(true, "x") }), Err(-70));
    assert_eq!(
        client.call(PcapTraceOn { sw_if_index: InterfaceIndex(77), ..on(true, "x") }),
        Err(-2)
    );
    assert_eq!(
        client.call(PcapTraceOn { sw_if_index: InterfaceIndex(1), ..on(true, "rx") }),
        Ok(())
    );
    assert_eq!(client.call(on(true, "y")), Err(-7));
    assert!(run(&mut bench, "pcap trace status").contains("0 of 1000 packets, 512 bytes"));
    receive(&mut bench, 0, [ping(OWN), ping(OTHER)]);
    receive(&mut bench, 1, [ping(OWN)]);
    assert_eq!(off(&mut bench, &mut client), Ok(()));
    assert!(run(&mut bench, "pcap trace status").contains("2 packets in"));
    assert_eq!(client.call(on(true, "rx")), Ok(()), "in place of the first");
    receive(&mut bench, 0, [ping(OTHER)]);
    assert_eq!(off(&mut bench, &mut client), Ok(()));
    assert_eq!(read(&folder.path().join("rx")).1, [(0, 1, None, ping(OTHER))]);
    // The filter function decides, if it can.
    let choose = |client: &mut Loopback<'_, World>, name: &str| {
        client.call(PcapSetFilterFunction { filter_function_name: name.into() })
    };
    assert_eq!(choose(&mut client, "nobody"), Err(-6));
    assert_eq!(choose(&mut client, "bpf_trace_filter"), Ok(()));
    assert!(run(&mut bench, "show pcap filter function").contains("(*) name:bpf_trace_filter"));
    assert!(
        run(&mut bench, "show trace filter function").contains("(*) name:vnet_is_packet_traced")
    );
    run(&mut bench, "set bpf trace filter {{tcp}}");
    for file in ["none", "rx"] {
        assert_eq!(client.call(PcapTraceOn { filter: true, ..on(true, file) }), Ok(()));
        receive(&mut bench, 0, [ping(OWN), dns()]);
        assert_eq!(off(&mut bench, &mut client), Err(-6), "nothing was captured");
        assert!(!folder.path().join(file).exists());
    }
    run(&mut bench, "set bpf trace filter {{udp}}");
    let file = folder.path().join("udp");
    for line in [
        &format!("pcap trace rx max 10 intfc any file {} filter", file.display()),
        &format!("pcap trace rx filter max 10 intfc any file {}", file.display()),
    ] {
        run(&mut bench, line);
        receive(&mut bench, 0, [ping(OWN), dns()]);
        assert!(run(&mut bench, "pcap trace off").starts_with("1 packets"), "{line}");
        assert_eq!(read(&file).1, [(0, 1, None, dns())]);
    }
    run(&mut bench, "set pcap filter function vnet_is_packet_traced");
    let error = bench.cli("pcap trace rx filter").expect_err("no classifier").to_string();
    assert!(error.contains("set pcap filter function bpf_trace_filter"), "{error}");
}

#[suite::test]
fn a_capture_is_written_over_one_of_ours_only() {
    let mut bench = bench();
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    let capture = |bench: &mut Bench, name: &str| {
        bench.cli(&format!("pcap trace rx file {}", path(name).display()))?;
        receive(bench, 0, [ping(OWN)]);
        bench.cli("pcap trace off")
    };
    capture(&mut bench, "ours").expect("captured");
    capture(&mut bench, "ours").expect("captured again");
    assert_eq!(read(&path("ours")).1.len(), 1);
    let ours = std::fs::read(path("ours")).expect("there");
    // Another program's capture, a text, an empty file, a link to ours, one to nowhere, a folder.
    let mut other = ours.clone();
    other[28..36].copy_from_slice(b"Dumpcap ");
    std::fs::write(path("other"), &other).expect("written");
    std::fs::write(path("text"), "precious").expect("written");
    std::fs::write(path("empty"), "").expect("written");
    std::os::unix::fs::symlink(path("ours"), path("link")).expect("linked");
    std::os::unix::fs::symlink(path("nowhere"), path("dangling")).expect("linked");
    std::fs::create_dir(path("folder")).expect("made");
    for name in ["other", "text", "empty", "link", "dangling", "folder"] {
        let error = capture(&mut bench, name).expect_err(name).to_string();
        assert!(error.contains("exists"), "{name}: {error}");
    }
    assert_eq!(std::fs::read(path("other")).expect("there"), other);
    assert_eq!(std::fs::read(path("text")).expect("there"), b"precious");
    assert_eq!(std::fs::read(path("ours")).expect("there"), ours);
    assert!(path("link").is_symlink() && !path("nowhere").exists());
    // A file that took the name while an empty capture ran isn't removed.
    bench.cli(&format!("pcap trace rx file {}", path("swapped").display())).expect("runs");
    std::fs::rename(path("text"), path("swapped")).expect("moved");
    bench.cli("pcap trace off").expect_err("nothing was captured");
    assert_eq!(std::fs::read(path("swapped")).expect("there"), b"precious");
}
