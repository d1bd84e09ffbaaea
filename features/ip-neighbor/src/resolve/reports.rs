// SPDX-License-Identifier: Apache-2.0
//! Notes from workers to the main thread: two bounded queues, and the process that reads them.
//!
//! Replies to our own requests, and the requests, have a queue that is read first; the other is for
//! neighbours that were only detected. In both an interface may have as many notes as there are
//! free places: it never takes the room of all others, however many reports it brings.

use super::control::Learner;
use super::target::{SHARES, Seed, share_of};
use super::{Protocol, Target};
use graph::{Process, Shared, Signal, Sleep, SwIfIndex, Wake, World};
use net::{Evidence, Net};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use sync::Mailbox;
use wire::{Address, Family, MacAddr};

/// Maximum number of notes in each queue.
const NOTES: usize = 4096;
/// Number of notes that the main thread handles in one run, before other work is done.
const AT_ONCE: usize = 256;

/// The event that a worker reports.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Report<A> {
    /// It has sent a request for a neighbour.
    Asked(Target<A>),
    /// A neighbour has not answered the usual number of requests.
    Unanswered(Target<A>),
    /// A neighbour was detected.
    Detected(DetectedNeighbor<A>),
    /// Another station uses an address of ours.
    Conflict(Target<A>, MacAddr),
}

/// A detected neighbour.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DetectedNeighbor<A> {
    /// The neighbour.
    pub who: Target<A>,
    /// Its MAC address; `None` if the message had none, and the known one holds.
    pub mac: Option<MacAddr>,
    /// Kind of message that it was detected by.
    pub evidence: Evidence,
}

impl<A: Address> Report<A> {
    #[inline(always)]
    fn target(&self) -> Target<A> {
        match *self {
            Self::Asked(target)
            | Self::Unanswered(target)
            | Self::Detected(DetectedNeighbor { who: target, .. })
            | Self::Conflict(target, _) => target,
        }
    }

    /// Returns true if packets wait for the result.
    #[inline(always)]
    fn is_urgent(&self) -> bool {
        match self {
            Self::Asked(_) | Self::Unanswered(_) => true,
            Self::Detected(seen) => {
                matches!(
                    seen.evidence,
                    Evidence::Reply | Evidence::Advertisement { solicited: true, .. }
                )
            }
            Self::Conflict(..) => false,
        }
    }
}

type ReportOf<P> = Report<<<P as Protocol>::Net as Family>::Addr>;

/// A queue with shares for interfaces.
struct Queue<A> {
    mailbox: Mailbox<Report<A>>,
    /// Number of waiting notes of each share.
    held: [AtomicUsize; SHARES],
}

impl<A: Address> Queue<A> {
    fn new(world: &World) -> Self {
        let mailbox = Mailbox::new(NOTES, world.processes.waker().clone());
        Self { mailbox, held: [const { AtomicUsize::new(0) }; SHARES] }
    }

    #[inline(always)]
    fn post(&self, report: Report<A>) -> bool {
        let held = &self.held[report.target().share()];
        // As many as there are free places: n interfaces that bring too many leave one part of
        // n + 1.
        if held.fetch_add(1, Ordering::Relaxed) < NOTES.saturating_sub(self.mailbox.len())
            && self.mailbox.post(report).is_ok()
        {
            return true;
        }
        held.fetch_sub(1, Ordering::Relaxed);
        false
    }

    fn take(&self) -> Option<Report<A>> {
        let report = self.mailbox.take()?;
        self.held[report.target().share()].fetch_sub(1, Ordering::Relaxed);
        Some(report)
    }
}

/// The queues, shared by all nodes of a protocol.
pub struct Reports<P: Protocol> {
    urgent: Queue<<P::Net as Family>::Addr>,
    heard: Queue<<P::Net as Family>::Addr>,
    signal: Signal,
    /// Number of removed neighbours, by share: a note posted before a removal has to be posted
    /// again.
    removals: [AtomicU32; SHARES],
}

impl<P: Protocol> Shared for Reports<P> {
    fn make(world: &World) -> Self {
        let signal = world.processes.signal();
        Self {
            urgent: Queue::new(world),
            heard: Queue::new(world),
            signal,
            removals: [const { AtomicU32::new(0) }; SHARES],
        }
    }
}

impl<P: Protocol> Reports<P> {
    /// Posts a note; returns false if the main thread is so far behind that its interface's share
    /// of the queue is full.
    #[inline(always)]
    #[must_use]
    pub fn post(&self, report: ReportOf<P>) -> bool {
        let queue = if report.is_urgent() { &self.urgent } else { &self.heard };
        let posted = queue.post(report);
        self.signal.raise();
        posted
    }

    fn take(&self) -> Option<ReportOf<P>> {
        self.urgent.take().or_else(|| self.heard.take())
    }

