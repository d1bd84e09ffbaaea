// SPDX-License-Identifier: Apache-2.0
//! A daemon as a real process, and a client that sends what `vppctl` sends.
#![allow(dead_code, reason = "every test file uses its own part")]

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// Long enough for a loaded machine; what is waited for usually takes milliseconds.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// Waits until `check` returns a value.
pub fn eventually<T>(what: &str, mut check: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = check() {
            return found;
        }
        assert!(start.elapsed() < PATIENCE, "{what} did not happen");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The program under test.
pub fn ferrovia() -> Command {
    let mut command = Command::new(&fixture::programs().ferrovia);
    command.stdin(Stdio::null());
    command
}

/// Runs the program to its end.
pub fn output(args: &[&str]) -> Output {
    ferrovia().args(args).output().expect("the program can be run")
}

/// A daemon in the foreground, with a runtime directory of its own; killed at the end if it still
/// runs.
pub struct Daemon {
    pub dir: PathBuf,
    pub child: Child,
    _temp: Option<tempfile::TempDir>,
}

impl Daemon {
    /// Starts with further configuration, and waits until the CLI listens.
    pub fn start(more: &str) -> Daemon {
        let temp = tempfile::tempdir().unwrap();
        let dir = temp.path().join("run");
        let mut daemon = Daemon::start_in(&dir, more);
        daemon._temp = Some(temp);
        daemon
    }

    /// Starts in a given runtime directory.
    pub fn start_in(dir: &Path, more: &str) -> Daemon {
        let mut daemon = Daemon::spawn(dir, more, |_| {});
        let socket = daemon.socket();
        eventually("the start", || {
            if let Some(status) = daemon.child.try_wait().unwrap() {
                let mut text = String::new();
                daemon.child.stderr.take().map(|mut e| e.read_to_string(&mut text));
                panic!("ended with {status}: {text}");
            }
            // The socket of a killed daemon may be there before this daemon listens.
            UnixStream::connect(&socket).ok()
        });
        daemon
    }

    /// Starts and doesn't wait.
    pub fn spawn(dir: &Path, more: &str, change: impl FnOnce(&mut Command)) -> Daemon {
        let unix = format!("unix {{ nodaemon runtime-dir {} }} {more}", dir.display());
        let mut command = ferrovia();
        command.arg(unix).stderr(Stdio::piped());
        change(&mut command);
        let child = command.spawn().expect("the program can be run");
        Daemon { dir: dir.to_path_buf(), child, _temp: None }
    }

    pub fn socket(&self) -> PathBuf {
        self.dir.join("cli.sock")
    }

    pub fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).unwrap();
    }

    /// Waits for the end of the process; gives its status and what it wrote to standard error.
    pub fn end(&mut self) -> (ExitStatus, String) {
        let status = eventually("the end", || self.child.try_wait().unwrap());
        let mut text = String::new();
        if let Some(mut stderr) = self.child.stderr.take() {
            stderr.read_to_string(&mut text).unwrap();
        }
        (status, text)
    }

    pub fn client(&self) -> Client {
        Client::connect(&self.socket())
    }

    /// One command as `vppctl` runs it.
    pub fn cli(&self, command: &str) -> String {
        self.client().run(command)
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts a process as another user.
pub fn as_user(command: &mut Command, id: u32) {
    command.uid(id).gid(id);
}

const IAC: u8 = 255;

/// A client that calls its terminal `vppctl`.
pub struct Client(pub UnixStream);

impl Client {
    pub fn connect(path: &Path) -> Client {
        let mut stream = UnixStream::connect(path).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(&[&[IAC, 250, 24, 0][..], b"vppctl", &[IAC, 240]].concat()).unwrap();
        Client(stream)
    }

    /// Sends a command and gives what comes before the NUL, without telnet's negotiation.
    pub fn run(&mut self, command: &str) -> String {
        self.send(command);
        self.answer()
    }

    pub fn send(&mut self, command: &str) {
        // The NUL reports that no script is coming: only requested answers are sent.
        self.0.write_all(format!("{command}\n\0").as_bytes()).unwrap();
    }

    pub fn answer(&mut self) -> String {
        let mut text = Vec::new();
        loop {
            match self.byte() {
                Some(0) => return String::from_utf8(text).unwrap(),
                Some(IAC) => self.negotiation(),
                Some(byte) => text.push(byte),
                None => panic!("closed after {:?}", String::from_utf8_lossy(&text)),
            }
        }
    }

    fn negotiation(&mut self) {
        if self.byte() == Some(250) {
            let mut last = 0;
            while let Some(byte) = self.byte() {
                if (last, byte) == (IAC, 240) {
                    break;
                }
                last = byte;
            }
        } else {
            self.byte();
        }
    }

    fn byte(&mut self) -> Option<u8> {
        let mut byte = [0];
        match self.0.read(&mut byte).expect("an answer in time") {
            0 => None,
            _ => Some(byte[0]),
        }
    }
}
