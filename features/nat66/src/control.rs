// SPDX-License-Identifier: Apache-2.0
//! Operations of commands and messages.

use crate::mapping::{Mapping, Nat, Settings};
use crate::nodes::{COUNTERS, IN2OUT, OUT2IN};
use cli::{Error, Result, retval};
use graph::{Deleted, Shared, SwIfIndex, World};
use nat::held::{Held, let_go};
use net::{Addresses, Fib, Interfaces, Source, Sources, TableIndex};
use std::collections::BTreeMap;
use std::net::Ipv6Addr;
use std::sync::Mutex;
use wire::Ip6;

/// Name and rank of the source of tables.
const SOURCE: (&str, u8) = ("nat66", 0xd2);
/// Mappings at most.
pub const MAPPINGS: u32 = 1 << 20;

/// A static mapping.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StaticMapping {
    /// The address inside.
    pub local: Ipv6Addr,
    /// The address outside.
    pub external: Ipv6Addr,
    /// Id of the table of the address inside.
    pub vrf: u32,
}

/// The configuration.
#[derive(Default)]
pub struct State {
    /// Id of the world's table; `None` while the feature is disabled.
    pub enabled: Option<u32>,
    /// Interfaces; true for those to users.
    pub roles: BTreeMap<SwIfIndex, bool>,
    /// The mappings, by number.
    pub mappings: BTreeMap<u32, StaticMapping>,
    /// Their numbers by table and address inside.
    by_local: BTreeMap<(u32, Ipv6Addr), u32>,
    /// Their numbers by address outside.
    by_external: BTreeMap<Ipv6Addr, u32>,
    /// Numbers that removed mappings had.
    free: Vec<u32>,
    held: Held,
}

/// See [`State`].
pub struct Control(Mutex<State>);

impl Shared for Control {
    fn make(world: &World) -> Self {
        // Made first, so that they are still there when interfaces are forgotten.
        let _ = world.get::<Addresses<Ip6>>();
        let _ = world.get::<Sources>().add(SOURCE.0, SOURCE.1);
        Self(Mutex::default())
    }

    fn forget(&self, world: &World, deleted: &Deleted<'_>) {
        if let Some(sw_if) = deleted.of::<SwIfIndex>() {
            self.change(world, |state| {
                if let Some(inside) = state.roles.get(sw_if).copied() {
                    let _ = state.set_role(world, *sw_if, inside, false);
                }
            });
        }
    }
}

fn error(retval: cli::retval::Retval, why: impl Into<String>) -> Error {
    Error::failed(why).retval(retval)
}

fn source(world: &World) -> Source {
    world.get::<Sources>().add(SOURCE.0, SOURCE.1).unwrap_or(Source::Plugin)
}

impl Control {
    /// Reads the state.
    pub fn read<R>(&self, f: impl FnOnce(&State) -> R) -> R {
        f(&self.0.lock().expect("no panic inside"))
    }

    /// Changes the state, and publishes the settings.
    fn change<R>(&self, world: &World, f: impl FnOnce(&mut State) -> R) -> R {
        let mut state = self.0.lock().expect("no panic inside");
        let result = f(&mut state);
        state.publish(world);
        let released = state.held.take_released();
        drop(state);
        let_go::<Ip6>(world, released, source(world));
        result
    }

    /// As [`Self::change`], refused while the feature is disabled.
    fn enabled<R>(&self, world: &World, f: impl FnOnce(&mut State) -> Result<R>) -> Result<R> {
        let result = self.change(world, |state| match state.enabled {
            Some(_) => f(state),
            None => Err(error(retval::UNCHANGED, "NAT66 is disabled: `nat66 plugin enable'")),
        });
        world.note_config_change();
        result
    }

    /// Enables the feature, with the id of the world's table.
    ///
    /// # Errors
    /// It is enabled (1).
    pub fn enable(&self, world: &World, outside: u32) -> Result<()> {
        self.change(world, |state| {
            if state.enabled.is_some() {
                return Err(error(retval::UNCHANGED, "NAT66 is enabled already"));
            }
            state.held.hold::<Ip6>(world, outside, source(world))?;
            state.enabled = Some(outside);
            Ok(())
        })?;
        world.note_config_change();
        Ok(())
    }

    /// Disables the feature, and forgets all of its configuration.
    ///
    /// # Errors
    /// It is disabled (1).
    pub fn disable(&self, world: &World) -> Result<()> {
        self.enabled(world, |state| {
            for (sw_if, inside) in state.roles.clone() {
                state.set_role(world, sw_if, inside, false)?;
            }
            for at in state.mappings.keys().copied().collect::<Vec<_>>() {
                state.remove(world, at);
            }
            if let Some(outside) = state.enabled.take() {
                state.held.release(outside);
            }
            Ok(())
        })
    }

