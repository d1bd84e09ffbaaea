// SPDX-License-Identifier: Apache-2.0
//! The tester with real devices in labs of its own: what it counts, and that nothing is left
//! behind. No test asserts a rate.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use testkit::lab;

const TESTER: &str = env!("CARGO_BIN_EXE_ferrotest");

/// Variable by which a test knows the processes that come of it; its folder.
const TEST: &str = "FERROTEST_TEST";

/// The daemon of this tree, beside its client; built first, unless the folder `FERROVIA_PROGRAMS`
/// has it.
fn daemon() -> PathBuf {
    if let Some(dir) = std::env::var_os("FERROVIA_PROGRAMS") {
        return PathBuf::from(dir).join("ferrovia");
    }
    let profile = Path::new(TESTER).parent().expect("a program is in a folder");
    let mut build = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    build.args(["build", "-q", "-p", "ferrovia", "-p", "ferroctl"]).stdin(Stdio::null());
    match profile.file_name().and_then(|name| name.to_str()) {
        Some("debug") | None => {}
        Some(name) => drop(build.args(["--profile", name])),
    }
    // Cargo's variables about this package would make build scripts run again.
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy().into_owned();
        if name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_") {
            build.env_remove(name);
        }
    }
    assert!(build.status().expect("cargo starts").success());
    profile.join("ferrovia")
}

fn tester(dir: &Path, words: &str) -> Output {
    let mut command = Command::new(TESTER);
    command.current_dir(dir).env(TEST, dir);
    command.args(words.split_whitespace()).stdin(Stdio::null());
    command.output().expect("the tester starts")
}

#[track_caller]
fn results(dir: &Path, words: &str) -> Value {
    let output = tester(dir, words);
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words}: {}\n{text}", output.status);
    let text = std::fs::read_to_string(dir.join("result.json")).expect("results");
    serde_json::from_str(&text).expect("JSON")
}

/// Short trials that a busy machine can hold, since time is not what is tested.
const TINY: &str = "--rate 500 --duration 200ms --repeats 2 --soak 200ms --quiet --no-selftest";

/// The same, once.
const ONCE: &str = "--rate 500 --duration 200ms --repeats 1 --quiet --no-selftest";

/// Each trial sent at most what it was to send; the device forwarded, and nothing came back
/// changed.
#[track_caller]
fn check(results: &Value, devices: &[&str], most: u64) {
    let measurements = results["measurements"].as_array().expect("measurements");
    let seen: Vec<_> = measurements.iter().map(|m| m["device"].as_str().unwrap_or("")).collect();
    for device in devices {
        // both families
        assert_eq!(seen.iter().filter(|name| *name == device).count(), 2, "{seen:?}");
    }
    for measurement in measurements {
        assert_eq!(measurement["outcome"]["outcome"], "done", "{measurement}");
        let trials = measurement["trials"].as_array().expect("trials");
        assert!(trials.len() >= 2, "{measurement}");
        for direction in ["forward", "reverse"] {
            let counts = |name: &str| -> Vec<u64> {
                let all = trials.iter().flat_map(|trial| trial["directions"].as_array().unwrap());
                let all = all.filter(|counts| counts["direction"] == direction);
                all.map(|counts| counts[name].as_u64().unwrap()).collect()
            };
            assert!(counts("sent").iter().all(|&sent| sent <= most), "{measurement}");
            assert!(counts("received").iter().sum::<u64>() > 0, "{measurement}");
            for name in ["changed", "duplicated", "reordered"] {
                assert!(counts(name).iter().all(|&count| count == 0), "{name}: {measurement}");
            }
        }
    }
}

