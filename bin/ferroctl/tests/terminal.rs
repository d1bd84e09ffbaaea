// SPDX-License-Identifier: Apache-2.0
//! The conversation on a pseudo terminal.

mod server;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use server::Server;
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
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a pseudo terminal");
        grantpt(&master).and_then(|()| unlockpt(&master)).expect("its other side");
        let name = ptsname(&master, Vec::new()).expect("its name").into_string().expect("text");
        let side = || Stdio::from(File::options().read(true).write(true).open(&name).expect("the terminal"));
        let home = tempfile::tempdir().expect("a directory");
        let child = Command::new(env!("CARGO_BIN_EXE_ferroctl"))
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

    /// Waits until the screen has shown `text` since the last call that found something.
    #[track_caller]
    fn expect(&mut self, text: &str) {
        while !self.seen.contains(text) {
            match self.screen.recv_timeout(Duration::from_secs(20)) {
                Ok(bytes) => self.seen += &String::from_utf8_lossy(&bytes),
                Err(_) => panic!("{text:?} never came, but {:?}", self.seen),
            }
        }
        let end = self.seen.find(text).expect("it was found") + text.len();
        self.seen.drain(..end);
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
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
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

#[test]
fn the_pager_shows_an_answer_that_is_still_made_and_leaving_it_ends_the_answer() {
    let server = Server::start();
    // It shows the start of what comes, and leaves.
    let mut t = Terminal::with_pager(&server, &[], "head -n 3");
    t.expect("ferrovia# ");
    t.type_in("show endless\r");
    t.expect("line 0\r\nline 1\r\nline 2\r\n");
    t.expect("ferrovia# ");
    t.type_in("show version\r");
    t.expect("toy 1\r\n");
    t.expect("ferrovia# ");
    t.type_in("q\r");
    assert_eq!(t.status(), Some(0));
    assert!(!t.seen.contains("cancelled"));
}

#[test]
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
