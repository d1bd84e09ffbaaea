// SPDX-License-Identifier: Apache-2.0
//! The verbs.

use crate::device::{TapDevice, failed, kind_name};
use crate::{Config, Kind, Tap};
use cli::{Error, Output, Task, TaskState};
use driver::{Links, TxOffloads, TxQueues};
use graph::{Shared, SwIfIndex, World};
use msg::{Pending, retval};
use net::{Column, IfKind, Interfaces, NewInterface, Note, TapDriver, TapRequest};
use netlink::Namespace;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;
use wire::MacAddr;

/// The settings of a new tap.
#[derive(Clone, Debug)]
pub struct Create {
    /// Its number, and of the host's end with an empty name; the first free one if none is given.
    pub id: Option<u32>,
    /// Our name for it; `tapN` or `tunN` if none is given.
    pub name: Option<String>,
    /// Our own address; drawn from the host's if none is given.
    pub mac: Option<MacAddr>,
    /// A user's note; empty for none.
    pub tag: String,
    /// True if a feature asked for it, which then writes it to the configuration.
    pub is_owned: bool,
    /// An interface below whose index it isn't placed.
    pub above: Option<SwIfIndex>,
    /// The host's end. An empty name is made of the number.
    pub host: Config,
}

type ByNumber = BTreeMap<(&'static str, u32), (SwIfIndex, Arc<TapDevice>)>;

/// The taps of an instance, by kind and number.
pub struct Taps(Mutex<ByNumber>);

impl Shared for Taps {
    fn make(_: &World) -> Self {
        Self(Mutex::default())
    }
}

impl Taps {
    fn all(&self) -> MutexGuard<'_, ByNumber> {
        self.0.lock().expect("no panic inside")
    }

    /// All of one kind, by number.
    pub fn list(&self, kind: Kind) -> Vec<(SwIfIndex, Arc<TapDevice>)> {
        self.numbered(kind).into_iter().map(|(_, sw_if, tap)| (sw_if, tap)).collect()
    }

    /// The same with their numbers.
    pub fn numbered(&self, kind: Kind) -> Vec<(u32, SwIfIndex, Arc<TapDevice>)> {
        let all = self.all();
        let of_kind = all.iter().filter(|((name, _), _)| *name == kind_name(kind));
        of_kind.map(|((_, id), (sw_if, tap))| (*id, *sw_if, tap.clone())).collect()
    }

    /// The tap of a kind with this number.
    pub fn get(&self, kind: Kind, id: u32) -> Option<(SwIfIndex, Arc<TapDevice>)> {
        self.all().get(&(kind_name(kind), id)).cloned()
    }

    /// The tap with this interface.
    ///
    /// # Errors
    /// An interface of another kind.
    pub fn find(&self, world: &World, sw_if: SwIfIndex) -> Result<Arc<TapDevice>, Error> {
        let found =
            self.all().values().find(|(index, _)| *index == sw_if).map(|(_, tap)| tap.clone());
        found.ok_or_else(|| {
            Error::not_found(format!("{} is no tap", world.get::<Interfaces>().name(sw_if)))
                .retval(retval::INVALID_SW_IF_INDEX)
        })
    }
}

/// Taps for features ([`net::Taps`]).
pub const FOR_FEATURES: TapDriver = TapDriver {
    make: |world, request| {
        let TapRequest { host_name, host_namespace, host_mac, host_mtu, name, ip, above } =
            request.clone();
        let kind = if ip { Kind::Tun } else { Kind::Tap };
        let host = Config { host_namespace, kind, host_mac, host_mtu, ..Config::new(host_name) };
        // From the name alone: the host's address follows that of another interface, and this one
        // has to be the same after a restart.
        let own = driver::own_mac(&host.host_name, None);
        let (id, mac, tag) = (None, Some(own), String::new());
        let new = Create { id, name, mac, tag, is_owned: true, above, host };
        create(world, new)
    },
    // Threads give the queues back a little later; the host's end goes with them.
    delete: |world, sw_if| delete(world, sw_if).map(drop),
};

