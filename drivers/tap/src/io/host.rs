// SPDX-License-Identifier: Apache-2.0
//! The host's end: creating and configuring the interface.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    os::fd::OwnedFd,
    sync::Arc,
};

use netlink::{Link, Namespace, Rtnl};
use wire::MacAddr;

use super::{rx::RxQueue, sys, tx::TxQueue};

/// The header that a frame begins with.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Kind {
    /// An Ethernet header.
    #[default]
    Tap,
    /// An IPv4 or IPv6 header.
    Tun,
}

/// The settings by which a tap is created. A setting that is `None` stays as the kernel makes it.
#[derive(Clone, Debug)]
pub struct Config {
    /// Name of the host's interface.
    pub host_name: String,
    /// Network namespace of the host's interface, as [`Namespace::open`] takes it; `None`: that of
    /// the calling thread.
    pub host_namespace: Option<String>,
    /// The header that frames begin with.
    pub kind: Kind,
    /// Queues, 1 to 256, each for both directions.
    pub queues: u16,
    /// Let the host leave checksums to be completed.
    pub csum_offload: bool,
    /// Let the host leave TCP and UDP to be segmented; includes `csum_offload`.
    pub gso: bool,
    /// Ethernet address of the host's interface.
    pub host_mac: Option<MacAddr>,
    /// MTU of the host's interface.
    pub host_mtu: Option<u32>,
    /// Bridge of the host that the interface becomes a port of.
    pub host_bridge: Option<String>,
    /// IPv4 address and prefix length of the host's interface.
    pub host_ip4: Option<(Ipv4Addr, u8)>,
    /// IPv6 address and prefix length of the host's interface.
    pub host_ip6: Option<(Ipv6Addr, u8)>,
    /// Gateway of the host's IPv4 default route.
    pub host_ip4_gateway: Option<Ipv4Addr>,
    /// Gateway of the host's IPv6 default route.
    pub host_ip6_gateway: Option<Ipv6Addr>,
    /// Number of frames that the host holds for a queue before it drops.
    pub host_queue_len: Option<u32>,
    /// The interface stays, without carrier, when the tap is closed, and is taken up by the next
    /// one of the name.
    pub persist: bool,
    /// The interface exists: take it up as it is. Without, a name in use is an error.
    pub attach: bool,
}

impl Config {
    /// The defaults: one queue, Ethernet, all offloads, in this namespace, gone when it is closed.
    pub fn new(host_name: impl Into<String>) -> Self {
        Self {
            host_name: host_name.into(),
            host_namespace: None,
            kind: Kind::default(),
            queues: 1,
            csum_offload: true,
            gso: true,
            host_mac: None,
            host_mtu: None,
            host_bridge: None,
            host_ip4: None,
            host_ip6: None,
            host_ip4_gateway: None,
            host_ip6_gateway: None,
            host_queue_len: None,
            persist: false,
            attach: false,
        }
    }
}

/// An open tap. The host's interface lives as long as one of its queues, however the process ends.
pub struct Tap {
    /// The host's interface as it was in the end.
    pub link: Link,
    /// Receive queues, each for one thread.
    pub rx: Vec<RxQueue>,
    /// Transmit queues, each for one thread.
    pub tx: Vec<TxQueue>,
    /// For the control thread.
    pub host: Host,
}

/// The control thread's hold on the host's end.
#[derive(Debug)]
pub struct Host {
    fd: Arc<OwnedFd>,
    namespace: Option<Namespace>,
}

impl Host {
    /// Network namespace of the host's interface, if it isn't the opening thread's. Its index and
    /// name, and [`netlink::Monitor`]'s events, are true there.
    pub fn namespace(&self) -> Option<&Namespace> {
        self.namespace.as_ref()
    }

    /// Gives the host's interface a carrier, or takes it away: the host's view of whether this end
    /// is up.
    pub fn set_carrier(&self, carrier: bool) -> io::Result<()> {
        sys::set_carrier(&self.fd, carrier)
    }

    /// See [`Config::persist`].
    pub fn set_persistent(&self, persistent: bool) -> io::Result<()> {
        sys::set_persistent(&self.fd, persistent)
    }
}

impl Tap {
    /// Creates the tap and switches the host's interface on. If anything fails, nothing stays.
    pub fn open(config: &Config) -> io::Result<Self> {
        let named = |error: io::Error| {
            io::Error::new(error.kind(), format!("tap {}: {error}", config.host_name))
        };
        let namespace =
            config.host_namespace.as_deref().map(Namespace::open).transpose().map_err(named)?;
        let create = || create(config).map_err(named);
        let (link, fds) = match &namespace {
            Some(namespace) => namespace.run(create)?,
            None => create()?,
        };
        let fds: Vec<_> = fds.into_iter().map(Arc::new).collect();
        let Some(first) = fds.first().cloned() else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        Ok(Self {
            link,
            rx: fds.iter().cloned().map(RxQueue::new).collect(),
            tx: fds.iter().cloned().map(TxQueue::new).collect(),
            host: Host { fd: first, namespace },
        })
    }
}

