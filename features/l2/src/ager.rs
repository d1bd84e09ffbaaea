// SPDX-License-Identifier: Apache-2.0
//! The process that removes old and flushed addresses, and lets the table grow. Both go in slices,
//! so that other processes aren't kept waiting.

use crate::bridge::Bridge;
use graph::{Process, Sleep, Wake, World};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tables::mac::GrowthState;

const SECOND: u64 = 1_000_000_000;
/// Nanoseconds from one sweep for old entries to the next.
const SCAN: u64 = 60 * SECOND;
/// Nanoseconds until the table is looked at again while workers have yet to see the larger one.
const SOON: u64 = 1_000_000;

struct Ager {
    bridge: Arc<Bridge>,
    /// Time of the next sweep for old entries.
    scan: u64,
    sweep: Option<Sweep>,
}

/// A walk over the whole table.
struct Sweep {
    /// The next piece.
    piece: usize,
    /// Number of pieces at the start. If it changes, entries have moved, and the sweep starts
    /// again.
    pieces: usize,
    /// Flushes that this sweep is for.
    flushes: u64,
    /// Time at which it began.
    start: u64,
}

impl Ager {
    /// Does a slice of the sweep, if one is due. Returns whether it goes on.
    fn sweep(&mut self, world: &World, now: u64) -> bool {
        let bridge = &self.bridge;
        let (flushes, swept) = {
            let control = bridge.control();
            (control.flushes, control.swept)
        };
        if now >= self.scan {
            self.scan = now + SCAN;
        } else if self.sweep.is_none() && flushes == swept {
            return false;
        }
        let pieces = bridge.macs.pieces();
        let start = self.sweep.as_ref().map_or(now, |sweep| sweep.start);
        let sweep = match self.sweep.take().filter(|sweep| sweep.pieces == pieces) {
            Some(sweep) => self.sweep.insert(sweep),
            None => self.sweep.insert(Sweep { piece: 0, pieces, flushes, start }),
        };
        let goes_on = cli::slice(|| {
            sweep.piece += 1;
            bridge.sweep_piece(sweep.piece - 1, now)
        });
        if !goes_on {
            bridge.control().swept = sweep.flushes;
            bridge
                .last_scan
                .store(world.clock.now().saturating_sub(sweep.start), Ordering::Relaxed);
            self.sweep = None;
        }
        goes_on
    }
}

impl Process for Ager {
    fn name(&self) -> &'static str {
        "l2fib-ager-scanner-process"
    }

    fn run(&mut self, world: &World, wake: Wake) -> Sleep {
        let now = world.clock.now();
        if wake == Wake::Start {
            self.scan = now + SCAN;
        }
        if self.bridge.is_unused() {
            return Sleep::Event;
        }
        let sweeps = self.sweep(world, now);
        self.bridge.retire_domains();
        let bridge = &self.bridge;
        let is_full = bridge.is_full.load(Ordering::Relaxed);
        let growth = bridge.macs.maintain(is_full, |key, entry| bridge.uncount(key, entry));
        // A table of the largest size doesn't grow: workers aren't listened to until the next
        // second.
        if growth != GrowthState::Idle || wake == Wake::Timer {
            bridge.is_full.store(false, Ordering::Relaxed);
        }
        Sleep::Until(match growth {
            _ if sweeps => now,
            GrowthState::Moving => now,
            GrowthState::Waiting => now + SOON,
            GrowthState::Idle => now + SECOND,
        })
    }
}

/// Starts the process.
pub fn start(world: &World) {
    let bridge = world.get::<Bridge>();
    let signal = bridge.ager.clone();
    world.processes.spawn(Box::new(Ager { bridge, scan: 0, sweep: None }), &signal);
}
