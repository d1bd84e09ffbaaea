// SPDX-License-Identifier: Apache-2.0
//! Packets queued from a worker to the process that writes them: bytes in preallocated memory.

use graph::SwIfIndex;

/// Bytes of a chunk.
pub const SIZE: usize = 256 << 10;
/// Bytes before each packet.
pub const HEADER: usize = 32;

/// The header of a captured packet's record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The instance's clock, in nanoseconds.
    pub time: u64,
    /// The interface it came in by or leaves by.
    pub interface: SwIfIndex,
    /// See [`crate::Directions`].
    pub direction: Direction,
    /// It begins with an IP header; else with an Ethernet header.
    pub ip: bool,
    /// It is traced. Known of packets in front of a node only.
    pub traced: bool,
    /// The reason of a drop, an index of the instance's error table; or the node that is about to
    /// process it.
    pub at: u32,
    /// Bytes of the whole packet.
    pub length: u32,
    /// Bytes kept of it.
    pub kept: u32,
}

/// Where a packet was captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Direction {
    /// As it came in.
    Rx = 0,
    /// As it left.
    Tx = 1,
    /// As it was dropped.
    Drop = 2,
    /// In front of a node.
    Dispatch = 3,
}

impl Direction {
    pub const ALL: [Self; 4] = [Self::Rx, Self::Tx, Self::Drop, Self::Dispatch];
}

/// Packets one behind the other; it never grows.
pub struct Chunk(Vec<u8>);

impl Chunk {
    pub fn new() -> Self {
        Self(Vec::with_capacity(SIZE))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Returns true if there is room for a packet of which `kept` bytes are kept.
    pub fn has_room(&self, kept: usize) -> bool {
        self.0.capacity() - self.0.len() >= HEADER + kept
    }

    /// Appends a packet: the segments hold `header.kept` bytes or more. There is room for it.
    pub fn push<'a>(&mut self, header: Header, segments: impl Iterator<Item = &'a [u8]>) {
        let words = [header.interface.0, header.at, header.length, header.kept];
        self.0.extend_from_slice(&header.time.to_le_bytes());
        words.iter().for_each(|word| self.0.extend_from_slice(&word.to_le_bytes()));
        self.0.extend_from_slice(&[
            header.direction as u8,
            u8::from(header.ip),
            u8::from(header.traced),
            0,
            0,
            0,
            0,
            0,
        ]);
        let mut left = header.kept as usize;
        for segment in segments {
            let n = left.min(segment.len());
            self.0.extend_from_slice(&segment[..n]);
            left -= n;
        }
        debug_assert_eq!(left, 0, "segments are shorter than the packet");
    }

    /// The packets, in order.
    pub fn packets(&self) -> impl Iterator<Item = (Header, &[u8])> {
        let mut rest = &self.0[..];
        std::iter::from_fn(move || {
            let (header, after) = rest.split_at_checked(HEADER)?;
            let word = |at: usize| header[at..at + 4].try_into().map_or(0, u32::from_le_bytes);
            let header = Header {
                time: u64::from(word(0)) | u64::from(word(4)) << 32,
                interface: SwIfIndex(word(8)),
                at: word(12),
                length: word(16),
                kept: word(20),
                direction: Direction::ALL[usize::from(header[24]) % 4],
                ip: header[25] != 0,
                traced: header[26] != 0,
            };
            let (bytes, after) = after.split_at_checked(header.kept as usize)?;
            rest = after;
            Some((header, bytes))
        })
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    #[suite::test]
    fn packets_come_out_as_they_went_in_and_nothing_grows() {
        let mut chunk = Chunk::new();
        let mut want = Vec::new();
        for i in 0u32.. {
            let kept = (i % 700) as usize;
            if !chunk.has_room(kept) {
                break;
            }
            let header = Header {
                time: u64::from(i) << 30,
                interface: SwIfIndex(i),
                direction: Direction::ALL[i as usize % 4],
                ip: i % 2 == 0,
                traced: i % 3 == 0,
                at: i * 7,
                length: 9000,
                kept: kept as u32,
            };
            let (a, b) = (vec![i as u8; kept / 2], vec![1; 900]);
            chunk.push(header, [&a[..], &b[..]].into_iter());
            want.push((header, a.into_iter().chain(b).take(kept).collect::<Vec<_>>()));
        }
        assert!(want.len() > 500);
        assert_eq!(chunk.0.capacity(), SIZE);
        let got: Vec<_> = chunk.packets().map(|(h, bytes)| (h, bytes.to_vec())).collect();
        assert_eq!(got, want);
    }
}
