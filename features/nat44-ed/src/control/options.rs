// SPDX-License-Identifier: Apache-2.0
//! The switch of the feature, and settings of all of it.

use super::{Control, State, sessions};
use crate::settings::{FRAME_QUEUE, SESSIONS, Timeouts};
use crate::state::Nat;
use cli::{Result, retval};
use graph::World;
use nat::error;
use nat::workers::{check, threads};
use net::Fib;
use wire::Ip4;

/// Options of the feature while it is enabled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Enabled {
    /// Id of the users' table, where none else is known.
    pub inside: u32,
    /// Id of the world's table, where no interface has one.
    pub outside: u32,
    /// Sessions of a thread at most.
    pub sessions: u32,
}

/// Refuses VPP's modes that NAT44-ED doesn't have: static mappings only, and those with connection
/// tracking.
///
/// # Errors
/// One of them (−126).
pub fn check_flags(static_only: bool, tracking: bool) -> Result<()> {
    if static_only || tracking {
        let why = "NAT44-ED has no mode for static mappings alone: NAT44-EI has";
        return Err(error(retval::UNSUPPORTED, why));
    }
    Ok(())
}

impl Control {
    /// Enables the feature.
    ///
    /// # Errors
    /// It is enabled (−170).
    pub fn enable(&self, world: &World, mut options: Enabled) -> Result<()> {
        self.change(world, |state| {
            if state.enabled.is_some() {
                return Err(error(retval::FEATURE_ALREADY_ENABLED, "NAT44-ED is enabled already"));
            }
            if options.sessions == 0 {
                options.sessions = SESSIONS;
            }
            state.hold_table(world, options.inside)?;
            state.hold_table(world, options.outside)?;
            state.enabled = Some(options);
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
                return Err(error(
                    retval::FEATURE_ALREADY_DISABLED,
                    "NAT44-ED is disabled already",
                ));
            }
            state.clear(world)
        })?;
        sessions::purge(world, |_, _| true);
        sessions::forget_clients(world);
        world.note_config_change();
        Ok(())
    }

    /// Lets packets without a mapping pass as they are, or no longer.
    ///
    /// # Errors
    /// The feature is disabled (−126).
    pub fn set_forwarding(&self, world: &World, on: bool) -> Result<()> {
        self.enabled(world, |state| {
            state.forwarding = on;
            Ok(())
        })?;
        if !on {
            sessions::purge(world, |_, session| session.is_bypass());
        }
        Ok(())
    }

    /// Sets the timeouts, of sessions that there are too.
    ///
    /// # Errors
    /// The feature is disabled (−126); a timeout of 0 (−7).
    pub fn set_timeouts(&self, world: &World, timeouts: Timeouts) -> Result<()> {
        if timeouts.0.contains(&0) {
            let why = "expected timeouts of 1 second at least";
            return Err(error(retval::INVALID_VALUE, why));
        }
        self.enabled(world, |state| {
            state.timeouts = timeouts;
            Ok(())
        })?;
        sessions::retime(world);
        Ok(())
    }

    /// Limits the MSS that TCP connections ask for.
    ///
    /// # Errors
    /// The feature is disabled (−126); an MSS of 0 (−7).
    pub fn set_mss(&self, world: &World, mss: Option<u16>) -> Result<()> {
        if mss == Some(0) {
            return Err(error(retval::INVALID_VALUE, "no segment fits an MSS of 0"));
        }
        self.enabled(world, |state| {
            state.mss = mss;
            Ok(())
        })
    }

    /// Limits the sessions of a thread, of all users or of those of a table.
    ///
    /// # Errors
    /// The feature is disabled (−126); a table that isn't there (−1); a limit of 0 (−7).
    pub fn set_limit(&self, world: &World, limit: u32, vrf: u32) -> Result<()> {
        if limit == 0 {
            return Err(error(retval::INVALID_VALUE, "expected at least one session"));
        }
        self.enabled(world, |state| {
            if world.get::<Fib<Ip4>>().find_table(vrf).is_err() {
                let why = format!("there is no table {vrf}");
                return Err(error(retval::UNSPECIFIED, why));
            }
            state.limits.insert(vrf, limit);
            Ok(())
        })
    }

    /// Ends the limit of a table's sessions.
    ///
    /// # Errors
    /// The feature is disabled (−126); no limit (−6).
    pub fn remove_limit(&self, world: &World, vrf: u32) -> Result<()> {
        self.enabled(world, |state| match state.limits.remove(&vrf) {
            Some(_) => Ok(()),
            None => {
                let why = format!("the sessions of table {vrf} have no limit");
                Err(error(retval::NO_SUCH_ENTRY, why))
            }
        })
    }

    /// Chooses the workers that have sessions, a bit each.
    ///
    /// # Errors
    /// Fewer than two workers (−30); none, or one that isn't there (−89).
    pub fn set_workers(&self, world: &World, mask: u64) -> Result<()> {
        let mask = check(world, mask)?;
        self.enabled(world, |state| {
            state.workers = mask;
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
                let why = "NAT44-ED is enabled: this setting is for the next time";
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

    /// Adds a table of users that may send to other tables, or removes it.
    ///
    /// # Errors
    /// The feature is disabled (−126); it is there (−81), or not (−6).
    pub fn set_table(&self, world: &World, table: u32, add: bool) -> Result<()> {
        self.enabled(world, |state| {
            if add {
                if state.tables.contains_key(&table) {
                    let why = format!("there is a table for users of VRF {table} already");
                    return Err(error(retval::VALUE_EXIST, why));
                }
                state.hold_table(world, table)?;
                state.tables.insert(table, Default::default());
                return Ok(());
            }
            let Some(routes) = state.tables.remove(&table) else { return Err(no_table(table)) };
            routes.into_iter().for_each(|vrf| state.held.release(vrf));
            state.held.release(table);
            Ok(())
        })
    }

    /// Lets users of a table send to another one, or no longer.
    ///
    /// # Errors
    /// The feature is disabled (−126); no such table (−6); the route is there (−81), or not (−6).
    pub fn set_route(&self, world: &World, table: u32, vrf: u32, add: bool) -> Result<()> {
        self.enabled(world, |state| {
            let Some(routes) = state.tables.get(&table) else { return Err(no_table(table)) };
            let there = routes.contains(&vrf);
            if add == there {
                let (which, what) = match add {
                    true => (retval::VALUE_EXIST, "already"),
                    false => (retval::NO_SUCH_ENTRY, "not"),
                };
                let why = format!("users of VRF {table} may send to VRF {vrf}: {what}");
                return Err(error(which, why));
            }
            if add {
                state.hold_table(world, vrf)?;
            } else {
                state.held.release(vrf);
            }
            let routes = state.tables.entry(table).or_default();
            _ = if add { routes.insert(vrf) } else { routes.remove(&vrf) };
            Ok(())
        })
    }
}

fn no_table(table: u32) -> cli::Error {
    error(retval::NO_SUCH_ENTRY, format!("there is no table for users of VRF {table}"))
}

impl State {
    /// Forgets all configuration.
    fn clear(&mut self, world: &World) -> Result<()> {
        for sw_if in self.roles.keys().copied().collect::<Vec<_>>() {
            self.set_roles(world, sw_if, 0)?;
        }
        self.statics.clear(&world.get::<Nat>().mappings);
        self.exposed.clear();
        let mut held = std::mem::take(&mut self.held);
        held.release_all();
        let frame_queue = self.frame_queue;
        *self = Self { frame_queue, held, ..Self::default() };
        Ok(())
    }
}
