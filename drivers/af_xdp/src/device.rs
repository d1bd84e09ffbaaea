// SPDX-License-Identifier: Apache-2.0
//! An interface as the model of interfaces sees it.

use crate::io::{Attach, Filter, Opened, RxQueue, Shared, Sides, TxQueue};
use cli::Error;
use driver::{LinkChange, LinkUser, Netdevs, RxQueues, TxQueues};
use graph::{SwIfIndex, World};
use net::{Device, Interfaces, MtuKind};
use netlink::{Link, Namespace, Rtnl};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use wire::MacAddr;

mod open;

pub use open::{Queues, failed, find};
use open::{open, own_mac, spread};

/// The parameters with which an interface is made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    /// The netdev.
    pub netdev: String,
    /// Entries of the receive rings; a power of two.
    pub rx_size: u32,
    /// Entries of the transmit rings; a power of two.
    pub tx_size: u32,
    /// Receive queues; `None` for as many as there are.
    pub rx_queues: Option<u16>,
    /// A pinned program of the operator's; empty for the driver's own.
    pub program: String,
    /// The netdev's network namespace: a name, a path, or `pid:N`; empty for the daemon's.
    pub netns: String,
    /// Zero copy: needed, refused, or if it can be.
    pub zero_copy: Option<bool>,
    /// The mode of the program; `None` for native where that works.
    pub attach: Option<Attach>,
    /// The interface has the netdev's address.
    pub mac_reuse: bool,
    /// Accepted, and saved.
    pub no_syscall_lock: bool,
    /// The netdev is taken even if the host uses it itself.
    pub force: bool,
}

impl Config {
    /// The defaults, for a netdev.
    pub fn new(netdev: impl Into<String>) -> Self {
        Self {
            netdev: netdev.into(),
            rx_size: 512,
            tx_size: 512,
            rx_queues: Some(1),
            program: String::new(),
            netns: String::new(),
            zero_copy: None,
            attach: None,
            mac_reuse: false,
            no_syscall_lock: false,
            force: false,
        }
    }

    /// The namespace, if it isn't the daemon's.
    pub fn namespace(&self) -> io::Result<Option<Namespace>> {
        let name = self.netns.strip_prefix("pid:").unwrap_or(&self.netns);
        if name.is_empty() { Ok(None) } else { Namespace::open(name).map(Some) }
    }
}

/// Resources that keep the netdev ours; the queues are with the threads.
pub struct Held {
    pub sockets: Vec<Arc<Shared>>,
    pub mode: Attach,
    pub zero_copy: bool,
    pub multi_buffer: bool,
    pub queues: (u16, u16),
    sides: Sides,
    filter: Filter,
    _opened: Opened,
}

pub struct State {
    pub link: Link,
    /// `None` while the netdev is gone.
    pub held: Option<Held>,
    rtnl: Rtnl,
    up: bool,
    promiscuous: bool,
    pub mac: MacAddr,
    /// The netdev has never been there: its address isn't known.
    unseen: bool,
    /// The netdev counts as used by this interface ([`Netdevs`]).
    taken: bool,
    /// The queue that each thread sends by, if that was chosen.
    placed: Vec<Option<u16>>,
    /// The receive queues that the netdev is to spread packets over, if they are chosen.
    rss_queues: Option<Vec<u16>>,
}

pub struct XdpDevice {
    pub config: Config,
    pub rx: RxQueues<RxQueue>,
    pub tx: TxQueues<TxQueue>,
    pub sw_if: OnceLock<SwIfIndex>,
    state: Mutex<State>,
}

impl XdpDevice {
    /// Opens a netdev that is there; its queues are returned.
    ///
    /// # Errors
    /// The step that failed.
    pub fn new(
        world: &World,
        config: Config,
        (link, rtnl): (Link, Rtnl),
    ) -> Result<(Self, Queues), Error> {
        let mac = own_mac(&config, &link);
        let (held, queues) = open(world, &config, &link, mac, &[])?;
        Ok((Self::with(config, rtnl, link, mac, Some(held)), queues))
    }

    /// A device whose netdev isn't there yet.
    ///
    /// # Errors
    /// The kernel's.
    pub fn waiting(config: Config) -> io::Result<Self> {
        let link = Link { name: config.netdev.clone(), ..Link::default() };
        let mac = own_mac(&config, &link);
        Ok(Self::with(config, Rtnl::new()?, link, mac, None))
    }

