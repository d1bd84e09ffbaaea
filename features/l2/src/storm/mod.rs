// SPDX-License-Identifier: Apache-2.0
//! Storm control: how many frames a second of a port are flooded, by class. VPP has none.
//!
//! `l2-input` marks the frames of ports that have a limit, and `l2-flood` looks at the mark: frames of other ports pass without a lookup.
//! Only flooded frames are limited. Known unicast, frames to the unknown-unicast port and answers of ARP termination aren't flooded. The BVI
//! is exempt: the router has limits for its own questions and errors, and a lost question would cut it off from a host.

mod limiter;

use crate::bridge::Bridge;
use cli::Result;
use graph::{SwIfIndex, ThreadIndex, World};
use limiter::Limiter;
use stats::{Lane, Simple};
use std::sync::Arc;
use sync::Slots;

/// The directory of the counters of dropped frames, by interface.
pub const COUNTERS: &str = "/net/l2-storm-control";

/// A class of flooded frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    /// To all stations.
    Broadcast,
    /// To other groups.
    Multicast,
    /// To one station, at no known port.
    UnknownUnicast,
}

impl Class {
    /// All classes, by number.
    pub const ALL: [Self; 3] = [Self::Broadcast, Self::Multicast, Self::UnknownUnicast];

    /// The word of commands.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Broadcast => "broadcast",
            Self::Multicast => "multicast",
            Self::UnknownUnicast => "unknown-unicast",
        }
    }

    /// The class of a flooded frame with this destination.
    #[inline(always)]
    pub fn of(destination: [u8; 6]) -> Self {
        match destination {
            [0xff, 0xff, 0xff, 0xff, 0xff, 0xff] => Self::Broadcast,
            [first, ..] if first & 1 != 0 => Self::Multicast,
            _ => Self::UnknownUnicast,
        }
    }
}

/// Frames a second, by [`Class`].
pub type Rates = [Option<u32>; 3];

/// The limits of a port. Replaced as a whole by control; limits that stay the same are the same ones.
#[derive(Clone, Debug, Default)]
pub struct Limits([Option<Arc<Limiter>>; 3]);

impl Limits {
    /// Whether a thread may flood a frame.
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
    /// By interface.
    pub limits: Slots<Limits>,
    /// Dropped frames by [`Class`].
    drops: [Arc<Simple>; 3],
}

impl Storms {
    /// No limits.
    pub fn new(world: &World) -> Self {
        let drops = Class::ALL.map(|class| world.stats.simple(&format!("{COUNTERS}/{}", class.word())));
        Self { limits: Slots::new(world.qsbr.clone()), drops }
    }

    /// The counters of a thread, by [`Class`].
    pub fn lanes(&self, thread: ThreadIndex) -> [Lane; 3] {
        self.drops.each_ref().map(|drops| drops.lane(thread.at()))
    }

    /// Control: what is set for an interface.
    pub fn rates(&self, sw_if: SwIfIndex) -> Rates {
        self.limits.read(sw_if.0, |limits| limits.map(Limits::rates).unwrap_or_default())
    }

    /// Frames of an interface that were dropped.
    pub fn drops(&self, sw_if: SwIfIndex, class: Class) -> u64 {
        self.drops[class as usize].sum(sw_if.at())
    }
}

impl Bridge {
    /// Sets how many frames a second an interface may flood of each of these classes while it is a port of a bridge domain, or ends the
    /// limit. At least one; after a pause a tenth of that at once, and at least 10.
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
                *limit = rate.map(|rate| Arc::new(Limiter::new(rate, world.threads())));
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
