// SPDX-License-Identifier: Apache-2.0
//! The verbs, and what there is: sockets, interfaces, connections.

use crate::device::{Config, MemifDevice, Mode};
use crate::io::Role;
use crate::proto::{Channel, Client, Message, Server};
use crate::socket::Address;
use cli::{Error, retval};
use driver::{Sockets, TxOffloads, TxQueues};
use graph::{Deleted, Shared, SwIfIndex, World};
use net::{IfKind, Interfaces, NewInterface};
use rustix::net::{SocketFlags, accept_with};
use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};
use wire::MacAddr;

/// Of a new interface.
const MTU: u16 = 9000;
/// Tokens of connections begin here; below are those of sockets.
const CONNS: u64 = 1 << 32;
/// A listener that fails, because no descriptor is left, is left alone for so many nanoseconds.
const PAUSE: u64 = 1_000_000_000;

/// A socket file.
pub struct SocketFile {
    /// Its name as it was given.
    pub name: String,
    pub listener: Option<OwnedFd>,
    /// When a listener that failed is asked again.
    paused: Option<u64>,
}

/// This end of a connection.
pub enum Side {
    Server(Box<Server>),
    Client(Box<Client>),
    /// The handshake is complete.
    Complete,
}

/// A connection.
pub struct Conn {
    pub channel: Channel,
    pub socket: u32,
    pub side: Side,
    /// Its interface: of a server, once the client has named it.
    pub device: Option<Arc<MemifDevice>>,
    /// The peer's program.
    pub peer: String,
    /// When the handshake has to be complete.
    pub deadline: Option<u64>,
}

/// The result of accepting at a listener.
pub enum Accepted {
    Socket(OwnedFd),
    Nothing,
}

#[derive(Default)]
struct Inner {
    sockets: BTreeMap<u32, SocketFile>,
    devices: BTreeMap<SwIfIndex, Arc<MemifDevice>>,
    conns: BTreeMap<u64, Conn>,
    next: u64,
}

/// All of an instance.
pub struct Memifs {
    inner: Mutex<Inner>,
    /// Listeners and connections, by their numbers.
    pub waits: Sockets,
    /// Directory of sockets with a relative name.
    dir: PathBuf,
}

/// The socket that is always there.
const DEFAULT: &str = "memif.sock";

impl Shared for Memifs {
    fn make(world: &World) -> Self {
        let mut inner = Inner::default();
        inner.sockets.insert(0, SocketFile { name: DEFAULT.into(), listener: None, paused: None });
        Self {
            inner: Mutex::new(inner),
            waits: Sockets::new(world),
            dir: world.runtime_dir().to_path_buf(),
        }
    }

    /// An interface goes away: its connection ends, and the listener if it was the last one there.
    fn forget(&self, world: &World, deleted: &Deleted<'_>) {
        let Some(sw_if) = deleted.of::<SwIfIndex>() else { return };
        let (device, conn) = {
            let mut inner = self.inner();
            let Some(device) = inner.devices.remove(sw_if) else { return };
            let token = device.state().conn;
            (device, token.and_then(|token| inner.conns.remove(&token)))
        };
        if let Some(conn) = conn {
            let text = "interface deleted";
            // A peer that is gone needs no reason.
            let _ = conn.channel.send(&Message::Disconnect { code: 0, text: text.into() }, None);
        }
        device.disconnected(world);
        self.close_idle(device.config.socket);
    }
}

fn invalid(text: impl Into<String>) -> Error {
    Error::failed(text.into()).retval(retval::INVALID_ARGUMENT)
}

