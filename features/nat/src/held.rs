// SPDX-License-Identifier: Apache-2.0
//! Tables that a kind keeps: made when something of the configuration names them first, let go when
//! nothing does any more.

use cli::Result;
use graph::World;
use net::{Fib, Net, Source, TableIndex};
use std::collections::BTreeMap;

/// The tables that are kept, by id, with the number of uses; not the default table.
#[derive(Default, Debug)]
pub struct Held {
    uses: BTreeMap<u32, usize>,
    released: Vec<u32>,
}

impl Held {
    /// One more use of a table; returns its index.
    ///
    /// # Errors
    /// The table can't be made.
    pub fn hold<F: Net>(&mut self, world: &World, id: u32, source: Source) -> Result<u32> {
        let fib = world.get::<Fib<F>>();
        if id == 0 {
            return Ok(TableIndex::DEFAULT.0);
        }
        let uses = self.uses.get(&id).copied().unwrap_or(0);
        let index = match uses {
            0 => fib.add_table(world, id, "", source)?,
            _ => fib.find_table(id)?,
        };
        self.uses.insert(id, uses + 1);
        Ok(index.0)
    }

    /// One use of a table less.
    pub fn release(&mut self, id: u32) {
        let Some(uses) = self.uses.get_mut(&id) else { return };
        *uses -= 1;
        if *uses == 0 {
            self.uses.remove(&id);
            self.released.push(id);
        }
    }

    /// Ends all uses.
    pub fn release_all(&mut self) {
        self.released.extend(std::mem::take(&mut self.uses).into_keys());
    }

    /// Takes the tables that nothing uses any more, for [`let_go`].
    pub fn take_released(&mut self) -> Vec<u32> {
        let released = std::mem::take(&mut self.released);
        released.into_iter().filter(|id| !self.uses.contains_key(id)).collect()
    }
}

/// Lets tables go. Not while the configuration is locked: what is told that a table goes looks at
/// it.
pub fn let_go<F: Net>(world: &World, tables: Vec<u32>, source: Source) {
    for id in tables {
        let _ = world.get::<Fib<F>>().delete_table(world, id, source);
    }
}
