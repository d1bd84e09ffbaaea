// SPDX-License-Identifier: Apache-2.0
//! Super-packets (GSO): each is cut into segments, which then get headers in front.

use crate::inner::Inner;
use buffer::{Buffer, Flags, Owned};
use driver::Segmenter;
use graph::{Copies, Cx, Next, NodeIndex};
use wire::gso::MAX_HEADERS;

/// Segments of one packet at most: 65,535 bytes in segments of 48 bytes, the smallest that Linux
/// makes. More would let one packet take most buffers.
const MOST: usize = 65_535 / 48 + 1;

/// The next nodes of a node that cuts super-packets. [`cuts!`](crate::cuts) implements it.
pub trait Cuts: Next {
    /// Super-packets: the node keeps them, to cut them.
    const SEGMENTS: Self;
    /// A super-packet that can't be cut, or into too many segments.
    const BAD_SUPER: Self;
    /// Counts segments that there was no buffer for.
    const NO_BUFFER: Self;

    /// The node itself, for packets that wait for buffers.
    fn again(node: NodeIndex) -> Self;
}

/// Implements [`segment::Cuts`](crate::segment::Cuts) for next nodes `Segments`, `BadSuper`,
/// `NoBuffer`, and the dynamic one that is named.
#[macro_export]
macro_rules! cuts {
    ($To:ident, $again:ident) => {
        impl $crate::segment::Cuts for $To {
            const SEGMENTS: Self = Self::Segments;
            const BAD_SUPER: Self = Self::BadSuper;
            const NO_BUFFER: Self = Self::NoBuffer;

            fn again(node: ::graph::NodeIndex) -> Self {
                Self::$again(node)
            }
        }
    };
}

/// The super-packets of a vector. Those beyond a number of segments wait: they go to the node
/// again.
#[derive(Debug, Default)]
pub struct Supers(Copies);

impl Supers {
    /// Plans the segments of a super-packet. Returns where it goes: the node keeps it, unless it
    /// would become too many.
    #[inline(always)]
    pub fn plan<N: Cuts>(&mut self, b: &Buffer) -> N {
        let segments = 1 + b.packet_len() / usize::from(b.offload.gso_size).max(1);
        if segments > MOST {
            return N::BAD_SUPER;
        }
        if !self.0.are_enough() {
            self.0.plan(segments);
        }
        N::SEGMENTS
    }

    /// For each kept packet in order: returns it if it is to be cut now. It waits otherwise.
    #[inline(always)]
    pub fn take<N: Cuts>(&mut self, b: Owned, cx: &mut Cx<'_, false>) -> Option<Owned> {
        if self.0.take() {
            return Some(b);
        }
        let again = N::again(cx.node());
        cx.emit(again, b);
        None
    }

    /// Ends the vector.
    #[inline(always)]
    pub fn end(&mut self) {
        self.0.end();
    }
}

/// Cuts a packet and sends each part where `send` says. `lead` bytes stand in front of its IP
/// header, or of its Ethernet header.
pub fn cut<N: Cuts>(
    b: Owned,
    lead: usize,
    frames: bool,
    cx: &mut Cx<'_, false>,
    mut send: impl FnMut(&mut Buffer, &mut Cx<'_, false>) -> N,
) {
    let l3 = if frames { Inner::of_frame(&b).at } else { lead };
    let Some(missing) = emit_parts(&b, l3, cx, &mut send) else {
        return cx.emit(N::BAD_SUPER, b);
    };
    cx.free(b);
    cx.count(N::NO_BUFFER, missing);
}

/// Emits the parts of a packet whose IP header begins at `l3`. Returns how many found no buffers;
/// none if the packet can't be cut.
fn emit_parts<N: Next>(
    b: &Buffer,
    l3: usize,
    cx: &mut Cx<'_, false>,
    mut send: impl FnMut(&mut Buffer, &mut Cx<'_, false>) -> N,
) -> Option<u64> {
    const KEPT: Flags =
        Flags::LOCAL.union(Flags::TRACED).union(Flags::L2_BROADCAST).union(Flags::L2_MULTICAST);
    let mut cut = Segmenter::new(b, l3).ok()?;
    let mut headers = [0; MAX_HEADERS];
    let mut missing = 0;
    while let Some((len, payload)) = cut.next(&mut headers) {
        let Some(mut part) = cx.alloc() else {
            missing += 1;
            continue;
        };
        let mut whole = part.set_data(&headers[..len]);
        for piece in payload {
            whole = whole && part.append_bytes(piece, cx.cache());
        }
        if !whole {
            missing += 1;
            cx.free(part);
            continue;
        }
        part.flags.insert(b.flags & KEPT);
        (part.rx_if, part.tx_if) = (b.rx_if, b.tx_if);
        (part.trace, part.flow_hash) = (b.trace, b.flow_hash);
        let to = send(&mut part, cx);
        cx.emit(to, part);
    }
    Some(missing)
}
