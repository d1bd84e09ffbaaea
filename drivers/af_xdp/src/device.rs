// SPDX-License-Identifier: Apache-2.0
//! An interface as the model of interfaces sees it.

use crate::io::{Attach, Filter, Opened, RxQueue, Shared, Sides, TxQueue};
use cli::Error;
use driver::{LinkChange, LinkUser, Netdevs, Opening, RxQueues, TxQueues};
use graph::{SwIfIndex, World};
use net::{Device, Interfaces};
use netlink::{Link, Namespace, Rtnl};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use wire::MacAddr;

mod open;

use open::{Open, open, own_mac, split, spread};
pub use open::{failed, find};

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
    me: Weak<Self>,
    pub config: Config,
    pub rx: RxQueues<RxQueue>,
    pub tx: TxQueues<TxQueue>,
    pub opening: Opening,
    state: Mutex<State>,
}

impl XdpDevice {
    /// A device whose netdev isn't open yet; without a link, it isn't there. `delete` deletes its
    /// interface.
    ///
    /// # Errors
    /// The kernel's.
    pub fn new(
        config: Config,
        found: Option<(Link, Rtnl)>,
        delete: fn(&World, SwIfIndex),
    ) -> io::Result<Arc<Self>> {
        let opening = Opening::new(found.is_some(), delete);
        let unseen = found.is_none();
        let (link, rtnl) = match found {
            Some(found) => found,
            None => (Link { name: config.netdev.clone(), ..Link::default() }, Rtnl::new()?),
        };
        let state = State {
            mac: own_mac(&config, &link),
            link,
            held: None,
            rtnl,
            up: false,
            promiscuous: false,
            unseen,
            taken: false,
            placed: Vec::new(),
            rss_queues: None,
        };
        Ok(Arc::new_cyclic(|me| Self {
            me: me.clone(),
            config,
            rx: RxQueues::default(),
            tx: TxQueues::default(),
            opening,
            state: Mutex::new(state),
        }))
    }

    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no panic inside")
    }

    /// The netdev is there, or there again: has it opened.
    fn open(&self, world: &World, sw_if: SwIfIndex, link: &Link) -> Result<(), Error> {
        {
            let mut state = self.state();
            if !self.config.force {
                driver::refuse_used(&mut state.rtnl, link, self.config.netns.is_empty())?;
            }
            state.link = link.clone();
        }
        self.take(world, link);
        if self.state().unseen {
            let interfaces = world.get::<Interfaces>();
            let (mac, mtu) = (own_mac(&self.config, link), link.mtu.min(u16::MAX.into()) as u16);
            interfaces.note_made(world, sw_if, mac, mtu)?;
            let mac = interfaces.get(sw_if)?.mac;
            let mut state = self.state();
            (state.mac, state.unseen) = (mac, false);
        }
        self.set_up_link(world, sw_if)?;
        let (mac, me) = (self.state().mac, self.me.clone());
        self.opening.start(
            world,
            open(world, &self.config, link, mac),
            move |world, first, open| match me.upgrade() {
                Some(device) => device.opened(world, sw_if, mac, first, open),
                None => driver::close(world, open),
            },
        );
        Ok(())
    }

    /// Gives the link the MTU and the admin state that ours has.
    fn set_up_link(&self, world: &World, sw_if: SwIfIndex) -> Result<(), Error> {
        let mtu = world.get::<Interfaces>().get(sw_if)?.mtu.configured.map(u32::from);
        let (netdevs, netns) = (world.get::<Netdevs>(), &self.config.netns);
        let State { rtnl, link, up, .. } = &mut *self.state();
        if let Some(mtu) = mtu.filter(|mtu| *mtu != link.mtu) {
            netdevs.set_mtu(rtnl, netns, link, mtu).map_err(failed("MTU"))?;
            link.mtu = mtu;
        }
        if *up && !link.is_admin_up() {
            netdevs.set_up(rtnl, netns, link).map_err(failed("admin state"))?;
        }
        Ok(())
    }

    /// A helper thread has opened the netdev for our address `mac`, or could not.
    fn opened(&self, world: &World, sw_if: SwIfIndex, mac: MacAddr, first: bool, open: Open) {
        match open.and_then(|open| self.attach(world, sw_if, mac, open)) {
            Ok(()) => {
                if !first {
                    let (name, netdev) =
                        (world.get::<Interfaces>().name(sw_if), &self.config.netdev);
                    log::info!(target: "af_xdp", "{name}: netdev {netdev} is there");
                }
                self.follow_link(world, sw_if);
            }
            Err(error) => self.is_refused(world, sw_if, first, error),
        }
    }

    /// Gives an open netdev all that was set meanwhile.
    fn attach(
        &self,
        world: &World,
        sw_if: SwIfIndex,
        mac: MacAddr,
        (opened, filter): (Opened, Filter),
    ) -> Result<(), Error> {
        self.set_up_link(world, sw_if)?;
        let (up, rss_queues, tx) = {
            let state = &mut *self.state();
            if state.promiscuous {
                filter.promiscuous(true).map_err(failed("promiscuous mode"))?;
            }
            if state.mac != mac {
                filter.unicast(state.mac, true).map_err(failed("MAC address"))?;
                let _ = filter.unicast(mac, false);
            }
            let (held, (rx, tx)) = split(world.threads(), opened, filter, &state.placed);
            self.rx.open(world, sw_if, false, rx)?;
            state.held = Some(held);
            (state.up, state.rss_queues.clone(), tx)
        };
        self.rx.set_up(world, up)?;
        self.tx.place(world, tx);
        if let Some(queues) = &rss_queues
            && let Err(error) = spread(world, &self.config, &self.state().link, Some(queues))
        {
            log::warn!(target: "af_xdp", "{error}");
        }
        Ok(())
    }

    /// The netdev can't be opened: a new interface is deleted again.
    fn is_refused(&self, world: &World, sw_if: SwIfIndex, first: bool, error: Error) {
        if first {
            self.opening.fail(world, sw_if, error);
        } else {
            let (name, netdev) = (world.get::<Interfaces>().name(sw_if), &self.config.netdev);
            log::error!(target: "af_xdp", "{name}: netdev {netdev} is there, but: {error}");
        }
    }

    /// Follows the link as it is.
    fn follow_link(&self, world: &World, sw_if: SwIfIndex) {
        let link = self.state().link.clone();
        driver::note_link(world, sw_if, &link, link.is_link_up());
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
        if let Some(held) = state.held.take() {
            driver::close(world, held);
        }
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
            let is = match self.opening.is_pending() {
                true => "being opened",
                false => "gone: opened when it comes",
            };
            return vec![format!("netdev {} is {is}", link.name)];
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
        self.opening.delete();
    }
}

impl LinkUser for XdpDevice {
    fn link_changed(&self, world: &World, sw_if: SwIfIndex, change: LinkChange) {
        match change {
            LinkChange::Gone => {
                let (name, netdev) = (world.get::<Interfaces>().name(sw_if), &self.config.netdev);
                log::warn!(target: "af_xdp", "{name}: netdev {netdev} is gone");
                self.close(world, false);
                self.opening.release();
                let _ = world.get::<Interfaces>().set_link(world, sw_if, false);
            }
            LinkChange::Is(link) | LinkChange::Back(link) => {
                let first = self.opening.is_new();
                if !first && (self.opening.is_pending() || self.state().held.is_some()) {
                    self.state().link = link;
                    self.follow_link(world, sw_if);
                } else if let Err(error) = self.open(world, sw_if, &link) {
                    // It is tried again when something about the link changes.
                    self.is_refused(world, sw_if, first, error);
                }
            }
        }
    }
}
