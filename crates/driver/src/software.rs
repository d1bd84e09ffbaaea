// SPDX-License-Identifier: Apache-2.0
//! Checksums and segmentation by the processor, for devices that don't do them. Packets may be
//! chains.

use buffer::{Buffer, Flags, Segments};
use wire::checksum::Sum;
use wire::gso::{GsoError, MAX_HEADERS, Plan};

/// Completes the packet's partial checksum, wherever the packet's bytes lie. False if it has none,
/// or its field lies beyond the packet's end or in a shared segment; the packet is as it was then.
pub fn finish_checksum(b: &mut Buffer) -> bool {
    let (start, offset) = (usize::from(b.offload.csum_start), usize::from(b.offload.csum_offset));
    if !b.flags.contains(Flags::CSUM_PARTIAL) || start + offset + 2 > b.packet_len() {
        return false;
    }
    // The field holds the pseudo-header's sum, and is part of what is summed. 0 becomes 0xffff,
    // which is equal in one's complement, because 0 would mean "none" in UDP.
    let value = Sum::of_parts(range(b, start, usize::MAX)).finish_udp();
    if !b.write_u16(start + offset, value) {
        return false;
    }
    b.flags.remove(Flags::CSUM_PARTIAL);
    true
}

/// Iterator over the segments of a super-packet. Their payload stays where it is, and the position
/// in the chain of buffers is kept, so that all together take time in proportion to their bytes.
#[derive(Clone)]
pub struct Segmenter<'a> {
    plan: Plan<'a>,
    /// Index of the next packet.
    index: usize,
    /// Bytes from its payload on.
    rest: Range<'a>,
}

impl<'a> Segmenter<'a> {
    /// Plans how to cut a packet whose IP header stands at `l3`. The first segment has to hold all
    /// headers.
    ///
    /// # Errors
    /// The reason why it can't be cut.
    pub fn new(packet: &'a Buffer, l3: usize) -> Result<Self, GsoError> {
        Self::resume(packet, l3, 0)
    }

    /// The same, once the packets before number `index` are done.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn resume(packet: &'a Buffer, l3: usize, index: usize) -> Result<Self, GsoError> {
        let plan = Plan::new(packet.data(), l3, packet.packet_len(), packet.offload.gso_size)?;
        let rest = range(packet, plan.payload(index).start, usize::MAX);
        Ok(Self { plan, index, rest })
    }

    /// Number of packets; at least 1.
    pub fn count(&self) -> usize {
        self.plan.count()
    }

    /// Writes the headers of the next packet, checksums included; returns their length, and the
    /// payload. `None` behind the last.
    pub fn next(&mut self, headers: &mut [u8; MAX_HEADERS]) -> Option<(usize, Range<'a>)> {
        let payload = self.rest.first(self.plan.payload(self.index).len());
        let mut walk = payload.clone();
        let sum = Sum::of_parts(&mut walk);
        let len = self.plan.write_headers(self.index, sum, headers)?;
        self.rest = walk.first(usize::MAX);
        self.index += 1;
        Some((len, payload))
    }
}

/// Some bytes of a packet, piece by piece.
#[derive(Clone)]
pub struct Range<'a> {
    /// Rest of the current segment.
    piece: &'a [u8],
    /// Segments behind it.
    segments: Segments<'a>,
    /// Bytes that are left.
    len: usize,
}

impl Range<'_> {
    /// The first `len` bytes from here, whatever limit it had before.
    fn first(&self, len: usize) -> Self {
        Self { len, ..self.clone() }
    }
}

/// The whole packet.
#[inline(always)]
pub(crate) fn pieces(packet: &Buffer) -> Range<'_> {
    Range { piece: &[], segments: packet.segments(), len: usize::MAX }
}

/// Bytes of a packet from `start` on, at most `len`.
fn range(packet: &Buffer, mut start: usize, len: usize) -> Range<'_> {
    let mut all = pieces(packet);
    for segment in all.segments.by_ref() {
        if start < segment.len() {
            all.piece = &segment[start..];
            break;
        }
        start -= segment.len();
    }
    Range { len, ..all }
}

impl<'a> Iterator for Range<'a> {
    type Item = &'a [u8];

