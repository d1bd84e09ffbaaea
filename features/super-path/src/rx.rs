// SPDX-License-Identifier: Apache-2.0
//! The interfaces that packets come in by.

use crate::gate::{Gate, Open};
use crate::tags::Parsed;
use buffer::Buffer;
use graph::{Cx, ThreadIndex, World};
use ip::Ip;
use net::{Front, IfFlags, IfView, Interfaces, TableIndex, Tagged, Views};
use wire::{Ip4, Ip6, MacAddr};

/// The arcs that packets come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Door {
    /// Received frames.
    Frames,
    /// Packets that were taken out of tunnels. They begin with their IP header.
    Packets {
        /// Of IPv6, not IPv4.
        v6: bool,
    },
    /// Packets that have passed a feature of received packets. They begin with their IP header.
    Passed {
        /// Of IPv6, not IPv4.
        v6: bool,
    },
}

impl Door {
    /// True if packets of this protocol come without an Ethernet header.
    #[inline(always)]
    pub fn is_bare<F: Ip>(self) -> bool {
        match self {
            Self::Frames => false,
            Self::Packets { v6 } | Self::Passed { v6 } => v6 == F::IS_V6,
        }
    }
}

/// State that is looked up once for a run of frames from one interface.
#[derive(Clone, Copy)]
pub struct Rx {
    pub door: Door,
    /// The device that frames come in by.
    pub device: u32,
    /// The position of packets in their chain of features, if they have passed some already.
    pub chain: Option<u32>,
    /// The interface that packets are received by: the device, or a sub-interface of it.
    pub rx_if: u32,
    /// The MAC address in the upper 48 bits, as the first 8 bytes of a frame for it would be read,
    /// little-endian, and shifted.
    pub own: u64,
    /// The condition for taking packets: IPv4, IPv6.
    open: [Open; 2],
    /// Indices of the route tables: IPv4, IPv6.
    pub tables: [u32; 2],
    /// The device has sub-interfaces.
    pub has_subs: bool,
    /// The tags of the frames. With none, frames with tags need the graph.
    pub tags: Parsed,
}

/// The features of received packets of both protocols.
pub struct Gates {
    pub ip4: Gate<Ip4>,
    pub ip6: Gate<Ip6>,
}

impl Gates {
    pub fn new(world: &World, thread: ThreadIndex) -> Self {
        Self { ip4: Gate::new(world, thread), ip6: Gate::new(world, thread) }
    }

    #[inline(always)]
    fn open(
        &self,
        door: Door,
        view: IfView,
        (rx_if, chain): (u32, Option<u32>),
        cx: &Cx<'_, false>,
    ) -> [Open; 2] {
        if !view.flags.contains(IfFlags::ADMIN) || view.flags.contains(IfFlags::L2) {
            return [Open::No; 2];
        }
        [
            Self::open_for(&self.ip4, door, (rx_if, chain), cx),
            Self::open_for(&self.ip6, door, (rx_if, chain), cx),
        ]
    }

    #[inline(always)]
    fn open_for<F: Ip>(
        gate: &Gate<F>,
        door: Door,
        (rx_if, chain): (u32, Option<u32>),
        cx: &Cx<'_, false>,
    ) -> Open {
        match chain {
            _ if door != Door::Frames && !door.is_bare::<F>() => Open::No,
            Some(at) => gate.open_at(at, cx),
            None => gate.open(rx_if, cx),
        }
    }
}

impl Rx {
    /// Returns the condition for taking packets of a protocol.
    #[inline(always)]
    pub fn open<F: Ip>(&self) -> Open {
        self.open[usize::from(F::IS_V6)]
    }

    /// 1 if packets are to be counted as received, else 0: they are already.
    #[inline(always)]
    pub fn fresh(&self) -> u64 {
        u64::from(!matches!(self.door, Door::Passed { .. }))
    }

    /// The route table of a protocol.
    #[inline(always)]
    pub fn table<F: Ip>(&self) -> TableIndex {
        TableIndex(self.tables[usize::from(F::IS_V6)])
    }

    /// The bytes in front of the IP headers.
    #[inline(always)]
    pub fn front(&self) -> Front {
        Front { is_frame: self.door == Door::Frames, tags: self.tags.len() }
    }

    /// True if the state is that of a packet, but for tags.
    #[inline(always)]
    pub fn is_of(&self, b: &Buffer) -> bool {
        b.rx_if == self.device && self.chain.is_none_or(|at| at == b.feature)
    }

    /// State for packets without tags like this one, which come in by a device.
    #[inline(always)]
    pub fn new(
        (b, door): (&Buffer, Door),
        gates: &Gates,
        views: Views<'_>,
        cx: &Cx<'_, false>,
    ) -> Self {
        let device = b.rx_if;
        let chain = matches!(door, Door::Passed { .. }).then_some(b.feature);
        let view = views.get(device as usize).unwrap_or_default();
        let MacAddr([a, b, c, d, e, f]) = view.mac;
        Self {
            door,
            device,
            chain,
            rx_if: device,
            own: u64::from_le_bytes([0, 0, a, b, c, d, e, f]),
            open: gates.open(door, view, (device, chain), cx),
            tables: [view.fib4, view.fib6],
            has_subs: door == Door::Frames && view.flags.contains(IfFlags::HAS_SUBS),
            tags: Parsed::NONE,
        }
    }

    /// State for frames with the tags of this frame, or without tags if `tags` is none.
    #[inline(never)]
    pub fn of_run(
        first: &Buffer,
        tags: Parsed,
        gates: &Gates,
        interfaces: &Interfaces,
        cx: &Cx<'_, false>,
    ) -> Self {
        let views = interfaces.views(cx.turn);
        let rx = Self::new((first, Door::Frames), gates, views, cx);
        if tags == Parsed::NONE {
            return rx;
        }
        let closed = Self { open: [Open::No; 2], tags, ..rx };
        let device = views.get(rx.device as usize).unwrap_or_default();
        let is_routed =
            device.flags.contains(IfFlags::ADMIN) && !device.flags.contains(IfFlags::L2);
        let Some(tagged) = Tagged::of(first).filter(|_| is_routed) else { return closed };
        // A frame with only a priority is of the device itself, unless a sub-interface takes all
        // frames. It needs the graph.
        let Some(sub) = interfaces.sub_of(rx.device, tagged.tags, cx.turn) else { return closed };
        let view = views.get(sub as usize).unwrap_or_default();
        Self {
            rx_if: sub,
            open: gates.open(Door::Frames, view, (sub, None), cx),
            tables: [view.fib4, view.fib6],
            ..closed
        }
    }
}
