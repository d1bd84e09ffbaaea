// SPDX-License-Identifier: Apache-2.0
//! The process that ages neighbours.

use super::{Neighbors, Prober};
use graph::{Process, Sleep, Wake, World};
use std::sync::Arc;

/// Runs when an entry is due; it sleeps while no entry is due.
pub(super) struct Ageing {
    ip6: bool,
    prober: Prober,
}

impl Ageing {
    pub fn new(ip6: bool, prober: Prober) -> Self {
        Self { ip6, prober }
    }
}

impl Process for Ageing {
    fn name(&self) -> &'static str {
        if self.ip6 { "ip6-neighbor-age-process" } else { "ip4-neighbor-age-process" }
    }

    fn run(&mut self, world: &World, _: Wake) -> Sleep {
        let neighbors: Arc<Neighbors> = world.get();
        neighbors.age(world, self.ip6, self.prober).map_or(Sleep::Event, Sleep::Until)
    }
}
