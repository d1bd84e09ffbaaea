// SPDX-License-Identifier: Apache-2.0
//! Where packets come in.

use graph::{ArcIndex, Cx, World};
use net::{IfFlags, Views};
use wire::MacAddr;

/// What is looked up once for a run of frames from one interface.
#[derive(Clone, Copy)]
pub struct Rx {
    pub rx_if: u32,
    /// The MAC address in the upper 48 bits, as the first 8 bytes of a frame for it would be read, little-endian, and shifted.
    pub own: u64,
    /// Of IPv4 and IPv6: packets may be taken.
    pub open: [bool; 2],
    /// Of IPv4 and IPv6: the index of the route table.
    pub tables: [u32; 2],
}

/// The arcs that have to be empty.
#[derive(Clone, Copy)]
pub struct Unicast([ArcIndex; 2]);

impl Unicast {
    pub fn new(world: &World) -> Self {
        Self(["ip4-unicast", "ip6-unicast"].map(|name| world.arc(name).expect("this plugin brings the arcs")))
    }
}

impl Rx {
    #[inline(always)]
    pub fn new<const TRACED: bool>(
        rx_if: u32,
        unicast: Unicast,
        views: Views<'_>,
        cx: &Cx<'_, TRACED>,
    ) -> Self {
        let view = views.get(rx_if as usize).unwrap_or_default();
        let MacAddr([a, b, c, d, e, f]) = view.mac;
        let up = view.flags.has(IfFlags::ADMIN);
        Self {
            rx_if,
            own: u64::from_le_bytes([0, 0, a, b, c, d, e, f]),
            open: unicast.0.map(|arc| up && !cx.has_arc(arc, rx_if)),
            tables: [view.fib4, view.fib6],
        }
    }
}
