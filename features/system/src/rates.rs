// SPDX-License-Identifier: Apache-2.0
//! Rates of the threads over the last ten seconds.

use graph::{Process, Shared, Sleep, Wake, World, counters};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// Seconds that a rate is taken over.
const WINDOW: usize = 10;
const SECOND: u64 = 1_000_000_000;

/// The rates of a thread over the last ten seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rate {
    /// Packets per call of a node that isn't an input: the mean length of vectors.
    pub vector: f64,
    /// Turns of the thread's loop, per second.
    pub loops: f64,
}

#[derive(Clone, Copy, Default)]
struct Totals {
    turns: u64,
    calls: u64,
    vectors: u64,
}

struct Sample {
    at: Instant,
    threads: Vec<Totals>,
}

/// The rates of all threads.
#[derive(Default)]
pub struct Rates(Mutex<Window>);

#[derive(Default)]
struct Window {
    samples: VecDeque<Sample>,
    seen: Vec<Totals>,
    totals: Vec<Totals>,
}

impl Shared for Rates {
    fn make(_: &World) -> Self {
        Self::default()
    }
}

impl Rates {
    /// The rates now, by thread.
    pub fn now(&self, world: &World) -> Vec<Rate> {
        let mut window = self.0.lock().expect("no panic inside");
        let now = window.take(world);
        window
            .samples
            .front()
            .map_or_else(|| vec![Rate::default(); world.threads()], |first| now.since(first))
    }
}

impl Totals {
    /// Difference from `seen`; the full value of counters that were cleared in between.
    fn after(self, seen: Totals) -> Totals {
        let after = |now: u64, then: u64| now.checked_sub(then).unwrap_or(now);
        Totals {
            turns: after(self.turns, seen.turns),
            calls: after(self.calls, seen.calls),
            vectors: after(self.vectors, seen.vectors),
        }
    }
}

impl Window {
    /// Totals that go on when the counters are cleared.
    fn take(&mut self, world: &World) -> Sample {
        let now = Sample::take(world);
        self.seen.resize(now.threads.len(), Totals::default());
        self.totals.resize(now.threads.len(), Totals::default());
        for ((total, seen), now) in self.totals.iter_mut().zip(&mut self.seen).zip(&now.threads) {
            let after = now.after(*seen);
            total.turns += after.turns;
            total.calls += after.calls;
            total.vectors += after.vectors;
            *seen = *now;
        }
        Sample { at: now.at, threads: self.totals.clone() }
    }
}

impl Sample {
    fn take(world: &World) -> Self {
        let (calls, vectors) =
            (world.stats.simple(counters::CALLS), world.stats.simple(counters::VECTORS));
        let internal: Vec<_> = world.nodes_by_input(false).iter().map(|n| n.at()).collect();
        let threads = world.thread_list().into_iter().enumerate().map(|(thread, info)| Totals {
            turns: info.turns,
            calls: internal.iter().map(|i| calls.of_thread(thread, *i)).sum(),
            vectors: internal.iter().map(|i| vectors.of_thread(thread, *i)).sum(),
        });
        Self { at: Instant::now(), threads: threads.collect() }
    }

    fn since(&self, first: &Sample) -> Vec<Rate> {
        let seconds = self.at.duration_since(first.at).as_secs_f64();
        let ratio = |a: u64, b: f64| if b > 0.0 { a as f64 / b } else { 0.0 };
        let rate = |(now, then): (&Totals, &Totals)| Rate {
            // A name may have become an input's in between.
            vector: ratio(
                now.vectors.saturating_sub(then.vectors),
                now.calls.saturating_sub(then.calls) as f64,
            ),
            loops: ratio(now.turns - then.turns, seconds),
        };
        self.threads.iter().zip(&first.threads).map(rate).collect()
    }
}

struct Sampler(Arc<Rates>);

impl Process for Sampler {
    fn name(&self) -> &'static str {
        "rates-process"
    }

    fn run(&mut self, world: &World, _: Wake) -> Sleep {
        let mut window = self.0.0.lock().expect("no panic inside");
        if window.samples.len() == WINDOW {
            window.samples.pop_front();
        }
        let sample = window.take(world);
        window.samples.push_back(sample);
        Sleep::Until(world.clock.now() + SECOND)
    }
}

pub fn start(world: &World) {
    let signal = world.processes.signal();
    world.processes.spawn(Box::new(Sampler(world.get())), &signal);
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use std::time::Duration;

    #[suite::test]
    fn rates_are_differences_over_time() {
        let at = Instant::now();
        let sample = |s, turns, calls, vectors| Sample {
            at: at + Duration::from_secs(s),
            threads: vec![Totals { turns, calls, vectors }],
        };
        let rates = sample(10, 1000, 30, 5120).since(&sample(0, 0, 10, 0));
        assert_eq!(rates, [Rate { vector: 256.0, loops: 100.0 }]);
        assert_eq!(sample(0, 7, 7, 7).since(&sample(0, 7, 7, 7)), [Rate::default()]);
    }
}
