// SPDX-License-Identifier: Apache-2.0
//! Where packets come in.

use super::gate::{Gate, Open};
use crate::family::Ip;
use graph::{Cx, World};
use net::{IfFlags, TableIndex, Views};
use wire::{Ip4, Ip6, MacAddr};

/// What is looked up once for a run of frames from one interface.
#[derive(Clone, Copy)]
pub struct Rx {
    pub rx_if: u32,
    /// The MAC address in the upper 48 bits, as the first 8 bytes of a frame for it would be read, little-endian, and shifted.
    pub own: u64,
    /// Whether packets may be taken: IPv4, IPv6.
    open: [Open; 2],
    /// Indices of the route tables: IPv4, IPv6.
    pub tables: [u32; 2],
}

/// The features of received packets of both protocols.
pub struct Gates {
    pub ip4: Gate<Ip4>,
    pub ip6: Gate<Ip6>,
}

impl Gates {
    pub fn new(world: &World) -> Self {
        Self { ip4: Gate::new(world), ip6: Gate::new(world) }
    }
}

impl Rx {
    /// Whether packets of a protocol may be taken.
    #[inline(always)]
    pub fn open<F: Ip>(&self) -> Open {
        self.open[usize::from(F::IS_V6)]
    }

    /// The route table of a protocol.
    #[inline(always)]
    pub fn table<F: Ip>(&self) -> TableIndex {
        TableIndex(self.tables[usize::from(F::IS_V6)])
    }

    #[inline(always)]
    pub fn new<const TRACED: bool>(rx_if: u32, gates: &Gates, views: Views<'_>, cx: &Cx<'_, TRACED>) -> Self {
        let view = views.get(rx_if as usize).unwrap_or_default();
        let MacAddr([a, b, c, d, e, f]) = view.mac;
        let routes = view.flags.has(IfFlags::ADMIN) && !view.flags.has(IfFlags::L2);
        let open = [gates.ip4.open(rx_if, cx), gates.ip6.open(rx_if, cx)];
        Self {
            rx_if,
            own: u64::from_le_bytes([0, 0, a, b, c, d, e, f]),
            open: open.map(|open| if routes { open } else { Open::No }),
            tables: [view.fib4, view.fib6],
        }
    }
}
