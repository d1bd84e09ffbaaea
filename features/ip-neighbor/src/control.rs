// SPDX-License-Identifier: Apache-2.0
//! Mark and sweep: a restarted client adds all its neighbours again; the others are removed at the
//! end.

use cli::{Error, Result};
use graph::{Shared, SwIfIndex, World};
use net::Neighbors;
use std::collections::HashSet;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard};

/// The neighbours that are marked, while a replacement runs.
#[derive(Default)]
pub struct Sweep {
    marked: Mutex<Option<HashSet<(SwIfIndex, IpAddr)>>>,
}

impl Shared for Sweep {
    fn make(_: &World) -> Self {
        Self::default()
    }
}

impl Sweep {
    fn marked(&self) -> MutexGuard<'_, Option<HashSet<(SwIfIndex, IpAddr)>>> {
        self.marked.lock().expect("no panic inside")
    }

    /// Marks all neighbours.
    pub fn begin(&self, world: &World) {
        let neighbors = world.get::<Neighbors>();
        let all = [false, true].into_iter().flat_map(|ip6| neighbors.list(ip6, None));
        *self.marked() = Some(all.map(|n| (n.sw_if, n.ip)).collect());
    }

    /// Clears the mark of a neighbour.
    pub fn keep(&self, sw_if: SwIfIndex, ip: IpAddr) {
        if let Some(marked) = self.marked().as_mut() {
            marked.remove(&(sw_if, ip));
        }
    }

    /// Removes the neighbours that are still marked.
    ///
    /// # Errors
    /// No replacement runs (−6).
    pub fn end(&self, world: &World) -> Result<()> {
        let none = || {
            Error::not_found("no replacement of neighbours has begun")
                .retval(msg::retval::NO_SUCH_ENTRY)
        };
        let marked = self.marked().take().ok_or_else(none)?;
        world.get::<Neighbors>().remove_if(world, |n| marked.contains(&(n.sw_if, n.ip)));
        Ok(())
    }
}
