// SPDX-License-Identifier: Apache-2.0
//! The switch of the feature, and settings of all of it.

use super::{Control, State, TRANSLATION, sessions, source};
use crate::settings::{FRAME_QUEUE, SESSIONS, Timeouts, USERS};
use crate::state::Nat;
use cli::{Result, retval};
use graph::World;
use nat::configuration::Configured as _;
use nat::error;
use nat::workers::{Plan, check, threads};

/// Options of the feature while it is enabled.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Enabled {
    /// Id of the users' table, where none else is known.
    pub inside: u32,
    /// Id of the world's table, where no interface has one.
    pub outside: u32,
    /// Users of a thread at most.
    pub users: u32,
    /// Sessions of a thread at most.
    pub sessions: u32,
    /// Sessions of a user at most.
    pub user_sessions: u32,
    /// Static mappings alone translate.
    pub static_only: bool,
    /// They make sessions too.
    pub tracking: bool,
    /// Packets of the world come by routes to the pool's addresses.
    pub dpo: bool,
}

/// The choice of ports.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Algorithm {
    /// Any.
    #[default]
    Default,
    /// Ports of a port set identifier (RFC 7597 5.1), as VPP counts them ([`Plan::Psid`]).
    MapE {
        /// Bits below the identifier.
        offset: u8,
        /// Bits of the identifier.
        length: u8,
        /// The identifier.
        psid: u16,
    },
    /// Ports of a range.
    Range {
        /// The first port.
        first: u16,
        /// The last one.
        last: u16,
    },
}

impl Algorithm {
    fn check(self) -> Result<()> {
        let why = match self {
            Self::MapE { offset, length, .. }
                if offset == 0 || u32::from(offset) + u32::from(length) > 16 =>
            {
                format!(
                    "expected 1 to 16 bits in all behind and in the PSID, not {offset} and {length}"
                )
            }
            Self::MapE { length, psid, .. } if u32::from(psid) >> length != 0 => {
                format!("expected a PSID of {length} bits, not {psid}")
            }
            Self::MapE { offset, length, psid }
                if (Plan::Psid { offset, length, psid }).is_empty() =>
            {
                "no port belongs to this PSID".into()
            }
            Self::Range { first, last } if first > last || first == 0 => {
                format!("expected a range of ports, not {first} to {last}")
            }
            _ => return Ok(()),
        };
        Err(error(retval::INVALID_VALUE, why))
    }
}

impl Control {
    /// Enables the feature. Numbers that are 0 are the defaults.
    ///
    /// # Errors
    /// It is enabled (−170).
    pub fn enable(&self, world: &World, mut options: Enabled) -> Result<()> {
        self.change(world, |state| {
            if state.enabled.is_some() {
                return Err(error(retval::FEATURE_ALREADY_ENABLED, "NAT44-EI is enabled already"));
            }
            let or = |number: u32, default: u32| if number == 0 { default } else { number };
            options.users = or(options.users, USERS);
            options.sessions = or(options.sessions, SESSIONS);
            options.user_sessions = or(options.user_sessions, options.sessions);
            options.tracking &= options.static_only;
            state.hold_table(world, options.inside)?;
            let outside = state.hold_table(world, options.outside)?;
            if options.dpo {
                state.exposed.lead_to(&TRANSLATION, outside);
            }
            state.enabled = Some(options);
            Ok(())
        })?;
        self.configure_outboxes(world);
        world.note_config_change();
        Ok(())
    }

    /// Disables the feature, and forgets all of its configuration.
    ///
    /// # Errors
    /// It is disabled (−169).
    pub fn disable(&self, world: &World) -> Result<()> {
        self.change(world, |state| {
            state.check()?;
            state.clear(world)
        })?;
        self.configure_outboxes(world);
        sessions::purge(world, |_, _| true);
        world.note_config_change();
        Ok(())
    }

    /// Lets packets without a mapping pass as they are, or no longer.
    ///
    /// # Errors
    /// The feature is disabled (−169).
    pub fn set_forwarding(&self, world: &World, on: bool) -> Result<()> {
        self.enabled(world, |state| {
            state.forwarding = on;
            Ok(())
        })
    }

    /// Sets the timeouts, of sessions that there are too.
    ///
    /// # Errors
    /// The feature is disabled (−169); a timeout of 0 (−7).
    pub fn set_timeouts(&self, world: &World, timeouts: Timeouts) -> Result<()> {
        self.enabled(world, |state| {
            if timeouts.0.contains(&0) {
                let why = "expected timeouts of 1 second at least";
                return Err(error(retval::INVALID_VALUE, why));
            }
            state.timeouts = timeouts;
            Ok(())
        })?;
        sessions::retime(world);
        Ok(())
    }

    /// Limits the MSS that TCP connections ask for.
    ///
    /// # Errors
    /// The feature is disabled (−169); an MSS of 0 (−7).
    pub fn set_mss(&self, world: &World, mss: Option<u16>) -> Result<()> {
        self.enabled(world, |state| {
            if mss == Some(0) {
                return Err(error(retval::INVALID_VALUE, "no segment fits an MSS of 0"));
            }
            state.mss = mss;
            Ok(())
        })
    }

    /// Chooses the ports that users get.
    ///
    /// # Errors
    /// The feature is disabled (−169); there are no such ports (−7).
    pub fn set_algorithm(&self, world: &World, algorithm: Algorithm) -> Result<()> {
        let many = self.enabled(world, |state| {
            algorithm.check()?;
            state.algorithm = algorithm;
            Ok(threads(world, state.workers).len() > 1)
        })?;
        if many {
            // Ports have other threads now.
            sessions::purge(world, |_, session| !session.is_static());
        }
        Ok(())
    }

    /// Chooses the workers that have sessions, a bit each.
    ///
    /// # Errors
    /// The feature is disabled (−169); fewer than two workers (−30); none, or one that isn't there
    /// (−89).
    pub fn set_workers(&self, world: &World, mask: u64) -> Result<()> {
        self.enabled(world, |state| {
            state.workers = check(world, mask)?;
            state.publish_mappings(world);
            Ok(())
        })?;
        // Flows have other threads and ports now.
        sessions::purge(world, |_, _| true);
        Ok(())
    }

    /// Keeps VPP's length of the rings between threads, which has no effect here.
    ///
    /// # Errors
    /// The feature is enabled (−170).
    pub fn set_frame_queue(&self, world: &World, n: u32) -> Result<()> {
        self.change(world, |state| {
            if state.enabled.is_some() {
                let why = "NAT44-EI is enabled: this setting is for the next time";
                return Err(error(retval::FEATURE_ALREADY_ENABLED, why));
            }
            state.frame_queue = Some(n).filter(|n| *n != FRAME_QUEUE);
            Ok(())
        })
    }

    /// The workers that have sessions.
    pub fn workers(&self, world: &World) -> Vec<u16> {
        threads(world, self.read(|state| state.workers))
    }
}

impl State {
    /// Forgets all configuration.
    fn clear(&mut self, world: &World) -> Result<()> {
        for sw_if in self.roles.keys().copied().collect::<Vec<_>>() {
            self.set_roles(world, sw_if, 0)?;
        }
        self.statics.clear(&world.get::<Nat>().mappings);
        self.exposed.end((world, source(world)));
        self.stop_listening(world);
        let mut held = std::mem::take(&mut self.held);
        held.release_all();
        let frame_queue = self.frame_queue;
        *self = Self { frame_queue, held, ..Self::default() };
        Ok(())
    }
}
