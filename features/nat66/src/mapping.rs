// SPDX-License-Identifier: Apache-2.0
//! Static mappings as workers read them, and the settings.

use graph::{Shared, World};
use std::hash::{BuildHasher, RandomState};
use std::net::Ipv6Addr;
use sync::{Slots, Snapshot, Turn};
use tables::{HashIndex, Mixer};

/// A mapping.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mapping {
    /// The address inside.
    pub local: Ipv6Addr,
    /// Index of its table.
    pub fib: u32,
    /// The address outside.
    pub external: Ipv6Addr,
}

/// The settings.
#[derive(Clone, Default, Debug)]
pub struct Settings {
    /// By interface: true if the world is behind it.
    outside: Vec<bool>,
    /// Index of the world's table.
    pub table: u32,
}

impl Settings {
    /// With these interfaces to the world, and its table.
    pub fn new(interfaces: impl Iterator<Item = usize>, table: u32) -> Self {
        let mut outside = Vec::new();
        for at in interfaces {
            if outside.len() <= at {
                outside.resize(at + 1, false);
            }
            outside[at] = true;
        }
        Self { outside, table }
    }

    /// True if the world is behind an interface.
    #[inline(always)]
    pub fn is_outside(&self, sw_if: u32) -> bool {
        self.outside.get(sw_if as usize).copied().unwrap_or(false)
    }
}

/// State that control publishes.
pub struct Nat {
    all: Slots<Mapping>,
    local: HashIndex,
    external: HashIndex,
    mixer: Mixer,
    settings: Snapshot<Settings>,
}

impl Shared for Nat {
    fn make(world: &World) -> Self {
        Self {
            all: Slots::new(world.qsbr.clone()),
            local: HashIndex::new(&world.qsbr),
            external: HashIndex::new(&world.qsbr),
            mixer: Mixer::new(RandomState::new().hash_one(0)),
            settings: Snapshot::new(world.qsbr.clone(), Settings::default()),
        }
    }
}

impl Nat {
    #[inline(always)]
    fn hash(&self, addr: Ipv6Addr, fib: u32) -> u32 {
        let bits = addr.to_bits();
        self.mixer.add(bits as u64).add((bits >> 64) as u64).add(fib.into()).hash() as u32
    }

    /// The settings.
    #[inline(always)]
    pub fn settings<'t>(&'t self, turn: &'t Turn<'_>) -> &'t Settings {
        self.settings.get(turn)
    }

    /// The mapping of an address inside, with its number.
    #[inline(always)]
    pub fn by_local<'t>(
        &'t self,
        addr: Ipv6Addr,
        fib: u32,
        turn: &'t Turn<'_>,
    ) -> Option<(u32, &'t Mapping)> {
        self.local.find(self.hash(addr, fib), turn, |at| {
            let mapping = self.all.get(at, turn)?;
            (mapping.local == addr && mapping.fib == fib).then_some((at, mapping))
        })
    }

    /// The mapping of an address outside, with its number.
    #[inline(always)]
    pub fn by_external<'t>(
        &'t self,
        addr: Ipv6Addr,
        turn: &'t Turn<'_>,
    ) -> Option<(u32, &'t Mapping)> {
        self.external.find(self.hash(addr, 0), turn, |at| {
            let mapping = self.all.get(at, turn)?;
            (mapping.external == addr).then_some((at, mapping))
        })
    }

    /// Control: puts a mapping at a number that has none.
    pub fn insert(&self, at: u32, mapping: Mapping) {
        self.all.set(at, mapping);
        self.external.insert(self.hash(mapping.external, 0), at);
        self.local.insert(self.hash(mapping.local, mapping.fib), at);
    }

    /// Control: removes the mapping of a number.
    pub fn remove(&self, at: u32) {
        let Some(mapping) = self.all.read(at, |mapping| mapping.copied()) else { return };
        self.external.remove(self.hash(mapping.external, 0), at);
        self.local.remove(self.hash(mapping.local, mapping.fib), at);
        self.all.clear(at);
    }

    /// Control: publishes other settings.
    pub fn publish(&self, settings: Settings) {
        self.settings.set(settings);
    }
}
