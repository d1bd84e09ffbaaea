// SPDX-License-Identifier: Apache-2.0
//! Storm control: limits the frames per second that a port floods, by class. VPP has none.
//!
//! `l2-input` marks the frames of ports that have a limit, and `l2-flood` checks the mark: frames
//! of other ports pass without a lookup. Only flooded frames are limited, not known unicast, frames
//! to the unknown-unicast port and replies of ARP termination. The BVI is exempt: the router limits
//! its own requests and errors, and a lost request would cut it off from a host.

use crate::bridge::Bridge;
use cli::Result;
use graph::{SwIfIndex, ThreadIndex, World};
use stats::{Lane, Simple};
use std::sync::Arc;
use sync::{Slots, TokenBucketWithStocks};

/// The directory of the counters of dropped frames, by interface.
pub const COUNTERS: &str = "/net/l2-storm-control";

/// Divisor: the burst is the number of frames in one second at the rate, divided by this.
const BURST_PART: u32 = 10;
/// Minimum burst: several hosts may send requests at the same time.
const LEAST_BURST: u32 = 10;

/// Returns the number of frames that pass at once after a pause.
fn burst(rate: u32) -> u32 {
    (rate / BURST_PART).max(LEAST_BURST)
}

/// A class of flooded frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    /// Frames to all stations.
    Broadcast,
    /// Frames to other groups.
    Multicast,
    /// Frames to one station, at no known port.
    UnknownUnicast,
}

impl Class {
    /// All classes, by number.
    pub const ALL: [Self; 3] = [Self::Broadcast, Self::Multicast, Self::UnknownUnicast];

    /// Returns the keyword in commands.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Broadcast => "broadcast",
            Self::Multicast => "multicast",
            Self::UnknownUnicast => "unknown-unicast",
        }
    }

    /// Returns the class of a flooded frame with this destination.
    #[inline(always)]
    pub fn of(destination: [u8; 6]) -> Self {
        match destination {
            [0xff, 0xff, 0xff, 0xff, 0xff, 0xff] => Self::Broadcast,
            [first, ..] if first & 1 != 0 => Self::Multicast,
            _ => Self::UnknownUnicast,
        }
    }
}

/// Limits in frames per second, by [`Class`].
pub type Rates = [Option<u32>; 3];

/// The limits of a port. Replaced as a whole by the main thread; unchanged limits keep their
/// buckets.
#[derive(Clone, Debug, Default)]
pub struct Limits([Option<Arc<TokenBucketWithStocks>>; 3]);

impl Limits {
    /// Returns true if a thread may flood a frame.
    #[inline]
    pub fn pass(&self, class: Class, thread: ThreadIndex, now: u64) -> bool {
        self.0[class as usize].as_ref().is_none_or(|limiter| limiter.take(thread.at(), now))
    }

    fn rates(&self) -> Rates {
        self.0.each_ref().map(|limiter| limiter.as_ref().map(|limiter| limiter.rate()))
    }
}

/// Storm control of an instance.
pub struct Storms {
    /// Limits by interface.
    pub limits: Slots<Limits>,
    /// Number of dropped frames, by [`Class`].
    drops: [Arc<Simple>; 3],
}

impl Storms {
    /// Returns the state without limits.
    pub fn new(world: &World) -> Self {
        let drops =
            Class::ALL.map(|class| world.stats.simple(&format!("{COUNTERS}/{}", class.word())));
        Self { limits: Slots::new(world.qsbr.clone()), drops }
    }

    /// Returns the counters of a thread, by [`Class`].
    pub fn lanes(&self, thread: ThreadIndex) -> [Lane; 3] {
        self.drops.each_ref().map(|drops| drops.lane(thread.at()))
    }

    /// Main thread: returns the limits of an interface.
    pub fn rates(&self, sw_if: SwIfIndex) -> Rates {
        self.limits.read(sw_if.0, |limits| limits.map(Limits::rates).unwrap_or_default())
    }

    /// Frames of an interface that were dropped.
    pub fn drops(&self, sw_if: SwIfIndex, class: Class) -> u64 {
        self.drops[class as usize].sum(sw_if.at())
    }
}

impl Bridge {
    /// Sets the frames per second that an interface may flood of each of these classes while it is
    /// a port of a bridge domain, or removes the limit. At least one; after a pause a tenth of
    /// that at once, and at least 10.
    ///
    /// # Errors
    /// An interface that isn't there (−2) or carries no Ethernet frames (−71).
    pub fn set_storm_control(
        &self,
        world: &World,
        sw_if: SwIfIndex,
        classes: &[Class],
        rate: Option<u32>,
    ) -> Result<()> {
        self.check(world, sw_if)?;
        let control = self.control();
        let Limits(mut limits) =
            self.storms.limits.read(sw_if.0, |limits| limits.cloned().unwrap_or_default());
        for class in classes {
            let limit = &mut limits[*class as usize];
            if limit.as_ref().map(|limiter| limiter.rate()) != rate {
                *limit = rate.map(|rate| {
                    Arc::new(TokenBucketWithStocks::new(rate, burst(rate), world.threads()))
                });
            }
        }
        match limits.iter().all(Option::is_none) {
            true => _ = self.storms.limits.clear(sw_if.0),
            false => self.storms.limits.set(sw_if.0, Limits(limits)),
        }
        self.publish_known_port(world, &control, sw_if);
        drop(control);
        world.note_config_change();
        Ok(())
    }
}
