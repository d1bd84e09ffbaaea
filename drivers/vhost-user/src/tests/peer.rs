// SPDX-License-Identifier: Apache-2.0
//! A front-end and its guest, in the test's own process.

use super::ring::{GuestRing, Layout};
use crate::io::{Event, InflightInfo, Memory, Region, RegionInfo};
use crate::proto::{Features, Message, Protocol, Request};
use crate::socket;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, accept_with, recvmsg, sendmsg,
};
use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Time that anything may take.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// A folder for sockets that ends with the value.
pub struct Dir(PathBuf);

impl Dir {
    pub fn new(name: &str) -> Self {
        let dir =
            std::env::temp_dir().join(format!("ferrovia-vhost-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&dir).expect("a folder");
        Self(dir)
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

/// Waits for a condition.
#[track_caller]
pub fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let limit = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < limit, "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// A message with this request.
pub fn message(request: Request) -> Message {
    use crate::proto::Kind;
    let kind = match &request {
        Request::GetFeatures => Kind::GetFeatures,
        Request::SetFeatures(_) => Kind::SetFeatures,
        Request::SetOwner => Kind::SetOwner,
        Request::ResetOwner => Kind::ResetOwner,
        Request::SetMemTable(_) => Kind::SetMemTable,
        Request::SetLogBase { .. } => Kind::SetLogBase,
        Request::SetLogFd => Kind::SetLogFd,
        Request::SetVringNum { .. } => Kind::SetVringNum,
        Request::SetVringAddr { .. } => Kind::SetVringAddr,
        Request::SetVringBase { .. } => Kind::SetVringBase,
        Request::GetVringBase { .. } => Kind::GetVringBase,
        Request::SetVringKick { .. } => Kind::SetVringKick,
        Request::SetVringCall { .. } => Kind::SetVringCall,
        Request::SetVringErr { .. } => Kind::SetVringErr,
        Request::GetProtocolFeatures => Kind::GetProtocolFeatures,
        Request::SetProtocolFeatures(_) => Kind::SetProtocolFeatures,
        Request::GetQueueNum => Kind::GetQueueNum,
        Request::SetVringEnable { .. } => Kind::SetVringEnable,
        Request::GetInflightFd { .. } => Kind::GetInflightFd,
        Request::SetInflightFd(_) => Kind::SetInflightFd,
    };
    Message { kind, request, needs_reply: false }
}

/// A front-end's end of a connection.
pub struct FrontEnd(pub OwnedFd);

impl FrontEnd {
    pub fn connect(path: &str) -> Self {
        let limit = Instant::now() + PATIENCE;
        loop {
            match socket::connect_to(path) {
                Ok(fd) => return Self(fd),
                Err(error) => assert!(Instant::now() < limit, "{path}: {error}"),
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    pub fn accept(listener: &OwnedFd) -> Self {
        let limit = Instant::now() + PATIENCE;
        loop {
            match accept_with(listener, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK) {
                Ok(fd) => return Self(fd),
                Err(error) => assert!(Instant::now() < limit, "{error}"),
            }
            wait(listener.as_fd());
        }
    }

    pub fn send_bytes(&self, bytes: &[u8], fds: &[BorrowedFd<'_>]) {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(16))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        if !fds.is_empty() {
            assert!(control.push(SendAncillaryMessage::ScmRights(fds)));
        }
        let sent = sendmsg(&self.0, &[IoSlice::new(bytes)], &mut control, SendFlags::NOSIGNAL);
        assert_eq!(sent, Ok(bytes.len()));
    }

    pub fn send(&self, request: Request, fds: &[BorrowedFd<'_>]) {
        self.send_bytes(&message(request).encode(), fds);
    }

    /// Sends a request that asks for a reply, and waits for it.
    pub fn send_acked(&self, request: Request, fds: &[BorrowedFd<'_>]) {
        let message = Message { needs_reply: true, ..message(request) };
        self.send_bytes(&message.encode(), fds);
        assert_eq!(self.reply(), (message.kind as u32, 0));
    }

    /// The next reply: number and word.
    pub fn reply(&self) -> (u32, u64) {
        let bytes = self.read().expect("a reply");
        let word = |at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().expect("four"));
        assert_eq!((word(4), word(8)), (5, 8), "version 1, a reply of eight bytes");
        (word(0), u64::from_ne_bytes(bytes[12..].try_into().expect("eight")))
    }

    /// The bytes of a reply; `None` if the other end has closed.
    pub fn read(&self) -> Option<[u8; 20]> {
        let (mut bytes, mut len) = ([0; 20], 0);
        let limit = Instant::now() + PATIENCE;
        while len < bytes.len() {
            match rustix::io::read(&self.0, &mut bytes[len..]) {
                Ok(0) | Err(rustix::io::Errno::CONNRESET) => return None,
                Ok(n) => len += n,
                Err(rustix::io::Errno::AGAIN) => wait(self.0.as_fd()),
                Err(error) => panic!("{error}"),
            }
            assert!(Instant::now() < limit, "no reply came");
        }
        Some(bytes)
    }

    /// Asks for a log of chains in flight.
    pub fn ask_inflight(&self, queues: u16, queue_size: u16) -> (InflightInfo, OwnedFd) {
        self.send(Request::GetInflightFd { queues, queue_size, padded: true }, &[]);
        wait(self.0.as_fd());
        let mut bytes = [0; 36];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let mut slices = [IoSliceMut::new(&mut bytes)];
        let got = recvmsg(&self.0, &mut slices, &mut control, RecvFlags::CMSG_CLOEXEC);
        assert_eq!(got.expect("a reply").bytes, 36);
        let mut fds = control.drain().flat_map(|message| match message {
            RecvAncillaryMessage::ScmRights(rights) => rights.collect::<Vec<_>>(),
            _ => Vec::new(),
        });
        let (fd, other) = (fds.next().expect("a descriptor"), fds.next());
        assert!(other.is_none(), "one descriptor");
        assert_eq!(bytes[..12], [31u32, 5, 24].map(u32::to_ne_bytes).concat());
        let word = |at: usize| u64::from_ne_bytes(bytes[at..at + 8].try_into().expect("eight"));
        assert_eq!(bytes[28..32], [queues, queue_size].map(u16::to_ne_bytes).concat());
        (InflightInfo { size: word(12), offset: word(20), queues, queue_size }, fd)
    }

    pub fn ask(&self, request: Request) -> u64 {
        self.send(request, &[]);
        self.reply().1
    }
}

fn wait(fd: BorrowedFd<'_>) {
    let limit = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
    let _ = poll(&mut [PollFd::new(&fd, PollFlags::IN)], Some(&limit));
}

/// The guest's memory: two regions, one behind the other for the guest but not for the front-end.
pub const REGION: u64 = 4 << 20;
const USER: [u64; 2] = [0x7f00_0000_0000, 0x7e00_0000_0000];
const GUEST: u64 = 0x10_0000;

/// The guest's memory with its files.
pub struct GuestMemory {
    pub memory: Arc<Memory>,
    pub files: Vec<OwnedFd>,
}

impl GuestMemory {
    pub fn new() -> Self {
        let files: Vec<_> = USER.iter().map(|_| file(REGION)).collect();
        let regions = files.iter().zip(Self::infos());
        let regions = regions.map(|(file, info)| Region::open(file, info, None));
        let regions = regions.collect::<Result<Vec<_>, _>>().expect("mapped");
        Self { memory: Memory::new(regions).expect("apart"), files }
    }

    pub fn infos() -> Vec<RegionInfo> {
        let info = |(n, user): (usize, &u64)| {
            let guest = GUEST + n as u64 * REGION;
            RegionInfo { guest, size: REGION, user: *user, offset: 0 }
        };
        USER.iter().enumerate().map(info).collect()
    }

    /// The guest's address of an offset, over both regions.
    pub fn guest(at: u64) -> u64 {
        GUEST + at
    }

    /// The front-end's.
    pub fn user(at: u64) -> u64 {
        USER[(at / REGION) as usize] + at % REGION
    }
}

/// A file of memory.
pub fn file(len: u64) -> OwnedFd {
    let fd = memfd_create("guest", MemfdFlags::CLOEXEC).expect("a memfd");
    ftruncate(&fd, len).expect("grows");
    fd
}

/// Features and rings that a guest uses.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    pub features: Features,
    pub pairs: u32,
    pub size: u16,
    pub layout: Layout,
}

/// Features of a guest without offloads.
pub fn plain() -> Features {
    Features::MRG_RXBUF
        | Features::MQ
        | Features::INDIRECT_DESC
        | Features::PROTOCOL_FEATURES
        | Features::VERSION_1
}

/// A guest that is connected.
pub struct Guest {
    pub front: FrontEnd,
    pub memory: GuestMemory,
    pub wanted: Wanted,
    /// The rings by which it receives, then those by which it sends.
    pub rx: Vec<GuestRing>,
    pub tx: Vec<GuestRing>,
    /// Chains in flight are logged there.
    pub log: Option<(InflightInfo, OwnedFd)>,
}

impl Guest {
    /// Takes the connection into use.
    pub fn new(front: FrontEnd, wanted: Wanted) -> Self {
        Self::begin(&front, wanted);
        let memory = GuestMemory::new();
        let mut guest = Self { front, memory, wanted, rx: Vec::new(), tx: Vec::new(), log: None };
        guest.begin_rings();
        guest
    }

    /// As [`Self::new`], with a log of chains in flight.
    pub fn logged(front: FrontEnd, wanted: Wanted) -> Self {
        Self::begin(&front, wanted);
        let memory = GuestMemory::new();
        let log = Some(front.ask_inflight(2 * wanted.pairs as u16, wanted.size));
        let mut guest = Self { front, memory, wanted, rx: Vec::new(), tx: Vec::new(), log };
        guest.begin_rings();
        guest
    }

    /// The other end has come back: its rings go on.
    pub fn again(&mut self, front: FrontEnd) {
        Self::begin(&front, self.wanted);
        self.front = front;
        self.send_memory();
        self.send_log();
        self.rx.iter().chain(&self.tx).for_each(|ring| self.start(ring, None));
        self.enable(true);
        // Kicks that the dead end has read are lost.
        self.tx.iter().for_each(|ring| ring.kick.raise());
    }

    fn begin(front: &FrontEnd, wanted: Wanted) {
        let offered = Features::from_bits_retain(front.ask(Request::GetFeatures));
        assert!(offered.contains(wanted.features), "{offered}");
        if wanted.features.contains(Features::PROTOCOL_FEATURES) {
            let protocol = Protocol::from_bits_retain(front.ask(Request::GetProtocolFeatures));
            assert_eq!(protocol, Protocol::OFFERED);
            front.send(Request::SetProtocolFeatures(protocol.bits()), &[]);
            assert_eq!(front.ask(Request::GetQueueNum), 128);
            front.send_acked(Request::SetOwner, &[]);
        }
        front.send(Request::SetFeatures(wanted.features.bits()), &[]);
    }

    fn begin_rings(&mut self) {
        let wanted = self.wanted;
        let guest = self;
        guest.send_memory();
        guest.send_log();
        for index in 0..2 * wanted.pairs {
            let ring = GuestRing::new(
                guest.memory.memory.clone(),
                index,
                wanted.size,
                wanted.features,
                wanted.layout,
            );
            guest.start(&ring, None);
            let rings = if index % 2 == 0 { &mut guest.rx } else { &mut guest.tx };
            rings.push(ring);
        }
        guest.rx.iter_mut().for_each(GuestRing::offer);
        guest.enable(true);
    }

    fn send_log(&self) {
        if let Some((info, fd)) = &self.log {
            self.front.send(Request::SetInflightFd(*info), &[fd.as_fd()]);
        }
    }

    pub fn send_memory(&self) {
        let fds: Vec<_> = self.memory.files.iter().map(AsFd::as_fd).collect();
        self.front.send(Request::SetMemTable(GuestMemory::infos()), &fds);
    }

    /// Starts a ring, where it was or at its start.
    pub fn start(&self, ring: &GuestRing, base: Option<u32>) {
        let (index, front) = (ring.index, &self.front);
        let packed = self.wanted.features.contains(Features::RING_PACKED);
        front.send(Request::SetVringNum { index, num: self.wanted.size.into() }, &[]);
        let num = base.unwrap_or(if packed { 1 << 15 } else { 0 });
        front.send(Request::SetVringBase { index, num }, &[]);
        let [desc, avail, used] = ring.addresses();
        front.send(Request::SetVringAddr { index, desc, used, avail }, &[]);
        front.send(Request::SetVringCall { index, has_fd: true }, &[ring.call.as_fd()]);
        front.send(Request::SetVringKick { index, has_fd: true }, &[ring.kick.as_fd()]);
    }

    /// Stops a ring; returns where it was.
    pub fn stop(&self, index: u32) -> u32 {
        let word = self.front.ask(Request::GetVringBase { index });
        let [a, b, c, d, e, f, g, h] = word.to_ne_bytes();
        assert_eq!(u32::from_ne_bytes([a, b, c, d]), index);
        u32::from_ne_bytes([e, f, g, h])
    }

    pub fn enable(&self, enable: bool) {
        if self.wanted.features.contains(Features::PROTOCOL_FEATURES) {
            for index in 0..2 * self.wanted.pairs {
                self.front.send_acked(Request::SetVringEnable { index, enable }, &[]);
            }
        }
    }

    /// All packets that wait in any ring.
    pub fn take(&mut self) -> Vec<Vec<u8>> {
        self.rx.iter_mut().flat_map(|ring| ring.take()).map(|(_, packet)| packet).collect()
    }

    /// Receives until so many packets are there.
    pub fn receive(&mut self, count: usize) -> Vec<Vec<u8>> {
        let mut all = Vec::new();
        until(&format!("{count} packets"), || {
            all.extend(self.take());
            all.len() >= count
        });
        all
    }

    /// Sends frames by a ring, as it has room.
    pub fn send(&mut self, ring: usize, frames: &[Vec<u8>]) {
        let ring = &mut self.tx[ring];
        for frame in frames {
            until("room in the ring", || ring.send([0; 12], frame));
        }
    }

    /// Returns true if the other end has given back everything that was sent.
    pub fn is_taken(&mut self) -> bool {
        self.tx.iter_mut().all(GuestRing::is_empty)
    }
}

/// A new event, shared.
pub fn event() -> Arc<Event> {
    Arc::new(Event::new().expect("an eventfd"))
}
