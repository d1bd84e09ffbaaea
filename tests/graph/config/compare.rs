// SPDX-License-Identifier: Apache-2.0
//! Compares two instances: the output of their `show` commands, and the packets that they forward.

use super::{Instance, sorted};
use crate::exceptions::{self, matches};
use cli::Tree;
use daemon::plugins;
use fixture::{read_pcap, with_words};
use graph::World;
use net::{IfKind, Interfaces};
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::OnceLock;
use testkit::pkt;

/// Stands for the name of an interface.
const INTERFACE: &str = "INTERFACE";

/// The only `show` of the daemon's own that tells of the saved configuration.
const OWN: &str = "show logging configuration";

/// Every `show` of the plugins, as JSON, with the words that its usage takes. Where it needs words,
/// these are an interface, a kind or a number.
fn shown(tree: &Tree<World>) -> &'static [String] {
    static LINES: OnceLock<Vec<String>> = OnceLock::new();
    LINES.get_or_init(|| {
        let mut lines = Vec::new();
        let commands = plugins::ALL.iter().flat_map(|p| p.cli).map(|command| command.path);
        for path in commands.filter(|path| path.starts_with("show ")).chain([OWN]) {
            let with = |words: &[&str]| with_words(tree, path, words);
            let mut shows = with(&["", "verbose", "details", "summary"]);
            if shows.is_empty() {
                shows = with(&[INTERFACE, "type ip4", "1"]);
            }
            assert!(!shows.is_empty(), "`{path}' needs words that this test doesn't know");
            lines.extend(shows);
        }
        let (volatile, steady): (Vec<_>, Vec<_>) = lines.into_iter().partition(|line| {
            exceptions::of_plugins(|p| p.volatile).any(|(pattern, _)| matches(pattern, line))
        });
        let known: Vec<_> = exceptions::of_plugins(|p| p.volatile).collect();
        exceptions::cover(&known, volatile.iter().map(String::as_str), "volatile");
        steady.into_iter().map(|line| format!("{line} -j")).collect()
    })
}

impl Instance {
    /// The output of `show` commands, without ages and the numbers of internal objects.
    pub fn shows(&mut self) -> Vec<String> {
        let interfaces = self.bench.world.get::<Interfaces>().list();
        let mut lines = Vec::new();
        for line in shown(&self.tree) {
            match line.split_once(INTERFACE) {
                None => lines.push(line.clone()),
                Some((before, after)) => lines.extend(
                    interfaces
                        .iter()
                        .map(|interface| format!("{before}{}{after}", cli::quote(&interface.name))),
                ),
            }
        }
        let said = |line: String| {
            let text = self.run(&line).map_or_else(|e| e.to_string(), steady);
            format!("{line}\n{text}")
        };
        lines.into_iter().map(said).collect()
    }

    /// The packets that each interface of the packet generator sends when packets come in by all of
    /// them.
    pub fn forwards(&mut self) -> Vec<(String, Vec<Vec<u8>>)> {
        let interfaces = self.bench.world.get::<Interfaces>().list();
        let ports: Vec<_> = interfaces.iter().filter(|i| i.device.driver() == "pg").collect();
        for port in &ports {
            let file = self.dir.path().join(port.sw_if.to_string());
            let _ = std::fs::remove_file(&file);
            self.must(&format!(
                "packet-generator capture {} pcap {}",
                cli::quote(&port.name),
                file.display()
            ));
        }
        for port in &ports {
            for n in 0..24 {
                let destination = format!("10.{}.{}.{}", n % 12, n % 3, 1 + n % 5);
                let mut packet = pkt::ip4("10.0.0.200", destination.as_str())
                    .ttl(9)
                    .udp(1000 + n, 2000)
                    .payload_len(20)
                    .build();
                let mut node = "ip4-input";
                if port.kind == IfKind::Ethernet {
                    let ethernet = [&port.mac.octets()[..], &[2, 0, 0, 0, 9, 9], &[8, 0]].concat();
                    packet = [ethernet, packet].concat();
                    node = "ethernet-input";
                }
                self.bench.send(node, &packet, |b| b.rx_if = port.sw_if.0);
            }
        }
        let mut out = Vec::new();
        for port in &ports {
            self.must(&format!("packet-generator capture {} disable", cli::quote(&port.name)));
            let file = self.dir.path().join(port.sw_if.to_string());
            let mut packets = if file.exists() { read_pcap(&file) } else { Vec::new() };
            // The number of requests for a neighbour depends on the time that passes between
            // packets.
            let mut asked = BTreeSet::new();
            let is_question =
                |p: &[u8]| port.kind == IfKind::Ethernet && p.get(12..14) == Some(&[8, 6]);
            packets.retain(|packet| !is_question(packet) || asked.insert(packet.clone()));
            out.push((port.name.clone(), packets));
        }
        out
    }
}

