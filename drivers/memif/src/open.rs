// SPDX-License-Identifier: Apache-2.0
//! Connections for programs without a graph, such as testers: a socket that takes a client, and two
//! ends in one process. Queues copy packets from and to the shared memory.

use crate::io::rx::NextPacket;
use crate::io::{Layout, RxRing, SharedTx, TxRing};
use crate::proto::{
    Channel, Client, End, Hello, Init, Message, Received, Reply, RequestedParameters, SECRET,
    Server, Step,
};
use crate::socket::Address;
use buffer::MAX_PACKET;
use driver::Loss;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, accept_with, socketpair};
use std::io::{self, ErrorKind};
use std::iter;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};
use wire::offload::Offload;

/// An end of a connection whose handshake is complete.
pub struct Memif {
    /// Queues that receive.
    pub rx: Vec<RxQueue>,
    /// Queues that send.
    pub tx: Vec<TxQueue>,
    /// The connection: it ends with this value. Queues stay usable, but nobody is at the other end.
    pub connection: Connection,
}

impl Memif {
    fn new((rx, tx): (Vec<RxRing>, Vec<TxRing>), channel: Channel) -> Self {
        Self {
            rx: rx.into_iter().map(RxQueue::new).collect(),
            tx: tx.into_iter().map(|ring| TxQueue(SharedTx::new(ring))).collect(),
            connection: Connection(channel),
        }
    }
}

/// The socket of a connection. It is readable when the peer has ended the connection.
pub struct Connection(Channel);

impl Connection {
    /// True if the peer has ended the connection, or broken the protocol.
    pub fn is_over(&self) -> bool {
        // Nothing follows a complete handshake but the end.
        !matches!(self.0.receive(), Received::Nothing)
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// A queue that receives. The peer raises events only while [`RxQueue::wait`] runs.
pub struct RxQueue {
    pub(crate) ring: RxRing,
    packet: Box<[u8]>,
}

impl RxQueue {
    fn new(mut ring: RxRing) -> Self {
        ring.set_interrupts(false);
        Self { ring, packet: vec![0; MAX_PACKET].into() }
    }

    /// Hands over a copy of each packet that has arrived, at most `max` of them; returns their
    /// number. Never waits.
    #[inline]
    pub fn recv(&mut self, max: usize, mut f: impl FnMut(&[u8])) -> usize {
        let Self { ring, packet } = self;
        let (waiting, mut count) = (ring.waiting(), 0);
        while count < max {
            let found = ring.look(waiting);
            match found {
                NextPacket::Nothing => break,
                NextPacket::Packet { len, .. } => {
                    // A ring takes no longer packet than this.
                    if let Some(bytes) = packet.get_mut(..len) {
                        ring.copy(iter::once(&mut *bytes));
                        f(bytes);
                        count += 1;
                    }
                }
                NextPacket::Bad { .. } | NextPacket::Rest { .. } => {}
            }
            ring.take(found);
        }
        ring.give_back();
        count
    }

    /// Waits until packets are there, at most for this time.
    ///
    /// # Errors
    /// Of poll(2), a signal too.
    pub fn wait(&mut self, time: &Timespec) -> io::Result<()> {
        self.ring.set_interrupts(true);
        // Packets that came before the peer could see that raise no event.
        let result = match self.ring.waiting() {
            0 => poll(&mut [PollFd::new(&self.ring, PollFlags::IN)], Some(time)).map(drop),
            _ => Ok(()),
        };
        self.ring.set_interrupts(false);
        Ok(result?)
    }
}

/// A queue that sends. Copies of it share the ring: a thread waits while another one sends a batch.
#[derive(Clone)]
pub struct TxQueue(SharedTx);

/// Frames of a batch that weren't sent.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct TxReport {
    /// The peer had no room for them.
    pub full: usize,
    /// Frames that no ring takes: empty, or too long.
    pub refused: usize,
}

impl TxQueue {
    /// Sends frames; the peer sees all of them at once. Never waits for the peer.
    #[inline]
    pub fn send<'d>(&mut self, frames: impl Iterator<Item = &'d [u8]>) -> TxReport {
        let mut report = TxReport::default();
        let frames = frames.map(|frame| (Offload::NONE, iter::once(frame)));
        self.0.send(frames, |_, loss| match loss {
            Loss::Full => report.full += 1,
            _ => report.refused += 1,
        });
        report
    }
}

/// A server's socket, for the client of one interface of Ethernet frames.
pub struct Listener {
    fd: OwnedFd,
    id: u32,
    name: String,
}

