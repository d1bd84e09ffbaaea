// SPDX-License-Identifier: Apache-2.0
//! Description of the traffic of one direction.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use measure::Size;
use measure::siitperf::Ports;
use wire::MacAddr;

use super::Kind;
use super::random::Spread;
use super::sessions::Pick;

/// Share of the foreground in a mix with the other address family: `foreground` of each `of`
/// packets, as siitperf's parameters m and n.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Share {
    /// Packets of the kind that is tested.
    pub foreground: u32,
    /// Length of the period.
    pub of: u32,
}

impl Share {
    /// All packets are of the kind that is tested.
    pub const ALL: Self = Self { foreground: 1, of: 1 };

    /// True if packet `sequence` is of the foreground.
    #[inline(always)]
    pub fn is_foreground(self, sequence: u32) -> bool {
        sequence % self.of.max(1) < self.foreground
    }
}

impl FromStr for Share {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers =
            text.split_once('/').and_then(|(m, n)| Some((m.parse().ok()?, n.parse().ok()?)));
        match numbers {
            Some((foreground, of)) if foreground <= of && (1..=48).contains(&of) => {
                Ok(Self { foreground, of })
            }
            _ => Err(format!(
                "share `{text}': expected FOREGROUND/PERIOD, such as 9/10, with a period of at most 48"
            )),
        }
    }
}

/// Addresses of one end of the traffic: the first of a range in each family.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ends {
    /// IPv4.
    pub ip4: Ipv4Addr,
    /// IPv6.
    pub ip6: Ipv6Addr,
}

/// Traffic of one direction.
#[derive(Clone, Debug)]
pub struct Flow {
    /// Kind of the foreground.
    pub kind: Kind,
    /// Frame sizes.
    pub size: Size,
    /// VLAN of the frames, if they have a tag.
    pub vlan: Option<u16>,
    /// The tester's Ethernet address.
    pub src_mac: MacAddr,
    /// The device's Ethernet address.
    pub dst_mac: MacAddr,
    /// First source addresses.
    pub src: Ends,
    /// First destination addresses.
    pub dst: Ends,
    /// Distribution of source addresses.
    pub src_spread: Spread,
    /// Distribution of destination addresses.
    pub dst_spread: Spread,
    /// Ports.
    pub ports: Ports,
    /// Share of the foreground.
    pub share: Share,
    /// Choice of addresses and ports.
    pub pick: Pick,
    /// Seed of all that is drawn.
    pub seed: u64,
}

/// True for addresses of benchmarks: 198.18.0.0/15 (RFC 2544 appendix C.2.2) and 2001:2::/48
/// (RFC 5180 §8).
pub fn is_lab_address(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.to_bits() >> 17 == 0xc612_0000 >> 17,
        IpAddr::V6(address) => address.to_bits() >> 80 == 0x2001_0002_0000,
    }
}

impl Flow {
    /// Refuses addresses outside the benchmarking ranges: such traffic belongs in a lab (RFC 6815
    /// §2), unless the operator has said that he knows where it goes.
    ///
    /// # Errors
    /// The first address that is elsewhere.
    pub fn check_addresses(&self, anywhere: bool) -> Result<(), String> {
        if anywhere || self.kind == Kind::Ethernet {
            return Ok(());
        }
        let ends = |ends: Ends, spread: Spread| {
            let last = spread.count().saturating_sub(1);
            let ip4 = Ipv4Addr::from_bits(ends.ip4.to_bits().wrapping_add(last));
            let ip6 = Ipv6Addr::from_bits(ends.ip6.to_bits().wrapping_add(last.into()));
            [ends.ip4.into(), ip4.into(), IpAddr::from(ends.ip6), ip6.into()]
        };
        let all =
            ends(self.src, self.src_spread).into_iter().chain(ends(self.dst, self.dst_spread));
        match all.into_iter().find(|&address| !is_lab_address(address)) {
            None => Ok(()),
            Some(address) => Err(format!(
                "{address} is outside of 198.18.0.0/15 and 2001:2::/48, which are for benchmarks; \
                 RFC 6815 wants such traffic kept in a lab: --any-address overrides this"
            )),
        }
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    #[suite::test]
    fn addresses_of_benchmarks() {
        for (text, lab) in [
            ("198.18.0.0", true),
            ("198.19.255.255", true),
            ("198.17.255.255", false),
            ("198.20.0.0", false),
            ("10.0.0.1", false),
            ("2001:2::1", true),
            ("2001:2:0:ffff::1", true),
            ("2001:2:1::1", false),
            ("2001:db8::1", false),
        ] {
            assert_eq!(is_lab_address(text.parse().unwrap()), lab, "{text}");
        }
    }

    #[suite::test]
    fn reads_shares() {
        assert_eq!("9/10".parse(), Ok(Share { foreground: 9, of: 10 }));
        for bad in ["11/10", "1/0", "x", "1/49", "-1/2"] {
            assert!(bad.parse::<Share>().is_err(), "{bad}");
        }
        let share = Share { foreground: 2, of: 3 };
        let all: Vec<_> = (0..6).map(|i| share.is_foreground(i)).collect();
        assert_eq!(all, [true, true, false, true, true, false]);
    }
}