/// Without what differs from one instance to the next that is the same otherwise.
fn steady(text: String) -> String {
    let Ok(mut json) = serde_json::from_str::<Value>(&text) else { return text };
    fn clean(value: &mut Value) {
        match value {
            Value::Array(all) => all.iter_mut().for_each(clean),
            Value::Object(all) => {
                // The order in which paths were added doesn't affect the flow hash.
                if let Some(Value::Array(paths)) = all.get_mut("paths") {
                    paths.sort_by_key(Value::to_string);
                }
                for key in [
                    "age",
                    "bsn",
                    "isn",
                    "learned",
                    "counters",
                    "list",
                    "adj",
                    "index",
                    "adjacency",
                    "adjacencies",
                    "shared",
                    "path_list",
                    "alias_of",
                    "stats_index",
                    "locks",
                    "fib_index",
                    "sent",
                    "buckets",
                    "packets",
                    "bytes",
                    "hits",
                    "session",
                    "last_heard",
                ] {
                    all.remove(key);
                }
                all.retain(|key, _| !key.ends_with("_ago"));
                all.values_mut().for_each(clean);
            }
            _ => {}
        }
    }
    clean(&mut json);
    format!("{json:#}")
}

/// A difference between two instances.
#[derive(Debug)]
pub struct Difference {
    /// The command that shows it, or what else differs.
    pub of: String,
    pub text: String,
}

impl Difference {
    pub fn new(of: impl Into<String>, text: impl Into<String>) -> Self {
        Self { of: of.into(), text: text.into() }
    }
}

/// The first difference between the `show` output of two instances.
pub fn differ(these: &[String], those: &[String]) -> Result<(), Difference> {
    for (this, that) in these.iter().zip(those) {
        let name = this.lines().next().unwrap_or_default();
        if let Some((a, b)) = this.lines().zip(that.lines()).find(|(a, b)| a != b) {
            return Err(Difference::new(name, format!("{a}\ninstead of\n{b}")));
        }
        if this != that {
            return Err(Difference::new(name, format!("{this}\ninstead of\n{that}")));
        }
    }
    let (a, b) = (these.len(), those.len());
    if a == b { Ok(()) } else { Err(Difference::new("shows", format!("{a} instead of {b}"))) }
}

/// Both see the same, line by line.
#[track_caller]
pub fn same(these: Vec<String>, those: Vec<String>, what: &str) {
    differ(&these, &those).unwrap_or_else(|d| panic!("{} of {what}:\n{}", d.of, d.text));
}

/// Runs an instance's configuration in a new one, and returns the first difference.
pub fn compare_again(first: &mut Instance) -> Result<(), Difference> {
    let text = first.config();
    let mut again = Instance::try_after(&text)
        .map_err(|e| Difference::new("a line", format!("{e}\n{text}")))?;
    if again.config() != text {
        let text = format!("{}\ninstead of\n{text}", again.config());
        return Err(Difference::new("the configuration", text));
    }
    first.pass(5);
    again.pass(5);
    differ(&again.shows(), &first.shows())
        .map_err(|d| Difference { text: format!("{}\n\n{text}", d.text), ..d })?;
    for ((name, again), (_, first)) in again.forwards().into_iter().zip(first.forwards()) {
        if again != first {
            let text = format!("{again:?}\ninstead of\n{first:?}\n{text}");
            return Err(Difference::new(format!("packets of {name}"), text));
        }
    }
    Ok(())
}

/// A reached configuration is as one that was started with: its lines, what `show` commands know
/// of it, and the packets that it forwards. Objects may have other numbers, and so stand in
/// another order.
#[track_caller]
pub fn as_started(reached: &mut Instance, config: &str, what: &str) {
    let mut started = Instance::after(config);
    assert_eq!(sorted(&reached.config()), sorted(config), "{what}");
    reached.pass(5);
    started.pass(5);
    for (reached, started) in reached.shows().iter().zip(&started.shows()) {
        let name = reached.lines().next().unwrap_or_default();
        assert_eq!(unnumbered(reached), unnumbered(started), "{name} of {what}\n{config}");
    }
    let forwards = |instance: &mut Instance| {
        let mut all = instance.forwards();
        all.sort();
        all
    };
    assert_eq!(forwards(reached), forwards(&mut started), "{what}\n{config}");
}

/// The lines of an answer without numbers of objects, sorted.
fn unnumbered(answer: &str) -> Vec<&str> {
    let is_number = |line: &&str| {
        let mut words = line.split(|c: char| !c.is_ascii_alphanumeric());
        words.any(|word| ["index", "ind", "indices"].contains(&word))
    };
    let mut lines: Vec<_> = answer.lines().filter(|line| !is_number(line)).collect();
    lines.iter_mut().for_each(|line| *line = line.trim().trim_end_matches(','));
    lines.sort_unstable();
    lines
}

/// Runs an instance's configuration in a new one, which has to be the same.
#[track_caller]
pub fn made_again(first: &mut Instance, what: &str) {
    compare_again(first).unwrap_or_else(|d| panic!("{} of {what}:\n{}", d.of, d.text));
}
