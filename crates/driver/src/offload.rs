// SPDX-License-Identifier: Apache-2.0
//! Checksum and segmentation offload: conversion between a device's terms and a packet's metadata.

use buffer::{Buffer, Flags};
use wire::offload::{Csum, Gso, GsoKind, Offload};

/// Offloads that a device does for packets that it sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TxOffloads {
    /// Completes partial checksums.
    pub csum: bool,
    /// Cuts super-packets of TCP into segments, checksums included.
    pub gso: bool,
    /// Cuts those of UDP too.
    pub udp_gso: bool,
}

impl TxOffloads {
    /// All of it.
    pub const ALL: Self = Self { csum: true, gso: true, udp_gso: true };

    /// A device that cuts has to compute checksums.
    pub(crate) const fn sane(self) -> Self {
        let gso = self.gso && self.csum;
        Self { csum: self.csum, gso, udp_gso: self.udp_gso && gso }
    }

    /// Returns true if the processor has to cut a packet into segments.
    #[inline(always)]
    pub(crate) fn leaves(self, b: &Buffer) -> bool {
        if !b.flags.contains(Flags::GSO) || self.gso && self.udp_gso {
            return false;
        }
        let kind = Gso::from_vnet_type(b.offload.gso_kind).map(|(kind, _)| kind);
        !self.gso || kind == Some(GsoKind::UdpL4)
    }
}

/// Stores the sender's verified checksum or pending work in the packet's metadata. Offsets count
/// from its first byte.
#[inline(always)]
pub fn note(b: &mut Buffer, offload: Offload) {
    match offload.csum {
        Csum::None => {}
        Csum::Valid => b.flags.insert(Flags::L4_CSUM_OK),
        Csum::Partial { start, offset } => {
            // The packet has been on no wire that could have changed it.
            b.flags.insert(Flags::CSUM_PARTIAL | Flags::L4_CSUM_OK);
            (b.offload.csum_start, b.offload.csum_offset) = (start, offset);
        }
    }
    if let Some(gso) = offload.gso {
        b.flags.insert(Flags::GSO);
        (b.offload.gso_size, b.offload.gso_kind) = (gso.size, gso.vnet_type());
    }
}

/// Returns the checksum and segmentation work that is pending for a packet.
#[inline(always)]
pub fn left(b: &Buffer) -> Offload {
    if !b.flags.intersects(Flags::CSUM_PARTIAL | Flags::GSO) {
        return Offload::NONE;
    }
    let mut left = Offload::NONE;
    if b.flags.contains(Flags::CSUM_PARTIAL) {
        left.csum = Csum::Partial { start: b.offload.csum_start, offset: b.offload.csum_offset };
    }
    if b.flags.contains(Flags::GSO)
        && let Some((kind, ecn)) = Gso::from_vnet_type(b.offload.gso_kind)
    {
        left.gso = Some(Gso { kind, ecn, size: b.offload.gso_size, hdr_len: header_len(b, kind) });
    }
    left
}

/// Bytes of all headers; 0, which makes the device parse them itself, if they aren't where the
/// checksum implies.
#[inline(always)]
fn header_len(b: &Buffer, kind: GsoKind) -> u16 {
    if !b.flags.contains(Flags::CSUM_PARTIAL) {
        return 0;
    }
    let l4 = b.offload.csum_start;
    let len = match kind {
        GsoKind::UdpL4 => Some(8),
        // The data offset, in words of 32 bits (RFC 9293 3.1).
        _ => b.bytes::<1>(usize::from(l4) + 12).map(|[offset]| u16::from(offset >> 4) * 4),
    };
    len.map_or(0, |len| l4.saturating_add(len))
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use buffer::{Cache, Pool};

    #[suite::test]
    fn what_is_noted_is_left() {
        let pool = Pool::new(63).expect("a small pool");
        let mut cache = Cache::new(pool);
        let mut packet = vec![0; 100];
        packet[34 + 12] = 0x80;
        let gso = Gso { kind: GsoKind::TcpV4, ecn: true, size: 1448, hdr_len: 66 };
        let partial = Csum::Partial { start: 34, offset: 16 };
        for offload in [
            Offload::NONE,
            Offload { csum: partial, gso: None },
            Offload { csum: partial, gso: Some(gso) },
            Offload {
                csum: Csum::Partial { start: 34, offset: 6 },
                gso: Some(Gso { kind: GsoKind::UdpL4, ecn: false, hdr_len: 42, ..gso }),
            },
        ] {
            let mut b = cache.alloc().expect("a buffer");
            assert!(b.set_data(&packet));
            note(&mut b, offload);
            assert_eq!(left(&b), offload);
            // Behind the Ethernet header and back, as a routed packet goes.
            assert!(b.pull(14));
            b.push::<18>().expect("headroom");
            assert_eq!(left(&b), offload.shifted(4));
            cache.free(b);
        }
        let mut b = cache.alloc().expect("a buffer");
        note(&mut b, Offload { csum: Csum::Valid, gso: None });
        assert!(b.flags.contains(Flags::L4_CSUM_OK) && left(&b) == Offload::NONE);
        note(&mut b, Offload { csum: partial, gso: Some(gso) });
        assert_eq!(left(&b).gso.map(|g| g.hdr_len), Some(0), "there are no headers");
        drop(b);
        drop(cache);
        assert_eq!(pool.release(), Ok(()));
    }
}
