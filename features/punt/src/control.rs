// SPDX-License-Identifier: Apache-2.0
//! Operations of the CLI and the API.

use crate::esp;
use crate::reasons::{reasons, set_client};
use crate::redirect;
use crate::socket;
use crate::state::{Destination, Key, Punt, TcpPorts};
use cli::{Error, Result};
use graph::World;
use ip::Ip;
use msg::retval;
use net::Interfaces;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use wire::{Ip4, Ip6, IpProtocol};

/// Maximum length of a socket's path in bytes, its terminator included (`sockaddr_un`).
const PATH: usize = 108;

/// Returns the number of the reason with this name.
///
/// # Errors
/// No reason has this name (−6).
pub fn find_reason(world: &World, name: &str) -> Result<u32> {
    let found = reasons(world).into_iter().find(|reason| reason.name == name);
    let none = || {
        Error::not_found(format!("packets aren't punted for a reason {name}"))
            .hint("`show punt reasons' lists them")
            .retval(retval::NO_SUCH_ENTRY)
    };
    found.map(|reason| reason.id).ok_or_else(none)
}

/// Punts packets. A client that registers again gets them at its new socket.
///
/// # Errors
/// Packets already punted or handled otherwise (−81); a reason that doesn't exist (−6); an invalid
/// socket path (−7); a protocol that isn't punted so (−126).
pub fn add(world: &World, key: Key, destination: Destination) -> Result<()> {
    check(world, key, &destination)?;
    let punt = world.get::<Punt>();
    let old = punt.registrations().get(&key).cloned();
    match (&old, &destination) {
        (None, _) => attach(world, key, &destination)?,
        (Some(Destination::Socket(_)), Destination::Socket(_))
        | (Some(Destination::Punt), Destination::Punt) => {}
        _ => {
            let why = "it is punted otherwise already: delete that first";
            return Err(Error::failed(why).retval(retval::VALUE_EXIST));
        }
    }
    punt.registrations().insert(key, destination);
    Ok(())
}

fn check(world: &World, key: Key, destination: &Destination) -> Result<()> {
    if let Destination::Socket(path) = destination
        && (!path.is_absolute() || path.as_os_str().len() >= PATH)
    {
        let why = format!("{}: expected an absolute path below {PATH} bytes", path.display());
        return Err(Error::parse(why).retval(retval::INVALID_VALUE));
    }
    match key {
        Key::Reason(id) if !reasons(world).iter().any(|r| r.id == id) => {
            Err(Error::not_found(format!("packets aren't punted for a reason {id}"))
                .retval(retval::NO_SUCH_ENTRY))
        }
        Key::Reason(_) if *destination == Destination::Punt => {
            Err(Error::unsupported("what has a reason is punted already")
                .retval(retval::UNSUPPORTED))
        }
        Key::Protocol { protocol: 6 | 17, .. } => {
            Err(Error::unsupported("TCP and UDP are punted by their ports")
                .retval(retval::UNSUPPORTED))
        }
        _ => Ok(()),
    }
}

/// Stops punting packets. Removing a client's socket that isn't registered succeeds.
///
/// # Errors
/// A key that isn't punted this way (−6), or is punted another way.
pub fn delete(world: &World, key: Key, to_socket: bool) -> Result<()> {
    let punt = world.get::<Punt>();
    let there = punt
        .registrations()
        .get(&key)
        .is_some_and(|destination| (*destination != Destination::Punt) == to_socket);
    if !there && to_socket && punt.registrations().get(&key).is_none() {
        return Ok(());
    }
    if !there {
        return Err(Error::not_found("it isn't punted so").retval(retval::NO_SUCH_ENTRY));
    }
    detach(world, key)?;
    punt.registrations().remove(&key);
    Ok(())
}

fn taken(why: String) -> Error {
    Error::failed(why).retval(retval::VALUE_EXIST)
}

fn attach(world: &World, key: Key, destination: &Destination) -> Result<()> {
    match key {
        Key::Udp { v6: false, .. }
        | Key::Tcp { v6: false, .. }
        | Key::Protocol { v6: false, .. } => attach_ip::<Ip4>(world, key, destination),
        Key::Reason(id) => set_reason(world, id, true),
        _ => attach_ip::<Ip6>(world, key, destination),
    }
}

fn attach_ip<F: Ip>(world: &World, key: Key, destination: &Destination) -> Result<()> {
    let socket = *destination != Destination::Punt;
    let udp = if socket { "{ip}-udp-punt-socket" } else { "{ip}-udp-punt" };
    match key {
        Key::Udp { port: Some(port), .. } => {
            ip::register_udp_port::<F>(world, port, udp).map_err(taken)
        }
        Key::Udp { port: None, .. } => ip::set_udp_rest::<F>(world, Some(udp)).map_err(taken),
        Key::Tcp { port, .. } => {
            ip::register_protocol::<F>(world, IpProtocol::TCP, "{ip}-tcp-punt").map_err(taken)?;
            world.get::<TcpPorts<F>>().set(port, Some(socket));
            Ok(())
        }
        Key::Protocol { protocol, .. } => {
            let node = if socket { "{ip}-proto-punt-socket" } else { "{ip}-punt" };
            ip::register_protocol::<F>(world, IpProtocol(protocol), node).map_err(taken)
        }
        Key::Reason(_) => Ok(()),
    }
}

fn detach(world: &World, key: Key) -> Result<()> {
    match key {
        Key::Udp { v6: false, .. }
        | Key::Tcp { v6: false, .. }
        | Key::Protocol { v6: false, .. } => detach_ip::<Ip4>(world, key),
        Key::Reason(id) => set_reason(world, id, false),
        _ => detach_ip::<Ip6>(world, key),
    }
}

fn detach_ip<F: Ip>(world: &World, key: Key) -> Result<()> {
    match key {
        Key::Udp { port: Some(port), .. } => ip::unregister_udp_port::<F>(world, port),
        Key::Udp { port: None, .. } => ip::set_udp_rest::<F>(world, None).map_err(Error::failed)?,
        Key::Tcp { port, .. } => {
            if world.get::<TcpPorts<F>>().set(port, None) == 0 {
                ip::unregister_protocol::<F>(world, IpProtocol::TCP);
            }
        }
        Key::Protocol { protocol, .. } => ip::unregister_protocol::<F>(world, IpProtocol(protocol)),
        Key::Reason(_) => {}
    }
    Ok(())
}

/// Starts or stops sending packets of a reason to clients' sockets.
fn set_reason(world: &World, id: u32, on: bool) -> Result<()> {
    if let Some(reason) = reasons(world).iter().find(|reason| reason.id == id) {
        esp::follow(world, reason, on).map_err(taken)?;
    }
    set_client(world, id, "exception-punt-socket", on).map_err(Error::unsupported)
}

/// Returns the path of the socket that clients send to.
pub fn server(world: &World) -> Option<PathBuf> {
    world.get::<Punt>().server.lock().expect("no panic inside").clone()
}

/// Punts packets to a client's socket, and returns the path of the socket that it may send to.
///
/// # Errors
/// See [`add`].
pub fn register(world: &World, key: Key, path: &Path) -> Result<Option<PathBuf>> {
    add(world, key, Destination::Socket(path.to_path_buf()))?;
    Ok(server(world))
}

/// Called once, when all nodes are there.
pub fn start(world: &Arc<World>) -> std::result::Result<(), String> {
    socket::start(world);
    world.get::<Interfaces>().subscribe(redirect::on_interface);
    esp::start(world)?;
    // Reasons are numbered before any packet is punted.
    reasons(world);
    Ok(())
}
