// SPDX-License-Identifier: Apache-2.0
//! Notifies a client of MAC addresses that are learned, move, or are forgotten.
//!
//! While a client has subscribed, workers mark entries that they learn or move.
//! `l2fib-mac-events-process` scans the table in slices, clears the marks and reports these
//! entries: no number of new addresses at once is too large.

use crate::api::{L2MacsEvent, MacEntry as Told, MacEventAction};
use crate::bridge::Bridge;
use crate::domain::DEFAULT_LEARN_LIMIT;
use crate::startup_conf::Startup;
use crate::state::{MOVED, NEW, is_learned};
use cli::{Error, Result, retval};
use graph::{Process, Signal, Sleep, Wake, World};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use tables::mac::{MacEntry, MacKey};

/// Unit of the scan interval in messages, in nanoseconds.
const DELAY: u64 = 10_000_000;
/// Unit of the number of addresses per event in messages.
const MACS: usize = 10;
/// Maximum number of addresses reported in one turn. Further ones wait, and so does the scan.
const TURN: usize = 1024;

/// The subscription of a client.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Subscription {
    /// The client.
    client: u32,
    /// Maximum number of addresses in an event.
    most: usize,
    /// True if the learn limit of all domains is the client's.
    limits: bool,
}

struct Control {
    wanted: Option<Subscription>,
    /// Scan interval in nanoseconds.
    delay: u64,
    /// Removed entries not reported to the client yet.
    removed: VecDeque<Told>,
}

/// Events of MAC addresses (learned, moved, removed) for the one client that may ask for them.
pub struct MacEvents {
    /// True if workers mark entries.
    marks: AtomicBool,
    control: Mutex<Control>,
    signal: Signal,
}

impl MacEvents {
    /// Returns the state without a client.
    pub fn new(world: &World) -> Self {
        let control = Control { wanted: None, delay: 10 * DELAY, removed: VecDeque::new() };
        Self {
            marks: AtomicBool::new(false),
            control: Mutex::new(control),
            signal: world.processes.signal(),
        }
    }

    fn control(&self) -> MutexGuard<'_, Control> {
        self.control.lock().expect("no panic inside")
    }

    /// Returns the flags of an entry that a worker has just learned (`NEW`) or moved (`MOVED`).
    #[inline]
    pub fn marked(&self, flag: u8) -> u8 {
        if self.marks.load(Ordering::Relaxed) { flag } else { 0 }
    }

    /// Main thread: records a removed entry.
    pub fn note_removed(&self, key: MacKey, entry: MacEntry) {
        // An entry that was never reported isn't reported as removed either.
        if self.marks.load(Ordering::Relaxed) && is_learned(entry) && entry.flags & NEW == 0 {
            self.control().removed.push_back(told(key, entry, MacEventAction::Delete));
        }
    }
}

fn told(key: MacKey, entry: MacEntry, action: MacEventAction) -> Told {
    let (sw_if_index, mac_addr) =
        (net::api::InterfaceIndex(entry.port), wire::MacAddr(key.mac()).into());
    Told { sw_if_index, mac_addr, action, flags: 0 }
}

fn value(what: &str, expected: &str) -> Error {
    Error::parse(format!("{what} is {expected}")).retval(retval::INVALID_VALUE)
}

impl Bridge {
    /// Subscribes a client, and flushes learned addresses, so that the client gets every address.
    /// `macs` is the number of addresses in an event, in tens. `limit` is the learn limit of
    /// all domains while the client is subscribed, and a scan interval in units of 10 ms.
    ///
    /// # Errors
    /// A number out of range (−7); another client is subscribed (−124).
    pub fn subscribe_macs(
        &self,
        world: &World,
        client: u32,
        macs: u8,
        limit: Option<(u32, u8)>,
    ) -> Result<()> {
        if macs == 0 {
            return Err(value("max_macs_in_event", "1 to 255"));
        }
        if limit.is_some_and(|(limit, _)| limit == 0 || limit > DEFAULT_LEARN_LIMIT) {
            return Err(value("learn_limit", "1 to 16777216"));
        }
        if limit.is_some_and(|(_, delay)| delay == 0) {
            return Err(value("scan_delay", "1 to 255"));
        }
        let mut control = self.mac_events.control();
        if control
            .wanted
            .is_some_and(|wanted| wanted.client != client && world.api.is_connected(wanted.client))
        {
            return Err(Error::failed("another client is told of MAC addresses already")
                .retval(retval::L2_MACS_EVENT_CLIENT_PRESENT));
        }
        control.wanted =
            Some(Subscription { client, most: usize::from(macs) * MACS, limits: limit.is_some() });
        if let Some((_, delay)) = limit {
            control.delay = u64::from(delay) * DELAY;
        }
        drop(control);
        if let Some((limit, _)) = limit {
            self.learned.set_limit(limit);
        }
        self.flush_all(world);
        self.mac_events.marks.store(true, Ordering::Relaxed);
        self.mac_events.signal.raise();
        Ok(())
    }

