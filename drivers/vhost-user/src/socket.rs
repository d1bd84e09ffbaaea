// SPDX-License-Identifier: Apache-2.0
//! Sockets of the control protocol: files at which one end listens. Nothing here waits.

use cli::{Error, retval};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, connect, listen, socket_with,
};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

/// Connections that wait to be accepted.
const BACKLOG: i32 = 1;

/// Checks the name of a socket.
///
/// # Errors
/// An empty name, or one that is too long (−73).
pub fn check(name: &str) -> Result<(), Error> {
    let invalid = |text: String| Err(Error::parse(text).retval(retval::INVALID_ARGUMENT));
    if name.is_empty() {
        return invalid("the name of the socket is empty: give a path".to_string());
    }
    match SocketAddrUnix::new(name) {
        Ok(_) => Ok(()),
        Err(_) => invalid(format!("`{name}' can't be the path of a socket: at most 108 bytes")),
    }
}

/// Why this end can't listen.
pub enum Failure {
    /// There is no socket.
    Socket(io::Error),
    /// Its path can't be taken.
    Bind(io::Error),
    /// No connection can be accepted.
    Listen(io::Error),
}

/// Listens. A file that nobody listens at is taken over.
///
/// # Errors
/// A path at which another process listens, or where there is something else; the system's.
pub fn listen_at(path: &str) -> Result<OwnedFd, Failure> {
    let fd = new().map_err(Failure::Socket)?;
    let address = SocketAddrUnix::new(path).map_err(|e| Failure::Socket(e.into()))?;
    match bind(&fd, &address) {
        Err(Errno::ADDRINUSE) => {
            remove_dead(path, &address).map_err(Failure::Bind)?;
            bind(&fd, &address).map_err(|e| Failure::Bind(e.into()))?;
        }
        result => result.map_err(|e| Failure::Bind(e.into()))?,
    }
    listen(&fd, BACKLOG).map_err(|e| Failure::Listen(e.into()))?;
    Ok(fd)
}

fn remove_dead(path: &str, address: &SocketAddrUnix) -> io::Result<()> {
    let in_use = |text: &str| Err(io::Error::new(io::ErrorKind::AddrInUse, text.to_string()));
    match connect(new()?, address) {
        Err(Errno::CONNREFUSED) if std::fs::symlink_metadata(path)?.file_type().is_socket() => {
            std::fs::remove_file(path)
        }
        Err(Errno::CONNREFUSED) => in_use("there is a file of another kind at this path"),
        Err(Errno::NOENT) => Ok(()),
        Ok(()) | Err(Errno::AGAIN | Errno::PROTOTYPE) => {
            in_use("another process listens at this path")
        }
        Err(error) => Err(error.into()),
    }
}

/// Takes away the file of a socket at which this end has listened.
pub fn remove(path: &str) {
    let is_socket =
        std::fs::symlink_metadata(Path::new(path)).is_ok_and(|file| file.file_type().is_socket());
    if is_socket && let Err(error) = std::fs::remove_file(path) {
        log::warn!(target: "vhost-user", "{path}: {error}");
    }
}

/// Connects.
///
/// # Errors
/// Nobody listens, or too many connections wait there; the system's.
pub fn connect_to(path: &str) -> Result<OwnedFd, Errno> {
    let fd = new().map_err(|e| Errno::from_io_error(&e).unwrap_or(Errno::IO))?;
    connect(&fd, &SocketAddrUnix::new(path)?)?;
    Ok(fd)
}

fn new() -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    Ok(socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?)
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use crate::tests::peer::Dir;

    #[suite::test]
    fn a_dead_file_is_taken_over_and_a_live_one_refused() {
        let dir = Dir::new("socket");
        let path = dir.path("a.sock");
        assert!(check(&path).is_ok() && check("").is_err() && check(&"x".repeat(109)).is_err());
        let Ok(first) = listen_at(&path) else { panic!("can't listen") };
        assert!(
            matches!(listen_at(&path), Err(Failure::Bind(e)) if e.to_string().contains("listens"))
        );
        drop(first);
        assert_eq!(connect_to(&path).err(), Some(Errno::CONNREFUSED));
        let second = listen_at(&path);
        assert!(second.is_ok() && connect_to(&path).is_ok());
        remove(&path);
        assert_eq!(connect_to(&path).err(), Some(Errno::NOENT));
        let file = dir.path("plain");
        std::fs::write(&file, "kept").expect("written");
        assert!(matches!(listen_at(&file), Err(Failure::Bind(_))));
        remove(&file);
        assert_eq!(std::fs::read_to_string(&file).ok().as_deref(), Some("kept"));
    }
}
