// SPDX-License-Identifier: Apache-2.0
//! The connection to the daemon.

use cli::frames::{Reply, Request, TERMINAL};
use cli::session::{GREETING, terminal_type};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Longest wait for the daemon's greeting.
const GREETING_TIME: Duration = Duration::from_secs(10);
/// Interval at which ^C is checked for while waiting.
const TICK: Duration = Duration::from_millis(50);

/// A connected client.
pub struct Client {
    stream: UnixStream,
    socket: PathBuf,
    received: Vec<u8>,
    interrupted: Arc<AtomicBool>,
    /// A request was cancelled by ^C.
    cancelled: bool,
    /// Number of abandoned requests. Their answers still arrive, before that of the next request.
    abandoned: usize,
}

impl Client {
    /// Connects and introduces itself; the error is a sentence.
    pub fn connect(socket: &Path) -> Result<Self, String> {
        let interrupted = Arc::new(AtomicBool::new(false));
        signal_hook::flag::register(signal_hook::consts::SIGINT, interrupted.clone())
            .map_err(|e| format!("signals: {e}"))?;
        let (stream, received) = greeted(socket, &interrupted)?;
        Ok(Self {
            stream,
            socket: socket.to_path_buf(),
            received,
            interrupted,
            cancelled: false,
            abandoned: 0,
        })
    }

    /// Connects anew, to a daemon that was started again.
    pub fn reconnect(&mut self) -> Result<(), String> {
        self.interrupted.store(false, Ordering::Relaxed);
        (self.stream, self.received) = greeted(&self.socket, &self.interrupted)?;
        self.abandoned = 0;
        Ok(())
    }

    /// Sends a request and gives all replies but the last to `on`. Returns 0, or the error's return
    /// value. If `on` returns false, the daemon is notified that nobody reads the answer that
    /// comes. ^C cancels; a second ^C ends the wait for the answer.
    pub fn request(
        &mut self,
        request: &Request,
        on: &mut dyn FnMut(Reply) -> bool,
    ) -> Result<i32, String> {
        self.request_within(None, request, on)
    }

    /// As [`Self::request`], but abandons the request after this time.
    pub fn request_within(
        &mut self,
        time: Option<Duration>,
        request: &Request,
        on: &mut dyn FnMut(Reply) -> bool,
    ) -> Result<i32, String> {
        let start = Instant::now();
        self.interrupted.store(false, Ordering::Relaxed);
        self.send(&request.encode())?;
        self.cancelled = false;
        loop {
            match Reply::decode(&mut self.received) {
                Ok(Some(Reply::End(_))) if self.abandoned > 0 => self.abandoned -= 1,
                Ok(Some(_)) if self.abandoned > 0 => {}
                Ok(Some(Reply::End(status))) => return Ok(status),
                Ok(Some(reply)) => {
                    if !on(reply) {
                        self.send(&Request::Enough.encode())?;
                    }
                }
                Ok(None) if time.is_some_and(|time| start.elapsed() >= time) => {
                    self.abandoned += 1;
                    return Err(format!("{}: the daemon does not answer", self.socket.display()));
                }
                Ok(None) => {
                    self.receive()?;
                    if self.interrupted.swap(false, Ordering::Relaxed) {
                        if self.cancelled {
                            // If reconnecting fails, this request's answer isn't taken for the next
                            // one's.
                            self.abandoned += 1;
                            return Err("interrupted".into());
                        }
                        self.cancelled = true;
                        self.send(&Request::Cancel.encode())?;
                    }
                }
                Err(e) => return Err(format!("{}: {e}", self.socket.display())),
            }
        }
    }

    /// Returns the flag that becomes true at ^C, and false when [`Self::request`] has noticed.
    pub fn interrupted(&self) -> Arc<AtomicBool> {
        self.interrupted.clone()
    }

    /// Returns true if the last request was cancelled by ^C.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled
    }

    /// Returns true if ^C came since the last request began, also if it was for the pager; clears
    /// the flag.
    pub fn take_interrupt(&mut self) -> bool {
        self.interrupted.swap(false, Ordering::Relaxed) | std::mem::take(&mut self.cancelled)
    }

    fn send(&mut self, mut bytes: &[u8]) -> Result<(), String> {
        while !bytes.is_empty() {
            match self.stream.write(bytes) {
                Ok(0) => return Err(gone()),
                Ok(n) => bytes = &bytes[n..],
                Err(e) if is_timeout(&e) && self.interrupted.load(Ordering::Relaxed) => {
                    return Err("interrupted".into());
                }
                Err(e) if is_timeout(&e) => {}
                Err(e) => return Err(lost(&e)),
            }
        }
        Ok(())
    }

    fn receive(&mut self) -> Result<(), String> {
        let mut buffer = [0; 64 << 10];
        match self.stream.read(&mut buffer) {
            Ok(0) => Err(gone()),
            Ok(n) => {
                self.received.extend(&buffer[..n]);
                Ok(())
            }
            Err(e) if is_timeout(&e) => Ok(()),
            Err(e) => Err(lost(&e)),
        }
    }
}

fn is_timeout(e: &io::Error) -> bool {
    matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

fn gone() -> String {
    "the daemon has closed the connection".into()
}

fn lost(e: &io::Error) -> String {
    match e.kind() {
        ErrorKind::BrokenPipe | ErrorKind::ConnectionReset => gone(),
        _ => format!("the connection to the daemon is lost: {e}"),
    }
}

/// Connects: returns a connection ready for frames, and the bytes received beyond the greeting.
fn greeted(socket: &Path, interrupted: &AtomicBool) -> Result<(UnixStream, Vec<u8>), String> {
    let path = socket.display();
    let mut stream = UnixStream::connect(socket).map_err(|e| match e.kind() {
        ErrorKind::NotFound => {
            format!(
                "no daemon at {path}: no such socket (is ferrovia running? -s names another socket)"
            )
        }
        ErrorKind::ConnectionRefused => {
            format!(
                "no daemon at {path}: the socket is there, but nobody listens (has ferrovia ended?)"
            )
        }
        ErrorKind::PermissionDenied => {
            format!("{path}: permission denied (are you in the group of the daemon's sockets?)")
        }
        _ => format!("{path}: {e}"),
    })?;
    let failed = |e: io::Error| format!("{path}: {e}");
    stream.set_read_timeout(Some(TICK)).map_err(failed)?;
    stream.set_write_timeout(Some(TICK)).map_err(failed)?;
    let mut received = Vec::new();
    let start = Instant::now();
    while received.len() < GREETING.len() {
        let mut buffer = [0; 256];
        match stream.read(&mut buffer) {
            Ok(0) => return Err(format!("{path}: the daemon has closed the connection")),
            Ok(n) => received.extend(&buffer[..n]),
            Err(e) if is_timeout(&e) && interrupted.load(Ordering::Relaxed) => {
                return Err("interrupted".into());
            }
            Err(e) if is_timeout(&e) && start.elapsed() < GREETING_TIME => {}
            Err(e) if is_timeout(&e) => return Err(format!("{path}: the daemon does not answer")),
            Err(e) => return Err(failed(e)),
        }
    }
    if !received.starts_with(GREETING) {
        return Err(format!("{path}: this is not a CLI socket"));
    }
    received.drain(..GREETING.len());
    stream.write_all(&terminal_type(TERMINAL)).map_err(failed)?;
    Ok((stream, received))
}