impl Memifs {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().expect("no panic inside")
    }

    /// The socket that a token stands for, if it isn't a connection's.
    pub fn socket_of(token: u64) -> Option<u32> {
        u32::try_from(token).ok()
    }

    pub fn accept(&self, socket: u32, now: u64) -> Accepted {
        let mut inner = self.inner();
        let Some(file) = inner.sockets.get_mut(&socket) else { return Accepted::Nothing };
        let Some(listener) = &file.listener else { return Accepted::Nothing };
        match accept_with(listener, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK) {
            Ok(fd) => Accepted::Socket(fd),
            Err(
                rustix::io::Errno::AGAIN | rustix::io::Errno::INTR | rustix::io::Errno::CONNABORTED,
            ) => Accepted::Nothing,
            Err(error) => {
                log::error!(target: "memif", "socket {socket}: accept: {error}");
                self.waits.unwatch(listener);
                file.paused = Some(now + PAUSE);
                Accepted::Nothing
            }
        }
    }

    pub fn add_conn(&self, conn: Conn) -> io::Result<u64> {
        let mut inner = self.inner();
        let token = CONNS + inner.next;
        self.waits.watch(&conn.channel, token)?;
        inner.next += 1;
        inner.conns.insert(token, conn);
        Ok(token)
    }

    pub fn take_conn(&self, token: u64) -> Option<Conn> {
        self.inner().conns.remove(&token)
    }

    pub fn put_conn(&self, token: u64, conn: Conn) {
        self.inner().conns.insert(token, conn);
    }

    /// The oldest of a socket's handshakes that aren't complete, if there are `limit` of them.
    pub fn oldest_unfinished(&self, socket: u32, limit: usize) -> Option<u64> {
        let inner = self.inner();
        let unfinished =
            |conn: &Conn| conn.socket == socket && matches!(conn.side, Side::Server(_));
        let mut tokens =
            inner.conns.iter().filter(|(_, conn)| unfinished(conn)).map(|(token, _)| *token);
        // Tokens rise.
        let oldest = tokens.next()?;
        (tokens.count() + 1 >= limit).then_some(oldest)
    }

    /// Handshakes that take too long.
    pub fn late(&self, now: u64) -> Vec<u64> {
        let inner = self.inner();
        let late = inner
            .conns
            .iter()
            .filter(|(_, conn)| conn.deadline.is_some_and(|deadline| deadline <= now));
        late.map(|(token, _)| *token).collect()
    }

    /// When something is due, and takes failed listeners up again whose time has come.
    pub fn next(&self, now: u64) -> Option<u64> {
        let mut inner = self.inner();
        for (id, file) in &mut inner.sockets {
            if file.paused.is_some_and(|until| until <= now)
                && let Some(listener) = &file.listener
            {
                let failed = self.waits.watch(listener, u64::from(*id)).is_err();
                file.paused = failed.then_some(now + PAUSE);
            }
        }
        let retry = inner.devices.values().filter_map(|device| {
            let state = device.state();
            let waits = device.config.role == Role::Client && state.up && state.conn.is_none();
            waits.then_some(state.retry)
        });
        let deadlines = inner.conns.values().filter_map(|conn| conn.deadline);
        retry.chain(deadlines).chain(inner.sockets.values().filter_map(|file| file.paused)).min()
    }

    /// All interfaces, by their index.
    pub fn devices(&self) -> Vec<Arc<MemifDevice>> {
        self.inner().devices.values().cloned().collect()
    }

    /// The interface with this index.
    pub fn device(&self, sw_if: SwIfIndex) -> Option<Arc<MemifDevice>> {
        self.inner().devices.get(&sw_if).cloned()
    }

    /// The server's interface of this number.
    pub fn server(&self, socket: u32, id: u32) -> Option<Arc<MemifDevice>> {
        let is = |d: &&Arc<MemifDevice>| {
            d.config.role == Role::Server && d.config.socket == socket && d.config.id == id
        };
        self.inner().devices.values().find(is).cloned()
    }

    /// Where a socket is.
    pub fn address(&self, socket: u32) -> Option<Address> {
        let name = self.inner().sockets.get(&socket)?.name.clone();
        Address::parse(&name, &self.dir).ok()
    }

    /// Sockets by their number: the whole name.
    pub fn sockets(&self) -> Vec<(u32, String)> {
        let (inner, dir) = (self.inner(), &self.dir);
        let full = |name: &str| {
            Address::parse(name, dir).map_or_else(|_| name.to_string(), |a| a.to_string())
        };
        inner.sockets.iter().map(|(id, file)| (*id, full(&file.name))).collect()
    }

    /// The names of sockets as they were given, without that which is always there.
    pub fn given(&self) -> Vec<(u32, String)> {
        let inner = self.inner();
        inner
            .sockets
            .iter()
            .filter(|(id, _)| **id != 0)
            .map(|(id, file)| (*id, file.name.clone()))
            .collect()
    }

    /// The listener's descriptor of a socket, and how many interfaces use it.
    pub fn listener(&self, socket: u32) -> Option<(i32, usize)> {
        let inner = self.inner();
        let fd = inner.sockets.get(&socket)?.listener.as_ref()?.as_raw_fd();
        Some((fd, inner.devices.values().filter(|d| d.config.socket == socket).count()))
    }

    /// The connection's descriptor of an interface.
    pub fn conn_number(&self, device: &MemifDevice) -> Option<i32> {
        let token = device.state().conn?;
        self.inner().conns.get(&token).map(|conn| conn.channel.number())
    }

    /// Stops listening where no interface needs it.
    fn close_idle(&self, socket: u32) {
        let mut inner = self.inner();
        if inner.devices.values().any(|d| d.config.socket == socket) {
            return;
        }
        if let Some(file) = inner.sockets.get_mut(&socket) {
            file.paused = None;
            if let Some(listener) = file.listener.take() {
                self.waits.unwatch(&listener);
            }
        }
        // Clients that haven't named their interface can't reach one.
        inner.conns.retain(|_, conn| conn.socket != socket || conn.device.is_some());
    }

    /// Listens at a socket, if that isn't done yet.
    fn open(&self, socket: u32) -> io::Result<()> {
        let address = self.address(socket).ok_or(io::ErrorKind::NotFound)?;
        let mut inner = self.inner();
        let file = inner.sockets.get_mut(&socket).ok_or(io::ErrorKind::NotFound)?;
        if file.listener.is_none() {
            let listener = address.listen()?;
            self.waits.watch(&listener, socket.into())?;
            file.listener = Some(listener);
        }
        Ok(())
    }
}

