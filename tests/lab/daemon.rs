// SPDX-License-Identifier: Apache-2.0
//! The daemon by itself.
//!
//! Covers: bin/ferrovia, drivers/pg.

use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, Instant};

use cli::Tree;
use daemon::{commands, plugins};
use fixture::Router;
use graph::World;
use testkit::lab;

/// Arguments for the commands that want some.
const ARGUMENTS: &[(&str, &str)] = &[
    ("show inacl", "type ip4"),
    ("show outacl", "type ip4"),
    ("show interface features", "pg0"),
    ("show interface tag", "pg0"),
    ("show dhcp option-82-address interface", "pg0"),
    ("show dhcpv6 link-address interface", "pg0"),
    ("show packet-generator interface", "pg0"),
];

#[test]
fn every_show_command_answers_as_text_and_as_json() {
    let Some(lab) = lab::require(&["root"]) else { return };
    let mut tree: Tree<World> = Tree::new(commands::own()).expect("the commands fit together");
    tree.add(plugins::ALL.iter().flat_map(|p| p.cli)).expect("the commands fit together");
    let router = Router::start(&lab.netns("router"), "");
    let paths: Vec<_> =
        tree.commands().iter().map(|c| c.path).filter(|p| p.starts_with("show ")).collect();
    assert!(paths.len() > 10, "{paths:?}");
    // In an empty daemon, and with an interface.
    for prepare in [None, Some("create packet-generator interface pg0")] {
        prepare.into_iter().for_each(|line| drop(router.run(line)));
        for path in &paths {
            let arguments =
                ARGUMENTS.iter().find(|(p, _)| p == path).map(|(_, arguments)| *arguments);
            let line = format!("{path} {}", arguments.unwrap_or_default());
            tree.check(&line)
                .unwrap_or_else(|e| panic!("{e}\n(what it needs has to stand in ARGUMENTS)"));
            if arguments.is_some_and(|words| words.contains("pg0")) && prepare.is_none() {
                assert!(router.ctl(&line).is_err(), "{line}: there is no such thing yet");
                continue;
            }
            router.run(&line);
            router.json(&line);
        }
    }
    let log = router.stop();
    assert!(!log.contains("panicked"), "{log}");
}

/// As in the systemd unit, whoever starts the daemon: root here, with all capabilities.
#[test]
fn rights_that_nothing_needs_are_given_up() {
    let Some(lab) = lab::require(&["root"]) else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let [log, capture] = ["log", "capture"].map(|name| folder.path().join(name));
    let netns = lab.netns("router");
    let router =
        Router::start(&netns, &format!("unix {{ log {} }} cpu {{ workers 1 }}", log.display()));
    router.run(&format!("create interface pcap tx {}", capture.display()));
    // CHOWN, DAC_OVERRIDE, DAC_READ_SEARCH, FOWNER, NET_BIND_SERVICE, NET_ADMIN, NET_RAW, IPC_LOCK,
    // SYS_ADMIN, SYS_NICE.
    let needed: u64 = [0, 1, 2, 3, 10, 12, 13, 14, 21, 23].iter().map(|bit| 1 << bit).sum();
    let tasks = std::fs::read_dir(format!("/proc/{}/task", router.id())).expect("it runs");
    let mut threads = 0;
    for task in tasks {
        let path = task.expect("a thread").path().join("status");
        let status = std::fs::read_to_string(path).expect("it runs");
        for set in ["CapInh:", "CapPrm:", "CapEff:", "CapBnd:", "CapAmb:"] {
            let line = status.lines().find_map(|line| line.strip_prefix(set)).expect(set);
            let bits = u64::from_str_radix(line.trim(), 16).expect("a mask");
            assert_eq!(bits & !needed, 0, "{set} {bits:x}");
        }
        threads += 1;
    }
    assert!(threads > 1, "the worker too");
    for file in [&log, &capture] {
        let mode = std::fs::metadata(file).expect("written").permissions().mode();
        assert_eq!(mode & 0o777, 0o640, "{}", file.display());
    }
    router.stop();
}

#[test]
fn more_workers_than_cores_are_refused() {
    let Some(lab) = lab::require(&["root"]) else { return };
    let cores = std::thread::available_parallelism().expect("the cores are counted").get();
    let netns = lab.netns("router");
    let output = Router::refused(&netns, &format!("cpu {{ workers {} }}", cores + 1));
    assert_eq!(output.code, Some(1), "{}", output.complaint());
    let reason = format!("{} workers, but this process may use {cores} cores", cores + 1);
    assert!(output.stderr.contains(&reason), "{}", output.stderr);
    let output = Router::refused(
        &netns,
        &format!("cpu {{ main-core 0 corelist-workers 0,{} }}", cores + 70),
    );
    assert_eq!(output.code, Some(78), "{}", output.complaint());
    Router::start(&netns, &format!("cpu {{ workers {cores} }}")).stop();
}

/// Processor time of an idle daemon, in percent of a core.
fn spends(router: &Router) -> f64 {
    // After the start.
    std::thread::sleep(Duration::from_millis(300));
    let (start, before) = (Instant::now(), router.cpu_time());
    std::thread::sleep(Duration::from_secs(2));
    let spent = router.cpu_time() - before;
    spent.as_secs_f64() / start.elapsed().as_secs_f64() * 100.0
}

#[test]
fn an_idle_daemon_sleeps() {
    let Some(lab) = lab::require(&["root"]) else { return };
    for workers in 0..=2 {
        let router = Router::start(&lab.netns("router"), &format!("cpu {{ workers {workers} }}"));
        let spent = spends(&router);
        println!("idle with {workers} workers: {spent:.2} % of a core");
        // The aim is 1 %. Time on a core isn't latency: it doesn't grow because others run, but for
        // cold caches.
        assert!(spent < 3.0, "an idle daemon with {workers} workers spends {spent:.2} % of a core");
        router.stop();
    }
}
