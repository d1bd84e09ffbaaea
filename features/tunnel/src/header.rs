// SPDX-License-Identifier: Apache-2.0
//! The headers in front, as they are before a packet is known.

use crate::model::{HeaderMarking, TunnelEndpoints};
use buffer::Buffer;
use std::net::IpAddr;
use wire::{IpProtocol, Ipv4Header, Ipv6Header, UdpHeader};
use zerocopy::IntoBytes;

/// Bytes of all headers at most.
pub const MAX_HEADER: usize = 64;

/// The headers that are put in front of packets: an IP header, then the kind's own. Lengths,
/// checksums and what is copied are filled in for each packet.
#[derive(Clone, Copy, Debug)]
pub struct Template {
    bytes: [u8; MAX_HEADER],
    len: u8,
}

impl Template {
    /// Without a header: the packets name another tunnel end themselves.
    pub const NONE: Self = Self { bytes: [0; MAX_HEADER], len: 0 };

    /// The headers of packets between two ends.
    ///
    /// # Panics
    /// If the kind's own header is longer than 24 bytes.
    pub fn new(
        ends: &TunnelEndpoints,
        marks: &HeaderMarking,
        protocol: IpProtocol,
        [ttl4, ttl6]: [u8; 2],
        own: &[u8],
    ) -> Self {
        let ttl = |usual| if marks.hop_limit == 0 { usual } else { marks.hop_limit };
        let class = marks.dscp << 2;
        let mut all = match (ends.local, ends.remote) {
            (IpAddr::V4(local), IpAddr::V4(remote)) => {
                let mut ip = Ipv4Header::new(local, remote, protocol, 0);
                (ip.ttl, ip.tos) = (ttl(ttl4), class);
                ip.as_bytes().to_vec()
            }
            (IpAddr::V6(local), IpAddr::V6(remote)) => {
                let mut ip = Ipv6Header::new(local, remote, protocol, 0);
                ip.hop_limit = ttl(ttl6);
                ip.set_traffic_class(class);
                ip.as_bytes().to_vec()
            }
            _ => return Self::NONE,
        };
        all.extend_from_slice(own);
        let mut this = Self { bytes: [0; MAX_HEADER], len: all.len() as u8 };
        this.bytes[..all.len()].copy_from_slice(&all);
        this
    }

    /// Puts the headers in front of a packet; false if the headroom is used up.
    #[inline(always)]
    pub fn put(&self, b: &mut Buffer) -> bool {
        // Copies of a length that the compiler knows: the headers' first and last bytes, which
        // overlap.
        const SHORT: usize = 16;
        const LONG: usize = 32;
        match usize::from(self.len) {
            0 => true,
            len @ SHORT..=LONG => {
                let [first, last] = self.ends::<SHORT>(len);
                b.push_ends(first, last, len)
            }
            len => {
                let [first, last] = self.ends::<LONG>(len);
                b.push_ends(first, last, len)
            }
        }
    }

    /// The first and the last `N` of `len` bytes.
    #[inline(always)]
    fn ends<const N: usize>(&self, len: usize) -> [&[u8; N]; 2] {
        let last = self.bytes[..len.min(MAX_HEADER)].last_chunk();
        [self.bytes.first_chunk(), last].map(|chunk| chunk.expect("as many bytes"))
    }

    /// The headers, and zeros behind them.
    #[inline(always)]
    pub(crate) fn padded(&self) -> &[u8; MAX_HEADER] {
        &self.bytes
    }

    /// The headers, to be changed.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[..usize::from(self.len).min(MAX_HEADER)]
    }

    /// The headers.
    #[inline(always)]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len).min(MAX_HEADER)]
    }
}

/// A UDP header in front of a kind's own, without length and checksum.
pub fn udp(source: u16, destination: u16, own: &[u8]) -> Vec<u8> {
    [UdpHeader::new(source, destination, 0).as_bytes(), own].concat()
}
