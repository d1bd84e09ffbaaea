// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `mss_clamp`.

use crate::control::{self, Setting, Settings};
use cli::Result;
use graph::{SwIfIndex, World};
use msg::{Messages, Module};
use net::Interfaces;
use net::api::InterfaceIndex;

/// The module.
pub static API: Module<World> = Module::plugin("mss_clamp", messages);

fn messages(m: &mut Messages<World>) {
    m.call(enable_disable);
    m.stream(get);
}

msg::messages! {
    /// Segments that are clamped.
    MssClampDir,
    /// Replaces the clamps of an interface.
    MssClampEnableDisable,
    /// Asks for the interfaces that clamp.
    MssClampGet,
    /// The clamps of an interface.
    MssClampDetails,
}

fn dir_of(setting: Setting) -> MssClampDir {
    MssClampDir::RX.when(setting.rx) | MssClampDir::TX.when(setting.tx)
}

fn setting(dir: MssClampDir, mss: u16) -> Setting {
    Setting { rx: dir.has(MssClampDir::RX), tx: dir.has(MssClampDir::TX), mss }
}

fn enable_disable(w: &World, r: MssClampEnableDisable) -> Result<()> {
    let settings = Settings {
        ip4: setting(r.ipv4_direction, r.ipv4_mss),
        ip6: setting(r.ipv6_direction, r.ipv6_mss),
    };
    control::set(w, r.sw_if_index.existing(w)?, settings)
}

fn get(w: &World, r: MssClampGet) -> Result<Vec<MssClampDetails>> {
    let only = r.sw_if_index.existing_or_all(w)?;
    let details = |sw_if: SwIfIndex| {
        let Settings { ip4, ip6 } = control::get(w, sw_if);
        MssClampDetails {
            sw_if_index: sw_if.into(),
            ipv4_mss: ip4.mss,
            ipv6_mss: ip6.mss,
            ipv4_direction: dir_of(ip4),
            ipv6_direction: dir_of(ip6),
        }
    };
    let indices = w.get::<Interfaces>().indices();
    let wanted = indices.filter(|sw_if| only.is_none_or(|only| only == *sw_if));
    let clamps = wanted.filter(|sw_if| control::get(w, *sw_if).is_on()).map(details);
    Ok(clamps.collect())
}
