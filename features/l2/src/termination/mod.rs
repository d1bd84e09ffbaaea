// SPDX-License-Identifier: Apache-2.0
//! ARP and ND termination: a bridge domain answers for hosts whose addresses were configured or snooped, instead of flooding the question.

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

/// Mailboxes to control. Ports share them by their index, so a port that sends much fills one of them.
const MAILBOXES: usize = 64;
/// Sightings that wait in a mailbox at most.
const WAITING: usize = 64;

/// A host that said by ARP or ND which addresses it has.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Sighting {
    /// Its IP address.
    pub ip: IpAddr,
    /// Its MAC address.
    pub mac: MacAddr,
    /// The port that it is behind.
    pub sw_if: u32,
}

/// A sighting on its way to control.
#[derive(Clone, Copy, Debug)]
pub struct Report {
    /// The host.
    pub sighting: Sighting,
    /// The index of the domain that learns it, if it is news to a domain that snoops.
    pub learn: Option<u16>,
    /// It replaces another MAC address that was snooped. An advertisement without the Override flag doesn't (RFC 4861 7.2.5).
    pub overrides: bool,
}

/// The way of sightings from workers to control, which tells clients and learns.
pub struct Sightings {
    /// Whether a client wants to know.
    wanted: AtomicBool,
    /// Made when the first client asks, or the first domain snoops.
    mailboxes: OnceLock<Box<[Mailbox<Report>]>>,
    waker: Arc<Waker>,
    signal: Signal,
}

impl Sightings {
    /// Nobody wants to know.
    pub fn new(world: &World) -> Self {
        Self {
            wanted: AtomicBool::new(false),
            mailboxes: OnceLock::new(),
            waker: world.processes.waker().clone(),
            signal: world.processes.signal(),
        }
    }

    /// Whether a client wants to know.
    #[inline]
    pub fn are_wanted(&self) -> bool {
        self.wanted.load(Ordering::Acquire)
    }

    /// Control: whether a client wants to know.
    pub fn want(&self, wanted: bool) {
        if wanted {
            self.prepare();
        }
        self.wanted.store(wanted, Ordering::Release);
    }

    /// Control: makes the mailboxes.
    pub fn prepare(&self) {
        let mailbox = |_| Mailbox::new(WAITING, self.waker.clone());
        self.mailboxes.get_or_init(|| (0..MAILBOXES).map(mailbox).collect());
    }

    /// Passes a sighting to control. Returns false if there is no room.
    pub fn post(&self, report: Report) -> bool {
        let Some(mailboxes) = self.mailboxes.get() else { return true };
        let posted = mailboxes[report.sighting.sw_if as usize % MAILBOXES].post(report).is_ok();
        self.signal.raise();
        posted
    }

    /// Control: a sighting that waits. `next` is the mailbox that is looked at first: mailboxes take turns.
    pub fn take(&self, next: &mut usize) -> Option<Report> {
        let mailboxes = self.mailboxes.get()?;
        (0..MAILBOXES).find_map(|_| {
            *next = (*next + 1) % MAILBOXES;
            mailboxes[*next].take()
        })
    }
}
