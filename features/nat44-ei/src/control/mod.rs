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
use graph::{SwIfIndex, World};
use nat::configuration::Configured;
use nat::error;
use nat::exposed::Exposed;
use nat::held::Held;
use nat::roles::{by_interface, outside_tables};
use nat::statics::Statics;
use nat::timeouts::FIRST_PORT;
use nat::workers::{Plan, Workers, threads};
use net::{Fib, Link, ObjectType, Source};
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use wire::Ip4;

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
    /// Addresses that have left the pool, whose sessions have to end.
    gone: Vec<Ipv4Addr>,
    exposed: Exposed,
    held: Held,
}

nat::control!(Control, State, Nat);

impl Configured for State {
    /// Routes of operators come first.
    const SOURCE: (&'static str, u8) = ("nat44-ei-low", 0xd0);
    type Users = Ip4;

    fn check(&self) -> Result<()> {
        self.options().map(|_| ())
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

impl Control {
    /// The setting of VPP for its rings between threads.
    pub fn frame_queue(&self) -> u32 {
        self.read(|state| state.frame_queue).unwrap_or(FRAME_QUEUE)
    }
}

/// The source of this feature's routes and tables.
fn source(world: &World) -> Source {
    nat::configuration::source::<State>(world)
}

impl State {
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

    fn publish_settings(&self, world: &World) {
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
        let mut outsides = outside_tables(world, &self.roles);
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
            roles: by_interface(&self.roles),
            pool,
            pool_addresses,
            first_alone: self.algorithm != Algorithm::Default,
            workers: self.threads(world),
            ha: self.ha,
        });
    }
}
