// SPDX-License-Identifier: Apache-2.0
//! `bond-process`: announces addresses after the current member of an active-backup bond has
//! changed, so that stations and switches on the link send by the new one. A bond may have
//! thousands of sub-interfaces, so this is done in slices.

use crate::state::Bonds;
use graph::{Process, Sleep, SwIfIndex, Wake, World};
use net::Interfaces;
use std::sync::Arc;

/// Interfaces whose addresses are announced in one turn of control.
const INTERFACES_A_TURN: usize = 64;

pub struct BondProcess(pub Arc<Bonds>);

impl Process for BondProcess {
    fn name(&self) -> &'static str {
        "bond-process"
    }

    fn run(&mut self, world: &World, _: Wake) -> Sleep {
        for _ in 0..INTERFACES_A_TURN {
            let next = self.0.control().unannounced.pop_first();
            let Some(sw_if) = next else { return Sleep::Event };
            world.get::<Interfaces>().report_move(world, sw_if);
        }
        Sleep::Until(world.clock.now())
    }
}

impl Bonds {
    /// Has the addresses of a bond and its sub-interfaces announced.
    pub(crate) fn announce(&self, world: &World, bond: SwIfIndex) {
        let subs = world.get::<Interfaces>().subs(bond);
        self.control().unannounced.extend([bond].into_iter().chain(subs));
        self.signal.raise();
    }
}
