// SPDX-License-Identifier: Apache-2.0
//! Stages: features of packets that are received or leave, which decide about many packets at once,
//! without a visit to their node.

use crate::{AdjIndex, Net, TableIndex};
use buffer::Buffer;
use graph::{Build, ChainStep, Cx, ErrorIndex, Node, NodeIndex, StageDef};
use std::fmt;

/// Offset of the IP header in the data of [`PacketColumns::buffer`]: nothing is taken off yet.
pub const IP_IN_STAGE: usize = 14;
/// Packets in columns at most.
const MOST: usize = u64::BITS as usize;

/// Bytes in front of IP headers, beside those of an Ethernet header.
#[derive(Clone, Copy, Debug)]
pub struct Front {
    /// True if there is an Ethernet header, and not only room for it.
    pub is_frame: bool,
    /// Bytes of the tags that were taken off.
    pub tags: usize,
}

impl Front {
    /// With nothing in front.
    pub const NONE: Self = Self { is_frame: false, tags: 0 };

    /// Puts the start of a packet of so many bytes at its IP header, as the nodes behind expect it,
    /// and cuts off the padding behind it.
    #[inline(always)]
    pub fn strip(self, b: &mut Buffer, total: u32) {
        let mut done = true;
        if self.is_frame {
            done &= b.rewind(self.tags);
            b.mark_l2();
            done &= b.pull(self.tags);
        }
        done &= b.pull(IP_IN_STAGE);
        debug_assert!(done, "the header was read");
        b.truncate(total as usize);
    }
}

/// A forwarding object that packets take instead of a lookup.
#[derive(Clone, Copy, Debug)]
pub struct Directed {
    /// Index of the object, as routes name it.
    pub adj: AdjIndex,
    /// The node's counter of packets that take it.
    pub counter: ErrorIndex,
}

/// The buffers of packets in columns.
pub trait Buffers {
    /// The buffer of packet `i`.
    fn get(&mut self, i: usize) -> &mut Buffer;
}

/// At most 64 packets of one interface, in columns. Their headers are valid, and they are all in
/// one piece, without IPv4 options.
pub struct PacketColumns<'a, F: Net> {
    /// The index of the interface whose features the stages are: the receiving interface, or the
    /// one that packets leave by.
    pub sw_if: u32,
    /// The receiving interface.
    pub rx_if: u32,
    /// The table of the receiving interface.
    pub table: TableIndex,
    /// A mask of the packets that the stages in front let pass. The stage may decide about others
    /// too, but nothing may follow from that.
    pub which: u64,
    /// Source addresses.
    pub sources: &'a [F::Addr],
    /// IP packet lengths in bytes, header included.
    pub lengths: &'a [u32],
    // Not in the cache of a stage that needs the columns only, and so no column.
    buffers: &'a mut dyn Buffers,
    changed: u64,
    directed: Option<Directed>,
    front: Front,
    /// Packets that were sent to a node, and these nodes.
    sent: u64,
    nodes: [NodeIndex; MOST],
}

impl<F: Net> fmt::Debug for PacketColumns<'_, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let &Self { sw_if, table, which, sources, lengths, changed, sent, .. } = self;
        let mut out = f.debug_struct("PacketColumns");
        out.field("sw_if", &sw_if).field("table", &table).field("which", &which);
        out.field("sources", &sources).field("lengths", &lengths).field("changed", &changed);
        out.field("sent", &sent).finish_non_exhaustive()
    }
}

impl<'a, F: Net> PacketColumns<'a, F> {
    /// Packets of an interface whose packets are looked up in a table.
    pub fn new(
        (sw_if, table): (u32, TableIndex),
        which: u64,
        (sources, lengths): (&'a [F::Addr], &'a [u32]),
        buffers: &'a mut dyn Buffers,
    ) -> Self {
        let (front, nodes) = (Front::NONE, [NodeIndex::default(); MOST]);
        let (changed, directed, sent) = (0, None, 0);
        Self {
            sw_if,
            rx_if: sw_if,
            table,
            which,
            sources,
            lengths,
            buffers,
            changed,
            directed,
            front,
            sent,
            nodes,
        }
    }

    /// The same, of packets that leave and that this interface has received.
    #[must_use]
    pub fn received_by(self, rx_if: u32) -> Self {
        Self { rx_if, ..self }
    }