/// Creates the interface in the namespace of the calling thread; returns it and its queues.
fn create(config: &Config) -> io::Result<(Link, Vec<OwnedFd>)> {
    if !(1..=256).contains(&config.queues) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "1 to 256 queues"));
    }
    let mut rtnl = Rtnl::new()?;
    if config.attach {
        rtnl.link(&config.host_name)?;
    } else if !config.persist && rtnl.link(&config.host_name).is_ok() {
        return Err(io::Error::new(
            io::ErrorKind::AlreadyExists,
            "an interface of this name exists",
        ));
    }
    let mut flags = libc::IFF_NO_PI | libc::IFF_VNET_HDR;
    flags |= match config.kind {
        Kind::Tap => libc::IFF_TAP,
        Kind::Tun => libc::IFF_TUN,
    };
    if config.queues > 1 {
        flags |= libc::IFF_MULTI_QUEUE;
    }
    let fds = (0..config.queues)
        .map(|_| sys::open(&config.host_name, flags))
        .collect::<io::Result<Vec<_>>>()
        .map_err(explain)?;
    for fd in &fds {
        set_offload(fd, config)?;
    }
    let index = rtnl.link(&config.host_name)?.index;
    configure(&mut rtnl, index, config)?;
    if config.persist {
        sys::set_persistent(&fds[0], true)?;
    }
    Ok((rtnl.link_by_index(index)?, fds))
}

/// Explains the error by which the kernel refuses to open a queue.
fn explain(error: io::Error) -> io::Error {
    let text = match error.raw_os_error() {
        Some(libc::EBUSY) => "in use by another process, or open with another number of queues",
        Some(libc::EINVAL) => {
            "the interface exists and is of another kind, or has another number of queues"
        }
        Some(libc::EPERM) => "needs CAP_NET_ADMIN",
        _ => return error,
    };
    io::Error::new(error.kind(), format!("{text} ({error})"))
}

fn set_offload(fd: &OwnedFd, config: &Config) -> io::Result<()> {
    let tcp = libc::TUN_F_CSUM | libc::TUN_F_TSO4 | libc::TUN_F_TSO6 | libc::TUN_F_TSO_ECN;
    let udp = libc::TUN_F_USO4 | libc::TUN_F_USO6;
    match config {
        // kernels before 6.2 know no UDP segmentation here
        Config { gso: true, .. } => {
            sys::set_offload(fd, tcp | udp).or_else(|_| sys::set_offload(fd, tcp))
        }
        Config { csum_offload: true, .. } => sys::set_offload(fd, libc::TUN_F_CSUM),
        _ => sys::set_offload(fd, 0),
    }
}

fn configure(rtnl: &mut Rtnl, index: u32, config: &Config) -> io::Result<()> {
    if let Some(mac) = config.host_mac {
        rtnl.set_mac(index, mac).map_err(doing("host MAC address"))?;
    }
    if let Some(mtu) = config.host_mtu {
        rtnl.set_mtu(index, mtu).map_err(doing("host MTU"))?;
    }
    if let Some(len) = config.host_queue_len {
        rtnl.set_queue_len(index, len).map_err(doing("host queue length"))?;
    }
    if let Some(name) = &config.host_bridge {
        let bridge = rtnl.link(name).map_err(doing("host bridge"))?;
        rtnl.set_master(index, Some(bridge.index)).map_err(doing("host bridge"))?;
    }
    rtnl.set_admin_up(index, true)?;
    let addresses = [
        config.host_ip4.map(|(address, len)| (IpAddr::V4(address), len)),
        config.host_ip6.map(|(address, len)| (IpAddr::V6(address), len)),
    ];
    for (address, len) in addresses.into_iter().flatten() {
        match rtnl.add_address(index, address, len) {
            // a persistent interface may have kept it
            Err(error)
                if error.kind() == io::ErrorKind::AlreadyExists
                    && (config.persist || config.attach) => {}
            result => result.map_err(doing("host address"))?,
        }
    }
    if let Some(gateway) = config.host_ip4_gateway {
        rtnl.set_route(index, Ipv4Addr::UNSPECIFIED.into(), 0, gateway.into())
            .map_err(doing("host gateway"))?;
    }
    if let Some(gateway) = config.host_ip6_gateway {
        rtnl.set_route(index, Ipv6Addr::UNSPECIFIED.into(), 0, gateway.into())
            .map_err(doing("host gateway"))?;
    }
    Ok(())
}

fn doing(what: &str) -> impl FnOnce(io::Error) -> io::Error {
    move |error| io::Error::new(error.kind(), format!("{what}: {error}"))
}
