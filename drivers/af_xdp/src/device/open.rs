// SPDX-License-Identifier: Apache-2.0
//! The netdev: found, opened, and its table of receive queues.

use super::{Config, Held};
use crate::io::{self as xdp, Filter, Opened, RxQueue, TxQueue, Wanted};
use cli::{Error, retval};
use driver::Netdevs;
use graph::World;
use netlink::{Channels, Ethtool, Link, Rtnl};
use std::io;
use wire::MacAddr;

/// An error of the system with what was being done.
pub fn failed(doing: &str) -> impl Fn(io::Error) -> Error {
    move |error| Error::failed(format!("{doing}: {error}")).retval(retval::SYSCALL_ERROR_1)
}

/// The queues of a netdev that was opened, for the threads.
pub type Queues = (Vec<RxQueue>, Vec<Option<TxQueue>>);

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

/// The netdev as it was opened, before control has it.
pub(super) type Open = Result<(Opened, Filter), Error>;

/// Returns the work that opens the netdev: sockets, rings, program. A helper thread does it.
pub(super) fn open(
    world: &World,
    config: &Config,
    link: &Link,
    mac: MacAddr,
) -> impl FnOnce() -> Open + Send + 'static {
    let (config, link, closing) = (config.clone(), link.clone(), driver::closing(world));
    let (pool, threads) = (world.pool, world.threads());
    move || {
        let work = || -> io::Result<Result<(Opened, Filter), xdp::StepError>> {
            let channels = Ethtool::new().ok().and_then(|mut ethtool| ethtool.channels(&link));
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
            Ok(xdp::open(pool, &wanted, &|| closing.wait()).map(|opened| (opened, filter)))
        };
        let namespace = config.namespace().map_err(failed("network namespace"))?;
        let result = match &namespace {
            Some(namespace) => namespace.run(work),
            None => work(),
        };
        let name = &config.netdev;
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
        })
    }
}

/// Takes an open netdev apart, into what stays with control and the queues of threads.
pub(super) fn split(
    threads: usize,
    mut opened: Opened,
    filter: Filter,
    placed: &[Option<u16>],
) -> (Held, Queues) {
    let rx = std::mem::take(&mut opened.rx);
    let sides = opened.sides();
    let usual = sides.usual(threads);
    // A netdev that comes back may have fewer queues.
    let number = |thread: usize| match placed.get(thread) {
        Some(None) => None,
        Some(Some(queue)) if usize::from(*queue) < sides.len() => Some(*queue),
        _ => usual[thread],
    };
    let tx = sides.queues(&(0..threads).map(number).collect::<Vec<_>>());
    let held = Held {
        sockets: opened.sockets.clone(),
        mode: opened.mode(),
        zero_copy: opened.zero_copy,
        multi_buffer: opened.multi_buffer,
        queues: (rx.len() as u16, sides.len() as u16),
        sides,
        filter,
        _opened: opened.without_queues(),
    };
    (held, (rx, tx))
}

/// Sets the queues that a netdev spreads received packets over.
///
/// # Errors
/// A netdev or a kernel that can't (−9); the kernel's.
pub(super) fn spread(
    world: &World,
    config: &Config,
    link: &Link,
    queues: Option<&[u16]>,
) -> Result<(), Error> {
    let work = || {
        let mut ethtool = Ethtool::new()?;
        world.get::<Netdevs>().set_rss_queues(&mut ethtool, &config.netns, link, queues)
    };
    let namespace = config.namespace().map_err(failed("network namespace"))?;
    let result = match &namespace {
        Some(namespace) => namespace.run(work),
        None => work(),
    };
    let name = &config.netdev;
    result.map_err(|error| match error.raw_os_error() {
        Some(libc::EOPNOTSUPP) => Error::unsupported(format!(
            "AF_XDP: the netdev {name}, or this kernel, has no table of receive queues to set"
        ))
        .retval(retval::UNIMPLEMENTED),
        _ => failed(&format!("receive queues of {name}"))(error),
    })
}

/// Our address: the netdev's, or one that is the same after a restart.
pub(super) fn own_mac(config: &Config, link: &Link) -> MacAddr {
    match link.mac {
        Some(mac) if config.mac_reuse => mac,
        mac => driver::own_mac(&config.netdev, mac),
    }
}