    /// The same with so much in front of the IP headers.
    #[must_use]
    pub fn behind(self, front: Front) -> Self {
        Self { front, ..self }
    }

    /// A mask whose bit `i` is `passes(i)`, for packets in [`Self::which`].
    #[inline(always)]
    pub fn mask(&mut self, mut passes: impl FnMut(&mut Self, usize) -> bool) -> u64 {
        let (mut left, mut mask) = (self.which, 0);
        while left != 0 {
            let i = left.trailing_zeros() as usize;
            left &= left - 1;
            mask |= u64::from(passes(self, i)) << i;
        }
        mask
    }

    /// Packet `i`, from its IP header on.
    #[inline(always)]
    pub fn packet(&mut self, i: usize) -> &[u8] {
        self.buffer(i).data().get(IP_IN_STAGE..).unwrap_or_default()
    }

    /// Packet `i`, from its IP header on, to be changed, but for its length: its destination and
    /// hop limit are read again.
    #[inline(always)]
    pub fn packet_mut(&mut self, i: usize) -> &mut [u8] {
        self.changed |= 1 << (i % u64::BITS as usize);
        self.buffer(i).data_mut().get_mut(IP_IN_STAGE..).unwrap_or_default()
    }

    /// The buffer of packet `i`, whose IP header begins at [`IP_IN_STAGE`], without a frame's
    /// padding.
    #[inline(always)]
    pub fn buffer(&mut self, i: usize) -> &mut Buffer {
        let b = self.buffers.get(i);
        if let Some(len) = self.lengths.get(i) {
            b.truncate(IP_IN_STAGE + *len as usize);
        }
        b
    }

    /// Sends packet `i` to a node that `to` chooses. `to` gets it as a node does: it begins with
    /// its IP header.
    #[inline(always)]
    pub fn send(&mut self, i: usize, to: impl FnOnce(&mut Buffer) -> NodeIndex) {
        let (Some(length), Some(node)) = (self.lengths.get(i), self.nodes.get_mut(i)) else {
            return;
        };
        let b = self.buffers.get(i);
        self.front.strip(b, *length);
        *node = to(b);
        self.sent |= 1 << i;
    }

    /// Forwards the packets that the stage lets pass by an object instead of by their destinations,
    /// as a node does that never sends packets along the arc: no feature behind sees them. The node
    /// gets those that can't be forwarded so.
    pub fn direct(&mut self, to: Directed) {
        self.directed = Some(to);
    }

    /// The object of [`Self::direct`].
    pub fn directed(&self) -> Option<Directed> {
        self.directed
    }

    /// A mask of the packets that were sent to nodes.
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// The nodes of these packets, by their numbers.
    pub fn nodes(&self) -> [NodeIndex; MOST] {
        self.nodes
    }

    /// A mask of the packets that were changed.
    pub fn changed(&self) -> u64 {
        self.changed
    }
}

/// A feature of `ip4-unicast` or `ip6-unicast`, or of `ip4-output` or `ip6-output`, as a fast path
/// runs it, in place of its node. Each thread has its own.
///
/// Packets that leave have their old hop limit and no new layer-2 header yet; their stages neither
/// send packets to nodes nor direct them.
pub trait Stage<F: Net>: Send {
    /// Returns a mask. Bit `i` is set if packet `i` goes on to the next feature, or is forwarded by
    /// an object that the stage has chosen ([`PacketColumns::direct`]), and then the stage
    /// has done for it all that the node would have done: it won't see the packet. The same holds
    /// for packets that the stage has sent to another node ([`PacketColumns::send`]), whose bits
    /// are ignored. For all other packets it must have done nothing: the node gets them. Bits
    /// beyond the last packet are ignored. `step` has the feature's configuration on the
    /// interface.
    fn pass(
        &mut self,
        packets: &mut PacketColumns<'_, F>,
        step: ChainStep<'_>,
        cx: &Cx<'_, false>,
    ) -> u64;
}

/// The stage `S` of the feature whose node is `N`, for a plugin's list.
pub const fn stage<F: Net, N: Node, S: Stage<F> + Build + 'static>() -> StageDef {
    StageDef::new(N::NAME, Some(F::IS_V6), |world, thread| {
        let stage: Box<dyn Stage<F>> = Box::new(S::build(world, thread));
        Box::new(stage)
    })
}
