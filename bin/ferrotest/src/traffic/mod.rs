// SPDX-License-Identifier: Apache-2.0
//! Test traffic: frames, their sizes, addresses and ports, the signature that each carries, and the
//! tester's answers to questions for its neighbours.

pub mod flow;
pub mod neighbor;
pub mod random;
pub mod sessions;
pub mod signature;
pub mod size;
pub mod template;

pub use flow::{Flow, Share, is_lab_address};
pub use template::Generator;

use std::fmt;

/// Kind of test packets.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// UDP over IPv4.
    Ip4,
    /// UDP over IPv6.
    Ip6,
    /// Ethernet frames without IP, for bridges.
    Ethernet,
}

impl Kind {
    /// Bytes of the headers in front of the payload.
    pub const fn headers(self, vlan: bool) -> usize {
        let tag = if vlan { 4 } else { 0 };
        tag + match self {
            Self::Ip4 => 14 + 20 + 8,
            Self::Ip6 => 14 + 40 + 8,
            Self::Ethernet => 14,
        }
    }

    /// Shortest frame with its check sequence: 64 bytes as RFC 2544 §9.1 counts them, or as many
    /// as headers and signature need, rounded up to a multiple of four.
    pub const fn shortest(self, vlan: bool) -> u32 {
        let bytes = self.headers(vlan) + signature::LEN + size::FCS;
        let bytes = bytes.next_multiple_of(4) as u32;
        let least = if vlan { 68 } else { 64 };
        if bytes > least { bytes } else { least }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Ip4 => "ip4",
            Self::Ip6 => "ip6",
            Self::Ethernet => "ethernet",
        })
    }
}

impl std::str::FromStr for Kind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "ip4" | "ipv4" | "4" => Ok(Self::Ip4),
            "ip6" | "ipv6" | "6" => Ok(Self::Ip6),
            "ethernet" | "l2" => Ok(Self::Ethernet),
            _ => Err(format!("kind of traffic `{text}': expected ip4, ip6 or ethernet")),
        }
    }
}
