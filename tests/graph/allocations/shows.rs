// SPDX-License-Identifier: Apache-2.0
//! Every `show` over large tables: its answer comes in slices, takes no memory with the table, and
//! ends with its client.

use std::fs::File;
use std::io::{BufReader, Seek as _, Write as _};
use std::time::Duration;

use cli::{OutputPiece, Runner, Tree};
use daemon::{plugins, store};
use graph::World;
use graph::drive::Bench;
use serde_json::Value;

/// Bytes of a piece: a slice ends at 64 KiB, with the row that it is at.
const PIECE: usize = 256 << 10;

/// Upper limit of allocations and frees in one turn. A slice has at most 256 items; a whole table
/// in one turn exceeds this on any machine.
const TURN: u64 = 250 * cli::SLICE as u64;
/// The same limit for configuration lines, which need fewer.
const LINES: u64 = 120 * cli::SLICE as u64;

/// The archive is made by the other commands.
const LEFT_OUT: &[&str] = &["show tech-support"];

/// Answers that are maps of names, or have some: keys are what is named.
const MAPS: &[&str] =
    &["show features", "show interface features", "show feature", "show config", "show statistics"];

/// Holds an answer to what docs/json.md promises of keys and numbers.
fn promised(line: &str, value: &Value) -> Result<(), String> {
    let named = MAPS.iter().any(|map| line.starts_with(map));
    match value {
        Value::Array(all) => all.iter().try_for_each(|value| promised(line, value)),
        Value::Object(map) => map.iter().try_for_each(|(key, value)| {
            let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
            if !named && !key.chars().all(plain) {
                return Err(format!("the key `{key}' isn't plain"));
            }
            if ["idx", "ifindex", "interface_index", "packet", "pkts"].contains(&key.as_str()) {
                return Err(format!("the key `{key}' has another name elsewhere"));
            }
            let counts =
                ["sw_if_index", "index", "packets", "bytes", "count", "pid", "session", "lines"];
            if counts.contains(&key.as_str()) && (value.is_string() || value.is_boolean()) {
                return Err(format!("`{key}' is no number: {value}"));
            }
            if let Value::String(text) = value
                && !["name", "tag", "value", "text", "crc", "commit"].contains(&key.as_str())
                && text.parse::<f64>().is_ok_and(f64::is_finite)
            {
                return Err(format!("`{key}' is a number as text: {text}"));
            }
            promised(line, value)
        }),
        _ => Ok(()),
    }
}

struct Loaded {
    bench: Bench,
    tree: Tree<World>,
    /// Answers that don't keep what docs/json.md promises.
    wrong: Vec<String>,
    /// The most that was done in one turn.
    most: u64,
    /// Where configurations are saved.
    _dir: tempfile::TempDir,
}

/// Lets configurations be saved in a directory.
fn open_store(dir: &std::path::Path) {
    let file = Some(dir.join("config"));
    let saved = daemon::config::model::Saved { file, ..Default::default() };
    let config = daemon::config::Config { saved, ..Default::default() };
    store::open(&config, &daemon::process::paths::Paths::new(&config));
}

impl Loaded {
    /// All tables with `n` entries; where each entry costs much by itself, fewer.
    fn new(n: usize) -> Self {
        let tree = fixture::tree();
        let dir = tempfile::tempdir().expect("a directory");
        open_store(dir.path());
        let mut this =
            Self { bench: Bench::new(plugins::ALL), tree, wrong: Vec::new(), most: 0, _dir: dir };
        let few = (n / 50).clamp(20, 1000);
        for i in 0..few {
            this.run(&format!("create loopback interface instance {i}"));
            this.run(&format!("set interface state loop{i} up"));
            this.run(&format!(
                "set interface ip address loop{i} 10.{}.{}.1/24",
                64 + i / 256,
                i % 256
            ));
            this.run(&format!("set interface ip address loop{i} 2001:db8:{i:x}::1/64"));
        }
        for i in 1..=few {
            this.run(&format!("ip table add {i}"));
            this.run(&format!("ip6 table add {i}"));
        }
        this.run(&format!("ip route add 30.0.0.0/32 count {n} via 10.64.0.9 loop0"));
        this.run(&format!("ip route add 3000::/64 count {n} via 2001:db8::9 loop0"));
        this.run("set ip neighbor-config ip4 limit 10000000");
        this.run("set ip neighbor-config ip6 limit 10000000");
        for i in 0..n {
            let (hi, lo) = (i / 250, i % 250 + 2);
            let mac = format!("02:00:00:{:02x}:{:02x}:{lo:02x}", hi / 256, hi % 256);
            let at = format!("loop{}", i / 250 % few);
            this.run(&format!(
                "set ip neighbor {at} 11.{}.{}.{lo} {mac} static no-fib-entry",
                hi / 256,
                hi % 256
            ));
            this.run(&format!(
                "set ip neighbor {at} 2001:db8:ffff::{hi:x}:{lo:x} {mac} static no-fib-entry"
            ));
            this.run(&format!("ip mroute add 239.{}.{}.{lo} via loop0 Accept", hi / 256, hi % 256));
        }
        for i in 0..few {
            let (hi, lo) = (i / 250, i % 250 + 2);
            this.run(&format!(
                "ip route add 40.0.{hi}.{lo}/32 via 10.64.0.{lo} loop0 via 10.65.{hi}.{lo} loop1"
            ));
            this.run(&format!("ip container 50.0.{hi}.{lo} loop0"));
            this.run(&format!("create teib loop0 peer 60.0.{hi}.{lo} nh 192.0.2.1"));
            this.run(&format!("ip path-mtu 70.0.{hi}.{lo} 1400"));
            this.run(&format!("set arp proxy start 80.0.{hi}.{lo} end 80.0.{hi}.{lo}"));
            this.run(&format!("set ip6 nd proxy loop0 2001:db8:eeee::{i:x}"));
            this.run(&format!("set urpf-accept 90.0.{hi}.{lo}/32"));
            this.run(&format!("set punt ipv4 udp {}", 1024 + i));
        }
        this
    }