    fn with(config: Config, rtnl: Rtnl, link: Link, mac: MacAddr, held: Option<Held>) -> Self {
        let unseen = held.is_none();
        let state = State {
            link,
            held,
            rtnl,
            up: false,
            promiscuous: false,
            mac,
            unseen,
            taken: false,
            placed: Vec::new(),
            rss_queues: None,
        };
        let (rx, tx, sw_if) = (RxQueues::default(), TxQueues::default(), OnceLock::new());
        Self { config, rx, tx, sw_if, state: Mutex::new(state) }
    }

    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no panic inside")
    }

    /// The netdev is there, or there again: opens it as it was.
    fn reopen(&self, world: &World, sw_if: SwIfIndex, link: &mut Link) -> Result<(), Error> {
        let (interfaces, netdevs) = (world.get::<Interfaces>(), world.get::<Netdevs>());
        let netns = &self.config.netns;
        {
            let mut state = self.state();
            if !self.config.force {
                driver::refuse_used(&mut state.rtnl, link, netns.is_empty())?;
            }
            state.link = link.clone();
        }
        self.take(world, link);
        if self.state().unseen {
            let (mac, mtu) = (own_mac(&self.config, link), link.mtu.min(u16::MAX.into()) as u16);
            interfaces.note_made(world, sw_if, mac, mtu)?;
            let mac = interfaces.get(sw_if)?.mac;
            let mut state = self.state();
            (state.mac, state.unseen) = (mac, false);
        }
        let (mac, promiscuous, up) = {
            let state = self.state();
            (state.mac, state.promiscuous, state.up)
        };
        let mtu = interfaces.get(sw_if)?.mtu.configured.map(u32::from);
        if let Some(mtu) = mtu.filter(|mtu| *mtu != link.mtu) {
            let set = netdevs.set_mtu(&mut self.state().rtnl, netns, link, mtu);
            set.map_err(failed("MTU"))?;
            link.mtu = mtu;
        }
        if up && !link.is_admin_up() {
            let set = netdevs.set_up(&mut self.state().rtnl, netns, link);
            set.map_err(failed("admin state"))?;
        }
        let placed = self.state().placed.clone();
        let (held, (rx, tx)) = open(world, &self.config, link, mac, &placed)?;
        if promiscuous {
            held.filter.promiscuous(true).map_err(failed("promiscuous mode"))?;
        }
        self.rx.open(world, sw_if, false, rx)?;
        self.rx.set_up(world, up)?;
        self.tx.place(world, tx);
        let rss_queues = self.state().rss_queues.clone();
        if let Some(queues) = &rss_queues
            && let Err(error) = spread(world, &self.config, link, Some(queues))
        {
            log::warn!(target: "af_xdp", "{error}");
        }
        let mut state = self.state();
        (state.held, state.link) = (Some(held), link.clone());
        Ok(())
    }

    /// Records that the netdev is used. It is released by [`Self::close`].
    pub fn take(&self, world: &World, link: &Link) {
        let mut state = self.state();
        if !std::mem::replace(&mut state.taken, true) {
            world.get::<Netdevs>().take(&self.config.netns, link);
        }
    }

    /// Closes the netdev, and restores it if it is `there`.
    fn close(&self, world: &World, there: bool) {
        self.rx.close(world);
        self.tx.close(world);
        let mut state = self.state();
        state.held = None;
        if std::mem::take(&mut state.taken) {
            world.get::<Netdevs>().release(&self.config.netns, state.link.index, there);
        }
    }
}

