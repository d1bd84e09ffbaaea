// SPDX-License-Identifier: Apache-2.0
//! Operations of commands and messages.

mod addresses;
mod ha;
mod interfaces;
mod mappings;
mod options;
mod sessions;

pub use addresses::Address;
pub use options::{Algorithm, Enabled};
pub use sessions::{Row, SessionName, named_ends};

use crate::ha::HaSettings;
use crate::settings::{FRAME_QUEUE, Mode, PORTS, PoolAddress, Settings, Timeouts};
use crate::state::Nat;
use cli::{Result, retval};
use graph::{Deleted, Shared, SwIfIndex, World};
use nat::error;
use nat::exposed::Exposed;
use nat::held::{Held, let_go};
use nat::roles::leads_outside;
use nat::statics::Statics;
use nat::timeouts::FIRST_PORT;
use nat::workers::{Plan, Workers, threads};
use net::{Addresses, DeletedTable, Fib, IfEvent, Interfaces, Link, ObjectType, Source, Sources};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};
use wire::Ip4;

/// Name and rank of the routes to addresses that the world knows: those of operators come first.
const SOURCE: (&str, u8) = ("nat44-ei-low", 0xd0);

/// The object that routes to the pool lead to, where no interface has the role "out".
pub static TRANSLATION: ObjectType = ObjectType {
    name: "nat44-ei-dpo",
    words: "nat44-ei",
    node: |world, link, _| {
        let node = world.node("nat44-ei-out2in").filter(|_| link == Link::IP4);
        node.ok_or_else(|| cli::Error::unsupported("NAT44-EI takes packets of IPv4 alone"))
    },
    describe: |_, _| "NAT44-EI".into(),
    ..ObjectType::PLAIN
};

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
    /// The ports that users get.
    pub algorithm: Algorithm,
    /// Addresses of users.
    pub pool: Vec<Address>,
    /// Interfaces whose first address is in the pool.
    pub followed: Vec<SwIfIndex>,
    /// Static mappings.
    pub statics: Statics,
    /// Roles of interfaces, as bits of [`role`](nat::roles::role).
    pub roles: BTreeMap<SwIfIndex, u8>,
    /// The other router.
    pub ha: HaSettings,
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
    /// The feature is disabled (−169); those of `f`.
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

    /// The setting of VPP for its rings between threads.
    pub fn frame_queue(&self) -> u32 {
        self.read(|state| state.frame_queue).unwrap_or(FRAME_QUEUE)
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
    /// The feature is disabled (−169).
    pub fn check(&self) -> Result<()> {
        self.options().map(|_| ())
    }

    /// The options of the enabled feature.
    ///
    /// # Errors
    /// The feature is disabled (−169).
    pub fn options(&self) -> Result<Enabled> {
        self.enabled.ok_or_else(|| {
            let why = "NAT44-EI is disabled: `nat44 ei plugin enable'";
            error(retval::FEATURE_ALREADY_DISABLED, why)
        })
    }

    /// Takes a reference on a table, which is made if it isn't there; returns its index.
    fn hold_table(&mut self, world: &World, id: u32) -> Result<u32> {
        self.held.hold::<Ip4>(world, id, source(world))
    }

    /// The threads that have sessions, with their ports.
    fn threads(&self, world: &World) -> Workers {
        let plan = match self.algorithm {
            Algorithm::Default => Plan::Range { first: FIRST_PORT, len: PORTS },
            Algorithm::MapE { offset, length, psid } => Plan::Psid { offset, length, psid },
            Algorithm::Range { first, last } => {
                Plan::Range { first: first.into(), len: u32::from(last - first) + 1 }
            }
        };
        Workers::new(threads(world, self.workers), plan)
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
        let fib = world.get::<Fib<Ip4>>();
        let known = |id: u32| fib.find_table(id).ok().map(|index| index.0);
        let outside = known(enabled.outside);
        let pool: Vec<_> = self
            .pool
            .iter()
            .map(|of| PoolAddress { addr: of.addr, fib: of.vrf.and_then(known) })
            .collect();
        let mut pool_addresses: Vec<_> = pool.iter().map(|address| address.addr).collect();
        pool_addresses.sort_unstable();
        let last = self.roles.keys().next_back().map_or(0, |sw_if| sw_if.at() + 1);
        let mut roles = vec![0; last];
        for (sw_if, bits) in &self.roles {
            roles[sw_if.at()] = *bits;
        }
        let mut outsides = self.outside_tables(world);
        if outsides.is_empty() {
            outsides.extend(outside);
        }
        nat.publish(Settings {
            enabled: true,
            mode: match (enabled.static_only, enabled.tracking) {
                (true, true) => Mode::Tracked,
                (true, false) => Mode::Static,
                _ => Mode::Dynamic,
            },
            dpo: enabled.dpo,
            forwarding: self.forwarding,
            users: enabled.users as usize,
            sessions: enabled.sessions as usize,
            user_sessions: enabled.user_sessions,
            timeouts: self.timeouts,
            mss: self.mss.unwrap_or(0),
            outside,
            outsides,
            roles,
            pool,
            pool_addresses,
            first_alone: self.algorithm != Algorithm::Default,
            workers: self.threads(world),
            ha: self.ha,
        });
    }

    /// Indices of the tables of interfaces to the world, each once, in the order of interfaces.
    fn outside_tables(&self, world: &World) -> Vec<u32> {
        let mut tables = Vec::new();
        let all = self.roles.iter().filter(|(_, bits)| leads_outside(**bits));
        for (sw_if, _) in all {
            let index = world.get::<Addresses<Ip4>>().table_of(*sw_if).map_or(0, |index| index.0);
            if !tables.contains(&index) {
                tables.push(index);
            }
        }
        tables
    }
}
