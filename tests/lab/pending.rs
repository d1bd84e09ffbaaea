// SPDX-License-Identifier: Apache-2.0
//! Saved configurations of which something is missing: the rest is in force, and no line is lost.
//!
//! Covers: bin/ferrovia, features/fib, features/interface.

use std::path::Path;

use fixture::{Router, eventually};
use serde_json::Value;
use testkit::lab;

fn section(dir: &Path, more: &str) -> String {
    format!("config {{ file {} load {more} }}", dir.join("conf").display())
}

fn write(dir: &Path, lines: &str) {
    std::fs::write(dir.join("conf"), format!("# Ferrovia configuration\n{lines}"))
        .expect("written");
}

fn pending(router: &Router) -> Vec<(String, u64, String, Value)> {
    let json = router.json("show config pending");
    let lines = json["lines"].as_array().expect("a list");
    let text = |l: &Value, key: &str| l[key].as_str().unwrap_or_default().to_string();
    let line = |l: &Value| {
        (text(l, "state"), l["line"].as_u64().unwrap_or(0), text(l, "command"), l["needs"].clone())
    };
    lines.iter().map(line).collect()
}

const LATE: &str = "\
create loopback interface instance 0
create host-interface name late
create host-interface name right
set interface mtu 1400 host-late
set interface rx-mode host-late queue 0 polling
set interface ip address loop0 10.9.0.1/32
set interface ip address host-late 10.0.1.1/24
set interface ip address host-right 10.0.2.1/24
ip route add 10.7.0.0/16 via 10.0.1.2 host-late
set interface state host-late up
set interface state host-right up
";

/// A missing device doesn't prevent the start, and works with all its settings once it is there.
#[test]
fn an_interface_whose_device_is_missing_waits_for_it() {
    let Some(lab) = lab::require(&["root", "ping"]) else { return };
    let (netns, left, right) = (lab.netns("router"), lab.netns("left"), lab.netns("right"));
    let dir = tempfile::tempdir().expect("a temporary directory");
    lab.veth((&netns, "right"), (&right, "eth0"));
    right.addr("eth0", "10.0.2.2/24");
    right.route("default", "10.0.2.1");
    right.up("eth0");
    write(dir.path(), LATE);
    let mut router = Router::start(&netns, &section(dir.path(), ""));
    let waits = |router: &Router| {
        let all = pending(router);
        let [(state, _, line, _)] = &all[..] else { panic!("{all:?}") };
        assert_eq!((state.as_str(), line.as_str()), ("waits", "create host-interface name late"));
    };
    waits(&router);
    assert!(router.run("show config pending").contains("the host has no interface late"));
    assert!(
        router.log().contains("0 failed, 1 wait for the host: see `show config pending'"),
        "{}",
        router.log()
    );
    // The others run.
    eventually("the other link", || right.ping("-c1", "10.0.2.1").success().then_some(()));
    assert!(
        router.run("show hardware-interfaces host-late").contains("missing: opened when it comes")
    );
    // Saved and loaded, nothing of it is lost.
    let before = router.run("show running-config");
    for line in LATE.lines() {
        assert!(before.contains(line), "{line}: {before}");
    }
    router.run("set interface tag loop0 'something else'");
    router.run("save");
    let before = router.run("show running-config");
    router.kill();
    router.restart();
    assert_eq!(router.run("show running-config"), before);
    waits(&router);
    // It comes, and carries packets in both directions.
    lab.veth((&netns, "late"), (&left, "eth0"));
    left.addr("eth0", "10.0.1.2/24");
    left.route("default", "10.0.1.1");
    left.up("eth0");
    eventually("the way through", || left.ping("-c1", "10.0.2.2").success().then_some(()));
    assert_eq!(router.run("show config pending"), "nothing is pending\n");
    assert!(netns.ip("link show late").contains("mtu 1400"), "what was set meanwhile");
    assert!(router.run("show interface rx-placement host-late").contains("polling"));
    // It looks as it does after a restart.
    let late = |router: &Router| {
        let all = router.json("show interface");
        let mut late = all
            .as_array()
            .and_then(|a| a.iter().find(|i| i["name"] == "host-late"))
            .cloned()
            .expect("there");
        late["counters"] = Value::Null;
        (late.to_string(), router.run("show running-config"))
    };
    let now = late(&router);
    router.kill();
    router.restart();
    eventually("the link", || (late(&router) == now).then_some(()));
    eventually("the way through", || left.ping("-c1", "10.0.2.2").success().then_some(()));
    // At run time a name that the host doesn't know is a mistake.
    let error = router.ctl("create host-interface name nowhere").expect_err("there is none");
    assert!(error.contains("No such device"), "{error}");
    drop(router.stop());
}

#[test]
fn a_broken_line_stops_itself_alone_and_is_saved_again() {
    let Some(lab) = lab::require(&["root"]) else { return };
    let netns = lab.netns("router");
    let dir = tempfile::tempdir().expect("a temporary directory");
    let lines = "create loopback interface instance 0
set interfase x
create loopback interface instance 1 mac 01:00:00:00:00:01
set interface state loop1 up
set interface ip address loop1 10.1.0.1/24
set interface ip address loop0 10.0.0.1/24
ip route add 10.7.0.0/16 via 10.0.0.2 loop0
";
    write(dir.path(), lines);
    let mut router = Router::start(&netns, &section(dir.path(), ""));
    let failed = |router: &Router| {
        let all = pending(router);
        assert!(all.iter().all(|(state, ..)| state == "failed"), "{all:?}");
        all.into_iter()
            .map(|(_, line, text, needs)| (line, text, needs.as_u64()))
            .collect::<Vec<_>>()
    };
    let expected: Vec<_> = [(3, None), (4, None), (5, Some(4)), (6, Some(4))]
        .map(|(n, needs)| (n as u64, lines.lines().nth(n - 2).expect("there").to_string(), needs))
        .into();
    assert_eq!(failed(&router), expected);
    assert!(router.log().contains("conf: 3 lines were run, 4 failed, 0 wait"), "{}", router.log());
    let running = router.run("show running-config");
    assert!(running.contains("ip route add 10.7.0.0/16 via 10.0.0.2 loop0\n"), "{running}");
    // Lines that aren't in force are saved again, and known again after a restart.
    router.run("set interface tag loop0 east");
    let saved = router.run("save");
    assert!(saved.contains("4 of them are not in force"), "{saved}");
    router.kill();
    router.restart();
    let again: Vec<_> = failed(&router).into_iter().map(|(_, text, _)| text).collect();
    assert_eq!(again, expected.iter().map(|(_, text, _)| text.clone()).collect::<Vec<_>>());
    assert!(router.run("show interface tag loop0").contains("east"));
    // Going back is possible all the same.
    router.run("set interface tag loop0 west");
    router.run("rollback 0");
    assert!(router.run("show interface tag loop0").contains("east"));
    assert_eq!(failed(&router).len(), 4);
    // The cause of the failures is removed: the lines are run once more.
    router.run("create loopback interface instance 1");
    router.run("retry config pending");
    assert_eq!(failed(&router).len(), 2);
    assert!(router.run("show running-config").contains("set interface state loop1 up\n"));
    router.run("clear config pending");
    router.run("save");
    assert_eq!(router.run("show config pending"), "nothing is pending\n");
    router.kill();
    router.restart();
    assert_eq!(failed(&router), []);
    drop(router.stop());
}
