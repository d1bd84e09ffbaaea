// SPDX-License-Identifier: Apache-2.0
//! UDP (RFC 768).

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::U16;

/// UDP header, 8 bytes.
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
pub struct UdpHeader {
    /// Source port.
    pub src_port: U16,
    /// Destination port.
    pub dst_port: U16,
    /// Bytes of header and payload.
    pub len: U16,
    /// Checksum; 0 says that there is none (IPv4 only, but for RFC 6935).
    pub checksum: U16,
}

impl UdpHeader {
    /// Offset of the checksum field.
    pub const CHECKSUM_OFFSET: usize = 6;

    /// A header for `payload_len` bytes, without a checksum.
    #[inline(always)]
    pub fn new(src_port: u16, dst_port: u16, payload_len: u16) -> Self {
        Self {
            src_port: U16::new(src_port),
            dst_port: U16::new(dst_port),
            len: U16::new(payload_len.wrapping_add(8)),
            checksum: U16::ZERO,
        }
    }
}
