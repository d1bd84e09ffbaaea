// SPDX-License-Identifier: Apache-2.0
//! Ethernet types that can be enabled, with their names (IEEE 802 numbers of IANA).

use wire::EtherType;

const KNOWN: &[(u16, &str)] = &[
    (0x0600, "XNS_IDP"),
    (0x0800, "IP4"),
    (0x0805, "X25"),
    (0x0806, "ARP"),
    (0x22f3, "TRILL"),
    (0x22f4, "L2_ISIS"),
    (0x22ea, "SRP"),
    (0x6003, "DECNET"),
    (0x6558, "TEB"),
    (0x8035, "REVERSE_ARP"),
    (0x809b, "APPLETALK"),
    (0x80f3, "APPLETALK_AARP"),
    (0x8100, "VLAN"),
    (0x8137, "IPX"),
    (0x86dd, "IP6"),
    (0x8808, "MAC_CONTROL"),
    (0x8809, "SLOW_PROTOCOLS"),
    (0x880b, "PPP"),
    (0x8847, "MPLS"),
    (0x8848, "MPLS_UPSTREAM_ASSIGNED"),
    (0x8863, "PPPOE_DISCOVERY"),
    (0x8864, "PPPOE_SESSION"),
    (0x8870, "JUMBO_LLC"),
    (0x888e, "802_1X_AUTHENTICATION"),
    (0x8892, "PROFINET"),
    (0x88a2, "ATA_OVER_ETHERNET"),
    (0x88a4, "ETHERCAT"),
    (0x88a8, "DOT1AD"),
    (0x88b5, "802_LOCAL_EXPERIMENTAL_1"),
    (0x88b6, "802_LOCAL_EXPERIMENTAL_2"),
    (0x88b7, "802_OUI_EXTENDED"),
    (0x88c7, "802_11_PRE_AUTHENTICATION"),
    (0x88cc, "802_1_LLDP"),
    (0x88e5, "MACSEC"),
    (0x88e7, "DOT1AH"),
    (0x88f5, "802_1_MVRP"),
    (0x88f6, "802_1_MMRP"),
    (0x88f7, "PTP"),
    (0x8902, "CFM"),
    (0x8906, "FCOE"),
    (0x8914, "FCOE_INITIALIZATION"),
    (0x892f, "HSR"),
    (0x894f, "NSH"),
    (0x9000, "LOOPBACK"),
];

/// The name of a type, if it is known.
pub fn name(ethertype: EtherType) -> Option<&'static str> {
    KNOWN.iter().find(|(number, _)| *number == ethertype.0).map(|(_, name)| *name)
}

/// The type of a name in any case, or of a decimal or hexadecimal number.
pub fn parse(word: &str) -> Option<EtherType> {
    let lower = word.to_ascii_lowercase();
    let number = match lower.strip_prefix("0x") {
        Some(hex) => u16::from_str_radix(hex, 16).ok(),
        None => lower.parse().ok(),
    };
    let named = || KNOWN.iter().find(|(_, name)| name.eq_ignore_ascii_case(word));
    number.or_else(|| named().map(|(number, _)| *number)).map(EtherType)
}
