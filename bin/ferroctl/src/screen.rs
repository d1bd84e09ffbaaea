// SPDX-License-Identifier: Apache-2.0
//! Long answers on a terminal go through the operator's pager, while they come.

use std::io::{self, Write};
use std::process::{Child, ChildStdin, Command, Stdio};

/// What one request says, on a terminal.
pub struct Screen {
    /// Of the terminal; 0 if there is to be no pager.
    rows: usize,
    /// What has come of an answer that fits so far.
    held: String,
    to: To,
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
    /// A terminal of so many rows; 0: whatever comes is shown as it comes.
    pub fn new(rows: usize) -> Self {
        let to = if rows == 0 { To::Terminal } else { To::Held };
        Self { rows, held: String::new(), to }
    }

    /// Shows a piece of an answer: when there are more lines than the terminal has rows, by `$FERROCTL_PAGER`, `$PAGER` or `less`.
    /// Gives false when nobody wants to see more.
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

    /// Shows what a running command says, at once.
    pub fn progress(&mut self, text: &str) {
        self.settle();
        print(text);
    }

    /// The request has ended: waits until the operator has left the pager.
    pub fn end(mut self) {
        self.settle();
    }

    /// Whether the operator has left the pager before the end.
    pub fn is_left(&self) -> bool {
        matches!(self.to, To::Nobody(_))
    }

    fn settle(&mut self) {
        print(&std::mem::take(&mut self.held));
        if let To::Pager(mut child, pipe) = std::mem::replace(&mut self.to, To::Terminal) {
            drop(pipe);
            let _ = child.wait();
        }
    }

    fn write(&mut self, text: &str) -> bool {
        match std::mem::replace(&mut self.to, To::Terminal) {
            To::Pager(child, mut pipe) => {
                // The pager takes what its operator wants to see: meanwhile the daemon makes no more of it.
                self.to = match pipe.write_all(text.as_bytes()) {
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

impl Drop for Screen {
    fn drop(&mut self) {
        if let To::Pager(child, _) | To::Nobody(child) = &mut self.to {
            let _ = child.wait();
        }
    }
}

fn print(text: &str) {
    // A terminal that can't be written to is gone, and we with it.
    let mut out = io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// `less` leaves at ^C (`-K`), so that a long answer ends there.
fn pager() -> Option<(Child, ChildStdin)> {
    let set = |name| std::env::var(name).ok().filter(|p: &String| !p.trim().is_empty());
    let pager = set("FERROCTL_PAGER").or_else(|| set("PAGER")).unwrap_or_else(|| "less -FRXK".into());
    let mut words = pager.split_whitespace();
    let program = words.next().filter(|program| *program != "cat")?;
    let mut child = Command::new(program).args(words).stdin(Stdio::piped()).spawn().ok()?;
    let pipe = child.stdin.take()?;
    Some((child, pipe))
}
