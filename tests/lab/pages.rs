// SPDX-License-Identifier: Apache-2.0
//! Pages for users are true: the commands of docs/first-router.md run in order and show what the
//! page shows, and each configuration of examples/ is loaded and written again.
//!
//! Covers: bin/ferrovia, bin/ferroctl, features/interface, features/ip, features/l2, features/bond,
//! features/lacp, features/vxlan, features/acl, features/trace, drivers/af_packet, drivers/memif.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use fixture::{PATIENCE, Router, programs};
use testkit::lab;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// A command of a page, and the output that the page shows; none if it shows nothing.
#[derive(Debug, Default)]
struct Step {
    line: usize,
    command: String,
    output: Vec<String>,
}

/// The commands of a page's `console` blocks: lines that begin with `$ `, continued by lines with
/// `> `, each with the lines below it.
fn steps(page: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut inside = false;
    for (number, line) in page.lines().enumerate() {
        match (inside, line) {
            (false, "```console") => inside = true,
            (true, "```") => inside = false,
            (false, _) => {}
            (true, _) => match (line.strip_prefix("$ "), line.strip_prefix("> ")) {
                (Some(command), _) => {
                    steps.push(Step { line: number + 1, command: command.into(), output: vec![] });
                }
                (_, Some(more)) => {
                    let step = steps.last_mut().expect("a command in front");
                    step.command += "\n";
                    step.command += more;
                }
                _ => steps.last_mut().expect("a command in front").output.push(line.into()),
            },
        }
    }
    steps
}

/// True if a line fits one of the page, in which `…` stands for any text. Blanks between words
/// don't count.
fn line_fits(shown: &str, actual: &str) -> bool {
    let join = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let (shown, actual) = (join(shown), join(actual));
    let parts: Vec<&str> = shown.split('…').map(str::trim).collect();
    let (first, rest) = parts.split_first().expect("at least one");
    let Some((last, inner)) = rest.split_last() else { return actual == *first };
    let Some(mut left) = actual.strip_prefix(first) else { return false };
    for part in inner {
        match left.find(part) {
            Some(at) => left = &left[at + part.len()..],
            None => return false,
        }
    }
    left.ends_with(last)
}

/// True if an output fits the lines of the page; a line `…` stands for any number of lines.
fn fits(shown: &[String], actual: &[String]) -> bool {
    match shown.split_first() {
        None => actual.is_empty(),
        Some((first, rest)) if first.trim() == "…" => {
            (0..=actual.len()).any(|n| fits(rest, &actual[n..]))
        }
        Some((first, rest)) => {
            actual.split_first().is_some_and(|(a, more)| line_fits(first, a) && fits(rest, more))
        }
    }
}

/// A shell in namespaces of its own, with folders of its own below /run and /var/lib, so that
/// commands of a page need no other paths than the reader's.
struct Shell {
    process: Child,
    input: ChildStdin,
    lines: Receiver<String>,
}

const END: &str = "end-of-this-step";

