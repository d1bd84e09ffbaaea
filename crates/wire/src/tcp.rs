// SPDX-License-Identifier: Apache-2.0
//! TCP (RFC 9293).

use core::fmt;

use bitflags::bitflags;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::{Options, U16, U32};

/// The control bits of a segment.
#[derive(
    Clone,
    Copy,
    PartialEq,
    Eq,
    Hash,
    Default,
    FromBytes,
    IntoBytes,
    KnownLayout,
    Immutable,
    Unaligned,
)]
#[repr(transparent)]
pub struct TcpFlags(pub u8);

bitflags! {
    impl TcpFlags: u8 {
        /// No more data from the sender.
        const FIN = 0x01;
        /// Synchronise sequence numbers.
        const SYN = 0x02;
        /// Reset.
        const RST = 0x04;
        /// Push.
        const PSH = 0x08;
        /// The acknowledgment number is valid.
        const ACK = 0x10;
        /// The urgent pointer is valid.
        const URG = 0x20;
        /// ECN echo.
        const ECE = 0x40;
        /// Congestion window reduced.
        const CWR = 0x80;
    }
}

impl fmt::Display for TcpFlags {
    /// `SYN ACK`; `none` for no bit.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const NAMES: [&str; 8] = ["FIN", "SYN", "RST", "PSH", "ACK", "URG", "ECE", "CWR"];
        let mut names = NAMES
            .iter()
            .enumerate()
            .filter(|(bit, _)| self.0 >> bit & 1 != 0)
            .map(|(_, name)| name);
        let Some(first) = names.next() else { return f.write_str("none") };
        f.write_str(first)?;
        names.try_for_each(|name| write!(f, " {name}"))
    }
}

impl fmt::Debug for TcpFlags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Kinds of TCP options.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TcpOptionKind;

impl TcpOptionKind {
    /// Maximum segment size, data of 2 bytes.
    pub const MSS: u8 = 2;
    /// Window scale, 1 byte (RFC 7323).
    pub const WINDOW_SCALE: u8 = 3;
    /// Selective acknowledgment permitted, no data (RFC 2018).
    pub const SACK_PERMITTED: u8 = 4;
    /// Selective acknowledgment.
    pub const SACK: u8 = 5;
    /// Time stamps, 8 bytes (RFC 7323).
    pub const TIMESTAMPS: u8 = 8;
}

/// The fixed part of a TCP header, 20 bytes.
#[derive(
    Clone,
    Copy,
    PartialEq,
    Eq,
    Debug,
    Default,
    FromBytes,
    IntoBytes,
    KnownLayout,
    Immutable,
    Unaligned,
)]
#[repr(C)]
pub struct TcpHeader {
    /// Source port.
    pub src_port: U16,
    /// Destination port.
    pub dst_port: U16,
    /// Sequence number of the first byte.
    pub seq: U32,
    /// Acknowledgment number.
    pub ack: U32,
    /// Header length in words of 4 bytes (upper 4 bits), reserved bits.
    pub data_offset: u8,
    /// Control bits.
    pub flags: TcpFlags,
    /// Receive window.
    pub window: U16,
    /// Checksum.
    pub checksum: U16,
    /// Urgent pointer.
    pub urgent: U16,
}

impl TcpHeader {
    /// Offset of the checksum field.
    pub const CHECKSUM_OFFSET: usize = 16;

    /// Bytes of the header with options, 0 to 60; below 20 is malformed.
    #[inline(always)]
    pub fn header_len(&self) -> usize {
        usize::from(self.data_offset >> 4) * 4
    }

    /// The options of the segment that starts at `segment[0]`; none if the bytes or the header
    /// length don't hold any.
    #[inline(always)]
    pub fn options(segment: &[u8]) -> Options<'_> {
        let len = segment.get(12).map_or(0, |offset| usize::from(offset >> 4) * 4);
        Options::new(segment.get(20..len).unwrap_or_default())
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use crate::Header;

    #[suite::test]
    fn a_syn() {
        let mut bytes = [0u8; 28];
        bytes[..20].copy_from_slice(&[
            0x30, 0x39, 0, 80, 0, 0, 0, 1, 0, 0, 0, 0, 0x70, 0x02, 0xff, 0xff, 0xab, 0xcd, 0, 0,
        ]);
        bytes[20..].copy_from_slice(&[2, 4, 5, 0xb4, 1, 1, 4, 2]);
        let tcp = TcpHeader::view(&bytes).unwrap();
        assert_eq!((tcp.src_port.get(), tcp.dst_port.get(), tcp.seq.get()), (12345, 80, 1));
        assert_eq!((tcp.header_len(), tcp.flags, tcp.checksum.get()), (28, TcpFlags::SYN, 0xabcd));
        let kinds: Vec<_> = TcpHeader::options(&bytes).map(|o| o.unwrap().kind).collect();
        assert_eq!(kinds, [TcpOptionKind::MSS, TcpOptionKind::SACK_PERMITTED]);
        assert_eq!(TcpHeader::options(&bytes[..27]).count(), 0);
        assert_eq!((TcpFlags::SYN | TcpFlags::ACK).to_string(), "SYN ACK");
        assert_eq!(TcpFlags::default().to_string(), "none");
    }
}
