// SPDX-License-Identifier: Apache-2.0
//! Requests that wait for replies, by interface. Nodes find them without a lock, and count.

use crate::request::Request;
use cli::{Error, Result, retval};
use graph::{Deleted, Shared, SwIfIndex, World};
use std::net::IpAddr;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use sync::{Slots, Turn};
use wire::MacAddr;

/// Stations that are told apart; replies of further ones count in the total only.
const STATIONS: usize = 8;

/// A station that answered, and how often.
#[derive(Default)]
struct Station {
    /// Its MAC address; 0 while none is known, which is no station's.
    mac: AtomicU64,
    replies: AtomicU32,
}

/// An arping that runs on an interface, as workers see it.
pub struct Waiter {
    /// The address whose stations are counted.
    pub address: IpAddr,
    /// Every use of the address by another station counts, and its probes for it, not replies only
    /// (RFC 5227 2.1.1).
    pub detects_conflicts: bool,
    replies: AtomicU32,
    stations: [Station; STATIONS],
}

impl Waiter {
    /// Counts a reply of a station. A MAC address that can't be a station's counts for none.
    #[inline(always)]
    pub fn count(&self, mac: MacAddr) {
        self.replies.fetch_add(1, Ordering::Relaxed);
        let bits = mac.to_bits();
        if bits == 0 || mac.is_multicast() {
            return;
        }
        for station in &self.stations {
            let free = station.mac.compare_exchange(0, bits, Ordering::Relaxed, Ordering::Relaxed);
            if free.is_ok() || free == Err(bits) {
                station.replies.fetch_add(1, Ordering::Relaxed);
                return;
            }
        }
    }

    /// Number of replies.
    pub fn replies(&self) -> u32 {
        self.replies.load(Ordering::Relaxed)
    }

    /// The stations that replied, in the order of their first replies, with the number of each.
    pub fn stations(&self) -> Vec<(MacAddr, u32)> {
        let known = self.stations.iter().map(|station| {
            let mac = MacAddr::from_bits(station.mac.load(Ordering::Relaxed));
            (mac, station.replies.load(Ordering::Relaxed))
        });
        known.filter(|(mac, _)| !mac.is_zero()).collect()
    }
}

/// All of an instance.
pub struct Waiters {
    running: Slots<Arc<Waiter>>,
    world: OnceLock<Weak<World>>,
}

impl Shared for Waiters {
    fn make(world: &World) -> Self {
        Self { running: Slots::new(world.qsbr.clone()), world: OnceLock::new() }
    }

    fn forget(&self, _: &World, deleted: &Deleted<'_>) {
        if let Some(sw_if) = deleted.of::<SwIfIndex>() {
            self.running.clear(sw_if.0);
        }
    }
}

impl Waiters {
    /// The instance, which runs need from poll to poll.
    pub fn set_world(&self, world: &Arc<World>) {
        let _ = self.world.set(Arc::downgrade(world));
    }

    /// The arping that runs on an interface.
    #[inline(always)]
    pub fn of<'t>(&'t self, sw_if: u32, turn: &'t Turn<'_>) -> Option<&'t Waiter> {
        self.running.get(sw_if, turn).map(|waiter| &**waiter)
    }

    /// True while an arping runs on an interface.
    #[cfg(feature = "tests")]
    pub fn is_running(&self, sw_if: SwIfIndex) -> bool {
        self.running.read(sw_if.0, |running| running.is_some())
    }

    /// Begins to count the replies to a request; this ends when what is returned is dropped.
    ///
    /// # Errors
    /// Another arping runs on the interface (−7).
    pub fn open(self: &Arc<Self>, world: &World, request: &Request) -> Result<Opened> {
        let sw_if = request.sw_if;
        if self.running.read(sw_if.0, |running| running.is_some()) {
            let why = "another arping runs on this interface: wait until it ends";
            return Err(Error::failed(why).retval(retval::INVALID_VALUE));
        }
        let waiter = Arc::new(Waiter {
            address: request.address,
            detects_conflicts: request.detects_conflicts,
            replies: AtomicU32::new(0),
            stations: Default::default(),
        });
        let (arc, feature) = feature(request.address);
        world.set_feature(arc, feature, sw_if, true).map_err(Error::failed)?;
        self.running.set(sw_if.0, waiter.clone());
        Ok(Opened { waiters: self.clone(), waiter, sw_if })
    }
}

/// The arc and the feature that counts the replies for an address.
fn feature(address: IpAddr) -> (&'static str, &'static str) {
    if address.is_ipv6() { ("ip6-local", "arping6-input") } else { ("arp", "arping-input") }
}

/// An arping that runs until this is dropped.
pub struct Opened {
    waiters: Arc<Waiters>,
    pub waiter: Arc<Waiter>,
    sw_if: SwIfIndex,
}

impl Opened {
    /// The instance; `None` while it is being shut down.
    pub fn world(&self) -> Option<Arc<World>> {
        self.waiters.world.get()?.upgrade()
    }

    /// True until the interface is deleted.
    pub fn is_there(&self) -> bool {
        self.waiters.running.read(self.sw_if.0, |running| {
            running.is_some_and(|running| Arc::ptr_eq(running, &self.waiter))
        })
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        // A deleted interface has lost its features, and its number may be another one's.
        if !self.is_there() {
            return;
        }
        self.waiters.running.clear(self.sw_if.0);
        if let Some(world) = self.world() {
            let (arc, feature) = feature(self.waiter.address);
            let _ = world.set_feature(arc, feature, self.sw_if, false);
        }
    }
}