impl Device for XdpDevice {
    fn driver(&self) -> &'static str {
        "AF_XDP"
    }

    fn input_node(&self) -> &'static str {
        <RxQueue as driver::RxQueue>::NODE
    }

    /// Takes the netdev up with ours, but down only when ours is deleted: another program may use
    /// it.
    fn set_admin(&self, world: &World, _: SwIfIndex, up: bool) -> Result<(), Error> {
        {
            let state = &mut *self.state();
            if up && state.held.is_some() && !state.link.is_admin_up() {
                let netdevs = world.get::<Netdevs>();
                netdevs.set_up(&mut state.rtnl, &self.config.netns, &state.link).map_err(
                    failed(&format!("the host's interface {} can't be taken up", state.link.name)),
                )?;
            }
            state.up = up;
        }
        self.rx.set_up(world, up)
    }

    fn set_mac(&self, _: &World, mac: MacAddr) -> Result<(), Error> {
        let state = &mut *self.state();
        if let Some(held) = &state.held {
            held.filter.unicast(mac, true).map_err(failed("MAC address"))?;
            // The kernel counts; what was added was there.
            let _ = held.filter.unicast(state.mac, false);
        }
        state.mac = mac;
        Ok(())
    }

    fn set_mtu(&self, world: &World, mtu: u16) -> Result<(), Error> {
        let state = &mut *self.state();
        if state.held.is_none() {
            // It gets it when it comes.
            return Ok(());
        }
        let doing = format!("MTU of the host's interface {}", state.link.name);
        let netdevs = world.get::<Netdevs>();
        netdevs
            .set_mtu(&mut state.rtnl, &self.config.netns, &state.link, mtu.into())
            .map_err(failed(&doing))
    }

    fn set_promiscuous(&self, _: &World, on: bool) -> Result<(), Error> {
        let state = &mut *self.state();
        if state.promiscuous != on
            && let Some(held) = &state.held
        {
            held.filter.promiscuous(on).map_err(failed("promiscuous mode"))?;
        }
        state.promiscuous = on;
        Ok(())
    }

    fn rx_queues(&self) -> Vec<net::RxQueue> {
        self.rx.list()
    }

    fn tx_queues(&self) -> u16 {
        self.state().held.as_ref().map_or(1, |held| held.queues.1)
    }

    fn place(&self, world: &World, queue: net::RxQueue) -> Result<(), Error> {
        self.rx.place(world, queue)
    }

    /// Threads that send by the same queue share it: each takes the lock once for a vector.
    fn place_tx(&self, world: &World, queues: &[Option<u16>]) -> Result<(), Error> {
        let mut state = self.state();
        if let Some(held) = &state.held {
            self.tx.place(world, held.sides.queues(queues));
        }
        state.placed = queues.to_vec();
        Ok(())
    }

    /// Sets the netdev's table of receive queues: the sockets' queues have the same numbers.
    fn set_rss_queues(&self, world: &World, queues: Option<&[u16]>) -> Result<(), Error> {
        let mut state = self.state();
        state.rss_queues = queues.map(<[u16]>::to_vec);
        if state.held.is_none() {
            // It gets it when it comes.
            return Ok(());
        }
        let link = state.link.clone();
        spread(world, &self.config, &link, queues).inspect_err(|_| state.rss_queues = None)
    }

    fn link_speed(&self) -> Option<u64> {
        self.state().link.speed.map(|megabits| u64::from(megabits) * 1000)
    }

    fn details(&self) -> Vec<String> {
        let state = self.state();
        let link = &state.link;
        let Some(held) = &state.held else {
            return vec![format!("netdev {} is gone: opened when it comes", link.name)];
        };
        let copy = if held.zero_copy { "zero copy" } else { "copied by the kernel" };
        let buffers = if held.multi_buffer { "chains" } else { "one buffer a packet" };
        let (rx, tx) = held.queues;
        vec![
            format!("netdev {}, index {}, {}", link.name, link.index, {
                if link.is_admin_up() { "up" } else { "down" }
            }),
            format!("XDP {}, {copy}, {buffers}", held.mode.name()),
            format!(
                "receive: {rx} queues of {}, transmit: {tx} queues of {}",
                self.config.rx_size, self.config.tx_size
            ),
        ]
    }

    fn delete(&self, world: &World) {
        self.close(world, true);
    }
}

impl LinkUser for XdpDevice {
    fn link_changed(&self, world: &World, sw_if: SwIfIndex, change: LinkChange) {
        let interfaces = world.get::<Interfaces>();
        let Ok(interface) = interfaces.get(sw_if) else { return };
        let name = &interface.name;
        // One that couldn't be opened when it came is tried again when something about it changes.
        let change = match change {
            LinkChange::Is(link) if self.state().held.is_none() => LinkChange::Back(link),
            change => change,
        };
        let link = match change {
            LinkChange::Is(link) => {
                self.state().link = link.clone();
                link
            }
            LinkChange::Gone => {
                log::warn!(target: "af_xdp", "{name}: netdev {} is gone", self.config.netdev);
                self.close(world, false);
                let _ = interfaces.set_link(world, sw_if, false);
                return;
            }
            LinkChange::Back(mut link) => match self.reopen(world, sw_if, &mut link) {
                Ok(()) => {
                    log::info!(target: "af_xdp", "{name}: netdev {} is there", link.name);
                    link
                }
                Err(error) => {
                    log::error!(target: "af_xdp", "{name}: netdev {} is there, but: {error}", link.name);
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
