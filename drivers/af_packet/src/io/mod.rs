// SPDX-License-Identifier: Apache-2.0
//! Frames between AF_PACKET sockets and memory: knows nothing of the graph.
//!
//! Receive queues are rings shared with the kernel, several of them by a fan-out over the hash of a
//! flow; transmit queues pass a vector of frames by one system call. Both carry virtio network
//! headers, so that a TCP super-packet of 64 KiB passes in one piece with its checksum still to be
//! completed.

use std::{
    io,
    os::fd::{AsFd, OwnedFd},
    sync::Arc,
    thread,
};

use netlink::{Link, Rtnl};
use rustix::net::sockopt;

#[allow(unsafe_code)]
mod mmsg;
#[allow(unsafe_code)]
mod ring;
mod rx;
#[allow(unsafe_code)]
mod sys;
mod tx;

use mmsg::Messages;
use ring::{Geometry, Ring};
pub use rx::{MAX_FRAME, MAX_PARTS, RxCount, RxDrops, RxFrame, RxQueue, RxStats, Vlan};
pub use sys::Membership;
pub use tx::{TxBatch, TxQueue, TxReport};

/// Ring version for reception.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Version {
    /// Frame by frame.
    #[default]
    V2,
    /// Block by block: at least 1 ms later, for less processor time.
    V3,
}

/// The header that a frame begins with.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Mode {
    /// An Ethernet header.
    #[default]
    Ethernet,
    /// An IPv4 or IPv6 header: for tun and other interfaces without a link layer.
    Ip,
}

/// The settings by which a host interface is opened.
#[derive(Clone, Debug)]
pub struct Config {
    /// Name of the interface in the network namespace of the calling thread.
    pub name: String,
    /// Version of the receive rings.
    pub version: Version,
    /// Receive queues, 1 to 256.
    pub rx_queues: u16,
    /// Transmit queues, 1 to 256.
    pub tx_queues: u16,
    /// The header that frames begin with.
    pub mode: Mode,
    /// Frames that a receive queue holds, at least; 0: as many as fit in 4 MiB (version 3: 16),
    /// between 256 and 2,048.
    pub rx_frames: u32,
    /// True if frames go straight to the interface: no queueing discipline, tcpdump on the host
    /// doesn't see them, and super-packets are refused if the interface can't segment them. So
    /// it is off unless asked for; on veth it gains nothing.
    pub qdisc_bypass: bool,
}

impl Config {
    /// The defaults: one queue per direction, Ethernet, ring version 2, through the queueing
    /// discipline.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            version: Version::default(),
            rx_queues: 1,
            tx_queues: 1,
            mode: Mode::default(),
            rx_frames: 0,
            qdisc_bypass: false,
        }
    }

    /// Checks that the mode fits the interface.
    pub fn check(&self, link: &Link) -> io::Result<()> {
        let fits = match self.mode {
            Mode::Ethernet => link.is_ethernet(),
            Mode::Ip => !link.is_ethernet(),
        };
        if fits {
            return Ok(());
        }
        let Self { name, mode, .. } = self;
        let text = format!(
            "host interface {name}: hardware type {} doesn't fit the mode {mode:?}",
            link.hardware
        );
        Err(io::Error::new(io::ErrorKind::InvalidInput, text))
    }
}

/// An open host interface. Nothing of it outlives the process, however that ends.
pub struct HostInterface {
    /// The interface as it was when it was opened; [`netlink::Monitor`] reports changes.
    pub link: Link,
    /// Receive queues, each for one thread.
    pub rx: Vec<RxQueue>,
    /// Transmit queues, each for one thread.
    pub tx: Vec<TxQueue>,
    /// For the control thread.
    pub control: Control,
}

/// The control thread's access to an open interface.
#[derive(Debug)]
pub struct Control {
    fd: OwnedFd,
    index: u32,
    rx: Vec<Arc<OwnedFd>>,
    tx: Vec<OwnedFd>,
}

impl Control {
    /// Lets frames into the receive queues, as they are from the start, or not. What is in a queue
    /// already stays there.
    pub fn set_receiving(&self, receiving: bool) -> io::Result<()> {
        let set = |fd| if receiving { sys::undeafen(fd) } else { sys::deafen(fd) };
        self.rx.iter().try_for_each(|fd| match set(fd) {
            // It hears already.
            Err(error) if receiving && error.raw_os_error() == Some(libc::ENOENT) => Ok(()),
            result => result,
        })
    }

    /// Lets the interface accept more than frames to its own address. Memberships are counted: each
    /// that was added has to be dropped once; closing the interface drops all.
    pub fn membership(&self, membership: Membership, add: bool) -> io::Result<()> {
        sys::membership(&self.fd, self.index, membership, add)
    }

