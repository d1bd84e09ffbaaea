// SPDX-License-Identifier: Apache-2.0
//! What the two protocols differ in.

use super::ETHERNET;
use super::way::{Ends, Protocol};
use buffer::Buffer;
use wire::{Header, Ip4, Ip6, IpHeader, Ipv4Header};

/// An Ethernet header and an IP header.
type Frame4 = [u8; ETHERNET + 20];
type Frame6 = [u8; ETHERNET + 40];

impl Protocol for Ip4 {
    #[inline(always)]
    fn look(b: &Buffer) -> Option<(([u32; 4], u32), u32)> {
        let frame: &Frame4 = b.bytes(0)?;
        let header: &[u8; 20] = frame.last_chunk()?;
        let (words, _) = header.as_chunks::<4>();
        let destination = u32::from_le_bytes(words[4]);
        Some((
            ([0, 1, 2, 3].map(|word| u32::from_le_bytes(words[word])), destination),
            u32::from_be(destination),
        ))
    }

    #[inline(always)]
    fn hop(b: &mut Buffer, mtu: usize, ends: Option<&Ends>) -> Option<usize> {
        let frame: &mut Frame4 = b.bytes_mut(0)?;
        let header: &mut [u8; 20] = frame.last_chunk_mut()?;
        let total = usize::from(u16::from_be_bytes([header[2], header[3]]));
        if header[8] <= 1 || total > mtu {
            return None;
        }
        Ipv4Header::view_mut(header)?.decrement_ttl();
        if let Some(ends) = ends {
            ends.write(frame.first_chunk_mut()?);
        }
        Some(total)
    }
}

impl Protocol for Ip6 {
    #[inline(always)]
    fn look(b: &Buffer) -> Option<(([u32; 4], u32), u128)> {
        let frame: &Frame6 = b.bytes(0)?;
        let header: &[u8; 40] = frame.last_chunk()?;
        let (words, _) = header.as_chunks::<4>();
        let destination = u32::from_le_bytes(words[6]);
        let words = [0, 1, 2, 3].map(|word| u32::from_le_bytes(words[word]));
        Some(((words, destination), u128::from_be_bytes(*header.last_chunk()?)))
    }

    #[inline(always)]
    fn hop(b: &mut Buffer, mtu: usize, ends: Option<&Ends>) -> Option<usize> {
        let frame: &mut Frame6 = b.bytes_mut(0)?;
        let header: &mut [u8; 40] = frame.last_chunk_mut()?;
        let total = 40 + usize::from(u16::from_be_bytes([header[4], header[5]]));
        // A source that means something on its link only (RFC 4291 2.5.6) is the graph's business.
        let confined = header[8] == 0xfe && header[9] & 0xc0 == 0x80;
        if header[7] <= 1 || total > mtu || confined {
            return None;
        }
        header[7] -= 1;
        if let Some(ends) = ends {
            ends.write(frame.first_chunk_mut()?);
        }
        Some(total)
    }
}
