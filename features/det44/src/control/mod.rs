// SPDX-License-Identifier: Apache-2.0
//! Operations of commands and messages.

mod exposed;
mod interfaces;
mod sessions;

pub use sessions::{Row, closed};

use crate::map::{Map, Maps, Range, overlap};
use crate::settings::{Det, MAPS, Settings, role};
use cli::{Result, retval};
use exposed::Exposed;
use graph::{Deleted, Shared, SwIfIndex, World};
use nat::error;
use nat::key::End;
use nat::roles::by_interface;
use nat::timeouts::Timeouts;
use net::{Addresses, DeletedTable, Fib, IfEvent, Interfaces, Source, Sources, TableIndex};
use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::sync::{Mutex, MutexGuard};
use wire::{Ip4, Ip4Prefix};

/// Name and rank of the routes to addresses that the world knows: those of operators come first.
const SOURCE: (&str, u8) = ("det44", 0xd1);

/// Ids of tables while the feature is enabled.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Enabled {
    /// Id of the users' table.
    pub inside: u32,
    /// Id of the world's table, where no interface has one.
    pub outside: u32,
}

impl Enabled {
    /// The tables that are kept.
    fn tables(self) -> BTreeSet<u32> {
        [self.inside, self.outside].into_iter().filter(|id| *id != 0).collect()
    }
}

/// The configuration.
#[derive(Default)]
pub struct State {
    /// `None` while the feature is disabled.
    pub enabled: Option<Enabled>,
    /// See [`Timeouts`].
    pub timeouts: Timeouts,
    /// The maps, in the order of their making.
    pub maps: Vec<Map>,
    /// Roles of interfaces, as bits of [`role`].
    pub roles: BTreeMap<SwIfIndex, u8>,
    exposed: Exposed,
}

/// See [`State`].
pub struct Control(Mutex<State>);

impl Shared for Control {
    fn make(world: &World) -> Self {
        // Made first, so that they are still there when interfaces are forgotten.
        let _ = (world.get::<Addresses<Ip4>>(), world.get::<ip_reassembly::Users>());
        let _ = world.get::<Sources>().add(SOURCE.0, SOURCE.1);
        world.get::<Interfaces>().subscribe(|world, event| {
            if let IfEvent::Table(_, false) = event {
                world.get::<Self>().change(world, |_| {});
            }
        });
        Self(Mutex::default())
    }

    fn forget(&self, world: &World, deleted: &Deleted<'_>) {
        if let Some(sw_if) = deleted.of::<SwIfIndex>() {
            self.change(world, |state| {
                if state.roles.contains_key(sw_if) {
                    let _ = state.set_roles(world, *sw_if, 0);
                }
            });
        }
        if let Some(table) = deleted.of::<DeletedTable<Ip4>>() {
            let index = table.index.0;
            sessions::purge(world, move |keys, _| keys[0].fib() == index);
            self.change(world, |_| {});
        }
    }
}

/// The source of this feature's routes and tables.
fn source(world: &World) -> Source {
    world.get::<Sources>().add(SOURCE.0, SOURCE.1).unwrap_or(Source::Plugin)
}

/// Index of an interface's table.
fn table_of(world: &World, sw_if: SwIfIndex) -> u32 {
    world.get::<Addresses<Ip4>>().table_of(sw_if).map_or(0, |index| index.0)
}

