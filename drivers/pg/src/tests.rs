// SPDX-License-Identifier: Apache-2.0
mod api;
mod files;
mod offload;

use crate::{Generator, PLUGIN};
use cli::{OutputPiece, Runner, Tree};
use graph::drive::Bench;
use graph::{InputMode, Plugin, World};
use net::{IfCounters, Interfaces};
use std::path::Path;
use std::time::Duration;

static PLUGINS: &[&Plugin] = &[&interface::PLUGIN, &ethernet::PLUGIN, &PLUGIN];

struct Setup {
    bench: Bench,
    tree: Tree<World>,
}

impl Setup {
    fn new() -> Self {
        let commands = PLUGINS.iter().flat_map(|p| p.cli);
        Self {
            bench: Bench::new(PLUGINS),
            tree: Tree::new(commands).expect("the commands are well-formed"),
        }
    }

    fn run(&self, line: &str) -> String {
        self.tree.answer(&self.bench.world, line).unwrap_or_else(|e| panic!("{line}: {e}"))
    }

    /// Runs a command that waits for turns.
    fn shown(&mut self, line: &str) -> String {
        let (mut runner, mut said) = (Runner::default(), Vec::new());
        let world = self.bench.world.clone();
        runner.line(&self.tree, &world, line, false, &mut said);
        loop {
            let now = Duration::from_nanos(world.clock.now());
            if let Some(result) = runner.poll(&self.tree, &world, now, &mut said) {
                result.unwrap_or_else(|e| panic!("{line}: {e}"));
                let text =
                    said.into_iter().map(|(OutputPiece::Answer(t) | OutputPiece::Chunk(t))| t);
                return text.collect();
            }
            self.bench.rt.turn(true);
        }
    }

    fn error(&self, line: &str) -> String {
        self.tree
            .execute(&self.bench.world, line)
            .err()
            .unwrap_or_else(|| panic!("{line} was taken"))
            .to_string()
    }

    /// Runs turns until no stream runs.
    fn finish(&mut self) {
        for _ in 0..10_000 {
            self.bench.rt.turn(true);
            self.bench.world.processes.run(&self.bench.world);
            if !self.shown("show packet-generator").contains("Yes") {
                self.bench.settle();
                return;
            }
        }
        panic!("the stream doesn't end");
    }
}

/// The packets of a classic capture in this machine's byte order.
fn read(path: &Path) -> (u32, Vec<Vec<u8>>) {
    let bytes = std::fs::read(path).expect("the capture is there");
    let word = |at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
    assert_eq!((word(0), word(16)), (0xa1b2_c3d4, 262_144));
    let (mut at, mut packets) = (24, Vec::new());
    while at < bytes.len() {
        let len = word(at + 8) as usize;
        assert_eq!(word(at + 12) as usize, len, "nothing is cut");
        packets.push(bytes[at + 16..at + 16 + len].to_vec());
        at += 16 + len;
    }
    (word(20), packets)
}

#[suite::test]
fn what_goes_in_by_a_stream_comes_out_in_a_capture() {
    let mut s = Setup::new();
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("out.pcap");
    for line in [
        "create packet-generator interface pg0",
        "create packet-generator interface pg1 mode ip4",
        "set interface state pg0 up",
        "set interface state pg1 up",
        &format!("packet-generator capture pg0 pcap {}", file.display()),
        "packet-generator new { name x limit 1000 interface pg0 node pg0-output size 60-9000 \
         data { IP4: 1.2.3 -> 4.5.6 UDP: 10.0.0.1-10.0.0.9 -> 10.0.1.1 UDP: 1 -> 2 } }",
        "packet-generator enable-stream",
    ] {
        s.run(line);
    }
    assert!(s.shown("show packet-generator").contains("Yes"));
    s.finish();
    let (link, packets) = read(&file);
    assert_eq!((link, packets.len()), (1, 1000));
    for (i, packet) in packets.iter().enumerate() {
        assert_eq!(packet.len(), 60 + i, "packet {i}");
        assert_eq!(packet[29], 1 + (i % 9) as u8);
        assert_eq!(wire::l4::verify(&packet[14..]), Ok(wire::l4::Verdict::Valid), "packet {i}");
    }
    let counters = s.bench.world.get::<IfCounters>();
    let sum: u64 = packets.iter().map(|p| p.len() as u64).sum();
    assert_eq!((counters.rx.sum(1), counters.tx.sum(1)), ((1000, sum), (1000, sum)));

    // The capture is a source as well, into an interface without Ethernet.
    let back = folder.path().join("back.pcap");
    s.run(&format!("packet-generator capture pg1 pcap {} count 5", back.display()));
    s.run(&format!(
        "packet-generator new pcap {} source pg1 name y limit 0 node pg1-output",
        file.display()
    ));
    s.run("packet-generator enable-stream y");
    s.finish();
    assert_eq!(read(&back), (12, packets[..5].to_vec()));
    assert_eq!(counters.tx.sum(2).0, 1000, "one pass over the file");
    s.run("packet-generator capture pg0 disable");
    assert!(
        s.error(&format!("packet-generator capture pg0 pcap {}", file.display()))
            .contains("exists")
    );
    s.run("packet-generator delete x");
    s.run("delete packet-generator interface pg1");
    assert!(!s.shown("show packet-generator").contains('y'), "its streams went with it");
    assert!(s.bench.world.get::<Interfaces>().find("pg1").is_err());
}

