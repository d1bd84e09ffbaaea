// SPDX-License-Identifier: Apache-2.0
//! The verbs.

use crate::device::{Config, XdpDevice, failed, find};
use crate::io::TxQueue;
use cli::{Error, Output, retval};
use driver::{Links, NewPort, TxQueues};
use graph::{Shared, SwIfIndex, World};
use net::{IfKind, Interfaces, NewInterface};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

/// The settings of a new interface.
#[derive(Clone, Debug)]
pub struct Create {
    /// The netdev and how it is opened.
    pub config: Config,
    /// The interface's name; `NETDEV/N` if none is given.
    pub name: Option<String>,
}

/// The AF_XDP interfaces of an instance.
pub struct Xdps(Mutex<BTreeMap<SwIfIndex, Arc<XdpDevice>>>);

impl Shared for Xdps {
    fn make(_: &World) -> Self {
        Self(Mutex::default())
    }
}

impl Xdps {
    fn all(&self) -> MutexGuard<'_, BTreeMap<SwIfIndex, Arc<XdpDevice>>> {
        self.0.lock().expect("no panic inside")
    }

    /// Their indices.
    pub fn indices(&self) -> Vec<SwIfIndex> {
        self.all().keys().copied().collect()
    }

    /// The device of an interface, if it is one of these.
    pub fn device(&self, sw_if: SwIfIndex) -> Option<Arc<XdpDevice>> {
        self.all().get(&sw_if).cloned()
    }
}

/// Lengths of a netdev's name, with its end (`IFNAMSIZ`).
const IFNAMSIZ: usize = 16;
const SIZES: std::ops::RangeInclusive<u32> = 256..=32_768;
/// The MTU of a netdev that was never there.
const UNKNOWN_MTU: u16 = 1500;

fn check(config: &Config) -> Result<(), Error> {
    let invalid = |text: String| Err(Error::parse(text).retval(retval::INVALID_VALUE));
    let name = &config.netdev;
    if name.is_empty() || name.len() >= IFNAMSIZ {
        return invalid(format!("a netdev's name has 1 to {} bytes", IFNAMSIZ - 1));
    }
    for (what, size) in [("rx-queue-size", config.rx_size), ("tx-queue-size", config.tx_size)] {
        if !size.is_power_of_two() || !SIZES.contains(&size) {
            return invalid(format!("{what} is a power of 2 from 256 to 32768, not {size}"));
        }
    }
    Ok(())
}

/// The usual name: of a namespace of a process its number, else the lowest that is free.
fn usual_name(world: &World, config: &Config) -> String {
    let interfaces = world.get::<Interfaces>();
    if let Some(pid) = config.netns.strip_prefix("pid:") {
        return format!("{}/{pid}", config.netdev);
    }
    let names = (0u32..).map(|n| format!("{}/{n}", config.netdev));
    let mut free = names.filter(|name| interfaces.find(name).is_err());
    free.next().unwrap_or_default()
}

/// Makes an interface of a netdev. It is down at first.
///
/// While a saved configuration is loaded, one whose netdev is missing is made all the same, and
/// waits for it. A helper thread opens it: what it returns is a task that ends with that, or with
/// the error, and then there is no such interface.
///
/// # Errors
/// A name or a size that can't be, a netdev that isn't there, or that the host needs
/// itself ([`driver::refuse_used`]); the kernel's.
pub fn create(world: &World, new: Create) -> Result<NewPort, Error> {
    let Create { config, name } = new;
    check(&config)?;
    let interfaces = world.get::<Interfaces>();
    let name = name.unwrap_or_else(|| usual_name(world, &config));
    if interfaces.find(&name).is_ok() {
        return Err(Error::failed(format!("an interface is named `{name}' already"))
            .retval(retval::IF_ALREADY_EXISTS));
    }
    let found = match find(&config) {
        // A device may come late: what was configured on it isn't lost.
        Err(_) if world.is_restoring() && config.netns.is_empty() => None,
        result => Some(result?),
    };
    let found = match found {
        Some((link, mut rtnl)) if !config.force => {
            driver::refuse_used(&mut rtnl, &link, config.netns.is_empty())?;
            Some((link, rtnl))
        }
        found => found,
    };
    let link = found.as_ref().map(|(link, _)| link.clone());
    let (netdev, queues) = (config.netdev.clone(), config.rx_queues);
    let drop_new = |world: &World, sw_if| _ = delete(world, sw_if);
    let device = XdpDevice::new(config, found, drop_new).map_err(failed("rtnetlink"))?;
    let mac = device.state().mac;
    let interface = NewInterface {
        name: name.clone(),
        kind: IfKind::Ethernet,
        device: device.clone(),
        mac,
        mtu: link.as_ref().map_or(UNKNOWN_MTU, |link| link.mtu.min(u16::MAX.into()) as u16),
        link_up: link.as_ref().is_some_and(netlink::Link::is_link_up),
    };
    let takes = driver::TxOffloads::default();
    let none = Vec::<TxQueue>::new();
    let sw_if = interfaces.create(world, interface, TxQueues::make(none, false, takes))?;
    device.tx.set_node(interfaces.get(sw_if)?.tx);
    device.rx.reserve(world, sw_if, false, queues.unwrap_or(1));
    world.get::<Xdps>().all().insert(sw_if, device.clone());
    // The first news of the link has it opened.
    let links = world.get::<Links>();
    let followed = match &link {
        Some(link) => device.config.namespace().and_then(|namespace| {
            links.follow(world, namespace.as_ref(), link.index, sw_if, device.clone())
        }),
        None => links.await_link(world, &netdev, sw_if, device.clone()),
    };
    if let Err(error) = followed {
        delete(world, sw_if)?;
        return Err(failed("news of the host's links")(error));
    }
    if link.is_none() {
        log::warn!(target: "af_xdp", "{name}: the host has no netdev {netdev}: opened when it comes");
    }
    Ok(NewPort::new(device.opening.clone(), sw_if, Output::empty()))
}

/// Takes an interface away; the netdev stays, without the program and with its settings restored.
///
/// # Errors
/// An interface of another kind (−71); one that others lie on.
pub fn delete(world: &World, sw_if: SwIfIndex) -> Result<(), Error> {
    let (xdps, interfaces) = (world.get::<Xdps>(), world.get::<Interfaces>());
    if xdps.device(sw_if).is_none() {
        let name = interfaces.name(sw_if);
        return Err(Error::not_found(format!("{name} is no AF_XDP interface"))
            .retval(retval::INVALID_INTERFACE));
    }
    interfaces.delete(world, sw_if)?;
    world.get::<Links>().forget(sw_if);
    xdps.all().remove(&sw_if);
    Ok(())
}