    /// Makes an interface one to users or to the world, or no longer.
    ///
    /// # Errors
    /// The feature is disabled (1); no such interface (−2); it has a role already (−81), or not
    /// this one (−6).
    pub fn set_role(&self, world: &World, sw_if: SwIfIndex, inside: bool, add: bool) -> Result<()> {
        self.enabled(world, |state| {
            world.get::<Interfaces>().check(sw_if)?;
            let name = world.get::<Interfaces>().name(sw_if);
            match (add, state.roles.get(&sw_if)) {
                (true, Some(_)) => {
                    Err(error(retval::VALUE_EXIST, format!("{name} has a role already")))
                }
                (false, old) if old != Some(&inside) => {
                    Err(error(retval::NO_SUCH_ENTRY, format!("{name} doesn't have this role")))
                }
                _ => state.set_role(world, sw_if, inside, add),
            }
        })
    }

    /// Adds a mapping.
    ///
    /// # Errors
    /// The feature is disabled (1); one of the addresses has a mapping (−81); too many (−162).
    pub fn add(&self, world: &World, new: StaticMapping) -> Result<()> {
        self.enabled(world, |state| {
            let StaticMapping { local, external, vrf } = new;
            let taken = |addr| Err(error(retval::VALUE_EXIST, format!("{addr} has a mapping")));
            if state.by_local.contains_key(&(vrf, local)) {
                return taken(local);
            }
            if state.by_external.contains_key(&external) {
                return taken(external);
            }
            let next = state.mappings.len() as u32;
            let at = state.free.pop().unwrap_or(next);
            if at >= MAPPINGS {
                let why = format!("there may be {MAPPINGS} mappings at most");
                return Err(error(retval::LIMIT_EXCEEDED, why));
            }
            let fib = state.held.hold::<Ip6>(world, vrf, source(world));
            let fib = fib.inspect_err(|_| state.free.push(at))?;
            state.mappings.insert(at, new);
            state.by_local.insert((vrf, local), at);
            state.by_external.insert(external, at);
            world.stats.combined(COUNTERS).start(at as usize);
            world.get::<Nat>().insert(at, Mapping { local, fib, external });
            Ok(())
        })
    }

    /// Removes a mapping.
    ///
    /// # Errors
    /// The feature is disabled (1); there is no such mapping (−6).
    pub fn del(&self, world: &World, old: StaticMapping) -> Result<()> {
        self.enabled(world, |state| {
            let at = state.by_local.get(&(old.vrf, old.local)).copied();
            let at = at.filter(|at| state.mappings.get(at) == Some(&old)).ok_or_else(|| {
                let StaticMapping { local, external, vrf } = old;
                let why = format!("there is no mapping of {local} of table {vrf} to {external}");
                error(retval::NO_SUCH_ENTRY, why)
            })?;
            state.remove(world, at);
            Ok(())
        })
    }

    /// Packets and bytes that a mapping has translated.
    pub fn counters(world: &World, at: u32) -> (u64, u64) {
        world.stats.combined(COUNTERS).sum(at as usize)
    }
}

impl State {
    fn set_role(&mut self, world: &World, sw_if: SwIfIndex, inside: bool, add: bool) -> Result<()> {
        let node = if inside { IN2OUT } else { OUT2IN };
        world.set_feature("ip6-unicast", node, sw_if, add).map_err(Error::failed)?;
        _ = if add { self.roles.insert(sw_if, inside) } else { self.roles.remove(&sw_if) };
        Ok(())
    }

    fn remove(&mut self, world: &World, at: u32) {
        let Some(StaticMapping { local, external, vrf }) = self.mappings.remove(&at) else {
            return;
        };
        world.get::<Nat>().remove(at);
        self.by_local.remove(&(vrf, local));
        self.by_external.remove(&external);
        self.held.release(vrf);
        self.free.push(at);
    }

    fn publish(&self, world: &World) {
        let table = world.get::<Fib<Ip6>>().find_table(self.enabled.unwrap_or(0));
        let table = table.map_or(TableIndex::DEFAULT.0, |index| index.0);
        let outside = self.roles.iter().filter(|(_, inside)| !**inside);
        let outside = outside.map(|(sw_if, _)| sw_if.at());
        world.get::<Nat>().publish(Settings::new(outside, table));
    }
}
