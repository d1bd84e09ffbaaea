// SPDX-License-Identifier: Apache-2.0
//! Operations of commands and messages.

mod bibs;
mod interfaces;
mod options;
mod pool;
mod prefixes;
mod walks;

pub use bibs::{StaticBib, StaticName};
pub use options::Enabled;
pub use pool::Address;
pub use prefixes::Prefix;
pub use walks::{BindingRow, Protocols, SessionRow};

use crate::settings::{PER_BUCKET, PoolAddress, Settings};
use crate::state::Nat;
use cli::{Error, Result, retval};
use graph::{Deleted, Shared, SwIfIndex, World};
use nat::exposed::Exposed;
use nat::held::{Held, let_go};
use nat::timeouts::Timeouts;
use nat::workers::{Plan, Workers, threads};
use net::{Addresses, DeletedTable, Fib, IfEvent, Interfaces, Source, Sources};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};
use wire::{Ip4, Ip6};

/// Name and rank of the routes to addresses that the world knows: those of operators come first.
const SOURCE: (&str, u8) = ("nat64", 0xd1);

/// The configuration.
#[derive(Default)]
pub struct State {
    /// `None` while the feature is disabled.
    pub enabled: Option<Enabled>,
    /// See [`Timeouts`].
    pub timeouts: Timeouts,
    /// Addresses of users, in their order, whichever way they came.
    pub pool: Vec<Address>,
    /// Interfaces whose first address is in the pool.
    pub followed: Vec<SwIfIndex>,
    /// Prefixes by the id of the users' table.
    pub prefixes: BTreeMap<u32, Prefix>,
    /// Static bindings.
    pub statics: BTreeMap<StaticName, StaticBib>,
    /// Roles of interfaces, as bits of [`role`].
    pub roles: BTreeMap<SwIfIndex, u8>,
    /// Another number each time that the feature is enabled.
    epoch: u64,
    exposed: Exposed,
    held: Held,
}

/// Bits of [`State::roles`].
pub mod role {
    /// Users are behind the interface.
    pub const INSIDE: u8 = 1;
    /// The world is behind it.
    pub const OUTSIDE: u8 = 2;
}

/// See [`State`].
pub struct Control(Mutex<State>);

impl Shared for Control {
    fn make(world: &World) -> Self {
        let _ = world.get::<Nat>();
        // Made first, so that they are still there when interfaces are forgotten.
        let _ = (world.get::<Addresses<Ip4>>(), world.get::<Addresses<Ip6>>());
        let _ = world.get::<ip_reassembly::Users>();
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
        if let Some(table) = deleted.of::<DeletedTable<Ip6>>() {
            let index = table.index.0;
            walks::purge(world, move |keys, _| keys[0].user().fib == index);
            self.change(world, |_| {});
        }
    }
}

/// An error with its number.
pub fn error(retval: cli::retval::Retval, why: impl Into<String>) -> Error {
    Error::failed(why).retval(retval)
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
        finish(world, state);
        result
    }

    /// As [`Self::change`], refused while the feature is disabled.
    fn enabled<R>(&self, world: &World, f: impl FnOnce(&mut State) -> Result<R>) -> Result<R> {
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
                    state.exposed.move_routes((world, source(world)), sw_if);
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
    let_go::<Ip6>(world, released, source(world));
}

/// The source of this feature's routes and tables.
fn source(world: &World) -> Source {
    world.get::<Sources>().add(SOURCE.0, SOURCE.1).unwrap_or(Source::Plugin)
}

impl State {
    /// Refuses what needs the feature while it is disabled.
    fn check(&self) -> Result<()> {
        match self.enabled {
            Some(_) => Ok(()),
            None => Err(error(retval::UNSUPPORTED, "NAT64 is disabled: `nat64 plugin enable'")),
        }
    }

    /// Takes a reference on a table of users, which is made if it isn't there; returns its index.
    fn hold_table(&mut self, world: &World, id: u32) -> Result<u32> {
        self.held.hold::<Ip6>(world, id, source(world))
    }

    /// The threads that have sessions.
    fn workers(world: &World) -> Workers {
        Workers::new(threads(world, None), Plan::default())
    }

    /// Publishes the settings.
    fn publish(&self, world: &World) {
        let nat = world.get::<Nat>();
        let Some(enabled) = self.enabled else {
            if nat.read(|settings| settings.enabled) {
                nat.publish(Settings::default());
            }
            return;
        };
        let fib = world.get::<Fib<Ip6>>();
        let index = |id: u32| fib.find_table(id).ok().map(|index| index.0);
        let mut prefixes = Vec::new();
        for (vrf, prefix) in &self.prefixes {
            let Some(at) = index(*vrf).map(|at| at as usize) else { continue };
            prefixes.resize(prefixes.len().max(at + 1), None);
            prefixes[at] = Some(prefix.prefix);
        }
        let of = |address: &Address| PoolAddress {
            addr: address.addr,
            fib: address.vrf.and_then(index),
            claims: address.claims.clone(),
        };
        let mut by_address: Vec<_> =
            self.pool.iter().enumerate().map(|(at, of)| (of.addr, at)).collect();
        by_address.sort_unstable();
        nat.publish(Settings {
            enabled: true,
            bibs: (enabled.bib_buckets.saturating_mul(PER_BUCKET)) as usize,
            sessions: (enabled.st_buckets.saturating_mul(PER_BUCKET)) as usize,
            timeouts: self.timeouts,
            prefixes,
            prefix: self.prefixes.get(&0).map(|of| of.prefix).unwrap_or_default(),
            pool: self.pool.iter().map(of).collect(),
            by_address,
            workers: Self::workers(world),
        });
    }
}
