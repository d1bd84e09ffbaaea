// SPDX-License-Identifier: Apache-2.0
//! Long answers on a terminal go through the operator's pager, while they come.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process};
use std::io::{self, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Interval at which ^C is checked for while the pager is full.
const TICK: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
/// Bytes that a pipe takes without blocking once it is writable (`PIPE_BUF` of Linux).
const PIECE: usize = 4096;
/// Time that a pager has to exit at ^C before it gets SIGINT again.
const PATIENCE: Duration = Duration::from_millis(250);
/// Number of further SIGINTs: a pager that doesn't exit at ^C, such as `less` without `-K`, shows
/// the text it has.
const REMINDERS: usize = 3;

/// The output of one request on a terminal.
pub struct Screen {
    /// Rows of the terminal; 0 if there is to be no pager.
    rows: usize,
    /// The text so far of an answer that fits the terminal.
    held: String,
    to: To,
    /// ^C was pressed, and the client hasn't noticed yet.
    interrupted: Arc<AtomicBool>,
}

enum To {
    /// Not yet known.
    Held,
    Terminal,
    Pager(Child, ChildStdin),
    /// The operator has left the pager.
    Nobody(Child),
}

impl Screen {
    /// A terminal of so many rows; 0: text is shown as it arrives.
    pub fn new(rows: usize, interrupted: Arc<AtomicBool>) -> Self {
        let to = if rows == 0 { To::Terminal } else { To::Held };
        Self { rows, held: String::new(), to, interrupted }
    }

    /// Shows a piece of an answer: once it has as many lines as the terminal has rows, by
    /// `$FERROCTL_PAGER`, `$PAGER` or `less`. Returns false if the operator has left the pager
    /// or pressed ^C.
    pub fn show(&mut self, text: &str) -> bool {
        if let To::Held = self.to {
            self.held += text;
            if self.held.lines().count() < self.rows {
                return true;
            }
            self.to = pager().map_or(To::Terminal, |(child, pipe)| To::Pager(child, pipe));
            let held = std::mem::take(&mut self.held);
            return self.write(&held);
        }
        self.write(text)
    }

    /// Shows the output of a running command at once.
    pub fn progress(&mut self, text: &str) {
        self.settle(false);
        print(text);
    }

    /// The request has ended, or was stopped by ^C: waits until the operator has left the pager.
    pub fn end(mut self, stopped: bool) {
        self.settle(stopped);
    }

    /// Returns true if the operator has left the pager before the end.
    pub fn is_left(&self) -> bool {
        matches!(self.to, To::Nobody(_))
    }

    fn settle(&mut self, stopped: bool) {
        print(&std::mem::take(&mut self.held));
        let mut child = match std::mem::replace(&mut self.to, To::Terminal) {
            To::Held | To::Terminal => return,
            // Its input ends here.
            To::Pager(child, _) | To::Nobody(child) => child,
        };
        wait(&mut child, || stopped || self.interrupted.load(Ordering::Relaxed));
    }

    fn write(&mut self, text: &str) -> bool {
        match std::mem::replace(&mut self.to, To::Terminal) {
            To::Pager(child, mut pipe) => {
                // The pager reads as far as its operator does: meanwhile the daemon makes no more
                // of the answer.
                self.to = match feed(&mut pipe, text.as_bytes(), &self.interrupted) {
                    Ok(()) => To::Pager(child, pipe),
                    Err(_) => To::Nobody(child),
                };
            }
            To::Nobody(child) => self.to = To::Nobody(child),
            to => {
                self.to = to;
                print(text);
            }
        }
        !self.is_left()
    }
}

/// Writes to the pager. It is an error, too, if ^C is pressed before all is written.
fn feed(pipe: &mut ChildStdin, mut bytes: &[u8], interrupted: &AtomicBool) -> io::Result<()> {
    while !bytes.is_empty() {
        if interrupted.load(Ordering::Relaxed) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        match poll(&mut [PollFd::new(pipe, PollFlags::OUT)], Some(&TICK)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => continue,
            Ok(_) => {}
            Err(e) => return Err(e.into()),
        }
        let written = pipe.write(&bytes[..bytes.len().min(PIECE)])?;
        bytes = &bytes[written..];
    }
    Ok(())
}

/// Waits until the pager has ended. If it stays after ^C, sends SIGINT again: `less` misses the
/// signal when it comes just before `less` waits for a key.
fn wait(child: &mut Child, interrupted: impl Fn() -> bool) {
    let mut since: Option<Instant> = None;
    let mut reminders = REMINDERS;
    while reminders > 0 {
        if !matches!(child.try_wait(), Ok(None)) {
            return;
        }
        if interrupted() {
            let told = *since.get_or_insert_with(Instant::now);
            if told.elapsed() >= PATIENCE {
                let _ = kill_process(Pid::from_child(child), Signal::INT);
                since = Some(Instant::now());
                reminders -= 1;
            }
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let _ = child.wait();
}

fn print(text: &str) {
    // A terminal that can't be written to is gone, and this process with it.
    let mut out = io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Starts the operator's pager. `less` exits at ^C (`-K`), so that a long answer ends there.
fn pager() -> Option<(Child, ChildStdin)> {
    let set = |name| std::env::var(name).ok().filter(|p: &String| !p.trim().is_empty());
    let pager =
        set("FERROCTL_PAGER").or_else(|| set("PAGER")).unwrap_or_else(|| "less -FRXK".into());
    let mut words = pager.split_whitespace();
    let program = words.next().filter(|program| *program != "cat")?;
    let mut child = Command::new(program).args(words).stdin(Stdio::piped()).spawn().ok()?;
    let pipe = child.stdin.take()?;
    Some((child, pipe))
}
