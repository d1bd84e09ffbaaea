// SPDX-License-Identifier: Apache-2.0
//! The CLI of a running daemon.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Stdio;

use super::common::{Daemon, PATIENCE, eventually, ferrovia};

#[suite::test(netns)]
fn answers_as_vppctl_expects_them() {
    let daemon = Daemon::start("cpu { workers 0 } ip { heap-size 1G }");
    let mut client = daemon.client();
    assert!(client.run("show version").starts_with("ferrovia 0."));
    assert!(client.run("show clock").starts_with("Time now "));
    let config = client.run("show config");
    assert!(config.contains("unix {\n  nodaemon\n"), "{config}");
    assert!(config.contains("# ip heap-size 1G: not needed"), "{config}");
    // Abbreviated, and of several commands the whole word wins.
    assert!(client.run("sh log").contains("ferrovia 0."));
    assert!(client.run("sh ver verbose").contains("PID"));
    let wrong = client.run("shwo version");
    assert!(wrong.starts_with("unknown input `shwo'"), "{wrong}");
    assert!(
        client.run("show cli-sessions").contains("programs"),
        "this process is named after its program"
    );
    assert!(client.run("show version json").contains("\"version\""));
}

#[suite::test(netns)]
fn the_clock_can_be_moved_forward_only() {
    let daemon = Daemon::start("");
    let mut client = daemon.client();
    assert_eq!(client.run("set clock adjust 1000"), "");
    let clock = client.run("show clock");
    let now: f64 =
        clock.strip_prefix("Time now ").and_then(|c| c.split(',').next()?.parse().ok()).unwrap();
    assert!((1000.0..1100.0).contains(&now), "{clock}");
    assert!(client.run("set clock adjust -5").contains("forward only"));
}

#[suite::test(netns)]
fn scripts_wait_and_log_levels() {
    let dir = tempfile::tempdir().unwrap();
    let script = dir.path().join("s.cli");
    std::fs::write(&script, "echo one\nwait 0.01\necho two\n").unwrap();
    let daemon = Daemon::start(&format!("unix {{ exec {} }}", script.display()));
    let mut client = daemon.client();
    // The CLI is there before the script has ended.
    eventually("the script of the start is in the log", || {
        client.run("show log").contains("s.cli: two").then_some(())
    });
    assert_eq!(client.run(&format!("exec {}", script.display())), "one\ntwo\n");
    assert!(client.run("exec /dev/null").contains("not a regular file"));
    client.run("set logging class cli level debug");
    daemon.client().run("show version");
    eventually("a debug line", || client.run("show log").contains("session").then_some(()));
    client.run("clear logging");
    assert_eq!(client.run("show log max 5"), "");
}

