// SPDX-License-Identifier: Apache-2.0
//! The tester with real devices in labs of its own: what it counts, and that nothing is left
//! behind. No test asserts a rate.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use fixture::programs;
use serde_json::Value;
use testkit::lab;

#[path = "lab/memif.rs"]
mod memif;

/// Variable by which a test knows the processes that come of it; its folder.
const TEST: &str = "FERROTEST_TEST";

fn tester(dir: &Path, words: &str) -> Output {
    let mut command = Command::new(&programs().ferrotest);
    command.current_dir(dir).env(TEST, dir);
    command.args(words.split_whitespace()).stdin(Stdio::null());
    // The folder has the files of the run before.
    if !words.starts_with("lab ") && !words.contains("--resume") {
        command.arg("--force");
    }
    command.output().expect("the tester starts")
}

#[track_caller]
fn results(dir: &Path, words: &str) -> Value {
    let output = tester(dir, words);
    let text = String::from_utf8_lossy(&output.stderr);
    // A busy machine may hold few of such short trials: time is not what is tested.
    let code = output.status.code();
    assert!(matches!(code, Some(0 | 4)), "{words}: {}\n{text}", output.status);
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

#[suite::test(netns)]
fn linux_and_ferrovia_are_compared() {
    let Some(_lab) = lab::require(&["root"]) else { return };
    let dir = tempfile::tempdir().unwrap();
    let ferrovia = format!("ferrovia:{}", programs().ferrovia.display());
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

#[suite::test(netns)]
fn routes_are_loaded_under_traffic_and_taken_out() {
    let Some(_lab) = lab::require(&["root", "ip"]) else { return };
    let dir = tempfile::tempdir().unwrap();
    let ferrovia = format!("ferrovia:{}", programs().ferrovia.display());
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

#[suite::test(netns)]
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

#[suite::test(netns)]
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

#[suite::test(netns)]
fn packets_pass_through_taps() {
    let Some(_lab) = lab::require(&["root", "/dev/net/tun"]) else { return };
    let dir = tempfile::tempdir().unwrap();
    let ferrovia = format!("ferrovia:{}", programs().ferrovia.display());
    let words = format!("compare linux {ferrovia} --modes soak --interface tap --family ip4,ip6");
    let found = results(dir.path(), &format!("{words} {TINY}"));
    check(&found, &["linux", "ferrovia"], 100);
    assert_eq!(found["measurements"][0]["parameters"]["ports"], "tap");
    assert_eq!(left_behind(dir.path()), [0; 0]);
}

#[suite::test(netns)]
fn ranges_mixes_and_tags_pass() {
    let Some(_lab) = lab::require(&["root"]) else { return };
    let dir = tempfile::tempdir().unwrap();
    let mix = "--src random:1000 --dst zipf:60000 --foreground 3/4 --sizes imix";
    let found = results(dir.path(), &format!("soak linux --family ip4,ip6 {mix} {TINY}"));
    check(&found, &["linux"], 100);
}

/// Options of the modes of NAT: few sessions, at a rate that a busy machine holds.
const NAT: &str = "--sessions 200 --session-rate 500 --max-rate 500 --duration 200ms --repeats 1 \
                   --width 0.5 --quiet --no-selftest";

/// All modes find the kernel's NAT: answers come back by its sessions, and nothing is changed.
#[suite::test(netns)]
fn a_nat_of_linux_is_measured() {
    let Some(_lab) = lab::require(&["root", "ip", "nft", "conntrack"]) else { return };
    let dir = tempfile::tempdir().unwrap();
    // As many combinations of ports as the first step of the search for the capacity opens.
    let ports = "--ports 1024-1151:1-2";
    let modes = "nat-teardown,nat-throughput,nat-cps,nat-capacity";
    let words = format!("compare linux:nat none:nat=300:1e4:1e4 --modes {modes} {ports} {NAT}");
    let found = results(dir.path(), &words);
    let all = found["measurements"].as_array().unwrap();
    let of = |mode: &str| {
        let is_it = |m: &&Value| m["device"] == "linux:nat" && m["series"][0]["name"] == mode;
        all.iter().find(is_it).unwrap_or_else(|| panic!("{mode}: {found}"))
    };
    for mode in modes.split(',') {
        let one = of(mode);
        assert_eq!(one["outcome"]["outcome"], "done", "{one}");
        assert!(one["description"].as_str().unwrap().contains("snat to 198.19.0.1"), "{one}");
        let trials = one["trials"].as_array().unwrap();
        for counts in trials.iter().flat_map(|trial| trial["directions"].as_array().unwrap()) {
            let [received, changed] = ["received", "changed"].map(|name| counts[name].as_u64());
            assert!(received > Some(0) && changed == Some(0), "{counts}");
        }
    }
    assert_eq!(
        of("nat-throughput")["trials"].as_array().unwrap().last().unwrap()["directions"]
            .as_array()
            .unwrap()
            .len(),
        2
    );
    // Without a loss the search ends at the last combination.
    let one = of("nat-capacity");
    let lost = |counts: &Value| counts["sent"] != counts["received"];
    let clean = one["trials"].as_array().unwrap().iter().all(|trial| {
        trial["faults"].as_array().is_none_or(Vec::is_empty)
            && !trial["directions"].as_array().unwrap().iter().any(lost)
    });
    let most = one["series"][0]["values"][0].as_f64().unwrap();
    assert!(most <= 256.0 && (most == 256.0 || !clean), "{one}");
    for (words, text) in [
        ("soak linux:nat", "--one-way"),
        ("soak linux:nat --one-way", "fewer --ports"),
        ("soak linux:nat --family ip6", "IPv4 only"),
        ("nat-cps linux:nat --src random:9", "--src fixed"),
        ("nat-teardown linux:nat --sessions 4294967295", "nf_conntrack_max"),
    ] {
        let output = tester(dir.path(), &format!("{words} {TINY}"));
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{words}: {error}");
        assert!(error.contains(text), "{words}: {error}");
    }
    let found = results(dir.path(), &format!("soak linux:nat --one-way {ports} {TINY}"));
    assert_eq!(found["measurements"][0]["outcome"]["outcome"], "done");
}

/// A frame of UDP over IPv4.
fn frame(src: ([u8; 4], u16), dst: ([u8; 4], u16), ttl: u8) -> Vec<u8> {
    use wire::{IpProtocol, Ipv4Header, UdpHeader, l4};
    use zerocopy::IntoBytes as _;
    let text = b"each byte of this is compared";
    let udp = UdpHeader::new(src.1, dst.1, text.len() as u16);
    let len = (8 + text.len()) as u16;
    let mut ip = Ipv4Header::new(src.0.into(), dst.0.into(), IpProtocol::UDP, len);
    ip.ttl = ttl;
    let mut frame = [&[0; 12][..], &[8, 0], ip.as_bytes(), udp.as_bytes(), text].concat();
    Ipv4Header::set_checksum_at(&mut frame[14..]);
    l4::finish(&mut frame[14..]).unwrap();
    frame
}

/// Sends frames from the left to the right of a device; returns those that arrive.
fn replayed(dir: &Path, device: &str, frames: &[Vec<u8>]) -> Vec<Vec<u8>> {
    use ferrotest::port::{Tx as _, capture};
    let [from, to] = ["from.pcap", "to.pcap"].map(|name| dir.join(name));
    let mut file = capture::CaptureTx::create(&from).unwrap();
    file.send(0, frames.iter().map(Vec::as_slice));
    drop(file);
    let words = format!("replay {} {device} --write {}", from.display(), to.display());
    let output = tester(dir, &words);
    assert!(output.status.success(), "{output:?}");
    capture::read(&to).unwrap().into_iter().map(|(_, frame)| frame).collect()
}

/// Frames without their Ethernet addresses.
fn packets(frames: &[Vec<u8>]) -> Vec<&[u8]> {
    frames.iter().map(|frame| &frame[12..]).collect()
}

#[suite::test(netns)]
fn a_nat_of_linux_translates_sources() {
    let Some(_lab) = lab::require(&["root", "ip", "nft", "conntrack"]) else { return };
    let dir = tempfile::tempdir().unwrap();
    let (own, there, device) = ([198, 18, 0, 2], ([198, 19, 0, 2], 7), [198, 19, 0, 1]);
    let ports = 5000..5020;
    let sent: Vec<_> = ports.clone().map(|port| frame((own, port), there, 64)).collect();
    let expected: Vec<_> = ports.map(|port| frame((device, port), there, 63)).collect();
    let found = replayed(dir.path(), "linux:nat", &sent);
    assert_eq!(packets(&found), packets(&expected));
}

/// A bridge forwards all families, and changes no byte.
#[suite::test(netns)]
fn a_bridge_of_linux_is_measured() {
    let Some(_lab) = lab::require(&["root", "ip"]) else { return };
    let dir = tempfile::tempdir().unwrap();
    let found = results(dir.path(), &format!("soak linux:bridge --family ethernet,ip6 {TINY}"));
    check(&found, &["linux:bridge"], 100);
    assert_eq!(found["measurements"][0]["family"], "ethernet");
    let mut sent = vec![frame(([198, 18, 0, 2], 5000), ([198, 19, 0, 2], 7), 1)];
    sent.extend((0..20).map(|n| [&[0; 12][..], &[0x88, 0xb5], &[n; 50]].concat()));
    let back = replayed(dir.path(), "linux:bridge", &sent);
    assert_eq!(packets(&back), packets(&sent));
    // All of them have the addresses of the tester's ports, which differ.
    let macs = |frame: &[u8]| (frame[..6].to_vec(), frame[6..12].to_vec());
    assert!(back.iter().all(|frame| macs(frame) == macs(&back[0])));
    assert_ne!(macs(&back[0]).0, macs(&back[0]).1);
    let output = tester(dir.path(), &format!("reconfig linux:bridge {TINY}"));
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(1) && error.contains("has no routes"), "{error}");
}

/// The table of a script is emptied before sessions are opened and at the end.
#[suite::test(netns)]
fn a_script_clears_its_sessions() {
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
describe) echo masquerading ;;
clear-sessions) conntrack -C >>sessions; conntrack -F 2>/dev/null ;;
esac
"#;
    std::fs::write(&script, text).unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    let found = results(dir.path(), &format!("nat-teardown external:{} {NAT}", script.display()));
    let one = &found["measurements"][0];
    assert_eq!(
        (&one["description"], &one["series"][0]["name"]),
        (&"masquerading".into(), &"nat-teardown".into())
    );
    let counts = std::fs::read_to_string(dir.path().join("sessions")).unwrap();
    let last: u64 = counts.lines().last().unwrap().parse().unwrap();
    assert!((200..210).contains(&last), "{counts}");
}