/// A caller that has had a packet sent finds it in the capture, as in VPP, whose threads are one.
#[suite::test]
fn packets_ordered_before_are_in_the_capture() {
    let mut s = Setup::new();
    let folder = tempfile::tempdir().expect("a folder");
    s.run("create packet-generator interface pg0");
    s.run("set interface state pg0 up");
    let interface = s.bench.world.get::<Interfaces>().find("pg0").expect("there");
    let interface = s.bench.world.get::<Interfaces>().get(interface).expect("there");
    let unsent = s.bench.world.stats.simple(graph::counters::ERRORS);
    for (n, show) in
        ["show packet-generator", "show packet-generator interface pg0"].iter().enumerate()
    {
        let (file, frame) = (folder.path().join(format!("{n}.pcap")), vec![n as u8; 60]);
        s.run(&format!("packet-generator capture pg0 pcap {}", file.display()));
        net::transmit(&s.bench.world, &interface, vec![frame.clone()], &unsent);
        let shown = s.shown(show);
        assert_eq!(read(&file).1, [frame], "{shown}");
        s.run("packet-generator capture pg0 disable");
    }
}

#[suite::test]
fn a_stream_without_end_runs_until_it_is_stopped_and_the_input_rests() {
    let mut s = Setup::new();
    s.run("create packet-generator interface pg0");
    s.run(
        "packet-generator new name x interface pg0 maxframe 3 data { hex 0x0102030405060708090a0b0c0d0e0f }",
    );
    s.run("packet-generator enable x");
    for _ in 0..100 {
        s.bench.rt.turn(true);
    }
    assert_eq!(s.bench.world.get::<IfCounters>().rx.sum(1), (300, 300 * 15));
    // A stream that runs takes its interface up.
    assert_eq!(s.bench.count("ethernet-input", "unknown ethernet type"), 300);
    assert!(s.bench.world.get::<Interfaces>().get(graph::SwIfIndex(1)).expect("there").admin_up);
    s.run("packet-generator disable x");
    s.finish();
    let modes: Vec<_> = s.bench.rt.input_modes().map(|(_, mode)| mode).collect();
    assert_eq!(modes, [InputMode::Disabled]);
}

/// As in VPP.
#[suite::test]
fn a_stream_without_an_interface_makes_pg0() {
    let s = Setup::new();
    let data = "data { hex 0x0102030405060708090a0b0c0d0e0f }";
    s.run(&format!("packet-generator new {{ name x {data} }}"));
    assert!(s.run("show interface").contains("pg0"));
    s.run(&format!("packet-generator new name y node pg0-output tx-interface pg0 {data}"));
    let config = s.bench.world.running_config();
    let streams: Vec<_> = config.iter().filter(|l| l.text.contains("new name")).collect();
    assert!(streams.iter().all(|l| l.text.contains(" interface pg0")) && streams.len() == 2);
}

#[suite::test]
fn a_stream_of_a_name_that_exists_takes_its_place() {
    let mut s = Setup::new();
    s.run("create packet-generator interface pg0");
    s.run(
        "packet-generator new name x interface pg0 data { hex 0x0102030405060708090a0b0c0d0e0f }",
    );
    s.run("packet-generator enable x");
    s.bench.rt.turn(true);
    s.run("packet-generator new name x interface pg0 limit 3 data { hex 0x01020304050607080910 }");
    assert!(!s.shown("show packet-generator").contains("Yes"), "the new one doesn't run yet");
    s.finish();
    let counters = s.bench.world.get::<IfCounters>();
    let before = counters.rx.sum(1);
    s.run("packet-generator enable x");
    s.finish();
    assert_eq!(
        counters.rx.sum(1),
        (before.0 + 3, before.1 + 30),
        "three packets of ten bytes, none of the old ones"
    );
    assert_eq!(s.bench.world.get::<Generator>().streams().len(), 1);
}

