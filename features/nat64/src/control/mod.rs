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
use cli::{Result, retval};
use graph::{SwIfIndex, World};
use nat::configuration::Configured;
use nat::error;
use nat::exposed::Exposed;
use nat::held::Held;
use nat::timeouts::Timeouts;
use nat::workers::{Plan, Workers, threads};
use net::{Fib, Source};
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use wire::Ip6;

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
    /// Addresses that have left the pool, whose bindings have to end.
    gone: Vec<Ipv4Addr>,
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

nat::control!(Control, State, Nat);

impl Configured for State {
    /// Routes of operators come first.
    const SOURCE: (&'static str, u8) = ("nat64", 0xd1);
    type Users = Ip6;

    fn check(&self) -> Result<()> {
        match self.enabled {
            Some(_) => Ok(()),
            None => Err(error(retval::UNSUPPORTED, "NAT64 is disabled: `nat64 plugin enable'")),
        }
    }

    fn publish(&mut self, world: &World) {
        self.publish_settings(world);
        pool::end_bindings_of(world, std::mem::take(&mut self.gone));
    }

    fn exposed(&mut self) -> &mut Exposed {
        &mut self.exposed
    }

    fn held(&mut self) -> &mut Held {
        &mut self.held
    }

    fn follow(&mut self, world: &World, sw_if: SwIfIndex) {
        self.follow_addresses(world, sw_if);
    }

    fn forget_interface(&mut self, world: &World, sw_if: SwIfIndex) {
        self.remove_interface(world, sw_if);
    }

    fn forget_table(world: &World, fib: u32) {
        walks::purge(world, move |keys, _| keys[0].user().fib == fib);
    }
}

/// The source of this feature's routes and tables.
fn source(world: &World) -> Source {
    nat::configuration::source::<State>(world)
}

impl State {
    /// Takes a reference on a table of users, which is made if it isn't there; returns its index.
    fn hold_table(&mut self, world: &World, id: u32) -> Result<u32> {
        self.held.hold::<Ip6>(world, id, source(world))
    }

    /// The threads that have sessions.
    fn workers(world: &World) -> Workers {
        Workers::new(threads(world, None), Plan::default())
    }

    fn publish_settings(&self, world: &World) {
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
