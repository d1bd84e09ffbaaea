// SPDX-License-Identifier: Apache-2.0
//! The tunnel of the packet before, while a vector is decapsulated: mostly the next packet has the
//! same outer headers but for lengths and checksums, and then the same holds for it.

use crate::receipt::{OF_OUTER, Receipt};
use buffer::{Buffer, Field, Flags as Marked};
use net::{IfLanes, IpMeta, L4, is_group};

/// Bytes that are compared at most: the header of IPv6, and the kind's own behind it.
const MOST: usize = 56;
const WORDS: usize = MOST / 8;

/// The bytes of an IPv4 header that decide about a packet: version and length, "more fragments" and
/// offset, protocol, addresses.
const OF_IP4: [u8; 20] = [!0, 0, 0, 0, 0, 0, 0x3f, !0, 0, !0, 0, 0, !0, !0, !0, !0, !0, !0, !0, !0];

/// The same of IPv6: version, next header, addresses.
const OF_IP6: [u8; 40] = {
    let mut mask = [!0; 40];
    (mask[0], mask[1], mask[2], mask[3], mask[4], mask[5], mask[7]) = (0xf0, 0, 0, 0, 0, 0, 0);
    mask
};

/// Outer headers as far as they decide about a packet, and what they decided.
pub struct Remembered<T> {
    mask: [u64; WORDS],
    want: [u64; WORDS],
    table: u32,
    headers: usize,
    receipt: Receipt,
    /// [`Buffer::feature`].
    feature: u32,
    to: T,
    /// Packets that were received since, and their bytes.
    packets: u64,
    bytes: u64,
}

/// The first bytes of a packet whose IP header begins at an offset.
#[inline(always)]
fn words<const V6: bool>(b: &Buffer, at: usize) -> Option<[u64; WORDS]> {
    let mut words = [0; WORDS];
    if V6 {
        let bytes: &[u8; MOST] = b.bytes(at)?;
        words = std::array::from_fn(|i| word(bytes, i));
    } else {
        let bytes: &[u8; 40] = b.bytes(at)?;
        words[..5].iter_mut().enumerate().for_each(|(i, to)| *to = word(bytes, i));
    }
    Some(words)
}

#[inline(always)]
fn word(bytes: &[u8], i: usize) -> u64 {
    bytes[8 * i..][..8].try_into().map_or(0, u64::from_ne_bytes)
}

impl<T: Copy> Remembered<T> {
    /// Of a packet that was received, and now begins behind `headers` bytes. `own` masks the bytes
    /// behind the IP header that decided. `None` if they are too many.
    pub fn of<const V6: bool>(
        b: &mut Buffer,
        (headers, own): (usize, &[u8]),
        (receipt, to): (Receipt, T),
    ) -> Option<Self> {
        let ip: &[u8] = if V6 { &OF_IP6 } else { &OF_IP4 };
        let most = if V6 { MOST } else { 40 };
        if headers != ip.len() + own.len() || headers > most || !b.rewind(headers) {
            return None;
        }
        let first = words::<V6>(b, 0);
        let pulled = b.pull(headers);
        debug_assert!(pulled, "they were there before");
        let (first, mut mask) = (first?, [0; MOST]);
        mask[..ip.len()].copy_from_slice(ip);
        mask[ip.len()..headers].copy_from_slice(own);
        let mask: [u64; WORDS] = std::array::from_fn(|i| word(&mask, i));
        let want = std::array::from_fn(|i| first[i] & mask[i]);
        let (table, feature) = (b.scratch::<IpMeta>().fib, b.feature);
        Some(Self { mask, want, table, headers, receipt, feature, to, packets: 0, bytes: 0 })
    }

    /// Receives a packet that begins with its outer headers, if the same holds for it; `None`, and
    /// nothing changed, otherwise.
    #[inline(always)]
    pub fn receive<const V6: bool>(
        &mut self,
        b: &mut Buffer,
        lanes: &IfLanes,
        l4: Field<L4>,
    ) -> Option<T> {
        if !self.is_of::<V6>(b, 0) || b.scratch::<IpMeta>().fib != self.table {
            return None;
        }
        self.take(b, lanes, l4)
    }

    /// True if the same holds for a packet of the same table whose IP header begins at an offset,
    /// and which is as long as the headers.
    #[inline(always)]
    pub fn is_of<const V6: bool>(&self, b: &Buffer, at: usize) -> bool {
        let Some(words) = words::<V6>(b, at) else { return false };
        let differ =
            (0..WORDS).fold(0, |differ, i| differ | (words[i] & self.mask[i]) ^ self.want[i]);
        differ == 0 && !b.flags.intersects(Marked::GSO | Marked::CSUM_PARTIAL)
    }

    /// Bytes of the outer headers.
    #[inline(always)]
    pub fn headers(&self) -> usize {
        self.headers
    }

    /// Receives a packet that begins with its outer headers, and for which the same holds; `None`,
    /// and nothing changed, if it is too short.
    #[inline(always)]
    pub fn take(&mut self, b: &mut Buffer, lanes: &IfLanes, l4: Field<L4>) -> Option<T> {
        if !b.pull(self.headers) {
            return None;
        }
        let Receipt { sw_if, counts, is_frame } = self.receipt;
        b.flags.remove(OF_OUTER);
        b.clear_field(l4);
        b.nesting = 0;
        b.rx_if = sw_if;
        b.feature = self.feature;
        if is_frame && is_group(b) {
            lanes.rx.frame(counts as usize, b);
        } else {
            self.packets += 1;
            self.bytes += b.packet_len() as u64;
        }
        Some(self.to)
    }

    /// True if some packet had the same headers.
    pub fn was_of_use(&self) -> bool {
        self.packets != 0
    }

    /// Counts the packets for their interface.
    pub fn settle(&self, lanes: &IfLanes) {
        if self.packets != 0 {
            lanes.rx.unicast(self.receipt.counts as usize, self.packets, self.bytes);
        }
    }
}