#[suite::test]
fn a_stream_is_changed() {
    let mut s = Setup::new();
    s.run("create packet-generator interface pg0");
    s.run("packet-generator new name x interface pg0 data { hex 0x01020304050607080910 }");
    s.run("packet-generator configure x limit 4 size 20-20");
    s.run("packet-generator enable x");
    s.finish();
    let counters = s.bench.world.get::<IfCounters>();
    assert_eq!(counters.rx.sum(1), (4, 80));
    // An unlimited stream gets a limit.
    s.run("packet-generator configure x limit 0");
    s.run("packet-generator enable x");
    s.bench.rt.turn(true);
    s.run("packet-generator configure x limit 7");
    s.finish();
    assert!(s.shown("show packet-generator").contains("limit 7"));
    assert!(s.error("packet-generator configure y limit 7").contains("no stream is named"));
}

#[suite::test]
fn a_stream_goes_with_each_interface_that_it_names() {
    let mut s = Setup::new();
    let interfaces = s.bench.world.get::<Interfaces>();
    let create = |name: &str| {
        let new = net::drive::ethernet(name, wire::MacAddr([2, 0, 0, 0, 0, 9]));
        interfaces.create(&s.bench.world, new, |_, _, _| net::drive::Tx).expect("created")
    };
    let (by, to) = (create("by"), create("to"));
    s.run("create packet-generator interface pg0");
    let data = "data { hex 0x0102030405060708090a0b0c0d0e0f }";
    for words in [
        "x interface by node ethernet-input",
        "y interface pg0 tx-interface to",
        "z interface pg0",
        "u interface local0 node to-tx",
    ] {
        s.run(&format!("packet-generator new name {words} {data}"));
    }
    s.run("packet-generator enable");
    s.bench.rt.turn(true);
    let names = || {
        let streams = s.bench.world.get::<Generator>().streams();
        streams.iter().map(|stream| stream.spec.name.clone()).collect::<Vec<_>>()
    };
    interfaces.delete(&s.bench.world, by).expect("deleted");
    assert_eq!(names(), ["y", "z", "u"]);
    interfaces.delete(&s.bench.world, to).expect("deleted");
    assert_eq!(names(), ["z"]);
    // The interface that has their indices now gets no packets of the deleted streams.
    create("next");
    let counters = s.bench.world.get::<IfCounters>();
    for _ in 0..3 {
        s.bench.rt.turn(true);
    }
    assert_eq!((counters.rx.sum(by.at()).0, counters.rx.sum(to.at()).0), (0, 0));
    s.run("delete packet-generator interface pg0");
    s.finish();
    assert!(s.bench.world.get::<Generator>().streams().is_empty());
}

#[suite::test]
fn a_file_without_limit_stays_so_when_the_configuration_is_read_again() {
    let s = Setup::new();
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("in.pcap");
    files::write(&file, 65_536, &[vec![1; 60], vec![2; 60], vec![3; 60]]);
    s.run("create packet-generator interface pg0");
    let new = format!("packet-generator new name x interface pg0 pcap {}", file.display());
    let limit = || s.bench.world.get::<Generator>().stream("x").expect("there").spec.limit;
    let config = || {
        let lines = s.bench.world.running_config().into_iter();
        lines
            .map(|line| (line.text, line.undo))
            .filter(|(text, _)| text.contains(" x"))
            .collect::<Vec<_>>()
    };
    for (words, want) in [("", 3), (" limit 0", 3), (" limit 7", 7)] {
        s.run(&format!("{new}{words}"));
        assert_eq!((limit(), config().len()), (want, 1), "{words}");
    }
    s.run("packet-generator configure x limit 0");
    assert_eq!(limit(), 0);
    let before = config();
    s.run("packet-generator delete x");
    before.iter().for_each(|(text, _)| drop(s.run(text)));
    assert_eq!((limit(), config()), (0, before.clone()));
    let (_, undo) = before.last().expect("a line");
    s.run(undo);
    assert_eq!(limit(), 3, "{undo}");
}

#[suite::test]
fn a_filter_takes_frames_for_us_and_for_groups() {
    const OWN: &str = "020000000008";
    let mut s = Setup::new();
    s.run("create packet-generator interface pg0 hw-addr 02:00:00:00:00:08");
    s.run("create packet-generator interface pg1 mode ip4");
    let frames = [OWN, "020000000009", "01005e010101", "333300000001", "ffffffffffff"];
    for (i, to) in frames.iter().enumerate() {
        s.run(&format!(
            "packet-generator new name s{i} interface pg0 limit 3 data {{ hex 0x{to}0200000000ff88b5{i:02}{i:02} }}"
        ));
    }
    let mut counts = |line: &str| {
        s.run(line);
        let counters = s.bench.world.get::<IfCounters>();
        let read = |s: &Setup| {
            let n = |node, text| s.bench.count(node, text);
            [
                counters.rx.sum(1).0,
                counters.rx.sum(1).1,
                n("pg-input", "filtered"),
                n("ethernet-input", "l3 mac mismatch"),
                n("ethernet-input", "unknown ethernet type"),
            ]
        };
        let before = read(&s);
        s.run("packet-generator enable-stream");
        s.finish();
        let after = read(&s);
        std::array::from_fn(|i| after[i] - before[i])
    };
    let all = [15, 15 * 16, 0, 3, 12];
    assert_eq!(
        counts("packet-generator mac-filter pg0 off"),
        all,
        "ethernet-input drops what is for another host"
    );
    assert_eq!(
        counts("packet-generator mac-filter pg0 on"),
        [12, 12 * 16, 3, 0, 12],
        "the device doesn't take it"
    );
    assert_eq!(
        counts("set interface promiscuous on pg0"),
        all,
        "a promiscuous device takes it all the same"
    );
    assert_eq!(counts("set interface promiscuous off pg0"), [12, 12 * 16, 3, 0, 12]);
    assert_eq!(counts("packet-generator mac-filter pg0 off"), all);
    assert!(s.error("packet-generator mac-filter pg1 on").contains("no Ethernet frames"));
    assert!(
        s.error("packet-generator mac-filter local0 on")
            .contains("no packet generator's interface")
    );
}

