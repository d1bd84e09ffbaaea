// SPDX-License-Identifier: Apache-2.0
//! The verbs.

use crate::capture::Capture;
use crate::device::{Config, PcapDevice};
use crate::format::Link;
use crate::replay::{self, Pace};
use crate::tx::PcapTx;
use cli::{Error, retval};
use driver::{TxOffloads, TxQueues};
use graph::{Deleted, Shared, Signal, SwIfIndex, World};
use net::{IfKind, Interfaces, NewInterface};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};
use wire::MacAddr;

/// The settings of a new interface.
#[derive(Clone, Debug)]
pub struct Create {
    /// The number in its name; the lowest free one if none is given.
    pub id: Option<u32>,
    /// The file to replay.
    pub rx: Option<PathBuf>,
    /// The file to write transmitted packets to.
    pub tx: Option<PathBuf>,
    /// Speed of the replay.
    pub pace: Pace,
    /// Passes of the replay; `None` without end.
    pub times: Option<u64>,
    /// The header that packets begin with, if no file says it.
    pub link: Option<Link>,
    /// Its address; derived from its number if none is given.
    pub mac: Option<MacAddr>,
}

/// The interfaces of an instance.
pub struct Pcaps {
    all: Mutex<BTreeMap<SwIfIndex, Arc<PcapDevice>>>,
    /// Wakes the process that notes the ends of replays.
    pub signal: Signal,
}

impl Shared for Pcaps {
    fn make(world: &World) -> Self {
        Self { all: Mutex::default(), signal: world.processes.signal() }
    }

    fn forget(&self, _: &World, deleted: &Deleted<'_>) {
        deleted.of::<SwIfIndex>().into_iter().for_each(|sw_if| _ = self.all().remove(sw_if));
    }
}

impl Pcaps {
    fn all(&self) -> MutexGuard<'_, BTreeMap<SwIfIndex, Arc<PcapDevice>>> {
        self.all.lock().expect("no panic inside")
    }

    /// Their indices.
    pub fn indices(&self) -> Vec<SwIfIndex> {
        self.all().keys().copied().collect()
    }

    /// All of them.
    pub fn devices(&self) -> Vec<Arc<PcapDevice>> {
        self.all().values().cloned().collect()
    }

    /// The device of an interface, if it is one of these.
    pub fn device(&self, sw_if: SwIfIndex) -> Option<Arc<PcapDevice>> {
        self.all().get(&sw_if).cloned()
    }
}

const MTU: u16 = 9000;
/// Interfaces at most: each has a thread for each of its files.
pub const MOST: usize = 256;

/// The address of an interface that is given none.
pub fn own_mac(id: u32) -> MacAddr {
    MacAddr::local(u64::from(id) | 0x7063 << 32)
}

fn invalid(text: impl Into<String>) -> Error {
    Error::parse(text).retval(retval::INVALID_VALUE)
}

/// The header that packets of a file begin with, if the beginning of the file says it.
fn link_of(path: &std::path::Path) -> Result<Option<Link>, Error> {
    let failed = |error: std::io::Error| {
        Error::failed(format!("{}: {error}", path.display())).retval(retval::SYSCALL_ERROR_1)
    };
    let mut reader = replay::open(path).map_err(failed)?;
    if let Some(link) = reader.link() {
        return Ok(Some(link));
    }
    // The interfaces of a pcapng file are described in front of their first packet.
    Ok(reader.next_packet().map_err(failed)?.map(|packet| packet.link))
}

