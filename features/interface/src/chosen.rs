// SPDX-License-Identifier: Apache-2.0
//! Features that an operator put on interfaces by name, or took from them.

use cli::Error;
use graph::{Deleted, Shared, SwIfIndex, World};
use msg::retval;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};

/// Interface, arc, feature.
pub type Place = (SwIfIndex, String, String);

/// What was chosen: on, or off where its owner had it on.
pub struct Chosen(Mutex<BTreeMap<Place, bool>>);

impl Shared for Chosen {
    fn make(_: &World) -> Self {
        Self(Mutex::default())
    }

    /// The next interface of this index starts with none of them.
    fn forget(&self, _: &World, deleted: &Deleted<'_>) {
        if let Some(sw_if) = deleted.of::<SwIfIndex>() {
            self.all().retain(|(i, ..), _| i != sw_if);
        }
    }
}

/// Whether a feature is enabled on an interface.
///
/// # Errors
/// An arc or a feature that isn't there (−7).
pub fn is_enabled(world: &World, sw_if: SwIfIndex, arc: &str, feature: &str) -> Result<bool, Error> {
    let arcs = world.arc_list();
    let wrong = |e: String| Error::not_found(e).retval(retval::INVALID_VALUE);
    let known = arcs.iter().find(|(name, _)| *name == arc);
    let (_, features) = known.ok_or_else(|| wrong(format!("no feature arc is named {arc}")))?;
    if !features.contains(&feature) {
        return Err(wrong(format!("arc {arc} has no feature {feature}")));
    }
    Ok(is_on(world, sw_if, arc, feature))
}

fn is_on(world: &World, sw_if: SwIfIndex, arc: &str, feature: &str) -> bool {
    let Some(arc) = world.arc(arc) else { return false };
    world.features_of(arc, sw_if).iter().any(|(name, _)| *name == feature)
}

impl Chosen {
    fn all(&self) -> MutexGuard<'_, BTreeMap<Place, bool>> {
        self.0.lock().expect("no panic inside")
    }

    /// Enables or disables a feature on an interface.
    ///
    /// # Errors
    /// An arc or a feature that isn't there (−7).
    pub fn set(
        &self,
        world: &World,
        sw_if: SwIfIndex,
        arc: &str,
        feature: &str,
        on: bool,
    ) -> Result<(), Error> {
        let was = is_on(world, sw_if, arc, feature);
        world
            .set_feature(arc, feature, sw_if, on.then_some(0))
            .map_err(|e| Error::not_found(e).retval(retval::INVALID_VALUE))?;
        let place = (sw_if, arc.to_string(), feature.to_string());
        let mut all = self.all();
        // What its owner has changed since no longer holds. The opposite of what was chosen takes it back.
        let chosen = all.remove(&place).filter(|chosen| *chosen == was);
        if chosen != Some(!on) && (on || was) {
            all.insert(place, on);
        }
        Ok(())
    }

    /// What was chosen and still is so.
    pub fn list(&self, world: &World) -> Vec<(Place, bool)> {
        let all = self.all().clone();
        all.into_iter()
            .filter(|((sw_if, arc, feature), on)| is_on(world, *sw_if, arc, feature) == *on)
            .collect()
    }
}
