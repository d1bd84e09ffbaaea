// SPDX-License-Identifier: Apache-2.0
//! Packets of our own that answer one, in its buffer.

use buffer::{Buffer, Cache, Flags};

/// Puts a packet of our own in the place of what is in the buffer. It begins with its IP header,
/// its checksums are right, and it is shorter than a buffer.
#[inline(always)]
pub fn replace(b: &mut Buffer, packet: &[u8], cache: &mut Cache) {
    b.drop_segments(cache);
    let fits = b.set_data(packet);
    debug_assert!(fits, "a packet of {} bytes in one buffer", packet.len());
    b.flags &= Flags::TRACED;
    b.flags.insert(Flags::LOCAL | Flags::IP4_CSUM_OK | Flags::L4_CSUM_OK);
    b.mark_l3();
    (b.tx_if, b.flow_hash) = (u32::MAX, 0);
}
