// SPDX-License-Identifier: Apache-2.0
//! Processes with a time limit and captured output.

use std::{
    ffi::{OsStr, OsString},
    io::{Read, Write},
    os::unix::process::{CommandExt, ExitStatusExt},
    process::{Child, ExitStatus, Stdio},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::{Pid, PidfdFlags, kill_process, kill_process_group, pidfd_open},
};

use super::{
    Netns, find_program,
    sweep::{TAG, run_name},
};

pub use rustix::process::Signal;

/// A command to be run.
#[derive(Clone, Debug)]
#[must_use = "nothing runs before run, ok or spawn"]
pub struct Command {
    netns: Option<Netns>,
    words: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
    input: Vec<u8>,
    timeout: Duration,
}

/// The result of a command.
#[derive(Clone, Debug)]
pub struct Output {
    /// Exit status; `None` if a signal ended it.
    pub code: Option<i32>,
    /// True if it was killed because its time was over.
    pub timed_out: bool,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl Output {
    /// Exit status 0.
    pub fn success(&self) -> bool {
        self.code == Some(0) && !self.timed_out
    }

    /// The failure, and the output.
    pub fn complaint(&self) -> String {
        let how = match (self.timed_out, self.code) {
            (true, _) => "no end in time".into(),
            (false, Some(code)) => format!("exit status {code}"),
            (false, None) => "ended by a signal".into(),
        };
        format!("{how}\n{}{}", self.stdout, self.stderr).trim_end().to_string()
    }
}

impl Command {
    /// Default time limit of a command.
    pub const TIMEOUT: Duration = Duration::from_secs(20);

    pub(super) fn new(netns: Option<Netns>, program: &str) -> Self {
        let (environment, input) = (Vec::new(), Vec::new());
        Self { netns, words: vec![program.into()], environment, input, timeout: Self::TIMEOUT }
    }

    /// Adds arguments.
    pub fn args<S: AsRef<OsStr>>(mut self, words: impl IntoIterator<Item = S>) -> Self {
        self.words.extend(words.into_iter().map(|word| word.as_ref().to_os_string()));
        self
    }

    /// Sets an environment variable.
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.environment.push((name.as_ref().into(), value.as_ref().into()));
        self
    }

    /// Sets its standard input, otherwise empty.
    pub fn input(mut self, bytes: impl AsRef<[u8]>) -> Self {
        self.input = bytes.as_ref().to_vec();
        self
    }

    /// Sets the time after which [`Command::run`] and [`Command::ok`] kill it.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    fn text(&self) -> String {
        let words: Vec<_> = self.words.iter().map(|word| word.to_string_lossy()).collect();
        words.join(" ")
    }

    /// Runs it to its end. Panics only if it can't be started.
    #[track_caller]
    pub fn run(self) -> Output {
        let timeout = self.timeout;
        let mut process = self.spawn();
        let timed_out = process.wait(timeout).is_none();
        Output { timed_out, ..process.kill() }
    }

    /// Runs it to its end, panics unless it succeeds, and gives its standard output.
    #[track_caller]
    pub fn ok(self) -> String {
        let text = self.text();
        let output = self.run();
        assert!(output.success(), "{text}: {}", output.complaint());
        output.stdout
    }

    /// Starts it in the background.
    #[track_caller]
    pub fn spawn(self) -> Background {
        let text = self.text();
        let (program, words) =
            self.words.split_first().unwrap_or_else(|| unreachable!("the program is a word"));
        let found = program.to_str().and_then(find_program).map_or(program.clone(), OsString::from);
        let mut command = match self.netns.as_ref().and_then(Netns::name) {
            Some(name) => {
                let ip = find_program("ip").unwrap_or_else(|| "ip".into());
                let mut command = std::process::Command::new(ip);
                command.args(["netns", "exec", name]).arg(found);
                command
            }
            None => std::process::Command::new(found),
        };
        command.args(words).env(TAG, run_name()).env("LC_ALL", "C").envs(self.environment);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // a group of its own, so that its children can be ended with it
        command.process_group(0);
        let mut child = command.spawn().unwrap_or_else(|error| panic!("{text}: {error}"));
        if let Some(mut stdin) = child.stdin.take() {
            // from a thread, because it may answer before it has read everything; a program that
            // reads nothing closes the pipe, which is its right
            let input = self.input;
            std::thread::spawn(move || stdin.write_all(&input));
        }
        let (stdout, stderr) =
            (Captured::of(child.stdout.take()), Captured::of(child.stderr.take()));
        Background { child, text, stdout, stderr, reaped: None, _netns: self.netns }
    }
}

/// A process in the background, killed together with its children when this value goes.
#[derive(Debug)]
pub struct Background {
    child: Child,
    text: String,
    stdout: Arc<Captured>,
    stderr: Arc<Captured>,
    reaped: Option<ExitStatus>,
    _netns: Option<Netns>,
}

