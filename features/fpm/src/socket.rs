// SPDX-License-Identifier: Apache-2.0
//! The listener and its connections.

use crate::frame::Frames;
use crate::settings::{Listen, Settings};
use netlink::Namespace;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use rustix::net::{connect, socket_with, sockopt};
use std::fs::Permissions;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Silence after which the system asks whether a peer's machine is still there. It asks so many
/// times, at these intervals: the connection of a machine that has lost its power ends within half
/// a minute, not within hours.
const KEEP_IDLE: Duration = Duration::from_secs(10);
const KEEP_INTERVAL: Duration = Duration::from_secs(5);
const KEEP_COUNT: u32 = 3;

/// A listener, which doesn't block.
pub enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener, SocketFile),
}

/// The file of a Unix socket, which is removed with this, if it is still that socket's.
pub struct SocketFile {
    path: PathBuf,
    /// Device and inode.
    id: (u64, u64),
}

impl SocketFile {
    fn of(path: &Path) -> io::Result<Self> {
        Ok(Self { path: path.to_path_buf(), id: id_of(path)? })
    }
}

/// Device and inode of a file.
fn id_of(path: &Path) -> io::Result<(u64, u64)> {
    let metadata = path.symlink_metadata()?;
    Ok((metadata.dev(), metadata.ino()))
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        if id_of(&self.path).is_ok_and(|id| id == self.id) {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

impl Listener {
    /// Listens as these settings say.
    ///
    /// # Errors
    /// The address or namespace isn't there, or the system refuses it; another process listens at
    /// the path.
    pub fn open(settings: &Settings) -> io::Result<Self> {
        let open = || match &settings.listen {
            Listen::Tcp(address) => TcpListener::bind(address).map(Self::Tcp),
            Listen::Unix(path) => at_path(path),
        };
        let listener = match &settings.namespace {
            Some(name) => Namespace::open(name)?.run(open)?,
            None => open()?,
        };
        match &listener {
            Self::Tcp(listener) => listener.set_nonblocking(true)?,
            Self::Unix(listener, _) => listener.set_nonblocking(true)?,
        }
        Ok(listener)
    }

    /// The address: with the port that the system has chosen, if the settings have none.
    pub fn address(&self) -> String {
        match self {
            Self::Tcp(listener) => {
                listener.local_addr().map_or_else(|e| e.to_string(), |a| a.to_string())
            }
            Self::Unix(_, file) => file.path.display().to_string(),
        }
    }

    /// The next connection, which doesn't block, and the name of its peer.
    ///
    /// # Errors
    /// The system's error; [`ErrorKind::WouldBlock`] if no connection waits.
    pub fn accept(&self) -> io::Result<(Stream, String)> {
        match self {
            Self::Tcp(listener) => {
                let (stream, peer) = listener.accept()?;
                stream.set_nonblocking(true)?;
                // A peer on another machine that is gone without a word.
                sockopt::set_socket_keepalive(&stream, true)?;
                sockopt::set_tcp_keepidle(&stream, KEEP_IDLE)?;
                sockopt::set_tcp_keepintvl(&stream, KEEP_INTERVAL)?;
                sockopt::set_tcp_keepcnt(&stream, KEEP_COUNT)?;
                Ok((Stream::Tcp(stream), peer.to_string()))
            }
            Self::Unix(listener, _) => {
                let (stream, _) = listener.accept()?;
                stream.set_nonblocking(true)?;
                let of = sockopt::socket_peercred(&stream)?;
                Ok((Stream::Unix(stream), format!("process {}", of.pid.as_raw_nonzero())))
            }
        }
    }
}

/// Listens at a path, for its owner and group. The file of a process that is gone is taken over.
fn at_path(path: &Path) -> io::Result<Listener> {
    let listener = match UnixListener::bind(path) {
        Err(error) if error.kind() == ErrorKind::AddrInUse => {
            remove_dead(path)?;
            UnixListener::bind(path)?
        }
        result => result?,
    };
    std::fs::set_permissions(path, Permissions::from_mode(0o660))?;
    Ok(Listener::Unix(listener, SocketFile::of(path)?))
}

fn remove_dead(path: &Path) -> io::Result<()> {
    let in_use = |text: &str| io::Error::new(ErrorKind::AddrInUse, text.to_string());
    if !path.symlink_metadata()?.file_type().is_socket() {
        return Err(in_use("there is a file of another kind at this path"));
    }
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let probe = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    match connect(&probe, &SocketAddrUnix::new(path)?) {
        Err(rustix::io::Errno::CONNREFUSED) => std::fs::remove_file(path),
        _ => Err(in_use("another process listens at this path")),
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp(listener) => listener.as_fd(),
            Self::Unix(listener, _) => listener.as_fd(),
        }
    }
}

/// A connection's socket.
pub enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Stream {
    /// Reads what is there.
    ///
    /// # Errors
    /// The system's error; `WouldBlock` if nothing is there.
    pub fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read(bytes),
            Self::Unix(stream) => stream.read(bytes),
        }
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.write(bytes),
            Self::Unix(stream) => stream.write(bytes),
        }
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp(stream) => stream.as_fd(),
            Self::Unix(stream) => stream.as_fd(),
        }
    }
}

