// SPDX-License-Identifier: Apache-2.0
//! Start and end of the daemon as a real process.

use std::os::unix::net::{UnixDatagram, UnixListener, UnixStream};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use super::common::{Daemon, as_user, eventually, ferrovia, output};
use rustix::process::{Pid, Signal, kill_process, test_kill_process};

/// VPP's users expect that.
const END: Duration = Duration::from_secs(5);

fn ends_cleanly(signal: Signal) {
    let mut daemon = Daemon::start("");
    let socket = daemon.socket();
    let since = Instant::now();
    daemon.signal(signal);
    let (status, text) = daemon.end();
    assert!(since.elapsed() < END);
    assert!(status.success(), "{status}: {text}");
    assert!(!socket.exists(), "the socket is gone");
    assert!(text.contains("ending: signalled"), "{text}");
}

#[suite::test(netns)]
fn sigterm_ends_it_cleanly() {
    ends_cleanly(Signal::TERM);
}

#[suite::test(netns)]
fn sigint_ends_it_cleanly() {
    ends_cleanly(Signal::INT);
}

/// Ready, signs of life, the end.
#[suite::test(netns)]
fn systemd_is_told_what_happens() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("notify");
    let socket = UnixDatagram::bind(&path).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let mut daemon = Daemon::spawn(&dir.path().join("run"), "", |command| {
        command.env("NOTIFY_SOCKET", &path).env("WATCHDOG_USEC", "100000");
    });
    let message = || {
        let mut bytes = [0; 1024];
        let n = socket.recv(&mut bytes).expect("a message in time");
        String::from_utf8_lossy(&bytes[..n]).into_owned()
    };
    let ready = message();
    assert!(ready.starts_with("READY=1\nSTATUS=CLI at ") && ready.contains("cli.sock"), "{ready}");
    for _ in 0..3 {
        assert_eq!(message().trim_end(), "WATCHDOG=1");
    }
    daemon.signal(Signal::TERM);
    while message().trim_end() == "WATCHDOG=1" {}
    let (status, text) = daemon.end();
    assert!(status.success(), "{status}: {text}");
}

#[suite::test(netns)]
fn a_stuck_start_is_ended_by_force() {
    let dir = tempfile::tempdir().unwrap();
    let fifo = dir.path().join("fifo");
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, 0o600.into(), 0)
        .unwrap();
    let run = dir.path().join("run");
    // No process ever writes to it, so the control thread doesn't come back.
    let mut daemon = Daemon::spawn(&run, &format!("unix {{ exec {} }}", fifo.display()), |_| {});
    eventually("listening", || UnixStream::connect(daemon.socket()).ok());
    let since = Instant::now();
    daemon.signal(Signal::TERM);
    let (status, text) = daemon.end();
    assert!(since.elapsed() < END);
    assert_eq!(status.code(), Some(1));
    assert!(text.contains("ended by force: a clean end took too long"), "{text}");
    // And what it left behind doesn't stop the next one.
    Daemon::start_in(&run, "");
}

#[suite::test(netns)]
fn a_killed_daemons_socket_is_taken_over() {
    let dir = tempfile::tempdir().unwrap();
    let mut first = Daemon::start_in(dir.path(), "");
    first.signal(Signal::KILL);
    first.end();
    assert!(first.socket().exists(), "kill -9 leaves it");
    assert!(UnixStream::connect(first.socket()).is_err());
    let second = Daemon::start_in(dir.path(), "");
    UnixStream::connect(second.socket()).unwrap();
}

#[suite::test(netns)]
fn a_second_daemon_on_the_same_socket_is_refused_and_the_first_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let first = Daemon::start_in(dir.path(), "");
    let (status, text) = Daemon::spawn(dir.path(), "", |_| {}).end();
    assert_eq!(status.code(), Some(1));
    let pid = first.child.id();
    let reason = format!(
        "can't listen on {}: process {pid} (ferrovia) is listening there",
        first.socket().display()
    );
    assert!(text.contains(&reason), "{text}");
    UnixStream::connect(first.socket()).unwrap();
}

