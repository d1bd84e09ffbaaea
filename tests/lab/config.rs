// SPDX-License-Identifier: Apache-2.0
//! Configurations: written, saved, loaded, rolled back.
//!
//! Covers: bin/ferrovia, features/interface, features/fib, features/ip, features/system.

use std::path::Path;

use fixture::{Cable, Router, RouterKind, Site, eventually, scripts};
use graph::Needs;
use serde_json::Value;
use tempfile::TempDir;
use testkit::lab::{self, Netns};

/// A place for saved configurations, and the section that names it.
fn place() -> (TempDir, String) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let section = format!("config {{ file {} load }}", dir.path().join("conf").display());
    (dir, section)
}

#[track_caller]
fn both_ways(site: &Site, when: &str) {
    for (from, to) in [(&site.left, &site.right), (&site.right, &site.left)] {
        eventually(when, || from.host.ping("-c1", to.address).success().then_some(()));
    }
}

/// A killed daemon's saved state is loaded by the next daemon, without a command.
fn loads_what_was_saved(workers: usize) {
    let Some(lab) = lab::require(&["root", "ping"]) else { return };
    let (_dir, section) = place();
    let mut site = Site::with(&lab, RouterKind::Ferrovia(workers, Cable::Veth), &section);
    let router = site.router();
    router.script(
        "ip table add 7\nip route add 10.9.0.0/16 via 10.0.2.2 host-right\nset interface tag host-left west\n",
    );
    both_ways(&site, "traffic");
    let saved = router.run("save");
    assert!(saved.contains(" lines saved in "), "{saved}");
    router.run("set interface tag host-left 'not saved'");
    let mut router = site.router.take().expect("the daemon routes");
    router.kill();
    router.restart();
    site.router = Some(router);
    let router = site.router();
    assert_eq!(router.run("show config diff"), "no difference\n");
    assert_eq!(router.run("show interface tag host-left"), "host-left: west\n");
    both_ways(&site, "traffic after the restart");
    site.finish();
}

#[test]
fn what_was_saved_is_loaded() {
    loads_what_was_saved(0);
}

#[test]
fn what_was_saved_is_loaded_with_workers() {
    loads_what_was_saved(2);
}

#[test]
fn what_nobody_confirms_is_taken_back() {
    let Some(lab) = lab::require(&["root", "ping"]) else { return };
    let (_dir, section) = place();
    let site = Site::with(&lab, RouterKind::Ferrovia(0, Cable::Veth), &section);
    let router = site.router();
    let error = router.ctl("commit confirmed 10").expect_err("there is nothing to go back to");
    assert!(error.contains("nothing was saved yet"), "{error}");
    site.left.host.pings("-c1", site.right.address);
    router.run("save");
    let saved = router.run("show running-config");

    // A change that cuts the operator off is rolled back in time.
    let answer = router.run("commit confirmed 10");
    assert!(
        answer.ends_with(" comes first\nnot saved so far, and lost then:\nno difference\n"),
        "{answer}"
    );
    router.run("set interface ip address del host-right 10.0.2.1/24");
    router.run("set interface name host-left wan");
    assert!(router.json("show config history")["rollback_in"].as_u64().is_some_and(|s| s <= 600));
    let diff = router.run("show config diff");
    assert!(diff.contains("\n-set interface ip address host-right 10.0.2.1/24\n"), "{diff}");
    assert!(diff.contains("\n+set interface name host-left wan\n"), "{diff}");
    router.run("set clock adjust 590");
    assert!(router.run("show running-config").contains("wan"), "not yet");
    router.run("set clock adjust 11");
    eventually("the way back", || (router.run("show running-config") == saved).then_some(()));
    both_ways(&site, "traffic");

    // A confirmed change stays, and becomes the last version.
    router.run("set interface tag host-left west");
    let answer = router.json("commit confirmed 10");
    assert_eq!(answer["rollback_in"], 600);
    assert_eq!(answer["added"][0], "set interface tag host-left west", "{answer}");
    router.run("commit");
    router.run("set clock adjust 700");
    assert_eq!(router.run("show config diff"), "no difference\n");
    let history = router.json("show config history");
    assert_eq!(history.as_array().map(Vec::len), Some(2), "{history}");
    let by = history[0]["by"].as_str().unwrap_or_default();
    assert!(by.contains("(ferroctl)"), "{history}");
    assert!(router.run("show running-config").contains("set interface tag host-left west\n"));

    // And older versions can be had again.
    router.run("rollback 1");
    assert_eq!(router.run("show running-config"), saved);
    router.run("rollback 0");
    assert!(router.run("show config diff 1").contains("+set interface tag host-left west"));
    let error = router.ctl("rollback 9").expect_err("there is no such version");
    assert!(error.contains("there is no version 9"), "{error}");
    both_ways(&site, "traffic");
    site.finish();
}