    #[inline(always)]
    fn next(&mut self) -> Option<&'a [u8]> {
        if self.len == 0 {
            return None;
        }
        while self.piece.is_empty() {
            self.piece = self.segments.next()?;
        }
        let (now, later) = self.piece.split_at(self.len.min(self.piece.len()));
        self.piece = later;
        self.len -= now.len();
        Some(now)
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use buffer::{Cache, Owned, Pool};
    use proptest::prelude::*;
    use wire::{gso, l4};

    /// A TCP packet over IPv4 in an Ethernet frame, its checksum partial.
    fn frame(payload: &[u8], tags: usize) -> Vec<u8> {
        let mut bytes = vec![2; 12];
        for _ in 0..tags {
            bytes.extend([0x81, 0, 0, 7]);
        }
        bytes.extend([8, 0]);
        let len = (40 + payload.len()) as u16;
        bytes.extend([
            0x45,
            0,
            (len >> 8) as u8,
            len as u8,
            1,
            2,
            0,
            0,
            64,
            6,
            0,
            0,
            10,
            0,
            0,
            1,
            10,
            0,
            0,
            2,
        ]);
        bytes
            .extend([0x12, 0x34, 0x56, 0x78, 0, 0, 0, 1, 0, 0, 0, 2, 0x50, 0x18, 1, 0, 0, 0, 0, 0]);
        bytes.extend(payload);
        let l3 = 14 + 4 * tags;
        l4::set_partial(&mut bytes[l3..]).expect("TCP");
        bytes
    }

    /// The bytes in a chain whose first segment holds `first` of them, the others `rest` each.
    fn chain(cache: &mut Cache, bytes: &[u8], first: usize, rest: usize) -> Owned {
        let (head, tail) = bytes.split_at(first.min(bytes.len()));
        let mut packet = cache.alloc().expect("a buffer");
        assert!(packet.set_data(head));
        let mut segments = Vec::new();
        for part in tail.chunks(rest) {
            let mut segment = cache.alloc().expect("a buffer");
            assert!(segment.set_data(part));
            segments.push(segment);
        }
        assert!(packet.append_segments(segments).is_ok());
        packet
    }

    proptest! {
        #[suite::test]
        fn as_for_a_packet_in_one_piece(
            payload in prop::collection::vec(any::<u8>(), 0..6000), tags in 0usize..3, first in 62usize..2048,
            rest in 700usize..2048, size in 500u16..1500, stop in 0usize..14,
        ) {
            let pool = Pool::new(630).expect("a small pool");
            let mut cache = Cache::new(pool);
            let bytes = frame(&payload, tags);
            let l3 = 14 + 4 * tags;
            let mut packet = chain(&mut cache, &bytes, first, rest);
            packet.flags.insert(Flags::CSUM_PARTIAL);
            (packet.offload.csum_start, packet.offload.csum_offset) = (l3 as u16 + 20, 16);
            packet.offload.gso_size = size;

            let mut want = Vec::new();
            gso::segment(&bytes, l3, size, |headers, payload| want.push([headers, payload].concat())).expect("cut");
            // From the start, and taken up again at any packet.
            let mut from = Segmenter::new(&packet, l3).expect("cut");
            prop_assert_eq!(from.count(), want.len());
            for at in [0, 1, stop] {
                let mut cut = if at == 0 { from.clone() } else { Segmenter::resume(&packet, l3, at).expect("cut") };
                let mut headers = [0; MAX_HEADERS];
                let got: Vec<_> = std::iter::from_fn(|| {
                    let (len, payload) = cut.next(&mut headers)?;
                    Some([&headers[..len], &payload.collect::<Vec<_>>().concat()].concat())
                }).collect();
                prop_assert_eq!(&got[..], want.get(at..).unwrap_or_default());
            }
            prop_assert!(from.next(&mut [0; MAX_HEADERS]).is_some());

            prop_assert!(finish_checksum(&mut packet));
            let mut whole = vec![0; packet.packet_len()];
            packet.copy_out(0, &mut whole);
            prop_assert_eq!(l4::verify(&whole[l3..]), Ok(l4::Verdict::Valid));
            prop_assert!(!finish_checksum(&mut packet), "it is complete");
            packet.flags.insert(Flags::CSUM_PARTIAL);
            packet.offload.csum_offset = (whole.len() - l3 - 20 - 1) as u16;
            prop_assert!(!finish_checksum(&mut packet), "beyond the end");
            cache.free(packet);
            drop(cache);
            prop_assert_eq!(pool.release(), Ok(()));
        }
    }
}
