// SPDX-License-Identifier: Apache-2.0
//! Super-paths: nodes on the arc `device-input` that do the work of several nodes for ordinary packets. The setting that is common to
//! those of all plugins.

use crate::{Interface, Interfaces};
use graph::{Shared, World};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// Enables or disables a super-path on an interface, by what is configured there and by [`SuperPaths::on`].
pub type Apply = fn(&World, &Interface) -> Result<(), String>;

/// Whether super-paths are used at all, and which ones there are.
#[derive(Default)]
pub struct SuperPaths {
    off: AtomicBool,
    nodes: Mutex<Vec<(&'static str, Apply)>>,
}

impl Shared for SuperPaths {
    fn make(_: &World) -> Self {
        Self::default()
    }
}

impl SuperPaths {
    /// The arc of their nodes.
    pub const ARC: &'static str = "device-input";

    /// Registers the super-path of a plugin.
    pub fn register(&self, node: &'static str, apply: Apply) {
        self.nodes().push((node, apply));
    }

    /// Whether they are used.
    pub fn on(&self) -> bool {
        !self.off.load(Ordering::Relaxed)
    }

    /// Uses them, or no longer. Packets on their way aren't disturbed.
    ///
    /// # Errors
    /// None that a configuration can bring about.
    pub fn set(&self, world: &World, on: bool) -> Result<(), String> {
        self.off.store(!on, Ordering::Relaxed);
        let nodes = self.nodes().clone();
        for interface in world.get::<Interfaces>().list() {
            nodes.iter().try_for_each(|(_, apply)| apply(world, &interface))?;
        }
        Ok(())
    }

    /// Enables a node on an interface if it is wanted there, else disables it.
    ///
    /// # Errors
    /// An arc or a node that doesn't exist.
    pub fn enable(
        world: &World,
        node: &'static str,
        interface: &Interface,
        wanted: bool,
    ) -> Result<(), String> {
        let wanted = wanted && world.get::<Self>().on();
        // Setting it again would end an operator's own choice.
        if wanted == world.is_feature_set(Self::ARC, node, interface.sw_if)? {
            return Ok(());
        }
        world.set_feature(Self::ARC, node, interface.sw_if, wanted)
    }

    /// Whether some of these features is a super-path.
    pub fn any_of(&self, features: &[&'static str]) -> bool {
        self.nodes().iter().any(|(node, _)| features.contains(node))
    }

    fn nodes(&self) -> std::sync::MutexGuard<'_, Vec<(&'static str, Apply)>> {
        self.nodes.lock().expect("no panic inside")
    }
}
