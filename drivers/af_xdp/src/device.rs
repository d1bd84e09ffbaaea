// SPDX-License-Identifier: Apache-2.0
//! An interface as the model of interfaces sees it.

use crate::io::{self as xdp, Attach, Filter, Opened, RxQueue, Shared, TxQueue, Wanted};
use cli::{Error, retval};
use driver::{LinkChange, LinkUser, RxQueues, TxQueues};
use graph::{SwIfIndex, World};
use net::{Device, Interfaces};
use netlink::{Channels, Ethtool, Link, Namespace, Rtnl};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use wire::MacAddr;

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
}

pub struct XdpDevice {
    pub config: Config,
    pub rx: RxQueues<RxQueue>,
    pub tx: TxQueues<TxQueue>,
    pub sw_if: OnceLock<SwIfIndex>,
    state: Mutex<State>,
}

/// An error of the system with what was being done.
pub fn failed(doing: &str) -> impl Fn(io::Error) -> Error {
    move |error| Error::failed(format!("{doing}: {error}")).retval(retval::SYSCALL_ERROR_1)
}

/// The queues of a netdev that was opened, for the threads.
pub type Queues = (Vec<RxQueue>, Vec<TxQueue>);

/// Finds the netdev in its namespace.
pub fn find(config: &Config) -> Result<(Link, Rtnl), Error> {
    let namespace = config
        .namespace()
        .map_err(|error| Error::failed(error.to_string()).retval(retval::SYSCALL_ERROR_8))?;
    let rtnl = match &namespace {
        Some(namespace) => Rtnl::in_namespace(namespace).map_err(|error| {
            Error::failed(format!("network namespace {}: {error}", config.netns))
                .retval(retval::SYSCALL_ERROR_9)
        }),
        None => Rtnl::new().map_err(failed("rtnetlink")),
    };
    let mut rtnl = rtnl?;
    let link = rtnl.link(&config.netdev).map_err(|error| {
        Error::failed(format!("the host's interface {}: {error}", config.netdev))
            .retval(retval::INVALID_VALUE)
    })?;
    if !link.is_ethernet() {
        return Err(Error::failed(format!("{} has no Ethernet frames", config.netdev))
            .retval(retval::INVALID_VALUE));
    }
    Ok((link, rtnl))
}

/// Opens the netdev: sockets, rings, program.
///
/// # Errors
/// The step that failed.
fn open(
    world: &World,
    config: &Config,
    link: &Link,
    mac: MacAddr,
) -> Result<(Held, Queues), Error> {
    let threads = world.threads();
    let work = || -> io::Result<Result<(Opened, Filter), xdp::StepError>> {
        let channels = Ethtool::new().ok().and_then(|mut ethtool| ethtool.channels(link));
        let tx = channels.unwrap_or(Channels { rx: 1, tx: 1 }).tx.max(1);
        let wanted = Wanted {
            index: link.index,
            rx: config.rx_queues.map(u32::from),
            channels: (channels.map(|channels| channels.rx.max(1)), tx),
            tx: threads as u32,
            rx_size: config.rx_size,
            tx_size: config.tx_size,
            zero_copy: config.zero_copy,
            attach: config.attach,
            program: Some(config.program.clone()).filter(|path| !path.is_empty()),
        };
        let filter = Filter::new(link.index, mac)?;
        Ok(xdp::open(world.pool, &wanted, &|| driver::collect(world))
            .map(|opened| (opened, filter)))
    };
    let namespace = config.namespace().map_err(failed("network namespace"))?;
    let result = match &namespace {
        Some(namespace) => namespace.run(work),
        None => work(),
    };
    let name = &config.netdev;
    let (mut opened, filter) =
        result.map_err(failed(&format!("the host's interface {name}")))?.map_err(|error| {
            let retval = match error.step {
                xdp::Step::Memory => retval::SYSCALL_ERROR_1,
                xdp::Step::Socket => retval::SYSCALL_ERROR_2,
                xdp::Step::Map => retval::SYSCALL_ERROR_3,
                xdp::Step::Option => retval::SYSCALL_ERROR_4,
                xdp::Step::LoadProgram => retval::SYSCALL_ERROR_5,
                xdp::Step::AttachProgram => retval::SYSCALL_ERROR_6,
                xdp::Step::TooManyQueues => retval::INVALID_VALUE,
            };
            Error::failed(format!("the host's interface {name}: {error}")).retval(retval)
        })?;
    let rx = std::mem::take(&mut opened.rx);
    let tx = TxQueue::for_threads(&opened, threads);
    let held = Held {
        sockets: opened.sockets.clone(),
        mode: opened.mode(),
        zero_copy: opened.zero_copy,
        multi_buffer: opened.multi_buffer,
        queues: (rx.len() as u16, opened.senders() as u16),
        filter,
        _opened: opened.without_queues(),
    };
    Ok((held, (rx, tx)))
}