impl Listener {
    /// Listens at a path, or at `abstract:NAME`: a name in the network namespace of the calling
    /// thread that is gone when the socket is gone. Clients ask for interface `id`, and get to know
    /// it by its name.
    ///
    /// # Errors
    /// An address that is none; another process listens there; the system's.
    pub fn bind(socket: &str, id: u32, name: &str) -> io::Result<Self> {
        let address = Address::parse(socket, Path::new(""))
            .map_err(|error| io::Error::new(ErrorKind::InvalidInput, error.to_string()))?;
        Ok(Self { fd: address.listen()?, id, name: name.into() })
    }

    /// Takes the next client, if one waits, by a handshake of at most this time.
    ///
    /// # Errors
    /// The client breaks the protocol, asks for something else, or is too slow; the system's.
    pub fn accept(&self, patience: Duration) -> io::Result<Option<Memif>> {
        let channel = match accept_with(&self.fd, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK) {
            Ok(fd) => Channel::new(fd),
            Err(Errno::AGAIN | Errno::INTR | Errno::CONNABORTED) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let limit = Instant::now() + patience;
        channel.send(&Message::Hello(Hello::ours()), None)?;
        let mut server = Server::default();
        loop {
            let (message, fd) = next(&channel, limit)?;
            match server.step(message, fd, |init| self.admit(init)) {
                Ok(Reply::Ack) => channel.send(&Message::Ack, None)?,
                Ok(Reply::Connected(link)) => {
                    let rings = link.server_rings();
                    channel.send(&Message::Connected(self.name.as_str().into()), None)?;
                    return Ok(Some(Memif::new(rings, channel)));
                }
                Err(end) => {
                    if let End::Refuse(text) = &end {
                        let text = text.as_str().into();
                        // A peer that is gone needs no reason.
                        let _ = channel.send(&Message::Disconnect { code: 0, text }, None);
                    }
                    return Err(failure(end));
                }
            }
        }
    }

    fn admit(&self, init: &Init) -> Result<(), String> {
        match init {
            Init { id, .. } if *id != self.id => Err("unmatched interface id".into()),
            Init { mode: 0, .. } => Ok(()),
            _ => Err("mode mismatch".into()),
        }
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Two ends in this process that are connected to each other, with a ring of `1 << log2`
/// descriptors, 2^14 at most, and buffers of so many bytes in each direction. The first one is the
/// client.
///
/// # Errors
/// The system's.
pub fn pair(log2: u8, buffer: u16) -> io::Result<[Memif; 2]> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let (near, far) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
    let (near, far) = (Channel::new(near), Channel::new(far));
    let layout = Layout { s2m: 1, m2s: 1, log2, buffer: buffer.into() };
    let interface = "pair".to_string();
    let mut client =
        Client::new(RequestedParameters { id: 0, mode: 0, secret: [0; SECRET], layout, interface });
    let (mut server, mut served) = (Server::default(), None);
    // Each message is answered by one, so none is waited for.
    let now = Instant::now();
    far.send(&Message::Hello(Hello::ours()), None)?;
    loop {
        match client.step(next(&near, now)?.0).map_err(failure)? {
            Step::Send(message, fd) => near.send(&message, fd)?,
            Step::Connected(link) => {
                let rings = served.ok_or_else(|| failure(End::refuse("unexpected message")))?;
                return Ok([Memif::new(link.client_rings(), near), Memif::new(rings, far)]);
            }
        }
        let (message, fd) = next(&far, now)?;
        match server.step(message, fd, |_| Ok(())).map_err(failure)? {
            Reply::Ack => far.send(&Message::Ack, None)?,
            Reply::Connected(link) => {
                served = Some(link.server_rings());
                far.send(&Message::Connected("pair".into()), None)?;
            }
        }
    }
}

type ReceivedMessage = (Message, Option<OwnedFd>);

/// The next message of a handshake.
fn next(channel: &Channel, limit: Instant) -> io::Result<ReceivedMessage> {
    loop {
        match channel.receive() {
            Received::Message(message, fd) => return Ok((message, fd)),
            Received::Closed => return Err(failure(End::Peer("closed".into()))),
            Received::Malformed(text) => return Err(io::Error::new(ErrorKind::InvalidData, text)),
            Received::Nothing => {}
        }
        let left = limit.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::Error::new(
                ErrorKind::TimedOut,
                "the peer doesn't go on with the handshake",
            ));
        }
        let time = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() };
        // A signal changes nothing: the time that is left is known.
        let _ = poll(&mut [PollFd::new(channel, PollFlags::IN)], Some(&time));
    }
}

fn failure(end: End) -> io::Error {
    match end {
        End::Refuse(text) | End::Silent(text) => io::Error::new(ErrorKind::InvalidData, text),
        End::Peer(text) => {
            let text = format!("the peer has ended the connection: {text}");
            io::Error::new(ErrorKind::ConnectionReset, text)
        }
    }
}
