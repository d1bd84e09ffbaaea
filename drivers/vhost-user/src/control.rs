// SPDX-License-Identifier: Apache-2.0
//! The verbs, and what there is: interfaces with their sockets.

use crate::device::{Config, Conn, VhostDevice};
use crate::proto::{Channel, End, Session};
use crate::socket::{self, Failure};
use crate::tx::VhostTx;
use cli::{Error, retval};
use driver::{Sockets, TxOffloads, TxQueues};
use graph::{Deleted, Shared, SwIfIndex, World};
use net::{Column, IfKind, Interfaces, NewInterface, Note};
use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard};
use wire::MacAddr;

/// Of a new interface.
const MTU: u16 = 9000;

/// The settings of a new interface.
#[derive(Clone, Debug)]
pub struct Create {
    pub config: Config,
    /// Number in its name; the lowest that is free if none is given.
    pub instance: Option<u32>,
    /// Its address; a random one if none is given.
    pub mac: Option<MacAddr>,
    pub tag: String,
}

/// The vhost-user interfaces of an instance.
pub struct Vhosts {
    devices: Mutex<BTreeMap<SwIfIndex, Arc<VhostDevice>>>,
    /// Listeners and connections, by the indices of their interfaces.
    pub waits: Sockets,
}

impl Shared for Vhosts {
    fn make(world: &World) -> Self {
        Self { devices: Mutex::default(), waits: Sockets::new(world) }
    }

    /// An interface goes away.
    fn forget(&self, _: &World, deleted: &Deleted<'_>) {
        let device = deleted.of::<SwIfIndex>().and_then(|sw_if| self.all().remove(sw_if));
        device.iter().for_each(|device| self.stop_listening(device));
    }
}

impl Vhosts {
    fn all(&self) -> MutexGuard<'_, BTreeMap<SwIfIndex, Arc<VhostDevice>>> {
        self.devices.lock().expect("no panic inside")
    }

    /// Leaves a listener that fails alone for a while.
    pub fn pause(&self, device: &VhostDevice, until: u64) {
        let mut state = device.state();
        if let Some(listener) = &state.listener {
            self.waits.unwatch(listener);
        }
        state.paused = Some(until);
    }

    /// Takes a listener up again whose time has come; returns when it will, if it hasn't.
    pub fn resume(&self, device: &VhostDevice, now: u64) -> Option<u64> {
        let mut state = device.state();
        if state.paused.is_some_and(|until| until <= now) {
            state.paused = None;
            if let (Some(listener), Some(sw_if)) = (&state.listener, device.sw_if.get())
                && let Err(error) = self.waits.watch(listener, sw_if.0.into())
            {
                log::error!(target: "vhost-user", "{}: {error}", device.config().socket);
            }
        }
        state.paused
    }

    /// Interfaces of which a socket is readable.
    pub fn ready(&self) -> Vec<Arc<VhostDevice>> {
        let ready = self.waits.ready().into_iter().map(|token| SwIfIndex(token as u32));
        ready.filter_map(|sw_if| self.device(sw_if)).collect()
    }

    /// Interfaces whose front-ends have taken memory away since the last call.
    pub fn broken(&self) -> Vec<Arc<VhostDevice>> {
        if !self.waits.have_shrunk() {
            return Vec::new();
        }
        let is_broken = |device: &Arc<VhostDevice>| device.lost_memory().is_some();
        self.devices().into_iter().filter(is_broken).collect()
    }

    /// All interfaces, by their index.
    pub fn devices(&self) -> Vec<Arc<VhostDevice>> {
        self.all().values().cloned().collect()
    }

    /// The interface with this index.
    pub fn device(&self, sw_if: SwIfIndex) -> Option<Arc<VhostDevice>> {
        self.all().get(&sw_if).cloned()
    }

    /// The interface with this index.
    ///
    /// # Errors
    /// One of another kind (−2).
    pub fn expect(&self, world: &World, sw_if: SwIfIndex) -> Result<Arc<VhostDevice>, Error> {
        self.device(sw_if).ok_or_else(|| {
            let name = world.get::<Interfaces>().name(sw_if);
            Error::not_found(format!("{name} is no vhost-user interface"))
                .retval(retval::INVALID_SW_IF_INDEX)
        })
    }

    fn stop_listening(&self, device: &VhostDevice) {
        // Its descriptor leaves the epoll when it is closed.
        if device.state().listener.take().is_some() {
            socket::remove(&device.config().socket);
        }
    }

    /// Refuses a path that another interface has.
    fn check_path(&self, path: &str, but: Option<SwIfIndex>) -> Result<(), Error> {
        let other = self
            .devices()
            .into_iter()
            .find(|device| device.config().socket == path && device.sw_if.get().copied() != but);
        match other {
            None => Ok(()),
            Some(other) => Err(Error::failed(format!(
                "VirtualEthernet0/0/{} has the socket {path} already",
                other.instance
            ))
            .retval(retval::IF_ALREADY_EXISTS)),
        }
    }

    /// Takes a connection over; one that is there ends.
    pub fn connected(&self, world: &World, device: &VhostDevice, fd: OwnedFd) {
        device.disconnect(world, "replaced by a new connection");
        let Some(&sw_if) = device.sw_if.get() else { return };
        let (config, pairs) = (device.config(), device.rx.list().len());
        let pairs = u16::try_from(pairs).unwrap_or(u16::MAX);
        let wake = self.waits.wake().map(|event| event as mem::Wake);
        let session = Session::new(config.offered(), pairs, wake);
        let polled =
            self.waits.watch(&fd, sw_if.0.into()).map_err(|error| End::new(error.to_string()));
        let session = match polled.and(session) {
            Ok(session) => session,
            Err(End(error)) => {
                log::error!(target: "vhost-user", "{}: {error}", config.socket);
                return;
            }
        };
        let mut state = device.state();
        state.errno = 0;
        state.conn = Some(Conn { channel: Channel::new(fd), session });
    }
}

