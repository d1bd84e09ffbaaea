// SPDX-License-Identifier: Apache-2.0
//! What the IP nodes tell each other of a packet.

use crate::AdjIndex;

buffer::scratch! {
    /// Valid on the way from a lookup to the node that its adjacency names, for what is delivered here as far as the node of
    /// its protocol, and on the way to `ip4-icmp-error` or `ip6-icmp-error`.
    pub struct IpMeta {
        /// The adjacency that the lookup found; a packet that was not looked up has 0.
        pub adj: u32,
        /// Index of the table that it was found in.
        pub fib: u32,
        /// For an ICMP error: type in bits 8 to 15, code in bits 0 to 7; bit 16: see [`IpMeta::on_the_way`].
        pub icmp: u32,
        /// For an ICMP error: the last word of its header: gateway, MTU, pointer (in the upper byte).
        pub icmp_rest: u32,
    }
}

impl IpMeta {
    /// For the node of an adjacency.
    #[inline(always)]
    pub const fn of(adj: AdjIndex, fib: u32) -> Self {
        Self { adj: adj.0, fib, icmp: 0, icmp_rest: 0 }
    }

    /// For an ICMP error of this type and code, with the last word of its header.
    #[inline(always)]
    pub const fn error(kind: u8, code: u8, rest: u32) -> Self {
        Self { adj: 0, fib: 0, icmp: (kind as u32) << 8 | code as u32, icmp_rest: rest }
    }

    /// The same about a packet of our own that was looked up in this table: the error comes back there.
    #[inline(always)]
    pub const fn in_table(self, fib: u32) -> Self {
        Self { fib, ..self }
    }

    /// The same of a node that does on the way what the destination would do: whoever it was for doesn't say so, but the router.
    #[inline(always)]
    pub const fn on_the_way(self) -> Self {
        Self { icmp: self.icmp | 1 << 16, ..self }
    }

    /// Whether it was said [`Self::on_the_way`].
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