/// A file becomes the configuration in force while traffic goes on; all of it or nothing.
#[test]
fn a_file_becomes_the_configuration_in_force() {
    let Some(lab) = lab::require(&["root", "ping"]) else { return };
    let (dir, section) = place();
    let site = Site::with(&lab, RouterKind::Ferrovia(0, Cable::Veth), &section);
    let router = site.router();
    router.script(
        "set interface tag host-left west\nip table add 7\n\
         ip route add table 7 10.7.0.0/16 via drop\n",
    );
    both_ways(&site, "traffic");
    let before = router.run("show running-config");
    let file = dir.path().join("wanted file");
    let path = file.display().to_string();
    let replace = |more: &str| format!("replace '{path}'{more}");
    let apply = |options: &[&str]| {
        let words = ["apply", "-f", &path].into_iter().chain(options.iter().copied());
        let output = router.client().args(words).run();
        (output.code, output.stdout, output.stderr)
    };

    // The configuration in force already.
    std::fs::write(&file, &before).expect("written");
    assert_eq!(router.run(&replace("")), format!("{path}: nothing to change\n"));
    assert_eq!(apply(&[]), (Some(0), "nothing to change\n".into(), String::new()));

    // One line less, three more: shown, then done, while pings go through.
    let wanted = before.replace("set interface tag host-left west\n", "")
        + "create loopback interface instance 3\n\
           set interface state loop3 up\nset interface ip address loop3 10.33.0.1/24\n";
    std::fs::write(&file, &wanted).expect("written");
    let diff = router.run(&format!("show config diff file '{path}'"));
    assert!(diff.starts_with(&format!("--- {path}\n+++ in force\n")), "{diff}");
    assert!(diff.contains("\n+set interface tag host-left west\n"), "{diff}");
    let plan = router.json(&replace(" plan"));
    assert_eq!(plan["undo"][0]["line"], "set interface tag host-left west", "{plan}");
    assert_eq!(plan["run"].as_array().map(Vec::len), Some(3), "{plan}");
    let (status, text, _) = apply(&["--plan"]);
    assert_eq!(status, Some(2));
    assert!(text.contains("-set interface tag host-left west\n+create loopback"), "{text}");
    assert_eq!(router.run("show running-config"), before, "nothing was changed");
    std::thread::scope(|scope| {
        let traffic = scope.spawn(|| site.left.host.pings("-c100 -i0.01", site.right.address));
        let (status, text, error) = apply(&[]);
        assert_eq!((status, error.as_str()), (Some(2), ""), "{text}");
        assert!(text.ends_with("4 lines were run\n"), "{text}");
        traffic.join().expect("every ping was answered");
    });
    let after = router.run("show running-config");
    let lines = |text: &str| {
        let mut lines: Vec<_> = text.lines().filter(|l| !l.starts_with('#')).collect();
        lines.sort_unstable();
        lines.join("\n")
    };
    assert_eq!(lines(&after), lines(&wanted));
    assert_eq!(apply(&[]).0, Some(0), "twice is once");

    // A line that can't be parsed, one that can't be run: nothing is changed.
    for (line, why) in [
        ("set interfase x", "1 wrong lines, nothing was changed"),
        ("ip route add table 9 10.0.0.0/8 via drop", "there is no table 9"),
    ] {
        std::fs::write(&file, format!("{before}{line}\n")).expect("written");
        let error = router.ctl(&replace("")).expect_err(line);
        assert!(error.contains(why) && error.contains("nothing was changed"), "{line}: {error}");
        assert_eq!(router.run("show running-config"), after, "{line}");
        let (status, _, error) = apply(&[]);
        assert!(status == Some(1) && error.contains(why), "{status:?} {error}");
        assert_eq!(router.run("show config pending"), "nothing is pending\n");
    }
    assert_eq!(apply(&["--nothing"]).0, Some(1));
    let missing = router.ctl("replace /nowhere/x").expect_err("there is no such file");
    assert!(missing.contains("/nowhere/x"), "{missing}");

    // Unless it is confirmed in time, the last saved version comes back.
    std::fs::write(&file, &before).expect("written");
    let error = router.ctl(&replace(" confirmed 10")).expect_err("nothing was saved yet");
    assert!(error.contains("nothing was saved yet"), "{error}");
    assert_eq!(router.run("show running-config"), after);
    router.run("save");
    let (status, text, _) = apply(&["--confirmed", "10"]);
    assert!(status == Some(2) && text.contains("in 600 s"), "{text}");
    assert_eq!(router.run("show running-config"), before);
    router.run("set clock adjust 601");
    eventually("the way back", || (router.run("show running-config") == after).then_some(()));
    both_ways(&site, "traffic");
    site.finish();
}

