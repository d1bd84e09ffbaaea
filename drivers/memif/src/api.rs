// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `memif`.

use crate::control::{self, Memifs};
use crate::device::{Config, MemifDevice, Mode};
use crate::io::Role;
use cli::{Error, Result};
use graph::{SwIfIndex, World};
use msg::{Messages, Module, retval};
use net::Interfaces;
use net::api::{IfStatusFlags, InterfaceIndex, MacAddress};

/// The module.
pub static API: Module<World> = Module::plugin("memif", messages);

/// A number that stands for none.
const NONE: u32 = u32::MAX;

fn messages(m: &mut Messages<World>) {
    m.call(|w, r: MemifCreateV2| create(w, r));
    m.call(|w, r: MemifCreate| create(w, r.into()));
    m.call(|w, r: MemifDelete| control::delete(w, r.sw_if_index.existing(w)?));
    m.dump(|w, _: MemifDump| {
        let all = w.get::<Memifs>().devices();
        Ok(all.iter().filter_map(|device| details(w, device)).collect::<Vec<_>>())
    });
    m.call(|w, r: MemifSocketFilenameAddDel| match r.is_add {
        true => control::add_socket(w, Some(r.socket_id), r.socket_filename.as_str()).map(|_| ()),
        false => control::delete_socket(w, r.socket_id),
    });
    m.call(|w, r: MemifSocketFilenameAddDelV2| {
        let socket_id = Some(r.socket_id).filter(|id| *id != NONE);
        match r.is_add {
            true => control::add_socket(w, socket_id, &r.socket_filename),
            false => control::delete_socket(w, r.socket_id).map(|()| r.socket_id),
        }
    });
    m.dump(|w, _: MemifSocketFilenameDump| {
        let details = |(socket_id, name): (u32, String)| MemifSocketFilenameDetails {
            socket_id,
            socket_filename: name.into(),
        };
        Ok(w.get::<Memifs>().sockets().into_iter().map(details).collect::<Vec<_>>())
    });
}

msg::messages! {
    /// Makes an interface whose other end is another program on this host.
    #[from(MemifCreate)]
    MemifCreateV2,
    /// Makes an interface whose other end is another program on this host; `memif_create_v2` is
    /// newer.
    MemifCreate,
    /// Role of an end.
    MemifRole,
    /// The first header of packets.
    MemifMode,
    /// Takes an interface away.
    MemifDelete,
    /// Asks for all interfaces.
    MemifDump,
    /// An interface.
    MemifDetails,
    /// Names a socket, or forgets it; `memif_socket_filename_add_del_v2` is newer.
    MemifSocketFilenameAddDel,
    /// Names a socket, or forgets it.
    MemifSocketFilenameAddDelV2,
    /// Asks for all sockets.
    MemifSocketFilenameDump,
    /// A socket.
    MemifSocketFilenameDetails,
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
