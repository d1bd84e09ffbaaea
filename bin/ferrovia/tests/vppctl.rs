// SPDX-License-Identifier: Apache-2.0
//! Scripts through a client that decides as `vppctl` does: which input it reads, in which pieces,
//! and when it sends `quit`.

use std::io::{ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

use super::common::{Daemon, PATIENCE};
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

const IAC: u8 = 255;
/// Bytes that `vppctl` reads at once, from either side.
const PIECE: usize = 100;
const SOCKET: u64 = 0;
const STDIN: u64 = 1;

/// The fault that ended a run early.
#[derive(Debug, PartialEq, Eq)]
enum Fault {
    /// A signal that ends the program: it wrote to a socket that was closed.
    BrokenPipe,
    /// Nothing comes from the socket any more, and it looks nowhere else.
    Hangs,
}

/// `vppctl` with a script on its standard input.
struct Vppctl {
    socket: UnixStream,
    stdin: std::io::PipeReader,
    /// It has sent its terminal type; before that it reads no script.
    introduced: bool,
    /// The end of the script was seen, and `quit` is due. The end is seen again at every turn.
    quit: bool,
    /// NULs that came.
    acknowledged: usize,
    shown: Vec<u8>,
}

impl Vppctl {
    fn connect(daemon: &Daemon, stdin: std::io::PipeReader) -> Vppctl {
        // The daemon knows it by its name; here a test is a process of its own.
        std::fs::write("/proc/self/comm", "vppctl").unwrap();
        let socket = UnixStream::connect(daemon.socket()).unwrap();
        Vppctl { socket, stdin, introduced: false, quit: false, acknowledged: 0, shown: Vec::new() }
    }

    /// Handles one event at a time, as long as the connection is open; returns the text on standard
    /// output.
    fn run(mut self) -> Result<String, (Fault, String)> {
        let ended = self.turn();
        let shown = String::from_utf8(self.shown).unwrap();
        ended.map_err(|fault| (fault, shown.clone()))?;
        Ok(shown)
    }

    fn turn(&mut self) -> Result<(), Fault> {
        let all = epoll::create(epoll::CreateFlags::CLOEXEC).unwrap();
        let watch = |fd: &dyn AsFd, name| {
            epoll::add(&all, fd.as_fd(), EventData::new_u64(name), EventFlags::IN).unwrap();
        };
        watch(&self.stdin, STDIN);
        watch(&self.socket, SOCKET);
        let start = std::time::Instant::now();
        loop {
            let mut event = Vec::with_capacity(1);
            let wait = Timespec::try_from(PATIENCE).unwrap();
            epoll::wait(&all, rustix::buffer::spare_capacity(&mut event), Some(&wait)).unwrap();
            match event.first().map(|e: &epoll::Event| e.data.u64()) {
                Some(STDIN) => self.script()?,
                Some(_) if !self.answers()? => return Ok(()),
                Some(_) | None => {}
            }
            if start.elapsed() > PATIENCE {
                return Err(Fault::Hangs);
            }
        }
    }

    /// Something is on standard input, or its end.
    fn script(&mut self) -> Result<(), Fault> {
        if !self.introduced {
            return Ok(());
        }
        let mut piece = [0; PIECE];
        match self.stdin.read(&mut piece).unwrap() {
            0 => self.quit = true,
            n => self.send(&piece[..n])?,
        }
        Ok(())
    }

    /// Something is on the socket; false at its end.
    fn answers(&mut self) -> Result<bool, Fault> {
        let mut piece = [0; PIECE];
        let n = match self.socket.read(&mut piece) {
            Ok(0) => return Ok(false),
            Ok(n) => n,
            Err(e) if e.kind() == ErrorKind::ConnectionReset => return Ok(false),
            Err(e) => panic!("{e}"),
        };
        if !self.introduced && piece.contains(&IAC) {
            self.introduced = true;
            self.send(&[&[IAC, 250, 24, 0][..], b"vppctl", &[IAC, 240]].concat())?;
        } else {
            self.acknowledged += piece[..n].iter().filter(|b| **b == 0).count();
            self.shown.extend(piece[..n].iter().filter(|b| **b != 0));
        }
        if self.acknowledged > 0 && std::mem::take(&mut self.quit) {
            self.send(b"quit\n")?;
        }
        Ok(true)
    }

    fn send(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        match self.socket.write_all(bytes) {
            Err(e) if e.kind() == ErrorKind::BrokenPipe => Err(Fault::BrokenPipe),
            sent => {
                sent.unwrap();
                Ok(())
            }
        }
    }
}

#[suite::test(netns)]
fn scripts_of_any_length_end_with_all_their_answers() {
    let daemon = Daemon::start("");
    for lines in [1, 2, 5, 30, 300] {
        let (script, expected): (String, String) =
            (0..lines).map(|i| (format!("echo line {i}\n"), format!("line {i}\n"))).unzip();
        for _ in 0..10 {
            let (stdin, mut pipe) = std::io::pipe().unwrap();
            let client = Vppctl::connect(&daemon, stdin);
            pipe.write_all(script.as_bytes()).unwrap();
            drop(pipe);
            assert_eq!(client.run(), Ok(expected.clone()), "{lines} lines");
        }
    }
}

#[suite::test(netns)]
fn a_script_whose_end_comes_behind_all_answers_ends() {
    let daemon = Daemon::start("");
    for script in ["", "echo one\n", "echo one\n\n# nothing\necho two\n"] {
        let (stdin, mut pipe) = std::io::pipe().unwrap();
        let mut client = Vppctl::connect(&daemon, stdin);
        pipe.write_all(script.as_bytes()).unwrap();
        // All answers of the daemon to these lines have come before their end is seen.
        let lines = script.lines().count();
        while !client.introduced || client.acknowledged < lines {
            client.answers().unwrap();
            if !script.is_empty() && client.acknowledged == 0 && client.introduced {
                client.script().unwrap();
            }
        }
        drop(pipe);
        let expected: String = script
            .lines()
            .filter_map(|l| l.strip_prefix("echo "))
            .map(|l| format!("{l}\n"))
            .collect();
        assert_eq!(client.run(), Ok(expected));
    }
}

#[suite::test(netns)]
fn asking_for_the_end_twice_loses_nothing() {
    let daemon = Daemon::start("");
    let mut s = daemon.client().0;
    s.write_all(format!("{}quit\n", "echo 0123456789\n".repeat(1000)).as_bytes()).unwrap();
    // The daemon is done and has shut its sending side: its output isn't read yet.
    let mut fds = [PollFd::new(&s, PollFlags::RDHUP)];
    let wait = Timespec::try_from(PATIENCE).unwrap();
    assert_eq!(poll(&mut fds, Some(&wait)), Ok(1));
    s.write_all(b"quit\n").expect("the daemon still takes what comes");
    let mut all = Vec::new();
    s.read_to_end(&mut all).expect("and resets nothing");
    assert_eq!(all.windows(12).filter(|w| w == b"0123456789\n\0").count(), 1000);
}

/// A program that speaks as `vppctl` and divides the answers by their NULs.
#[suite::test(netns)]
fn other_programs_get_one_nul_for_each_command() {
    let daemon = Daemon::start("");
    let mut s = UnixStream::connect(daemon.socket()).unwrap();
    s.write_all(&[&[IAC, 250, 24, 0][..], b"vppctl", &[IAC, 240]].concat()).unwrap();
    for command in ["echo one\n", "wait 0.1\n", "echo two\n", "echo three\n"] {
        s.write_all(command.as_bytes()).unwrap();
        // Idle for longer than the delay of what `vppctl` itself is sent.
        assert_eq!(daemon.client().run("wait 0.05"), "");
    }
    s.write_all(b"quit\n").unwrap();
    let mut all = Vec::new();
    s.read_to_end(&mut all).unwrap();
    let text = String::from_utf8_lossy(&all[cli::session::GREETING.len()..]).into_owned();
    assert_eq!(text, "one\n\0\0two\n\0three\n\0");
}

#[suite::test(netns)]
fn a_command_of_its_own_gets_one_nul() {
    let daemon = Daemon::start("");
    let mut s = daemon.client();
    assert_eq!(s.run("echo one"), "one\n");
    // Time enough for what an idle script would be sent.
    assert_eq!(daemon.client().run("wait 0.1"), "");
    assert_eq!(s.run("echo two"), "two\n");
}
