// SPDX-License-Identifier: Apache-2.0
//! A host interface as the model of interfaces sees it.

mod open;

use crate::{Config, Control, Membership, Mode, RxQueue, TxQueue, Version};
use cli::{Error, retval};
use driver::{Netdevs, Opening, RxQueues, TxOffloads, TxQueues};
use graph::{Section, SwIfIndex, World};
use net::Device;
use netlink::{Link, Rtnl};
use std::collections::BTreeSet;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use wire::MacAddr;

pub use open::refused;

/// The settings that an interface was made with.
#[derive(Clone, Copy)]
pub struct Made {
    /// The address, if it was given.
    pub mac: Option<MacAddr>,
    /// The work that the kernel was to take over.
    pub tx_offloads: TxOffloads,
    /// It was made although the host uses the kernel's interface.
    pub force: bool,
}

pub struct HostDevice {
    me: Weak<Self>,
    pub rx: RxQueues<RxQueue>,
    pub tx: TxQueues<TxQueue>,
    pub opening: Opening,
    state: Mutex<State>,
}

struct State {
    config: Config,
    tx_offloads: TxOffloads,
    rtnl: Rtnl,
    link: Link,
    /// `None` while the kernel's interface is gone.
    control: Option<Control>,
    /// Transmit sockets.
    senders: usize,
    up: bool,
    promiscuous: bool,
    mac: MacAddr,
    /// Further MAC addresses that frames are received for.
    further: BTreeSet<MacAddr>,
    made: Made,
    /// The kernel's interface counts as used by this one ([`Netdevs`]).
    taken: bool,
    /// The kernel's interface has never been there: its address and its MTU aren't known.
    unseen: bool,
}

/// Host interfaces are those of the daemon's network namespace.
const OWN_NETNS: &str = "";

/// An error of the system with what was being done.
pub fn failed(doing: &str) -> impl Fn(io::Error) -> Error {
    move |error| Error::failed(format!("{doing}: {error}")).retval(retval::SYSCALL_ERROR_1)
}

impl HostDevice {
    /// A device whose interface in the kernel isn't open yet; without a link, it isn't there.
    /// `delete` deletes its interface.
    pub fn new(
        config: Config,
        mac: MacAddr,
        made: Made,
        link: Option<Link>,
        delete: fn(&World, SwIfIndex),
    ) -> io::Result<Arc<Self>> {
        let opening = Opening::new(link.is_some(), delete);
        let state = State {
            senders: config.tx_queues.into(),
            tx_offloads: made.tx_offloads,
            rtnl: Rtnl::new()?,
            unseen: link.is_none(),
            link: link.unwrap_or_else(|| Link { name: config.name.clone(), ..Link::default() }),
            config,
            control: None,
            up: false,
            promiscuous: false,
            further: BTreeSet::new(),
            mac,
            made,
            taken: false,
        };
        Ok(Arc::new_cyclic(|me| Self {
            me: me.clone(),
            rx: RxQueues::default(),
            tx: TxQueues::default(),
            opening,
            state: Mutex::new(state),
        }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no panic inside")
    }

    /// Records that the kernel's interface is used. It is released by [`Self::release`].
    pub fn take(&self, world: &World, link: &Link) {
        let mut state = self.state();
        if !std::mem::replace(&mut state.taken, true) {
            world.get::<Netdevs>().take(OWN_NETNS, link);
        }
    }

    /// Closes the kernel's interface, and restores it if it is `there`.
    fn release(&self, world: &World, there: bool) {
        let mut state = self.state();
        if let Some(control) = state.control.take() {
            driver::close(world, control);
        }
        if std::mem::take(&mut state.taken) {
            world.get::<Netdevs>().release(OWN_NETNS, state.link.index, there);
        }
    }

    pub fn set_tx_offloads(&self, world: &World, change: impl FnOnce(&mut TxOffloads)) {
        let mut state = self.state();
        change(&mut state.tx_offloads);
        self.tx.set_tx_offloads(world, state.tx_offloads);
    }

    pub fn set_qdisc_bypass(&self, bypass: bool) -> Result<(), Error> {
        let mut state = self.state();
        if let Some(control) = &state.control {
            control.set_qdisc_bypass(bypass).map_err(failed("queueing discipline"))?;
        }
        state.config.qdisc_bypass = bypass;
        Ok(())
    }

    /// Says how it is made.
    pub fn say_made(&self, lines: &mut Section<'_>) {
        let state = self.state();
        let Config { name, version, rx_queues, mode, .. } = &state.config;
        let made = state.made;
        let name = cli::quote(name);
        let mut line = format!("create host-interface name {name}");
        if *version != Version::default() {
            line += match version {
                Version::V2 => " v2",
                Version::V3 => " v3",
            };
        }
        if *rx_queues != 1 {
            line += &format!(" num-rx-queues {rx_queues}");
        }
        if let Some(mac) = made.mac {
            line += &format!(" hw-addr {mac}");
        }
        if *mode == Mode::Ip {
            line += " mode ip";
        }
        if made.tx_offloads == TxOffloads::default() {
            line += " cksum-gso-disable";
        }
        if made.force {
            line += " force";
        }
        lines.push(line, format!("delete host-interface name {name}"));
        if state.control.is_none() && !self.opening.is_pending() {
            lines.waits(format!(
                "the host has no interface {}: opened when it comes",
                state.config.name
            ));
        }
    }

    /// Says what was set since it was made.
    pub fn say_set(&self, lines: &mut Section<'_>) {
        let state = self.state();
        let name = cli::quote(&state.config.name);
        let made = state.made.tx_offloads;
        if state.tx_offloads.csum != made.csum {
            let line = format!("set host-interface l4-cksum-offload {name}");
            let word = |on| if on { "on" } else { "off" };
            let (now, before) = (word(state.tx_offloads.csum), word(made.csum));
            lines.push(format!("{line} {now}"), format!("{line} {before}"));
        }
        if state.config.qdisc_bypass {
            let line = format!("set host-interface qdisc-bypass {name}");
            lines.push(format!("{line} enable"), format!("{line} disable"));
        }
    }
}

impl Device for HostDevice {
    fn driver(&self) -> &'static str {
        "af-packet"
    }

    fn input_node(&self) -> &'static str {
        <RxQueue as driver::RxQueue>::NODE
    }