/// Makes an interface `pcapN`. It is down at first.
///
/// # Errors
/// No file at all; a file that can't be read, is no capture, or holds neither Ethernet frames nor
/// IP packets; a number that is in use (−71); too many of them.
pub fn create(world: &World, new: Create) -> Result<SwIfIndex, Error> {
    let Create { id, rx, tx, pace, times, link, mac } = new;
    if rx.is_none() && tx.is_none() {
        return Err(Error::usage("a file to replay or to write: `rx FILE', `tx FILE'")
            .retval(retval::INVALID_VALUE));
    }
    if mac.is_some_and(|mac| mac.is_multicast() || mac.is_zero()) {
        return Err(invalid("the MAC address isn't one of a single host"));
    }
    if matches!(pace, Pace::Rate(rate) if !(rate.is_finite() && rate > 0.0)) {
        return Err(invalid("the rate has to be above 0"));
    }
    if world.get::<Pcaps>().all().len() >= MOST {
        return Err(Error::failed(format!("there are {MOST} pcap interfaces: delete one first"))
            .retval(retval::LIMIT_EXCEEDED));
    }
    let of_file = rx.as_deref().map(link_of).transpose()?.flatten();
    let link = match (of_file, link) {
        (Some(Link::Other(number)), _) => {
            return Err(invalid(format!(
                "its packets have link type {number}: neither Ethernet (1) nor IP (101)"
            )));
        }
        (Some(of_file), Some(link)) if of_file != link => {
            return Err(invalid("the packets of the file don't fit the mode"));
        }
        (of_file, link) => of_file.or(link).unwrap_or(Link::Ethernet),
    };
    let interfaces = world.get::<Interfaces>();
    let name = |id: u32| format!("pcap{id}");
    let id =
        id.unwrap_or_else(|| (0..).find(|id| interfaces.find(&name(*id)).is_err()).unwrap_or(0));
    let name = name(id);
    if interfaces.find(&name).is_ok() {
        return Err(Error::failed(format!("an interface is named `{name}' already"))
            .retval(retval::INVALID_INTERFACE));
    }
    let ip = link == Link::Ip;
    let threads = world.threads();
    let (capture, queues) = match &tx {
        Some(path) => {
            let others = world.get::<Pcaps>().devices();
            let others: Vec<_> = others.iter().filter_map(|d| d.capture.clone()).collect();
            let started = Capture::start(path, &name, ip, threads, &others);
            let (capture, senders) = started.map_err(|error| {
                Error::failed(format!("{}: {error}", path.display()))
                    .retval(retval::CANNOT_CREATE_PCAP_FILE)
            })?;
            (Some(capture), senders.into_iter().map(PcapTx::Capture).collect())
        }
        None => (None, (0..threads).map(|_| PcapTx::Free).collect::<Vec<_>>()),
    };
    let has_rx = rx.is_some();
    let config = Config { id, rx, tx, pace, times, link };
    let device = Arc::new(PcapDevice::new(config, capture, world.get::<Pcaps>().signal.clone()));
    let interface = NewInterface {
        name,
        kind: if ip { IfKind::Ip } else { IfKind::Ethernet },
        device: device.clone(),
        mac: mac.unwrap_or_else(|| own_mac(id)),
        mtu: MTU,
        link_up: true,
    };
    let queues = TxQueues::make(queues, ip, TxOffloads::default());
    let sw_if = interfaces.create(world, interface, queues)?;
    device.tx.set_node(interfaces.get(sw_if)?.tx);
    // It is set once, here.
    let _ = device.sw_if.set(sw_if);
    if has_rx {
        device.rx.reserve(world, sw_if, ip, 1);
        device.poll(world, None)?;
    }
    world.get::<Pcaps>().all().insert(sw_if, device);
    Ok(sw_if)
}

/// Takes an interface away; the file of its capture is complete then.
///
/// # Errors
/// An interface of another kind (−2); one that others lie on.
pub fn delete(world: &World, sw_if: SwIfIndex) -> Result<(), Error> {
    let (pcaps, interfaces) = (world.get::<Pcaps>(), world.get::<Interfaces>());
    if pcaps.device(sw_if).is_none() {
        let text = format!("{} is no pcap interface", interfaces.name(sw_if));
        return Err(Error::not_found(text).retval(retval::INVALID_SW_IF_INDEX));
    }
    interfaces.delete(world, sw_if)
}
