// SPDX-License-Identifier: Apache-2.0
//! The configuration of an instance can be written as a script that makes it again.

use cli::{Command, Output, OutputPiece, Runner, Tree};
use daemon::origin::{self, Origin};
use daemon::store::{change::Change, script};
use daemon::{plugins, store};
use fixture::{scripts, transient, tree};
use graph::drive::Bench;
use graph::{Needs, World};
use std::time::Duration;

use compare::{made_again, same};

mod compare;
mod deletion;
mod messages;
mod paths;
mod random;
mod renamed;
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
        let mut tree = tree();
        tree.add(GO).expect("a path of its own");
        let dir = tempfile::tempdir().expect("a temporary directory");
        let bench = Bench::new(plugins::ALL);
        // A busy machine would let timers of one instance run out, and not of the other.
        bench.world.clock.stop();
        Self { bench, tree, dir }
    }

    fn run(&mut self, line: &str) -> Result<String, cli::Error> {
        let (mut runner, mut said) = (Runner::default(), Vec::new());
        runner.line(&self.tree, &self.bench.world, line, false, &mut said);
        loop {
            let now = Duration::from_nanos(self.bench.world.clock.now());
            if let Some(result) = runner.poll(&self.tree, &self.bench.world, now, &mut said) {
                let text =
                    said.into_iter().map(|(OutputPiece::Answer(t) | OutputPiece::Chunk(t))| t);
                self.bench.settle();
                return result.map(|()| text.collect());
            }
            // A command that waits for a time goes on at last.
            self.bench.world.clock.adjust(1_000_000);
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

    /// Goes to another configuration by `replace FILE`.
    #[track_caller]
    fn go_to(&mut self, text: &str) -> String {
        self.replace(text).unwrap_or_else(|e| panic!("{e}"))
    }

    /// Runs `replace` with a file of this text, as an operator does.
    fn replace(&mut self, text: &str) -> Result<String, cli::Error> {
        let file = self.dir.path().join("target");
        std::fs::write(&file, text).expect("written");
        let line = format!("replace {}", file.display());
        origin::during(&Origin::terminal(), || self.run(&line))
    }

    /// Seconds in which nothing comes in: addresses that are asked for become the interface's.
    fn pass(&mut self, seconds: u64) {
        for _ in 0..seconds {
            self.bench.world.clock.adjust(1_000_000_000);
            self.bench.settle();
        }
    }
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

/// A script of which nothing can be done changes nothing, wherever it breaks.
#[test]
fn a_broken_file_changes_nothing_of_any_script() {
    let scripts: Vec<_> = scripts().filter(|s| s.needs == Needs::Nothing).collect();
    let mut rng = testkit::Rng::new(42);
    for s in &scripts {
        let mut instance = Instance::after(s.lines);
        let before = instance.config();
        let other = scripts[rng.below(scripts.len())];
        let mut lines = store::file::lines(&Instance::after(other.lines).config());
        let (at, bad) = (rng.below(lines.len() + 1), rng.below(2));
        let bad = ["set interfase x", "set interface state nowhere up"][bad];
        lines.insert(at, bad.into());
        let error = instance.replace(&lines.join("\n")).expect_err(bad);
        let text = error.message();
        assert!(text.contains("nothing was changed"), "{} to {}: {text}", s.name, other.name);
        assert_eq!(sorted(&instance.config()), sorted(&before), "{} to {}", s.name, other.name);
        assert_eq!(instance.must("show config pending"), "nothing is pending\n");
    }
}

fn sorted(text: &str) -> Vec<String> {
    let mut lines = store::file::lines(text);
    lines.sort();
    lines
}

/// IPv6 that is disabled stays disabled, whatever link-local address was set.
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
    let tree = tree();
    let lines: Vec<_> = scripts().flat_map(|s| store::file::lines(s.lines)).collect();
    let mut used = Vec::new();
    for line in &lines {
        let parsed = tree.parse(line).unwrap_or_else(|e| panic!("{line}: {e}"));
        used.extend(parsed.map(|p| p.command().path));
    }
    let is_transient =
        |path: &str| transient().any(|(p, _)| path == p || path.starts_with(&format!("{p} ")));
    let mut missing = Vec::new();
    for command in tree.commands() {
        let (path, listed) = (command.path, is_transient(command.path));
        let scripted = used.contains(&path);
        if !listed && !scripted {
            missing.push(path);
        }
        assert!(
            !listed || !scripted || path.starts_with("clear "),
            "`{path}' is in a script and transient"
        );
    }
    assert!(
        missing.is_empty(),
        "{missing:?} stand in no plugin's examples: add lines with all that they set, and see that its `config' says them"
    );
    for (path, _) in transient() {
        assert!(
            tree.commands().iter().any(|c| c.path.starts_with(path)),
            "there is no command `{path}'"
        );
    }
}

#[test]
fn a_change_goes_on_behind_a_line_that_fails_and_reports_it() {
    let mut instance =
        Instance::after("create packet-generator interface pg0\nset interface state pg0 up\n");
    let file = instance.dir.path().join("target");
    std::fs::write(&file, "ip table add 7\nset interface state pg9 up\nip table add 8\n")
        .expect("written");
    let error = instance.run(&format!("go to {}", file.display())).expect_err("there is no pg9");
    assert_eq!(
        error.message().lines().collect::<Vec<_>>(),
        [
            "target: 1 line failed, 4 lines run",
            "1 line failed:",
            "  `set interface state pg9 up': no interface is named `pg9'",
            "1 line of it not in force:",
            "  set interface state pg9 up",
        ]
    );
    assert_eq!(
        instance.config(),
        "# tables\nip table add 7\nip table add 8\n",
        "the line behind it"
    );
    // The failed line is pending, with its number, until it is run or another target lacks it.
    let shown = |instance: &mut Instance| {
        let json = instance.must("show config pending -j");
        let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
        json["lines"].as_array().expect("a list").clone()
    };
    let row = |line: &serde_json::Value| {
        ["state", "file", "line", "command", "reason"].map(|key| line[key].to_string())
    };
    let lines: Vec<_> = shown(&mut instance).iter().map(row).collect();
    let text = |text: &str| format!("\"{text}\"");
    assert_eq!(
        lines,
        [[
            text("failed"),
            text("target"),
            "2".into(),
            text("set interface state pg9 up"),
            text("no interface is named `pg9'")
        ]]
    );
    instance.must("create packet-generator interface pg9");
    instance.must("retry config pending");
    assert_eq!(shown(&mut instance).len(), 0);
    instance.must("delete packet-generator interface pg9");
    // Wrong lines are found before anything is done.
    std::fs::write(&file, "set interface state pg9 up\n\n  set interfase x\n").expect("written");
    let error = instance.run(&format!("go to {}", file.display())).expect_err("a wrong line");
    assert!(error.message().starts_with("target:3:7: "), "{error}");
    assert_eq!(instance.config(), "# tables\nip table add 7\nip table add 8\n");
}

/// Going to another configuration reads and compares in slices: others have their turn between
/// them.
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
            if let Some(result) = runner.poll(&instance.tree, &instance.bench.world, now, &mut said)
            {
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

/// An operator's setting overrides what the feature's owner wants, and both are restored.
#[test]
fn what_an_operator_chose_against_an_owner_comes_back() {
    let feature = "set interface feature pg0 arp-proxy arc arp";
    let mut instance =
        Instance::after(&format!("create packet-generator interface pg0\n{feature}"));
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

/// A lender in another table is refused, but both interfaces may be moved to different ones
/// afterwards.
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

/// Every kind of interface gets its own MAC address back, also one that had none; and every line
/// that is taken back is accepted.
#[test]
fn a_mac_address_is_taken_back_on_every_interface() {
    for s in scripts().filter(|s| s.needs == Needs::Nothing) {
        let mut instance = Instance::after(s.lines);
        let before = instance.config();
        let mut set = Vec::new();
        for interface in instance.bench.world.get::<net::Interfaces>().list() {
            let line = format!("set interface mac address {} 02:00:00:00:77:01", interface.name);
            // Sub-interfaces and members of bonds have the address of another interface.
            if instance.run(&line).is_ok() {
                set.push(interface.name);
            }
        }
        assert!(set.contains(&"local0".to_string()), "{set:?}");
        instance.go_to(&before);
        assert_eq!(instance.config(), before, "{}: {set:?}", s.name);
    }
}

/// `commit confirmed`: a saved line that fails doesn't keep the others from coming back.
#[test]
fn a_rollback_goes_on_behind_a_failing_undo() {
    let mut instance =
        Instance::after("create packet-generator interface pg0\nip route add 1.0.0.0/8 via drop\n");
    let saved = instance.config();
    instance.must("pipe create");
    instance.must("set interface mac address pipe0 02:00:00:00:00:01");
    instance.must("ip route del 1.0.0.0/8");
    instance.must("ip route add 2.0.0.0/8 via drop");
    instance.go_to(&saved);
    assert_eq!(instance.config(), saved);
}