    /// See [`Config::qdisc_bypass`].
    pub fn set_qdisc_bypass(&self, bypass: bool) -> io::Result<()> {
        self.tx.iter().try_for_each(|fd| sys::set(fd, libc::PACKET_QDISC_BYPASS, i32::from(bypass)))
    }
}

impl HostInterface {
    /// Opens the interface. It need not be up.
    pub fn open(config: &Config) -> io::Result<Self> {
        open(config).map_err(|error| {
            io::Error::new(error.kind(), format!("host interface {}: {error}", config.name))
        })
    }
}

fn open(config: &Config) -> io::Result<HostInterface> {
    if !(1..=256).contains(&config.rx_queues) || !(1..=256).contains(&config.tx_queues) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "1 to 256 queues"));
    }
    let link = Rtnl::new()?.link(&config.name).map_err(|error| match error.raw_os_error() {
        Some(libc::ENODEV) => io::Error::new(io::ErrorKind::NotFound, error.to_string()),
        _ => error,
    })?;
    config.check(&link)?;
    let rx = open_rx(config, &link)?;
    let tx =
        (0..config.tx_queues).map(|_| open_tx(config, &link)).collect::<io::Result<Vec<_>>>()?;
    let tx_fds =
        tx.iter().map(|queue| queue.as_fd().try_clone_to_owned()).collect::<io::Result<_>>()?;
    let rx_fds = rx.iter().map(RxQueue::shared).collect();
    let control = Control { fd: socket()?, index: link.index, rx: rx_fds, tx: tx_fds };
    Ok(HostInterface { link, rx, tx, control })
}

fn socket() -> io::Result<OwnedFd> {
    sys::socket().map_err(|error| match error.kind() {
        io::ErrorKind::PermissionDenied => {
            io::Error::new(error.kind(), "AF_PACKET sockets need CAP_NET_RAW")
        }
        _ => error,
    })
}

/// Receive queues that are opened at the same time. The kernel takes 14 ms for each, most of which
/// it waits.
const AT_ONCE: u16 = 32;

/// Opens all receive queues, and lets frames in when all are there.
fn open_rx(config: &Config, link: &Link) -> io::Result<Vec<RxQueue>> {
    let mut fanout = None;
    let mut queues = Vec::new();
    while let left @ 1.. = config.rx_queues - queues.len() as u16 {
        for (fd, ring) in open_rings(left.min(AT_ONCE), config, link)? {
            if config.rx_queues > 1 {
                join(&fd, &mut fanout)?;
            }
            queues.push((Arc::new(fd), ring));
        }
    }
    queues.iter().try_for_each(|(fd, _)| sys::undeafen(fd))?;
    Ok(queues.into_iter().map(|(fd, ring)| RxQueue::new(fd, ring)).collect())
}

/// Opens sockets with their rings, side by side.
fn open_rings(count: u16, config: &Config, link: &Link) -> io::Result<Vec<(OwnedFd, Ring)>> {
    thread::scope(|scope| {
        let open = |_| thread::Builder::new().spawn_scoped(scope, || open_ring(config, link));
        let others = (1..count).map(open).collect::<io::Result<Vec<_>>>()?;
        let first = open_ring(config, link);
        let all = others.into_iter().map(|other| other.join().expect("no panic inside"));
        std::iter::once(first).chain(all).collect()
    })
}

/// Opens a socket with its ring. It hears nothing yet.
fn open_ring(config: &Config, link: &Link) -> io::Result<(OwnedFd, Ring)> {
    let fd = socket()?;
    sys::set(&fd, libc::PACKET_VNET_HDR, 1)?;
    // Unknown to kernels before 4.20; `recv` sorts the frames out.
    let _ = sys::set(&fd, libc::PACKET_IGNORE_OUTGOING, 1);
    // Frames that don't fit in a slot wait in the socket instead of losing their tail.
    sys::set(&fd, libc::PACKET_COPY_THRESH, 1)?;
    set_buffer(&fd, SOCKET_BUFFER, Direction::Receive)?;
    let ring = match config.version {
        Version::V2 => Ring::v2(fd.as_fd(), v2_geometry(link.mtu, config.rx_frames))?,
        Version::V3 => {
            Ring::v3(fd.as_fd(), v3_geometry(link.mtu, config.rx_frames), BLOCK_TIMEOUT_MS)?
        }
    };
    // Each socket would get every frame until it shares them with the others.
    sys::deafen(&fd)?;
    sys::bind(&fd, link.index, libc::ETH_P_ALL as u16)?;
    Ok((fd, ring))
}

