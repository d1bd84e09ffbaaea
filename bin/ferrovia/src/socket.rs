// SPDX-License-Identifier: Apache-2.0
//! Listening sockets.
//!
//! A Unix socket is bound to a temporary name, listens, and is then renamed into place: once the
//! path exists, it accepts clients. A socket that a killed daemon left is taken over; the socket of
//! a living process is refused, and the error names that process. The directory is locked
//! meanwhile: of two daemons that start at once one wins.

use std::ffi::OsString;
use std::fmt;
use std::fs::{File, Metadata, Permissions};
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, ToSocketAddrs};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use rustix::net::{self, AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

/// Longest wait for another daemon that is just starting in the same directory.
const PATIENCE: Duration = Duration::from_secs(2);

const FLAGS: SocketFlags = SocketFlags::CLOEXEC.union(SocketFlags::NONBLOCK);

/// The error of a daemon that can't listen.
#[derive(Debug)]
pub struct Refused {
    /// The address it wanted to listen on.
    pub place: String,
    /// The reason why it can't.
    pub reason: String,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "can't listen on {}: {}", self.place, self.reason)
    }
}

impl std::error::Error for Refused {}

/// A listening Unix socket; the path is removed when this is dropped, if it is still this socket's.
#[derive(Debug)]
pub struct UnixSocket {
    /// The socket, non-blocking.
    pub fd: OwnedFd,
    path: PathBuf,
    /// Device and inode.
    id: (u64, u64),
}

fn id(m: &Metadata) -> (u64, u64) {
    (m.dev(), m.ino())
}

impl UnixSocket {
    /// Listens on `path` with sockets of `kind`. Owner and group may connect; `gid` is the group.
    pub fn listen(path: &Path, kind: SocketType, gid: Option<u32>) -> Result<UnixSocket, Refused> {
        let refused = |reason: String| Refused { place: path.display().to_string(), reason };
        Self::bind(path, kind, gid).map_err(refused)
    }

