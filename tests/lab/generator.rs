// SPDX-License-Identifier: Apache-2.0
//! The packet generator through the daemon: streams in, captures out, what is counted and traced on
//! the way.
//!
//! Covers: features/trace, drivers/pg, drivers/pcap.

use fixture::{Router, eventually, read_pcap, write_pcap};
use testkit::{Rng, lab, pkt};

/// A router with `pg0` and `pg1`, both up.
fn router(lab: &lab::Lab, workers: usize) -> Router {
    let router = Router::start(&lab.netns("router"), &format!("cpu {{ workers {workers} }}"));
    router.script(
        "create packet-generator interface pg0\n\
         create packet-generator interface pg1\n\
         set interface state pg0 up\n\
         set interface state pg1 up\n",
    );
    router
}

/// Waits until no stream runs.
#[track_caller]
fn finish(router: &Router) {
    eventually("the end of the streams", || {
        (!router.run("show packet-generator").contains("Yes")).then_some(())
    });
}

/// Frames of all lengths, the longest in several buffers.
fn frames(n: usize, seed: u64) -> Vec<Vec<u8>> {
    let mut rng = Rng::new(seed);
    let frame = |i: usize| {
        let length = if i.is_multiple_of(50) { rng.below(8900) } else { rng.below(1400) };
        let mut payload = vec![0; length + 4];
        rng.fill(&mut payload);
        pkt::ether("02:fe:00:00:00:01", "02:fe:00:00:00:02")
            .ip4("10.0.0.1", "10.0.0.2")
            .udp(1, i as u16)
            .payload(payload)
            .build()
    };
    (0..n).map(frame).collect()
}

fn comes_out_as_it_went_in(workers: usize) {
    let Some(lab) = lab::require(&["root", "tcpdump"]) else { return };
    let router = router(&lab, workers);
    // One stream for each thread that carries packets.
    let streams = workers.max(1);
    let mut sent: Vec<_> = (0..streams).map(|i| frames(2000, i as u64)).collect();
    let out = router.file("out.pcap");
    router.run(&format!("packet-generator capture pg1 pcap {}", out.display()));
    for (i, frames) in sent.iter().enumerate() {
        let file = router.file(&format!("in{i}.pcap"));
        write_pcap(&file, frames);
        let worker = if workers > 0 { format!("worker {i}") } else { String::new() };
        let pcap = file.display();
        router.run(&format!(
            "packet-generator new name s{i} interface pg0 node pg1-output pcap {pcap} {worker}"
        ));
    }
    router.run("packet-generator enable-stream");
    finish(&router);
    router.run("packet-generator capture pg1 disable");
    // Each stream in its order; the threads in any.
    let mut got = read_pcap(&out);
    if streams == 1 {
        assert!(got == sent[0], "{} packets of {}", got.len(), sent[0].len());
    } else {
        let mut all: Vec<_> = sent.drain(..).flatten().collect();
        got.sort();
        all.sort();
        assert!(got == all, "{} packets of {}", got.len(), all.len());
    }
    let shown = lab.command("tcpdump").args(["-n", "-r", &out.to_string_lossy()]).ok();
    assert_eq!(shown.lines().count(), got.len());
    assert!(shown.lines().all(|line| line.contains("10.0.0.1.1 > 10.0.0.2.")), "{}", &shown[..200]);
    let counters = router.json("show interface");
    let count = |name: &str| {
        let row =
            counters.as_array().into_iter().flatten().find(|row| row["name"] == name).cloned();
        row.unwrap_or_else(|| panic!("no {name} in {counters:#}"))
    };
    let n = got.len();
    assert!(count("pg0").to_string().contains(&format!(":{n}")), "{:#}", count("pg0"));
    assert!(count("pg1").to_string().contains(&format!(":{n}")), "{:#}", count("pg1"));
    router.stop();
}

#[test]
fn what_goes_in_comes_out() {
    comes_out_as_it_went_in(0);
}

#[test]
fn what_goes_in_comes_out_with_1_worker() {
    comes_out_as_it_went_in(1);
}

#[test]
fn what_goes_in_comes_out_with_2_workers() {
    comes_out_as_it_went_in(2);
}

/// The time stamps of a trace as dots.
fn timeless(trace: &str) -> String {
    let blank = |line: &str| match line.split_once(": ") {
        Some((time, rest)) if time.len() == 15 && time.as_bytes()[8] == b':' => {
            format!("--:--:--:------: {rest}\n")
        }
        _ => format!("{line}\n"),
    };
    trace.lines().map(blank).collect()
}

const DROPPED: &str = "packet-generator new { name x limit 300 interface pg0 size 64-64 data { \
     IP4: 02:00:00:00:00:01 -> 02:00:00:00:00:02 \
     UDP: 10.0.0.1 -> 10.0.1.1-10.0.1.9 \
     UDP: 1234 -> 53 \
     incrementing 30 } }";

#[test]
fn a_trace_shows_every_node_that_a_packet_passed() {
    let Some(lab) = lab::require(&["root"]) else { return };
    let router = router(&lab, 0);
    router.run(DROPPED);
    router.run("trace add pg-input 2");
    router.run("packet-generator enable-stream");
    finish(&router);
    testkit::golden!("trace-drop", timeless(&router.run("show trace")));
    assert_eq!(router.run("show trace max 1").matches("Packet ").count(), 1);
    router.run("clear trace");
    assert!(router.run("show trace").contains("No packets in trace buffer"));
    router.stop();
}

#[test]
fn nodes_reasons_and_interfaces_are_counted() {
    let Some(lab) = lab::require(&["root"]) else { return };
    for workers in [0, 1] {
        let router = router(&lab, workers);
        router.run(DROPPED);
        router.run("packet-generator enable-stream");
        finish(&router);
        let text = router.run("show runtime");
        let columns = "Name State Calls Vectors Suspends Packet-Clocks Vectors/Call";
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.lines().any(|line| words(line) == columns), "{text}");
        let runtime = router.json("show runtime");
        let nodes = runtime
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|t| t["nodes"].as_array())
            .flatten();
        let node = |name: &str| nodes.clone().find(|n| n["name"] == name);
        for name in ["pg-input", "ethernet-input", "error-drop", "drop"] {
            let node = node(name).unwrap_or_else(|| panic!("no {name} in {runtime:#}"));
            assert_eq!(node["vectors"], 300, "{node:#}");
        }
        // 256 and 44.
        assert_eq!(node("drop").map(|n| n["calls"].clone()), Some(2.into()));
        let errors = router.json("show errors");
        let expected =
            serde_json::json!([{ "count": 300, "node": "ethernet-input", "severity": "error" }]);
        for (key, value) in expected[0].as_object().into_iter().flatten() {
            assert_eq!(errors[0][key], *value, "{errors:#}");
        }
        assert_eq!(errors.as_array().map(Vec::len), Some(1), "{errors:#}");
        router.run("clear errors");
        assert_eq!(router.json("show errors"), serde_json::json!([]));
        router.run("clear runtime");
        let text = router.json("show runtime").to_string();
        assert!(!text.contains("\"vectors\":300"), "{text}");
        router.stop();
    }
}
