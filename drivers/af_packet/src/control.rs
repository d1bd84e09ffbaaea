// SPDX-License-Identifier: Apache-2.0
//! The verbs.

use crate::device::{HostDevice, Made, failed, refused};
use crate::{Config, Mode, TxQueue};
use cli::{Error, Output};
use driver::{Links, NewPort, TxOffloads, TxQueues};
use graph::{Phase, RunningConfig, Shared, SwIfIndex, World};
use msg::retval;
use net::{IfKind, Interfaces, NewInterface};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use wire::MacAddr;

/// The settings of a new host interface.
#[derive(Clone, Debug)]
pub struct Create {
    /// The kernel's interface and how it is opened. `tx_queues` is set to the number of threads.
    pub config: Config,
    /// Our own address; drawn from the kernel's, and so the same after a restart, if none is
    /// given.
    pub mac: Option<MacAddr>,
    /// True if checksums and segmentation are left to the kernel.
    pub offloads: bool,
    /// True if the kernel's interface is taken even if the host uses it itself.
    pub force: bool,
}

/// The host interfaces of an instance, by the names of the kernel's.
pub struct Hosts(Mutex<BTreeMap<String, (SwIfIndex, Arc<HostDevice>)>>);

impl Shared for Hosts {
    fn make(_: &World) -> Self {
        Self(Mutex::default())
    }
}

impl Hosts {
    fn all(&self) -> MutexGuard<'_, BTreeMap<String, (SwIfIndex, Arc<HostDevice>)>> {
        self.0.lock().expect("no panic inside")
    }

    /// The kernel's names.
    pub fn names(&self) -> Vec<String> {
        self.all().keys().cloned().collect()
    }

    /// Their interfaces, by the kernel's names.
    pub fn list(&self) -> Vec<(SwIfIndex, String)> {
        self.all().iter().map(|(name, (sw_if, _))| (*sw_if, name.clone())).collect()
    }

    fn find(&self, world: &World, name: &str) -> Result<(SwIfIndex, Arc<HostDevice>), Error> {
        let all = self.all();
        let of_ours = || {
            let sw_if = world.get::<Interfaces>().find(name).ok()?;
            all.values().find(|(index, _)| *index == sw_if)
        };
        all.get(name).or_else(of_ours).cloned().ok_or_else(|| {
            Error::not_found(format!("`{name}' is no host interface"))
                .near(name, all.keys())
                .retval(retval::INVALID_SW_IF_INDEX)
        })
    }
}

/// The MTU of an interface that was never there.
const UNKNOWN_MTU: u16 = 1500;

