// SPDX-License-Identifier: Apache-2.0
//! Operations of commands and messages.

mod addresses;
mod interfaces;
mod mappings;
mod options;
mod sessions;

pub use addresses::Address;
pub use options::{Enabled, check_flags};
pub use sessions::{Row, SessionName, named_ends};

use crate::settings::{FRAME_QUEUE, PoolAddress, Settings, Timeouts};
use crate::state::{Counters, Nat};
use cli::{Result, retval};
use graph::{Deleted, Shared, SwIfIndex, World};
use nat::error;
use nat::exposed::Exposed;
use nat::held::{Held, let_go};
use nat::roles::leads_outside;
use nat::statics::Statics;
use nat::workers::{Plan, Workers, threads};
use net::{Addresses, DeletedTable, Fib, IfEvent, Interfaces, Source, Sources, TableIndex};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard};
use wire::Ip4;

/// Name and rank of the routes to addresses that the world knows: those of operators come first.
const SOURCE: (&str, u8) = ("nat-low", 0xd0);

/// The configuration.
#[derive(Default)]
pub struct State {
    /// `None` while the feature is disabled.
    pub enabled: Option<Enabled>,
    /// Packets without a mapping pass as they are.
    pub forwarding: bool,
    /// See [`Timeouts`].
    pub timeouts: Timeouts,
    /// The greatest MSS of TCP connections, if it is limited.
    pub mss: Option<u16>,
    /// A setting of VPP that is kept for clients.
    pub frame_queue: Option<u32>,
    /// The workers that have sessions, a bit each, if not all.
    pub workers: Option<u64>,
    /// Addresses of users, and of hosts of the world.
    pub pools: [Vec<Address>; 2],
    /// Interfaces whose first address is in a pool: the interface, and true for the second pool.
    pub followed: Vec<(SwIfIndex, bool)>,
    /// Static mappings.
    pub statics: Statics,
    /// Roles of interfaces, as bits of `nat::roles`.
    pub roles: BTreeMap<SwIfIndex, u8>,
    /// Tables that users of a table may send to, by their ids.
    pub tables: BTreeMap<u32, BTreeSet<u32>>,
    /// Sessions at most, by the id of the users' table.
    pub limits: BTreeMap<u32, u32>,
    exposed: Exposed,
    held: Held,
}

/// See [`State`].
pub struct Control(Mutex<State>);

impl Shared for Control {
    fn make(world: &World) -> Self {
        let _ = world.get::<Nat>();
        // Made first, so that they are still there when interfaces are forgotten.
        let _ = (world.get::<Addresses<Ip4>>(), world.get::<ip_reassembly::Users>());
        let _ = world.get::<Sources>().add(SOURCE.0, SOURCE.1);
        world.get::<Interfaces>().subscribe(|world, event| {
            world.get::<Self>().notice(world, event);
        });
        Self(Mutex::default())
    }

    fn forget(&self, world: &World, deleted: &Deleted<'_>) {
        if let Some(sw_if) = deleted.of::<SwIfIndex>() {
            self.change(world, |state| state.forget_interface(world, *sw_if));
        }
        if let Some(table) = deleted.of::<DeletedTable<Ip4>>() {
            let index = table.index.0;
            sessions::purge(world, move |keys, _| keys.iter().any(|key| key.fib() == index));
            self.change(world, |_| {});
        }
    }
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
    pub fn change<R>(&self, world: &World, f: impl FnOnce(&mut State) -> R) -> R {
        let mut state = self.state();
        let result = f(&mut state);
        finish(world, state);
        result
    }

    /// As [`Self::change`], refused while the feature is disabled.
    ///
    /// # Errors
    /// The feature is disabled (−126); those of `f`.
    pub fn enabled<R>(&self, world: &World, f: impl FnOnce(&mut State) -> Result<R>) -> Result<R> {
        let mut state = self.state();
        state.check()?;
        let result = f(&mut state);
        finish(world, state);
        world.note_config_change();
        result
    }

    /// Follows addresses and tables of interfaces.
    fn notice(&self, world: &World, event: IfEvent) {
        match event {
            IfEvent::Address(sw_if, false) => {
                self.change(world, |state| state.follow(world, sw_if));
            }
            IfEvent::Table(sw_if, false) => {
                self.change(world, |state| {
                    state.exposed.move_routes((world, source(world)), sw_if)
                });
            }
            _ => {}
        }
    }
}

/// Publishes a state that has changed, and lets tables go.
fn finish(world: &World, mut state: MutexGuard<'_, State>) {
    state.publish(world);
    let released = state.held.take_released();
    drop(state);
    let_go::<Ip4>(world, released, source(world));
}

/// The source of this feature's routes and tables.
fn source(world: &World) -> Source {
    world.get::<Sources>().add(SOURCE.0, SOURCE.1).unwrap_or(Source::Plugin)
}

