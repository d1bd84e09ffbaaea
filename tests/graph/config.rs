// SPDX-License-Identifier: Apache-2.0
//! What was configured can be said as a script that makes it again.

use cli::{Command, Output, Runner, Said, Tree};
use daemon::store::{change::Change, script};
use daemon::{plugins, store};
use fixture::{read_pcap, scripts, transient};
use graph::drive::Bench;
use graph::{Needs, World};
use net::{IfKind, Interfaces};
use serde_json::Value;
use std::collections::BTreeSet;
use std::time::Duration;
use testkit::pkt;

use crate::names;

mod deletion;
mod random;
mod saving;
mod shrink;

/// Goes to the configuration of a file, as `rollback` does.
static GO: &[Command<World>] = &[Command {
    path: "go to",
    usage: "<file:string>",
    help: "",
    run: |_, m| {
        let text = std::fs::read_to_string(m.str("file"))?;
        Ok(Output::sequence::<World>(Change::new("target", text)))
    },
}];

/// An instance with all commands.
struct Instance {
    bench: Bench,
    tree: Tree<World>,
    dir: tempfile::TempDir,
}

impl Instance {
    fn new() -> Self {
        let mut tree = names::tree();
        tree.add(GO).expect("a path of its own");
        let dir = tempfile::tempdir().expect("a temporary directory");
        Self { bench: Bench::new(plugins::ALL), tree, dir }
    }

    fn run(&mut self, line: &str) -> Result<String, cli::Error> {
        let (mut runner, mut said) = (Runner::default(), Vec::new());
        runner.line(&self.tree, &self.bench.world, line, false, &mut said);
        loop {
            let now = Duration::from_nanos(self.bench.world.clock.now());
            if let Some(result) = runner.poll(&self.tree, &self.bench.world, now, &mut said) {
                let text = said.into_iter().map(|(Said::Answer(t) | Said::Chunk(t))| t);
                self.bench.settle();
                return result.map(|()| text.collect());
            }
            self.bench.rt.turn(true);
            let _ = self.bench.world.processes.run(&self.bench.world);
        }
    }

    #[track_caller]
    fn must(&mut self, line: &str) -> String {
        self.run(line).unwrap_or_else(|e| panic!("{line}: {e}"))
    }

    /// An instance after these lines.
    #[track_caller]
    fn after(lines: &str) -> Self {
        Self::try_after(lines).unwrap_or_else(|e| panic!("{e}"))
    }

    /// An instance after these lines, or the line that is refused.
    fn try_after(lines: &str) -> Result<Self, String> {
        let mut this = Self::new();
        for line in store::file::lines(lines) {
            this.run(&line).map_err(|e| format!("{line}: {e}"))?;
        }
        Ok(this)
    }

    fn config(&self) -> String {
        script(&self.bench.world.running_config())
    }

    /// Goes to another configuration, by the lines in which they differ.
    #[track_caller]
    fn go_to(&mut self, text: &str) -> String {
        let file = self.dir.path().join("target");
        std::fs::write(&file, text).expect("written");
        self.must(&format!("go to {}", file.display()))
    }

    /// Seconds in which nothing comes in: addresses that are asked for become the interface's.
    fn pass(&mut self, seconds: u64) {
        for _ in 0..seconds {
            self.bench.world.clock.adjust(1_000_000_000);
            self.bench.settle();
        }
    }

    /// What operators see of it. Ages and the numbers of internal objects are left out.
    fn shows(&mut self) -> Vec<String> {
        const SHOWS: &[&str] = &[
            "show interface -j",
            "show hardware-interfaces",
            "show interface rx-placement",
            "show ip table -j",
            "show ip fib -j",
            "show ip neighbors -j",
            "show ip neighbor-config",
            "show interface address -j",
            "show ip6 interface -j",
            "show ip6 table -j",
            "show ip6 fib -j",
            "show ip mfib -j",
            "show ip6 mfib -j",
            "show ip6 icmp",
            "show ip6 dad",
            "show ip6 nd proxy",
            "show ip pmtu",
            "show ip container",
            "show ip punt redirect",
            "show ip6 punt redirect",
            "show ip source-and-port-range-check",
            "show punt socket registrations",
            "show urpf",
            "show teib",
            "show mode -j",
            "show bridge-domain -j",
            "show super-path",
            "show interface default rx-mode",
            "show arp proxy -j",
            "show ip icmp",
            "show packet-generator",
            "show adj summary",
        ];
        let mut lines: Vec<String> = SHOWS.iter().map(|s| s.to_string()).collect();
        for interface in self.bench.world.get::<Interfaces>().list() {
            lines.push(format!("show interface features {}", cli::quote(&interface.name)));
            lines.push(format!("show interface tag {}", cli::quote(&interface.name)));
        }
        lines.into_iter().map(|line| format!("{line}\n{}", steady(self.must(&line)))).collect()
    }