    fn run(&mut self, line: &str) {
        let (mut runner, mut said) = (Runner::default(), Vec::new());
        runner.line(&self.tree, &self.bench.world, line, false, &mut said);
        while runner.is_busy() {
            if let Some(result) = self.turn(&mut runner, &mut said) {
                result.unwrap_or_else(|e| panic!("{line}: {e}"));
            }
        }
        // Its thread takes what control has sent.
        self.bench.rt.turn(true);
    }

    fn turn(
        &mut self,
        runner: &mut Runner,
        said: &mut Vec<OutputPiece>,
    ) -> Option<cli::Result<()>> {
        let now = Duration::from_nanos(self.bench.world.clock.now());
        let poll = || runner.poll(&self.tree, &self.bench.world, now, said);
        let (ended, work) = super::allocations(poll);
        self.most = self.most.max(work);
        if ended.is_none() && !runner.is_long() {
            // Its threads answer.
            self.bench.rt.turn(true);
        }
        ended
    }

    /// Every `show`; commands that need an interface get one.
    fn shows(&self) -> Vec<String> {
        let paths = self.tree.commands().into_iter().map(|c| c.path);
        let shows = paths.filter(|path| path.starts_with("show ") && !LEFT_OUT.contains(path));
        let lines = shows.map(|path| {
            let words = ["", "loop0", "verbose", "1", "type ip4"];
            let line = fixture::with_words(&self.tree, path, &words).into_iter().next();
            line.unwrap_or_else(|| panic!("`{path}` needs words that this test doesn't know"))
        });
        let mut all: Vec<String> = lines.collect();
        all.extend(
            [
                "show ip fib detail",
                "show ip fib summary",
                "show ip6 fib summary",
                "show runtime verbose",
            ]
            .map(Into::into),
        );
        all
    }

    /// Asks, and gives the number of pieces, their bytes, and what came as a file.
    fn ask(&mut self, line: &str, cancel: bool) -> (usize, File, cli::Result<()>) {
        let mut file = tempfile::tempfile().expect("a file");
        let (mut runner, mut said, mut pieces) = (Runner::default(), Vec::new(), 0);
        let begin = || runner.line(&self.tree, &self.bench.world, line, false, &mut said);
        (_, self.most) = super::allocations(begin);
        loop {
            let ended = self.turn(&mut runner, &mut said);
            for OutputPiece::Answer(text) | OutputPiece::Chunk(text) in said.drain(..) {
                pieces += 1;
                assert!(text.len() <= PIECE, "{line}: a piece of {} bytes", text.len());
                file.write_all(text.as_bytes()).expect("room for a file");
            }
            if let Some(result) = ended {
                file.rewind().expect("a file");
                return (pieces, file, result);
            }
            if cancel && pieces == 1 {
                runner.cancel();
            }
        }
    }

    /// Runs a command that goes over the whole configuration.
    fn whole(&mut self, line: &str) {
        let (_, _, result) = self.ask(line, false);
        result.unwrap_or_else(|e| panic!("{line}: {e}"));
        assert!(self.most <= LINES, "{line}: memory was taken {} times in a turn", self.most);
    }