/// Makes a tap and its end on the host. It is down at first.
///
/// # Errors
/// A number or name that is in use; what the kernel says.
pub fn create(world: &World, new: Create) -> Result<SwIfIndex, Error> {
    let Create { id, name, mac, tag, is_owned, above, host: mut config } = new;
    if config.attach && config.host_name.is_empty() {
        return Err(Error::usage("attach needs the host-if-name of what is there")
            .retval(retval::INVALID_VALUE));
    }
    let taps = world.get::<Taps>();
    let kind = kind_name(config.kind);
    let id = {
        let all = taps.all();
        let id = id.unwrap_or_else(|| (0..).find(|n| !all.contains_key(&(kind, *n))).unwrap_or(0));
        if all.contains_key(&(kind, id)) {
            return Err(Error::failed(format!("{kind} {id} is there already"))
                .retval(retval::INVALID_INTERFACE));
        }
        id
    };
    if mac.is_some_and(|mac| mac.is_multicast() || mac.is_zero()) {
        return Err(Error::parse("the MAC address isn't one of a single host")
            .retval(retval::INVALID_VALUE));
    }
    let name = name.unwrap_or_else(|| format!("{kind}{id}"));
    let interfaces = world.get::<Interfaces>();
    if interfaces.find(&name).is_ok() {
        return Err(Error::failed(format!("there is an interface {name} already"))
            .retval(retval::IF_ALREADY_EXISTS));
    }
    if config.host_name.is_empty() {
        config.host_name = format!("{kind}{id}");
    }
    let doing = format!("{kind} {}", config.host_name);
    let open = Tap::open(&config)
        .map_err(|error| Error::failed(error.to_string()).retval(retval::SYSCALL_ERROR_1))?;
    let link = open.link.clone();
    let mac = mac.unwrap_or_else(|| driver::own_mac(&config.host_name, link.mac));
    let ip = config.kind == Kind::Tun;
    let (csum, gso) = (config.csum_offload || config.gso, config.gso);
    let tx_offloads = TxOffloads { csum, gso, udp_gso: gso };
    let (device, rx, tx) = TapDevice::new(config, open, is_owned).map_err(failed(&doing))?;
    let device = Arc::new(device);
    // Threads share queues: the kernel takes frames for one from several at a time.
    let tx = (0..world.threads()).filter_map(|thread| tx.get(thread % tx.len()).cloned()).collect();
    let interface = NewInterface {
        name,
        kind: if ip { IfKind::Ip } else { IfKind::Ethernet },
        device: device.clone(),
        mac,
        mtu: link.mtu.min(u16::MAX.into()) as u16,
        link_up: link.is_admin_up(),
    };
    let sw_if =
        interfaces.create_above(world, interface, above, TxQueues::make(tx, ip, tx_offloads))?;
    device.tx.set_node(interfaces.get(sw_if)?.tx);
    let started = device.rx.open(world, sw_if, ip, rx).and_then(|()| {
        let namespace = device.config.host_namespace.as_deref().map(Namespace::open).transpose();
        let links = world.get::<Links>();
        let follow = |namespace: Option<Namespace>| {
            links.follow(world, namespace.as_ref(), link.index, sw_if, device.clone())
        };
        namespace.and_then(follow).map_err(failed("news of the host's links"))
    });
    if let Err(error) = started {
        interfaces.delete(world, sw_if)?;
        return Err(error);
    }
    world.get::<Column<Note>>().set(world, sw_if, Note(tag))?;
    taps.all().insert((kind, id), (sw_if, device));
    Ok(sw_if)
}

/// Takes a tap away, and with it the host's end unless that is persistent. Its descriptors are
/// closed a little later ([`Closing`]).
///
/// # Errors
/// An interface of another kind, or one that others lie on.
pub fn delete(world: &World, sw_if: SwIfIndex) -> Result<Closing, Error> {
    let taps = world.get::<Taps>();
    let tap = taps.find(world, sw_if)?;
    world.get::<Interfaces>().delete(world, sw_if)?;
    world.get::<Links>().forget(sw_if);
    taps.all().retain(|_, (index, _)| *index != sw_if);
    Ok(Closing { tap, until: None, wake: None })
}

/// A tap that threads are giving back: until they have, a persistent end of the host's can't be
/// opened again.
pub struct Closing {
    tap: Arc<TapDevice>,
    until: Option<Duration>,
    wake: Option<Duration>,
}

/// Limit of the wait: a thread that hangs must not block the caller, and nothing depends on the
/// end.
const PATIENCE: Duration = Duration::from_secs(2);
/// Interval of polls: threads close within a turn, without a notification.
const SOON: Duration = Duration::from_millis(1);

impl Closing {
    /// Returns true if all threads have, or it has taken too long.
    pub fn is_over(&mut self, now: Duration) -> bool {
        let until = *self.until.get_or_insert(now + PATIENCE);
        self.wake = Some(now + SOON);
        self.tap.is_closed() || now >= until
    }
}

impl Task for Closing {
    fn poll(&mut self, now: Duration) -> TaskState {
        if self.is_over(now) { TaskState::Done(Output::empty()) } else { TaskState::Pending }
    }

    fn wake_at(&self) -> Option<Duration> {
        self.wake
    }
}

impl Pending<World, ()> for Closing {
    fn poll(&mut self, _: &World, now: Duration) -> Option<Result<(), Error>> {
        self.is_over(now).then_some(Ok(()))
    }

    fn wake_at(&self) -> Option<Duration> {
        self.wake
    }
}