/// A connection.
pub struct Connection {
    pub stream: Stream,
    /// The peer's name, for people.
    pub peer: String,
    /// Time of the instance's clock at which it came, in nanoseconds.
    pub since: u64,
}

/// The connection whose messages count.
pub struct Active {
    pub connection: Connection,
    pub frames: Frames,
    /// True if a whole frame has come.
    pub has_sent: bool,
    /// Answers that aren't written yet.
    pub out: Vec<u8>,
}

impl Active {
    /// Writes what the socket takes.
    ///
    /// # Errors
    /// The peer is gone.
    pub fn write(&mut self) -> io::Result<()> {
        let mut done = 0;
        while done < self.out.len() {
            match self.connection.stream.write(&self.out[done..]) {
                Ok(0) => break,
                Ok(n) => done += n,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.out.drain(..done);
        Ok(())
    }
}

/// The events of sockets that wake the process. Sockets that are closed leave it by themselves.
pub struct Events(OwnedFd);

impl Events {
    /// Watches no socket yet.
    ///
    /// # Errors
    /// The system gives no epoll instance.
    pub fn new() -> io::Result<Self> {
        Ok(Self(epoll::create(epoll::CreateFlags::CLOEXEC)?))
    }

    /// Wakes if a socket is readable, or its peer is gone.
    ///
    /// # Errors
    /// The system refuses to watch the socket.
    pub fn read(&self, fd: impl AsFd) -> io::Result<()> {
        Ok(epoll::add(&self.0, fd, EventData::new_u64(0), EventFlags::IN)?)
    }

    /// Wakes if the peer is gone: what it has sent waits.
    ///
    /// # Errors
    /// The system refuses to watch the socket.
    pub fn wait(&self, fd: impl AsFd) -> io::Result<()> {
        Ok(epoll::add(&self.0, fd, EventData::new_u64(0), EventFlags::RDHUP)?)
    }

    /// Changes what wakes: bytes that come, or that may be written.
    ///
    /// # Errors
    /// The system refuses to watch the socket.
    pub fn change(&self, fd: impl AsFd, read: bool, write: bool) -> io::Result<()> {
        let mut flags = EventFlags::empty();
        flags.set(EventFlags::IN, read);
        flags.set(EventFlags::OUT, write);
        Ok(epoll::modify(&self.0, fd, EventData::new_u64(0), flags)?)
    }

    /// Ends waking.
    pub fn end(&self, fd: impl AsFd) {
        // One that isn't there needn't be removed.
        let _ = epoll::delete(&self.0, fd);
    }
}

impl AsFd for Events {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
