// SPDX-License-Identifier: Apache-2.0
//! A tap as the model of interfaces sees it.

use crate::input::{Longest, TapRx};
use crate::{Config, Host, Kind, RxQueue, Tap, TxQueue};
use cli::{Error, retval};
use driver::{LinkChange, LinkUser, RxQueues, TxQueues};
use graph::{SwIfIndex, World};
use net::{Device, Interfaces};
use netlink::{Link, Rtnl};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, Weak};

pub struct TapDevice {
    pub config: Config,
    /// True if a feature writes it to the configuration.
    pub is_owned: bool,
    pub rx: RxQueues<TapRx>,
    pub tx: TxQueues<TxQueue>,
    longest: Arc<Longest>,
    queues: Vec<Weak<OwnedFd>>,
    state: Mutex<State>,
}

struct State {
    rtnl: Rtnl,
    link: Link,
    /// `None` once the host's end is gone.
    host: Option<Host>,
    admin_up: bool,
    /// False if the interface that it mirrors has no link.
    carrier: bool,
}

impl State {
    fn apply_carrier(&self) -> Result<(), Error> {
        let Some(host) = &self.host else { return Ok(()) };
        host.set_carrier(self.admin_up && self.carrier).map_err(failed("carrier of the host's end"))
    }
}

/// An error of the system with what was being done.
pub fn failed(doing: &str) -> impl Fn(io::Error) -> Error {
    move |error| Error::failed(format!("{doing}: {error}")).retval(retval::SYSCALL_ERROR_1)
}

impl TapDevice {
    /// Takes over a tap that was just opened; its queues are returned.
    pub fn new(
        config: Config,
        open: Tap,
        is_owned: bool,
    ) -> io::Result<(Self, Vec<TapRx>, Vec<TxQueue>)> {
        let Tap { link, rx, tx, host } = open;
        let rtnl = match host.namespace() {
            Some(namespace) => Rtnl::in_namespace(namespace)?,
            None => Rtnl::new()?,
        };
        // We are down at first.
        host.set_carrier(false)?;
        let longest = Longest::new(config.gso, link.mtu);
        let queues = rx.iter().map(RxQueue::downgrade).collect();
        let queue = |queue: RxQueue| TapRx { queue, longest: longest.clone() };
        let rx = rx.into_iter().map(queue).collect();
        let state =
            Mutex::new(State { rtnl, link, host: Some(host), admin_up: false, carrier: true });
        Ok((
            Self {
                config,
                is_owned,
                rx: RxQueues::default(),
                tx: TxQueues::default(),
                longest,
                queues,
                state,
            },
            rx,
            tx,
        ))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no panic inside")
    }

    /// The host's end as it was reported last, and whether it is there.
    pub fn link(&self) -> (Link, bool) {
        let state = self.state();
        (state.link.clone(), state.host.is_some())
    }

    /// Returns true if every descriptor is closed: some time after it was deleted.
    pub fn is_closed(&self) -> bool {
        self.queues.iter().all(|queue| queue.strong_count() == 0)
    }
}

impl Device for TapDevice {
    fn driver(&self) -> &'static str {
        "tap"
    }

    fn input_node(&self) -> &'static str {
        <TapRx as driver::RxQueue>::NODE
    }

    fn set_admin(&self, world: &World, _: SwIfIndex, up: bool) -> Result<(), Error> {
        {
            let state = &mut *self.state();
            state.admin_up = up;
            state.apply_carrier()?;
        }
        self.rx.set_up(world, up)
    }

    fn set_carrier(&self, up: bool) -> Result<(), Error> {
        let state = &mut *self.state();
        state.carrier = up;
        state.apply_carrier()
    }

    /// Nothing to do: all frames of the host are received.
    fn set_mac(&self, _: &World, _: wire::MacAddr) -> Result<(), Error> {
        Ok(())
    }

    fn set_mtu(&self, _: &World, mtu: u16) -> Result<(), Error> {
        let state = &mut *self.state();
        let doing = format!("MTU of the host's interface {}", state.link.name);
        state.rtnl.set_mtu(state.link.index, mtu.into()).map_err(failed(&doing))
    }

    fn rx_queues(&self) -> Vec<net::RxQueue> {
        self.rx.list()
    }

    fn tx_queues(&self) -> u16 {
        self.config.queues
    }

    fn place(&self, world: &World, queue: net::RxQueue) -> Result<(), Error> {
        self.rx.place(world, queue)
    }

    fn link_speed(&self) -> Option<u64> {
        self.state().link.speed.map(|megabits| u64::from(megabits) * 1000)
    }

    fn details(&self) -> Vec<String> {
        let (link, there) = self.link();
        let Config { kind, queues, gso, csum_offload, host_namespace, persist, .. } = &self.config;
        let on = |on: bool| if on { "on" } else { "off" };
        let state = match (there, link.is_admin_up()) {
            (false, _) => "gone: delete this and create it again",
            (_, true) => "up",
            (_, false) => "down",
        };
        let namespace =
            host_namespace.as_ref().map_or_else(String::new, |ns| format!(" in namespace {ns}"));
        let mac = link.mac.map_or_else(String::new, |mac| format!(", MAC address {mac}"));
        vec![
            format!(
                "Linux {} {}{namespace}, index {}, {state}{mac}",
                kind_name(*kind),
                link.name,
                link.index
            ),
            format!("{queues} queues{}", if *persist { ", persistent" } else { "" }),
            format!(
                "checksum offload {}, segmentation offload {}",
                on(*csum_offload || *gso),
                on(*gso)
            ),
        ]
    }

    fn delete(&self, world: &World) {
        self.rx.close(world);
        self.tx.close(world);
        let state = &mut *self.state();
        // A link that isn't persistent would go with its last descriptor: it is deleted at once, so
        // that its name is free.
        if state.host.take().is_some()
            && !(self.config.persist || self.config.attach)
            && let Err(error) = state.rtnl.delete_link(state.link.index)
        {
            log::warn!(target: "tap", "the host's end {}: {error}", state.link.name);
        }
    }
}

pub fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Tap => "tap",
        Kind::Tun => "tun",
    }
}

impl LinkUser for TapDevice {
    fn link_changed(&self, world: &World, sw_if: SwIfIndex, news: LinkChange) {
        let interfaces = world.get::<Interfaces>();
        let Ok(interface) = interfaces.get(sw_if) else { return };
        let name = &interface.name;
        match news {
            LinkChange::Is(link) => {
                self.state().link = link.clone();
                self.longest.set(self.config.gso, link.mtu);
                // Its carrier is our doing, so only its administrator says whether it is up.
                driver::note_link(world, sw_if, &link, link.is_admin_up());
            }
            LinkChange::Gone => {
                log::warn!(target: "tap", "{name}: the host's end {} is gone", self.config.host_name);
                self.state().host = None;
                self.rx.close(world);
                self.tx.close(world);
                let _ = interfaces.set_link(world, sw_if, false);
            }
            LinkChange::Back(link) => {
                log::warn!(target: "tap", "{name}: there is an interface {} on the host, but it isn't ours", link.name);
            }
        }
    }
}
