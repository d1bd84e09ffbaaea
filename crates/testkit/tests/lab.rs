// SPDX-License-Identifier: Apache-2.0
//! The laboratory itself, on a machine where namespaces can be made.

use std::{path::Path, time::Duration};

use testkit::lab::{self, Lab, Netns, Signal};

const SOON: Duration = Duration::from_secs(10);

fn pair(lab: &Lab) -> (Netns, Netns) {
    let (a, b) = (lab.netns("a"), lab.netns("b"));
    lab.veth((&a, "eth0"), (&b, "eth0"));
    a.addr("eth0", "10.0.0.1/24");
    b.addr("eth0", "10.0.0.2/24");
    (a, b)
}

/// Returns true if a process is alive. A zombie isn't: it has been killed and is only to be reaped.
fn is_alive(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

/// After SIGKILL a process is still seen for a moment.
fn is_gone_soon(gone: impl Fn() -> bool) -> bool {
    (0..500).any(|_| {
        gone() || {
            std::thread::sleep(Duration::from_millis(10));
            false
        }
    })
}

#[suite::test(netns)]
fn two_hosts_ping_each_other() {
    let Some(lab) = lab::require(&["root", "ping", "ethtool"]) else { return };
    let (a, b) = pair(&lab);
    let text = a.command("ping").args(["-c2", "-i0.2", "-W2", "10.0.0.2"]).ok();
    assert!(text.contains("2 received"), "{text}");
    let output = a.command("ping").args(["-c1", "-W1", "10.0.0.3"]).run();
    assert_eq!((output.code, output.timed_out), (Some(1), false), "{}", output.complaint());

    a.mtu("eth0", 9000);
    b.mtu("eth0", 9000);
    a.command("ping").args(["-c1", "-W2", "-Mdo", "-s8972", "10.0.0.2"]).ok();
    assert!(a.counter("eth0", "tx_bytes") > 9000 && b.counter("eth0", "rx_bytes") > 9000);

    a.offloads("eth0", false);
    let features = a.command("ethtool").args(["-k", "eth0"]).ok();
    for feature in ["tx-checksumming", "tcp-segmentation-offload", "generic-segmentation-offload"] {
        assert!(features.contains(&format!("{feature}: off")), "{features}");
    }
    a.offloads("eth0", true);
    assert!(a.command("ethtool").args(["-k", "eth0"]).ok().contains("tx-checksumming: on"));
}

#[suite::test(netns)]
fn a_router_between_two_hosts() {
    let Some(lab) = lab::require(&["root", "ping"]) else { return };
    let (a, r, b) = (lab.netns("a"), lab.netns("r"), lab.netns("b"));
    lab.veth((&a, "eth0"), (&r, "left"));
    lab.veth((&r, "right"), (&b, "eth0"));
    for (host, side, net) in [(&a, "left", "10.0.1"), (&b, "right", "10.0.2")] {
        host.addr("eth0", &format!("{net}.2/24"));
        r.addr(side, &format!("{net}.1/24"));
        host.route("default", &format!("{net}.1"));
    }
    r.sysctl("net/ipv4/ip_forward", "1");
    a.addr("eth0", "2001:db8:1::2/64");
    r.addr("left", "2001:db8:1::1/64");
    let mac = "02:fe:00:00:00:07".parse().unwrap();
    b.set_mac("eth0", mac);
    assert_eq!(b.mac("eth0"), mac);
    r.neighbor("right", "10.0.2.2", mac);
    let text = a.command("ping").args(["-c1", "-W2", "10.0.2.2"]).ok();
    assert!(text.contains("ttl=63"), "{text}");
    a.command("ping").args(["-c1", "-W2", "2001:db8:1::1"]).ok();
}

#[suite::test(netns)]
fn a_host_and_the_root_namespace() {
    let Some(lab) = lab::require(&["root", "ping"]) else { return };
    let (host, root) = (lab.netns("host"), lab.root());
    let name = lab.if_name("h");
    lab.veth((&host, "eth0"), (&root, &name));
    // a /30 out of the benchmark range, by process id so that runs side by side don't meet
    let id = std::process::id();
    let net = |last: u32| format!("198.18.{}.{}", id / 64 % 256, id % 64 * 4 + last);
    root.addr(&name, &format!("{}/30", net(1)));
    host.addr("eth0", &format!("{}/30", net(2)));
    lab.command("ping").args(["-c1", "-W2", &net(2)]).ok();
    drop(host);
    let path = format!("/sys/class/net/{name}");
    assert!(is_gone_soon(|| !Path::new(&path).exists()), "{name} outlives its namespace");
}

#[suite::test(netns)]
fn namespaces_go_with_their_value_and_in_a_panic() {
    let Some(lab) = lab::require(&["root"]) else { return };
    let ns = lab.netns("gone");
    let (path, clone) = (ns.path(), ns.clone());
    drop(ns);
    assert!(path.exists(), "a clone keeps it");
    let mut inside = clone.command("sleep").args(["1000"]).spawn();
    assert!(inside.is_running());
    drop(inside);
    drop(clone);
    assert!(!path.exists());

    let (sender, receiver) = std::sync::mpsc::channel();
    let result = std::thread::spawn(move || {
        let ns = lab.netns("panics");
        sender.send(ns.path()).unwrap();
        ns.command("false").ok();
    });
    assert!(result.join().is_err());
    assert!(!receiver.recv().unwrap().exists());
}

#[suite::test(netns)]
fn commands_end() {
    let Some(lab) = lab::require(&["root"]) else { return };
    let ns = lab.netns("cmd");
    let output = ns.sh("echo out; echo err >&2; exit 3").run();
    assert_eq!(
        (output.code, output.stdout.as_str(), output.stderr.as_str()),
        (Some(3), "out\n", "err\n")
    );
    assert_eq!(ns.command("cat").input("a\nb").ok(), "a\nb");
    assert_eq!(ns.sh("echo $WORD").env("WORD", "word").ok(), "word\n");
    let big = vec![b'x'; 1 << 20];
    assert_eq!(
        ns.command("cat").input(&big).ok().len(),
        big.len(),
        "neither pipe may stop the other"
    );

    // its child goes with it
    let output = ns.sh("sleep 1000 & echo $!; wait").timeout(Duration::from_millis(300)).run();
    assert!(output.timed_out && output.code.is_none());
    let child = output.stdout.trim().parse().unwrap();
    assert!(is_gone_soon(|| !is_alive(child)));
}

#[suite::test(netns)]
fn background_processes() {
    let Some(lab) = lab::require(&["root"]) else { return };
    let ns = lab.netns("bg");
    let server =
        ns.sh("trap 'echo bye; exit 4' TERM; echo ready; while :; do sleep 0.05; done").spawn();
    server.wait_for("ready", SOON);
    let output = server.stop(SOON);
    assert_eq!(
        (output.code, output.stdout.as_str(), output.timed_out),
        (Some(4), "ready\nbye\n", false)
    );

    let mut stubborn = ns.sh("trap '' TERM; echo ready; exec sleep 1000").spawn();
    stubborn.wait_for("ready", SOON);
    let pid = stubborn.id();
    stubborn.signal(Signal::TERM);
    assert!(stubborn.is_running() && is_alive(pid));
    drop(stubborn);
    assert!(!is_alive(pid));

    let mut short = ns.sh("exit 7").spawn();
    assert_eq!(short.wait(SOON), Some(7));
    assert_eq!(short.wait(SOON), Some(7), "asked again");

    // Many at a time: the threads that read their output have to wait for a core.
    let talk = || ns.sh("head -c 60000 /dev/zero | tr '\\0' x").spawn();
    for mut talker in (0..50).map(|_| talk()).collect::<Vec<_>>() {
        assert_eq!(talker.wait(SOON), Some(0));
        assert_eq!(talker.stdout().len(), 60_000, "all of it when it has ended");
    }
}

#[suite::test]
#[ignore = "helper: the run that is killed in the next test"]
fn victim() {
    let lab = lab::require(&["root"]).unwrap();
    let ns = lab.netns("victim");
    let name = lab.if_name("v");
    lab.veth((&lab.root(), &name), (&ns, "eth0"));
    let inside = ns.command("sleep").args(["1000"]).spawn();
    let outside = lab.command("sleep").args(["1000"]).spawn();
    // past the harness, which keeps what print! writes
    use std::io::Write;
    let line =
        format!("\nnames {} {name} {} {} end\n", ns.name().unwrap(), inside.id(), outside.id());
    std::io::stdout().write_all(line.as_bytes()).unwrap();
    std::io::stdout().flush().unwrap();
    std::thread::sleep(Duration::from_secs(1000));
}

#[suite::test(netns)]
fn leftovers_of_a_killed_run_are_swept() {
    let Some(lab) = lab::require(&["root"]) else { return };
    let me = std::env::current_exe().unwrap();
    let name = suite::name!("victim");
    let words = ["--exact", &name, "--ignored", "--nocapture"];
    let victim = lab.command(me.to_str().unwrap()).args(words).spawn();
    victim.wait_for(" end\n", SOON);
    let text = victim.stdout();
    let line = text.lines().find(|line| line.starts_with("names ")).unwrap();
    let [_, ns, interface, inside, outside, _] = line.split(' ').collect::<Vec<_>>()[..] else {
        panic!("{line}")
    };
    let (inside, outside) = (inside.parse().unwrap(), outside.parse().unwrap());
    let path = Path::new("/run/netns").join(ns);
    lab::sweep();
    assert!(path.exists() && is_alive(inside) && is_alive(outside), "a living run is left alone");

    // only itself: its children have groups of their own
    drop(victim);
    assert!(path.exists() && is_alive(inside) && is_alive(outside), "a kill cleans nothing up");
    lab::sweep();
    assert!(is_gone_soon(|| !path.exists() && !is_alive(inside) && !is_alive(outside)));
    let device = format!("/sys/class/net/{interface}");
    assert!(is_gone_soon(|| !Path::new(&device).exists()));
}

#[suite::test(netns)]
fn a_missing_program_is_loud() {
    let Some(_) = lab::require(&["root"]) else { return };
    if std::env::var_os("FERROVIA_ALLOW_SKIP").is_some() {
        return testkit::skip("FERROVIA_ALLOW_SKIP is set");
    }
    let result = std::panic::catch_unwind(|| {
        lab::require(&["root", "no-such-program", "/no/such/path"]).is_some()
    });
    let message = *result.unwrap_err().downcast::<String>().unwrap();
    assert!(
        message.contains("no program no-such-program, /no/such/path doesn't exist"),
        "{message}"
    );
}
