// SPDX-License-Identifier: Apache-2.0
//! Operations on clamps, for commands and messages. All state is the features' configuration on
//! the arcs, so nothing is left of an interface that is deleted.

use crate::node::Clamp;
use cli::{Error, Result, retval};
use graph::{SwIfIndex, World, filled};
use net::{Interfaces, Net};
use wire::{Ip4, Ip6};

/// The clamp of one protocol on an interface.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Setting {
    /// Received segments are clamped.
    pub rx: bool,
    /// Segments that leave are clamped.
    pub tx: bool,
    /// The greatest MSS that passes; at least 1, if one of the directions is set.
    pub mss: u16,
}

impl Setting {
    /// True if segments of a direction are clamped.
    pub const fn is_on(self) -> bool {
        self.rx || self.tx
    }
}

/// The clamps of an interface.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Settings {
    /// Of IPv4.
    pub ip4: Setting,
    /// Of IPv6.
    pub ip6: Setting,
}

impl Settings {
    /// True if segments of a protocol are clamped.
    pub const fn is_on(self) -> bool {
        self.ip4.is_on() || self.ip6.is_on()
    }
}

/// Replaces the clamps of an interface.
///
/// # Errors
/// An interface that doesn't exist (−2); an MSS of 0 (−7).
pub fn set(world: &World, sw_if: SwIfIndex, settings: Settings) -> Result<()> {
    world.get::<Interfaces>().check(sw_if)?;
    for (setting, name) in [(settings.ip4, "ip4-mss"), (settings.ip6, "ip6-mss")] {
        if setting.is_on() && setting.mss == 0 {
            let why = format!("expected {name} of 1 to 65535: no segment fits an MSS of 0");
            return Err(Error::parse(why).retval(retval::INVALID_VALUE));
        }
    }
    configure::<Ip4>(world, sw_if, settings.ip4)?;
    configure::<Ip6>(world, sw_if, settings.ip6)
}

fn configure<F: Net>(world: &World, sw_if: SwIfIndex, setting: Setting) -> Result<()> {
    let Setting { rx, tx, mss } = setting;
    let (rx, tx) = (rx.then_some(mss), tx.then_some(mss));
    let done = world
        .configure_feature::<Clamp<F, false>>(&filled("{ip}-unicast", F::IS_V6), sw_if, rx)
        .and_then(|()| {
            let arc = filled("{ip}-output", F::IS_V6);
            world.configure_feature::<Clamp<F, true>>(&arc, sw_if, tx)
        });
    done.map_err(Error::failed)
}

/// The clamps of an interface.
pub fn get(world: &World, sw_if: SwIfIndex) -> Settings {
    Settings { ip4: of::<Ip4>(world, sw_if), ip6: of::<Ip6>(world, sw_if) }
}

fn of<F: Net>(world: &World, sw_if: SwIfIndex) -> Setting {
    let arc = |name| world.arc(&filled(name, F::IS_V6));
    let rx =
        arc("{ip}-unicast").and_then(|arc| world.feature_config::<Clamp<F, false>>(arc, sw_if));
    let tx = arc("{ip}-output").and_then(|arc| world.feature_config::<Clamp<F, true>>(arc, sw_if));
    Setting { rx: rx.is_some(), tx: tx.is_some(), mss: rx.or(tx).unwrap_or_default() }
}
