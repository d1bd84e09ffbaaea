// SPDX-License-Identifier: Apache-2.0
//! Super-paths: nodes on the arcs of received packets that do the work of several nodes for
//! ordinary ones. Their setting, and the parts that plugins use which know nothing else of them.

use crate::{IfLanes, Interface};
use graph::{Shared, World};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// Puts super-paths to use on an interface, or no longer, by what is configured there.
pub type Apply = fn(&World, &Interface);

/// The super-paths of an instance, and the setting that turns them on or off.
#[derive(Default)]
pub struct SuperPaths {
    off: AtomicBool,
    apply: OnceLock<Apply>,
}

impl Shared for SuperPaths {
    fn make(_: &World) -> Self {
        Self::default()
    }
}

impl SuperPaths {
    /// Registers the function that [`Self::follow`] calls. The first one stays.
    pub fn register(&self, apply: Apply) {
        self.apply.get_or_init(|| apply);
    }

    /// Returns true if super-paths are turned on.
    pub fn on(&self) -> bool {
        !self.off.load(Ordering::Relaxed)
    }

    /// Turns super-paths on or off: interfaces follow by [`Self::follow`].
    pub fn set(&self, on: bool) {
        self.off.store(!on, Ordering::Relaxed);
    }

    /// Control: follows a change of the configuration that decides where super-paths are in use.
    pub fn follow(&self, world: &World, interface: &Interface) {
        if let Some(apply) = self.apply.get() {
            apply(world, interface);
        }
    }
}

/// Per-interface data of packets that a super-path sends directly.
pub trait Outlet: Copy + Default {
    /// The parent of a sub-interface, which counts the packets too; 0 for none.
    #[inline(always)]
    fn parent(&self) -> u32 {
        0
    }
}

/// An interface by which packets of a vector are sent directly, and its deferred counters.
#[derive(Clone, Copy, Default, Debug)]
#[repr(align(32))]
pub struct Exit<T> {
    key: u64,
    /// Packets that have left and aren't counted yet: their bytes in the lower half, which has
    /// room for a vector's bytes, their number in the upper half.
    left: u64,
    tx_if: u32,
    /// The outlet that [`Exits::find`] has looked up.
    pub to: T,
}

impl<T: Outlet> Exit<T> {
    /// Counts a packet of `bytes` bytes that leaves by it.
    #[inline(always)]
    pub fn count(&mut self, bytes: u32) {
        self.left += 1 << 32 | u64::from(bytes);
    }

    #[inline(always)]
    fn settle(&self, lanes: &IfLanes) {
        if self.left == 0 {
            return;
        }
        let (packets, bytes) = (self.left >> 32, self.left & u64::from(u32::MAX));
        lanes.tx.unicast(self.tx_if as usize, packets, bytes);
        if self.to.parent() != 0 {
            lanes.tx.unicast(self.to.parent() as usize, packets, bytes);
        }
    }
}

/// The exits of a vector, mostly few. They are looked up once for a vector, and forgotten after it,
/// since interfaces may change.
#[derive(Debug)]
pub struct Exits<T> {
    exits: [Exit<T>; EXITS],
    /// Bit `i` is set if exit `i` is known.
    known: u64,
}

const EXITS: usize = 16;
/// The key of no exit.
const NO_KEY: u64 = u64::MAX;

impl<T: Outlet> Exits<T> {
    /// Makes an empty set of exits.
    pub fn new() -> Self {
        Self { exits: [Self::none(); EXITS], known: 0 }
    }

    #[inline(always)]
    fn none() -> Exit<T> {
        Exit { key: NO_KEY, ..Exit::default() }
    }

    /// Finds the exit by an interface, and looks it up if it isn't known. Exits with different keys
    /// are different ones; a key must not be all ones. `None` if `look` returns that.
    #[inline(always)]
    pub fn find(
        &mut self,
        tx_if: u32,
        key: u64,
        lanes: &IfLanes,
        look: impl FnOnce() -> Option<T>,
    ) -> Option<&mut Exit<T>> {
        let at = tx_if as usize % EXITS;
        if self.exits[at].key != key {
            let exit = Exit { key, left: 0, tx_if, to: look()? };
            std::mem::replace(&mut self.exits[at], exit).settle(lanes);
            self.known |= 1 << at;
        }
        Some(&mut self.exits[at])
    }

    /// As [`Self::find`], for an exit that is already known. `None` doesn't mean that there is no
    /// exit.
    #[inline(always)]
    pub fn known(&mut self, tx_if: u32, key: u64) -> Option<&mut Exit<T>> {
        let exit = &mut self.exits[tx_if as usize % EXITS];
        (exit.key == key).then_some(exit)
    }

    /// Returns true if no exit is known.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.known == 0
    }

    /// Adds the deferred counts to the interfaces' counters, and forgets the exits.
    #[inline(always)]
    pub fn settle(&mut self, lanes: &IfLanes) {
        while self.known != 0 {
            let at = self.known.trailing_zeros() as usize % EXITS;
            self.known &= self.known - 1;
            std::mem::replace(&mut self.exits[at], Self::none()).settle(lanes);
        }
    }
}

impl<T: Outlet> Default for Exits<T> {
    fn default() -> Self {
        Self::new()
    }
}
