// SPDX-License-Identifier: Apache-2.0
//! Signature: the last 16 bytes of each test packet, by which the receiver knows it.

use wire::{Header, U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The first two bytes of every signature.
pub const MAGIC: u16 = 0xfe7e;

/// Bytes of a signature.
pub const LEN: usize = 16;

/// Signature of a test packet.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Signature {
    /// [`MAGIC`].
    pub magic: U16,
    /// Stream: trial and direction, so that packets of an earlier trial are told apart.
    pub stream: U16,
    /// Number of the packet in its stream, from 0.
    pub sequence: U32,
    /// Time at which the packet was handed to the port, in nanoseconds of the tester's clock.
    pub sent: U64,
}

impl Signature {
    /// Makes a signature.
    #[inline(always)]
    pub fn new(stream: u16, sequence: u32, sent: u64) -> Self {
        Self {
            magic: U16::new(MAGIC),
            stream: U16::new(stream),
            sequence: U32::new(sequence),
            sent: U64::new(sent),
        }
    }

    /// Reads the signature at the end of a packet; `None` if there is none.
    #[inline(always)]
    pub fn find(packet: &[u8]) -> Option<&Self> {
        let at = packet.len().checked_sub(LEN)?;
        Self::view_at(packet, at).filter(|signature| signature.magic.get() == MAGIC)
    }
}

/// Bytes of the longest payload in front of a signature.
pub const LONGEST: usize = 2048;

/// Fixed bytes that fill payloads up. A filler of `n` bytes is the last `n` of them, so that it
/// is known by its length alone, whatever headers stand in front of it.
pub static FILLER: [u8; LONGEST] = filler();

const fn filler() -> [u8; LONGEST] {
    let (mut bytes, mut state, mut at) = ([0; LONGEST], 0x9e37_79b9_7f4a_7c15_u64, 0);
    while at < LONGEST {
        // xorshift64
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes[at] = (state >> 32) as u8;
        at += 1;
    }
    bytes
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    #[suite::test]
    fn bytes_of_a_signature() {
        let signature = Signature::new(0x0102, 0x0304_0506, 0x0708_090a_0b0c_0d0e);
        let mut packet = vec![9; 5];
        packet.extend(signature.as_bytes());
        assert_eq!(packet[5..], [0xfe, 0x7e, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14]);
        assert_eq!(Signature::find(&packet), Some(&signature));
        packet[5] ^= 1;
        assert_eq!(Signature::find(&packet), None);
        assert_eq!(Signature::find(&packet[..15]), None);
    }
}