/// Makes the socket share frames with the sockets of the group `id`, by the hash of their flow. The
/// first one creates it.
fn join(fd: &OwnedFd, id: &mut Option<u16>) -> io::Result<()> {
    let kind = libc::PACKET_FANOUT_HASH | libc::PACKET_FANOUT_FLAG_IGNORE_OUTGOING;
    let argument = |id: u16, kind: u32| (kind << 16 | u32::from(id)) as i32;
    match *id {
        Some(id) => sys::set(fd, libc::PACKET_FANOUT, argument(id, kind)),
        None => {
            sys::set(
                fd,
                libc::PACKET_FANOUT,
                argument(0, kind | libc::PACKET_FANOUT_FLAG_UNIQUEID),
            )?;
            *id = Some(sys::get(fd, libc::PACKET_FANOUT, 0i32)? as u16);
            Ok(())
        }
    }
}

fn open_tx(config: &Config, link: &Link) -> io::Result<TxQueue> {
    let fd = socket()?;
    sys::set(&fd, libc::PACKET_VNET_HDR, 1)?;
    sys::set(&fd, libc::PACKET_QDISC_BYPASS, i32::from(config.qdisc_bypass))?;
    set_buffer(&fd, SOCKET_BUFFER, Direction::Send)?;
    sys::bind(&fd, link.index, 0)?;
    // Without a link layer header nothing in the frame tells the kernel the protocol.
    let addresses = (config.mode == Mode::Ip).then(|| {
        [libc::ETH_P_IP, libc::ETH_P_IPV6].map(|protocol| sys::address(link.index, protocol as u16))
    });
    Ok(TxQueue::new(fd, Messages::new(addresses)))
}

/// Room for long frames that wait in a socket: 16 MiB is some 200 super-packets, used only while
/// they wait.
const SOCKET_BUFFER: usize = 16 << 20;

/// The shortest time after which the kernel hands over a block that isn't full.
const BLOCK_TIMEOUT_MS: u32 = 1;

enum Direction {
    Receive,
    Send,
}

/// Sets the socket's buffer beyond the host's limit if that is permitted (CAP_NET_ADMIN), else up
/// to it.
fn set_buffer(fd: &OwnedFd, size: usize, direction: Direction) -> io::Result<()> {
    Ok(match direction {
        Direction::Receive => sockopt::set_socket_recv_buffer_size_force(fd, size)
            .or_else(|_| sockopt::set_socket_recv_buffer_size(fd, size)),
        Direction::Send => sockopt::set_socket_send_buffer_size_force(fd, size)
            .or_else(|_| sockopt::set_socket_send_buffer_size(fd, size)),
    }?)
}

/// Bytes of a slot that aren't the frame: `tpacket2_hdr`, `sockaddr_ll`, padding, virtio header; an
/// Ethernet header and two tags beside the MTU.
const SLOT_OVERHEAD: u32 = 128;

/// The slot holds a frame of the interface's MTU. Longer ones (an MTU above 16 KiB, segmentation
/// offload) pass through the socket.
fn v2_geometry(mtu: u32, frames: u32) -> Geometry {
    const BLOCK: u32 = 256 << 10;
    let slot = (mtu.clamp(1500, 16 << 10) + SLOT_OVERHEAD).next_multiple_of(128);
    let frames =
        if frames == 0 { ((4 << 20) / slot).clamp(256, 2048) } else { frames.min(1 << 20) };
    Geometry { block: BLOCK, blocks: frames.div_ceil(BLOCK / slot), slot }
}

/// A block holds three super-packets, and they can't wait anywhere else: there are 16 MiB unless
/// asked otherwise, and at least four blocks.
fn v3_geometry(mtu: u32, frames: u32) -> Geometry {
    const BLOCK: u32 = 256 << 10;
    let Geometry { slot, blocks, .. } = v2_geometry(mtu, frames);
    Geometry { block: BLOCK, blocks: blocks.max(if frames == 0 { 64 } else { 4 }), slot }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    #[suite::test]
    fn geometry_fits() {
        for mtu in [0, 68, 1500, 9000, 65_535, u32::MAX / 2] {
            for frames in [0, 1, 1000, u32::MAX] {
                for geometry in [v2_geometry(mtu, frames), v3_geometry(mtu, frames)] {
                    let Geometry { block, blocks, slot } = geometry;
                    assert!(slot.is_multiple_of(16) && block.is_multiple_of(4096) && slot <= block);
                    assert!(slot >= mtu.min(16 << 10) + 100, "{geometry:?}");
                    assert!(blocks * (block / slot) >= frames.clamp(1, 1 << 20), "{geometry:?}");
                }
            }
        }
        assert!(v2_geometry(1500, 0).blocks * (256 << 10) <= 4 << 20);
    }

    #[suite::test]
    fn errors_name_the_interface() {
        let error = HostInterface::open(&Config::new("nosuchif")).err().unwrap();
        assert!(
            error.to_string().starts_with("host interface nosuchif: No such device"),
            "{error}"
        );
        let none = Config { rx_queues: 0, ..Config::new("lo") };
        assert_eq!(HostInterface::open(&none).err().unwrap().kind(), io::ErrorKind::InvalidInput);
    }
}
