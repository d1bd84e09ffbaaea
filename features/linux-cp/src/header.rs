// SPDX-License-Identifier: Apache-2.0
//! The Ethernet header that a packet was received with.

use buffer::Buffer;
use net::TAG;
use wire::EtherType;

/// Bytes of an Ethernet header without tags.
const HEADER: usize = 14;
/// Bytes of both MAC addresses.
const ADDRESSES: usize = 12;
/// Tags that a routed frame has at most.
const MOST_TAGS: usize = 2;

/// Puts the Ethernet header that the packet was received with in front of it again, without its
/// tags: an output node puts in those of its sub-interface. `ethertype` is that of the packet, if
/// the caller knows it: what a tunnel left in front of the packet is something else. Returns false,
/// with the packet unchanged, if there is no such header.
#[inline(always)]
pub fn restore(b: &mut Buffer, ethertype: Option<EtherType>) -> bool {
    let header = b.l2_len();
    let tags = header.saturating_sub(HEADER) / TAG;
    if tags > MOST_TAGS || header != HEADER + TAG * tags || !b.rewind(header) {
        return false;
    }
    let at = |at: usize, b: &Buffer| b.bytes::<2>(at).map(|t| EtherType(u16::from_be_bytes(*t)));
    let is_tag = |n: usize| at(ADDRESSES + TAG * n, b).is_some_and(EtherType::is_vlan);
    let is_own = |found: EtherType| ethertype.is_none_or(|wanted| found == wanted);
    if !(0..tags).all(is_tag) || !at(header - 2, b).is_some_and(is_own) {
        let pulled = b.pull(header);
        debug_assert!(pulled, "these bytes are there");
        return false;
    }
    if tags > 0 {
        b.data_mut().copy_within(..ADDRESSES, TAG * tags);
        return b.pull(TAG * tags);
    }
    true
}
