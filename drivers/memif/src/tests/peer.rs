// SPDX-License-Identifier: Apache-2.0
//! The other end of a connection, in the test's own process.

use crate::io::rx::NextPacket;
use crate::io::{Layout, Ring, RxRing, TxRing};
use crate::proto::{
    Channel, Client, End, Hello, Message, Received, Reply, RequestedParameters, SECRET, Server,
    Step, VERSION,
};
use crate::socket::Address;
use driver::Loss;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{SocketFlags, accept_with};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use wire::offload::Offload;

/// Time that anything may take.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// A folder for sockets that ends with the value.
pub struct Dir(PathBuf);

impl Dir {
    pub fn new(name: &str) -> Self {
        let dir =
            std::env::temp_dir().join(format!("ferrovia-memif-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&dir).expect("a folder");
        Self(dir)
    }

    pub fn address(&self, name: &str) -> Address {
        Address::parse(&self.path(name), Path::new("/")).expect("a name")
    }

    pub fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The next message, or that the other end has closed.
pub fn next(channel: &Channel) -> Option<(Message, Option<OwnedFd>)> {
    let limit = Instant::now() + PATIENCE;
    loop {
        match channel.receive() {
            Received::Message(message, fd) => return Some((message, fd)),
            Received::Closed => return None,
            Received::Malformed(why) => panic!("{why}"),
            Received::Nothing => {
                assert!(Instant::now() < limit, "no message came");
                wait(channel.as_fd());
            }
        }
    }
}

fn wait(fd: std::os::fd::BorrowedFd<'_>) {
    let limit = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
    let _ = poll(&mut [PollFd::new(&fd, PollFlags::IN)], Some(&limit));
}

pub fn secret(text: &str) -> [u8; SECRET] {
    let mut bytes = [0; SECRET];
    bytes[..text.len()].copy_from_slice(text.as_bytes());
    bytes
}

pub fn wanted(id: u32, layout: Layout) -> RequestedParameters {
    RequestedParameters { id, mode: 0, secret: [0; SECRET], layout, interface: format!("peer{id}") }
}

pub fn hello() -> Hello {
    Hello {
        name: "peer".into(),
        min_version: VERSION,
        max_version: VERSION,
        max_region: 255,
        max_m2s: 255,
        max_s2m: 255,
        max_log2: 14,
    }
}

/// A peer that is connected.
pub struct Peer {
    pub channel: Channel,
    pub rx: Vec<RxRing>,
    pub tx: Vec<TxRing>,
    pub link: crate::proto::Link,
}

impl Peer {
    /// Connects to a server.
    pub fn client(address: &Address, wanted: RequestedParameters) -> Result<Self, End> {
        let limit = Instant::now() + PATIENCE;
        let fd = loop {
            match address.connect() {
                Ok(fd) => break fd,
                Err(error) => assert!(Instant::now() < limit, "{address}: {error}"),
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        let (channel, mut client) = (Channel::new(fd), Client::new(wanted));
        loop {
            let Some((message, _)) = next(&channel) else { return Err(End::Peer("closed".into())) };
            match client.step(message)? {
                // The server may have closed it already: its reason is read next.
                Step::Send(message, fd) => drop(channel.send(&message, fd)),
                Step::Connected(link) => {
                    let (rx, tx) = link.client_rings();
                    return Ok(Self { channel, rx, tx, link: *link });
                }
            }
        }
    }

    /// Accepts a client at a listener.
    pub fn server(listener: &OwnedFd) -> Self {
        let fd = loop {
            match accept_with(listener, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK) {
                Ok(fd) => break fd,
                Err(_) => wait(listener.as_fd()),
            }
        };
        let (channel, mut server) = (Channel::new(fd), Server::default());
        channel.send(&Message::Hello(hello()), None).expect("sent");
        loop {
            let (message, fd) = next(&channel).expect("the client goes on");
            match server.step(message, fd, |_| Ok(())).expect("the client speaks the protocol") {
                Reply::Ack => channel.send(&Message::Ack, None).expect("sent"),
                Reply::Connected(link) => {
                    let (rx, tx) = link.server_rings();
                    channel.send(&Message::Connected("peer".into()), None).expect("sent");
                    return Self { channel, rx, tx, link: *link };
                }
            }
        }
    }

    /// The first ring that it sends by.
    pub fn ring_sent(&self) -> Sent {
        let is_client = self.link.s2m.first().is_some_and(|info| info.own.is_some());
        let rings = if is_client { &self.link.s2m } else { &self.link.m2s };
        Sent { ring: rings[0].ring.clone(), is_client }
    }

    /// Sends frames, each in two pieces; gives those that weren't sent.
    pub fn send(&mut self, ring: usize, frames: &[Vec<u8>]) -> Vec<(usize, Loss)> {
        let mut lost = Vec::new();
        let pieces = frames.iter().map(|frame| {
            let (a, b) = frame.split_at(frame.len() / 3);
            (Offload::NONE, [a, b].into_iter())
        });
        self.tx[ring].send(pieces, |n, loss| lost.push((n, loss)));
        lost
    }

    /// All packets that wait in any ring.
    pub fn take(&mut self) -> Vec<Vec<u8>> {
        self.rx.iter_mut().flat_map(take).collect()
    }

    /// All packets that wait in one ring.
    pub fn take_from(&mut self, ring: usize) -> Vec<Vec<u8>> {
        self.rx.get_mut(ring).map(take).unwrap_or_default()
    }

    /// Receives until so many packets are there.
    pub fn receive(&mut self, count: usize) -> Vec<Vec<u8>> {
        let (mut all, limit) = (Vec::new(), Instant::now() + PATIENCE);
        while all.len() < count {
            assert!(Instant::now() < limit, "{} of {count} packets came", all.len());
            let now = self.take();
            if now.is_empty() {
                std::thread::sleep(Duration::from_millis(1));
            }
            all.extend(now);
        }
        all
    }
}

/// A ring that a peer sends by.
pub struct Sent {
    ring: Ring,
    is_client: bool,
}

impl Sent {
    /// Returns true if everything that was sent was taken: a client's full buffers are consumed, a
    /// server's are offered again.
    pub fn is_taken(&self) -> bool {
        let between = self.ring.head().wrapping_sub(self.ring.tail());
        between == if self.is_client { 0 } else { self.ring.size() }
    }
}

/// All packets that wait in a ring.
pub fn take(ring: &mut RxRing) -> Vec<Vec<u8>> {
    let (waiting, mut all) = (ring.waiting(), Vec::new());
    loop {
        let found = ring.look(waiting);
        match found {
            NextPacket::Nothing => break,
            NextPacket::Packet { len, .. } => {
                let mut packet = vec![0; len];
                // In pieces, as into buffers.
                ring.copy(packet.chunks_mut(2048));
                all.push(packet);
            }
            NextPacket::Bad { .. } | NextPacket::Rest { .. } => {}
        }
        ring.take(found);
    }
    ring.give_back();
    all
}
