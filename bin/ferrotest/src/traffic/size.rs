// SPDX-License-Identifier: Apache-2.0
//! Frame sizes, with the frame check sequence, as RFC 2544 §9 counts them.

use measure::Size;

use super::Kind;

/// Bytes of the frame check sequence, which is never in memory.
pub const FCS: usize = 4;

/// Bytes of preamble, start delimiter and gap that a frame takes on the wire beside itself.
pub const GAP: u64 = 20;

/// Sizes of Ethernet tests (RFC 2544 §9.1, RFC 5180 §5.1).
pub const STANDARD: [u32; 7] = [64, 128, 256, 512, 1024, 1280, 1518];

/// Order of one IMIX period: the sizes are spread over it, so that no burst is of one size.
const IMIX: [u32; 12] = [64, 570, 64, 64, 570, 64, 1518, 64, 570, 64, 64, 570];

/// Longest frame: an Ethernet frame of 1518 bytes with a VLAN tag.
pub const LONGEST: u32 = 1522;

/// Sizes of one period, in the order in which frames are sent.
pub fn pattern(size: Size) -> Vec<u32> {
    match size {
        Size::Bytes(size) => vec![size],
        Size::Imix => IMIX.to_vec(),
    }
}

/// The size, or the shortest for headers and signature if that is longer: 84 bytes for IPv6, as
/// siitperf sends.
pub fn for_kind(size: Size, kind: Kind, vlan: bool) -> Size {
    match size {
        Size::Bytes(size) => Size::Bytes(size.max(kind.shortest(vlan))),
        Size::Imix => Size::Imix,
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    #[suite::test]
    fn imix_has_its_shares() {
        let all = pattern(Size::Imix);
        let count = |size| all.iter().filter(|&&each| each == size).count();
        assert_eq!((count(64) * 4, count(570) * 4, count(1518) * 4), (28, 16, 4));
        let mean = all.iter().sum::<u32>() as f64 / all.len() as f64;
        assert_eq!(mean, Size::Imix.mean_bytes());
    }

    #[suite::test]
    fn short_ip6_frames_are_made_long_enough() {
        for (size, kind, vlan, longer) in [
            (64, Kind::Ip6, false, 84),
            (64, Kind::Ip6, true, 88),
            (64, Kind::Ip4, false, 64),
            (64, Kind::Ip4, true, 68),
            (512, Kind::Ip6, true, 512),
        ] {
            assert_eq!(for_kind(Size::Bytes(size), kind, vlan), Size::Bytes(longer));
        }
    }
}
