// SPDX-License-Identifier: Apache-2.0
//! Maps: users of a prefix inside share the addresses of a prefix outside, each with ports of its
//! own that are computed (RFC 7422 2). A log needs the map alone, no sessions.

use nat::key::End;
use nat::timeouts::{FIRST_PORT, PORTS};
use std::net::Ipv4Addr;
use wire::{Ip4Prefix, Prefix};

/// The ports of a user, at its address outside.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Range {
    /// The address.
    pub addr: Ipv4Addr,
    /// The first port.
    pub first: u16,
    /// Number of ports; at least 1.
    pub len: u32,
}

impl Range {
    /// The last port.
    pub fn last(&self) -> u16 {
        (u32::from(self.first) + self.len - 1) as u16
    }

    /// The ports, beginning with the one that a user's own port stands for.
    pub fn ports(self, own: u16) -> impl Iterator<Item = u16> {
        let at = u32::from(own) % self.len;
        (at..self.len).chain(0..at).map(move |at| (u32::from(self.first) + at) as u16)
    }
}

/// A map.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Map {
    /// The users.
    pub inside: Ip4Prefix,
    /// Their addresses outside.
    pub outside: Ip4Prefix,
    /// Its number: no other map has it as long as sessions of this one are there.
    pub number: u32,
}

impl Map {
    /// The map of two prefixes; host bits don't count. `None` if there are more addresses outside
    /// than inside, or no port for each user.
    pub fn new(inside: Ip4Prefix, outside: Ip4Prefix, number: u32) -> Option<Self> {
        let fits = inside.len() <= outside.len();
        let map = Self { inside: inside.network(), outside: outside.network(), number };
        (fits && map.ratio() <= u64::from(PORTS)).then_some(map)
    }

    /// Users of an address outside.
    pub fn ratio(&self) -> u64 {
        1 << (self.outside.len() - self.inside.len())
    }

    /// Ports of a user.
    pub fn ports(&self) -> u32 {
        PORTS / self.ratio() as u32
    }

    /// The ports of a user.
    #[inline(always)]
    pub fn forward(&self, user: Ipv4Addr) -> Option<Range> {
        if !self.inside.contains(user) {
            return None;
        }
        let host = user.to_bits() - self.inside.addr().to_bits();
        let ratio = self.ratio() as u32;
        Some(Range {
            addr: Ipv4Addr::from_bits(self.outside.addr().to_bits() + host / ratio),
            first: (FIRST_PORT + self.ports() * (host % ratio)) as u16,
            len: self.ports(),
        })
    }

    /// The user of an address and port outside.
    #[inline(always)]
    pub fn reverse(&self, outside: End) -> Option<Ipv4Addr> {
        if !self.outside.contains(outside.addr) {
            return None;
        }
        let ratio = self.ratio() as u32;
        let part = u32::from(outside.port).checked_sub(FIRST_PORT)? / self.ports();
        if part >= ratio {
            return None;
        }
        let address = outside.addr.to_bits() - self.outside.addr().to_bits();
        let host = address * ratio + part;
        Some(Ipv4Addr::from_bits(self.inside.addr().to_bits() + host))
    }
}

/// Maps whose prefixes don't overlap.
#[derive(Clone, Default, Debug)]
pub struct Maps {
    /// Sorted by the users.
    all: Vec<Map>,
    /// Positions in `all`, sorted by the addresses outside.
    by_outside: Vec<u32>,
}

impl Maps {
    /// Of these maps.
    pub fn new(maps: impl IntoIterator<Item = Map>) -> Self {
        let mut all: Vec<_> = maps.into_iter().collect();
        all.sort_unstable_by_key(|map| map.inside.addr());
        let mut by_outside: Vec<_> = (0..all.len() as u32).collect();
        by_outside.sort_unstable_by_key(|at| all[*at as usize].outside.addr());
        Self { all, by_outside }
    }

    /// The map of a user.
    #[inline(always)]
    pub fn of_user(&self, user: Ipv4Addr) -> Option<&Map> {
        let behind = self.all.partition_point(|map| map.inside.addr() <= user);
        self.all.get(behind.checked_sub(1)?).filter(|map| map.inside.contains(user))
    }

    /// The map of an address outside.
    #[inline(always)]
    pub fn of_outside(&self, addr: Ipv4Addr) -> Option<&Map> {
        let map = |at: &u32| self.all.get(*at as usize);
        let before = |at: &u32| map(at).is_some_and(|map| map.outside.addr() <= addr);
        let behind = self.by_outside.partition_point(before);
        let found = self.by_outside.get(behind.checked_sub(1)?).and_then(map);
        found.filter(|map| map.outside.contains(addr))
    }

    /// The user of an address and port outside.
    #[inline(always)]
    pub fn user_of(&self, outside: End) -> Option<Ipv4Addr> {
        self.of_outside(outside.addr)?.reverse(outside)
    }
}

/// True if an address is in both prefixes.
pub fn overlap(a: &Prefix<Ipv4Addr>, b: &Prefix<Ipv4Addr>) -> bool {
    a.covers(b) || b.covers(a)
}