/// Processes that runs of testers have started and that are still there.
fn left_behind(dir: &Path) -> Vec<i32> {
    let own = format!("{TEST}={}", dir.display()).into_bytes();
    let is_ours = |pid: &i32| {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        let entries = || environment.split(|&byte| byte == 0);
        entries().any(|entry| entry == own)
            && entries().any(|entry| entry.starts_with(b"FERROTEST_RUN="))
    };
    let all = std::fs::read_dir("/proc").expect("proc").flatten();
    let all = all.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    all.filter(is_ours).collect()
}

#[test]
fn linux_and_ferrovia_are_compared() {
    let Some(_lab) = lab::require(&["root"]) else { return };
    let dir = tempfile::tempdir().unwrap();
    let ferrovia = format!("ferrovia:{}", daemon().display());
    let words = format!("compare linux {ferrovia} --modes soak --family ip4,ip6 {TINY}");
    let found = results(dir.path(), &words);
    check(&found, &["linux", "ferrovia"], 100);
    assert_eq!(left_behind(dir.path()), [0; 0]);
    // A run that is complete has nothing left to do.
    let again = results(dir.path(), &format!("{words} --resume"));
    assert_eq!(again["measurements"], found["measurements"]);
    // Neither device translates addresses.
    for device in ["linux", &ferrovia] {
        let output = tester(dir.path(), &format!("nat-teardown {device} --quiet --no-selftest"));
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{error}");
        assert!(error.contains("translates no addresses"), "{error}");
    }
}