/// Makes `host-NAME` of the kernel's interface NAME. It is down at first.
///
/// While a saved configuration is loaded, one whose interface in the kernel is missing is made all
/// the same, and waits for it. A helper thread opens it: what it returns is a task that ends with
/// that, or with the kernel's error, and then there is no such interface.
///
/// # Errors
/// A name that is in use here, or doesn't exist in the kernel; an interface that the host needs
/// itself ([`driver::refuse_used`]); what the kernel says.
pub fn create(world: &World, new: Create) -> Result<NewPort, Error> {
    let Create { mut config, mac, offloads, force } = new;
    let hosts = world.get::<Hosts>();
    let host_name = config.name.clone();
    if hosts.all().contains_key(&host_name) {
        return Err(Error::failed(format!("host-{host_name} is there already"))
            .retval(retval::IF_ALREADY_EXISTS));
    }
    if mac.is_some_and(|mac| mac.is_multicast() || mac.is_zero()) {
        return Err(Error::parse("the MAC address isn't one of a single host")
            .retval(retval::INVALID_VALUE));
    }
    let mut rtnl = netlink::Rtnl::new().map_err(failed("rtnetlink"))?;
    let link = match rtnl.link(&host_name) {
        Ok(link) => Some(link),
        // A device may come late or have died: what was configured on it isn't lost.
        Err(error) if error.raw_os_error() == Some(libc::ENODEV) && world.is_restoring() => None,
        Err(error) => {
            return Err(Error::failed(format!("host interface {host_name}: {error}"))
                .retval(retval::INVALID_INTERFACE));
        }
    };
    if let Some(link) = &link {
        config.check(link).map_err(|error| refused(&error))?;
        if !force {
            driver::refuse_used(&mut rtnl, link, true)?;
        }
    }
    config.tx_queues = u16::try_from(world.threads()).unwrap_or(u16::MAX);
    let tx_offloads = if offloads { TxOffloads::ALL } else { TxOffloads::default() };
    let kernels = link.as_ref().and_then(|link| link.mac);
    let (given, mac) = (mac, mac.unwrap_or_else(|| driver::own_mac(&host_name, kernels)));
    let (ip, queues) = (config.mode == Mode::Ip, config.rx_queues);
    let made = Made { mac: given, tx_offloads, force };
    let device =
        HostDevice::new(config, mac, made, link.clone(), |world, sw_if| _ = remove(world, sw_if))
            .map_err(failed(&format!("host interface {host_name}")))?;
    let name = format!("host-{host_name}");
    let interface = NewInterface {
        name: name.clone(),
        kind: if ip { IfKind::Ip } else { IfKind::Ethernet },
        device: device.clone(),
        mac,
        mtu: link.as_ref().map_or(UNKNOWN_MTU, |link| link.mtu.min(u16::MAX.into()) as u16),
        link_up: link.as_ref().is_some_and(netlink::Link::is_link_up),
    };
    let interfaces = world.get::<Interfaces>();
    let none = Vec::<TxQueue>::new();
    let sw_if = interfaces.create(world, interface, TxQueues::make(none, ip, tx_offloads))?;
    device.tx.set_node(interfaces.get(sw_if)?.tx);
    device.rx.reserve(world, sw_if, ip, queues);
    hosts.all().insert(host_name.clone(), (sw_if, device.clone()));
    // The first news of the link has it opened.
    let links = world.get::<Links>();
    let followed = match &link {
        Some(link) => links.follow(world, None, link.index, sw_if, device.clone()),
        None => links.await_link(world, &host_name, sw_if, device.clone()),
    };
    if let Err(error) = followed {
        delete(world, &host_name)?;
        return Err(failed("news of the host's links")(error));
    }
    if link.is_none() {
        log::warn!(target: "af_packet", "host-{host_name}: the host has no such interface: opened when it comes");
    }
    let json = serde_json::json!({ "name": name, "sw_if_index": sw_if.0 });
    Ok(NewPort::new(device.opening.clone(), sw_if, Output::both(name, json)))
}

/// Says which host interfaces there are.
pub(crate) fn write_config(world: &World, config: &mut RunningConfig) {
    let all: BTreeMap<_, _> = world.get::<Hosts>().list().into_iter().collect();
    let indices: Vec<_> = all.keys().copied().collect();
    let names = world.get::<Hosts>().names();
    config.interfaces(indices, move |world, sw_if, lines| {
        let device = world
            .get::<Hosts>()
            .all()
            .get(&all[&sw_if])
            .filter(|(index, _)| *index == sw_if)
            .cloned();
        device.into_iter().for_each(|(_, device)| device.say_made(lines));
    });
    config.list(Phase::DEVICES, names, |world, name, lines| {
        let device = world.get::<Hosts>().all().get(&name).cloned();
        device.into_iter().for_each(|(_, device)| device.say_set(lines));
    });
}

/// Takes a host interface away. The kernel's gets its settings back.
///
/// # Errors
/// One that isn't there (the kernel's name or ours; −11); one that others lie on.
pub fn delete(world: &World, name: &str) -> Result<(), Error> {
    let hosts = world.get::<Hosts>();
    let (sw_if, _) = hosts.find(world, name).map_err(|e| e.retval(retval::SYSCALL_ERROR_1))?;
    remove(world, sw_if)
}

fn remove(world: &World, sw_if: SwIfIndex) -> Result<(), Error> {
    world.get::<Interfaces>().delete(world, sw_if)?;
    world.get::<Links>().forget(sw_if);
    world.get::<Hosts>().all().retain(|_, (index, _)| *index != sw_if);
    Ok(())
}

/// Leaves checksums to the kernel, or completes them here.
///
/// # Errors
/// A host interface that isn't there.
pub fn set_l4_checksum_offload(world: &World, name: &str, on: bool) -> Result<(), Error> {
    let (_, device) = world.get::<Hosts>().find(world, name)?;
    device.set_tx_offloads(world, |tx_offloads| tx_offloads.csum = on);
    Ok(())
}

/// Hands frames straight to the kernel's interface, or through its queueing discipline.
///
/// # Errors
/// A host interface that isn't there; what the kernel says.
pub fn set_qdisc_bypass(world: &World, name: &str, bypass: bool) -> Result<(), Error> {
    let (_, device) = world.get::<Hosts>().find(world, name)?;
    device.set_qdisc_bypass(bypass)
}
