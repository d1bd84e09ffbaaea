// SPDX-License-Identifier: Apache-2.0
//! State that all drivers share.

use crate::aside::Aside;
use crate::links::{LinkMonitor, Links};
use crate::netdevs::Netdevs;
use crate::queues::Placement;
use graph::{Shared, StateDef, World};
use std::sync::{Arc, OnceLock, Weak};

/// Weak reference to the instance, for closures that run on its threads.
pub(crate) struct WorldRef(OnceLock<Weak<World>>);

impl Shared for WorldRef {
    fn make(_: &World) -> Self {
        Self(OnceLock::new())
    }
}

impl WorldRef {
    /// The instance, unless it is ending.
    pub fn world(&self) -> Option<Arc<World>> {
        self.0.get()?.upgrade()
    }
}

/// State that all drivers share, listed by the plugin of each driver.
pub const STATE: StateDef = StateDef::group(&[
    StateDef::of::<WorldRef>(),
    StateDef::of::<Aside>(),
    StateDef::of::<Links>(),
    StateDef::of::<Placement>(),
    StateDef::of::<Netdevs>(),
]);

/// Starts what drivers share. Each driver calls it when its plugin starts.
pub fn start(world: &Arc<World>) {
    let world_ref = world.get::<WorldRef>();
    if world_ref.0.set(Arc::downgrade(world)).is_ok() {
        let signal = world.get::<Aside>().signal.clone();
        world.processes.spawn(Box::new(LinkMonitor), &signal);
        world.get::<Netdevs>().read();
    }
}

/// Restores the netdevs that a killed process has changed and that the configuration doesn't use.
/// Each driver that changes netdevs calls it when the configuration was loaded.
pub fn loaded(world: &World) {
    world.get::<Netdevs>().restore_left();
}

/// Restores the netdevs that drivers have changed. Each driver calls it at a clean end.
pub fn end(world: &World) {
    world.get::<Netdevs>().restore_all();
}