impl Shell {
    fn new(folder: &Path) -> Shell {
        let bin = programs().ferrovia.parent().expect("a folder").to_path_buf();
        let path = std::env::var("PATH").unwrap_or_default();
        let mut process = std::process::Command::new("unshare")
            .args(["--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"])
            .args(["bash", "--norc"])
            .env("PATH", format!("{}:{path}", bin.display()))
            .env("LC_ALL", "C.UTF-8")
            .env_remove("XDG_STATE_HOME")
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("unshare");
        let input = process.stdin.take().expect("piped");
        let output = process.stdout.take().expect("piped");
        let (send, lines) = mpsc::channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                let _ = send.send(line);
            }
        });
        let mut shell = Shell { process, input, lines };
        let prepare = "mount -t tmpfs tmpfs /run && mount -t tmpfs tmpfs /var/lib && \
             mount --make-shared /run && ip link set lo up && \
             for f in all default; do echo 1 > /proc/sys/net/ipv6/conf/$f/disable_ipv6; done";
        let (status, output) = shell.run(prepare);
        assert_eq!(status, 0, "{output:?}");
        shell
    }

    /// Runs a command; its status and the lines that it printed.
    fn run(&mut self, command: &str) -> (i32, Vec<String>) {
        writeln!(self.input, "{{ {command}\n}} 2>&1 </dev/null; echo {END} $?").expect("a shell");
        self.input.flush().expect("a shell");
        let (mut output, start) = (Vec::new(), Instant::now());
        loop {
            let left = (3 * PATIENCE).saturating_sub(start.elapsed());
            let Ok(line) = self.lines.recv_timeout(left) else {
                panic!("`{command}` doesn't end: {}", output.join("\n"));
            };
            if let Some((before, status)) = line.split_once(END) {
                if !before.is_empty() {
                    output.push(before.to_string());
                }
                return (status.trim().parse().unwrap_or(-1), output);
            }
            output.push(line);
        }
    }

    /// Runs a step until it shows what the page shows: links and neighbours take a while.
    fn step(&mut self, page: &str, step: &Step) {
        let start = Instant::now();
        let again = step.command.contains("ferroctl show ") || step.command.contains(" ping ");
        loop {
            let (status, output) = self.run(&step.command);
            let error = step.output.iter().any(|line| line.starts_with("ferroctl: "));
            if (status == 0 || error) && (step.output.is_empty() || fits(&step.output, &output)) {
                return;
            }
            assert!(
                again && start.elapsed() < PATIENCE,
                "{page}:{}: $ {}\nstatus {status}; the page shows\n{}\nand the program printed\n{}",
                step.line,
                step.command,
                step.output.join("\n"),
                output.join("\n")
            );
            std::thread::sleep(Duration::from_millis(300));
        }
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn the_first_router_works_as_its_page_says() {
    let Some(_lab) = lab::require(&["root", "ping", "unshare", "bash"]) else { return };
    let page = "docs/first-router.md";
    let text = std::fs::read_to_string(root().join(page)).expect("the page");
    let folder = tempfile::tempdir().expect("a folder");
    let mut shell = Shell::new(folder.path());
    let steps = steps(&text);
    assert!(steps.len() > 40, "{} commands", steps.len());
    steps.iter().for_each(|step| shell.step(page, step));
}

/// Lines of a configuration without comments.
fn settings(text: &str) -> Vec<&str> {
    text.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with('#')).collect()
}

#[test]
fn examples_are_loaded_and_written_again() {
    let Some(lab) = lab::require(&["root"]) else { return };
    let mut tried = 0;
    for file in std::fs::read_dir(root().join("examples")).expect("the folder").flatten() {
        let path = file.path();
        if path.extension().is_none_or(|e| e != "conf") {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("the file");
        let netns = lab.netns("router");
        let peer = lab.netns("peer");
        for line in settings(&text) {
            if let Some(name) = line.strip_prefix("create host-interface name ") {
                let name = name.split(' ').next().expect("a name");
                lab.veth((&netns, name), (&peer, name));
            }
        }
        let startup = format!("unix {{ startup-config {} }}", path.display());
        let router = Router::start(&netns, &startup);
        let pending = router.json("show config pending");
        assert_eq!(pending["lines"], serde_json::json!([]), "{}: {pending}", path.display());
        let running = router.run("show running-config");
        assert_eq!(settings(&running), settings(&text), "{}", path.display());
        router.stop();
        tried += 1;
    }
    assert_eq!(tried, 5, "examples");
}

#[test]
fn outputs_are_compared_with_what_a_page_shows() {
    let lines = |text: &str| text.lines().map(String::from).collect::<Vec<_>>();
    for (shown, actual, fit) in [
        ("a b", "a   b", true),
        ("a … c", "a b b c", true),
        ("a … c", "a b b", false),
        ("a …", "a b", true),
        ("… b", "a b", true),
        ("a", "a b", false),
        ("x\n…\ny", "x\n1\n2\ny", true),
        ("x\n…", "x", true),
        ("x\n…\ny", "x\n1", false),
    ] {
        assert_eq!(fits(&lines(shown), &lines(actual)), fit, "{shown:?} {actual:?}");
    }
    let page = "text\n```console\n$ cat <<EOF\n> a\n> EOF\na\n$ true\n```\n```sh\n$ no\n```\n";
    let steps = steps(page);
    assert_eq!(steps.len(), 2);
    assert_eq!(steps[0].command, "cat <<EOF\na\nEOF");
    assert_eq!(steps[0].output, ["a"]);
}
