// SPDX-License-Identifier: Apache-2.0
//! State that threads and control exchange outside of the packet path.

use crate::links::{LinkMonitor, Links};
use crate::netdevs::Netdevs;
use crate::queues::Placement;
use graph::{Shared, Signal, StateDef, World};
use std::any::Any;
use std::sync::{Arc, Mutex, OnceLock, Weak};

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

/// Objects that threads hand to control to be dropped: closing a socket may take milliseconds.
pub(crate) struct DropQueue {
    things: Mutex<Vec<Box<dyn Any + Send>>>,
    pub signal: Signal,
}

impl Shared for DropQueue {
    fn make(world: &World) -> Self {
        Self { things: Mutex::default(), signal: world.processes.signal() }
    }
}

impl DropQueue {
    pub fn put(&self, thing: impl Any + Send) {
        self.things.lock().expect("no panic inside").push(Box::new(thing));
        self.signal.raise();
    }

    /// Drops the objects handed over so far.
    pub fn empty(&self) {
        let things = std::mem::take(&mut *self.things.lock().expect("no panic inside"));
        drop(things);
    }
}

/// State that all drivers share, listed by the plugin of each driver.
pub const STATE: StateDef = StateDef::group(&[
    StateDef::of::<WorldRef>(),
    StateDef::of::<DropQueue>(),
    StateDef::of::<Links>(),
    StateDef::of::<Placement>(),
    StateDef::of::<Netdevs>(),
]);

/// Drops what threads have given back until now: a driver that opens a device again calls it while
/// that is busy.
pub fn collect(world: &World) {
    world.get::<DropQueue>().empty();
}

/// Starts what drivers share. Each driver calls it when its plugin starts.
pub fn start(world: &Arc<World>) {
    let world_ref = world.get::<WorldRef>();
    if world_ref.0.set(Arc::downgrade(world)).is_ok() {
        let signal = world.get::<DropQueue>().signal.clone();
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