#[test]
fn routes_are_loaded_under_traffic_and_taken_out() {
    let Some(_lab) = lab::require(&["root", "ip"]) else { return };
    let dir = tempfile::tempdir().unwrap();
    let ferrovia = format!("ferrovia:{}", daemon().display());
    // Destinations are among the routes: those that are loaded forward as well.
    let words = format!("compare linux {ferrovia} --modes reconfig --dst random:1000 {ONCE}");
    let found = results(dir.path(), &format!("{words} --family ip4,ip6 --routes 1000"));
    check(&found, &["linux", "ferrovia"], 500);
    for measurement in found["measurements"].as_array().unwrap() {
        assert_eq!(measurement["parameters"]["routes"], "1000");
        let series = measurement["series"].as_array().unwrap();
        let names: Vec<_> = series.iter().map(|series| series["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["blocked_add", "load_add", "blocked_delete", "load_delete"]);
        assert!(series[1]["values"].as_array().unwrap().iter().all(|v| v.as_f64() > Some(0.0)));
    }
}

#[test]
fn points_of_a_scaling_have_their_routes() {
    let Some(_lab) = lab::require(&["root", "ip"]) else { return };
    let dir = tempfile::tempdir().unwrap();
    let words = "scale linux --over routes --values 0,500 --by mrr --rate 500 --dst random:100";
    let words = format!("{words} --duration 200ms --repeats 1 --quiet --no-selftest");
    let found = results(dir.path(), &format!("{words} --html report.html"));
    let points: Vec<_> = found["measurements"].as_array().unwrap().iter().collect();
    let routes: Vec<_> =
        points.iter().map(|m| m["parameters"]["routes"].as_str().unwrap()).collect();
    assert_eq!(routes, ["0", "500"]);
    for point in points {
        assert_eq!(point["outcome"]["outcome"], "done", "{point}");
        assert_eq!(point["series"][0]["name"], "mrr");
    }
    let report = std::fs::read_to_string(dir.path().join("report.html")).unwrap();
    assert!(report.contains("MRR by routes"));
}

#[test]
fn a_lab_by_hand_is_made_and_removed() {
    let Some(_lab) = lab::require(&["root", "ip"]) else { return };
    let dir = tempfile::tempdir().unwrap();
    let there = || {
        let one = |name| Path::new("/run/netns").join(format!("ferrotest-{name}")).exists();
        ["left", "device", "right"].map(one)
    };
    // An earlier lab is replaced.
    for _ in 0..2 {
        let output = tester(dir.path(), "lab up");
        assert!(output.status.success(), "{output:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        for word in ["ferrotest-device", "198.18.0.1/24", "2001:2:0:8000::1/64", "198.19.0.2"] {
            assert!(text.contains(word), "{word}: {text}");
        }
        assert_eq!(there(), [true; 3]);
    }
    for (name, interface) in [("left", "port"), ("device", "left"), ("device", "right")] {
        let space = netlink::Namespace::open(&format!("ferrotest-{name}")).unwrap();
        let link = netlink::Rtnl::in_namespace(&space).unwrap().link(interface);
        assert!(link.is_ok(), "{name}: {link:?}");
    }
    assert!(tester(dir.path(), "lab down").status.success());
    assert_eq!(there(), [false; 3]);
    assert!(tester(dir.path(), "lab down").status.success(), "nothing is left to remove");
}

#[test]
fn packets_pass_through_taps() {
    let Some(_lab) = lab::require(&["root", "/dev/net/tun"]) else { return };
    let dir = tempfile::tempdir().unwrap();
    let ferrovia = format!("ferrovia:{}", daemon().display());
    let words = format!("compare linux {ferrovia} --modes soak --interface tap --family ip4,ip6");
    let found = results(dir.path(), &format!("{words} {TINY}"));
    check(&found, &["linux", "ferrovia"], 100);
    assert_eq!(found["measurements"][0]["parameters"]["ports"], "tap");
    assert_eq!(left_behind(dir.path()), [0; 0]);
}

#[test]
fn ranges_mixes_and_tags_pass() {
    let Some(_lab) = lab::require(&["root"]) else { return };
    let dir = tempfile::tempdir().unwrap();
    let mix = "--src random:1000 --dst zipf:60000 --foreground 3/4 --sizes imix";
    let found = results(dir.path(), &format!("soak linux --family ip4,ip6 {mix} {TINY}"));
    check(&found, &["linux"], 100);
}

/// Linux translates addresses. It knows how many sessions there were, and lets only answers of its
/// sessions in.
#[test]
fn a_nat_of_linux_is_measured() {
    use std::os::unix::fs::PermissionsExt as _;
    let Some(_lab) = lab::require(&["root", "ip", "nft", "conntrack"]) else { return };
    let dir = tempfile::tempdir().unwrap();
    let script = dir.path().join("nat");
    let text = r#"#!/bin/sh -e
case $1 in
up)
  echo 1 >/proc/sys/net/ipv4/ip_forward
  ip addr add $FERROTEST_LEFT_IP4 dev $FERROTEST_LEFT_INTERFACE
  ip addr add $FERROTEST_RIGHT_IP4 dev $FERROTEST_RIGHT_INTERFACE
  nft add table ip nat
  nft "add chain ip nat post { type nat hook postrouting priority srcnat; }"
  nft "add rule ip nat post oifname $FERROTEST_RIGHT_INTERFACE masquerade" ;;
describe) echo nftables ;;
clear-sessions) conntrack -C >>sessions; conntrack -F 2>/dev/null ;;
esac
"#;
    std::fs::write(&script, text).unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    let device = format!("external:{}", script.display());
    let words = "--sessions 200 --session-rate 500 --max-rate 500 --duration 200ms --repeats 1";
    let words = format!("{device} {words} --width 0.5 --quiet --no-selftest");
    let found = results(dir.path(), &format!("nat-teardown {words}"));
    let one = &found["measurements"][0];
    assert_eq!(one["description"], "nftables");
    assert_eq!(one["series"][0]["name"], "nat-teardown");
    let counts = std::fs::read_to_string(dir.path().join("sessions")).unwrap();
    let last: u64 = counts.lines().last().unwrap().parse().unwrap();
    assert!((200..210).contains(&last), "{counts}");
    let found = results(dir.path(), &format!("nat-throughput {words}"));
    let trials = found["measurements"][0]["trials"].as_array().unwrap();
    let both = trials.last().unwrap()["directions"].as_array().unwrap();
    assert_eq!(both.len(), 2);
    for counts in both {
        let [received, changed] = ["received", "changed"].map(|name| counts[name].as_u64());
        assert!(received > Some(0) && changed == Some(0), "{counts}");
    }
}

