// SPDX-License-Identifier: Apache-2.0
//! Reports of packets, for clients that make routes from them.

use super::{Group, ItfFlags, Mroute};
use crate::TableIndex;
use buffer::Buffer;
use graph::{Shared, World};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use sync::Mailbox;

/// Bytes of a packet that a report keeps.
pub const SIGNAL_BYTES: usize = 256;
/// Reports that wait at most.
const WAITING: usize = 256;

/// A packet came in.
pub struct Signal {
    /// By this interface.
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
    /// The packet from its IP header on, or its beginning; nothing, if the interface says so.
    pub fn packet(&self) -> &[u8] {
        &self.data[..self.len]
    }
}

/// The reports that nobody has taken yet: one at most for each interface of an entry, and one for those that it doesn't name.
pub struct Signals(Mailbox<Signal>);

impl Shared for Signals {
    fn make(world: &World) -> Self {
        Self(Mailbox::new(WAITING, world.processes.waker().clone()))
    }
}

impl Signals {
    /// Reports a packet that came in by an interface of an entry, whose IP header stands at its first byte. Without allocation;
    /// if too many reports wait, a later packet is reported.
    #[inline(never)]
    pub fn report(&self, route: &Mroute, b: &Buffer) {
        let interface = route.interface(b.rx_if).unwrap_or(&route.others);
        if !interface.claim() {
            return;
        }
        let mut data = [0; SIGNAL_BYTES];
        let keeps = !interface.flags.has(ItfFlags::DONT_PRESERVE);
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

    /// How many there were no room for.
    pub fn lost(&self) -> u64 {
        self.0.drops()
    }
}
