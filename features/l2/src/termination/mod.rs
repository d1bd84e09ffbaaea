// SPDX-License-Identifier: Apache-2.0
//! ARP and ND termination: a bridge domain answers for hosts whose addresses were configured, instead of flooding the question.

pub mod control;
mod node;
mod publisher;

pub use node::ArpTerm;
pub use publisher::start;

use graph::{Signal, World};
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use sync::{Mailbox, Qsbr, Slots, Turn, Waker};
use wire::MacAddr;

/// Parts of a table of hosts.
const PARTS: u32 = 256;
/// Mailboxes to control. Ports share them by their index, so a port that sends much fills one of them.
const MAILBOXES: usize = 64;
/// Sightings that wait in a mailbox at most.
const WAITING: usize = 64;

/// MAC addresses of a domain's hosts by IP address, for workers. A change replaces the part that the address is in.
pub struct Hosts {
    parts: Slots<HashMap<IpAddr, MacAddr>>,
    hasher: RandomState,
}

impl Hosts {
    /// No host.
    pub fn new(domain: Arc<Qsbr>) -> Self {
        Self { parts: Slots::new(domain), hasher: RandomState::new() }
    }

    fn part(&self, ip: IpAddr) -> u32 {
        self.hasher.hash_one(ip) as u32 % PARTS
    }

    /// The MAC address of a host.
    pub fn get(&self, ip: IpAddr, turn: &Turn<'_>) -> Option<MacAddr> {
        self.parts.get(self.part(ip), turn)?.get(&ip).copied()
    }

    /// Control: removes all hosts.
    pub fn clear(&self) {
        (0..PARTS).for_each(|part| _ = self.parts.clear(part));
    }

    /// Control: sets a host's MAC address, or removes the host.
    pub fn set(&self, ip: IpAddr, mac: Option<MacAddr>) {
        let part = self.part(ip);
        let mut hosts = self.parts.read(part, |hosts| hosts.cloned().unwrap_or_default());
        match mac {
            Some(mac) => hosts.insert(ip, mac),
            None => hosts.remove(&ip),
        };
        if hosts.is_empty() {
            self.parts.clear(part);
        } else {
            self.parts.set(part, hosts);
        }
    }
}

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

/// The way of sightings from workers to control, which tells clients.
pub struct Sightings {
    /// Whether a client wants to know.
    wanted: AtomicBool,
    /// Made when the first client asks.
    mailboxes: OnceLock<Box<[Mailbox<Sighting>]>>,
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
            let mailbox = |_| Mailbox::new(WAITING, self.waker.clone());
            self.mailboxes.get_or_init(|| (0..MAILBOXES).map(mailbox).collect());
        }
        self.wanted.store(wanted, Ordering::Release);
    }

    /// Passes a sighting to control. Returns false if there is no room.
    pub fn post(&self, sighting: Sighting) -> bool {
        let Some(mailboxes) = self.mailboxes.get() else { return true };
        let posted = mailboxes[sighting.sw_if as usize % MAILBOXES].post(sighting).is_ok();
        self.signal.raise();
        posted
    }

    /// Control: the sightings that wait.
    pub fn drain(&self, mut f: impl FnMut(Sighting)) {
        for mailbox in self.mailboxes.get().into_iter().flatten() {
            mailbox.drain(&mut f);
        }
    }
}
