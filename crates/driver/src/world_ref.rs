// SPDX-License-Identifier: Apache-2.0
//! State that threads and control exchange outside of the packet path.

use crate::links::{LinkMonitor, Links};
use crate::netdevs::Netdevs;
use crate::queues::Placement;
use graph::{Shared, Signal, StateDef, World};
use std::any::Any;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::thread::{self, JoinHandle};
use std::time::Duration;

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

type Thing = Box<dyn Any + Send>;

/// Objects that threads no longer use. Closing a socket or a queue takes the kernel milliseconds,
/// so a thread of its own drops them, one at a time: neither the packet path nor control waits.
pub(crate) struct DropQueue {
    things: Mutex<Vec<Thing>>,
    /// Once there was something to drop.
    closer: Mutex<Option<Closer>>,
    pub signal: Signal,
}

impl Shared for DropQueue {
    fn make(world: &World) -> Self {
        let signal = world.processes.signal();
        Self { things: Mutex::default(), closer: Mutex::default(), signal }
    }
}

/// Limit of a wait for descriptors to be closed: nothing depends on the end.
const PATIENCE: Duration = Duration::from_secs(1);

impl DropQueue {
    pub fn put(&self, thing: impl Any + Send) {
        self.things.lock().expect("no panic inside").push(Box::new(thing));
        self.signal.raise();
    }

    /// Control: passes on the objects handed over so far.
    pub fn empty(&self) {
        let things = std::mem::take(&mut *self.things.lock().expect("no panic inside"));
        if things.is_empty() {
            return;
        }
        let mut closer = self.closer.lock().expect("no panic inside");
        let closer = closer.get_or_insert_with(Closer::start);
        for thing in things {
            // Without a thread the object comes back, and is dropped here.
            drop(closer.things.send(thing));
        }
    }

    /// Control: waits until the objects handed over so far are dropped.
    fn drain(&self) {
        self.empty();
        if let Some(closer) = &*self.closer.lock().expect("no panic inside") {
            // The end of the channel is dropped behind all that is in front of it.
            let (behind, done) = channel::<()>();
            if closer.things.send(Box::new(behind)).is_ok() {
                let _ = done.recv_timeout(PATIENCE);
            }
        }
    }
}

/// The objects end before the instance does.
impl Drop for DropQueue {
    fn drop(&mut self) {
        self.empty();
        let closer = self.closer.get_mut().ok().and_then(Option::take);
        if let Some(Closer { things, thread: Some(thread) }) = closer {
            drop(things);
            let _ = thread.join();
        }
    }
}

struct Closer {
    things: Sender<Thing>,
    thread: Option<JoinHandle<()>>,
}

impl Closer {
    fn start() -> Self {
        let (things, all) = channel::<Thing>();
        let drops = move || all.into_iter().for_each(drop);
        let started = thread::Builder::new().name("ferrovia_close".into()).spawn(drops);
        let thread = started
            .inspect_err(
                |error| log::warn!(target: "driver", "no thread that closes descriptors: {error}"),
            )
            .ok();
        Self { things, thread }
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

/// Waits until what threads have given back until now is closed, at most a second: a driver that
/// opens a device again calls it while that is busy.
pub fn collect(world: &World) {
    world.get::<DropQueue>().drain();
}

/// Closes descriptors of control as those that threads have given back.
pub fn close(world: &World, descriptors: impl Any + Send) {
    world.get::<DropQueue>().put(descriptors);
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