#[test]
fn a_wrong_script_changes_nothing() {
    let Some(lab) = lab::require(&["root"]) else { return };
    let (dir, section) = place();
    let router = Router::start(&lab.netns("router"), &section);
    let file = dir.path().join("script");
    std::fs::write(
        &file,
        "create loopback interface\nset interfase x\n\n ip route add 10.0.0.0/33 via drop\n",
    )
    .expect("written");
    let error = router.ctl(&format!("exec {}", file.display())).expect_err("two lines are wrong");
    for part in ["script:2:5: ", "script:4:15: ", "2 errors, nothing was run"] {
        assert!(error.contains(part), "{part}: {error}");
    }
    assert_eq!(router.run("show running-config"), "");
    drop(router.stop());
}

#[test]
fn a_broken_saved_file_ends_a_strict_start() {
    let Some(lab) = lab::require(&["root"]) else { return };
    let (dir, section) = place();
    let section = section.replace(" load ", " load strict ");
    let netns = lab.netns("router");
    let file = dir.path().join("conf");
    std::fs::write(&file, "# Ferrovia configuration\ncreate loopback interface\nset interfase x\n")
        .expect("written");
    let refused = Router::refused(&netns, &section);
    assert!(!refused.success());
    assert!(refused.stderr.contains("conf:3:5: "), "{}", refused.stderr);
    // One that can't be done here.
    std::fs::write(
        &file,
        "# Ferrovia configuration\ncreate loopback interface\ncreate host-interface name nowhere\n",
    )
    .expect("written");
    let refused = Router::refused(&netns, &section);
    assert!(!refused.success());
    assert!(refused.stderr.contains("conf:3:28: "), "{}", refused.stderr);
    // None at all is a first start.
    std::fs::remove_file(&file).expect("removed");
    drop(Router::start(&netns, &section).stop());
}

/// An interface doesn't come up without its filter.
#[test]
fn interfaces_stay_down_without_their_filters() {
    let Some(lab) = lab::require(&["root"]) else { return };
    let netns = lab.netns("router");
    let up = |router: &Router| {
        let shown = router.json("show interface loop0 loop1");
        let state = |n: usize| shown[n]["state"] == "up";
        (state(0), state(1))
    };
    let lines = "# Ferrovia configuration\ncreate loopback interface instance 0\n\
        create loopback interface instance 1\n";
    let ups = "set interface state loop0 up\nset interface state loop1 up\n";
    let cases = [
        ("set acl-plugin interface loop0 input acl 0", "", (false, true)),
        ("set acl-plugin interface loop0 input acl 0", "lax", (true, true)),
        ("ikev2 profile add p", "", (false, false)),
        ("ip route add table 9 10.0.0.0/8 via drop", "", (true, true)),
    ];
    // In front of the lines that set interfaces up, and behind them.
    for (n, (filter, word, want)) in [cases, cases].concat().into_iter().enumerate() {
        let (dir, section) = place();
        let text = match n < cases.len() {
            true => format!("{lines}{filter}\n{ups}"),
            false => format!("{lines}{ups}{filter}\n"),
        };
        std::fs::write(dir.path().join("conf"), text).expect("written");
        let router = Router::start(&netns, &section.replace(" load ", &format!(" load {word} ")));
        assert_eq!(up(&router), want, "{filter} {word}");
        let pending = router.run("show config pending");
        assert_eq!(pending.contains("stays down"), want != (true, true), "{pending}");
        if want == (false, true) {
            // The line is kept, still fails without the filter, and comes up with it.
            router.run("save");
            router.run("retry config pending");
            assert_eq!(up(&router), want);
            router.script("set acl-plugin acl permit src 10.0.0.0/8\n");
            router.run("retry config pending");
            assert_eq!(router.run("show config pending"), "nothing is pending\n");
            assert_eq!(up(&router), (true, true));
        }
        drop(router.stop());
    }
}