#[suite::test]
fn a_rate_is_kept() {
    let mut s = Setup::new();
    s.run("create packet-generator interface pg0");
    s.run(
        "packet-generator new name x interface pg0 rate 1000 data { hex 0x0102030405060708090a0b0c0d0e0f }",
    );
    s.run("packet-generator enable x");
    s.bench.rt.turn(true);
    let counters = s.bench.world.get::<IfCounters>();
    assert_eq!(counters.rx.sum(1).0, 1);
    s.bench.world.clock.adjust(50_000_000);
    s.bench.rt.turn(true);
    let sent = counters.rx.sum(1).0;
    assert!((51..1000).contains(&sent), "{sent}");
    s.run("packet-generator disable");
    s.finish();
}

#[suite::test]
fn what_a_full_queue_has_no_room_for_is_lost() {
    let mut s = Setup::new();
    s.run("create packet-generator interface pg0");
    s.run(
        "packet-generator new name x interface pg0 rate 1000 queue 16 limit 2000 data { hex 0x0102030405060708090a0b0c0d0e0f }",
    );
    s.run("packet-generator enable x");
    s.bench.rt.turn(true);
    let counters = s.bench.world.get::<IfCounters>();
    let count = || (counters.rx.sum(1).0, counters.rx_miss.sum(1));
    assert_eq!(count(), (1, 0));
    // A second's packets are due at once.
    s.bench.world.clock.adjust(1_000_000_000);
    s.bench.rt.turn(true);
    let (sent, lost) = count();
    assert_eq!(sent, 17);
    assert!((984..2000).contains(&lost), "{lost}");
    assert!(s.shown("show packet-generator").contains(&format!("queue 16, lost {lost}, ")));
    s.bench.world.clock.adjust(1_000_000_000);
    s.finish();
    let (sent, lost) = count();
    assert_eq!(sent + lost, 2000, "what was lost isn't sent later");
}

/// As in VPP: the stream runs on a thread that is there.
#[suite::test]
fn a_stream_for_a_worker_that_isnt_there_is_sent() {
    let mut s = Setup::new();
    s.run("create packet-generator interface pg0");
    s.run("packet-generator new name x interface pg0 worker 4 limit 3 data { hex 0x0102030405060708090a0b0c0d0e0f }");
    s.run("packet-generator enable x");
    s.bench.rt.turn(true);
    assert_eq!(s.bench.world.get::<IfCounters>().rx.sum(1).0, 3);
    s.finish();
}

#[suite::test]
fn errors_say_what_was_expected() {
    let s = Setup::new();
    s.run("create packet-generator interface pg7");
    for (line, part) in [
        ("create packet-generator interface pg07", "expected a name such as pg0"),
        ("create packet-generator interface pg7", "already"),
        ("create packet-generator interface pg8 gso-enabled", "gso-size"),
        (
            "packet-generator new name x interface pg7 buffer-offload-flags offload-x data { hex 0x00 }",
            "offload-tcp-cksum",
        ),
        ("packet-generator new name x", "needs packets"),
        ("packet-generator new name x interface pg7", "needs packets"),
        (
            "packet-generator new name x interface pg7 node nowhere data { hex 0x00 }",
            "no node is named `nowhere'",
        ),
        ("packet-generator new name x interface pg7 data { bogus }", "isn't known here"),
        ("packet-generator new name x interface pg7 pcap /nonexistent.pcap", "/nonexistent.pcap"),
        ("packet-generator enable nope", "no stream is named"),
        ("packet-generator capture local0 pcap /tmp/x.pcap", "no packet generator's interface"),
    ] {
        let error = s.error(line);
        assert!(error.contains(part), "{line}: {error}");
    }
    assert_eq!(s.bench.world.get::<Generator>().streams().len(), 0);
}
