// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `pg`.

use crate::control;
use crate::offload::Offloads;
use crate::state::{Mode, Shared};
use cli::{Error, Result};
use graph::{SwIfIndex, World};
use msg::{Messages, Module, retval};
use net::api::InterfaceIndex;
use std::path::Path;

/// The module.
pub static API: Module<World> = Module::core("pg", messages);

fn messages(m: &mut Messages<World>) {
    m.call(|w, r: PgCreateInterface| {
        let flags = PgInterfaceFlags::GSO.when(r.gso_enabled);
        create(w, r.interface_id, flags, r.gso_size, Mode::Ethernet)
    });
    m.call(|w, r: PgCreateInterfaceV2| {
        let flags = PgInterfaceFlags::GSO.when(r.gso_enabled);
        create(w, r.interface_id, flags, r.gso_size, r.mode.into())
    });
    m.call(|w, r: PgCreateInterfaceV3| {
        create(w, r.interface_id, r.pg_flags, r.gso_size, r.mode.into())
    });
    m.call(|w, r: PgDeleteInterface| control::delete_interface(w, r.sw_if_index.existing(w)?));
    m.call(|w, r: PgInterfaceEnableDisableCoalesce| {
        w.get::<Shared>().set_coalescing(w, r.sw_if_index.existing(w)?, r.coalesce_enabled)
    });
    m.call(|w, r: PgCapture| {
        let (shared, name) = (w.get::<Shared>(), format!("pg{}", r.interface_id.0));
        if r.is_enabled {
            let count = Some(r.count.into()).filter(|n| ![0, u32::MAX.into()].contains(n));
            shared.capture(w, &name, Path::new(&r.pcap_file_name), count)
        } else {
            shared.end_capture(w, &name)
        }
    });
    m.call(|w, r: PgEnableDisable| {
        let name = Some(r.stream_name.as_str()).filter(|name| !name.is_empty());
        let shared = w.get::<Shared>();
        if r.is_enabled { shared.enable(w, name) } else { shared.disable(name) }
    });
}

/// `interface_id` is the number in the name.
fn create(
    w: &World,
    id: InterfaceIndex,
    flags: PgInterfaceFlags,
    gso_size: u32,
    mode: Mode,
) -> Result<SwIfIndex> {
    let gso_size = u16::try_from(gso_size).map_err(|_| {
        Error::parse(format!("segments of {gso_size} bytes: 65535 at most"))
            .retval(retval::INVALID_VALUE)
    })?;
    let offloads = Offloads {
        csum: flags.has(PgInterfaceFlags::CSUM_OFFLOAD),
        gso: flags.has(PgInterfaceFlags::GSO).then_some(gso_size),
        coalesce: flags.has(PgInterfaceFlags::GRO_COALESCE),
    };
    control::make_interface(w, id.0, mode, offloads)
}

msg::messages! {
    /// Offloads of an interface.
    flags PgInterfaceFlags,
    /// The header that packets begin with.
    PgInterfaceMode,
    /// Makes an interface for streams and captures, unless it is there; `pg_create_interface_v3` is
    /// newer.
    PgCreateInterface,
    /// Makes an interface for streams and captures, unless it is there; `pg_create_interface_v3` is
    /// newer.
    PgCreateInterfaceV2,
    /// Makes an interface for streams and captures, unless it is there.
    PgCreateInterfaceV3,
    /// Takes an interface away, with its streams and its capture.
    PgDeleteInterface,
    /// Puts TCP segments together that the interface sends, or no longer.
    PgInterfaceEnableDisableCoalesce,
    /// Writes what an interface sends to a file, or no longer.
    PgCapture,
    /// Runs streams, or stops them.
    PgEnableDisable,
}

impl From<PgInterfaceMode> for Mode {
    fn from(mode: PgInterfaceMode) -> Self {
        match mode {
            PgInterfaceMode::Ethernet => Self::Ethernet,
            PgInterfaceMode::Ip4 => Self::Ip4,
            PgInterfaceMode::Ip6 => Self::Ip6,
        }
    }
}
