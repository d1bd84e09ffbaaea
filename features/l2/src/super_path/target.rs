// SPDX-License-Identifier: Apache-2.0
//! Ports that frames of a vector leave by straight away.

use crate::state::{NO_DOMAIN, Port};
use graph::NodeIndex;
use net::IfLanes;

/// A port, and the frames that have left by it and aren't counted yet.
#[derive(Clone, Copy)]
pub struct Target {
    pub tx_if: u32,
    pub tx: NodeIndex,
    is_open: bool,
    domain: u16,
    shg: u8,
    /// See [`Port::generation`].
    pub generation: u8,
    packets: u64,
    bytes: u64,
}

impl Target {
    const NONE: Self = Self {
        tx_if: u32::MAX,
        tx: NodeIndex(0),
        is_open: false,
        domain: NO_DOMAIN,
        shg: 0,
        generation: 0,
        packets: 0,
        bytes: 0,
    };

    /// An interface with its transmit node; `port` is `None` if frames to it need the graph.
    pub fn new(tx_if: u32, tx: NodeIndex, port: Option<&Port>) -> Self {
        let Some(port) = port else { return Self { tx_if, ..Self::NONE } };
        let &Port { domain, shg, generation, .. } = port;
        Self { tx_if, tx, is_open: true, domain, shg, generation, ..Self::NONE }
    }

    /// Whether frames may leave by it straight away.
    #[inline(always)]
    pub fn is_open(&self) -> bool {
        self.is_open
    }

    /// Whether frames of a domain and a split-horizon group may.
    #[inline(always)]
    pub fn takes(&self, domain: u16, shg: u8) -> bool {
        self.is_open && self.domain == domain && (shg == 0 || shg != self.shg)
    }

    /// A frame of so many bytes leaves by it.
    #[inline(always)]
    pub fn count(&mut self, bytes: usize) {
        self.packets += 1;
        self.bytes += bytes as u64;
    }

    /// Counts what has left.
    #[inline(always)]
    pub fn settle(&self, lanes: &IfLanes) {
        if self.packets != 0 {
            lanes.tx.unicast(self.tx_if as usize, self.packets, self.bytes);
        }
    }
}

/// The ports of a vector: mostly few.
pub struct Targets {
    targets: [Target; Self::N],
    /// Bit `i`: target `i` is known.
    known: u64,
}

impl Targets {
    const N: usize = 16;

    pub const fn new() -> Self {
        Self { targets: [Target::NONE; Self::N], known: 0 }
    }

    /// A port, which `look` looks up if it isn't known.
    #[inline(always)]
    pub fn find(&mut self, tx_if: u32, look: impl FnOnce(u32) -> Target, lanes: &IfLanes) -> &mut Target {
        let at = tx_if as usize % Self::N;
        let target = &mut self.targets[at];
        if target.tx_if != tx_if {
            target.settle(lanes);
            *target = look(tx_if);
            self.known |= 1 << at;
        }
        target
    }

    /// Counts what has left, and forgets all: before another vector ports may change.
    #[inline(always)]
    pub fn settle(&mut self, lanes: &IfLanes) {
        while self.known != 0 {
            let at = self.known.trailing_zeros() as usize % Self::N;
            self.known &= self.known - 1;
            std::mem::replace(&mut self.targets[at], Target::NONE).settle(lanes);
        }
    }
}