fn listen(config: &Config) -> Result<OwnedFd, Error> {
    socket::listen_at(&config.socket).map_err(|failure| {
        let (error, retval) = match failure {
            Failure::Socket(error) => (error, retval::SYSCALL_ERROR_1),
            Failure::Bind(error) => (error, retval::SYSCALL_ERROR_2),
            Failure::Listen(error) => (error, retval::SYSCALL_ERROR_3),
        };
        Error::failed(format!("{}: {error}", config.socket)).retval(retval)
    })
}

fn name_of(instance: u32) -> String {
    format!("VirtualEthernet0/0/{instance}")
}

/// Makes `VirtualEthernet0/0/N`. It is down at first. A server listens at once, a client connects
/// at once and tries again until somebody listens.
///
/// # Errors
/// A path that can't be one (−73), or that another interface has, or the number (−79); a socket
/// at which this process can't listen (−11, −12, −13).
pub fn create(world: &World, new: Create) -> Result<SwIfIndex, Error> {
    let Create { config, instance, mac, tag } = new;
    socket::check(&config.socket)?;
    if mac.is_some_and(|mac| mac.is_multicast() || mac.is_zero()) {
        return Err(Error::parse("the MAC address isn't one of a single host")
            .retval(retval::INVALID_VALUE));
    }
    let (vhosts, interfaces) = (world.get::<Vhosts>(), world.get::<Interfaces>());
    vhosts.check_path(&config.socket, None)?;
    let is_free = |instance: &u32| interfaces.find(&name_of(*instance)).is_err();
    let instance = match instance {
        Some(instance) if is_free(&instance) => instance,
        Some(instance) => {
            return Err(Error::failed(format!("there is a {} already", name_of(instance)))
                .retval(retval::IF_ALREADY_EXISTS));
        }
        // There are fewer interfaces than numbers.
        None => (0..u32::MAX).find(is_free).unwrap_or_default(),
    };
    let listener = if config.is_server { Some(listen(&config)?) } else { None };
    let device = Arc::new(VhostDevice::new(instance, config));
    let interface = NewInterface {
        name: name_of(instance),
        kind: IfKind::Ethernet,
        device: device.clone(),
        mac: mac.unwrap_or_else(random_mac),
        mtu: MTU,
        link_up: false,
    };
    let queues = TxQueues::<VhostTx>::make(vec![], false, TxOffloads::default());
    let made = interfaces.create(world, interface, queues);
    let sw_if = match made {
        Ok(sw_if) => sw_if,
        Err(error) => {
            device.state().listener = listener;
            vhosts.stop_listening(&device);
            return Err(error);
        }
    };
    device.tx.set_node(interfaces.get(sw_if)?.tx);
    // It is set once, here.
    let _ = device.sw_if.set(sw_if);
    device.rx.reserve(world, sw_if, false, 1);
    vhosts.all().insert(sw_if, device.clone());
    let opened = open(&vhosts, &device, sw_if, listener).and_then(|()| match tag.is_empty() {
        true => Ok(()),
        false => world.get::<Column<Note>>().set(world, sw_if, Note(tag)),
    });
    if let Err(error) = opened {
        interfaces.delete(world, sw_if)?;
        return Err(error);
    }
    Ok(sw_if)
}