    fn bind(path: &Path, kind: SocketType, gid: Option<u32>) -> Result<UnixSocket, String> {
        let dir = path.parent().filter(|d| !d.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let _lock = lock(dir)?;
        free(path, kind)?;
        let said = |e: io::Error| e.to_string();
        // As short as can be: the path of a socket is limited to 108 bytes. The lock keeps it from
        // being used twice.
        let mut name = OsString::from(".");
        name.push(std::process::id().to_string());
        let temporary = Temporary(dir.join(name));
        let _ = std::fs::remove_file(&temporary.0);
        let address = address(&temporary.0)?;
        let fd =
            net::socket_with(AddressFamily::UNIX, kind, FLAGS, None).map_err(|e| said(e.into()))?;
        net::bind(&fd, &address).map_err(|e| said(e.into()))?;
        chown(&temporary.0, None, gid)
            .map_err(|e| format!("group {}: {e}", gid.unwrap_or_default()))?;
        std::fs::set_permissions(&temporary.0, Permissions::from_mode(0o660)).map_err(said)?;
        if kind != SocketType::DGRAM {
            net::listen(&fd, 128).map_err(|e| said(e.into()))?;
        }
        let id = id(&temporary.0.symlink_metadata().map_err(said)?);
        std::fs::rename(&temporary.0, path).map_err(said)?;
        Ok(UnixSocket { fd, path: path.to_path_buf(), id })
    }

    /// The path it listens on.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl AsFd for UnixSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Drop for UnixSocket {
    fn drop(&mut self) {
        // Another process may have put its socket there meanwhile; it is not ours to remove.
        if self.path.symlink_metadata().is_ok_and(|m| id(&m) == self.id) {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// A name that is removed on every return path; after the rename it is gone.
struct Temporary(PathBuf);

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn address(path: &Path) -> Result<SocketAddrUnix, String> {
    SocketAddrUnix::new(path).map_err(|e| match e {
        Errno::NAMETOOLONG => "the path is longer than the 107 bytes that a socket may have".into(),
        e => io::Error::from(e).to_string(),
    })
}

/// Locks the directory until the file is dropped.
fn lock(dir: &Path) -> Result<File, String> {
    let file = File::open(dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    let start = Instant::now();
    loop {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(file),
            Err(Errno::WOULDBLOCK) if start.elapsed() < PATIENCE => {
                std::thread::sleep(Duration::from_millis(20))
            }
            Err(Errno::WOULDBLOCK) => {
                return Err(format!("{} is locked by another process", dir.display()));
            }
            Err(e) => return Err(format!("{}: {}", dir.display(), io::Error::from(e))),
        }
    }
}

/// Makes sure that no process listens on `path`, and that nothing but a socket would be replaced.
fn free(path: &Path, kind: SocketType) -> Result<(), String> {
    let found = match path.symlink_metadata() {
        Ok(found) => found,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(e) => return Err(e.to_string()),
    };
    if !found.file_type().is_socket() {
        return Err("there is a file of that name that is not a socket".into());
    }
    let said = |e: Errno| io::Error::from(e).to_string();
    let probe = net::socket_with(AddressFamily::UNIX, kind, FLAGS, None).map_err(said)?;
    match net::connect(&probe, &address(path)?) {
        Err(Errno::CONNREFUSED | Errno::NOENT) => Ok(()),
        // Datagrams have no peer whose process could be named.
        Ok(()) if kind == SocketType::DGRAM => Err("another process is listening there".into()),
        Ok(()) => Err(match net::sockopt::socket_peercred(&probe) {
            Ok(peer) => format!("{} is listening there", process(peer.pid.as_raw_pid())),
            Err(_) => "another process is listening there".into(),
        }),
        // Its queue is full, or it is a socket of another kind: alive in any case.
        Err(Errno::AGAIN | Errno::PROTOTYPE) => Err("another process is listening there".into()),
        Err(e) => Err(format!("can't tell whether somebody is listening there: {}", said(e))),
    }
}

/// `process 12 (name)`.
pub fn process(pid: i32) -> String {
    match std::fs::read_to_string(format!("/proc/{pid}/comm")) {
        Ok(name) => format!("process {pid} ({})", name.trim_end()),
        Err(_) => format!("process {pid}"),
    }
}

/// Listens on a TCP port, non-blocking. `localhost` is 127.0.0.1.
pub fn listen_tcp(host: &str, port: u16) -> Result<TcpListener, Refused> {
    let refused = |reason: String| Refused { place: format!("{host}:{port}"), reason };
    let address: SocketAddr = match host {
        "localhost" => (Ipv4Addr::LOCALHOST, port).into(),
        _ => {
            let mut found = (host, port).to_socket_addrs().map_err(|e| refused(e.to_string()))?;
            found.next().ok_or_else(|| refused("the name has no address".into()))?
        }
    };
    let listener = TcpListener::bind(address).and_then(|l| l.set_nonblocking(true).map(|()| l));
    listener.map_err(|e| refused(e.to_string()))
}

/// The address of a listener that others than this host can reach.
pub fn open_to_network(listener: &TcpListener) -> Option<SocketAddr> {
    listener.local_addr().ok().filter(|address| !address.ip().is_loopback())
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use std::os::unix::net::{UnixDatagram, UnixListener, UnixStream};

    fn listen(path: &Path) -> Result<UnixSocket, Refused> {
        UnixSocket::listen(path, SocketType::STREAM, None)
    }

    #[suite::test]
    fn the_path_is_there_while_the_socket_is() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("cli.sock");
        let socket = listen(&path).unwrap();
        assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o660);
        UnixStream::connect(&path).unwrap();
        assert_eq!(dir.path().read_dir().unwrap().count(), 1, "no temporary name is left");
        drop(socket);
        assert!(!path.exists());
    }

    #[suite::test]
    fn a_stale_socket_is_taken_over_and_a_living_one_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("cli.sock");
        drop(UnixListener::bind(&path).unwrap());
        assert!(path.exists(), "std leaves it, as kill -9 does");
        let first = listen(&path).unwrap();
        let reason = listen(&path).unwrap_err().to_string();
        assert!(reason.contains(&format!("process {} (", std::process::id())), "{reason}");
        let other = UnixSocket::listen(&path, SocketType::SEQPACKET, None).unwrap_err().to_string();
        assert!(other.ends_with("another process is listening there"), "{other}");
        UnixStream::connect(&path).unwrap();
        drop(first);
    }

    #[suite::test]
    fn datagrams_take_over_nothing_but_a_dead_socket() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("punt.sock");
        let listen = || UnixSocket::listen(&path, SocketType::DGRAM, None);
        drop(UnixDatagram::bind(&path).unwrap());
        let first = listen().unwrap();
        assert!(listen().unwrap_err().reason.contains("is listening there"));
        let client = UnixDatagram::unbound().unwrap();
        client.send_to(b"hello", &path).unwrap();
        let ours = UnixDatagram::from(first.fd.try_clone().unwrap());
        let mut bytes = [0; 9];
        assert_eq!(ours.recv(&mut bytes).unwrap(), 5);
        drop(first);
        assert!(!path.exists());
        let _other = UnixListener::bind(&path).unwrap();
        assert!(listen().unwrap_err().reason.contains("is listening there"));
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, "precious").unwrap();
        assert!(listen().unwrap_err().reason.contains("not a socket"));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "precious");
    }

    #[suite::test]
    fn nothing_but_a_socket_is_replaced_or_removed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("cli.sock");
        std::fs::write(&path, "precious").unwrap();
        assert!(listen(&path).unwrap_err().reason.contains("not a socket"));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "precious");
        std::fs::remove_file(&path).unwrap();
        let socket = listen(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, "another's").unwrap();
        drop(socket);
        assert!(path.exists());
    }

    #[suite::test]
    fn paths_that_cannot_be_sockets() {
        let dir = tempfile::tempdir().unwrap();
        assert!(
            listen(&dir.path().join("no/such/dir")).unwrap_err().reason.contains("No such file")
        );
        let long = dir.path().join("d".repeat(100));
        std::fs::create_dir(&long).unwrap();
        assert!(listen(&long.join("s")).unwrap_err().reason.contains("107 bytes"));
    }

    #[suite::test]
    fn of_many_that_start_at_once_one_wins() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("cli.sock");
        let won: Vec<_> = std::thread::scope(|scope| {
            let all: Vec<_> = (0..4).map(|_| scope.spawn(|| listen(&path).ok())).collect();
            all.into_iter().filter_map(|t| t.join().unwrap()).collect()
        });
        assert_eq!(won.len(), 1);
        UnixStream::connect(&path).unwrap();
    }

    #[suite::test]
    fn tcp_on_the_loopback() {
        let first = listen_tcp("localhost", 0).unwrap();
        let address = first.local_addr().unwrap();
        assert!(address.ip().is_loopback());
        let reason = listen_tcp("127.0.0.1", address.port()).unwrap_err().to_string();
        assert!(reason.contains("in use"), "{reason}");
    }
}
