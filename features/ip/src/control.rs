// SPDX-License-Identifier: Apache-2.0
//! The verbs of tables and addresses that [`Fib`] and [`Addresses`] don't have themselves.

use cli::Result;
use graph::{Shared, SwIfIndex, World};
use msg::retval;
use net::{Addresses, Fib, Interfaces, TableIndex};
use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard};
use wire::{Ip4, Ip4Prefix};

/// The name that a table has if it is given none.
pub fn table_name(id: u32) -> String {
    format!("ipv4-VRF:{id}")
}

/// Makes the table of this id; no name is the usual one.
///
/// # Errors
/// Those of [`Fib::add_table`].
pub fn add_table(world: &World, id: u32, name: &str) -> Result<TableIndex> {
    let usual = table_name(id);
    world.get::<Fib<Ip4>>().add_table(world, id, if name.is_empty() { &usual } else { name })
}

type Own = (SwIfIndex, Ip4Prefix);

/// The addresses that are marked: a client that has started anew says all addresses again, and what it doesn't say goes.
#[derive(Default)]
pub struct Sweep(Mutex<BTreeSet<Own>>);

impl Shared for Sweep {
    fn make(_: &World) -> Self {
        Self::default()
    }
}

impl Sweep {
    fn marked(&self) -> MutexGuard<'_, BTreeSet<Own>> {
        self.0.lock().expect("no panic inside")
    }

    /// Takes the marked addresses of which `which` says so.
    fn take(&self, which: impl Fn(&Own) -> bool) -> Vec<Own> {
        self.marked().extract_if(.., |own| which(own)).collect()
    }
}

/// Marks all addresses: those that aren't added again until [`replace_addresses_end`] go then.
pub fn replace_addresses_begin(world: &World) {
    let addresses = world.get::<Addresses<Ip4>>();
    let of = |sw_if| addresses.own(sw_if).into_iter().map(move |address| (sw_if, address));
    let all = world.get::<Interfaces>().list().into_iter().flat_map(|i| of(i.sw_if)).collect();
    *world.get::<Sweep>().marked() = all;
}

/// Removes the addresses that are still marked.
pub fn replace_addresses_end(world: &World) {
    remove_marked(world, |_| true);
}

/// Whether there were any.
fn remove_marked(world: &World, which: impl Fn(&Own) -> bool) -> bool {
    let gone = world.get::<Sweep>().take(which);
    for (sw_if, address) in &gone {
        // One that is gone already, or its interface, is what was wanted.
        let _ = world.get::<Addresses<Ip4>>().remove(world, *sw_if, *address);
    }
    !gone.is_empty()
}

/// Gives an interface an address; one that is marked stays.
///
/// # Errors
/// Those of [`Addresses::add`].
pub fn add_address(world: &World, sw_if: SwIfIndex, new: Ip4Prefix) -> Result<()> {
    let addresses = world.get::<Addresses<Ip4>>();
    if world.get::<Sweep>().marked().remove(&(sw_if, new)) && addresses.own(sw_if).contains(&new) {
        return Ok(());
    }
    let added = addresses.add(world, sw_if, new);
    // What is marked may be about to move, and mustn't be in the way.
    let in_the_way = |old: &Ip4Prefix| old.covers(&new) || new.covers(old);
    match added {
        Err(e) if e.code() == retval::ADDRESS_IN_USE && remove_marked(world, |(_, old)| in_the_way(old)) => {
            addresses.add(world, sw_if, new)
        }
        added => added,
    }
}
