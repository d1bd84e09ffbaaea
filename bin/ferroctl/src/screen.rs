// SPDX-License-Identifier: Apache-2.0
//! Long answers on a terminal go through the operator's pager.

use std::io::{self, Write};
use std::process::{Command, Stdio};

/// Shows text; when it has more lines than the terminal has rows, by `$FERROCTL_PAGER`, `$PAGER` or `less`.
pub fn show(text: &str, rows: usize) {
    if rows > 0 && text.lines().count() >= rows && paged(text) {
        return;
    }
    // A terminal that can't be written to is gone, and we with it.
    let _ = io::stdout().lock().write_all(text.as_bytes());
}

/// Whether a pager took it.
fn paged(text: &str) -> bool {
    let set = |name| std::env::var(name).ok().filter(|p: &String| !p.trim().is_empty());
    let pager = set("FERROCTL_PAGER").or_else(|| set("PAGER")).unwrap_or_else(|| "less -FRX".into());
    let mut words = pager.split_whitespace();
    let Some(program) = words.next() else { return false };
    if program == "cat" {
        return false;
    }
    let Ok(mut child) = Command::new(program).args(words).stdin(Stdio::piped()).spawn() else { return false };
    if let Some(mut pipe) = child.stdin.take() {
        // Who leaves the pager early closes the pipe.
        let _ = pipe.write_all(text.as_bytes());
    }
    let _ = child.wait();
    true
}
