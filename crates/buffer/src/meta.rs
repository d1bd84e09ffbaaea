// SPDX-License-Identifier: Apache-2.0
//! Metadata of a packet: flags, offloads.

use bitflags::bitflags;

bitflags! {
    /// Properties of a packet, one bit each. The packet's structure (its segments, the packets that
    /// share them) isn't among them: flags may be set, cleared and copied at will.
    #[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
    #[repr(transparent)]
    pub struct Flags: u32 {
        /// Every node that the packet passes writes a trace record.
        const TRACED = 1 << 0;
        /// Generated here, not received.
        const LOCAL = 1 << 1;
        /// Layer-4 checksum was verified by the sender's side (or the packet never left this host).
        const L4_CSUM_OK = 1 << 2;
        /// The IPv4 header checksum need not be verified again.
        const IP4_CSUM_OK = 1 << 3;
        /// The layer-4 checksum is partial: it has to be finished from [`Offload`] before the
        /// packet leaves.
        const CSUM_PARTIAL = 1 << 4;
        /// Larger than the path's MTU by design; [`Offload`] says how to segment.
        const GSO = 1 << 5;
        /// A VLAN tag was taken off by the driver and put back into the packet.
        const VLAN = 1 << 7;
        /// Layer-2 broadcast.
        const L2_BROADCAST = 1 << 8;
        /// Layer-2 multicast.
        const L2_MULTICAST = 1 << 9;
        /// The next lookup takes the route table whose index stands in
        /// [`Buffer::tx_if`](crate::Buffer::tx_if), not the receiving interface's.
        const TABLE = 1 << 10;
        /// A copy for a mirror port, of which no further copies are made for mirror ports.
        const MIRRORED = 1 << 11;
        /// The number of returns.
        const _ = u32::MAX << Flags::RETURNS;
    }
}

/// Times that a packet may come back to nodes that it has passed, in ways that nothing else bounds:
/// what a loopback interface sends is received again, and an operator may lead packets to any node.
pub const MAX_RETURNS: u32 = 15;

impl Flags {
    /// Position of the number of returns: the last four bits, which no property has.
    const RETURNS: u32 = 28;

    /// Counts that the packet goes back to a node that it may have passed. Returns false if it has
    /// done so [`MAX_RETURNS`] times: it is dropped then, since no hop count may ever end it.
    #[inline(always)]
    pub const fn count_return(&mut self) -> bool {
        let more = self.bits() >> Self::RETURNS < MAX_RETURNS;
        if more {
            *self = Self::from_bits_retain(self.bits() + (1 << Self::RETURNS));
        }
        more
    }
}

/// Checksum and segmentation offload: as the driver reported it on receive, or as it needs it on
/// transmit.
///
/// Offsets count from the first byte of the packet ([`Buffer::data`](crate::Buffer::data)), as in
/// the virtio-net header. A node that pushes or pulls bytes in front moves them by
/// [`Buffer::shift_offload`](crate::Buffer::shift_offload) (the framework's `push`/`pull` do it).
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Offload {
    /// Where the checksummed bytes start.
    pub csum_start: u16,
    /// Where the checksum stands, from `csum_start`.
    pub csum_offset: u16,
    /// Payload bytes per segment.
    pub gso_size: u16,
    /// virtio's `gso_type` (1 TCPv4, 3 UDP, 4 TCPv6, 5 UDP_L4; bit 7 ECN).
    pub gso_kind: u8,
}
