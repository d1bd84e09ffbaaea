// SPDX-License-Identifier: Apache-2.0
//! Settings as workers read them.

use crate::key::{End, Key, has_ports, spread_of};
use crate::prefix::Pref64;
use nat::timeouts::Timeouts;
use nat::workers::Workers;
use std::collections::HashMap;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use wire::IpProtocol;

/// Bindings of a thread at most for each bucket that VPP would have.
pub const PER_BUCKET: u32 = 10;
/// Buckets of bindings and of sessions, if no other numbers are set.
pub const BIB_BUCKETS: u32 = 1024;
/// See there.
pub const ST_BUCKETS: u32 = 2048;

/// The threads that have an address for themselves, by protocol: for protocols without ports, whose
/// packets from the world don't tell the thread of the binding.
pub struct Claims(Box<[AtomicU16; 256]>);

impl Default for Claims {
    fn default() -> Self {
        Self(Box::new([const { AtomicU16::new(0) }; 256]))
    }
}

impl Claims {
    /// Claims the address for a thread. Returns false if it is taken.
    pub fn claim(&self, protocol: IpProtocol, thread: u16) -> bool {
        let of = &self.0[usize::from(protocol.0)];
        of.compare_exchange(0, thread + 1, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// Gives the address back.
    pub fn release(&self, protocol: IpProtocol) {
        self.0[usize::from(protocol.0)].store(0, Ordering::Release);
    }

    /// The thread that has the address.
    pub fn thread(&self, protocol: IpProtocol) -> Option<u16> {
        self.0[usize::from(protocol.0)].load(Ordering::Acquire).checked_sub(1)
    }
}

/// An address of the pool.
#[derive(Clone)]
pub struct PoolAddress {
    /// The address.
    pub addr: Ipv4Addr,
    /// Index of the table whose users get it; `None` for all.
    pub fib: Option<u32>,
    /// See [`Claims`].
    pub claims: Arc<Claims>,
}

/// The settings.
#[derive(Clone, Default)]
pub struct Settings {
    /// True while the feature is enabled.
    pub enabled: bool,
    /// Bindings of a thread at most.
    pub bibs: usize,
    /// Sessions of a thread at most.
    pub sessions: usize,
    /// See [`Timeouts`].
    pub timeouts: Timeouts,
    /// Prefixes by the index of the users' table.
    pub prefixes: Vec<Option<Pref64>>,
    /// The prefix of the other tables.
    pub prefix: Pref64,
    /// Addresses that users get.
    pub pool: Vec<PoolAddress>,
    /// Addresses of the pool with their positions there, sorted.
    pub by_address: Vec<(Ipv4Addr, usize)>,
    /// The threads that have sessions.
    pub workers: Workers,
}

impl Settings {
    /// The prefix that users of a table have for IPv4 hosts.
    #[inline(always)]
    pub fn prefix_of(&self, fib: u32) -> Pref64 {
        self.prefixes.get(fib as usize).copied().flatten().unwrap_or(self.prefix)
    }

    /// An address of the pool.
    #[inline(always)]
    pub fn of_pool(&self, addr: Ipv4Addr) -> Option<&PoolAddress> {
        let at = self.by_address.binary_search_by_key(&addr, |(addr, _)| *addr).ok()?;
        self.pool.get(self.by_address.get(at)?.1)
    }

    /// The thread of a user.
    #[inline(always)]
    pub fn thread_of_user(&self, addr: Ipv6Addr) -> u16 {
        self.workers.pick(spread_of(addr))
    }

    /// The thread that has the binding of an end that the world sees, if there is one; `None` if
    /// nothing tells it.
    pub fn thread_of_end(&self, statics: &Statics, end: End, protocol: IpProtocol) -> Option<u16> {
        if let Some(thread) = statics.thread(&Key::outside(end, End::NONE, protocol)) {
            return Some(thread);
        }
        if has_ports(protocol) {
            return Some(self.workers.of_port(end.port));
        }
        self.of_pool(end.addr)?.claims.thread(protocol)
    }
}

/// Static bindings.
#[derive(Clone, Default)]
pub struct Statics {
    /// Their threads, by the key of the world's packets.
    threads: HashMap<Key, u16>,
    /// The addresses that the world sees, sorted.
    addresses: Vec<Ipv4Addr>,
}

impl Statics {
    /// Of bindings with these keys of the world's packets and these threads.
    pub fn new(all: impl Iterator<Item = (Key, u16)>) -> Self {
        let threads: HashMap<Key, u16> = all.collect();
        let mut addresses: Vec<_> = threads.keys().map(|key| key.end().addr).collect();
        addresses.sort_unstable();
        addresses.dedup();
        Self { threads, addresses }
    }

    /// The thread of the binding with this key.
    pub fn thread(&self, key: &Key) -> Option<u16> {
        self.threads.get(key).copied()
    }

    /// True for an address that the world sees.
    #[inline(always)]
    pub fn has(&self, addr: Ipv4Addr) -> bool {
        self.addresses.binary_search(&addr).is_ok()
    }
}
