// SPDX-License-Identifier: Apache-2.0
//! Going to the background. The one unsafe call of the daemon is here: `fork`.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};

use rustix::pipe::{PipeFlags, pipe_with};

/// Tells the process that was started from the shell how the start went.
///
/// Until then the background process still has the shell's standard error, so that errors of the
/// start are seen. Dropped without [`Starter::ready`], it lets the shell's process end with
/// status 1.
#[derive(Debug)]
pub struct Starter(File);

impl Starter {
    /// The start is complete: closes standard input, output and error and lets the shell's process
    /// end with success.
    pub fn ready(mut self) -> io::Result<()> {
        let null = OpenOptions::new().read(true).write(true).open("/dev/null")?;
        rustix::stdio::dup2_stdin(&null)?;
        rustix::stdio::dup2_stdout(&null)?;
        rustix::stdio::dup2_stderr(&null)?;
        // A daemon must not keep the directory it was started in from being unmounted.
        std::env::set_current_dir("/")?;
        self.0.write_all(&[0])
    }
}

/// Continues in a process of its own session that belongs to init; the calling process waits for
/// [`Starter::ready`] and ends. Fails when this process has more than one thread, because only the
/// calling one would live on.
pub fn daemonize() -> io::Result<Starter> {
    let threads = std::fs::read_dir("/proc/self/task")?.count();
    if threads != 1 {
        return Err(io::Error::other(format!("can't go to the background with {threads} threads")));
    }
    let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
    if fork()? {
        drop(write);
        let started = File::from(read).read_exact(&mut [0]).is_ok();
        std::process::exit(i32::from(!started));
    }
    drop(read);
    rustix::process::setsid()?;
    // The leader of a session could get a controlling terminal by opening one; its child can't.
    if fork()? {
        std::process::exit(0);
    }
    Ok(Starter(File::from(write)))
}

/// True in the parent, false in the child.
fn fork() -> io::Result<bool> {
    // SAFETY: the caller has made sure that there is one thread only, so the child may go on using
    // the allocator and every lock as if nothing had happened.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => Ok(false),
        _ => Ok(true),
    }
}
