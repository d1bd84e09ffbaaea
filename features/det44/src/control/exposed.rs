// SPDX-License-Identifier: Apache-2.0
//! Addresses that the world knows: they are local in the tables of the interfaces to it, so that
//! the router answers for them there.

use super::source;
use graph::{SwIfIndex, World};
use net::{Fib, Path, PathKind, TableIndex};
use std::collections::BTreeSet;
use wire::{Ip4, Ip4Prefix};

/// A local prefix: index of the table, and the interface.
pub type Local = (u32, Ip4Prefix, SwIfIndex);

/// The local prefixes.
#[derive(Default)]
pub struct Exposed(BTreeSet<Local>);

fn set(world: &World, (table, prefix, sw_if): Local, on: bool) {
    let (fib, source) = (world.get::<Fib<Ip4>>(), source(world));
    let path = [Path::new(PathKind::Receive { sw_if, address: prefix.addr().into() })];
    let table = TableIndex(table);
    let done = match on {
        true => fib.add(world, table, prefix, source, &path).map(|_| ()),
        false => fib.remove(world, table, prefix, source, &path),
    };
    if let Err(e) = done
        && on
    {
        log::warn!("DET44: {prefix} isn't answered for: {e}");
    }
}

impl Exposed {
    /// Makes these prefixes local, and no others.
    pub fn become_these(&mut self, world: &World, wanted: BTreeSet<Local>) {
        self.0.difference(&wanted).for_each(|local| set(world, *local, false));
        wanted.difference(&self.0).for_each(|local| set(world, *local, true));
        self.0 = wanted;
    }
}