/// Names a socket. Without a number, the first free one is taken.
///
/// # Errors
/// Number 0, or a name that is none (−73); the number stands for another name (−116); its folder
/// can't be made (−11).
pub fn add_socket(world: &World, id: Option<u32>, name: &str) -> Result<u32, Error> {
    let memifs = world.get::<Memifs>();
    let address = Address::parse(name, &memifs.dir)?;
    let id = {
        let inner = memifs.inner();
        match id {
            Some(0) => {
                return Err(invalid(format!("socket 0 is always {DEFAULT}: choose another id")));
            }
            Some(u32::MAX) => {
                return Err(invalid(format!("{} can't be the id of a socket", u32::MAX)));
            }
            Some(id) => id,
            None => (1..u32::MAX).find(|id| !inner.sockets.contains_key(id)).unwrap_or(1),
        }
    };
    if let Some((_, there)) = memifs.sockets().into_iter().find(|(there, _)| *there == id) {
        return if there == address.to_string() {
            Ok(id)
        } else {
            Err(Error::failed(format!(
                "socket {id} is {there}: delete it first, or choose another id"
            ))
            .retval(retval::ENTRY_ALREADY_EXISTS))
        };
    }
    address.make_folders(&memifs.dir).map_err(|error| {
        Error::failed(format!("folder of {address}: {error}")).retval(retval::SYSCALL_ERROR_1)
    })?;
    let file = SocketFile { name: name.to_string(), listener: None, paused: None };
    memifs.inner().sockets.insert(id, file);
    world.note_config_change();
    Ok(id)
}

/// Forgets a socket. Its file stays.
///
/// # Errors
/// Number 0, or one that isn't there (−73); an interface uses it (−74).
pub fn delete_socket(world: &World, id: u32) -> Result<(), Error> {
    let memifs = world.get::<Memifs>();
    let mut inner = memifs.inner();
    if id == 0 {
        return Err(invalid("socket 0 is always there"));
    }
    if !inner.sockets.contains_key(&id) {
        return Err(invalid(format!("there is no socket {id}")));
    }
    if inner.devices.values().any(|d| d.config.socket == id) {
        return Err(Error::failed(format!("an interface uses socket {id}: delete that first"))
            .retval(retval::UNEXPECTED_INTF_STATE));
    }
    inner.sockets.remove(&id);
    world.note_config_change();
    Ok(())
}

