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
use graph::{SwIfIndex, World};
use nat::configuration::Configured;
use nat::error;
use nat::exposed::Exposed;
use nat::held::Held;
use nat::roles::{by_interface, outside_tables};
use nat::statics::Statics;
use nat::workers::{Plan, Workers, threads};
use net::{Addresses, Fib, Source, TableIndex};
use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use wire::Ip4;

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
    /// Addresses that have left the pools, whose sessions have to end.
    gone: [Vec<Ipv4Addr>; 2],
    exposed: Exposed,
    held: Held,
}

nat::control!(Control, State, Nat);

impl Configured for State {
    /// Routes of operators come first.
    const SOURCE: (&'static str, u8) = ("nat-low", 0xd0);
    type Users = Ip4;

    fn check(&self) -> Result<()> {
        match self.enabled {
            Some(_) => Ok(()),
            None => Err(error(retval::UNSUPPORTED, "NAT44-ED is disabled: `nat44 plugin enable'")),
        }
    }

    fn publish(&mut self, world: &World) {
        self.publish_settings(world);
        addresses::end_sessions_of(world, std::mem::take(&mut self.gone));
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
        sessions::purge(world, move |keys, _| keys.iter().any(|key| key.fib() == fib));
    }
}

/// The source of this feature's routes and tables.
fn source(world: &World) -> Source {
    nat::configuration::source::<State>(world)
}

impl State {
    /// Takes a reference on a table, which is made if it isn't there; returns its index.
    fn hold_table(&mut self, world: &World, id: u32) -> Result<u32> {
        self.held.hold::<Ip4>(world, id, source(world))
    }

    /// The threads that have sessions, with their ports.
    fn threads(&self, world: &World) -> Workers {
        Workers::new(threads(world, self.workers), Plan::default())
    }

    fn publish_settings(&self, world: &World) {
        let nat = world.get::<Nat>();
        let Some(enabled) = self.enabled else {
            if nat.read(|settings| settings.enabled) {
                nat.publish(Settings::default());
            }
            return;
        };
        let fib = world.get::<Fib<Ip4>>();
        let index = |id: u32| fib.find_table(id).map_or(TableIndex::DEFAULT.0, |index| index.0);
        let known = |id: &u32| fib.find_table(*id).ok().map(|index| index.0);
        let [pool, twice] = [0, 1].map(|which: usize| self.addresses(world, &self.pools[which]));
        let mut pool_addresses: Vec<_> = pool.iter().map(|address| address.addr).collect();
        pool_addresses.sort_unstable();
        let routes = self
            .tables
            .iter()
            .filter_map(|(table, to)| Some((known(table)?, to.iter().filter_map(known).collect())));
        let limits = self.limits.iter().filter_map(|(id, limit)| Some((known(id)?, *limit)));
        nat.publish(Settings {
            enabled: true,
            forwarding: self.forwarding,
            sessions: enabled.sessions,
            limits: limits.collect(),
            timeouts: self.timeouts,
            mss: self.mss.unwrap_or(0),
            inside: index(enabled.inside),
            outside: index(enabled.outside),
            outsides: outside_tables(world, &self.roles),
            routes: routes.collect(),
            roles: by_interface(&self.roles),
            pool,
            twice,
            pool_addresses,
            workers: self.threads(world),
        });
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
}

impl Control {
    /// The setting of VPP for its rings between threads.
    pub fn frame_queue(&self) -> u32 {
        self.read(|state| state.frame_queue).unwrap_or(FRAME_QUEUE)
    }
}
