// SPDX-License-Identifier: Apache-2.0
//! Destination of the log besides the ring.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};

use super::ring::Entry;
use cli::Date;

/// One destination. Failures to write are ignored: they can't be reported, and the ring has the
/// line.
pub enum Sink {
    /// The ring is all there is.
    None,
    /// Standard error.
    Stderr,
    /// Standard error, which the journal of systemd reads: it knows time and process, and takes the
    /// level from a prefix (sd-daemon(3)).
    Journal,
    /// A file that is appended to.
    File(PathBuf, File),
    /// The system's log, through `/dev/log`; not connected while no process listens there.
    Syslog(Option<UnixDatagram>),
}

/// RFC 3164 §4.1.1: facility "daemon".
const DAEMON: u8 = 3 << 3;

impl Sink {
    /// Appends to `path`.
    pub fn file(path: &Path) -> io::Result<Sink> {
        let file = OpenOptions::new().append(true).create(true).open(path)?;
        Ok(Sink::File(path.to_path_buf(), file))
    }

    /// Standard error. systemd names the journal's socket by device and inode (systemd.exec(5),
    /// `JOURNAL_STREAM`).
    pub fn stderr() -> Sink {
        let journal = std::env::var("JOURNAL_STREAM").ok();
        let stream = rustix::fs::fstat(rustix::stdio::stderr()).ok();
        let stream = stream.map(|stat| format!("{}:{}", stat.st_dev, stat.st_ino));
        if journal.is_some() && journal == stream { Sink::Journal } else { Sink::Stderr }
    }

    /// The system's log.
    pub fn syslog() -> Sink {
        Sink::Syslog(connect())
    }

    /// In words, for `show logging`.
    pub fn describe(&self) -> String {
        match self {
            Sink::None => "memory only".into(),
            Sink::Stderr => "standard error".into(),
            Sink::Journal => "the journal".into(),
            Sink::File(path, _) => path.display().to_string(),
            Sink::Syslog(_) => "syslog".into(),
        }
    }

    /// Writes one line. `syslog`: it is serious enough for the system's log.
    pub fn write(&mut self, entry: &Entry, syslog: bool) {
        match self {
            Sink::None => {}
            Sink::Stderr => drop(writeln!(io::stderr(), "{entry}")),
            Sink::Journal => {
                let (severity, class) = (severity(entry.level), &entry.class);
                // Each line of a text is an entry of its own.
                let lines = entry.text.lines().map(|line| format!("<{severity}>{class}: {line}\n"));
                let _ = io::stderr().write_all(lines.collect::<String>().as_bytes());
            }
            Sink::File(_, file) => drop(file.write_all(format!("{entry}\n").as_bytes())),
            Sink::Syslog(socket) if syslog => {
                let severity = severity(entry.level);
                let (date, pid) = (Date::from(entry.time).syslog(), std::process::id());
                let (class, text) = (&entry.class, &entry.text);
                let line =
                    format!("<{}>{date} ferrovia[{pid}]: {class}: {text}", DAEMON | severity);
                let sent = socket.as_ref().is_some_and(|s| s.send(line.as_bytes()).is_ok());
                if !sent {
                    // The log daemon was started anew, or only now.
                    *socket = connect();
                    let _ = socket.as_ref().map(|s| s.send(line.as_bytes()));
                }
            }
            Sink::Syslog(_) => {}
        }
    }

    /// Writes text as it is, if this is a file.
    pub fn raw(&mut self, text: &[u8]) {
        if let Sink::File(_, file) = self {
            let _ = file.write_all(text);
        }
    }

    /// Opens the file anew; on failure the old one stays.
    pub fn reopen(&mut self) -> io::Result<()> {
        if let Sink::File(path, _) = self {
            *self = Sink::file(&path.clone())?;
        }
        Ok(())
    }
}

/// RFC 5424 §6.2.1.
fn severity(level: log::Level) -> u8 {
    match level {
        log::Level::Error => 3,
        log::Level::Warn => 4,
        log::Level::Info => 5,
        log::Level::Debug | log::Level::Trace => 7,
    }
}

fn connect() -> Option<UnixDatagram> {
    let socket = UnixDatagram::unbound().ok()?;
    // A log daemon that doesn't read must not stop the control thread.
    socket.set_nonblocking(true).ok()?;
    socket.connect("/dev/log").ok()?;
    Some(socket)
}
