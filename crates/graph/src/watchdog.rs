// SPDX-License-Identifier: Apache-2.0
//! Threads that take nothing of what control sends them: they are named in the log and in `show
//! threads`.

use crate::thread_handle::ThreadHandle;
use crate::threads::{ThreadInfo, name};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// A thread that has taken no message for so long is named. A turn takes microseconds.
const LATE: Duration = Duration::from_secs(5);
/// Control looks that often while something waits, on the instance's clock.
const LOOK: u64 = 1_000_000_000;

/// State of a thread when control looked last.
#[derive(Clone, Copy)]
struct Seen {
    taken: u64,
    /// It had nothing to take, or has taken something.
    at: Instant,
    /// The log has named it.
    named: bool,
}

/// Watchdog of the threads: notes which take no messages.
pub(crate) struct Watchdog(Mutex<Vec<Seen>>);

impl Watchdog {
    /// A watchdog of this many threads.
    pub fn new(threads: usize) -> Self {
        Self(Mutex::new(vec![Seen { taken: 0, at: Instant::now(), named: false }; threads]))
    }

    fn seen(&self) -> MutexGuard<'_, Vec<Seen>> {
        self.0.lock().expect("no panic inside")
    }

    /// Looks at all threads, and names late ones in the log; returns when to look again, if a
    /// message waits.
    pub fn look(&self, handles: &[ThreadHandle], now: u64) -> Option<u64> {
        let mut waits = false;
        for (i, (seen, handle)) in self.seen().iter_mut().zip(handles).enumerate() {
            let (waiting, taken) = (handle.mailbox.len(), handle.gauges.taken());
            if waiting == 0 || taken != seen.taken {
                if seen.named {
                    let late = seen.at.elapsed().as_secs();
                    log::warn!(target: "graph", "thread {i} ({}) takes messages again, after {late} s", name(i));
                }
                *seen = Seen { taken, at: Instant::now(), named: false };
            } else if !seen.named && seen.at.elapsed() >= LATE {
                seen.named = true;
                log::error!(
                    target: "graph",
                    "thread {i} ({}) has taken no message for {} s, {waiting} wait: its packets and changes of its configuration stand still",
                    name(i), LATE.as_secs(),
                );
            }
            waits |= waiting > 0;
        }
        waits.then(|| now.saturating_add(LOOK))
    }

    /// Fills in the messages that wait for a thread, and for how long it has taken none.
    pub fn fill(&self, thread: usize, handle: &ThreadHandle, info: &mut ThreadInfo) {
        let waiting = handle.mailbox.len();
        let seen = self.seen().get(thread).copied();
        let stands = |seen: &Seen| waiting > 0 && seen.taken == handle.gauges.taken();
        info.waiting = waiting;
        info.silent =
            seen.filter(stands).map(|seen| seen.at.elapsed()).filter(|for_| *for_ >= LATE);
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use crate::drive::Bench;
    use crate::{Plugin, ThreadIndex};

    static PLUGINS: &[&Plugin] = &[&Plugin { name: "test", ..Plugin::EMPTY }];

    #[suite::test]
    fn a_thread_that_takes_nothing_is_named_until_it_does() {
        let mut bench = Bench::new(PLUGINS);
        let world = bench.world.clone();
        bench.settle();
        let silent = || world.thread_list()[0].silent;
        assert_eq!((world.watch_threads(), silent()), (None, None), "nothing waits");
        let back = |by: Duration| world.watchdog.seen()[0].at -= by;
        back(LATE);
        assert_eq!((world.watch_threads(), silent()), (None, None), "idle for long isn't late");
        world.on_thread(ThreadIndex(0), |_| ());
        assert!(world.watch_threads().is_some() && silent().is_none());
        back(LATE);
        assert!(world.watch_threads().is_some() && silent() >= Some(LATE));
        assert!(world.watchdog.seen()[0].named);
        bench.rt.turn(true);
        assert_eq!(
            (silent(), world.watch_threads(), world.watchdog.seen()[0].named),
            (None, None, false)
        );
    }
}
