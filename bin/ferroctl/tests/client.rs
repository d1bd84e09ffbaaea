// SPDX-License-Identifier: Apache-2.0
//! The program against a server: what it prints and how it ends.

use super::server::Server;
use std::io::Write;
use std::process::{Command, Output, Stdio};

fn ferroctl(server: &Server, args: &[&str], stdin: &str) -> Output {
    let mut child = Command::new(program())
        .arg("-s")
        .arg(&server.socket)
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("ferroctl");
    // A client that does not read its standard input may be gone already.
    let _ = child.stdin.take().expect("a pipe").write_all(stdin.as_bytes());
    child.wait_with_output().expect("its end")
}

#[track_caller]
fn check(out: Output, status: i32, stdout: &str, stderr: &str) {
    assert_eq!(String::from_utf8_lossy(&out.stdout), stdout);
    assert_eq!(String::from_utf8_lossy(&out.stderr), stderr);
    assert_eq!(out.status.code(), Some(status));
}

#[suite::test(netns)]
fn one_command() {
    let s = Server::start();
    check(ferroctl(&s, &["show", "version"], ""), 0, "toy 1\n", "");
    check(ferroctl(&s, &["show version"], ""), 0, "toy 1\n", "");
    check(ferroctl(&s, &["sh", "ver", "-j"], ""), 0, "{\n  \"version\": \"toy 1\"\n}\n", "");
    check(ferroctl(&s, &["-j", "sh", "ver"], ""), 0, "{\n  \"version\": \"toy 1\"\n}\n", "");
    check(ferroctl(&s, &["packet-generator", "new", "{ a", "}"], ""), 0, " a \n", "");
    assert_eq!(ferroctl(&s, &["show many"], "").stdout.len(), 500_000);
}

#[suite::test(netns)]
fn failures_have_a_status_and_go_to_standard_error() {
    let s = Server::start();
    check(ferroctl(&s, &["fail"], ""), 1, "", "it failed\n");
    check(ferroctl(&s, &["show", "nothing"], ""), 1, "", "show: unknown input `nothing'\n");
    let out = ferroctl(&s, &["show", "version", "now"], "");
    let usage = "column 14: `now' is not expected here: expected the end of the line\nusage: show version\n";
    check(out, 1, "", usage);
    let out = ferroctl(&s, &["-j", "fail"], "");
    assert!(String::from_utf8_lossy(&out.stderr).contains("\"retval\": -7"), "{out:?}");
    assert_eq!(ferroctl(&s, &["-x"], "").status.code(), Some(2));
}

#[suite::test(netns)]
fn macros_are_replaced_in_commands_and_scripts() {
    let s = Server::start();
    check(ferroctl(&s, &["$(what)"], ""), 0, "toy 1\n", "");
    check(ferroctl(&s, &["-j", "$(what)"], ""), 0, "{\n  \"version\": \"toy 1\"\n}\n", "");
    check(ferroctl(&s, &[], "echo a\n$(what)\n"), 0, "a\ntoy 1\n", "");
    check(ferroctl(&s, &["echo $(none)"], ""), 1, "", "no macro is named `none'\n");
    check(ferroctl(&s, &[], "echo a\necho $(none)"), 1, "", "stdin:2: no macro is named `none'\n");
}

/// The program under test.
fn program() -> &'static str {
    fixture::programs().ferroctl.to_str().expect("a path of text")
}

/// Completes in bash, with the file that is installed.
fn bash(server: &Server, words: &[&str]) -> Vec<String> {
    let socket = server.socket.to_str().expect("a path of text");
    let words = [&["-s", socket], words].concat();
    bash_line(&format!("{} {}", program(), words.join(" ")), &words)
}

/// Like `bash`, with the line as typed, and the words behind the program as bash splits it: at `=`
/// and `:` too.
fn bash_line(line: &str, words: &[&str]) -> Vec<String> {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../extras/completions/ferroctl.bash");
    let script = r#"source "$1"; COMP_LINE=$2; COMP_POINT=${#2}; shift 2; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _ferroctl; printf '%s\n' "${COMPREPLY[@]}""#;
    let out = Command::new("bash")
        .args(["-c", script, "bash", file, line, program()])
        .args(words)
        .output()
        .expect("bash");
    assert_eq!(String::from_utf8_lossy(&out.stderr), "");
    let text = String::from_utf8(out.stdout).expect("text");
    text.lines().filter(|line| !line.is_empty()).map(String::from).collect()
}

