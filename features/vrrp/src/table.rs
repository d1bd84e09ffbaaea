// SPDX-License-Identifier: Apache-2.0
//! The control state of virtual routers.

use crate::machine::{Machine, Settings};
use crate::model::{VrConfig, VrInfo, VrKey};
use crate::packet::Advertisement;
use graph::{SwIfIndex, World};
use net::Interfaces;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use sync::Mailbox;
use wire::Prefix;

/// Advertisements of one virtual router that wait for control at most.
pub const WAITING: usize = 8;

/// A virtual router.
pub struct Vr {
    pub config: VrConfig,
    pub peers: Vec<IpAddr>,
    pub tracked: BTreeMap<SwIfIndex, u8>,
    pub started: bool,
    pub machine: Machine,
    /// The queue of its received advertisements.
    pub received: Arc<Mailbox<Advertisement>>,
    /// True if the last advertisement of a master had the checksum of RFC 9568, which leaves the
    /// pseudo-header out: ours are as those that the link's other routers send.
    pub is_plain: bool,
    /// The addresses that accept mode has added to the interface.
    pub accepted: Vec<Accepted>,
}

/// An address that accept mode has added.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Accepted {
    Ip4(Prefix<std::net::Ipv4Addr>),
    Ip6(Prefix<std::net::Ipv6Addr>),
}

impl Vr {
    pub fn new(world: &World, config: VrConfig) -> Self {
        let settings = settings(&config, 0);
        let received = Arc::new(Mailbox::new(WAITING, world.processes.waker().clone()));
        Self {
            config,
            peers: Vec::new(),
            tracked: BTreeMap::new(),
            started: false,
            machine: Machine::new(settings),
            received,
            is_plain: false,
            accepted: Vec::new(),
        }
    }

    /// The sum by which tracked interfaces that are down lower the priority.
    pub fn lowered(&self, world: &World) -> u32 {
        let interfaces = world.get::<Interfaces>();
        let is_up = |sw_if: SwIfIndex| interfaces.get(sw_if).is_ok_and(|i| i.admin_up && i.link_up);
        self.tracked.iter().filter(|(sw_if, _)| !is_up(**sw_if)).map(|(_, by)| u32::from(*by)).sum()
    }

    /// The settings in force.
    pub fn settings(&self, world: &World) -> Settings {
        settings(&self.config, self.lowered(world))
    }

    /// The MAC address of its addresses.
    pub fn mac(&self, world: &World) -> wire::MacAddr {
        match self.config.is_unicast() {
            true => world
                .get::<Interfaces>()
                .get(self.config.key.sw_if)
                .map_or(wire::MacAddr::ZERO, |interface| interface.mac),
            false => self.config.key.mac(),
        }
    }

    /// Facts for users; `index` is its number.
    pub fn info(&self, world: &World, index: u32) -> VrInfo {
        let machine = &self.machine;
        VrInfo {
            index,
            config: self.config.clone(),
            peers: self.peers.clone(),
            tracked: self.tracked.clone(),
            state: machine.state(),
            started: self.started,
            priority: machine.settings().priority,
            lowered: self.lowered(world),
            master_interval: machine.master_interval(),
            skew: machine.skew_centiseconds(),
            down_interval: machine.down_centiseconds(),
            mac: self.mac(world),
        }
    }
}

/// A configuration's settings with the priority lowered by tracked interfaces, to 1 at least.
fn settings(config: &VrConfig, lowered: u32) -> Settings {
    let priority = u32::from(config.settings.priority).saturating_sub(lowered).max(1);
    Settings {
        priority: priority.try_into().unwrap_or(u8::MAX),
        interval: config.settings.interval,
        preempt: !config.settings.no_preempt,
    }
}

/// The virtual routers by index, and their indices by name.
#[derive(Default)]
pub struct Table {
    pub routers: BTreeMap<u32, Vr>,
    pub names: BTreeMap<VrKey, u32>,
}

impl Table {
    /// The virtual routers of an interface, in the order of their names.
    pub fn of(&self, sw_if: SwIfIndex) -> impl Iterator<Item = &Vr> {
        let first = VrKey { sw_if, v6: false, id: 0 };
        let last = VrKey { sw_if, v6: true, id: u8::MAX };
        let indices = self.names.range(first..=last).map(|(_, index)| index);
        indices.filter_map(|index| self.routers.get(index))
    }
}