#[suite::test(netns)]
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

#[suite::test(netns)]
fn a_run_that_is_stopped_or_killed_is_cleaned_up() {
    use rustix::process::{Pid, Signal, kill_process};
    let Some(_lab) = lab::require(&["root"]) else { return };
    let dir = tempfile::tempdir().unwrap();
    let ferrovia = format!("ferrovia:{}", programs().ferrovia.display());
    let signals = [Signal::INT, Signal::KILL];
    for (signal, ports) in signals.into_iter().flat_map(|s| [(s, "veth"), (s, "memif")]) {
        let mut command = Command::new(&programs().ferrotest);
        let long = TINY.replace("--soak 200ms", "--soak 60");
        command
            .args(["soak", &ferrovia, "--interface", ports, "--force"])
            .args(long.split_whitespace());
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
        assert_eq!(left_behind(dir.path()), [0; 0], "{signal:?} {ports}");
    }
}

#[suite::test(netns)]
fn what_cannot_be_is_refused_by_name() {
    let dir = tempfile::tempdir().unwrap();
    for (words, code, text) in [
        ("throughput linx", 2, "expected none"),
        ("throughput ferrovia:/no/such/program", 1, "/no/such/program"),
        ("replay /no/such/file none", 1, "/no/such/file"),
        ("selftest --port dpdk", 1, "dpdk"),
        ("throughput linux --interface memif", 2, "linux has no memif"),
        ("compare ferrovia external:/x --interface memif", 2, "external:/x has no memif"),
    ] {
        let output = tester(dir.path(), words);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{words}: {error}");
        assert!(error.contains(text), "{words}: {error}");
    }
}
