// SPDX-License-Identifier: Apache-2.0
//! Ethernet II, 802.1Q tags, 802.2 LLC and SNAP.

use core::fmt;

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::{MacAddr, U16};

/// The type of an Ethernet payload, in host order. Values below 0x600 are 802.3 lengths.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EtherType(pub u16);

impl EtherType {
    /// IPv4.
    pub const IP4: Self = Self(0x0800);
    /// Address resolution for IPv4 (RFC 826).
    pub const ARP: Self = Self(0x0806);
    /// IPv6.
    pub const IP6: Self = Self(0x86dd);
    /// 802.1Q customer tag.
    pub const VLAN: Self = Self(0x8100);
    /// 802.1ad service tag.
    pub const QINQ: Self = Self(0x88a8);
    /// Outer tag of switches older than 802.1ad.
    pub const VLAN_9100: Self = Self(0x9100);
    /// The same.
    pub const VLAN_9200: Self = Self(0x9200);
    /// MPLS, label assigned downstream.
    pub const MPLS: Self = Self(0x8847);
    /// MPLS, label assigned upstream (RFC 5332).
    pub const MPLS_UPSTREAM: Self = Self(0x8848);
    /// Ethernet inside GRE (RFC 7637 and EoGRE).
    pub const TEB: Self = Self(0x6558);
    /// Mirrored Ethernet frames inside GRE: ERSPAN types I and II.
    pub const ERSPAN: Self = Self(0x88be);
    /// Slow protocols: LACP, marker.
    pub const SLOW: Self = Self(0x8809);
    /// Link layer discovery.
    pub const LLDP: Self = Self(0x88cc);
    /// PPPoE discovery stage.
    pub const PPPOE_DISCOVERY: Self = Self(0x8863);
    /// PPPoE session stage.
    pub const PPPOE_SESSION: Self = Self(0x8864);
    /// 802.1AE MACsec.
    pub const MACSEC: Self = Self(0x88e5);
    /// 802.1X port authentication.
    pub const EAPOL: Self = Self(0x888e);
    /// 802.1ag connectivity fault management.
    pub const CFM: Self = Self(0x8902);
    /// Network service header (RFC 8300).
    pub const NSH: Self = Self(0x894f);
    /// Ethernet configuration testing, loopback.
    pub const LOOPBACK: Self = Self(0x9000);

    /// The field is a length: an 802.3 frame, LLC follows.
    #[inline(always)]
    pub const fn is_length(self) -> bool {
        self.0 < 0x600
    }

    /// Returns true for the values that precede a [`VlanTag`].
    #[inline(always)]
    pub const fn is_vlan(self) -> bool {
        matches!(self, Self::VLAN | Self::QINQ | Self::VLAN_9100 | Self::VLAN_9200)
    }

    /// The name that traces print, `None` for a value without one.
    pub const fn name(self) -> Option<&'static str> {
        Some(match self {
            Self::IP4 => "IP4",
            Self::ARP => "ARP",
            Self::IP6 => "IP6",
            Self::VLAN => "VLAN",
            Self::QINQ => "DOT1AD",
            Self::VLAN_9100 => "VLAN_9100",
            Self::VLAN_9200 => "VLAN_9200",
            Self::MPLS => "MPLS",
            Self::MPLS_UPSTREAM => "MPLS_UPSTREAM",
            Self::TEB => "TEB",
            Self::ERSPAN => "ERSPAN",
            Self::SLOW => "SLOW_PROTOCOLS",
            Self::LLDP => "LLDP",
            Self::PPPOE_DISCOVERY => "PPPOE_DISCOVERY",
            Self::PPPOE_SESSION => "PPPOE_SESSION",
            Self::MACSEC => "MACSEC",
            Self::EAPOL => "EAPOL",
            Self::CFM => "CFM",
            Self::NSH => "NSH",
            Self::LOOPBACK => "LOOPBACK",
            _ => return None,
        })
    }
}

impl fmt::Display for EtherType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.pad(name),
            None => write!(f, "0x{:04x}", self.0),
        }
    }
}

impl fmt::Debug for EtherType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl From<EtherType> for U16 {
    #[inline(always)]
    fn from(value: EtherType) -> U16 {
        U16::new(value.0)
    }
}

/// Ethernet header, 14 bytes.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Ethernet {
    /// Destination.
    pub dst: MacAddr,
    /// Source.
    pub src: MacAddr,
    /// Type, or length of an 802.3 frame.
    pub ethertype: U16,
}

impl Ethernet {
    /// A header, in the order source, destination, type.
    #[inline(always)]
    pub fn new(src: MacAddr, dst: MacAddr, ethertype: EtherType) -> Self {
        Self { dst, src, ethertype: ethertype.into() }
    }

    /// Type of the payload.
    #[inline(always)]
    pub fn ethertype(&self) -> EtherType {
        EtherType(self.ethertype.get())
    }

    /// Offset of the payload of a frame behind at most two tags, and its type; `None` if the frame
    /// is too short or has more tags.
    pub fn l3_at(frame: &[u8]) -> Option<(usize, EtherType)> {
        (12..=20).step_by(4).find_map(|at| {
            let ethertype = EtherType(u16::from_be_bytes(*frame.get(at..)?.first_chunk()?));
            (!ethertype.is_vlan()).then_some((at + 2, ethertype))
        })
    }
}

