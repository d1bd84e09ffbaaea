// SPDX-License-Identifier: Apache-2.0
mod api;
mod columns;
mod properties;
mod queues;
mod sub;

use crate::PLUGIN;
use buffer::Buffer;
use cli::Tree;
use graph::drive::Bench;
use graph::{Cx, Next, Node, Plugin, SwIfIndex, World};
use net::drive::{Tx, ethernet};
use net::{Column, Device, IfCounters, Interfaces, Note, Promiscuous};
use startup::Source;
use startup::text::tokens;
use std::sync::Arc;
use wire::MacAddr;

static PLUGINS: &[&Plugin] = &[&PLUGIN];

fn bench() -> (Bench, SwIfIndex, Tree<World>) {
    let bench = Bench::new(PLUGINS);
    let interfaces: Arc<Interfaces> = bench.world.get();
    let new = ethernet("t0", MacAddr([2, 0, 0, 0, 0, 1]));
    let sw_if = interfaces.create(&bench.world, new, |_, _, _| Tx).expect("created");
    let tree = Tree::new(PLUGIN.cli).expect("the commands are well-formed");
    (bench, sw_if, tree)
}

fn run(bench: &Bench, tree: &Tree<World>, line: &str) -> String {
    tree.answer(&bench.world, line).unwrap_or_else(|e| panic!("{line}: {e}"))
}

#[suite::test]
fn packets_leave_by_an_interface_that_is_up() {
    let (mut bench, sw_if, tree) = bench();
    let packets = vec![vec![0; 64]; 20];
    let out = bench.node("t0-output", &packets, |b| b.rx_if = 1);
    assert!(
        out.iter().all(|o| o.node == "error-drop" && o.reason == Some("interface is down")),
        "{out:?}"
    );
    assert_eq!(bench.count("t0-output", "interface is down"), 20, "a name that VPP has");
    run(&bench, &tree, "set interface state t0 up");
    for n in [3, 20] {
        let out = bench.node("t0-output", &packets[..n], |_| {});
        assert_eq!(out.iter().filter(|o| o.node == "t0-tx" && o.tx_if == sw_if.0).count(), n);
    }
    let counters: Arc<IfCounters> = bench.world.get();
    assert_eq!(counters.tx.sum(sw_if.at()), (23, 23 * 64));
    let text = run(&bench, &tree, "sh int t0");
    assert!(text.contains("tx packets") && text.contains("23"), "{text}");
    bench.cli("clear interfaces").expect("cleared");
    assert!(!run(&bench, &tree, "show interface").contains("tx packets"));
}

/// The mode of startup.conf is the one of new queues, isn't saved, and comes back when another is
/// taken back.
#[suite::test]
fn startup_conf_says_how_queues_are_polled() {
    let source = Source::file("startup.conf", "{ default-rx-mode polling }");
    let tokens = tokens(&source).expect("braces in pairs");
    let mut startup = startup::Values::new(PLUGIN.startup);
    startup
        .read("interface", &mut startup::Cursor::new(&source, &tokens))
        .expect("declared")
        .expect("right");
    let bench = Bench::configured(&graph::WorldConfig { startup, ..Default::default() }, PLUGINS);
    let tree = Tree::new(PLUGIN.cli).expect("the commands are well-formed");
    assert_eq!(run(&bench, &tree, "show interface default rx-mode"), "default rx-mode: polling\n");
    let saved = |bench: &Bench| -> Vec<String> {
        bench.world.running_config().into_iter().map(|line| line.text).collect()
    };
    assert_eq!(saved(&bench), [""; 0]);
    run(&bench, &tree, "set interface default rx-mode adaptive");
    assert_eq!(saved(&bench), ["set interface default rx-mode adaptive"]);
    run(&bench, &tree, "set interface default rx-mode polling");
    assert_eq!(saved(&bench), [""; 0]);
}

#[suite::test]
fn drops_are_counted_and_freed() {
    let (mut bench, sw_if, _) = bench();
    for node in ["error-drop", "error-punt"] {
        for _ in 0..3 {
            bench.send(node, &[1; 60], |b| b.rx_if = sw_if.0);
        }
    }
    let counters: Arc<IfCounters> = bench.world.get();
    assert_eq!((counters.drops.sum(sw_if.at()), counters.punt.sum(sw_if.at())), (3, 3));
}

#[suite::test]
fn commands_set_what_they_say() {
    let (bench, sw_if, tree) = bench();
    for line in [
        "set interface mtu 1400 t0",
        "set interface mtu ip4 1300 t0",
        "set interface mac address t0 02:00:00:00:00:99",
        "set interface tag t0 uplink",
        "set interface promiscuous on t0",
        "set interface name t0 wan",
    ] {
        run(&bench, &tree, line);
    }
    let i = bench.world.get::<Interfaces>().get(sw_if).expect("there");
    let note = bench.world.get::<Column<Note>>().get(sw_if);
    assert_eq!(bench.world.get::<Column<Promiscuous>>().get(sw_if), Promiscuous(true));
    assert_eq!((i.name.as_str(), note.0.as_str()), ("wan", "uplink"));
    assert_eq!(
        run(&bench, &tree, "show interface wan")
            .lines()
            .nth(1)
            .map(|l| l.split_whitespace().collect::<Vec<_>>().join(" "))
            .as_deref(),
        Some("wan 1 down 1400/1300/0/0")
    );
    assert!(
        run(&bench, &tree, "show hardware-interfaces")
            .contains("Ethernet address 02:00:00:00:00:99")
    );
    assert!(run(&bench, &tree, "show interface features wan").contains("interface-output:"));
    assert_eq!(run(&bench, &tree, "show interface rx-placement"), "", "no queue");
    for (line, part) in [
        ("set interface state nope up", "no interface is named `nope'"),
        ("set interface mtu 20 wan", "too small"),
        ("set interface rx-mode wan polling", "no receive queue"),
        ("set interface rx-placement wan worker 3", "no worker 3"),
        ("set interface feature wan x arc y", "no feature arc is named y"),
        ("set interface state local0 up", "local0"),
    ] {
        let error =
            tree.execute(&bench.world, line).err().unwrap_or_else(|| panic!("{line} was taken"));
        assert!(error.to_string().contains(part), "{line}: {error}");
    }
}