    /// Ends a client's subscription.
    ///
    /// # Errors
    /// Another client is subscribed (−124).
    pub fn unsubscribe_macs(&self, world: &World, client: u32) -> Result<()> {
        let mut control = self.mac_events.control();
        match control.wanted {
            Some(wanted) if wanted.client != client => {
                Err(Error::failed("another client is told of MAC addresses")
                    .retval(retval::L2_MACS_EVENT_CLIENT_PRESENT))
            }
            wanted => {
                control.wanted = None;
                control.removed = VecDeque::new();
                self.mac_events.marks.store(false, Ordering::Relaxed);
                if wanted.is_some_and(|wanted| wanted.limits) {
                    self.learned.set_limit(world.startup::<Startup>().limit());
                }
                Ok(())
            }
        }
    }

    /// Sets the interval at which the table is scanned for a subscriber, in units of 10 ms.
    ///
    /// # Errors
    /// 0 (−7).
    pub fn set_mac_scan_delay(&self, delay: u64) -> Result<()> {
        if delay == 0 {
            return Err(value("scan_delay", "at least 1"));
        }
        self.mac_events.control().delay = delay * DELAY;
        self.mac_events.signal.raise();
        Ok(())
    }
}

struct Scanner {
    bridge: Arc<Bridge>,
    /// The next piece of the table; 0 between two scans.
    piece: usize,
    /// Time at which the current scan began.
    start: u64,
    /// Entries whose marks were cleared, not reported to the client yet.
    found: VecDeque<Told>,
}

impl Scanner {
    /// Clears the marks of a slice. Returns true if there is more.
    fn scan(&mut self) -> bool {
        let Self { bridge, piece, found, .. } = self;
        const MARKS: u8 = NEW | MOVED;
        cli::slice(|| {
            *piece += 1;
            let unmarked = |_, entry: MacEntry| {
                (entry.flags & MARKS != 0)
                    .then_some(MacEntry { flags: entry.flags & !MARKS, ..entry })
            };
            bridge.macs.update_piece(*piece - 1, unmarked, |key, entry| {
                let is_new = entry.flags & NEW != 0;
                let action = if is_new { MacEventAction::Add } else { MacEventAction::Move };
                found.push_back(told(key, entry, action));
            })
        })
    }
}

impl Process for Scanner {
    fn name(&self) -> &'static str {
        "l2fib-mac-events-process"
    }

    fn run(&mut self, world: &World, _: Wake) -> Sleep {
        let (events, now) = (&self.bridge.mac_events, world.clock.now());
        let (wanted, delay, mut tell, removed) = {
            let mut control = events.control();
            let n = control.removed.len().min(TURN);
            let tell = control.removed.drain(..n).collect::<Vec<_>>();
            (control.wanted, control.delay, tell, control.removed.len())
        };
        let Some(wanted) = wanted else {
            (self.piece, self.found) = (0, VecDeque::new());
            return Sleep::Event;
        };
        if !world.api.is_connected(wanted.client) {
            // The client has disconnected without unsubscribing.
            let _ = self.bridge.unsubscribe_macs(world, wanted.client);
            return Sleep::Event;
        }
        if self.found.is_empty() {
            if self.piece == 0 {
                self.start = now;
            }
            if !self.scan() {
                self.piece = 0;
            }
        }
        tell.extend(self.found.drain(..self.found.len().min(TURN - tell.len())));
        for mac in tell.chunks(wanted.most) {
            world.api.publish(&L2MacsEvent { mac: mac.to_vec() });
        }
        let waits = self.piece > 0 || !self.found.is_empty() || removed > 0;
        Sleep::Until(if waits { now } else { now.max(self.start + delay) })
    }
}

/// Starts the process.
pub fn start(world: &World) {
    let bridge = world.get::<Bridge>();
    let signal = bridge.mac_events.signal.clone();
    let scanner = Scanner { bridge, piece: 0, start: 0, found: VecDeque::new() };
    world.processes.spawn(Box::new(scanner), &signal);
}
