// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `pg`.

use crate::control;
use crate::offload::Offloads;
use crate::state::{Mode, Shared};
use cli::{Error, Result};
use graph::World;
use msg::{Caller, Message, Messages, Module, Wire, retval};
use net::api::InterfaceIndex;
use std::path::Path;

/// The module.
pub static API: Module<World> =
    Module { name: "pg", version: "2.1.0", crc: 0xeae1_4b90, core: true, messages };

fn messages(m: &mut Messages<World>) {
    m.call(|w: &World, _: &Caller<'_, World>, r: PgCreateInterface| {
        let flags = PgInterfaceFlags::GSO.when(r.gso_enabled);
        create(w, r.interface_id, flags, r.gso_size, Mode::Ethernet)
            .map(|sw_if_index| PgCreateInterfaceReply { sw_if_index })
    });
    m.call(|w: &World, _: &Caller<'_, World>, r: PgCreateInterfaceV2| {
        let flags = PgInterfaceFlags::GSO.when(r.gso_enabled);
        create(w, r.interface_id, flags, r.gso_size, r.mode.into())
            .map(|sw_if_index| PgCreateInterfaceV2Reply { sw_if_index })
    });
    m.call(|w: &World, _: &Caller<'_, World>, r: PgCreateInterfaceV3| {
        create(w, r.interface_id, r.pg_flags, r.gso_size, r.mode.into())
            .map(|sw_if_index| PgCreateInterfaceV3Reply { sw_if_index })
    });
    m.call(|w: &World, _: &Caller<'_, World>, r: PgDeleteInterface| {
        control::delete_interface(w, r.sw_if_index.existing(w)?)
    });
    m.call(|w: &World, _: &Caller<'_, World>, r: PgInterfaceEnableDisableCoalesce| {
        w.get::<Shared>().set_coalescing(w, r.sw_if_index.existing(w)?, r.coalesce_enabled)
    });
    m.call(|w: &World, _: &Caller<'_, World>, r: PgCapture| {
        let (shared, name) = (w.get::<Shared>(), format!("pg{}", r.interface_id.0));
        if r.is_enabled {
            let count = Some(r.count.into()).filter(|n| ![0, u32::MAX.into()].contains(n));
            shared.capture(w, &name, Path::new(&r.pcap_file_name), count)
        } else {
            shared.end_capture(w, &name)
        }
    });
    m.call(|w: &World, _: &Caller<'_, World>, r: PgEnableDisable| {
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
) -> Result<InterfaceIndex> {
    let gso_size = u16::try_from(gso_size).map_err(|_| {
        Error::parse(format!("segments of {gso_size} bytes: 65535 at most"))
            .retval(retval::INVALID_VALUE)
    })?;
    let offloads = Offloads {
        csum: flags.has(PgInterfaceFlags::CSUM_OFFLOAD),
        gso: flags.has(PgInterfaceFlags::GSO).then_some(gso_size),
        coalesce: flags.has(PgInterfaceFlags::GRO_COALESCE),
    };
    control::make_interface(w, id.0, mode, offloads).map(InterfaceIndex::from)
}

msg::flags! {
    /// Offloads of an interface.
    pub struct PgInterfaceFlags: u32 = enum "pg_interface_flags" {
        NONE = 0 => "PG_API_FLAG_NONE",
        CSUM_OFFLOAD = 1 => "PG_API_FLAG_CSUM_OFFLOAD",
        GSO = 2 => "PG_API_FLAG_GSO",
        GRO_COALESCE = 4 => "PG_API_FLAG_GRO_COALESCE",
    }
}

/// The header that packets begin with.
#[derive(Wire, Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
#[wire(prefix = "PG_API_MODE_")]
pub enum PgInterfaceMode {
    /// An Ethernet header.
    Ethernet = 0,
    /// An IPv4 header.
    Ip4 = 1,
    /// An IPv6 header.
    Ip6 = 2,
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

/// Makes an interface for streams and captures, unless it is there; `pg_create_interface_v3` is
/// newer.
#[derive(Message)]
#[msg(reply)]
pub struct PgCreateInterface {
    /// The number in its name.
    pub interface_id: InterfaceIndex,
    /// Super-packets come in and leave as they are.
    pub gso_enabled: bool,
    /// Payload of the segments of super-packets that come in; 0 if none do.
    pub gso_size: u32,
}

/// The interface.
#[derive(Message)]
pub struct PgCreateInterfaceReply {
    /// Its number.
    pub sw_if_index: InterfaceIndex,
}

/// Makes an interface for streams and captures, unless it is there; `pg_create_interface_v3` is
/// newer.
#[derive(Message)]
#[msg(reply)]
pub struct PgCreateInterfaceV2 {
    /// The number in its name.
    pub interface_id: InterfaceIndex,
    /// Super-packets come in and leave as they are.
    pub gso_enabled: bool,
    /// Payload of the segments of super-packets that come in; 0 if none do.
    pub gso_size: u32,
    /// The header that packets begin with.
    pub mode: PgInterfaceMode,
}

/// The interface.
#[derive(Message)]
pub struct PgCreateInterfaceV2Reply {
    /// Its number.
    pub sw_if_index: InterfaceIndex,
}

/// Makes an interface for streams and captures, unless it is there.
#[derive(Message)]
#[msg(reply)]
pub struct PgCreateInterfaceV3 {
    /// The number in its name.
    pub interface_id: InterfaceIndex,
    /// Its offloads.
    pub pg_flags: PgInterfaceFlags,
    /// Payload of the segments of super-packets that come in; 0 if none do.
    pub gso_size: u32,
    /// The header that packets begin with.
    pub mode: PgInterfaceMode,
}

/// The interface.
#[derive(Message)]
pub struct PgCreateInterfaceV3Reply {
    /// Its number.
    pub sw_if_index: InterfaceIndex,
}

/// Takes an interface away, with its streams and its capture.
#[derive(Message)]
pub struct PgDeleteInterface {
    /// The interface.
    pub sw_if_index: InterfaceIndex,
}

/// Puts TCP segments together that the interface sends, or no longer.
#[derive(Message)]
pub struct PgInterfaceEnableDisableCoalesce {
    /// The interface.
    pub sw_if_index: InterfaceIndex,
    /// Put them together.
    pub coalesce_enabled: bool,
}

/// Writes what an interface sends to a file, or no longer.
#[derive(Message)]
pub struct PgCapture {
    /// The number in the interface's name.
    pub interface_id: InterfaceIndex,
    /// Write.
    #[wire(default = "true")]
    pub is_enabled: bool,
    /// Packets at most; 0 for no limit.
    pub count: u32,
    /// The file, which mustn't be there.
    pub pcap_file_name: String,
}

/// Runs streams, or stops them.
#[derive(Message)]
pub struct PgEnableDisable {
    /// Run.
    #[wire(default = "true")]
    pub is_enabled: bool,
    /// One stream; empty for all.
    pub stream_name: String,
}
