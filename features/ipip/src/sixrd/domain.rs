// SPDX-License-Identifier: Apache-2.0
//! Addresses within a domain.

use cli::{Error, Result, retval};
use std::net::{Ipv4Addr, Ipv6Addr};
use wire::{Ip4Prefix, Ip6Prefix};

/// Bits of a prefix that a site can divide into subnets: the other half names hosts.
const SITE: u8 = 64;

/// A 6RD domain (RFC 5969 4): a site's IPv6 prefix is `ip6`, followed by the bits of its IPv4
/// address behind `ip4`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Domain {
    /// The prefix that all sites share.
    pub ip6: Ip6Prefix,
    /// The prefix that all IPv4 addresses share.
    pub ip4: Ip4Prefix,
}

impl Domain {
    /// A domain; host bits of the prefixes are ignored.
    ///
    /// # Errors
    /// Prefixes of sites longer than 64 bits (−7).
    pub fn new(ip6: Ip6Prefix, ip4: Ip4Prefix) -> Result<Self> {
        let bits = u16::from(ip6.len()) + u16::from(32 - ip4.len());
        if bits > u16::from(SITE) {
            let why = format!(
                "prefixes of sites would have {bits} bits: expected at most {SITE}, with a shorter \
                 IPv6 prefix or a longer IPv4 prefix"
            );
            return Err(Error::parse(why).retval(retval::INVALID_VALUE));
        }
        Ok(Self { ip6: ip6.network(), ip4: ip4.network() })
    }

    /// The IPv4 address that is embedded in an IPv6 address. The prefix of that isn't compared.
    #[inline(always)]
    pub fn embedded(&self, address: Ipv6Addr) -> Ipv4Addr {
        let suffix = match 32 - self.ip4.len() {
            0 => 0,
            bits => (address.to_bits() << self.ip6.len() >> (128 - bits)) as u32,
        };
        Ipv4Addr::from_bits(self.ip4.addr().to_bits() | suffix)
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use wire::Address;

    /// As RFC 5969 4 tells it: bit by bit.
    fn slowly(domain: &Domain, address: Ipv6Addr) -> Ipv4Addr {
        let mut bits = 0;
        for i in 0..32 {
            let bit = match i < domain.ip4.len() {
                true => domain.ip4.addr().bit(i),
                false => address.bit(domain.ip6.len() + i - domain.ip4.len()),
            };
            bits = bits << 1 | u32::from(bit);
        }
        Ipv4Addr::from_bits(bits)
    }

    proptest! {
        #[suite::test]
        fn addresses_are_embedded(a: u128, b: u32, len6 in 0u8..=64, len4 in 0u8..=32, to: u128) {
            let ip6 = Ip6Prefix::new(Ipv6Addr::from(a), len6).unwrap();
            let ip4 = Ip4Prefix::new(Ipv4Addr::from(b), len4).unwrap();
            let domain = Domain::new(ip6, ip4);
            prop_assert_eq!(domain.is_ok(), u16::from(len6) + u16::from(32 - len4) <= 64);
            if let Ok(domain) = domain {
                let address = Ipv6Addr::from(to);
                prop_assert_eq!(domain.embedded(address), slowly(&domain, address));
            }
        }
    }

    #[suite::test]
    fn example_of_rfc_5969() {
        // Appendix A: 2001:db8::/32, a site at 10.100.100.1 of 10.0.0.0/8.
        let prefix = |text: &str| text.parse().unwrap();
        let domain = Domain::new(prefix("2001:db8::/32"), "10.0.0.0/8".parse().unwrap()).unwrap();
        let site = "2001:db8:6464:100::1".parse().unwrap();
        assert_eq!(domain.embedded(site), Ipv4Addr::new(10, 100, 100, 1));
    }
}
