// SPDX-License-Identifier: Apache-2.0
//! The session on the daemon's own terminal: `unix { interactive }`.

use std::io::{self, IsTerminal as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::rc::Rc;
use std::sync::Mutex;

use cli::session::SessionKind;
use rustix::fs::{Mode, OFlags};
use rustix::termios::{OptionalActions, OutputModes, Termios, tcgetattr, tcgetwinsize, tcsetattr};

use super::{Loop, add};
use crate::control::Control;
use crate::origin::Origin;
use crate::world::World;

/// The terminal's settings before we changed them.
static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

/// Starts a session on standard input and output. The daemon ends with it.
///
/// `line_mode`: whole lines, edited by the terminal, instead of keys.
pub fn interactive<W: World>(
    control: &mut Control<W>,
    events: &mut Loop<W>,
    line_mode: bool,
) -> io::Result<()> {
    let (stdin, stdout) = (io::stdin(), io::stdout());
    let kind = if stdin.is_terminal() && stdout.is_terminal() && !line_mode {
        raw()?;
        let (columns, rows) = size();
        SessionKind::Terminal(columns, rows)
    } else {
        SessionKind::Plain
    };
    let input = Rc::new(reopened(stdin.as_fd(), "/proc/self/fd/0", OFlags::RDONLY)?);
    let output =
        Rc::new(reopened(stdout.as_fd(), "/proc/self/fd/1", OFlags::WRONLY | OFlags::APPEND)?);
    add(control, events, kind, input, output, Origin::terminal())
}

/// The same file or terminal, non-blocking. It is opened anew because the parent process shares the
/// blocking mode; a descriptor that can't be opened anew, as a socket, stays as it is.
fn reopened(fd: BorrowedFd, path: &str, access: OFlags) -> io::Result<OwnedFd> {
    let flags = access | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    rustix::fs::open(path, flags, Mode::empty()).or_else(|_| fd.try_clone_to_owned())
}

/// Keys instead of lines; output stays as it was, so that log lines on the same terminal begin at
/// the left.
fn raw() -> io::Result<()> {
    let before = tcgetattr(io::stdin())?;
    let mut raw = before.clone();
    raw.make_raw();
    raw.output_modes |= before.output_modes & (OutputModes::OPOST | OutputModes::ONLCR);
    tcsetattr(io::stdin(), OptionalActions::Now, &raw)?;
    *BEFORE.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(before);
    Ok(())
}

/// Restores the terminal's settings. Does nothing if they weren't changed.
pub fn restore() {
    if let Ok(mut before) = BEFORE.try_lock()
        && let Some(settings) = before.take()
    {
        // A terminal that is gone needs nothing.
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &settings);
    }
}

fn size() -> (u16, u16) {
    tcgetwinsize(io::stdout()).map_or((0, 0), |size| (size.ws_col, size.ws_row))
}

/// The window has another size now.
pub fn resize<W: World>(control: &mut Control<W>) {
    let (columns, rows) = size();
    for client in control.server.clients.values_mut().filter(|c| c.own_terminal) {
        client.console.session().window(columns, rows);
    }
}