#[suite::test(netns)]
fn a_socket_of_another_program_is_refused_too() {
    let dir = tempfile::tempdir().unwrap();
    let _other = UnixListener::bind(dir.path().join("cli.sock")).unwrap();
    let (status, text) = Daemon::spawn(dir.path(), "", |_| {}).end();
    assert_eq!(status.code(), Some(1));
    assert!(text.contains(&format!("process {} (", std::process::id())), "{text}");
}

/// The pid in a file, once it is there.
fn pid_in(file: &Path) -> Pid {
    let read = || Pid::from_raw(std::fs::read_to_string(file).ok()?.trim().parse().ok()?);
    eventually("the pid file", read)
}

/// The session of a process as the kernel reports it: 0 if its leader is outside of this process's
/// pid namespace, as in a container.
fn session_of(pid: &str) -> u32 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let after_the_name = stat.rsplit_once(") ").unwrap().1;
    after_the_name.split(' ').nth(3).unwrap().parse().unwrap()
}

#[suite::test(netns)]
fn in_the_background_it_has_a_session_of_its_own_and_the_shell_gets_back_when_it_is_ready() {
    let dir = tempfile::tempdir().unwrap();
    let (pidfile, log) = (dir.path().join("f.pid"), dir.path().join("f.log"));
    let unix = format!(
        "unix {{ runtime-dir {} pidfile {} log {} }}",
        dir.path().display(),
        pidfile.display(),
        log.display()
    );
    let shell = output(&[&unix]);
    assert!(shell.status.success(), "{}", String::from_utf8_lossy(&shell.stderr));
    let socket = dir.path().join("cli.sock");
    UnixStream::connect(&socket).expect("it listens before the shell gets back");
    let pid = pid_in(&pidfile);
    let session = session_of(&pid.as_raw_nonzero().to_string());
    assert_ne!(session, session_of("self"));
    assert_ne!(session, 0, "a session begun here, not one inherited from outside of the namespace");

    let again = output(&[&unix]);
    assert_eq!(again.status.code(), Some(1), "the shell sees that a second one fails");
    let text = String::from_utf8_lossy(&again.stderr);
    assert!(text.contains(&format!("is held by process {}", pid.as_raw_nonzero())), "{text}");

    std::fs::rename(&log, dir.path().join("f.log.1")).unwrap();
    kill_process(pid, Signal::HUP).unwrap();
    eventually("a new log file", || {
        std::fs::read_to_string(&log).ok().filter(|t| t.contains("opened anew"))
    });

    kill_process(pid, Signal::TERM).unwrap();
    eventually("the end", || test_kill_process(pid).is_err().then_some(()));
    assert!(!pidfile.exists() && !socket.exists());
    assert!(std::fs::read_to_string(&log).unwrap().contains("ended"));
}

#[suite::test(netns)]
fn an_error_in_the_configuration_is_shown_with_its_place() {
    let error = output(&["unix", "{", "nodeamon", "}"]);
    assert_eq!(error.status.code(), Some(78), "systemd doesn't start it again");
    assert_eq!(
        String::from_utf8(error.stderr).unwrap(),
        "ferrovia: argument 3: unknown word `nodeamon` in section unix\n    unix { nodeamon }\n           ^^^^^^^^\n  did you mean `nodaemon`?\n"
    );
    assert!(
        output(&["dpdk", "{", "dev", "default", "}"])
            .stderr
            .starts_with(b"ferrovia: argument 1: section `dpdk` belongs to dpdk_plugin.so")
    );
}

#[suite::test(netns)]
fn a_script_with_an_error_ends_a_strict_start() {
    let dir = tempfile::tempdir().unwrap();
    let script = dir.path().join("start.cli");
    std::fs::write(&script, "show version\n\nshwo version\n").unwrap();
    let more = format!("unix {{ exec {} }} config {{ strict }}", script.display());
    let (status, text) = Daemon::spawn(dir.path(), &more, |_| {}).end();
    assert_eq!(status.code(), Some(1));
    assert!(text.contains("start.cli:3:1: unknown input `shwo'"), "{text}");
    assert!(!dir.path().join("cli.sock").exists());
}

