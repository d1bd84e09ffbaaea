// SPDX-License-Identifier: Apache-2.0
//! A host interface as the model of interfaces sees it.

use crate::{Config, Control, HostInterface, Membership, Mode, RxQueue, TxQueue, Version};
use cli::{Error, retval};
use driver::{LinkChange, LinkUser, Netdevs, RxQueues, TxOffloads, TxQueues};
use graph::{Section, SwIfIndex, World};
use net::{Device, Interfaces, MtuKind};
use netlink::{Link, Rtnl};
use std::io;
use std::sync::{Mutex, MutexGuard};
use wire::MacAddr;

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
    pub rx: RxQueues<RxQueue>,
    pub tx: TxQueues<TxQueue>,
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

/// Configures an interface that was opened: it receives frames for our own address and for groups,
/// but none before it is taken up.
fn prepare(control: &Control, mode: Mode, mac: MacAddr, promiscuous: bool) -> io::Result<()> {
    control.set_receiving(false)?;
    if mode == Mode::Ethernet {
        control.membership(Membership::Unicast(mac), true)?;
        control.membership(Membership::AllMulticast, true)?;
        if promiscuous {
            control.membership(Membership::Promiscuous, true)?;
        }
    }
    Ok(())
}

impl HostDevice {
    /// Takes over an interface that was just opened; its queues are returned.
    pub fn new(
        config: Config,
        mac: MacAddr,
        made: Made,
        open: HostInterface,
    ) -> io::Result<(Self, Vec<RxQueue>, Vec<TxQueue>)> {
        let HostInterface { link, rx, tx, control } = open;
        prepare(&control, config.mode, mac, false)?;
        let this = Self::with(config, mac, made, link, Some(control))?;
        Ok((this, rx, tx))
    }

    /// A device whose interface in the kernel isn't there yet.
    pub fn waiting(config: Config, mac: MacAddr, made: Made) -> io::Result<Self> {
        let link = Link { name: config.name.clone(), ..Link::default() };
        Self::with(config, mac, made, link, None)
    }

    fn with(
        config: Config,
        mac: MacAddr,
        made: Made,
        link: Link,
        control: Option<Control>,
    ) -> io::Result<Self> {
        let state = State {
            senders: config.tx_queues.into(),
            config,
            tx_offloads: made.tx_offloads,
            rtnl: Rtnl::new()?,
            link,
            unseen: control.is_none(),
            control,
            up: false,
            promiscuous: false,
            mac,
            made,
            taken: false,
        };
        Ok(Self { rx: RxQueues::default(), tx: TxQueues::default(), state: Mutex::new(state) })
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
        if state.control.is_none() {
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

    /// The kernel's interface is there, or there again: opens it, and gives it all that was set
    /// meanwhile.
    fn reopen(&self, world: &World, sw_if: SwIfIndex, link: &mut Link) -> io::Result<()> {
        let interfaces = world.get::<Interfaces>();
        let text = |error: Error| io::Error::other(error.to_string());
        {
            let mut state = self.state();
            if !state.made.force {
                driver::refuse_used(&mut state.rtnl, link, true).map_err(text)?;
            }
            state.link = link.clone();
        }
        self.take(world, link);
        if self.state().unseen {
            let (name, given) = {
                let state = self.state();
                (state.config.name.clone(), state.made.mac)
            };
            let mac = given.unwrap_or_else(|| driver::own_mac(&name, link.mac));
            interfaces
                .note_made(world, sw_if, mac, link.mtu.min(u16::MAX.into()) as u16)
                .map_err(text)?;
            let mut state = self.state();
            (state.mac, state.unseen) = (interfaces.get(sw_if).map_err(text)?.mac, false);
        }
        let (config, mac, promiscuous, up) = {
            let state = self.state();
            (state.config.clone(), state.mac, state.promiscuous, state.up)
        };
        let mtu = interfaces.get(sw_if).map_err(text)?.mtu.configured;
        if let Some(mtu) = mtu.map(u32::from).filter(|mtu| *mtu != link.mtu) {
            let netdevs = world.get::<Netdevs>();
            netdevs.set_mtu(&mut self.state().rtnl, OWN_NETNS, link, mtu)?;
            link.mtu = mtu;
        }
        if up && !link.is_admin_up() {
            world.get::<Netdevs>().set_up(&mut self.state().rtnl, OWN_NETNS, link)?;
        }
        let open = HostInterface::open(&config)?;
        prepare(&open.control, config.mode, mac, promiscuous)?;
        let ip = config.mode == Mode::Ip;
        self.rx
            .open(world, sw_if, ip, open.rx)
            .map_err(|error| io::Error::other(error.to_string()))?;
        if up {
            open.control.set_receiving(true)?;
        }
        self.rx.set_up(world, up).map_err(|error| io::Error::other(error.to_string()))?;
        self.tx.open(world, open.tx);
        let mut state = self.state();
        (state.control, state.link) = (Some(open.control), link.clone());
        Ok(())
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
    }
}

impl LinkUser for HostDevice {
    fn link_changed(&self, world: &World, sw_if: SwIfIndex, news: LinkChange) {
        let interfaces = world.get::<Interfaces>();
        let Ok(interface) = interfaces.get(sw_if) else { return };
        let name = &interface.name;
        // One that couldn't be opened when it came is tried again when something about it changes.
        let news = match news {
            LinkChange::Is(link) if self.state().control.is_none() => LinkChange::Back(link),
            news => news,
        };
        let link = match news {
            LinkChange::Is(link) => {
                self.state().link = link.clone();
                link
            }
            LinkChange::Gone => {
                self.release(world, false);
                let before = self.state().link.name.clone();
                log::warn!(target: "af_packet", "{name}: the host's interface {before} is gone");
                self.rx.close(world);
                self.tx.close(world);
                let _ = interfaces.set_link(world, sw_if, false);
                return;
            }
            LinkChange::Back(mut link) => match self.reopen(world, sw_if, &mut link) {
                Ok(()) => {
                    log::info!(target: "af_packet", "{name}: the host's interface {} is there", link.name);
                    link
                }
                Err(error) => {
                    log::error!(target: "af_packet", "{name}: the host's interface {} is there, but: {error}", link.name);
                    return;
                }
            },
        };
        let mtu = link.mtu.min(u16::MAX.into()) as u16;
        if interface.mtu_of(MtuKind::Link) != mtu {
            let _ = interfaces.note_mtu(world, sw_if, mtu);
        }
        // The interface is there: it was looked up above, on this thread.
        let _ = interfaces.set_link(world, sw_if, link.is_link_up());
    }
}
