// SPDX-License-Identifier: Apache-2.0
//! The interfaces that receive decapsulated packets.

use crate::end::End;
use buffer::Flags as Marked;

/// Flags that describe the outer packet.
pub(crate) const OF_OUTER: Marked = Marked::L4_CSUM_OK
    .union(Marked::IP4_CSUM_OK)
    .union(Marked::CSUM_PARTIAL)
    .union(Marked::LOCAL)
    .union(Marked::TABLE)
    .union(Marked::VLAN)
    .union(Marked::L2_BROADCAST)
    .union(Marked::L2_MULTICAST);

/// The interface that receives a decapsulated packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Receipt {
    /// The interface.
    pub sw_if: u32,
    /// The interface that counts the packet.
    pub counts: u32,
    /// The packet is an Ethernet frame.
    pub is_frame: bool,
}

impl Receipt {
    /// Of a packet of a tunnel.
    #[inline(always)]
    pub fn of(end: &End) -> Self {
        Self { sw_if: end.sw_if, counts: end.sw_if, is_frame: end.frames }
    }
}
