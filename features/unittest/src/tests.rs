// SPDX-License-Identifier: Apache-2.0
use super::PLUGIN;
use graph::Plugin;
use graph::drive::Bench;
use net::Interfaces;
use stats::{Reader, Value};

static PLUGINS: &[&Plugin] = &[&interface::PLUGIN, &ethernet::PLUGIN, &PLUGIN];

#[test]
fn a_link_goes_down_and_comes_back() {
    let mut bench = Bench::new(PLUGINS);
    bench.cli("create loopback interface").expect("made");
    let interfaces = bench.world.get::<Interfaces>();
    let sw_if = interfaces.find("loop0").expect("made");
    for (word, up) in [("down", false), ("up", true)] {
        bench.cli(&format!("test interface link-state loop0 {word}")).expect("set");
        assert_eq!(interfaces.get(sw_if).expect("there").link_up, up);
    }
    let error = bench.cli("test interface link-state loop7 up").expect_err("no such interface");
    assert!(error.to_string().contains("loop7"), "{error}");
}

fn value(bench: &Bench, name: &str) -> Option<Value> {
    Reader::new(&bench.world.stats).expect("a segment").get(name).expect("readable")
}

#[test]
fn a_ring_gets_numbers_and_times() {
    let mut bench = Bench::new(PLUGINS);
    let said = bench.cli("test stats ring-buffer-gen /test/r 40 10 16").expect("made");
    assert_eq!(said, "Generated 40 messages to ring buffer '/test/r' (ring size 16)\n");
    let Some(Value::Ring(rows)) = value(&bench, "/test/r") else { panic!("no ring") };
    assert_eq!((rows.len(), rows[0].sequence), (1, 40));
    let numbers: Vec<u64> = rows[0].entries.iter().map(|e| e[0]).collect();
    assert_eq!(numbers, (24..40).collect::<Vec<_>>());
    let times: Vec<f64> = rows[0].entries.iter().map(|e| f64::from_bits(e[1])).collect();
    // Each has the time that it was due.
    assert!(times[0] > 0.0 && times.windows(2).all(|w| (w[1] - w[0] - 10e-6).abs() < 1e-9), "{times:?}");
    for line in ["test stats ring-buffer-show-schema /test/r", "test stats ring-buffer-test-schema /test/r"] {
        let said = bench.cli(line).expect("there");
        assert!(said.contains("version 1") && said.contains("seq: uint64"), "{said}");
    }
    // Sixteen entries, unless it is said.
    bench.cli("test stats ring-buffer-gen /test/empty 0 1000").expect("made");
    let Some(Value::Ring(rows)) = value(&bench, "/test/empty") else { panic!("no ring") };
    assert_eq!((rows[0].sequence, rows[0].entries.len()), (0, 0));
    let error = bench.cli("test stats ring-buffer-gen /if/drops 1 1").expect_err("it is something else");
    assert!(error.to_string().contains("/if/drops"), "{error}");
    bench.cli("test stats ring-buffer-show-schema /if/drops").expect_err("no ring");
}

#[test]
fn a_histogram_gets_values_of_all_sizes() {
    let mut bench = Bench::new(PLUGINS);
    let said = bench.cli("test stats histogram-gen /test/h 8 1 4 9").expect("made");
    assert_eq!(said, "Generated 8 histogram entries for '/test/h' (min_exp=4, bins=9)\n");
    // 0, 17, 258, 4099, 4, 21, 262, 4103: below 32 four, of 256 to 511 two, of 4096 and above two.
    let want = vec![vec![4, 4, 0, 0, 0, 2, 0, 0, 0, 2]];
    assert_eq!(value(&bench, "/test/h"), Some(Value::Histogram(want)));
    bench.cli("test stats histogram-clear /test/h").expect("there");
    assert_eq!(value(&bench, "/test/h"), None);
    bench.cli("test stats histogram-clear /test/h").expect_err("gone");
}

#[test]
fn promises_are_tried() {
    let mut bench = Bench::new(PLUGINS);
    for _ in 0..2 {
        for line in ["test counter simple expand", "test counter combined expand", "test api internal"] {
            assert_eq!(bench.cli(line).expect(line), "");
        }
    }
    assert_eq!(value(&bench, "/test/counter/simple").map(|v| v.total()), Some(11_111));
    for what in ["", "monotonicity", "barrier"] {
        assert!(bench.cli(&format!("test time {what}")).expect("kept").contains("has not gone back"));
    }
    let before = bench.world.clock.now();
    bench.cli("test time discontinuity").expect("kept");
    assert!(bench.world.clock.now() - before >= 1_000_000);
}
