// SPDX-License-Identifier: Apache-2.0
//! Sockets of the control protocol: their names, listening and connecting. Nothing here waits.

use cli::{Error, retval};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, connect, listen, socket_with,
};
use std::fmt;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Connections that wait to be accepted.
const BACKLOG: i32 = 32;

/// Where a socket is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Address {
    /// A file.
    Path(PathBuf),
    /// A name that lives as long as its listener.
    Abstract(String),
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(path) => write!(f, "{}", path.display()),
            Self::Abstract(name) => write!(f, "abstract:{name}"),
        }
    }
}

impl Address {
    /// Reads the name of a socket: `/path`, a path in `dir`, `unix:PATH`, `abstract:NAME` or
    /// `@NAME`.
    ///
    /// # Errors
    /// An empty name, one that is too long, one of another network namespace (−73).
    pub fn parse(name: &str, dir: &Path) -> Result<Self, Error> {
        let invalid = |text: String| Err(Error::parse(text).retval(retval::INVALID_ARGUMENT));
        let abstract_name = name.strip_prefix("abstract:").or_else(|| name.strip_prefix('@'));
        let address = match abstract_name {
            Some(name) if name.contains(",netns_name=") || name.contains(",netns_pid=") => {
                return invalid(
                    "sockets of other network namespaces aren't built: leave netns_name and netns_pid out, or use a file"
                        .to_string(),
                );
            }
            Some("") => return invalid("the name of the socket is empty".to_string()),
            Some(name) => Self::Abstract(name.to_string()),
            None => match name.strip_prefix("unix:").unwrap_or(name) {
                "" => {
                    return invalid("the name of the socket is empty: give a filename".to_string());
                }
                path => Self::Path(dir.join(path)),
            },
        };
        match address.socket() {
            Ok(_) => Ok(address),
            Err(_) => invalid(format!("`{address}' is too long for a socket: at most 107 bytes")),
        }
    }

    fn socket(&self) -> Result<SocketAddrUnix, Errno> {
        match self {
            Self::Path(path) => SocketAddrUnix::new(path.as_path()),
            Self::Abstract(name) => SocketAddrUnix::new_abstract_name(name.as_bytes()),
        }
    }

    /// Makes the folders of a file inside of `dir`.
    ///
    /// # Errors
    /// The system's.
    pub fn make_folders(&self, dir: &Path) -> io::Result<()> {
        match self {
            Self::Path(path) if path.starts_with(dir) => match path.parent() {
                Some(parent) => {
                    std::fs::DirBuilder::new().recursive(true).mode(0o755).create(parent)
                }
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }

    /// Listens. A file that nobody listens at is taken over.
    ///
    /// # Errors
    /// A socket that another process listens at; the system's.
    pub fn listen(&self) -> io::Result<OwnedFd> {
        let address = self.socket()?;
        let fd = new()?;
        match bind(&fd, &address) {
            Err(Errno::ADDRINUSE) => {
                self.remove_dead(&address)?;
                bind(&fd, &address)?;
            }
            result => result?,
        }
        if let Self::Path(path) = self {
            let mode = std::fs::metadata(path)?.permissions().mode();
            std::fs::set_permissions(path, PermissionsExt::from_mode(mode | 0o020))?;
        }
        listen(&fd, BACKLOG)?;
        Ok(fd)
    }

    fn remove_dead(&self, address: &SocketAddrUnix) -> io::Result<()> {
        let in_use = |text: &str| Err(io::Error::new(io::ErrorKind::AddrInUse, text.to_string()));
        let Self::Path(path) = self else { return in_use("another process listens at this name") };
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

    /// Connects.
    ///
    /// # Errors
    /// Nobody listens, or too many connections wait there; the system's.
    pub fn connect(&self) -> io::Result<OwnedFd> {
        let fd = new()?;
        connect(&fd, &self.socket()?)?;
        Ok(fd)
    }
}

fn new() -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    Ok(socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?)
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    #[suite::test]
    fn names_are_read() {
        let parse = |name: &str| Address::parse(name, Path::new("/run/f")).map(|a| a.to_string());
        assert_eq!(parse("/a/b.sock").ok().as_deref(), Some("/a/b.sock"));
        assert_eq!(parse("sock/b.sock").ok().as_deref(), Some("/run/f/sock/b.sock"));
        assert_eq!(parse("unix:/a").ok().as_deref(), Some("/a"));
        assert_eq!(parse("abstract:x").ok().as_deref(), Some("abstract:x"));
        assert_eq!(parse("@x").ok().as_deref(), Some("abstract:x"));
        for bad in [
            "",
            "unix:",
            "@",
            "abstract:",
            "abstract:x,netns_name=n",
            &format!("/{}", "x".repeat(120)),
        ] {
            assert!(parse(bad).is_err_and(|e| e.code() == -73), "{bad}");
        }
    }

    #[suite::test]
    fn a_dead_file_is_taken_over_and_a_live_one_refused() {
        let dir =
            std::env::temp_dir().join(format!("ferrovia-memif-socket-{}", std::process::id()));
        let address = Address::parse("sub/a.sock", &dir).expect("a name");
        address.make_folders(&dir).expect("folders");
        let first = address.listen().expect("listens");
        assert_eq!(address.listen().err().map(|e| e.kind()), Some(io::ErrorKind::AddrInUse));
        drop(first);
        assert!(address.connect().is_err());
        let second = address.listen().expect("takes it over");
        address.connect().expect("connects");
        drop(second);
        let file = Address::parse("plain", &dir).expect("a name");
        std::fs::write(dir.join("plain"), "kept").expect("written");
        assert!(file.listen().is_err());
        assert_eq!(std::fs::read_to_string(dir.join("plain")).ok().as_deref(), Some("kept"));
        std::fs::remove_dir_all(dir).expect("removed");
    }
}
