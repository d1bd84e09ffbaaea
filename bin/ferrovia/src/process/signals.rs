// SPDX-License-Identifier: Apache-2.0
//! Signals. SIGTERM and SIGINT end the process: cleanly through the control loop, and by force when
//! that takes too long or the signal is repeated. SIGHUP opens the log file anew. SIGPIPE is
//! ignored, as the standard library sets it: a client that has gone shows as an error of `write`.

use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGWINCH};
use signal_hook::{flag, low_level::pipe};

use sync::Waker;

/// Longest time of a clean end. VPP's users expect the process to be gone after 5 s.
const GRACE: Duration = Duration::from_secs(4);

/// A second signal within this time is the same wish: a terminal and a supervisor may both pass on
/// one key press.
const SAME: Duration = Duration::from_millis(500);

/// The signals as the control loop sees them.
#[derive(Clone, Debug, Default)]
pub struct Signals {
    end: Arc<AtomicBool>,
    hang_up: Arc<AtomicBool>,
    resize: Arc<AtomicBool>,
    waker: Arc<OnceLock<Arc<Waker>>>,
}

impl Signals {
    /// Returns true if SIGTERM or SIGINT came.
    pub fn end(&self) -> bool {
        self.end.load(Ordering::Acquire)
    }

    /// Returns true if SIGHUP came since the last call.
    pub fn take_hang_up(&self) -> bool {
        self.hang_up.swap(false, Ordering::AcqRel)
    }

    /// Returns true if the terminal's window changed since the last call.
    pub fn take_resize(&self) -> bool {
        self.resize.swap(false, Ordering::AcqRel)
    }

    /// Sets the waker to be called when a signal has come; once, when the loop exists.
    pub fn wake(&self, waker: Arc<Waker>) {
        // There is one loop.
        let _ = self.waker.set(waker);
    }

    /// Starts a thread that waits for signals and wakes the loop. It is a thread of its own so that
    /// it can end the process when the control thread is stuck.
    pub fn start() -> io::Result<Signals> {
        let signals = Signals::default();
        let asked = Arc::new(AtomicBool::new(false));
        let (read, write) = UnixStream::pair()?;
        // Actions run in the order of registration: the flag is set before the byte is read.
        flag::register(SIGTERM, Arc::clone(&asked))?;
        flag::register(SIGINT, Arc::clone(&asked))?;
        flag::register(SIGHUP, Arc::clone(&signals.hang_up))?;
        flag::register(SIGWINCH, Arc::clone(&signals.resize))?;
        for signal in [SIGTERM, SIGINT, SIGHUP, SIGWINCH] {
            pipe::register(signal, write.try_clone()?)?;
        }
        let watching = signals.clone();
        std::thread::Builder::new()
            .name("signals".into())
            .spawn(move || watching.watch(read, &asked))?;
        Ok(signals)
    }

    fn watch(&self, mut pipe: UnixStream, asked: &AtomicBool) {
        let mut since: Option<Instant> = None;
        loop {
            let left =
                since.map(|s| GRACE.saturating_sub(s.elapsed()).max(Duration::from_millis(1)));
            let got = pipe.set_read_timeout(left).and_then(|()| pipe.read(&mut [0; 64]));
            match got {
                Ok(0) => return,
                Ok(_) if asked.swap(false, Ordering::AcqRel) => match since {
                    Some(first) if first.elapsed() > SAME => force("the signal was repeated"),
                    Some(_) => {}
                    None => {
                        since = Some(Instant::now());
                        self.end.store(true, Ordering::Release);
                    }
                },
                Ok(_) => {}
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(_) if since.is_some_and(|s| s.elapsed() >= GRACE) => {
                    force("a clean end took too long")
                }
                Err(_) => {}
            }
            if let Some(waker) = self.waker.get() {
                waker.wake();
            }
        }
    }
}

fn force(why: &str) -> ! {
    let text = format!("ferrovia: ended by force: {why}\n");
    crate::server::restore();
    eprint!("{text}");
    crate::logging::emergency(text.as_bytes());
    // Sockets stay behind; the next start takes them over.
    std::process::exit(1)
}
