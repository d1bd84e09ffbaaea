// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `memif`.

use crate::control::{self, Memifs};
use crate::device::{Config, MemifDevice, Mode};
use crate::io::Role;
use cli::{Error, Result};
use graph::{SwIfIndex, World};
use msg::{Caller, Message, Messages, Module, Str, Wire, retval};
use net::Interfaces;
use net::api::{IfStatusFlags, InterfaceIndex, MacAddress};

/// The module.
pub static API: Module<World> =
    Module { name: "memif", version: "3.1.0", crc: 0xd48a_c702, core: false, messages };

/// A number that stands for none.
const NONE: u32 = u32::MAX;

fn messages(m: &mut Messages<World>) {
    m.call(|w: &World, _: &Caller<'_, World>, r: MemifCreateV2| {
        Ok(MemifCreateV2Reply { sw_if_index: create(w, r)?.into() })
    });
    m.call(|w: &World, _: &Caller<'_, World>, r: MemifCreate| {
        Ok(MemifCreateReply { sw_if_index: create(w, r.into())?.into() })
    });
    m.call(|w: &World, _: &Caller<'_, World>, r: MemifDelete| {
        control::delete(w, r.sw_if_index.existing(w)?)
    });
    m.dump(|w: &World, _: &Caller<'_, World>, _: MemifDump| {
        let all = w.get::<Memifs>().devices();
        Ok(all.iter().filter_map(|device| details(w, device)).collect::<Vec<_>>())
    });
    m.call(|w: &World, _: &Caller<'_, World>, r: MemifSocketFilenameAddDel| match r.is_add {
        true => control::add_socket(w, Some(r.socket_id), r.socket_filename.as_str()).map(|_| ()),
        false => control::delete_socket(w, r.socket_id),
    });
    m.call(|w: &World, _: &Caller<'_, World>, r: MemifSocketFilenameAddDelV2| {
        let socket_id = match r.is_add {
            true => control::add_socket(
                w,
                Some(r.socket_id).filter(|id| *id != NONE),
                &r.socket_filename,
            )?,
            false => control::delete_socket(w, r.socket_id).map(|()| r.socket_id)?,
        };
        Ok(MemifSocketFilenameAddDelV2Reply { socket_id })
    });
    m.dump(|w: &World, _: &Caller<'_, World>, _: MemifSocketFilenameDump| {
        let details = |(socket_id, name): (u32, String)| MemifSocketFilenameDetails {
            socket_id,
            socket_filename: name.into(),
        };
        Ok(w.get::<Memifs>().sockets().into_iter().map(details).collect::<Vec<_>>())
    });
}

/// Role of an end.
#[derive(Wire, Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
#[wire(prefix = "MEMIF_ROLE_API_")]
pub enum MemifRole {
    /// The server: listens.
    Master = 0,
    /// The client: connects.
    Slave = 1,
}

/// The first header of packets.
#[derive(Wire, Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
#[wire(prefix = "MEMIF_MODE_API_")]
pub enum MemifMode {
    /// An Ethernet header.
    Ethernet = 0,
    /// An IP header.
    Ip = 1,
    /// Nothing: refused (−12).
    PuntInject = 2,
}