/// Makes `memifSOCKET/ID`. It is down at first. A server listens at once.
///
/// # Errors
/// An unknown socket, a ring size that is no power of 2, memory beyond 4 GiB, a secret that is too
/// long (−73); a socket of the other role, or with this number (−68); a socket where this process
/// can't listen (−14).
pub fn create(
    world: &World,
    config: Config,
    ring_size: u32,
    mac: Option<MacAddr>,
) -> Result<SwIfIndex, Error> {
    if !ring_size.is_power_of_two() || ring_size > 32_768 {
        return Err(invalid(format!(
            "ring size {ring_size}: a power of 2 up to 32768 is expected"
        )));
    }
    let config = Config { log2: ring_size.trailing_zeros() as u8, ..config };
    if config.secret.len() >= crate::proto::SECRET {
        return Err(invalid("the secret is longer than 23 bytes"));
    }
    if config.role == Role::Client && config.layout().len().is_none() {
        return Err(invalid(
            "queues, ring size and buffer size need more than 4 GiB: choose smaller ones",
        ));
    }
    if mac.is_some_and(|mac| mac.is_multicast() || mac.is_zero()) {
        return Err(Error::parse("the MAC address isn't one of a single host")
            .retval(retval::INVALID_VALUE));
    }
    let memifs = world.get::<Memifs>();
    {
        let inner = memifs.inner();
        if !inner.sockets.contains_key(&config.socket) {
            return Err(invalid(format!(
                "there is no socket {}: `create memif socket' makes one",
                config.socket
            )));
        }
        for other in inner.devices.values().map(|d| &d.config).filter(|c| c.socket == config.socket)
        {
            let text = if other.role != config.role {
                format!(
                    "socket {} has interfaces of the other role: a socket listens or connects",
                    other.socket
                )
            } else if other.id == config.id {
                format!("socket {} has an interface with id {} already", other.socket, other.id)
            } else {
                continue;
            };
            return Err(Error::failed(text).retval(retval::SUBIF_ALREADY_EXISTS));
        }
    }
    if config.role == Role::Server {
        memifs.open(config.socket).map_err(|error| {
            let address = memifs.address(config.socket).map_or_else(String::new, |a| a.to_string());
            Error::failed(format!("{address}: {error}")).retval(retval::SYSCALL_ERROR_4)
        })?;
    }
    let made = make(world, &memifs, config.clone(), mac);
    if made.is_err() {
        memifs.close_idle(config.socket);
    }
    made
}

fn make(
    world: &World,
    memifs: &Memifs,
    config: Config,
    mac: Option<MacAddr>,
) -> Result<SwIfIndex, Error> {
    let (ip, queues) = (config.mode == Mode::Ip, config.rx_queues);
    let device = Arc::new(MemifDevice::new(config, memifs.waits.signal.clone()));
    let interface = NewInterface {
        name: format!("memif{}/{}", device.config.socket, device.config.id),
        kind: if ip { IfKind::Ip } else { IfKind::Ethernet },
        device: device.clone(),
        mac: mac.unwrap_or_else(random_mac),
        mtu: MTU,
        link_up: false,
    };
    let interfaces = world.get::<Interfaces>();
    let sw_if = interfaces.create(
        world,
        interface,
        TxQueues::<crate::io::SharedTx>::make(vec![], ip, TxOffloads::default()),
    )?;
    device.tx.set_node(interfaces.get(sw_if)?.tx);
    // It is set once, here.
    let _ = device.sw_if.set(sw_if);
    device.rx.reserve(world, sw_if, ip, queues.into());
    memifs.inner().devices.insert(sw_if, device);
    Ok(sw_if)
}

/// An address of this host's own choice. It differs from run to run.
fn random_mac() -> MacAddr {
    MacAddr::local(std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), "memif"))
}

/// Takes an interface away.
///
/// # Errors
/// An interface of another kind (−2), or one that others lie on.
pub fn delete(world: &World, sw_if: SwIfIndex) -> Result<(), Error> {
    let interfaces = world.get::<Interfaces>();
    if world.get::<Memifs>().device(sw_if).is_none() {
        let text = format!("{} is no memif interface", interfaces.name(sw_if));
        return Err(Error::not_found(text).retval(retval::INVALID_SW_IF_INDEX));
    }
    interfaces.delete(world, sw_if)
}
