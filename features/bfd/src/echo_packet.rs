// SPDX-License-Identifier: Apache-2.0
//! Echo packets: the RFC leaves their format to the sender (RFC 5880 5).

/// The payload of an echo packet, of VPP's format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EchoPacket {
    /// Our discriminator of the session.
    pub disc: u32,
    /// Time of the instance's clock, in nanoseconds, from which on the packet is worthless.
    pub expires: u64,
    /// Keyed checksum of both.
    pub checksum: u64,
}

/// Bytes of an echo packet.
pub const ECHO_LEN: usize = 20;

impl EchoPacket {
    /// The packet in network byte order.
    pub fn bytes(&self) -> [u8; ECHO_LEN] {
        let mut bytes = [0; ECHO_LEN];
        bytes[..4].copy_from_slice(&self.disc.to_be_bytes());
        bytes[4..12].copy_from_slice(&self.expires.to_be_bytes());
        bytes[12..].copy_from_slice(&self.checksum.to_be_bytes());
        bytes
    }

    /// Reads the payload of a datagram.
    pub fn read(payload: &[u8]) -> Option<Self> {
        let (disc, rest) = payload.split_first_chunk()?;
        let (expires, rest) = rest.split_first_chunk()?;
        Some(Self {
            disc: u32::from_be_bytes(*disc),
            expires: u64::from_be_bytes(*expires),
            checksum: u64::from_be_bytes(*rest.first_chunk()?),
        })
    }
}
