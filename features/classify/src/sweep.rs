// SPDX-License-Identifier: Apache-2.0
//! Removal of the sessions of deleted tables, in slices.

use crate::state::Classifier;
use graph::{Process, Sleep, Wake, World};
use std::sync::Arc;

/// Removes what one slice leaves.
pub struct Sweeper(pub Arc<Classifier>);

impl Process for Sweeper {
    fn name(&self) -> &'static str {
        "classify-process"
    }

    fn run(&mut self, world: &World, _: Wake) -> Sleep {
        if self.0.sweep(world) { Sleep::Until(world.clock.now()) } else { Sleep::Event }
    }
}

impl Classifier {
    /// Removes a slice of the sessions of deleted tables, and returns whether any are left.
    pub(crate) fn sweep(&self, world: &World) -> bool {
        cli::slice(|| self.sweep_one(world))
    }

    fn sweep_one(&self, world: &World) -> bool {
        let mut control = self.control();
        let Some((sessions, next)) = control.remains.last_mut() else { return false };
        let (sessions, at) = (sessions.clone(), *next);
        *next += 1;
        if at >= sessions.bound() {
            control.remains.pop();
            return true;
        }
        drop(control);
        if let Some(session) = sessions.dispose(at)
            && let Err(e) = self.release(world, session.action)
        {
            log::warn!("a table of routes of a deleted session stays: {e}");
        }
        true
    }
}
