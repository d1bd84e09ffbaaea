// SPDX-License-Identifier: Apache-2.0
//! What was configured can be said as a script that makes it again.

use cli::{Command, Output, Runner, Said, Tree};
use daemon::store::{change::Change, script};
use daemon::{plugins, store};
use fixture::{NOT_STATE, Needs, SCRIPTS, read_pcap};
use graph::World;
use graph::drive::Bench;
use net::{IfKind, Interfaces};
use serde_json::Value;
use std::time::Duration;
use testkit::{Rng, pkt};

use crate::names;

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
        let mut this = Self::new();
        for line in store::file::lines(lines) {
            this.must(&line);
        }
        this
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

    /// What operators see of it. Ages and the numbers of internal objects are left out.
    fn shows(&mut self) -> Vec<String> {
        const SHOWS: &[&str] = &[
            "show interface -j",
            "show hardware-interfaces",
            "show interface rx-placement",
            "show ip table",
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
            "show super-path",
            "show interface default rx-mode",
            "show arp proxy",
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
            let packets = if file.exists() { read_pcap(&file) } else { Vec::new() };
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
                for key in [
                    "age",
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

/// Both see the same, line by line.
#[track_caller]
fn same(these: Vec<String>, those: Vec<String>, what: &str) {
    for (this, that) in these.iter().zip(&those) {
        let name = this.lines().next().unwrap_or_default();
        for (a, b) in this.lines().zip(that.lines()) {
            assert_eq!(a, b, "{name} of {what}");
        }
        assert_eq!(this, that, "{name} of {what}");
    }
    assert_eq!(these.len(), those.len(), "{what}");
}

/// Runs what an instance says of itself in a new one, and sees that it is the same.
#[track_caller]
fn made_again(first: &mut Instance, what: &str) {
    let text = first.config();
    let mut again = Instance::after(&text);
    assert_eq!(again.config(), text, "{what}");
    same(again.shows(), first.shows(), &format!("{what}\n{text}"));
    assert_eq!(again.forwards(), first.forwards(), "{what}\n{text}");
}

#[test]
fn every_script_is_said_again_and_taken_back() {
    let nothing = Instance::new().shows();
    for s in SCRIPTS.iter().filter(|s| s.needs == Needs::Nothing) {
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
    let scripts: Vec<_> = SCRIPTS.iter().filter(|s| s.needs == Needs::Nothing).collect();
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

/// Some command; many of them don't fit what is there, and are refused.
fn any_line(rng: &mut Rng) -> String {
    let mut n = |below: usize| rng.below(below);
    let interface = ["pg0", "pg1", "pg2", "loop0", "loop1", "wan"][n(6)];
    let other = ["pg0", "pg1", "pg2", "loop0", "wan"][n(5)];
    let table = [0, 7, 9][n(3)];
    let net = n(6);
    let del = ["", "del "][usize::from(n(4) == 0)];
    let up = ["up", "up", "up", "down"][n(4)];
    let on = ["enable", "disable"][n(2)];
    match n(20) {
        0 => format!(
            "create packet-generator interface pg{}{}",
            n(3),
            ["", " mode ip4"][usize::from(n(4) == 0)]
        ),
        1 => format!("create loopback interface instance {}", n(2)),
        2 if n(2) == 0 => format!("delete packet-generator interface {interface}"),
        2 => format!("delete loopback interface intfc {interface}"),
        3 | 4 => format!("set interface state {interface} {up}"),
        5 | 6 => format!("set interface ip address {del}{interface} 10.{net}.0.{}/24", 1 + n(3)),
        7 => format!("set interface ip table {interface} {table}"),
        8 => format!("ip table {} {table}", ["add", "add", "del"][n(3)]),
        9 => format!(
            "ip route {} 10.{net}.0.0/{} table {table} via 10.{}.0.2 {interface}",
            ["add", "add", "del"][n(3)],
            16 + n(9),
            n(6)
        ),
        10 => format!("ip route add 10.{net}.0.0/16 via 10.{}.0.{}", n(6), 1 + n(5)),
        11 => format!(
            "ip route add table {table} 10.{net}.1.0/24 via {} weight {}",
            ["drop", "unreach", interface, "ip4-lookup-in-table 9"][n(4)],
            1 + n(4)
        ),
        12 => format!("set ip neighbor {del}{interface} 10.{net}.0.2 02:00:00:00:00:0{} static", n(9)),
        13 => format!("set interface name {interface} {}", ["wan", "pg0", "lan"][n(3)]),
        14 => format!("set interface mtu {}{} {interface}", ["", "ip4 ", "packet "][n(3)], 1000 + n(500)),
        15 => format!("set interface mac address {interface} 02:00:00:00:01:0{}", n(9)),
        16 => format!("set interface proxy-arp {other} {on}"),
        17 => format!("set arp proxy {del}table-id {table} start 10.{net}.0.1 end 10.{net}.0.99"),
        18 => format!(
            "set ip icmp {}",
            ["echo disable", "echo enable", "error-rate 5", "echo-broadcast enable"][n(4)]
        ),
        _ => format!("{on} ip4 interface {interface}"),
    }
}

#[test]
fn what_any_lines_make_is_said_again() {
    let mut last: Option<String> = None;
    for seed in 0..24 {
        let mut rng = Rng::new(seed);
        let mut instance = Instance::new();
        let mut lines = String::new();
        for _ in 0..60 {
            let line = any_line(&mut rng);
            if instance.run(&line).is_ok() {
                lines += &format!("{line}\n");
            }
        }
        let text = instance.config();
        // Indices that were given back come in another order: names tell what is meant.
        if !lines.contains("delete ") {
            made_again(&mut instance, &format!("seed {seed}\n{lines}"));
        }
        let again = Instance::after(&text);
        assert_eq!(sorted(&again.config()), sorted(&text), "seed {seed}\n{lines}");
        if let Some(last) = &last {
            let said = instance.go_to(last);
            assert_eq!(sorted(&instance.config()), sorted(last), "seed {seed}\n{lines}{said}");
        }
        last = Some(text);
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

/// Any lines of the scripts, which have every command that sets something: in any order, about any interface.
fn mixed(seed: u64, count: usize) -> (Instance, String) {
    let pool: Vec<String> = SCRIPTS
        .iter()
        .filter(|s| s.needs == Needs::Nothing)
        .flat_map(|s| store::file::lines(s.lines))
        // Gaps in the indices of interfaces are closed.
        .filter(|line| !line.contains("delete") && !line.starts_with("packet-generator"))
        .collect();
    let mut rng = Rng::new(seed);
    let mut instance = Instance::new();
    let mut done = String::new();
    for line in [
        "create packet-generator interface pg0",
        "create packet-generator interface pg1",
        "create loopback interface",
    ] {
        instance.must(line);
        done += &format!("{line}\n");
    }
    for _ in 0..count {
        let mut line = pool[rng.below(pool.len())].clone();
        if rng.below(3) == 0 {
            let name = ["pg0", "pg1", "loop0"][rng.below(3)];
            line = line.replace(["pg0", "pg1", "loop0"][rng.below(3)], name);
        }
        if rng.below(6) == 0 {
            line = match line.strip_prefix("enable ") {
                Some(rest) => format!("disable {rest}"),
                None => line.replace(" enable", " disable"),
            };
        }
        if instance.run(&line).is_ok() {
            done += &format!("{line}\n");
        }
    }
    (instance, done)
}

#[test]
fn what_any_lines_of_all_scripts_make_reads_the_same() {
    for seed in 0..12 {
        let (instance, lines) = mixed(seed, 80);
        let text = instance.config();
        assert_eq!(Instance::after(&text).config(), text, "seed {seed}\n{lines}");
    }
}

#[test]
fn every_command_that_sets_something_is_in_a_script() {
    let tree = names::tree();
    let lines: Vec<_> = SCRIPTS.iter().flat_map(|s| store::file::lines(s.lines)).collect();
    let mut used = Vec::new();
    for line in &lines {
        let parsed = tree.parse(line).unwrap_or_else(|e| panic!("{line}: {e}"));
        used.extend(parsed.map(|p| p.command().path));
    }
    let not_state =
        |path: &str| NOT_STATE.iter().any(|(p, _)| path == *p || path.starts_with(&format!("{p} ")));
    for command in tree.commands() {
        let (path, listed) = (command.path, not_state(command.path));
        let scripted = used.contains(&path);
        assert!(
            listed || scripted,
            "`{path}' stands in no script of tests/fixture/scripts.rs: add lines with all that it sets, and see that its \
             plugin's `config' says them"
        );
        assert!(
            !listed || !scripted || path.starts_with("clear "),
            "`{path}' is in a script and in NOT_STATE"
        );
    }
    for (path, _) in NOT_STATE {
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