/// Our address: the netdev's, or one that is the same after a restart.
fn own_mac(config: &Config, link: &Link) -> MacAddr {
    match link.mac {
        Some(mac) if config.mac_reuse => mac,
        mac => driver::own_mac(&config.netdev, mac),
    }
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
        let (held, queues) = open(world, &config, &link, mac)?;
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
        let state = State { link, held, rtnl, up: false, promiscuous: false, mac, unseen };
        let (rx, tx, sw_if) = (RxQueues::default(), TxQueues::default(), OnceLock::new());
        Self { config, rx, tx, sw_if, state: Mutex::new(state) }
    }

    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no panic inside")
    }

    /// The netdev is there, or there again: opens it as it was.
    fn reopen(&self, world: &World, sw_if: SwIfIndex, link: &mut Link) -> Result<(), Error> {
        let interfaces = world.get::<Interfaces>();
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
        let mtu = interfaces.get(sw_if)?.own_mtu.map(u32::from);
        if let Some(mtu) = mtu.filter(|mtu| *mtu != link.mtu) {
            self.state().rtnl.set_mtu(link.index, mtu).map_err(failed("MTU"))?;
            link.mtu = mtu;
        }
        if up && !link.is_admin_up() {
            self.state().rtnl.set_admin_up(link.index, true).map_err(failed("admin state"))?;
        }
        let (held, (rx, tx)) = open(world, &self.config, link, mac)?;
        if promiscuous {
            held.filter.promiscuous(true).map_err(failed("promiscuous mode"))?;
        }
        self.rx.open(world, sw_if, false, rx)?;
        self.rx.set_up(world, up)?;
        self.tx.open(world, tx);
        let mut state = self.state();
        (state.held, state.link) = (Some(held), link.clone());
        Ok(())
    }

    fn close(&self, world: &World) {
        self.rx.close(world);
        self.tx.close(world);
        self.state().held = None;
    }
}

impl Device for XdpDevice {
    fn driver(&self) -> &'static str {
        "AF_XDP"
    }

    fn input_node(&self) -> &'static str {
        <RxQueue as driver::RxQueue>::NODE
    }

    /// Takes the netdev up with ours, but not down: another program may use it.
    fn set_admin(&self, world: &World, _: SwIfIndex, up: bool) -> Result<(), Error> {
        {
            let state = &mut *self.state();
            if up && state.held.is_some() && !state.link.is_admin_up() {
                state.rtnl.set_admin_up(state.link.index, true).map_err(failed(&format!(
                    "the host's interface {} can't be taken up",
                    state.link.name
                )))?;
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

    fn set_mtu(&self, _: &World, mtu: u16) -> Result<(), Error> {
        let state = &mut *self.state();
        if state.held.is_none() {
            // It gets it when it comes.
            return Ok(());
        }
        let doing = format!("MTU of the host's interface {}", state.link.name);
        state.rtnl.set_mtu(state.link.index, mtu.into()).map_err(failed(&doing))
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
        self.close(world);
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
                self.close(world);
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
        if interface.mtu[0] != mtu {
            let _ = interfaces.note_mtu(world, sw_if, mtu);
        }
        // The interface is there: it was looked up above, on this thread.
        let _ = interfaces.set_link(world, sw_if, link.is_link_up());
    }
}