impl State {
    /// Refuses what needs the feature while it is disabled.
    ///
    /// # Errors
    /// The feature is disabled (−126).
    pub fn check(&self) -> Result<()> {
        match self.enabled {
            Some(_) => Ok(()),
            None => Err(error(retval::UNSUPPORTED, "NAT44-ED is disabled: `nat44 plugin enable'")),
        }
    }

    /// Takes a reference on a table, which is made if it isn't there; returns its index.
    fn hold_table(&mut self, world: &World, id: u32) -> Result<u32> {
        self.held.hold::<Ip4>(world, id, source(world))
    }

    /// The threads that have sessions, with their ports.
    fn threads(&self, world: &World) -> Workers {
        Workers::new(threads(world, self.workers), Plan::default())
    }

    /// Publishes the settings.
    fn publish(&self, world: &World) {
        let nat = world.get::<Nat>();
        let Some(enabled) = self.enabled else {
            if nat.read(|settings| settings.enabled) {
                nat.publish(Settings::default());
                nat.renew();
            }
            return;
        };
        let fib = world.get::<Fib<Ip4>>();
        let index = |id: u32| fib.find_table(id).map_or(TableIndex::DEFAULT.0, |index| index.0);
        let known = |id: &u32| fib.find_table(*id).ok().map(|index| index.0);
        let [pool, twice] = [0, 1].map(|which: usize| self.addresses(world, &self.pools[which]));
        let mut pool_addresses: Vec<_> = pool.iter().map(|address| address.addr).collect();
        pool_addresses.sort_unstable();
        let last = self.roles.keys().next_back().map_or(0, |sw_if| sw_if.at() + 1);
        let mut roles = vec![0; last];
        for (sw_if, bits) in &self.roles {
            roles[sw_if.at()] = *bits;
        }
        let routes = self
            .tables
            .iter()
            .filter_map(|(table, to)| Some((known(table)?, to.iter().filter_map(known).collect())));
        let limits = self.limits.iter().filter_map(|(id, limit)| Some((known(id)?, *limit)));
        let settings = Settings {
            enabled: true,
            forwarding: self.forwarding,
            sessions: enabled.sessions,
            limits: limits.collect(),
            timeouts: self.timeouts,
            mss: self.mss.unwrap_or(0),
            inside: index(enabled.inside),
            outside: index(enabled.outside),
            outsides: self.outside_tables(world),
            routes: routes.collect(),
            roles,
            pool,
            twice,
            pool_addresses,
            workers: self.threads(world),
        };
        let ports = |settings: &Settings| (settings.enabled, settings.workers.clone());
        let changed = nat.read(|old| ports(old) != ports(&settings));
        nat.publish(settings);
        if changed {
            nat.renew();
        }
        world.get::<Counters>().most.lane(0).set(0, enabled.sessions.into());
    }

    /// The addresses of a pool as workers read them.
    fn addresses(&self, world: &World, pool: &[Address]) -> Vec<PoolAddress> {
        let fib = world.get::<Fib<Ip4>>();
        let all = world.get::<Addresses<Ip4>>();
        let known = self.roles.keys().chain(self.followed.iter().map(|(sw_if, _)| sw_if));
        let owned: BTreeMap<_, _> = known
            .flat_map(|sw_if| all.own(*sw_if).into_iter().map(|of| (of.addr(), (sw_if.0, of))))
            .collect();
        let one = |address: &Address| PoolAddress {
            addr: address.addr,
            fib: address.vrf.and_then(|id| fib.find_table(id).ok()).map(|index| index.0),
            of: owned.get(&address.addr).copied(),
        };
        pool.iter().map(one).collect()
    }

    /// Indices of the tables of interfaces to the world, each once, in the order of interfaces.
    fn outside_tables(&self, world: &World) -> Vec<u32> {
        let mut tables = Vec::new();
        for (sw_if, _) in self.outsides() {
            let index = table_of(world, sw_if);
            if !tables.contains(&index) {
                tables.push(index);
            }
        }
        tables
    }

    /// Interfaces to the world, with their roles.
    fn outsides(&self) -> impl Iterator<Item = (SwIfIndex, u8)> {
        let all = self.roles.iter().map(|(sw_if, bits)| (*sw_if, *bits));
        all.filter(|(_, bits)| leads_outside(*bits))
    }
}

/// Index of an interface's table.
fn table_of(world: &World, sw_if: SwIfIndex) -> u32 {
    world.get::<Addresses<Ip4>>().table_of(sw_if).map_or(0, |index| index.0)
}

impl Control {
    /// The setting of VPP for its rings between threads.
    pub fn frame_queue(&self) -> u32 {
        self.read(|state| state.frame_queue).unwrap_or(FRAME_QUEUE)
    }
}