#[suite::test(netns)]
fn it_starts_without_any_privilege() {
    if !rustix::process::geteuid().is_root() {
        return testkit::skip("not root, so every other test shows it");
    }
    const NOBODY: u32 = 65_534;
    // The program and its directory have to be reachable for that user.
    let dir = tempfile::tempdir().unwrap();
    let program = dir.path().join("ferrovia");
    std::fs::copy(&fixture::programs().ferrovia, &program).unwrap();
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(dir.path(), open).unwrap();
    let run = Path::new("/tmp/ferrovia-65534");
    let _ = std::fs::remove_dir_all(run);
    let mut command = std::process::Command::new(&program);
    command
        .args(["unix", "nodaemon"])
        .env_remove("XDG_RUNTIME_DIR")
        .stdin(Stdio::null())
        .stderr(Stdio::piped());
    as_user(&mut command, NOBODY);
    let mut child = command.spawn().unwrap();
    let result = std::panic::catch_unwind(|| {
        eventually("the socket", || UnixStream::connect(run.join("cli.sock")).ok());
    });
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    let status = child.wait().unwrap();
    std::fs::remove_dir_all(run).unwrap();
    result.unwrap();
    assert!(status.success());
}

#[suite::test(netns)]
fn sigpipe_is_ignored() {
    let daemon = Daemon::start("");
    let status = std::fs::read_to_string(format!("/proc/{}/status", daemon.child.id())).unwrap();
    let ignored = status.lines().find_map(|l| l.strip_prefix("SigIgn:")).unwrap();
    let ignored = u64::from_str_radix(ignored.trim(), 16).unwrap();
    assert_eq!(ignored >> (Signal::PIPE.as_raw() - 1) & 1, 1);
}

#[suite::test(netns)]
fn version_and_help() {
    assert!(output(&["--version"]).stdout.starts_with(b"ferrovia 0."));
    assert!(
        String::from_utf8(output(&["--help-config"]).stdout).unwrap().contains("corelist-workers")
    );
    let unknown = ferrovia().arg("--nothing").output().unwrap();
    assert_eq!(unknown.status.code(), Some(78));
}

#[suite::test(netns)]
fn the_punt_socket_takes_nothing_from_others() {
    let dir = tempfile::tempdir().unwrap();
    let run = dir.path().join("run");
    std::fs::create_dir(&run).unwrap();
    let punt = run.join("punt.sock");
    std::fs::write(&punt, "precious").unwrap();
    let (status, text) = Daemon::spawn(&run, "", |_| {}).end();
    assert_eq!(status.code(), Some(1));
    assert!(
        text.contains("punt.sock: there is a file of that name that is not a socket"),
        "{text}"
    );
    assert_eq!(std::fs::read_to_string(&punt).unwrap(), "precious");
    std::fs::remove_file(&punt).unwrap();
    // Another daemon with other sockets but this one.
    let first = Daemon::start_in(&run, "");
    eventually("the socket", || punt.exists().then_some(()));
    let other = "unix { cli-listen b.sock } socksvr { socket-name b-api.sock } statseg { socket-name b-stats.sock }";
    let (status, text) = Daemon::spawn(&run, other, |_| {}).end();
    assert_eq!(status.code(), Some(1));
    assert!(text.contains("punt.sock: another process is listening there"), "{text}");
    assert!(punt.exists(), "the first one's stays");
    drop(first);
    // A killed one's is taken over.
    drop(Daemon::start_in(&run, ""));
}

#[suite::test(netns)]
fn too_little_address_space_is_a_sentence() {
    let dir = tempfile::tempdir().unwrap();
    let text = format!(
        "ulimit -v 4000000; exec {} 'unix {{ nodaemon runtime-dir {} }}'",
        fixture::programs().ferrovia.display(),
        dir.path().display()
    );
    let output = std::process::Command::new("sh").args(["-c", &text]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("GiB of address space, not of memory, can't be reserved"), "{said}");
    assert!(said.contains("the limit is 4000000 KiB: `ulimit -v unlimited'"), "{said}");
    assert!(!said.contains("panicked"), "{said}");
    // The address space that is checked beforehand covers the space that is taken.
    let daemon = Daemon::start("");
    let status = std::fs::read_to_string(format!("/proc/{}/status", daemon.child.id())).unwrap();
    let peak = status.lines().find_map(|l| l.strip_prefix("VmPeak:")).unwrap();
    let peak: usize = peak.split_whitespace().next().unwrap().parse().unwrap();
    use daemon::process::limits::{COMMON_SPACE, THREAD_SPACE};
    assert!(peak << 10 < COMMON_SPACE + THREAD_SPACE + (512 << 20), "{peak} KiB");
}