/// At any depth, a line of the start that can't be run is pending with its file and number, and
/// the others run.
#[suite::test(netns)]
fn files_that_files_of_the_start_run_leave_out_broken_lines() {
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &[u8]| {
        let path = dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let none = dir.path().join("none").display().to_string();
    let [a, b] = ["a", "b"].map(|name| dir.path().join(name).display().to_string());
    let c = file("c", &[format!("exec {a}\necho caf").as_bytes(), b"\xe9\necho three\n"].concat());
    let lines = "uncomment {\n set interfase x\n uncomment { echo two }\n}\nexec C\necho $(nobody)\ndefine who four\necho $(who)\nquit\necho no\n";
    file("b", format!("# first\n{}", lines.replace('C', &c)).as_bytes());
    file("a", format!("echo one\nexec {b}\nexec {none}\necho five\n").as_bytes());
    let daemon = Daemon::start(&format!("unix {{ exec {a} }}"));
    let mut client = daemon.client();
    let log = eventually("the script of the start is in the log", || {
        Some(client.run("show log")).filter(|log| log.contains("failed, 0 wait"))
    });
    let said: Vec<_> =
        log.lines().filter_map(|l| l.rsplit_once("/a: ")).map(|(_, text)| text).collect();
    assert_eq!(&said[..5], ["one", "two", "three", "four", "five"], "{log}");
    assert!(
        said[5].contains("5 failed") && said[5].contains("/b line 3: set: unknown input"),
        "{log}"
    );
    let json: serde_json::Value =
        serde_json::from_str(&client.run("show config pending -j")).unwrap();
    let place = |line: &serde_json::Value| {
        let file = line["file"].as_str().unwrap();
        (file.rsplit('/').next().unwrap().to_string(), line["line"].as_u64().unwrap())
    };
    let places: Vec<_> = json["lines"].as_array().unwrap().iter().map(place).collect();
    let of = |name: &str, line| (name.to_string(), line);
    assert_eq!(places, [of("b", 3), of("c", 1), of("c", 2), of("b", 7), of("a", 3)], "{json}");
    // The lines of a block count as lines of the file.
    assert_eq!(client.run("uncomment { uncomment {\n echo deep\n}\necho more }"), "deep\nmore\n");
    // Later, a script is checked as a whole.
    assert!(client.run(&format!("exec {b}")).contains("no macro"));
}

#[suite::test(netns)]
fn macros_stand_for_texts_in_lines_and_scripts() {
    let dir = tempfile::tempdir().unwrap();
    let script = dir.path().join("s.cli");
    std::fs::write(&script, "define what one\necho start $(what)\n").unwrap();
    let daemon = Daemon::start(&format!("unix {{ exec {} }}", script.display()));
    let mut client = daemon.client();
    eventually("the script of the start", || {
        client.run("show log").contains("s.cli: start one").then_some(())
    });
    // The value is kept as it stands, also of an abbreviated command.
    assert_eq!(client.run("def both $(what) $what"), "");
    assert_eq!(client.run("echo <$(both)> $both $bo pa$$"), "<one one> one one $bo pa$$\n");
    assert_eq!(client.run("define cmd show"), "");
    assert!(client.run("$(cmd) version").starts_with("ferrovia 0."));
    // For every session, and in scripts as in lines.
    assert_eq!(daemon.cli("define what two"), "");
    assert_eq!(client.run("echo $both"), "two two\n");
    std::fs::write(&script, "echo $(both)\n").unwrap();
    assert_eq!(client.run(&format!("exec {}", script.display())), "two two\n");
    assert_eq!(client.run("echo $(none)"), "no macro is named `none'\n");
    assert_eq!(client.run("undefine what"), "");
    assert_eq!(client.run("echo $both"), "no macro is named `what'\n");
}

#[suite::test(netns)]
fn several_clients_at_once_one_of_them_waiting() {
    let daemon = Daemon::start("");
    let mut waiting = daemon.client();
    waiting.send("wait 100000");
    let mut clients: Vec<_> = (0..20).map(|_| daemon.client()).collect();
    clients.iter_mut().for_each(|c| c.send("show version"));
    assert!(clients.iter_mut().all(|c| c.answer().starts_with("ferrovia")));
    // Every timer follows the clock.
    daemon.cli("set clock adjust 100001");
    assert_eq!(waiting.answer(), "");
}

#[suite::test(netns)]
fn tcp_listens_on_the_loopback() {
    // A port that was free a moment ago.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let daemon = Daemon::start(&format!("unix {{ cli-listen cli.sock cli-listen :{port} }}"));
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(b"show version\nquit\n").unwrap();
    let mut all = Vec::new();
    stream.read_to_end(&mut all).unwrap();
    assert!(String::from_utf8_lossy(&all).contains("ferrovia 0."));
    let listening =
        std::fs::read_to_string(format!("/proc/{}/net/tcp", daemon.child.id())).unwrap();
    assert!(
        listening.contains(&format!("0100007F:{port:04X} 00000000:0000 0A")),
        "on 127.0.0.1 only"
    );
}

#[suite::test(netns)]
fn interactive_on_pipes_runs_what_comes_and_ends_with_it() {
    let dir = tempfile::tempdir().unwrap();
    let unix = format!("unix {{ interactive runtime-dir {} }}", dir.path().display());
    let mut child = ferrovia()
        .arg(&unix)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"echo hello\nshow version\n").unwrap();
    let status = eventually("the end", || child.try_wait().unwrap());
    let mut text = String::new();
    child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    assert!(status.success());
    assert!(text.starts_with("hello\nferrovia 0."), "{text}");
    assert!(!dir.path().join("cli.sock").exists());
}

#[suite::test(netns)]
fn the_terminal_is_given_back_as_it_was() {
    // `script` makes a terminal for us.
    if std::process::Command::new("script").arg("--version").output().is_err() {
        return testkit::skip("there is no script(1) (Debian package bsdutils)");
    }
    let dir = tempfile::tempdir().unwrap();
    let program = fixture::programs().ferrovia.display();
    let run = dir.path().display();
    let inner = format!(
        "stty -a >{run}/before; {program} unix {{ interactive runtime-dir {run}/r nosyslog log {run}/log }}; stty -a >{run}/after"
    );
    let mut child = std::process::Command::new("script")
        .args(["-qec", &inner, "/dev/null"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut keys = child.stdin.take().unwrap();
    eventually("the start", || {
        std::os::unix::net::UnixStream::connect(dir.path().join("r/cli.sock")).ok()
    });
    keys.write_all(b"sh ver\rquit\r").unwrap();
    let status = eventually("the end", || child.try_wait().unwrap());
    drop(keys);
    let mut text = String::new();
    child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    assert!(status.success());
    assert!(text.contains("ferrovia# "), "{text:?}");
    assert!(text.contains("ferrovia 0."), "{text:?}");
    let read = |name| std::fs::read_to_string(dir.path().join(name)).unwrap();
    assert_eq!(read("before"), read("after"));
}