    /// Takes the kernel's interface up with ours, but down only when ours is deleted: another
    /// program may use it.
    fn set_admin(&self, world: &World, _: SwIfIndex, up: bool) -> Result<(), Error> {
        {
            let state = &mut *self.state();
            if let Some(control) = &state.control {
                if up && !state.link.is_admin_up() {
                    let netdevs = world.get::<Netdevs>();
                    netdevs.set_up(&mut state.rtnl, OWN_NETNS, &state.link).map_err(failed(
                        &format!("the host's interface {} can't be taken up", state.link.name),
                    ))?;
                }
                control.set_receiving(up).map_err(failed("receive queues"))?;
            }
            state.up = up;
        }
        self.rx.set_up(world, up)
    }

    fn set_mac(&self, _: &World, mac: MacAddr) -> Result<(), Error> {
        let state = &mut *self.state();
        if let (Some(control), Mode::Ethernet) = (&state.control, state.config.mode) {
            control.membership(Membership::Unicast(mac), true).map_err(failed("MAC address"))?;
            // The kernel counts; what was added was there.
            let _ = control.membership(Membership::Unicast(state.mac), false);
        }
        state.mac = mac;
        Ok(())
    }

    fn set_mtu(&self, world: &World, mtu: u16) -> Result<(), Error> {
        let state = &mut *self.state();
        if state.control.is_none() {
            // It gets it when it comes.
            return Ok(());
        }
        let doing = format!("MTU of the host's interface {}", state.link.name);
        let netdevs = world.get::<Netdevs>();
        netdevs.set_mtu(&mut state.rtnl, OWN_NETNS, &state.link, mtu.into()).map_err(failed(&doing))
    }

    fn set_promiscuous(&self, _: &World, on: bool) -> Result<(), Error> {
        let state = &mut *self.state();
        if state.promiscuous != on
            && let Some(control) = &state.control
        {
            control.membership(Membership::Promiscuous, on).map_err(failed("promiscuous mode"))?;
        }
        state.promiscuous = on;
        Ok(())
    }

    fn set_further_mac(&self, _: &World, mac: MacAddr, on: bool) -> Result<bool, Error> {
        let state = &mut *self.state();
        if state.config.mode != Mode::Ethernet {
            return Ok(false);
        }
        // While the kernel's interface is gone, the address is noted for its return.
        if state.further.contains(&mac) != on
            && let Some(control) = &state.control
        {
            let doing = "further MAC address";
            control.membership(Membership::Unicast(mac), on).map_err(failed(doing))?;
        }
        if on {
            state.further.insert(mac)
        } else {
            state.further.remove(&mac)
        };
        Ok(true)
    }

    fn rx_queues(&self) -> Vec<net::RxQueue> {
        self.rx.list()
    }

    fn tx_queues(&self) -> u16 {
        self.state().senders.try_into().unwrap_or(u16::MAX)
    }

    fn place(&self, world: &World, queue: net::RxQueue) -> Result<(), Error> {
        self.rx.place(world, queue)
    }

    fn link_speed(&self) -> Option<u64> {
        self.state().link.speed.map(|megabits| u64::from(megabits) * 1000)
    }

    fn details(&self) -> Vec<String> {
        let state = self.state();
        let State { config, tx_offloads, link, control, senders, .. } = &*state;
        let on = |on: bool| if on { "on" } else { "off" };
        let version = match config.version {
            Version::V2 => 2,
            Version::V3 => 3,
        };
        let there = match (control, link.is_admin_up()) {
            (None, _) if self.opening.is_pending() => "being opened",
            (None, _) if state.unseen => "missing: opened when it comes",
            (None, _) => "gone: opened again when it comes back",
            (_, true) => "up",
            (_, false) => "down",
        };
        let mac = link.mac.map_or_else(String::new, |mac| format!(", MAC address {mac}"));
        vec![
            format!("Linux interface {}, index {}, {there}{mac}", link.name, link.index),
            format!("receive: {} queues, ring version {version}", config.rx_queues),
            format!(
                "transmit: {senders} queues, checksum offload {}, segmentation offload {}, queueing discipline {}",
                on(tx_offloads.csum),
                on(tx_offloads.csum && tx_offloads.gso),
                if config.qdisc_bypass { "bypassed" } else { "kept" },
            ),
        ]
    }

    fn delete(&self, world: &World) {
        self.rx.close(world);
        self.tx.close(world);
        self.release(world, true);
        self.opening.delete();
    }
}