    fn check(&mut self, line: &str, n: usize) {
        for form in ["", " -j"] {
            let line = format!("{line}{form}");
            let ((pieces, file, result), taken) = super::peak(|| self.ask(&line, false));
            let limit = if line.contains("config") { LINES } else { TURN };
            assert!(self.most <= limit, "{line}: memory was taken {} times in a turn", self.most);
            if let Err(e) = &result {
                assert_eq!(pieces, 0, "{line}: {e}");
            } else if !form.is_empty() {
                let json: Result<Value, _> = serde_json::from_reader(BufReader::new(file));
                let json = json.unwrap_or_else(|e| panic!("{line}: {e}"));
                assert!(json.is_array() || json.is_object(), "{line}: {json}");
                assert!(
                    json.get("text").is_none() || line.starts_with("show log"),
                    "{line} has only text"
                );
                self.wrong.extend(promised(&line, &json).err().map(|why| format!("{line}: {why}")));
            }
            // Keys may be held, rows may not: a route takes some ten kilobytes of JSON and its
            // tree.
            let most = (6 << 20) + 150 * n;
            assert!(taken <= most, "{line}: {taken} bytes were taken, more than {most}");
            if pieces > 3 {
                let (short, file, result) = self.ask(&line, true);
                assert_eq!(result.expect_err("it was cancelled").message(), "cancelled", "{line}");
                assert!(short <= 2, "{line}: {short} pieces");
                if !form.is_empty() {
                    let json: Result<Value, _> = serde_json::from_reader(BufReader::new(file));
                    assert!(json.is_ok(), "{line}, cancelled: {json:?}");
                }
            }
        }
    }
}

fn every_show(n: usize) {
    let mut loaded = Loaded::new(n);
    // Two versions are saved: one equal to the running configuration, one that differs from it.
    loaded.whole("save");
    loaded.run(&format!("ip route del 30.0.0.0/32 count {n} via 10.64.0.9 loop0"));
    loaded.whole("save");
    loaded.run(&format!("ip route add 30.0.0.0/32 count {n} via 10.64.0.9 loop0"));
    for line in loaded.shows() {
        loaded.check(&line, n);
    }
    assert!(loaded.wrong.is_empty(), "{}", loaded.wrong.join("\n"));
    // Large tables are shown completely, in many pieces.
    for (line, least) in [
        ("show ip fib", n),
        ("show ip6 fib", n),
        ("show ip fib detail", n),
        ("show fib entry", 2 * n),
        ("show ip mfib", n),
        ("show mfib entry", n),
        ("show ip4 neighbors", n),
        ("show ip6 neighbors", n),
        ("show running-config", 5 * n),
        ("show config diff", n),
    ] {
        let (pieces, file, result) = loaded.ask(line, false);
        let lines = std::io::BufRead::lines(BufReader::new(file)).count();
        assert!(
            result.is_ok() && lines >= least && pieces >= least / cli::SLICE / 2,
            "{line}: {lines} lines, {pieces} pieces"
        );
    }
    loaded.whole("rollback 0");
    loaded.whole("rollback 1");
    loaded.whole("commit confirmed 1");
}

#[test]
fn every_show_comes_in_slices_and_ends_when_it_is_cancelled() {
    every_show(5000);
}

#[test]
#[ignore = "long: every show with tables of 100,000 entries, some minutes"]
fn long_every_show_over_full_tables() {
    every_show(100_000);
}

/// Routes added and deleted while `show ip fib` runs: each route that stays is shown once.
#[test]
fn routes_that_stay_are_shown_once_whatever_comes_and_goes() {
    let mut loaded = Loaded::new(1000);
    let (mut runner, mut said, mut text) = (Runner::default(), Vec::new(), String::new());
    runner.line(&loaded.tree, &loaded.bench.world, "show ip fib table 0", false, &mut said);
    for i in 0.. {
        let ended = loaded.turn(&mut runner, &mut said);
        text.extend(said.drain(..).map(|(OutputPiece::Answer(t) | OutputPiece::Chunk(t))| t));
        if let Some(result) = ended {
            result.expect("it ends well");
            break;
        }
        // Behind and before where the walk may be.
        loaded.run(&format!("ip route add 31.0.{i}.0/24 via 10.64.0.9 loop0"));
        loaded.run(&format!("ip route add 29.0.{i}.0/24 via 10.64.0.9 loop0"));
        loaded.run(&format!("ip route del 40.0.0.{}/32", i + 2));
    }
    for i in 0..1000u32 {
        let prefix = format!("\n{}/32\n", std::net::Ipv4Addr::from_bits((30 << 24) + i));
        assert_eq!(text.matches(&prefix).count(), 1, "{prefix}");
    }
}
