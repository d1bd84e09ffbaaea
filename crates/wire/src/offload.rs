// SPDX-License-Identifier: Apache-2.0
//! Work that a packet leaves to the next machine: a checksum to be completed, a long TCP or UDP
//! payload to be cut into segments; and the header by which the Linux kernel and virtio devices
//! request it.

mod check;

pub use check::{FEW_SEGMENTS, MIN_SEGMENT, OffloadError};

/// State of the transport checksum of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Csum {
    /// Complete as far as the sender knows; not verified.
    #[default]
    None,
    /// Verified, or known to be right because the packet never left this host.
    Valid,
    /// The checksum field holds the sum of the pseudo-header only: the ones' complement sum of the
    /// bytes from `start` to the end of the packet has to be stored at `start + offset`. The
    /// contents are to be trusted.
    Partial {
        /// First byte that is summed, from the start of the frame.
        start: u16,
        /// Offset of the 16-bit field, from `start`.
        offset: u16,
    },
}

/// The kind of a packet's segments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GsoKind {
    /// TCP segments over IPv4.
    TcpV4,
    /// TCP segments over IPv6.
    TcpV6,
    /// UDP datagrams over either IP, all of the same size but the last.
    UdpL4,
}

/// A packet that has to be cut into segments before it reaches a wire (generic segmentation
/// offload).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Gso {
    /// Kind of the segments.
    pub kind: GsoKind,
    /// TCP with ECN: CWR stays on the first segment only.
    pub ecn: bool,
    /// Payload of a segment in bytes; never 0.
    pub size: u16,
    /// Length of all headers, from the start of the frame to the payload. From a peer it is a
    /// hint, to be checked.
    pub hdr_len: u16,
}

/// The work that is pending for one packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Offload {
    /// State of the transport checksum.
    pub csum: Csum,
    /// Segmentation, if the packet is longer than the wire takes.
    pub gso: Option<Gso>,
}

/// Length of a virtio network header without the count of merged buffers.
pub const VNET_HDR_LEN: usize = 10;

const NEEDS_CSUM: u8 = 1;
const DATA_VALID: u8 = 2;
const GSO_NONE: u8 = 0;
const GSO_TCPV4: u8 = 1;
const GSO_TCPV6: u8 = 4;
const GSO_UDP_L4: u8 = 5;
const GSO_ECN: u8 = 0x80;

impl GsoKind {
    /// True for TCP, whose segments may be of any size; each segment of UDP is a datagram.
    pub const fn is_tcp(self) -> bool {
        !matches!(self, Self::UdpL4)
    }
}

impl Gso {
    /// Kind and ECN as virtio's `gso_type`.
    #[inline(always)]
    pub const fn vnet_type(self) -> u8 {
        let kind = match self.kind {
            GsoKind::TcpV4 => GSO_TCPV4,
            GsoKind::TcpV6 => GSO_TCPV6,
            GsoKind::UdpL4 => GSO_UDP_L4,
        };
        if self.ecn { kind | GSO_ECN } else { kind }
    }

    /// The inverse of [`Gso::vnet_type`]: the kind, and whether ECN is in use; `None` for a kind
    /// that this crate doesn't know, and for none.
    #[inline(always)]
    pub const fn from_vnet_type(gso_type: u8) -> Option<(GsoKind, bool)> {
        let kind = match gso_type & !GSO_ECN {
            GSO_TCPV4 => GsoKind::TcpV4,
            GSO_TCPV6 => GsoKind::TcpV6,
            GSO_UDP_L4 => GsoKind::UdpL4,
            _ => return None,
        };
        Some((kind, gso_type & GSO_ECN != 0))
    }
}

impl Offload {
    /// No work pending, nothing verified.
    pub const NONE: Self = Self { csum: Csum::None, gso: None };

    /// Returns true if work is pending.
    #[inline(always)]
    pub const fn is_left(self) -> bool {
        matches!(self.csum, Csum::Partial { .. }) || self.gso.is_some()
    }

