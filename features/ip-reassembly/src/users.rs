// SPDX-License-Identifier: Apache-2.0
//! Features that need the ports of fragments which leave: shallow reassembly on the output of an
//! interface is enabled as long as one of them uses it.

use cli::{Error, Result};
use graph::{Deleted, Shared, SwIfIndex, World, filled};
use std::collections::HashMap;
use std::sync::Mutex;

/// The number of users, by interface and IP version.
#[derive(Default)]
pub struct OutputUsers(Mutex<HashMap<(SwIfIndex, bool), u32>>);

impl Shared for OutputUsers {
    fn make(_: &World) -> Self {
        Self::default()
    }

    fn forget(&self, _: &World, deleted: &Deleted<'_>) {
        if let Some(sw_if) = deleted.of::<SwIfIndex>() {
            self.0.lock().expect("no panic inside").retain(|(of, _), _| of != sw_if);
        }
    }
}

/// Begins or ends the use of shallow reassembly of the packets that an interface sends. Each user
/// begins once, and ends what it began.
///
/// # Errors
/// The arc or the node doesn't exist.
pub fn use_output(world: &World, sw_if: SwIfIndex, v6: bool, on: bool) -> Result<()> {
    let users = world.get::<OutputUsers>();
    let mut users = users.0.lock().expect("no panic inside");
    let n = users.entry((sw_if, v6)).or_default();
    let before = *n;
    *n = if on { before + 1 } else { before.saturating_sub(1) };
    if (before == 0) != (*n == 0) {
        let (arc, node) =
            (filled("{ip}-output", v6), filled("{ip}-sv-reassembly-output-feature", v6));
        world.set_feature(&arc, &node, sw_if, on).map_err(Error::unsupported)?;
    }
    Ok(())
}