    /// What comes out by each interface of the packet generator when packets come in by each.
    fn forwards(&mut self) -> Vec<(String, Vec<Vec<u8>>)> {
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
            // How often a neighbour is asked for depends on the time that passes between packets.
            let mut asked = BTreeSet::new();
            let is_question = |p: &[u8]| port.kind == IfKind::Ethernet && p.get(12..14) == Some(&[8, 6]);
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
                ] {
                    all.remove(key);
                }
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
struct Difference {
    /// The command that shows it, or what else differs.
    of: String,
    text: String,
}

impl Difference {
    fn new(of: impl Into<String>, text: impl Into<String>) -> Self {
        Self { of: of.into(), text: text.into() }
    }
}

/// The first difference between the `show` output of two instances.
fn differ(these: &[String], those: &[String]) -> Result<(), Difference> {
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
fn same(these: Vec<String>, those: Vec<String>, what: &str) {
    differ(&these, &those).unwrap_or_else(|d| panic!("{} of {what}:\n{}", d.of, d.text));
}

/// Runs what an instance says of itself in a new one, and looks for differences.
fn compare_again(first: &mut Instance) -> Result<(), Difference> {
    let text = first.config();
    let mut again =
        Instance::try_after(&text).map_err(|e| Difference::new("a line", format!("{e}\n{text}")))?;
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

/// Runs what an instance says of itself in a new one, and sees that it is the same.
#[track_caller]
fn made_again(first: &mut Instance, what: &str) {
    compare_again(first).unwrap_or_else(|d| panic!("{} of {what}:\n{}", d.of, d.text));
}

#[test]
fn every_script_is_said_again_and_taken_back() {
    let nothing = Instance::new().shows();
    for s in scripts().filter(|s| s.needs == Needs::Nothing) {
        let mut first = Instance::after(s.lines);
        let text = first.config();
        assert!(!text.is_empty(), "{}", s.name);
        made_again(&mut first, s.name);
        // Everything is taken back, and done once more.
        let empty = first.go_to("");
        assert_eq!(first.config(), "", "{}: {empty}", s.name);
        same(first.shows(), nothing.clone(), s.name);
        first.go_to(&text);
        assert_eq!(first.config(), text, "{}", s.name);
    }
}

#[test]
fn any_script_is_reached_from_any_other() {
    let scripts: Vec<_> = scripts().filter(|s| s.needs == Needs::Nothing).collect();
    let texts: Vec<_> = scripts.iter().map(|s| Instance::after(s.lines).config()).collect();
    let mut instance = Instance::new();
    for step in 1..scripts.len() {
        for at in 0..scripts.len() {
            let to = at * step % scripts.len();
            instance.go_to(&texts[to]);
            let mut now: Vec<_> = store::file::lines(&instance.config());
            let mut wanted = store::file::lines(&texts[to]);
            now.sort();
            wanted.sort();
            assert_eq!(now, wanted, "{}", scripts[to].name);
        }
    }
}

fn sorted(text: &str) -> Vec<String> {
    let mut lines = store::file::lines(text);
    lines.sort();
    lines
}

/// What is disabled stays disabled, whatever address was set for it.
#[test]
fn a_link_local_address_enables_nothing_after_a_restart() {
    for lines in [
        "enable ip6 interface loop0\nset ip6 link-local address loop0 fe80::1\ndisable ip6 interface loop0",
        "set ip6 link-local address loop0 fe80::1\ndisable ip6 interface loop0",
        "set interface ip address loop0 2001:db8::1/64\nset ip6 link-local address loop0 fe80::1\n\
         set interface ip address del loop0 2001:db8::1/64",
        "set interface ip address loop0 2001:db8::1/64\nset ip6 link-local address loop0 fe80::1",
        "enable ip6 interface loop0\nset ip6 link-local address loop0 fe80::1\n\
         set interface ip address loop0 2001:db8::1/64\ndisable ip6 interface loop0",
    ] {
        let mut first = Instance::after(&format!("create loopback interface\n{lines}"));
        made_again(&mut first, lines);
    }
}

#[test]
fn every_command_that_sets_something_is_in_a_script() {
    let tree = names::tree();
    let lines: Vec<_> = scripts().flat_map(|s| store::file::lines(s.lines)).collect();
    let mut used = Vec::new();
    for line in &lines {
        let parsed = tree.parse(line).unwrap_or_else(|e| panic!("{line}: {e}"));
        used.extend(parsed.map(|p| p.command().path));
    }
    let is_transient = |path: &str| transient().any(|(p, _)| path == p || path.starts_with(&format!("{p} ")));
    let mut missing = Vec::new();
    for command in tree.commands() {
        let (path, listed) = (command.path, is_transient(command.path));
        let scripted = used.contains(&path);
        if !listed && !scripted {
            missing.push(path);
        }
        assert!(!listed || !scripted || path.starts_with("clear "), "`{path}' is in a script and transient");
    }
    assert!(
        missing.is_empty(),
        "{missing:?} stand in no plugin's examples: add lines with all that they set, and see that its `config' says them"
    );
    for (path, _) in transient() {
        assert!(tree.commands().iter().any(|c| c.path.starts_with(path)), "there is no command `{path}'");
    }
}

#[test]
fn a_change_that_fails_says_what_was_done() {
    let mut instance = Instance::after("create packet-generator interface pg0\nset interface state pg0 up\n");
    let file = instance.dir.path().join("target");
    std::fs::write(&file, "ip table add 7\nset interface state pg9 up\n").expect("written");
    let error = instance.run(&format!("go to {}", file.display())).expect_err("there is no pg9");
    let lines: Vec<_> = error.message().lines().collect();
    assert!(
        lines[0].starts_with("target: `set interface state pg9 up': no interface is named `pg9'"),
        "{error}"
    );
    assert_eq!(lines[1], "before that 3 lines were run:");
    assert_eq!(
        lines[2..],
        ["  set interface state pg0 down", "  delete packet-generator interface pg0", "  ip table add 7"]
    );
    // Wrong lines are found before anything is done.
    std::fs::write(&file, "set interface state pg9 up\n\n  set interfase x\n").expect("written");
    let error = instance.run(&format!("go to {}", file.display())).expect_err("a wrong line");
    assert!(error.message().starts_with("target:3:7: "), "{error}");
    assert_eq!(instance.config(), "# tables\nip table add 7\n");
}

/// Going to another configuration reads and compares in slices: others have their turn between them.
#[test]
fn a_large_change_goes_in_slices() {
    const ROUTES: usize = 5000;
    let instance = Instance::after(&format!(
        "create packet-generator interface pg0\nip table add 7\nip route add 30.0.0.0/32 count {ROUTES} via 10.0.0.2 pg0"
    ));
    let text = instance.config();
    let file = instance.dir.path().join("target");
    for target in ["ip table add 7\n", text.as_str()] {
        std::fs::write(&file, target).expect("written");
        let routes = |world: &World| {
            let table = net::fib::TableIndex::DEFAULT;
            world
                .get::<net::Fib<wire::Ip4>>()
                .list_tables()
                .into_iter()
                .find(|t| t.index == table)
                .expect("there")
                .routes
        };
        let before = routes(&instance.bench.world);
        let (mut runner, mut said, mut turns, mut most) = (Runner::default(), Vec::new(), 0, 0);
        runner.line(
            &instance.tree,
            &instance.bench.world,
            &format!("go to {}", file.display()),
            false,
            &mut said,
        );
        let mut last = before;
        loop {
            let now = Duration::from_nanos(instance.bench.world.clock.now());
            if let Some(result) = runner.poll(&instance.tree, &instance.bench.world, now, &mut said) {
                result.expect("it ends well");
                break;
            }
            let now = routes(&instance.bench.world);
            turns += usize::from(now == last);
            most = most.max(now.abs_diff(last));
            last = now;
        }
        assert!(turns >= 2 * ROUTES / cli::SLICE, "{turns} turns in which only was read");
        assert!(most <= 8 * cli::SLICE, "{most} lines in a turn");
        assert_eq!(sorted(&instance.config()), sorted(target));
        assert_eq!(last.abs_diff(before) as usize, ROUTES);
    }
}

/// An operator's choice stands against what the feature's owner wants, and both come back.
#[test]
fn what_an_operator_chose_against_an_owner_comes_back() {
    let feature = "set interface feature pg0 arp-proxy arc arp";
    let mut instance = Instance::after(&format!("create packet-generator interface pg0\n{feature}"));
    let on = |i: &mut Instance| i.must("show interface features pg0").contains("arp-proxy");
    assert!(on(&mut instance));
    instance.must("set interface proxy-arp pg0 enable");
    instance.must(&format!("{feature} disable"));
    assert!(!on(&mut instance));
    made_again(&mut instance, "a feature that its owner wants and the operator doesn't");
    instance.must(feature);
    assert!(on(&mut instance), "the owner's wish was kept");
    assert!(!instance.config().contains("arc arp"), "{}", instance.config());
}

/// A lender in another table is refused, but both interfaces may be moved to different ones afterwards.
#[test]
fn lent_addresses_come_back_across_tables() {
    for moved in ["pg0", "pg1"] {
        let mut instance = Instance::after(
            "create packet-generator interface pg0\ncreate packet-generator interface pg1\nip table add 7\n\
             set interface unnumbered pg1 use pg0",
        );
        instance.must(&format!("set interface ip table {moved} 7"));
        made_again(&mut instance, moved);
        let text = instance.config();
        instance.go_to("");
        assert_eq!(instance.config(), "", "{moved}");
        instance.go_to(&text);
        assert_eq!(instance.config(), text, "{moved}");
    }
}
