// SPDX-License-Identifier: Apache-2.0
//! Per-packet metadata that IP nodes pass to the next node.

use crate::AdjIndex;
use zerocopy::{Immutable, IntoBytes, TryFromBytes};

buffer::scratch! {
    /// Valid from a lookup to the node that its adjacency names, for local delivery up to the node
    /// of the packet's
    /// protocol, and on the edge to `ip4-icmp-error` or `ip6-icmp-error`.
    pub struct IpMeta {
        /// The adjacency that the lookup found; a packet that was not looked up has 0.
        pub adj: u32,
        /// Index of the table of the lookup.
        pub fib: u32,
        /// For an ICMP error: type in bits 8 to 15, code in bits 0 to 7; bit 16: see
        /// [`IpMeta::on_the_way`].
        pub icmp: u32,
        /// For an ICMP error: the last word of its header: gateway, MTU, pointer (in the upper
        /// byte).
        pub icmp_rest: u32,
    }
}

impl IpMeta {
    /// Metadata for the node of an adjacency.
    #[inline(always)]
    pub const fn of(adj: AdjIndex, fib: u32) -> Self {
        Self { adj: adj.0, fib, icmp: 0, icmp_rest: 0 }
    }

    /// Metadata for an ICMP error of this type and code, with the last word of its header.
    #[inline(always)]
    pub const fn error(kind: u8, code: u8, rest: u32) -> Self {
        Self { adj: 0, fib: 0, icmp: (kind as u32) << 8 | code as u32, icmp_rest: rest }
    }

    /// The same error, for a packet of our own that was looked up in this table: the error is
    /// delivered there.
    #[inline(always)]
    pub const fn in_table(self, fib: u32) -> Self {
        Self { fib, ..self }
    }

    /// The same error, from a node that does the destination's work in transit: its source is the
    /// router, not the packet's destination.
    #[inline(always)]
    pub const fn on_the_way(self) -> Self {
        Self { icmp: self.icmp | 1 << 16, ..self }
    }

    /// Returns true if the error is marked [`Self::on_the_way`].
    #[inline(always)]
    pub const fn is_on_the_way(self) -> bool {
        self.icmp & 1 << 16 != 0
    }

    /// The adjacency.
    #[inline(always)]
    pub const fn adj(self) -> AdjIndex {
        AdjIndex(self.adj)
    }

    /// Type of the ICMP error.
    pub const fn icmp_type(self) -> u8 {
        (self.icmp >> 8) as u8
    }

    /// Code of the ICMP error.
    pub const fn icmp_code(self) -> u8 {
        self.icmp as u8
    }
}

/// Upper-layer fields of an IP packet, also of a fragment that doesn't contain them: the metadata
/// of a packet that passed shallow reassembly, valid from there until the packet is changed into
/// another. A node that puts another IP header in front clears it.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, TryFromBytes, IntoBytes, Immutable)]
#[repr(C, packed)]
pub struct L4 {
    /// TCP's sequence number.
    pub seq: u32,
    /// TCP's acknowledgement number.
    pub ack: u32,
    /// Source port; identifier of an ICMP query; 0 for protocols without.
    pub src_port: u16,
    /// Destination port; identifier of an ICMP query; 0 for protocols without.
    pub dst_port: u16,
    /// Bytes from the IP header to the upper layer; in a later fragment, to the fragment's part of
    /// the upper layer.
    pub offset: u16,
    /// The protocol's number.
    pub protocol: u8,
    /// TCP's flags; ICMP's type.
    pub kind: u8,
    /// True for a fragment other than the first, which doesn't contain the upper-layer header.
    pub later: bool,
}

impl buffer::FieldValue for L4 {}
