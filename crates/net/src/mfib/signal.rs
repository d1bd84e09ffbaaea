// SPDX-License-Identifier: Apache-2.0
//! Reports of packets (signals), for clients that make routes from them.

use super::{Group, ItfFlags, Mroute};
use crate::TableIndex;
use buffer::Buffer;
use graph::{Shared, World};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use sync::Mailbox;

/// Number of bytes of a packet that a report keeps.
pub const SIGNAL_BYTES: usize = 256;
/// Maximum number of pending reports.
const WAITING: usize = 256;

/// A report of a received packet.
pub struct Signal {
    /// The receive interface.
    pub sw_if: u32,
    /// The entry's table.
    pub table: TableIndex,
    /// The entry.
    pub group: Group<IpAddr>,
    data: [u8; SIGNAL_BYTES],
    len: usize,
    waiting: Arc<AtomicBool>,
}

impl Signal {
    /// The packet from its IP header on, or its beginning; empty with [`ItfFlags::DONT_PRESERVE`].
    pub fn packet(&self) -> &[u8] {
        &self.data[..self.len]
    }
}

/// The pending reports: at most one for each interface of an entry, and one for all interfaces that
/// it doesn't name.
pub struct Signals(Mailbox<Signal>);

impl Shared for Signals {
    fn make(world: &World) -> Self {
        Self(Mailbox::new(WAITING, world.processes.waker().clone()))
    }
}

impl Signals {
    /// Reports a packet that was received on an interface of an entry; its IP header is at its
    /// first byte. Allocates no memory; if too many reports are pending, a later packet is
    /// reported.
    #[inline(never)]
    pub fn report(&self, route: &Mroute, b: &Buffer) {
        let interface = route.interface(b.rx_if).unwrap_or(&route.others);
        if !interface.claim() {
            return;
        }
        let mut data = [0; SIGNAL_BYTES];
        let keeps = !interface.flags.contains(ItfFlags::DONT_PRESERVE);
        let len = if keeps { b.copy_out(0, &mut data) } else { 0 };
        let (sw_if, table, group) = (b.rx_if, route.table, route.group);
        let waiting = interface.waiting.clone();
        if let Err(signal) = self.0.post(Signal { sw_if, table, group, data, len, waiting }) {
            signal.waiting.store(false, Ordering::Release);
        }
    }

    /// Takes the oldest report; from now on there may be another for its interface and entry.
    pub fn take(&self) -> Option<Signal> {
        let signal = self.0.take()?;
        signal.waiting.store(false, Ordering::Release);
        Some(signal)
    }

    /// Number of reports lost because too many were pending.
    pub fn lost(&self) -> u64 {
        self.0.drops()
    }
}
