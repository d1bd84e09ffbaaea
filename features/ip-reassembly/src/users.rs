// SPDX-License-Identifier: Apache-2.0
//! Users of shallow reassembly: operators and clients, and features that need the ports of
//! fragments. It is enabled on an interface as long as one of them wants it.

use crate::state::Kind;
use cli::{Error, Result};
use graph::{Deleted, Shared, SwIfIndex, World, filled};
use std::collections::HashMap;
use std::sync::Mutex;

/// The packets of an interface whose fragments are to have ports.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// Received ones.
    Input,
    /// Sent ones.
    Output,
}

/// The users, by interface and IP version.
#[derive(Default)]
pub struct Users(Mutex<HashMap<(SwIfIndex, bool), Wants>>);

#[derive(Clone, Copy, Default)]
struct Wants {
    /// An operator or a client wants it for received packets.
    chosen: bool,
    /// Number of features that use it, by [`Side`].
    features: [u32; 2],
}

impl Wants {
    fn any(&self, side: Side) -> bool {
        self.features[side as usize] > 0 || side == Side::Input && self.chosen
    }
}

impl Shared for Users {
    fn make(_: &World) -> Self {
        Self::default()
    }

    fn forget(&self, _: &World, deleted: &Deleted<'_>) {
        if let Some(sw_if) = deleted.of::<SwIfIndex>() {
            self.0.lock().expect("no panic inside").retain(|(of, _), _| of != sw_if);
        }
    }
}

impl Users {
    fn change(
        &self,
        world: &World,
        (sw_if, v6): (SwIfIndex, bool),
        change: impl FnOnce(&mut Wants),
    ) -> Result<()> {
        let mut users = self.0.lock().expect("no panic inside");
        let wants = users.entry((sw_if, v6)).or_default();
        let before = *wants;
        change(wants);
        let after = *wants;
        drop(users);
        let set = |arc: &str, node: &str, on| {
            world.set_feature(arc, node, sw_if, on).map_err(Error::unsupported)
        };
        let (was, is) = (before.any(Side::Input), after.any(Side::Input));
        if was != is {
            for (arc, node) in Kind::Shallow.features(v6) {
                set(arc, node, is)?;
            }
        }
        let (was, is) = (before.any(Side::Output), after.any(Side::Output));
        if was != is {
            let node = filled("{ip}-sv-reassembly-output-feature", v6);
            set(&filled("{ip}-output", v6), &node, is)?;
        }
        Ok(())
    }
}

/// Begins or ends a feature's use of the ports of fragments. Each feature begins once for an
/// interface, an IP version and a side, and ends what it began.
///
/// # Errors
/// The arc or the node doesn't exist.
pub fn use_ports(world: &World, sw_if: SwIfIndex, v6: bool, side: Side, on: bool) -> Result<()> {
    world.get::<Users>().change(world, (sw_if, v6), |wants| {
        let n = &mut wants.features[side as usize];
        *n = if on { *n + 1 } else { n.saturating_sub(1) };
    })
}

/// Sets whether an operator or a client wants the ports of received fragments.
pub(crate) fn choose(world: &World, sw_if: SwIfIndex, v6: bool, on: bool) -> Result<()> {
    world.get::<Users>().change(world, (sw_if, v6), |wants| wants.chosen = on)
}

/// True if an operator or a client wants them.
pub(crate) fn is_chosen(world: &World, sw_if: SwIfIndex, v6: bool) -> bool {
    let users = world.get::<Users>();
    let users = users.0.lock().expect("no panic inside");
    users.get(&(sw_if, v6)).is_some_and(|wants| wants.chosen)
}