#[suite::test(netns)]
fn the_table_of_messages_follows_no_link() {
    let dir = tempfile::tempdir().unwrap();
    let victim = dir.path().join("victim");
    std::fs::write(&victim, "precious").unwrap();
    let name = format!("ferrovia-test-{}", std::process::id());
    let table = Path::new("/tmp").join(&name);
    let _ = std::fs::remove_file(&table);
    std::os::unix::fs::symlink(&victim, &table).unwrap();
    let daemon = Daemon::start(&format!("api-trace {{ save-api-table {name} }}"));
    eventually("the table", || table.symlink_metadata().is_ok_and(|m| m.is_file()).then_some(()));
    let text = std::fs::read_to_string(&table).unwrap();
    std::fs::remove_file(&table).unwrap();
    assert!(text.lines().any(|l| l.contains("control_ping_")), "{text}");
    assert_eq!(std::fs::read_to_string(&victim).unwrap(), "precious");
    drop(daemon);
}

#[suite::test(netns)]
fn a_group_or_a_log_file_that_is_not_there_is_warned_of() {
    let mut daemon = Daemon::start(
        "unix { gid no-such-group log /no/such/folder/f.log } api-segment { gid no-such-group }",
    );
    assert!(daemon.cli("show version").contains("ferrovia"));
    daemon.signal(Signal::TERM);
    let (status, text) = daemon.end();
    assert!(status.success(), "{text}");
    assert!(text.contains("there is no group `no-such-group`"), "{text}");
    let log = "log file /no/such/folder/f.log: No such file or directory (os error 2): the log goes to standard error instead";
    assert!(text.contains(log), "{text}");
}

#[suite::test(netns)]
fn the_log_tells_where_it_listens_what_changes_and_who_changed_it() {
    let mut daemon = Daemon::start("prometheus { default }");
    let sockets = |name: &str| daemon.dir.join(name).display().to_string();
    let ready = format!(
        "ready: CLI at {}; API at {}; statistics at {}; metrics at {}",
        sockets("cli.sock"),
        sockets("api.sock"),
        sockets("stats.sock"),
        sockets("metrics.sock")
    );
    for line in [
        "create loopback interface",
        "set interface state loop0 up",
        "show interface",
        "set interface state loop0 down",
    ] {
        daemon.cli(line);
    }
    daemon.cli("delete loopback interface intfc loop0");
    daemon.signal(Signal::TERM);
    let (status, text) = daemon.end();
    assert!(status.success() && text.contains(&ready), "{text}");
    let uid = rustix::process::geteuid().as_raw();
    let user = nix::unistd::User::from_uid(uid.into())
        .unwrap()
        .map_or(format!("user {uid}"), |user| user.name);
    let program = std::fs::read_to_string("/proc/self/comm").unwrap();
    let by = format!("{user} ({}, process {})", program.trim_end(), std::process::id());
    let wanted = [
        format!("{by}: create loopback interface"),
        "loop0: made".into(),
        format!("{by}: set interface state loop0 up"),
        "loop0: admin up".into(),
        format!("{by}: set interface state loop0 down"),
        "loop0: admin down".into(),
        "loop0: deleted".into(),
    ];
    let mut rest = &text[..];
    for line in &wanted {
        let at = rest
            .find(line.as_str())
            .unwrap_or_else(|| panic!("no `{line}` in the right place of\n{text}"));
        rest = &rest[at + line.len()..];
    }
    assert!(!text.contains("show interface"), "what only looks isn't logged: {text}");
}

#[suite::test(netns)]
fn the_history_names_the_user() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("saved");
    let daemon = Daemon::start(&format!("config {{ file {} }}", file.display()));
    daemon.cli("save");
    let history = daemon.cli("show config history");
    let uid = rustix::process::geteuid().as_raw();
    let user = nix::unistd::User::from_uid(uid.into())
        .unwrap()
        .map_or(format!("user {uid}"), |user| user.name);
    assert!(history.contains(&format!("{user} (")) && !history.contains("process "), "{history}");
}