impl Control {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().expect("no panic inside")
    }

    /// Reads the state.
    pub fn read<R>(&self, f: impl FnOnce(&State) -> R) -> R {
        f(&self.state())
    }

    /// Changes the state, and publishes it.
    fn change<R>(&self, world: &World, f: impl FnOnce(&mut State) -> R) -> R {
        let mut state = self.state();
        let result = f(&mut state);
        state.publish(world);
        result
    }

    /// As [`Self::change`], refused while the feature is disabled.
    fn enabled<R>(&self, world: &World, f: impl FnOnce(&mut State) -> Result<R>) -> Result<R> {
        let result = self.change(world, |state| match state.enabled {
            Some(_) => f(state),
            None => Err(error(retval::UNCHANGED, "DET44 is disabled: `det44 plugin enable'")),
        });
        world.note_config_change();
        result
    }

    /// Enables the feature.
    ///
    /// # Errors
    /// It is enabled (1).
    pub fn enable(&self, world: &World, options: Enabled) -> Result<()> {
        self.change(world, |state| {
            if state.enabled.is_some() {
                return Err(error(retval::UNCHANGED, "DET44 is enabled already"));
            }
            for id in options.tables() {
                world.get::<Fib<Ip4>>().add_table(world, id, "", source(world))?;
            }
            state.enabled = Some(options);
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
        let options = self.enabled(world, |state| {
            for sw_if in state.roles.keys().copied().collect::<Vec<_>>() {
                state.set_roles(world, sw_if, 0)?;
            }
            let exposed = std::mem::take(&mut state.exposed);
            let old = std::mem::replace(state, State { exposed, ..State::default() });
            Ok(old.enabled.unwrap_or_default())
        })?;
        // Not while the state is locked: the deletion of a table looks at it.
        for id in options.tables() {
            let _ = world.get::<Fib<Ip4>>().delete_table(world, id, source(world));
        }
        sessions::purge(world, |_, _| true);
        Ok(())
    }

    /// Sets the timeouts, of sessions that there are too; 0 leaves one as it is.
    ///
    /// # Errors
    /// The feature is disabled (1).
    pub fn set_timeouts(&self, world: &World, new: Timeouts) -> Result<()> {
        self.enabled(world, |state| {
            let all = state.timeouts.0.iter_mut().zip(new.0);
            all.filter(|(_, new)| *new != 0).for_each(|(old, new)| *old = new);
            Ok(())
        })?;
        sessions::retime(world);
        Ok(())
    }

    /// Adds a map.
    ///
    /// # Errors
    /// The feature is disabled (1); users can't share the addresses (−7); a prefix overlaps one of
    /// another map (−81); too many maps (−162).
    pub fn add_map(&self, world: &World, inside: Ip4Prefix, outside: Ip4Prefix) -> Result<()> {
        self.enabled(world, |state| {
            let taken = |number: &u32| state.maps.iter().any(|map| map.number == *number);
            let det = world.get::<Det>();
            let is_free = |number: &u32| !taken(number) && det.sessions(*number) == 0;
            let number = (0..MAPS as u32).find(is_free).ok_or_else(|| {
                error(retval::LIMIT_EXCEEDED, format!("there may be {MAPS} maps at most"))
            })?;
            let map = Map::new(inside, outside, number).ok_or_else(|| {
                let why = format!(
                    "the users of {inside} can't share {outside}: expected no more addresses \
                     outside than inside, and 64512 users of an address at most"
                );
                error(retval::INVALID_VALUE, why)
            })?;
            let other = state.maps.iter().find(|other| {
                overlap(&other.inside, &map.inside) || overlap(&other.outside, &map.outside)
            });
            if let Some(Map { inside, outside, .. }) = other {
                let why = format!("it overlaps the map of {inside} to {outside}");
                return Err(error(retval::VALUE_EXIST, why));
            }
            state.maps.push(map);
            Ok(())
        })
    }

    /// Removes a map, with its sessions.
    ///
    /// # Errors
    /// The feature is disabled (1); no such map (−6).
    pub fn remove_map(&self, world: &World, inside: Ip4Prefix, outside: Ip4Prefix) -> Result<()> {
        let number = self.enabled(world, |state| {
            let wanted = (inside.network(), outside.network());
            let found = state.maps.iter().position(|map| (map.inside, map.outside) == wanted);
            let found = found.ok_or_else(|| {
                error(retval::NO_SUCH_ENTRY, format!("there is no map of {inside} to {outside}"))
            })?;
            Ok(state.maps.remove(found).number)
        })?;
        sessions::purge(world, move |_, session| session.map == number);
        Ok(())
    }

    /// The ports of a user.
    ///
    /// # Errors
    /// No map has it (−6).
    pub fn forward(world: &World, user: Ipv4Addr) -> Result<Range> {
        let maps = world.get::<Det>().maps();
        let range = maps.of_user(user).and_then(|map| map.forward(user));
        range.ok_or_else(|| error(retval::NO_SUCH_ENTRY, format!("no map has the user {user}")))
    }

    /// The user of an address and port outside.
    ///
    /// # Errors
    /// No map has it (−6).
    pub fn reverse(world: &World, outside: End) -> Result<Ipv4Addr> {
        let user = world.get::<Det>().maps().user_of(outside);
        user.ok_or_else(|| {
            error(retval::NO_SUCH_ENTRY, format!("no map gives {outside} to a user"))
        })
    }
}

impl State {
    /// Publishes the settings, and makes the addresses local where the world is.
    fn publish(&mut self, world: &World) {
        let fib = world.get::<Fib<Ip4>>();
        let outsides: Vec<_> = self.of_role(role::OUTSIDE).collect();
        let wanted = outsides.iter().flat_map(|sw_if| {
            let table = table_of(world, *sw_if);
            self.maps.iter().map(move |map| (table, map.outside, *sw_if))
        });
        let wanted = wanted.collect();
        self.exposed.become_these(world, wanted);
        let mut tables: Vec<_> = outsides.iter().map(|sw_if| table_of(world, *sw_if)).collect();
        tables.sort_unstable();
        tables.dedup();
        let outside = self.enabled.unwrap_or_default().outside;
        world.get::<Det>().publish(Settings {
            enabled: self.enabled.is_some(),
            timeouts: self.timeouts,
            maps: Maps::new(self.maps.iter().copied()),
            roles: by_interface(&self.roles),
            outside: fib.find_table(outside).map_or(TableIndex::DEFAULT.0, |index| index.0),
            outsides: tables,
            threads: world.threads() as u16,
        });
    }

    /// Interfaces with a role.
    fn of_role(&self, bit: u8) -> impl Iterator<Item = SwIfIndex> {
        self.roles.iter().filter(move |(_, bits)| *bits & bit != 0).map(|(sw_if, _)| *sw_if)
    }
}
