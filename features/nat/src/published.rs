// SPDX-License-Identifier: Apache-2.0
//! State of a kind with static mappings, which control publishes and workers read.

use crate::mapping::Mappings;
use crate::workers::Workers;
use graph::{Shared, World};
use std::sync::atomic::{AtomicU32, Ordering};
use sync::{Snapshot, Turn};

/// The settings of a kind.
pub trait Settings: Default + Send + Sync + 'static {
    /// True while the kind is enabled, and the threads that have sessions.
    fn ports(&self) -> (bool, &Workers);
}

/// The state.
pub struct Published<S: Send + Sync + 'static> {
    settings: Snapshot<S>,
    /// The mappings.
    pub mappings: Mappings,
    /// A number that is another after each change of what ports are free.
    generation: AtomicU32,
}

impl<S: Settings> Shared for Published<S> {
    fn make(world: &World) -> Self {
        Self {
            settings: Snapshot::new(world.qsbr.clone(), S::default()),
            mappings: Mappings::new(world),
            generation: AtomicU32::new(0),
        }
    }
}

impl<S: Settings> Published<S> {
    /// A number that is another after each change of what ports are free.
    #[inline(always)]
    pub fn generation(&self) -> u32 {
        self.generation.load(Ordering::Acquire)
    }

    /// Control: mappings or threads' ports have changed.
    pub fn renew(&self) {
        self.generation.fetch_add(1, Ordering::AcqRel);
    }

    /// The settings.
    #[inline(always)]
    pub fn settings<'t>(&'t self, turn: &'t Turn<'_>) -> &'t S {
        self.settings.get(turn)
    }

    /// Control: looks at the settings.
    pub fn read<R>(&self, f: impl FnOnce(&S) -> R) -> R {
        self.settings.read(f)
    }

    /// Control: publishes other settings.
    pub fn publish(&self, settings: S) {
        let changed = self.read(|old| old.ports() != settings.ports());
        self.settings.set(settings);
        if changed {
            self.renew();
        }
    }
}
