// SPDX-License-Identifier: Apache-2.0
//! The packets of a capture.

/// Packets one behind the other in memory. A device writes received packets over packets that have
/// left, and leaves the caches to the router; so each is prefetched, to be read once and not kept.
#[derive(Clone, Debug, Default)]
pub struct Packets {
    bytes: Vec<u8>,
    /// Offset of the end of each packet.
    ends: Vec<usize>,
}

impl Packets {
    /// Number of packets.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns true if there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Adds a packet behind the others.
    pub fn push(&mut self, packet: &[u8]) {
        self.bytes.extend_from_slice(packet);
        self.ends.push(self.bytes.len());
    }

    /// The packet of this number, to be sent; packets behind it are prefetched.
    ///
    /// # Panics
    /// Without such a packet.
    #[inline(always)]
    pub fn send(&self, i: usize) -> &[u8] {
        let start = if i == 0 { 0 } else { self.ends[i - 1] };
        let packet = &self.bytes[start..self.ends[i]];
        for line in (AHEAD..AHEAD + packet.len().min(AHEAD)).step_by(64) {
            simd::prefetch_once(packet.as_ptr().wrapping_add(line));
        }
        packet
    }
}

/// The prefetch distance in bytes.
const AHEAD: usize = 1024;

impl<P: AsRef<[u8]>> FromIterator<P> for Packets {
    fn from_iter<I: IntoIterator<Item = P>>(packets: I) -> Self {
        let mut all = Self::default();
        packets.into_iter().for_each(|packet| all.push(packet.as_ref()));
        all
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    #[suite::test]
    fn packets_stay_apart() {
        let all: Packets = [&b"one"[..], b"", b"three"].into_iter().collect();
        assert_eq!((all.len(), all.is_empty(), Packets::default().is_empty()), (3, false, true));
        assert_eq!([0, 1, 2].map(|i| all.send(i)), [&b"one"[..], b"", b"three"]);
    }
}
