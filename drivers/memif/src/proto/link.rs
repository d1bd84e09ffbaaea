// SPDX-License-Identifier: Apache-2.0
//! The rings and regions of a complete connection.

use crate::io::{Buffers, Event, Regions, Ring, RxRing, TxRing};
use std::sync::Arc;

/// A ring with its event descriptor, as commands show it.
#[derive(Clone)]
pub struct RingInfo {
    /// The ring.
    pub ring: Ring,
    /// Index of its region.
    pub region: u16,
    /// Where it begins there.
    pub offset: u32,
    /// Wakes its receiver.
    pub event: Arc<Event>,
    /// The client's buffers, at the client's end.
    pub own: Option<Buffers>,
}

/// Memory and rings of a connection.
#[derive(Clone)]
pub struct Link {
    /// The regions.
    pub regions: Regions,
    /// Rings from client to server.
    pub s2m: Vec<RingInfo>,
    /// Rings from server to client.
    pub m2s: Vec<RingInfo>,
    /// Name of the peer's interface.
    pub peer_interface: String,
}

impl Link {
    fn rx(&self, info: &RingInfo) -> RxRing {
        RxRing::new(info.ring.clone(), self.regions.clone(), info.own, info.event.clone())
    }

    fn tx(&self, info: &RingInfo) -> TxRing {
        TxRing::new(info.ring.clone(), self.regions.clone(), info.own, info.event.clone())
    }

    /// The server's rings: those that it receives by, and those that it sends by. To be called once
    /// for a connection.
    pub fn server_rings(&self) -> (Vec<RxRing>, Vec<TxRing>) {
        (
            self.s2m.iter().map(|i| self.rx(i)).collect(),
            self.m2s.iter().map(|i| self.tx(i)).collect(),
        )
    }

    /// The client's. It has to be called before the server looks at the rings.
    pub fn client_rings(&self) -> (Vec<RxRing>, Vec<TxRing>) {
        (
            self.m2s.iter().map(|i| self.rx(i)).collect(),
            self.s2m.iter().map(|i| self.tx(i)).collect(),
        )
    }
}