    /// Reads a `virtio_net_hdr` (virtio 1.3 §5.1.6; flags, gso_type, hdr_len, gso_size, csum_start,
    /// csum_offset) with 16-bit fields in host order, as AF_PACKET sockets and tun devices use
    /// it. `None` if it asks for a kind of segmentation that this crate doesn't know, or for
    /// segments of no size.
    #[inline(always)]
    pub const fn from_vnet(header: [u8; VNET_HDR_LEN]) -> Option<Self> {
        let [flags, gso_type, h0, h1, g0, g1, s0, s1, o0, o1] = header;
        let csum = if flags & NEEDS_CSUM != 0 {
            Csum::Partial {
                start: u16::from_ne_bytes([s0, s1]),
                offset: u16::from_ne_bytes([o0, o1]),
            }
        } else if flags & DATA_VALID != 0 {
            Csum::Valid
        } else {
            Csum::None
        };
        if gso_type & !GSO_ECN == GSO_NONE {
            return Some(Self { csum, gso: None });
        }
        let Some((kind, ecn)) = Gso::from_vnet_type(gso_type) else { return None };
        let gso = Gso {
            kind,
            ecn,
            size: u16::from_ne_bytes([g0, g1]),
            hdr_len: u16::from_ne_bytes([h0, h1]),
        };
        if gso.size == 0 { None } else { Some(Self { csum, gso: Some(gso) }) }
    }

    /// The inverse of [`Offload::from_vnet`].
    #[inline(always)]
    pub const fn to_vnet(self) -> [u8; VNET_HDR_LEN] {
        let (flags, start, offset) = match self.csum {
            Csum::None => (0, 0, 0),
            Csum::Valid => (DATA_VALID, 0, 0),
            Csum::Partial { start, offset } => (NEEDS_CSUM, start, offset),
        };
        let (gso_type, hdr_len, size) = match self.gso {
            None => (GSO_NONE, 0, 0),
            Some(gso) => (gso.vnet_type(), gso.hdr_len, gso.size),
        };
        let ([h0, h1], [g0, g1]) = (hdr_len.to_ne_bytes(), size.to_ne_bytes());
        let ([s0, s1], [o0, o1]) = (start.to_ne_bytes(), offset.to_ne_bytes());
        [flags, gso_type, h0, h1, g0, g1, s0, s1, o0, o1]
    }

    /// The same after `delta` bytes were put in front of the transport header (a VLAN tag: 4), or
    /// taken away (negative).
    #[inline(always)]
    #[must_use]
    pub const fn shifted(mut self, delta: i16) -> Self {
        if let Csum::Partial { start, .. } = &mut self.csum {
            *start = start.wrapping_add_signed(delta);
        }
        if let Some(gso) = &mut self.gso {
            gso.hdr_len = gso.hdr_len.wrapping_add_signed(delta);
        }
        self
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[suite::test]
    fn reads_what_linux_writes() {
        // a TCP super-packet over IPv4 with 12 bytes of TCP options, as captured from a veth
        // (little-endian host)
        #[cfg(target_endian = "little")]
        {
            let header = [1, 1, 66, 0, 0xa8, 0x05, 34, 0, 16, 0];
            let gso = Gso { kind: GsoKind::TcpV4, ecn: false, size: 1448, hdr_len: 66 };
            let offload = Offload { csum: Csum::Partial { start: 34, offset: 16 }, gso: Some(gso) };
            assert_eq!(Offload::from_vnet(header), Some(offload));
            assert_eq!(offload.to_vnet(), header);
        }
        assert_eq!(Offload::from_vnet([0; VNET_HDR_LEN]), Some(Offload::NONE));
        assert_eq!(
            Offload::from_vnet([0, 3, 0, 0, 1, 1, 0, 0, 0, 0]),
            None,
            "UDP fragmentation is history"
        );
        assert_eq!(Offload::from_vnet([0, 1, 0, 0, 0, 0, 0, 0, 0, 0]), None, "segments of 0 bytes");
    }

    #[suite::test]
    fn a_tag_moves_the_transport_header() {
        let gso = Gso { kind: GsoKind::UdpL4, ecn: false, size: 1000, hdr_len: 42 };
        let plain = Offload { csum: Csum::Partial { start: 34, offset: 6 }, gso: Some(gso) };
        let tagged = plain.shifted(4);
        assert_eq!(tagged.csum, Csum::Partial { start: 38, offset: 6 });
        assert_eq!(tagged.gso.map(|g| g.hdr_len), Some(46));
        assert_eq!(tagged.shifted(-4), plain);
        assert_eq!(Offload::NONE.shifted(4), Offload::NONE);
    }

    proptest! {
        #[suite::test]
        fn what_is_accepted_survives_a_round_trip(header: [u8; VNET_HDR_LEN]) {
            if let Some(offload) = Offload::from_vnet(header) {
                prop_assert_eq!(Offload::from_vnet(offload.to_vnet()), Some(offload));
            }
        }
    }
}