macro_rules! create {
    ($(#[$doc:meta])* $name:ident { $($dma:tt)* }) => {
        $(#[$doc])*
        #[derive(Message)]
        #[msg(reply)]
        pub struct $name {
            /// Server or client.
            pub role: MemifRole,
            /// The first header of packets.
            pub mode: MemifMode,
            /// Queues that a client receives by; 0 for 1.
            pub rx_queues: u8,
            /// Queues that a client sends by; 0 for 1.
            pub tx_queues: u8,
            /// Number on the socket.
            pub id: u32,
            /// The socket.
            pub socket_id: u32,
            /// Descriptors of a client's ring, a power of 2; 0 for 1024.
            pub ring_size: u32,
            /// Bytes of a client's buffer; 0 for 2048.
            pub buffer_size: u16,
            /// Accepted: packets are always copied.
            pub no_zero_copy: bool,
            $($dma)*
            /// The address; zeros for a random one.
            pub hw_addr: MacAddress,
            /// The secret; empty for none.
            pub secret: Str<24>,
        }
    };
}

create! {
    /// Makes an interface whose other end is another program on this host.
    MemifCreateV2 {
        /// Accepted: packets are copied by the processor.
        pub use_dma: bool,
    }
}

create! {
    /// Makes an interface whose other end is another program on this host; `memif_create_v2` is
    /// newer.
    MemifCreate {}
}

impl From<MemifCreate> for MemifCreateV2 {
    fn from(r: MemifCreate) -> Self {
        let MemifCreate { role, mode, rx_queues, tx_queues, id, socket_id, ring_size, .. } = r;
        let MemifCreate { buffer_size, no_zero_copy, hw_addr, secret, .. } = r;
        Self {
            role,
            mode,
            rx_queues,
            tx_queues,
            id,
            socket_id,
            ring_size,
            buffer_size,
            no_zero_copy,
            use_dma: false,
            hw_addr,
            secret,
        }
    }
}

/// The new interface.
#[derive(Message)]
pub struct MemifCreateReply {
    /// Its number.
    pub sw_if_index: InterfaceIndex,
}

/// The new interface.
#[derive(Message)]
pub struct MemifCreateV2Reply {
    /// Its number.
    pub sw_if_index: InterfaceIndex,
}

/// The value that stands for a field that a client left at 0.
fn or<T: Default + PartialEq>(value: T, default: T) -> T {
    if value == T::default() { default } else { value }
}

fn create(w: &World, r: MemifCreateV2) -> Result<SwIfIndex> {
    let mode = match r.mode {
        MemifMode::Ethernet => Mode::Ethernet,
        MemifMode::Ip => Mode::Ip,
        MemifMode::PuntInject => {
            return Err(Error::unsupported("mode 2: 0 (ethernet) or 1 (ip) is expected")
                .retval(retval::SYSCALL_ERROR_2));
        }
    };
    let config = Config {
        id: r.id,
        socket: r.socket_id,
        role: if r.role == MemifRole::Master { Role::Server } else { Role::Client },
        mode,
        rx_queues: or(r.rx_queues, 1),
        tx_queues: or(r.tx_queues, 1),
        log2: 0,
        buffer_size: or(r.buffer_size, 2048),
        secret: r.secret.0,
        no_zero_copy: r.no_zero_copy,
    };
    let mac = Some(wire::MacAddr::from(r.hw_addr)).filter(|mac| !mac.is_zero());
    control::create(w, config, or(r.ring_size, 1024), mac)
}

/// Takes an interface away.
#[derive(Message)]
pub struct MemifDelete {
    /// The interface.
    pub sw_if_index: InterfaceIndex,
}

/// Asks for all interfaces.
#[derive(Message)]
#[msg(details)]
pub struct MemifDump {}

/// An interface.
#[derive(Message, Debug)]
pub struct MemifDetails {
    /// Its number.
    pub sw_if_index: InterfaceIndex,
    /// Its address.
    pub hw_addr: MacAddress,
    /// Its number on the socket.
    pub id: u32,
    /// Server or client.
    pub role: MemifRole,
    /// The first header of packets.
    pub mode: MemifMode,
    /// False: packets are always copied.
    pub zero_copy: bool,
    /// The socket.
    pub socket_id: u32,
    /// Descriptors of a ring of a client that is connected, else 1.
    pub ring_size: u32,
    /// Bytes of a buffer of a client that is connected, else 0.
    pub buffer_size: u16,
    /// Its state.
    pub flags: IfStatusFlags,
    /// Its name.
    pub if_name: Str<64>,
}

fn details(w: &World, device: &MemifDevice) -> Option<MemifDetails> {
    let i = w.get::<Interfaces>().get(*device.sw_if.get()?).ok()?;
    let (c, state) = (&device.config, device.state());
    let is_client = c.role == Role::Client;
    let ring = state
        .link
        .as_ref()
        .filter(|_| is_client)
        .and_then(|link| link.s2m.first().or(link.m2s.first()));
    Some(MemifDetails {
        sw_if_index: i.sw_if.into(),
        hw_addr: if c.mode == Mode::Ethernet { i.mac.into() } else { MacAddress::default() },
        id: c.id,
        role: if is_client { MemifRole::Slave } else { MemifRole::Master },
        mode: if c.mode == Mode::Ethernet { MemifMode::Ethernet } else { MemifMode::Ip },
        zero_copy: false,
        socket_id: c.socket,
        ring_size: ring.map_or(1, |info| info.ring.size().into()),
        buffer_size: if ring.is_some() { c.buffer_size } else { 0 },
        flags: IfStatusFlags::of(&i),
        if_name: i.name.clone().into(),
    })
}

/// Names a socket, or forgets it; `memif_socket_filename_add_del_v2` is newer.
#[derive(Message)]
pub struct MemifSocketFilenameAddDel {
    /// Name it.
    pub is_add: bool,
    /// Its number.
    pub socket_id: u32,
    /// Its name: a path, relative to the runtime directory, or `abstract:NAME`.
    pub socket_filename: Str<108>,
}

/// Names a socket, or forgets it.
#[derive(Message)]
#[msg(reply)]
pub struct MemifSocketFilenameAddDelV2 {
    /// Name it.
    pub is_add: bool,
    /// Its number; all bits set for the first that is free.
    #[wire(default = "4294967295")]
    pub socket_id: u32,
    /// Its name: a path, relative to the runtime directory, or `abstract:NAME`.
    pub socket_filename: String,
}

/// The socket.
#[derive(Message)]
pub struct MemifSocketFilenameAddDelV2Reply {
    /// Its number.
    pub socket_id: u32,
}

/// Asks for all sockets.
#[derive(Message)]
#[msg(details)]
pub struct MemifSocketFilenameDump {}

/// A socket.
#[derive(Message, Debug)]
pub struct MemifSocketFilenameDetails {
    /// Its number.
    pub socket_id: u32,
    /// Its whole name.
    pub socket_filename: Str<108>,
}
