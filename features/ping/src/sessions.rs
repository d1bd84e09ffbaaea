// SPDX-License-Identifier: Apache-2.0
//! Commands that wait for answers, and their answers. Nodes find a session by its ICMP identifier
//! in a snapshot, and put answers in its queue; the command reads the queue when it is polled.

use crossbeam_queue::ArrayQueue;
use graph::{Shared, World};
use net::TableIndex;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU16, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use sync::{Snapshot, Turn};
use wire::{Icmp4Type, Icmp6Type};

/// Maximum number of answers that wait for the command.
const ROOM: usize = 1024;

/// The kind of an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ResponseKind {
    /// An echo reply.
    Reply,
    /// An ICMP error: type, code, last word of its header.
    Error(u8, u8, u32),
}

/// An answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Response {
    /// The instance's clock when it came, in nanoseconds.
    pub at: u64,
    /// Source address of the answer.
    pub from: IpAddr,
    /// Kind of the answer.
    pub kind: ResponseKind,
    /// The request's sequence number.
    pub seq: u16,
    /// Bytes of the ICMP message.
    pub len: u16,
    /// Its TTL when it came.
    pub ttl: u8,
}

impl Response {
    /// From a router where the TTL or hop limit ended.
    pub fn is_time_exceeded(&self) -> bool {
        let expired = if self.from.is_ipv6() {
            Icmp6Type::TIME_EXCEEDED.0
        } else {
            Icmp4Type::TIME_EXCEEDED.0
        };
        matches!(self.kind, ResponseKind::Error(kind, ..) if kind == expired)
    }
}

/// One command.
pub struct Session {
    /// Its ICMP identifier.
    pub id: u16,
    /// Destination of its requests.
    pub to: IpAddr,
    /// The table that its requests go out in.
    pub table: TableIndex,
    heard: ArrayQueue<Response>,
    /// Requests that weren't sent because all buffers were in use.
    pub unsent: AtomicU32,
}

impl Session {
    /// Leaves an answer for the command; false if it doesn't keep up.
    #[inline(always)]
    pub fn leave(&self, heard: Response) -> bool {
        self.heard.push(heard).is_ok()
    }

    /// The next answer.
    pub fn take(&self) -> Option<Response> {
        self.heard.pop()
    }
}

/// All sessions of an instance.
pub struct Sessions {
    open: Snapshot<Vec<Arc<Session>>>,
    next: AtomicU16,
    world: OnceLock<Weak<World>>,
}

impl Shared for Sessions {
    fn make(world: &World) -> Self {
        // Not the same identifiers after every start: answers to an instance that ended may still
        // come.
        let first = std::process::id() as u16 ^ world.clock.now() as u16;
        Self {
            open: Snapshot::new(world.qsbr.clone(), Vec::new()),
            next: AtomicU16::new(first),
            world: OnceLock::new(),
        }
    }
}

impl Sessions {
    /// The instance, which commands that go on need.
    pub fn set_world(&self, world: &Arc<World>) {
        let _ = self.world.set(Arc::downgrade(world));
    }

    pub fn world(&self) -> Option<Arc<World>> {
        self.world.get()?.upgrade()
    }

    /// The session of this identifier.
    #[inline(always)]
    pub fn find<'t>(&'t self, id: u16, turn: &'t Turn<'_>) -> Option<&'t Session> {
        self.open.get(turn).iter().find(|s| s.id == id).map(|s| &**s)
    }

    /// A new session of requests to an address in a table, with an identifier that no other has;
    /// it ends when what is given is dropped.
    pub fn open(self: &Arc<Self>, to: IpAddr, table: TableIndex) -> Opened {
        let used = |id| self.open.read(|open| open.iter().any(|s| s.id == id));
        let mut id = self.next.fetch_add(1, Ordering::Relaxed);
        while used(id) {
            id = self.next.fetch_add(1, Ordering::Relaxed);
        }
        let session = Arc::new(Session {
            id,
            to,
            table,
            heard: ArrayQueue::new(ROOM),
            unsent: AtomicU32::new(0),
        });
        self.open.update(|open| open.iter().chain([&session]).cloned().collect());
        Opened { sessions: self.clone(), session }
    }

    /// Number of open sessions.
    #[cfg(feature = "tests")]
    pub fn count(&self) -> usize {
        self.open.read(Vec::len)
    }
}

/// A session that ends when this is dropped.
pub struct Opened {
    pub sessions: Arc<Sessions>,
    pub session: Arc<Session>,
}

impl Drop for Opened {
    fn drop(&mut self) {
        let id = self.session.id;
        self.sessions.open.update(|open| open.iter().filter(|s| s.id != id).cloned().collect());
    }
}
