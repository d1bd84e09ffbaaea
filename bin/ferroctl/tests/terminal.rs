// SPDX-License-Identifier: Apache-2.0
//! The conversation on a pseudo terminal.

use super::server::Server;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcsetwinsize};
use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

struct Terminal {
    keyboard: File,
    screen: Receiver<Vec<u8>>,
    child: Child,
    seen: String,
    _home: tempfile::TempDir,
}

impl Terminal {
    fn start(server: &Server, args: &[&str]) -> Self {
        Self::with_pager(server, args, "cat")
    }

    fn with_pager(server: &Server, args: &[&str], pager: &str) -> Self {
        Self::spawn(Command::new(&fixture::programs().ferroctl), server, args, pager)
    }

    /// As the terminal of a session of its own, so that ^C interrupts what runs.
    fn controlling(server: &Server, args: &[&str], pager: &str) -> Self {
        let mut setsid = Command::new("setsid");
        setsid.args(["--ctty", "--wait"]).arg(&fixture::programs().ferroctl);
        Self::spawn(setsid, server, args, pager)
    }

    fn spawn(mut program: Command, server: &Server, args: &[&str], pager: &str) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a pseudo terminal");
        grantpt(&master).and_then(|()| unlockpt(&master)).expect("its other side");
        let size = Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&master, size).expect("a size");
        let name = ptsname(&master, Vec::new()).expect("its name").into_string().expect("text");
        let side = || {
            Stdio::from(File::options().read(true).write(true).open(&name).expect("the terminal"))
        };
        let home = tempfile::tempdir().expect("a directory");
        let child = program
            .arg("-s")
            .arg(&server.socket)
            .args(args)
            .env("TERM", "xterm")
            .env("PAGER", pager)
            .env("XDG_STATE_HOME", home.path())
            .stdin(side())
            .stdout(side())
            .stderr(side())
            .spawn()
            .expect("ferroctl");
        let keyboard = File::from(master);
        let mut reader = keyboard.try_clone().expect("a copy");
        let (send, screen) = channel();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(n @ 1..) = reader.read(&mut buffer) {
                if send.send(buffer[..n].to_vec()).is_err() {
                    return;
                }
            }
        });
        Self { keyboard, screen, child, seen: String::new(), _home: home }
    }

    /// Waits until the screen has shown `text` since the last call that found something. Returns
    /// the output since then.
    #[track_caller]
    fn expect(&mut self, text: &str) -> String {
        while !self.seen.contains(text) {
            match self.screen.recv_timeout(Duration::from_secs(20)) {
                Ok(bytes) => self.seen += &String::from_utf8_lossy(&bytes),
                Err(_) => {
                    let tail = self.seen.ceil_char_boundary(self.seen.len().saturating_sub(2000));
                    panic!(
                        "{text:?} never came, but {} bytes, at last {:?}",
                        self.seen.len(),
                        &self.seen[tail..]
                    )
                }
            }
        }
        let end = self.seen.find(text).expect("it was found") + text.len();
        self.seen.drain(..end).collect()
    }

    /// Waits for the end of the program.
    fn status(&mut self) -> Option<i32> {
        for _ in 0..1000 {
            if let Some(status) = self.child.try_wait().expect("a child") {
                return status.code();
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("it does not end; the screen: {:?}", self.seen);
    }

    fn type_in(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).expect("the terminal");
    }

    /// Types keys as slowly as a person does.
    fn type_slowly(&mut self, keys: &str) {
        for key in keys.chars() {
            std::thread::sleep(Duration::from_millis(30));
            self.type_in(key.encode_utf8(&mut [0; 4]));
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[suite::test(netns)]
fn a_conversation() {
    let server = Server::start();
    let mut t = Terminal::start(&server, &[]);
    t.expect("Connected to");
    t.expect("ferrovia# ");
    t.type_in("sh\t");
    t.expect("show ");
    t.type_in("v\t\r");
    t.expect("toy 1\r\n");
    t.expect("ferrovia# ");
    // `?` answers and leaves the line as it is.
    t.type_in("show int ?");
    t.expect("show interface [<interface>]\r\nInterfaces\r\n");
    t.expect("host-eth0    interface\r\n");
    t.expect("ferrovia# show int ");
    t.type_in("lo\t\r");
    t.expect("interface local0\r\n");
    // A question mark in quotes is text.
    t.type_in("echo \"a?\"\r");
    t.expect("\r\n\"a?\"\r\n");
    // A block goes over lines.
    t.type_in("packet-generator new { x\ry }\r");
    t.expect("\r\n x\r\ny \r\n");
    t.type_in("fail\r");
    t.expect("it failed\r\n");
    // History; within the block of two lines ↑ goes up a line first.
    t.expect("ferrovia# ");
    t.type_in("\x1b[A\x1b[A\x1b[A\x1b[A\r");
    t.expect("\r\n\"a?\"\r\n");
    t.expect("ferrovia# ");
    t.type_in("q\r");
    assert_eq!(t.status(), Some(0));
}

#[suite::test(netns)]
fn the_pager_shows_an_answer_that_is_still_made_and_leaving_it_ends_the_answer() {
    let server = Server::start();
    // It shows the start of the output, and exits.
    let mut t = Terminal::with_pager(&server, &[], "head -n 3");
    t.expect("ferrovia# ");
    t.type_slowly("show endless\r");
    t.expect("line 0\r\nline 1\r\nline 2\r\n");
    t.expect("ferrovia# ");
    t.type_in("show version\r");
    t.expect("toy 1\r\n");
    t.expect("ferrovia# ");
    t.type_in("q\r");
    assert_eq!(t.status(), Some(0));
    assert!(!t.seen.contains("cancelled"));
}

#[suite::test(netns)]
fn a_long_help_is_paged_and_leaves_the_line_as_it_is() {
    let server = Server::start();
    let mut t = Terminal::with_pager(&server, &[], "head -n 3");
    t.expect("ferrovia# ");
    t.type_slowly("show node ?");
    let shown = t.expect("ferrovia# show node ");
    assert!(shown.contains("A node\r\n") && !shown.contains("node-50"), "{shown}");
    t.type_in("node-07\r");
    t.expect("\r\nnode-07\r\n");
    t.type_in("q\r");
    assert_eq!(t.status(), Some(0));
}

/// A hundred lines and their answers.
fn hundred() -> (String, String) {
    (0..100)
        .map(|i| {
            (
                format!("echo this is line {i} of them\r"),
                format!("\r\nthis is line {i} of them\r\n"),
            )
        })
        .unzip()
}

/// Takes the answers in order; what is edited stands between them.
#[track_caller]
fn expect_each(t: &mut Terminal, answers: &str) {
    answers
        .split_inclusive("\r\n")
        .filter(|l| !l.trim().is_empty())
        .for_each(|l| drop(t.expect(&format!("\n{l}"))));
}

#[suite::test(netns)]
fn every_line_that_is_typed_ahead_runs_in_order() {
    let server = Server::start();
    let mut t = Terminal::start(&server, &[]);
    t.expect("ferrovia# ");
    let (lines, answers) = hundred();
    t.type_in(&lines);
    expect_each(&mut t, &answers);
    // The last line has no end yet, and goes on where it was left.
    t.type_in("echo one\recho tw");
    t.expect("\r\none\r\n");
    t.expect("echo tw");
    t.type_in("o\rq\r");
    t.expect("\r\ntwo\r\n");
    assert_eq!(t.status(), Some(0));
}

#[suite::test(netns)]
fn every_line_of_a_bracketed_paste_runs_in_order() {
    let server = Server::start();
    let mut t = Terminal::start(&server, &[]);
    t.expect("ferrovia# ");
    let (lines, answers) = hundred();
    t.type_in(&format!("\x1b[200~{}\x1b[201~", lines.replace('\r', "\n")));
    expect_each(&mut t, &answers);
    // Tabs and question marks are text, a block goes over its lines, and what has no end waits for
    // Enter.
    t.type_in("\x1b[200~echo\ta?b\npacket-generator new {\n\tx\n}\necho last\x1b[201~");
    t.expect("\r\na?b\r\n");
    t.expect("\r\n\r\n x\r\n");
    t.expect("echo last");
    t.type_in("\r");
    t.expect("\r\nlast\r\n");
    // Keys mean again what they mean.
    t.expect("ferrovia# ");
    t.type_in("sh\tv\t\r");
    t.expect("toy 1\r\n");
    t.type_in("q\r");
    assert_eq!(t.status(), Some(0));
}

#[suite::test(netns)]
fn the_pager_takes_no_lines_that_were_pasted() {
    let server = Server::start();
    let mut t = Terminal::with_pager(&server, &[], "sed s/line/paged/");
    t.expect("ferrovia# ");
    t.type_in("\x1b[200~show many\recho one\r\x1b[201~");
    t.expect("line\r\n");
    t.expect("\r\none\r\n");
    // Lines of a terminal that doesn't bracket what is pasted.
    t.type_in("show many\recho two\r");
    t.expect("line\r\n");
    t.expect("\r\ntwo\r\n");
    t.type_in("q\r");
    assert_eq!(t.status(), Some(0));
}

/// Stops an endless answer, and a conversation that lines are typed ahead of.
fn interrupts(pager: &str) {
    let server = Server::start();
    let mut t = stopped(&server, &[], pager, "line 1");
    // Lines behind a command that is stopped don't run.
    t.type_in("ping\recho never\r");
    t.expect("reply 2\r\n");
    t.type_in("\x03");
    t.expect("statistics\r\n");
    t.expect("ferrovia# ");
    t.type_in("echo end\r");
    t.expect("\r\nend\r\n");
    t.type_in("q\r");
    assert_eq!(t.status(), Some(0));
}

/// A terminal in which an endless answer was stopped once this text of it had come.
fn stopped(server: &Server, args: &[&str], pager: &str, text: &str) -> Terminal {
    let mut t = Terminal::controlling(server, args, pager);
    t.expect("ferrovia# ");
    t.type_slowly("show endless\r");
    t.expect(text);
    t.type_in("\x03");
    t.expect("ferrovia# ");
    t.type_in("echo still here\r");
    t.expect("still here");
    t.expect("still here");
    t
}

#[suite::test(netns)]
fn interrupt_ends_a_long_answer_and_what_was_typed_ahead_of_its_end() {
    interrupts("cat");
}

#[suite::test(netns)]
fn interrupt_ends_a_long_answer_within_a_pager() {
    if Command::new("less").arg("-V").output().is_err() {
        testkit::skip("less");
        return;
    }
    interrupts("less -FRXK");
}

/// `less` misses an interrupt that comes just before it waits for a key.
#[suite::test(netns)]
fn interrupt_ends_a_pager_that_missed_it() {
    let dir = tempfile::tempdir().expect("a directory");
    let pager = dir.path().join("pager");
    let script = "trap 'trap - INT' INT\nhead -n 5\nwhile :; do sleep 0.05; done\n";
    std::fs::write(&pager, script).expect("a script");
    interrupts(&format!("sh {}", pager.display()));
}

#[suite::test(netns)]
fn interrupt_ends_a_long_answer_in_json() {
    let server = Server::start();
    let mut t = stopped(&server, &["-j"], "cat", "1,\r\n");
    t.type_in("q\r");
    assert_eq!(t.status(), Some(0));
}

#[suite::test(netns)]
fn the_terminal_gets_its_mode_back() {
    let server = Server::start();
    let mut t = Terminal::start(&server, &[]);
    let modes =
        |t: &Terminal| rustix::termios::tcgetattr(&t.keyboard).expect("its mode").local_modes;
    t.expect("ferrovia# ");
    assert!(!modes(&t).contains(LocalModes::ECHO));
    t.type_in("q\r");
    assert_eq!(t.status(), Some(0));
    assert!(modes(&t).contains(LocalModes::ECHO | LocalModes::ICANON));
}

#[suite::test(netns)]
fn answers_in_json_and_leaves_at_the_end() {
    let server = Server::start();
    let mut t = Terminal::start(&server, &["-j"]);
    t.expect("ferrovia# ");
    t.type_in("show version\r");
    t.expect("{\r\n  \"version\": \"toy 1\"\r\n}\r\n");
    t.expect("ferrovia# ");
    t.type_in("\x04");
    assert_eq!(t.status(), Some(0));
}

/// A daemon that answers late and accepts no new client meanwhile: the answer to an abandoned
/// request isn't taken for that of the next command.
#[suite::test(netns)]
fn an_answer_that_was_given_up_is_not_the_next_ones() {
    let server = Server::to_one_client();
    let mut t = Terminal::controlling(&server, &[], "cat");
    t.expect("ferrovia# ");
    t.type_in("late\r");
    t.expect("late");
    // The first ^C cancels, the second one ends the wait, the third one ends the attempt to
    // reconnect.
    for _ in 0..3 {
        std::thread::sleep(Duration::from_millis(300));
        t.type_in("\x03");
    }
    t.expect("ferrovia# ");
    t.type_in("show version\r");
    let shown = t.expect("toy 1");
    assert!(!shown.contains("the late answer"), "{shown:?}");
}
