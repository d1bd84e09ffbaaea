// SPDX-License-Identifier: Apache-2.0
//! Features that an operator enables or disables on interfaces by name, whatever their owners want.

use cli::Error;
use graph::{SwIfIndex, World};
use msg::retval;

fn wrong(why: String) -> Error {
    Error::not_found(why).retval(retval::INVALID_VALUE)
}

/// Returns true if a feature is enabled on an interface.
///
/// # Errors
/// An arc or a feature that isn't there (−7).
pub fn is_enabled(
    world: &World,
    sw_if: SwIfIndex,
    arc: &str,
    feature: &str,
) -> Result<bool, Error> {
    let arcs = world.arc_list();
    let known = arcs.iter().find(|(name, _)| *name == arc);
    let (_, features) = known.ok_or_else(|| wrong(format!("no feature arc is named {arc}")))?;
    if !features.contains(&feature) {
        return Err(wrong(format!("arc {arc} has no feature {feature}")));
    }
    let Some(arc) = world.arc(arc) else { return Ok(false) };
    Ok(world.features_of(arc, sw_if).contains(&feature))
}

/// Enables or disables a feature on an interface.
///
/// # Errors
/// An arc or a feature that isn't there (−7).
pub fn set(
    world: &World,
    sw_if: SwIfIndex,
    arc: &str,
    feature: &str,
    on: bool,
) -> Result<(), Error> {
    world.choose_feature(arc, feature, sw_if, on).map_err(wrong)
}
