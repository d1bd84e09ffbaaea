// SPDX-License-Identifier: Apache-2.0
//! `l2-xcrw`: puts the bytes of a cross-connect in front of frames.

use crate::control::Rewrites;
use buffer::{Buffer, Field, Flags};
use driver::finish_checksum;
use graph::{Build, Cx, Next, Node, NodeIndex, ThreadIndex, Trace, World};
use net::L4;
use std::fmt;
use std::sync::Arc;

/// `l2-xcrw`.
pub struct L2Xcrw {
    rewrites: Arc<Rewrites>,
    l4: Field<L4>,
}

#[derive(Next, Clone, Copy)]
pub enum To {
    /// The next node of the cross-connect.
    #[dynamic]
    Node(NodeIndex),
    /// frames that got bytes in front
    #[count]
    #[counter("Packets forwarded")]
    Forwarded,
    /// the cross-connect is gone
    #[drop]
    #[counter("Packets dropped")]
    Dropped,
    /// no room in front of the frame for the bytes
    #[drop]
    NoHeadroom,
    /// packet that a device would have segmented has no room for headers that are the same for all
    /// segments
    #[drop]
    Super,
}

/// The interface `xcrwN`, and the number of bytes.
#[derive(Clone, Copy)]
pub struct XcrwTrace {
    rx_if: u32,
    sink: u32,
    len: usize,
}

impl Trace for XcrwTrace {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rx_if, sink, len } = self;
        write!(f, "rx_sw_if_index {rx_if} xcrw sw_if_index {sink} rewrite {len} bytes")
    }
}

impl Build for L2Xcrw {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self { rewrites: world.get(), l4: world.field() }
    }
}

impl Node for L2Xcrw {
    const NAME: &'static str = "l2-xcrw";
    const HOT: bool = true;
    type Next = To;
    type Trace = XcrwTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        let work = self.rewrites.work(b.tx_if, cx.turn);
        if TRACED {
            let len = work.map_or(0, |work| work.bytes().len());
            cx.trace(b, XcrwTrace { rx_if: b.rx_if, sink: b.tx_if, len });
        }
        let Some(work) = work else { return To::Dropped };
        if b.flags.intersects(Flags::GSO | Flags::CSUM_PARTIAL) {
            if b.flags.contains(Flags::GSO) {
                return To::Super;
            }
            finish_checksum(b);
            // Left only on a packet too short for the checksum. The offsets are not those of the
            // new packet.
            b.flags.remove(Flags::CSUM_PARTIAL);
        }
        let bytes = work.bytes();
        let Some(front) = b.push_slice(bytes.len()) else { return To::NoHeadroom };
        front.copy_from_slice(bytes);
        // Metadata of the frame isn't true of the packet that carries it.
        b.clear_field(self.l4);
        const OF_FRAME: Flags = Flags::LOCAL
            .union(Flags::L4_CSUM_OK)
            .union(Flags::IP4_CSUM_OK)
            .union(Flags::VLAN)
            .union(Flags::L2_BROADCAST)
            .union(Flags::L2_MULTICAST)
            .union(Flags::TABLE);
        b.flags.remove(OF_FRAME);
        b.mark_l2();
        if let Some(table) = work.table {
            b.flags.insert(Flags::TABLE);
            b.tx_if = table;
        }
        cx.count(To::Forwarded, 1);
        To::Node(work.next)
    }
}