    /// Wakes the process without a note.
    pub(super) fn wake(&self) {
        self.signal.raise();
    }

    /// Invalidates the throttle of an interface's notes: after a removal, the next note about a
    /// neighbour is posted at once.
    pub fn forgotten(&self, sw_if: SwIfIndex) {
        self.removals[share_of(sw_if.0)].fetch_add(1, Ordering::Relaxed);
    }

    /// Starts the process that reads the notes.
    pub(super) fn start(world: &World) {
        let reports: Arc<Self> = world.get();
        world.processes.spawn(Box::new(Reader(reports.clone())), &reports.signal);
    }
}

struct Reader<P: Protocol>(Arc<Reports<P>>);

impl<P: Protocol> Process for Reader<P> {
    fn name(&self) -> &'static str {
        P::PROCESS
    }

    fn run(&mut self, world: &World, _: Wake) -> Sleep {
        let mut learner = Learner::<P>::new(world);
        let reports = std::iter::from_fn(|| self.0.take());
        let read = reports.take(AT_ONCE).map(|report| learner.take(report)).count();
        learner.finish();
        if read == AT_ONCE {
            self.0.wake();
        }
        Sleep::Event
    }
}

/// The reports that a thread posted recently, so that a busy neighbour isn't reported all the time.
pub struct RecentReports<F: Net> {
    posted: Box<[PostedReport<F::Addr>]>,
    seed: Seed,
}

/// A report that was posted.
#[derive(Clone, Copy)]
struct PostedReport<A> {
    report: Report<A>,
    /// Time in nanoseconds.
    time: u64,
    /// [`Reports::removals`] at that time.
    removals: u32,
}

impl<F: Net> Default for RecentReports<F> {
    fn default() -> Self {
        let report = Report::Asked(Target { sw_if: u32::MAX, ip: F::Addr::ZERO });
        let none = PostedReport { report, time: 0, removals: 0 };
        Self { posted: vec![none; Self::PLACES].into(), seed: Seed::default() }
    }
}

impl<F: Net> RecentReports<F> {
    const PLACES: usize = 512;
    /// Time after which a note is posted again, in nanoseconds.
    const LONG_AGO: u64 = 1_000_000_000;

    /// Posts the note, unless the same one was posted within the last second and no neighbour was
    /// removed since; false if there is no room.
    #[inline(always)]
    #[must_use]
    pub fn post<P: Protocol<Net = F>>(
        &mut self,
        reports: &Reports<P>,
        report: Report<F::Addr>,
        now: u64,
    ) -> bool {
        let place = self.seed.bucket(report.target(), Self::PLACES);
        let last = self.posted[place];
        let removals = reports.removals[report.target().share()].load(Ordering::Relaxed);
        if last.report == report
            && last.removals == removals
            && now.wrapping_sub(last.time) < Self::LONG_AGO
        {
            return true;
        }
        let posted = reports.post(report);
        if posted {
            self.posted[place] = PostedReport { report, time: now, removals };
        }
        posted
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use graph::drive::Bench;

    fn report(sw_if: u32, ip: u32, evidence: Evidence) -> Report<std::net::Ipv4Addr> {
        let who = Target { sw_if, ip: ip.into() };
        Report::Detected(DetectedNeighbor { who, mac: Some(MacAddr([2, 0, 0, 0, 0, 1])), evidence })
    }

    #[suite::test]
    fn no_interface_fills_the_queue() {
        let bench = Bench::new(&[]);
        let queue = Queue::new(&bench.world);
        let fill = |sw_if| {
            (0..2 * NOTES as u32)
                .filter(|i| queue.post(report(sw_if, *i, Evidence::Request)))
                .count()
        };
        assert_eq!(fill(1), NOTES / 2);
        assert_eq!(fill(2), NOTES / 4);
        assert_eq!(fill(3), NOTES / 8);
        assert!(queue.post(report(100, 1, Evidence::Request)), "there is room for another");
        // A share has room again once its notes have been taken.
        assert!(!queue.post(report(1, 7, Evidence::Request)));
        while queue.take().is_some() {}
        assert_eq!(fill(1), NOTES / 2);
    }

    #[suite::test]
    fn answers_are_urgent_and_what_was_heard_is_not() {
        let solicited =
            |solicited| Evidence::Advertisement { solicited, replace: true, router: false };
        for (evidence, urgent) in [
            (Evidence::Reply, true),
            (solicited(true), true),
            (solicited(false), false),
            (Evidence::Request, false),
            (Evidence::Hint { router: None }, false),
            (Evidence::Announcement { create: true }, false),
        ] {
            assert_eq!(report(1, 1, evidence).is_urgent(), urgent, "{evidence:?}");
        }
    }
}