#[test]
fn a_script_sets_a_device_up() {
    use std::os::unix::fs::PermissionsExt;
    let Some(_lab) = lab::require(&["root", "ip"]) else { return };
    let dir = tempfile::tempdir().unwrap();
    let script = dir.path().join("device");
    let text = r#"#!/bin/sh -e
case $1 in
up)
  echo 1 >/proc/sys/net/ipv4/ip_forward
  ip addr add $FERROTEST_LEFT_IP4 dev $FERROTEST_LEFT_INTERFACE
  ip addr add $FERROTEST_RIGHT_IP4 dev $FERROTEST_RIGHT_INTERFACE ;;
describe) echo a script ;;
add-routes) cp $2 added; echo $3 >gateway; ip -batch - <<END
$(sed "s|.*|route add & via $3|" $2)
END
;;
delete-routes) cp $2 deleted; ip -batch - <<END
$(sed "s|.*|route del &|" $2)
END
;;
down) echo down >>down ;;
esac
"#;
    std::fs::write(&script, text).unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    let device = format!("external:{}", script.display());
    let found = results(dir.path(), &format!("soak {device} {TINY}"));
    assert_eq!(found["measurements"][0]["description"], "a script");
    assert_eq!(found["measurements"][0]["outcome"]["outcome"], "done");
    results(dir.path(), &format!("reconfig {device} --routes 300 {ONCE}"));
    let text = |name: &str| std::fs::read_to_string(dir.path().join(name)).unwrap();
    assert_eq!(text("added").lines().count(), 300);
    assert_eq!((text("added"), text("gateway")), (text("deleted"), "198.19.0.2\n".into()));
    assert_eq!(text("down"), "down\ndown\n");
}

#[test]
fn a_run_that_is_stopped_or_killed_is_cleaned_up() {
    use rustix::process::{Pid, Signal, kill_process};
    let Some(_lab) = lab::require(&["root"]) else { return };
    let dir = tempfile::tempdir().unwrap();
    let ferrovia = format!("ferrovia:{}", daemon().display());
    for signal in [Signal::INT, Signal::KILL] {
        let mut command = Command::new(TESTER);
        let long = TINY.replace("--soak 200ms", "--soak 60");
        command.args(["soak", &ferrovia]).args(long.split_whitespace());
        command
            .current_dir(dir.path())
            .env(TEST, dir.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        let mut child = command.spawn().unwrap();
        let start = Instant::now();
        while left_behind(dir.path()).is_empty() {
            assert!(start.elapsed() < Duration::from_secs(20), "no device");
            std::thread::sleep(Duration::from_millis(20));
        }
        kill_process(Pid::from_raw(child.id() as i32).unwrap(), signal).unwrap();
        let status = child.wait().unwrap();
        if signal == Signal::INT {
            assert_eq!(status.code(), Some(130));
        } else {
            // The next run finds what the killed one has left.
            assert_ne!(left_behind(dir.path()), [0; 0]);
            results(dir.path(), &format!("soak linux {TINY}"));
        }
        assert_eq!(left_behind(dir.path()), [0; 0], "{signal:?}");
    }
}

#[test]
fn what_cannot_be_is_refused_by_name() {
    let dir = tempfile::tempdir().unwrap();
    for (words, code, text) in [
        ("throughput linx", 2, "expected none"),
        ("throughput ferrovia:/no/such/program", 1, "/no/such/program"),
        ("replay /no/such/file none", 1, "/no/such/file"),
        ("selftest --port memif", 1, "memif"),
    ] {
        let output = tester(dir.path(), words);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{words}: {error}");
        assert!(error.contains(text), "{words}: {error}");
    }
}
