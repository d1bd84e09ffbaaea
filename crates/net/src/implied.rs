// SPDX-License-Identifier: Apache-2.0
//! Settings that the line that makes an interface implies.

use crate::addr::Addresses;
use crate::fib::{Fib, Net};
use crate::interface::{Implied, Interfaces};
use cli::Error;
use graph::{SwIfIndex, World};
use wire::{Ip4, Ip6};

/// Gives a new interface what the line that makes it implies, and records that: the configuration
/// has lines for what differs.
///
/// # Errors
/// An interface that isn't there; the device's error.
pub fn imply(world: &World, sw_if: SwIfIndex, implied: Implied) -> Result<(), Error> {
    let interfaces = world.get::<Interfaces>();
    interfaces.note_implied(sw_if, implied)?;
    give::<Ip4>(world, sw_if, implied)?;
    give::<Ip6>(world, sw_if, implied)?;
    interfaces.set_admin(world, sw_if, implied.up)
}

fn give<F: Net>(world: &World, sw_if: SwIfIndex, implied: Implied) -> Result<(), Error> {
    let (addresses, at) = (world.get::<Addresses<F>>(), usize::from(F::IS_V6));
    addresses.set_table(world, sw_if, implied_table::<F>(world, implied))?;
    if implied.ip[at] { addresses.enable(world, sw_if, true) } else { Ok(()) }
}

/// The id of the table that an interface is in if nothing else is set. A line may name a table that
/// only one protocol has.
pub fn implied_table<F: Net>(world: &World, implied: Implied) -> u32 {
    let id = implied.tables[usize::from(F::IS_V6)];
    if world.get::<Fib<F>>().find_table(id).is_ok() { id } else { 0 }
}
