// SPDX-License-Identifier: Apache-2.0
//! Settings as workers read them.

pub use nat::roles::role;
pub use nat::timeouts::{TICKS, Timeout, Timeouts, tick};

use crate::ha::HaSettings;
use nat::key::{spread, spread_of};
use nat::workers::Workers;
use std::net::Ipv4Addr;

/// Users of a thread at most, if no other number is set.
pub const USERS: u32 = 1024;
/// Sessions of a thread at most, and of a user, if no other numbers are set.
pub const SESSIONS: u32 = 10 * 1024;
/// Packets of a ring between threads that VPP's setting gives at first.
pub const FRAME_QUEUE: u32 = 64;
/// Ports that workers share: VPP leaves the last one out.
pub const PORTS: u32 = 64_511;

/// Role of an interface whose packets are translated as they leave, with users behind it: their
/// packets to each other come back there.
pub const OUTPUT_INSIDE: u8 = 8;

/// An address of the pool.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PoolAddress {
    /// The address.
    pub addr: Ipv4Addr,
    /// Index of the table whose users get it; `None` for all.
    pub fib: Option<u32>,
}

/// The way in which sessions are made.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Mode {
    /// By static mappings and by users' packets.
    #[default]
    Dynamic,
    /// By static mappings alone.
    Tracked,
    /// None: static mappings translate without sessions.
    Static,
}

/// The settings.
#[derive(Clone, Default, Debug)]
pub struct Settings {
    /// True while the feature is enabled.
    pub enabled: bool,
    /// See [`Mode`].
    pub mode: Mode,
    /// Packets of the world come by routes to the pool's addresses, not by interfaces (464XLAT).
    pub dpo: bool,
    /// Packets without a mapping pass as they are.
    pub forwarding: bool,
    /// Users of a thread at most.
    pub users: usize,
    /// Sessions of a thread at most.
    pub sessions: usize,
    /// Sessions of a user at most.
    pub user_sessions: u32,
    /// See [`Timeouts`].
    pub timeouts: Timeouts,
    /// The greatest MSS that TCP connections may ask for; 0 for any.
    pub mss: u16,
    /// Index of the world's table, where no interface has one; `None` if the table isn't there.
    pub outside: Option<u32>,
    /// Indices of the tables of the interfaces to the world; without any, the world's table.
    pub outsides: Vec<u32>,
    /// By interface: see [`role`].
    pub roles: Vec<u8>,
    /// Addresses that users get.
    pub pool: Vec<PoolAddress>,
    /// All addresses of the pool, sorted.
    pub pool_addresses: Vec<Ipv4Addr>,
    /// All users get the first address, since their ports are those of a provider's plan.
    pub first_alone: bool,
    /// The threads that have sessions.
    pub workers: Workers,
    /// Copies of sessions for another router.
    pub ha: HaSettings,
}

impl Settings {
    /// The roles of an interface.
    #[inline(always)]
    pub fn role(&self, sw_if: u32) -> u8 {
        self.roles.get(sw_if as usize).copied().unwrap_or(0)
    }

    /// True for an address of the pool.
    #[inline(always)]
    pub fn is_pool(&self, addr: Ipv4Addr) -> bool {
        self.pool_addresses.binary_search(&addr).is_ok()
    }

    /// The thread of a user.
    #[inline(always)]
    pub fn thread_of_user(&self, addr: Ipv4Addr, fib: u32) -> u16 {
        self.workers.pick(spread_of(addr).wrapping_add(spread(fib)))
    }
}