/// Waits for connections, or connects as soon as the process runs.
fn open(
    vhosts: &Vhosts,
    device: &VhostDevice,
    sw_if: SwIfIndex,
    listener: Option<OwnedFd>,
) -> Result<(), Error> {
    if let Some(listener) = &listener {
        vhosts.waits.watch(listener, sw_if.0.into()).map_err(|error| {
            Error::failed(format!("{}: {error}", device.config().socket))
                .retval(retval::SYSCALL_ERROR_1)
        })?;
    }
    {
        let mut state = device.state();
        (state.listener, state.retry) = (listener, 0);
    }
    vhosts.waits.signal.raise();
    Ok(())
}

/// An address of this host's own choice. It differs from run to run.
fn random_mac() -> MacAddr {
    MacAddr::local(std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), "vhost-user"))
}

/// Changes socket and features of an interface, and its name if there is a new number. Its
/// connection ends.
///
/// # Errors
/// An interface of another kind (−2); a path that another one has, or the number (−79), or as
/// [`create`].
pub fn modify(
    world: &World,
    sw_if: SwIfIndex,
    config: Config,
    instance: Option<u32>,
) -> Result<(), Error> {
    let (vhosts, interfaces) = (world.get::<Vhosts>(), world.get::<Interfaces>());
    let device = vhosts.expect(world, sw_if)?;
    socket::check(&config.socket)?;
    vhosts.check_path(&config.socket, Some(sw_if))?;
    if let Some(name) = instance.map(name_of)
        && name != interfaces.name(sw_if)
    {
        interfaces.set_name(world, sw_if, &name)?;
    }
    let before = device.config();
    // The listener may go on at the same path.
    let kept = if config.is_server && config.socket == before.socket {
        device.state().listener.take()
    } else {
        None
    };
    let (listener, is_new) = match kept {
        Some(listener) => (Some(listener), false),
        None if config.is_server => (Some(listen(&config)?), true),
        None => (None, true),
    };
    device.disconnect(world, "interface modified");
    if is_new {
        vhosts.stop_listening(&device);
    }
    device.set_config(config);
    world.note_config_change();
    if is_new {
        return open(&vhosts, &device, sw_if, listener);
    }
    device.state().listener = listener;
    Ok(())
}

/// Takes an interface away.
///
/// # Errors
/// An interface of another kind (−2), or one that others lie on.
pub fn delete(world: &World, sw_if: SwIfIndex) -> Result<(), Error> {
    world.get::<Vhosts>().expect(world, sw_if)?;
    world.get::<Interfaces>().delete(world, sw_if)
}
