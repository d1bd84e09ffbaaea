// SPDX-License-Identifier: Apache-2.0
//! Patches.

use crate::node::L2Patch;
use cli::{Error, Result, retval};
use graph::{Deleted, Node as _, Shared, SwIfIndex, World};
use net::Interfaces;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};

/// All patches: the sending device by the receiving one.
#[derive(Default)]
pub struct Patches(Mutex<BTreeMap<SwIfIndex, SwIfIndex>>);

impl Shared for Patches {
    fn make(_: &World) -> Self {
        Self::default()
    }

    fn forget(&self, world: &World, deleted: &Deleted<'_>) {
        let Some(&sw_if) = deleted.of::<SwIfIndex>() else { return };
        for (from, to) in self.list() {
            if (from == sw_if || to == sw_if)
                && let Err(error) = self.delete(world, from)
            {
                log_left(world, from, &error);
            }
        }
    }
}

fn log_left(world: &World, from: SwIfIndex, error: &Error) {
    log::warn!(
        "the patch of {} to an interface that is deleted: {error}",
        world.get::<Interfaces>().name(from)
    );
}

/// Checks that an interface is a device with Ethernet frames.
fn check(world: &World, sw_if: SwIfIndex) -> Result<()> {
    let interface = world.get::<Interfaces>().get(sw_if)?;
    if !interface.is_ethernet_device() {
        return Err(Error::unsupported(format!("{} is no Ethernet device", interface.name)));
    }
    Ok(())
}

impl Patches {
    fn all(&self) -> MutexGuard<'_, BTreeMap<SwIfIndex, SwIfIndex>> {
        self.0.lock().expect("no panic inside")
    }

    /// All patches: the receiving device, and the sending one.
    pub fn list(&self) -> Vec<(SwIfIndex, SwIfIndex)> {
        self.all().iter().map(|(from, to)| (*from, *to)).collect()
    }

    /// Adds a patch, or replaces the one of the receiving device; or deletes that, if it has one.
    ///
    /// # Errors
    /// A receiving (−2) or a sending (−10) interface that isn't an Ethernet device, or isn't there;
    /// what the device says.
    pub fn set(&self, world: &World, (from, to): (SwIfIndex, SwIfIndex), on: bool) -> Result<()> {
        check(world, from).map_err(|e| e.retval(retval::INVALID_SW_IF_INDEX))?;
        check(world, to).map_err(|e| e.retval(retval::INVALID_SW_IF_INDEX_2))?;
        if on { self.add(world, from, to) } else { self.delete(world, from) }
    }

    fn add(&self, world: &World, from: SwIfIndex, to: SwIfIndex) -> Result<()> {
        let interfaces = world.get::<Interfaces>();
        interfaces.set_taken(world, from, L2Patch::NAME, true)?;
        let configured = world.configure_feature::<L2Patch>("device-input", from, Some(to.0));
        if let Err(error) = configured {
            // The device stays as a patch that there was before needs it. The first error is the
            // one that counts.
            let _ =
                interfaces.set_taken(world, from, L2Patch::NAME, self.all().contains_key(&from));
            return Err(Error::failed(error));
        }
        self.all().insert(from, to);
        world.note_config_change();
        Ok(())
    }

    fn delete(&self, world: &World, from: SwIfIndex) -> Result<()> {
        if !self.all().contains_key(&from) {
            return Ok(());
        }
        world.configure_feature::<L2Patch>("device-input", from, None).map_err(Error::failed)?;
        self.all().remove(&from);
        world.note_config_change();
        world.get::<Interfaces>().set_taken(world, from, L2Patch::NAME, false)
    }
}
