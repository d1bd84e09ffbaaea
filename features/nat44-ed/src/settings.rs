// SPDX-License-Identifier: Apache-2.0
//! Settings as workers read them.

pub use nat::roles::role;
pub use nat::timeouts::{TICKS, Timeout, Timeouts, tick};

use crate::key::{spread, spread_of};
use nat::workers::{PortSet, Workers};
use std::collections::HashMap;
use std::net::Ipv4Addr;
use wire::Ip4Prefix;

/// Sessions of a thread at most, if no other number is set.
pub const SESSIONS: u32 = 63 * 1024;
/// Packets of a ring between threads that VPP's setting gives at first.
pub const FRAME_QUEUE: u32 = 64;

/// An address of a pool.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PoolAddress {
    /// The address.
    pub addr: Ipv4Addr,
    /// Index of the table whose users get it; `None` for all.
    pub fib: Option<u32>,
    /// The interface that has it, and the network there.
    pub of: Option<(u32, Ip4Prefix)>,
}

/// The settings.
#[derive(Clone, Default, Debug)]
pub struct Settings {
    /// True while the feature is enabled.
    pub enabled: bool,
    /// Packets without a mapping pass as they are.
    pub forwarding: bool,
    /// Sessions of a thread at most.
    pub sessions: u32,
    /// Sessions of a thread at most, by the index of the users' table.
    pub limits: HashMap<u32, u32>,
    /// See [`Timeouts`].
    pub timeouts: Timeouts,
    /// The greatest MSS that TCP connections may ask for; 0 for any.
    pub mss: u16,
    /// Index of the users' table, where none else is known.
    pub inside: u32,
    /// Index of the world's table, where no interface has one.
    pub outside: u32,
    /// Indices of the tables of the interfaces to the world.
    pub outsides: Vec<u32>,
    /// Tables that users of a table may send to, by its index.
    pub routes: HashMap<u32, Vec<u32>>,
    /// By interface: see [`role`].
    pub roles: Vec<u8>,
    /// Addresses that users get.
    pub pool: Vec<PoolAddress>,
    /// Addresses that hosts of the world get.
    pub twice: Vec<PoolAddress>,
    /// All addresses of the pool, sorted.
    pub pool_addresses: Vec<Ipv4Addr>,
    /// The threads that have sessions.
    pub workers: Workers,
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

    /// The ports of a thread.
    pub fn ports(&self, thread: u16) -> PortSet {
        self.workers.block(thread)
    }

    /// The thread of a user.
    #[inline(always)]
    pub fn thread_of_user(&self, addr: Ipv4Addr, fib: u32) -> u16 {
        self.workers.pick(spread_of(addr).wrapping_add(spread(fib)))
    }

    /// The thread of a port.
    #[inline(always)]
    pub fn thread_of_port(&self, port: u16) -> u16 {
        self.workers.of_port(port)
    }
}
