// SPDX-License-Identifier: Apache-2.0
//! ARP and ND termination: a bridge domain answers for configured or snooped hosts, instead of
//! flooding the request.

mod ager;
pub mod control;
mod hosts;
mod node;
mod publisher;
pub mod snoop;

pub use ager::start as start_ager;
pub use hosts::{Hosts, Known, Snooped};
pub use node::ArpTerm;
pub use publisher::start;

use graph::{Signal, World};
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use sync::{Mailbox, Waker};
use wire::MacAddr;

/// Number of mailboxes to the main thread. Ports share them by their index, so a port that sends
/// much fills one of them.
const MAILBOXES: usize = 64;
/// Maximum number of sightings that wait in a mailbox.
const WAITING: usize = 64;

/// A host detected by its ARP or ND message, with its addresses.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Sighting {
    /// Its IP address.
    pub ip: IpAddr,
    /// Its MAC address.
    pub mac: MacAddr,
    /// The port that it is behind.
    pub sw_if: u32,
}

/// A sighting sent to the main thread.
#[derive(Clone, Copy, Debug)]
pub struct Report {
    /// The host.
    pub sighting: Sighting,
    /// Index of the domain that learns it, if it is new to a domain that snoops.
    pub learn: Option<u16>,
    /// True if it replaces another snooped MAC address. An advertisement without the Override flag
    /// doesn't (RFC 4861 7.2.5).
    pub overrides: bool,
}

/// The queues of sightings from workers to the main thread, which notifies clients and learns.
pub struct Sightings {
    /// True if a client has subscribed.
    wanted: AtomicBool,
    /// Created when the first client subscribes, or the first domain snoops.
    mailboxes: OnceLock<Box<[Mailbox<Report>]>>,
    waker: Arc<Waker>,
    signal: Signal,
}

impl Sightings {
    /// Returns the state without subscribers.
    pub fn new(world: &World) -> Self {
        Self {
            wanted: AtomicBool::new(false),
            mailboxes: OnceLock::new(),
            waker: world.processes.waker().clone(),
            signal: world.processes.signal(),
        }
    }

    /// Returns true if a client has subscribed.
    #[inline]
    pub fn has_subscribers(&self) -> bool {
        self.wanted.load(Ordering::Acquire)
    }

    /// Main thread: records if a client has subscribed.
    pub fn set_subscribed(&self, wanted: bool) {
        if wanted {
            self.prepare();
        }
        self.wanted.store(wanted, Ordering::Release);
    }

    /// Main thread: creates the mailboxes.
    pub fn prepare(&self) {
        let mailbox = |_| Mailbox::new(WAITING, self.waker.clone());
        self.mailboxes.get_or_init(|| (0..MAILBOXES).map(mailbox).collect());
    }

    /// Sends a sighting to the main thread. Returns false if there is no room.
    pub fn post(&self, report: Report) -> bool {
        let Some(mailboxes) = self.mailboxes.get() else { return true };
        let posted = mailboxes[report.sighting.sw_if as usize % MAILBOXES].post(report).is_ok();
        self.signal.raise();
        posted
    }

    /// Main thread: takes a waiting sighting. `next` is the mailbox that was read last: mailboxes
    /// are read round robin.
    pub fn take(&self, next: &mut usize) -> Option<Report> {
        let mailboxes = self.mailboxes.get()?;
        (0..MAILBOXES).find_map(|_| {
            *next = (*next + 1) % MAILBOXES;
            mailboxes[*next].take()
        })
    }
}
