// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `mss_clamp`.

use crate::control::{self, Setting, Settings};
use cli::Result;
use graph::{SwIfIndex, World};
use msg::{Caller, Message, Messages, Module};
use net::Interfaces;
use net::api::InterfaceIndex;

/// The module.
pub static API: Module<World> =
    Module { name: "mss_clamp", version: "1.0.0", crc: 0xea81_86c0, core: false, messages };

fn messages(m: &mut Messages<World>) {
    m.call(enable_disable);
    m.stream(get);
}

msg::flags! {
    /// Segments that are clamped.
    pub struct MssClampDir: u8 = "mss_clamp_dir" {
        NONE = 0 => "MSS_CLAMP_DIR_NONE",
        RX = 1 => "MSS_CLAMP_DIR_RX",
        TX = 2 => "MSS_CLAMP_DIR_TX",
    }
}

fn dir_of(setting: Setting) -> MssClampDir {
    MssClampDir::RX.when(setting.rx) | MssClampDir::TX.when(setting.tx)
}

fn setting(dir: MssClampDir, mss: u16) -> Setting {
    Setting { rx: dir.has(MssClampDir::RX), tx: dir.has(MssClampDir::TX), mss }
}

/// Replaces the clamps of an interface.
#[derive(Message)]
pub struct MssClampEnableDisable {
    /// The interface.
    pub sw_if_index: InterfaceIndex,
    /// The greatest MSS over IPv4.
    pub ipv4_mss: u16,
    /// The greatest MSS over IPv6.
    pub ipv6_mss: u16,
    /// Directions of IPv4.
    pub ipv4_direction: MssClampDir,
    /// Directions of IPv6.
    pub ipv6_direction: MssClampDir,
}

fn enable_disable(w: &World, _: &Caller<'_, World>, r: MssClampEnableDisable) -> Result<()> {
    let settings = Settings {
        ip4: setting(r.ipv4_direction, r.ipv4_mss),
        ip6: setting(r.ipv6_direction, r.ipv6_mss),
    };
    control::set(w, r.sw_if_index.existing(w)?, settings)
}

/// Asks for the interfaces that clamp.
#[derive(Message)]
#[msg(reply, details)]
pub struct MssClampGet {
    /// All bits set: from the start.
    pub cursor: u32,
    /// The interface; all bits set for all.
    pub sw_if_index: InterfaceIndex,
}

/// The end of the clamps.
#[derive(Message)]
pub struct MssClampGetReply {
    /// All bits set.
    pub cursor: u32,
}

/// The clamps of an interface.
#[derive(Message, Debug, PartialEq)]
pub struct MssClampDetails {
    /// The interface.
    pub sw_if_index: InterfaceIndex,
    /// The greatest MSS over IPv4.
    pub ipv4_mss: u16,
    /// The greatest MSS over IPv6.
    pub ipv6_mss: u16,
    /// Directions of IPv4.
    pub ipv4_direction: MssClampDir,
    /// Directions of IPv6.
    pub ipv6_direction: MssClampDir,
}

type Clamps = (Vec<MssClampDetails>, MssClampGetReply);

fn get(w: &World, _: &Caller<'_, World>, r: MssClampGet) -> Result<Clamps> {
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
    Ok((clamps.collect(), MssClampGetReply { cursor: u32::MAX }))
}
