// SPDX-License-Identifier: Apache-2.0
//! Differences of the two protocols.

use crate::ETHERNET;
use crate::next_hop::{Ends, Protocol};
use buffer::Buffer;
use ip::{Ip, Words, words};
use std::net::{Ipv4Addr, Ipv6Addr};
use wire::{Ip4, Ip6};

/// An Ethernet header and an IP header.
type Frame4 = [u8; ETHERNET + 20];
type Frame6 = [u8; ETHERNET + 40];

impl Protocol for Ip4 {
    #[inline(always)]
    fn look(b: &Buffer) -> Option<(Words, u32)> {
        let frame: &Frame4 = b.bytes(0)?;
        let header: &[u8; 20] = frame.last_chunk()?;
        let words = words(header.as_chunks().0, 4);
        Some((words, u32::from_be(words.1)))
    }

    #[inline(always)]
    fn frame_source(b: &Buffer) -> Ipv4Addr {
        b.bytes::<4>(ETHERNET + 12).map_or(Ipv4Addr::UNSPECIFIED, |source| (*source).into())
    }

    #[inline(always)]
    fn early_source([.., source]: [u32; 4]) -> Option<Ipv4Addr> {
        Some(source.to_le_bytes().into())
    }

    #[inline(always)]
    fn write(b: &mut Buffer, word: u32, ends: Option<&Ends>) -> Option<()> {
        let frame: &mut Frame4 = b.bytes_mut(0)?;
        frame[ETHERNET + Self::CHANGES..][..4].copy_from_slice(&word.to_le_bytes());
        if let Some(ends) = ends {
            ends.write(frame.first_chunk_mut()?);
        }
        Some(())
    }
}

impl Protocol for Ip6 {
    #[inline(always)]
    fn look(b: &Buffer) -> Option<(Words, u128)> {
        let frame: &Frame6 = b.bytes(0)?;
        let header: &[u8; 40] = frame.last_chunk()?;
        Some((words(header.as_chunks().0, 6), u128::from_be_bytes(*header.last_chunk()?)))
    }

    #[inline(always)]
    fn frame_source(b: &Buffer) -> Ipv6Addr {
        b.bytes::<16>(ETHERNET + 8).map_or(Ipv6Addr::UNSPECIFIED, |source| (*source).into())
    }

    #[inline(always)]
    fn early_source(_: [u32; 4]) -> Option<Ipv6Addr> {
        None
    }

    #[inline(always)]
    fn write(b: &mut Buffer, word: u32, ends: Option<&Ends>) -> Option<()> {
        let frame: &mut Frame6 = b.bytes_mut(0)?;
        frame[ETHERNET + Self::CHANGES..][..4].copy_from_slice(&word.to_le_bytes());
        if let Some(ends) = ends {
            ends.write(frame.first_chunk_mut()?);
        }
        Some(())
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use wire::{Header, IpHeader, Ipv4Header, Ipv6Header};

    /// The header that [`Ip::onward`] makes of a header, and the one that the header's own method
    /// makes.
    fn both<F: Protocol, H: Header + IpHeader, const N: usize>(
        bytes: [u8; N],
    ) -> ([u8; N], [u8; N]) {
        let (word, _) = F::onward(words(bytes.as_chunks().0, 4).0);
        let (mut fast, mut slow) = (bytes, bytes);
        fast[F::CHANGES..][..4].copy_from_slice(&word.to_le_bytes());
        H::view_mut(&mut slow).unwrap().decrement_ttl();
        (fast, slow)
    }

    #[suite::test]
    fn every_checksum_is_mended_alike() {
        for (sum, ttl) in (0..=u16::MAX).flat_map(|sum| [2, 3, 64, 128, 255].map(|ttl| (sum, ttl)))
        {
            let mut bytes = [0x45; 20];
            bytes[8] = ttl;
            bytes[10..12].copy_from_slice(&sum.to_be_bytes());
            let (fast, slow) = both::<Ip4, Ipv4Header, 20>(bytes);
            assert_eq!(fast, slow, "{sum:#x} {ttl}");
        }
    }

    proptest! {
        #[suite::test]
        fn a_hop_changes_what_it_should(bytes4: [u8; 20], bytes6: [u8; 40], ttl in 2u8..) {
            let (mut bytes4, mut bytes6) = (bytes4, bytes6);
            (bytes4[8], bytes6[7]) = (ttl, ttl);
            let (fast, slow) = both::<Ip4, Ipv4Header, 20>(bytes4);
            prop_assert_eq!(fast, slow);
            let (fast, slow) = both::<Ip6, Ipv6Header, 40>(bytes6);
            prop_assert_eq!(fast, slow);
        }

        #[suite::test]
        fn what_stays_is_told(first: [u32; 4]) {
            let bytes: Vec<u8> = first.iter().flat_map(|word| word.to_le_bytes()).collect();
            prop_assert_eq!(Ip4::onward(first).1 != 0, bytes[8] <= 1);
            let confined = bytes[8] == 0xfe && bytes[9] & 0xc0 == 0x80;
            prop_assert_eq!(Ip6::onward(first).1 != 0, bytes[7] <= 1 || confined);
        }
    }
}