impl Background {
    /// Its process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Returns true if it hasn't ended.
    pub fn is_running(&mut self) -> bool {
        self.wait(Duration::ZERO).is_none()
    }

    /// Its standard output so far.
    pub fn stdout(&self) -> String {
        self.stdout.text()
    }

    /// Its standard error so far.
    pub fn stderr(&self) -> String {
        self.stderr.text()
    }

    /// Waits until its standard output contains `text`; panics if it ends or `timeout` passes
    /// before.
    #[track_caller]
    pub fn wait_for(&self, text: &str, timeout: Duration) {
        let found =
            self.stdout.wait(timeout, |bytes, _| String::from_utf8_lossy(bytes).contains(text));
        assert!(
            found,
            "{}: no {text:?} in its output:\n{}{}",
            self.text,
            self.stdout(),
            self.stderr()
        );
    }

    /// Sends it a signal; nothing happens if it has ended.
    pub fn signal(&self, signal: Signal) {
        if let (None, Some(pid)) = (self.reaped, self.pid()) {
            let _ = kill_process(pid, signal);
        }
    }

    /// Waits for its end: the exit status (128 + signal if a signal ended it), `None` if `timeout`
    /// passes before. Its output is complete then.
    pub fn wait(&mut self, timeout: Duration) -> Option<i32> {
        if self.reaped.is_none() {
            self.wait_unreaped(timeout)?;
            self.reap();
            self.wait_for_output();
        }
        self.reaped
            .map(|status| status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0)))
    }

    /// Asks it to end (SIGTERM), waits for at most `timeout`, then kills it and what is left of its
    /// children.
    pub fn stop(mut self, timeout: Duration) -> Output {
        self.signal(Signal::TERM);
        let timed_out = self.wait(timeout).is_none();
        Output { timed_out, ..self.kill() }
    }

    /// Kills it and its children.
    pub fn kill(mut self) -> Output {
        self.end();
        self.wait_for_output();
        let code = self.reaped.and_then(|status| status.code());
        Output { code, timed_out: false, stdout: self.stdout(), stderr: self.stderr() }
    }

    fn pid(&self) -> Option<Pid> {
        i32::try_from(self.child.id()).ok().and_then(Pid::from_raw)
    }

    /// Waits until it has ended, but leaves its process id taken.
    fn wait_unreaped(&self, timeout: Duration) -> Option<()> {
        let pidfd = pidfd_open(self.pid()?, PidfdFlags::empty()).ok()?;
        let deadline = Instant::now() + timeout;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let left =
                Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() };
            match poll(&mut [PollFd::new(&pidfd, PollFlags::IN)], Some(&left)) {
                Ok(0) => return None,
                Ok(_) => return Some(()),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => panic!("{}: {error}", self.text),
            }
        }
    }

    /// Kills what is left of the group and takes the exit status; the process has ended or is ended
    /// by this.
    fn reap(&mut self) {
        // before wait, so that the number still belongs to this group
        if let Some(pid) = self.pid() {
            let _ = kill_process_group(pid, Signal::KILL);
        }
        self.reaped = self.child.wait().ok();
    }

    /// Waits until all is read that the ended process has written.
    fn wait_for_output(&self) {
        // a grandchild in a group of its own may keep a pipe open for ever
        for captured in [&self.stdout, &self.stderr] {
            captured.wait(Duration::from_secs(1), |_, ended| ended);
        }
    }

    fn end(&mut self) {
        if self.reaped.is_none() {
            self.reap();
        }
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.end();
    }
}

/// Bytes that a thread reads from a pipe.
#[derive(Debug, Default)]
struct Captured {
    state: Mutex<(Vec<u8>, bool)>,
    changed: Condvar,
}

impl Captured {
    fn of(pipe: Option<impl Read + Send + 'static>) -> Arc<Self> {
        let this = Arc::new(Self::default());
        let writer = this.clone();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            let mut pipe = pipe;
            loop {
                let read = pipe.as_mut().map_or(Ok(0), |pipe| pipe.read(&mut buffer));
                let mut state = writer.lock();
                match read {
                    Ok(0) => state.1 = true,
                    Ok(n) => state.0.extend_from_slice(&buffer[..n]),
                    Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                    Err(_) => state.1 = true,
                }
                let ended = state.1;
                drop(state);
                writer.changed.notify_all();
                if ended {
                    return;
                }
            }
        });
        this
    }

    fn lock(&self) -> MutexGuard<'_, (Vec<u8>, bool)> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.lock().0).into_owned()
    }

    /// Waits until `done(bytes, ended)`; false if the pipe ends or `timeout` passes before.
    fn wait(&self, timeout: Duration, done: impl Fn(&[u8], bool) -> bool) -> bool {
        let wait = |state: &mut (Vec<u8>, bool)| !done(&state.0, state.1) && !state.1;
        let result = self.changed.wait_timeout_while(self.lock(), timeout, wait);
        let (state, _) = result.unwrap_or_else(PoisonError::into_inner);
        done(&state.0, state.1)
    }
}
