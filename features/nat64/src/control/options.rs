// SPDX-License-Identifier: Apache-2.0
//! The switch of the feature, and settings of all of it.

use super::{Control, State, error, walks};
use crate::settings::{BIB_BUCKETS, ST_BUCKETS};
use crate::state::Nat;
use cli::{Result, retval};
use graph::World;
use nat::timeouts::Timeouts;

/// Options of the feature while it is enabled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Enabled {
    /// Buckets of bindings that VPP would have: ten bindings of a thread at most for each.
    pub bib_buckets: u32,
    /// Buckets of sessions, in the same way.
    pub st_buckets: u32,
}

impl Control {
    /// Enables the feature; 0 buckets are as many as usual.
    ///
    /// # Errors
    /// It is enabled (−170).
    pub fn enable(&self, world: &World, options: Enabled) -> Result<()> {
        self.change(world, |state| {
            if state.enabled.is_some() {
                return Err(error(retval::FEATURE_ALREADY_ENABLED, "NAT64 is enabled already"));
            }
            let or = |given: u32, usual: u32| if given == 0 { usual } else { given };
            state.epoch += 1;
            state.enabled = Some(Enabled {
                bib_buckets: or(options.bib_buckets, BIB_BUCKETS),
                st_buckets: or(options.st_buckets, ST_BUCKETS),
            });
            Ok(())
        })?;
        world.note_config_change();
        Ok(())
    }

    /// Disables the feature, and forgets all of its configuration.
    ///
    /// # Errors
    /// It is disabled (−169).
    pub fn disable(&self, world: &World) -> Result<()> {
        self.change(world, |state| {
            if state.enabled.is_none() {
                return Err(error(retval::FEATURE_ALREADY_DISABLED, "NAT64 is disabled already"));
            }
            state.clear(world)
        })?;
        world.get::<Nat>().publish_statics(Default::default());
        walks::purge(world, |_, _| true);
        world.note_config_change();
        Ok(())
    }

    /// Sets the timeouts, of sessions that there are too; 0 is the usual one.
    ///
    /// # Errors
    /// The feature is disabled (−126).
    pub fn set_timeouts(&self, world: &World, mut timeouts: Timeouts) -> Result<()> {
        for (seconds, usual) in timeouts.0.iter_mut().zip(Timeouts::default().0) {
            if *seconds == 0 {
                *seconds = usual;
            }
        }
        self.enabled(world, |state| {
            state.timeouts = timeouts;
            Ok(())
        })?;
        walks::retime(world, timeouts);
        Ok(())
    }
}

impl State {
    /// Forgets all configuration.
    fn clear(&mut self, world: &World) -> Result<()> {
        for sw_if in self.roles.keys().copied().collect::<Vec<_>>() {
            self.set_roles(world, sw_if, 0)?;
        }
        for prefix in std::mem::take(&mut self.prefixes) {
            self.route_prefix(world, prefix, false)?;
        }
        let mut held = std::mem::take(&mut self.held);
        held.release_all();
        *self = Self { epoch: self.epoch, held, ..Self::default() };
        Ok(())
    }
}