/// Output of show commands, except for parts that differ from one daemon to the next.
fn shows(router: &Router) -> Vec<String> {
    let mut interfaces = router.json("show interface");
    for interface in interfaces.as_array_mut().into_iter().flatten() {
        interface["counters"] = Value::Null;
        // The host says when.
        interface["link"] = Value::Null;
    }
    let mut all = vec![interfaces.to_string()];
    for line in ["show interface rx-placement", "show packet-generator"] {
        all.push(router.run(line));
    }
    // A class is listed once it has logged something.
    let log = router.run("show logging configuration");
    let set = |l: &&str| ["Lines", "Unthrottle", "ip "].iter().any(|word| l.starts_with(word));
    all.push(log.lines().filter(set).collect());
    for line in ["show tap", "show tun"] {
        let mut taps = router.json(line);
        for tap in taps.as_array_mut().into_iter().flatten() {
            tap["host_if_index"] = Value::Null;
            tap["host_up"] = Value::Null;
            if tap["name"] != "five" {
                tap["host_mac"] = Value::Null;
            }
        }
        all.push(taps.to_string());
    }
    all
}

fn write(file: &Path, text: &str) {
    std::fs::write(file, text).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
}

/// Each script's state is written, made again by another daemon, and removed.
#[test]
fn what_scripts_make_with_hosts_is_said_again_and_taken_back() {
    let Some(lab) = lab::require(&["root"]) else { return };
    let (netns, host): (Netns, Netns) = (lab.netns("router"), lab.netns("host"));
    lab.veth((&netns, "left"), (&host, "eth0"));
    lab.veth((&netns, "right"), (&host, "eth1"));
    for s in scripts().filter(|s| s.needs == Needs::Hosts) {
        let (dir, section) = place();
        let more = format!("cpu {{ workers 2 }} {section}");
        let router = Router::start(&netns, &more);
        router.script(&s.lines.replace("HOST", host.name().expect("a namespace of its own")));
        let (text, seen) = (router.run("show running-config"), shows(&router));
        router.run("save");
        drop(router.stop());

        let router = Router::start(&netns, &more);
        assert_eq!(router.run("show running-config"), text, "{}", s.name);
        assert_eq!(shows(&router), seen, "{}", s.name);
        let file = dir.path().join("conf");
        write(&file, "# Ferrovia configuration\n");
        let said = router.run("rollback 0");
        assert_eq!(router.run("show running-config"), "", "{}: {said}", s.name);
        write(&file, &text);
        router.run("rollback 0");
        assert_eq!(router.run("show running-config"), text, "{}", s.name);
        drop(router.stop());
    }
}

#[test]
fn an_archive_for_helpers_has_what_they_need() {
    let Some(lab) = lab::require(&["root", "tar"]) else { return };
    let (dir, section) = place();
    let router = Router::start(&lab.netns("router"), &section);
    router.run("create loopback interface");
    let file = dir.path().join("help.tar.gz");
    let said = router.run(&format!("show tech-support {}", file.display()));
    assert!(said.ends_with(&format!("files in {}\n", file.display())), "{said}");
    let error =
        router.ctl(&format!("show tech-support {}", file.display())).expect_err("it is there");
    assert!(error.contains("there is something already"), "{error}");
    let tar = |what: &str| lab.command("tar").args([what, &file.display().to_string()]).ok();
    let names = tar("-tzf");
    for name in [
        "about.txt",
        "startup.conf",
        "running-config.cli",
        "show/interface.txt",
        "show/interface.json",
        "show/interface-features.txt",
        "show/errors.json",
        "show/threads.txt",
        "show/runtime.txt",
        "show/buffers.json",
        "show/logging.txt",
        "kernel/links.txt",
    ] {
        assert!(names.lines().any(|l| l == format!("help/{name}")), "{name}: {names}");
    }
    let texts = tar("-xOzf");
    assert!(texts.contains("create loopback interface instance 0\n"), "{texts}");
    let own = router.json("show tech-support");
    let path = own["file"].as_str().unwrap_or_default();
    assert!(path.starts_with(&router.dir().display().to_string()), "{own}");
    drop(router.stop());
}