/// The bytes behind a tag protocol identifier: the tag and the next type, 4 bytes.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct VlanTag {
    /// Priority (3 bits), drop eligible (1), VLAN id (12).
    pub tci: U16,
    /// Type of what follows.
    pub ethertype: U16,
}

impl VlanTag {
    /// A tag; `id` is cut to 12 bits, `pcp` to 3.
    #[inline(always)]
    pub fn new(id: u16, pcp: u8, dei: bool, ethertype: EtherType) -> Self {
        let tci = u16::from(pcp & 7) << 13 | u16::from(dei) << 12 | id & 0xfff;
        Self { tci: U16::new(tci), ethertype: ethertype.into() }
    }

    /// VLAN id, 0 to 4095.
    #[inline(always)]
    pub fn id(&self) -> u16 {
        self.tci.get() & 0xfff
    }

    /// Priority code point, 0 to 7.
    #[inline(always)]
    pub fn pcp(&self) -> u8 {
        (self.tci.get() >> 13) as u8
    }

    /// Drop eligible indicator.
    #[inline(always)]
    pub fn dei(&self) -> bool {
        self.tci.get() & 0x1000 != 0
    }

    /// Type of what follows.
    #[inline(always)]
    pub fn ethertype(&self) -> EtherType {
        EtherType(self.ethertype.get())
    }
}

/// 802.2 logical link control with a one-byte control field, 3 bytes.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Llc {
    /// Destination service access point.
    pub dsap: u8,
    /// Source service access point; bit 0 means response.
    pub ssap: u8,
    /// Control; 3 is unnumbered information.
    pub control: u8,
}

impl Llc {
    /// Access point of SNAP.
    pub const SNAP_SAP: u8 = 0xaa;
    /// Access point of spanning tree.
    pub const STP_SAP: u8 = 0x42;
    /// Access point of OSI network protocols (IS-IS).
    pub const OSI_SAP: u8 = 0xfe;

    /// A [`Snap`] header follows.
    #[inline(always)]
    pub fn is_snap(&self) -> bool {
        self.dsap == Self::SNAP_SAP && self.ssap == Self::SNAP_SAP && self.control == 3
    }

    /// A spanning tree BPDU follows.
    #[inline(always)]
    pub fn is_stp(&self) -> bool {
        self.dsap == Self::STP_SAP && self.ssap == Self::STP_SAP
    }
}

/// Subnetwork access protocol, 5 bytes after [`Llc`].
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Snap {
    /// Organisation; zero for Ethernet types (RFC 1042).
    pub oui: [u8; 3],
    /// Protocol of that organisation.
    pub protocol: U16,
}

impl Snap {
    /// The Ethernet type if the organisation is the one of RFC 1042.
    #[inline(always)]
    pub fn ethertype(&self) -> Option<EtherType> {
        (self.oui == [0; 3]).then(|| EtherType(self.protocol.get()))
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use crate::Header;

    #[suite::test]
    fn layout() {
        assert_eq!((Ethernet::LEN, VlanTag::LEN, Llc::LEN, Snap::LEN), (14, 4, 3, 5));
        let bytes = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 0x81, 0x00, 0xb1, 0x23, 0x08, 0x06, 99];
        let (eth, rest) = Ethernet::split(&bytes).unwrap();
        assert_eq!(eth.dst, MacAddr([1, 2, 3, 4, 5, 6]));
        assert_eq!(eth.src, MacAddr([7, 8, 9, 10, 11, 12]));
        assert!(eth.ethertype().is_vlan());
        let (tag, rest) = VlanTag::split(rest).unwrap();
        assert_eq!(
            (tag.id(), tag.pcp(), tag.dei(), tag.ethertype()),
            (0x123, 5, true, EtherType::ARP)
        );
        assert_eq!(*tag, VlanTag::new(0x123, 5, true, EtherType::ARP));
        assert_eq!(rest, [99]);
        assert!(Ethernet::view(&bytes[..13]).is_none());
        let snap = [0xaa, 0xaa, 3, 0, 0, 0, 0x86, 0xdd];
        assert!(Llc::view(&snap).unwrap().is_snap());
        assert_eq!(Ethernet::l3_at(&[0; 13]), None);
        let mut tagged = vec![0; 12];
        tagged.extend([0x81, 0, 0, 1].repeat(2));
        tagged.extend([0x86, 0xdd]);
        assert_eq!(Ethernet::l3_at(&tagged), Some((22, EtherType::IP6)));
        tagged.truncate(20);
        tagged.extend([0x81, 0, 0, 1, 8, 0]);
        assert_eq!(Ethernet::l3_at(&tagged), None, "three tags");
        assert_eq!(Snap::view_at(&snap, 3).unwrap().ethertype(), Some(EtherType::IP6));
        assert!(EtherType(0x5ff).is_length() && !EtherType(0x600).is_length());
        assert_eq!(format!("{} {}", EtherType::IP4, EtherType(0x1234)), "IP4 0x1234");
    }
}
