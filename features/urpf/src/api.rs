// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `urpf`.

use crate::control::{self, Check, CheckSettings, Mode, Urpf};
use cli::Result;
use graph::World;
use msg::{Messages, Module};
use net::api::{AddressFamily, InterfaceIndex, given};

/// The module.
pub static API: Module<World> = Module::plugin("urpf", messages);

fn messages(m: &mut Messages<World>) {
    m.call(|w, r: UrpfUpdate| update(w, r.sw_if_index, r.af, r.is_input, r.mode, u32::MAX));
    m.call(|w, r: UrpfUpdateV2| update(w, r.sw_if_index, r.af, r.is_input, r.mode, r.table_id));
    m.dump(dump);
}

msg::messages! {
    /// The mode of source checks.
    UrpfMode,
    /// Says how sources are checked on an interface.
    UrpfUpdate,
    /// Says how sources are checked on an interface, and in which table.
    UrpfUpdateV2,
    /// Asks where sources are checked.
    UrpfInterfaceDump,
    /// Where sources are checked.
    UrpfInterfaceDetails,
}

impl From<UrpfMode> for Mode {
    fn from(mode: UrpfMode) -> Self {
        match mode {
            UrpfMode::Off => Self::Off,
            UrpfMode::Loose => Self::Loose,
            UrpfMode::Strict => Self::Strict,
        }
    }
}

impl From<Mode> for UrpfMode {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::Off => Self::Off,
            Mode::Loose => Self::Loose,
            Mode::Strict => Self::Strict,
        }
    }
}

fn update(
    w: &World,
    sw_if: InterfaceIndex,
    af: AddressFamily,
    rx: bool,
    mode: UrpfMode,
    table: u32,
) -> Result<()> {
    let check = Check { sw_if: sw_if.existing(w)?, v6: af.is_ip6(), rx };
    let table = given(table);
    control::set(w, check, CheckSettings { mode: mode.into(), table, ..CheckSettings::default() })
}

fn dump(w: &World, r: UrpfInterfaceDump) -> Result<Vec<UrpfInterfaceDetails>> {
    let only = r.sw_if_index.existing_or_all(w)?;
    let all = w.get::<Urpf>().list().into_iter();
    let all = all.filter(|(check, ..)| only.is_none_or(|sw_if| sw_if == check.sw_if));
    let details = |(check, how): (Check, CheckSettings)| UrpfInterfaceDetails {
        sw_if_index: check.sw_if.into(),
        is_input: check.rx,
        mode: how.mode.into(),
        af: if check.v6 { AddressFamily::Ip6 } else { AddressFamily::Ip4 },
        table_id: how.table.unwrap_or(u32::MAX),
    };
    Ok(all.map(details).collect())
}