#[suite::test(netns)]
fn a_shell_completes_options_and_the_daemons_commands() {
    let s = Server::start();
    check(ferroctl(&s, &["--complete", "show interface h"], ""), 0, "host-eth0\n", "");
    check(ferroctl(&s, &["--complete", "show ver"], ""), 0, "version\n", "");
    assert_eq!(bash(&s, &["--"]), ["--socket", "--json", "--help", "--version"]);
    assert_eq!(bash(&s, &["-j", "sho"]), ["show"]);
    assert_eq!(bash(&s, &["show", "interface", ""]), ["host-eth0", "local0"]);
    assert_eq!(bash(&s, &["show", "interface", "l"]), ["local0"]);
    assert_eq!(bash(&s, &["show", "-"]), [""; 0], "options stand before the command");
    assert_eq!(bash(&s, &["show", "interface", "'l"]), ["local0"]);
    let (program, socket) = (program(), s.socket.to_str().expect("a path of text"));
    let line = format!("{program} --socket={socket} show interface l");
    assert_eq!(bash_line(&line, &["--socket", "=", socket, "show", "interface", "l"]), ["local0"]);
    // Without a daemon nothing is printed.
    let mut s = s;
    s.socket = "/nowhere/cli.sock".into();
    check(ferroctl(&s, &["--complete", "show"], ""), 0, "", "");
    assert_eq!(bash(&s, &["sho"]), [""; 0]);
}

#[suite::test(netns)]
fn scripts_are_checked_whole() {
    let s = Server::start();
    check(
        ferroctl(&s, &[], "# two\necho a\n\npacket-generator new {\n b\n}\n"),
        0,
        "a\n\n b\n",
        "",
    );
    check(
        ferroctl(&s, &[], "echo a\nfoo\nshow bar\n"),
        1,
        "",
        "stdin:2:1: unknown input `foo'\nstdin:3:6: show: unknown input `bar'\nstdin: 2 errors, nothing was run\n",
    );
    check(ferroctl(&s, &[], "echo a\nfail\necho b\n"), 1, "a\n", "stdin:2:1: it failed\n");
    check(ferroctl(&s, &[], ""), 0, "", "");
}

#[suite::test(netns)]
fn says_so_when_there_is_no_daemon() {
    let mut s = Server::start();
    let path = s.socket.clone();
    s.socket = "/nowhere/cli.sock".into();
    let e = "ferroctl: no daemon at /nowhere/cli.sock: no such socket (is ferrovia running? -s names another socket)\n";
    check(ferroctl(&s, &["show", "version"], ""), 3, "", e);
    s.socket = path.with_file_name("dead.sock");
    drop(std::os::unix::net::UnixListener::bind(&s.socket).unwrap());
    let out = ferroctl(&s, &["show", "version"], "");
    assert!(String::from_utf8_lossy(&out.stderr).contains("nobody listens"), "{out:?}");
    assert_eq!(out.status.code(), Some(3));
}

/// Starts a command without an end, and reads its first line.
fn endless(
    s: &Server,
    args: &[&str],
) -> (std::process::Child, std::io::BufReader<std::process::ChildStdout>, String) {
    let mut child = Command::new(program())
        .arg("-s")
        .arg(&s.socket)
        .args(args)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("ferroctl");
    let mut out = std::io::BufReader::new(child.stdout.take().expect("a pipe"));
    let mut line = String::new();
    std::io::BufRead::read_line(&mut out, &mut line).expect("a line");
    (child, out, line)
}

#[suite::test(netns)]
fn long_answers_come_while_they_are_made_and_end_with_who_reads_them() {
    let s = Server::start();
    let (child, out, line) = endless(&s, &["show endless"]);
    assert_eq!(line, "line 0\n");
    // As `| head -1` does.
    drop(out);
    let end = child.wait_with_output().expect("its end");
    assert_eq!((end.status.code(), String::from_utf8_lossy(&end.stderr).as_ref()), (Some(0), ""));
}

#[suite::test(netns)]
fn interrupt_ends_a_long_answer_whose_json_is_whole() {
    let s = Server::start();
    let (child, mut out, line) = endless(&s, &["-j", "show endless"]);
    assert_eq!(line, "[\n");
    rustix::process::kill_process(
        rustix::process::Pid::from_child(&child),
        rustix::process::Signal::INT,
    )
    .unwrap();
    let mut rest = line;
    std::io::Read::read_to_string(&mut out, &mut rest).unwrap();
    let value: serde_json::Value = serde_json::from_str(&rest).expect("JSON");
    assert!(value.as_array().is_some_and(|all| all.len() > 100));
    let end = child.wait_with_output().expect("its end");
    assert_eq!(end.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&end.stderr).contains("cancelled"), "{end:?}");
}

#[suite::test(netns)]
fn interrupt_cancels_the_command_first() {
    let s = Server::start();
    let mut child = Command::new(program())
        .arg("-s")
        .arg(&s.socket)
        .arg("ping")
        .stdout(Stdio::piped())
        .spawn()
        .expect("ferroctl");
    let mut out = std::io::BufReader::new(child.stdout.take().expect("a pipe"));
    let mut line = String::new();
    std::io::BufRead::read_line(&mut out, &mut line).unwrap();
    assert_eq!(line, "reply 1\n");
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let mut rest = String::new();
    std::io::Read::read_to_string(&mut out, &mut rest).unwrap();
    assert!(rest.ends_with("statistics\n"), "{rest}");
    assert_eq!(child.wait().unwrap().code(), Some(0));
}
