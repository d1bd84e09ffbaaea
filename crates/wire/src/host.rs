// SPDX-License-Identifier: Apache-2.0
//! Says of an address that isn't the one of a single host what it is.

use std::net::IpAddr;

use crate::MacAddr;

/// A sentence for an address that had to be the one of a single host.
///
/// ```
/// let group: std::net::Ipv4Addr = "224.0.0.1".parse().unwrap();
/// assert_eq!(wire::not_one_host(group), "224.0.0.1 is a multicast address, not that of one host");
/// ```
pub fn not_one_host(addr: impl Into<IpAddr>) -> String {
    let addr = addr.into();
    let is_broadcast = matches!(addr, IpAddr::V4(addr) if addr.is_broadcast());
    let kind = match addr {
        addr if addr.is_multicast() => "a multicast address",
        addr if addr.is_unspecified() => "the unspecified address",
        addr if addr.is_loopback() => "a loopback address",
        _ if is_broadcast => "the broadcast address",
        _ => return format!("{addr} is not the address of one host"),
    };
    format!("{addr} is {kind}, not that of one host")
}

/// As [`not_one_host`], for the address of a station.
pub fn not_one_station(mac: MacAddr) -> String {
    let kind = match mac {
        MacAddr::BROADCAST => "the broadcast address",
        mac if mac.is_multicast() => "a multicast address",
        _ => "no address",
    };
    format!("{mac} is {kind}, not that of one station")
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    #[suite::test]
    fn an_address_is_named_for_what_it_is() {
        for (addr, want) in [
            ("ff02::1", "a multicast address, not"),
            ("::", "the unspecified address, not"),
            ("255.255.255.255", "the broadcast address, not"),
            ("127.0.0.1", "a loopback address, not"),
            ("10.0.0.1", "not the address"),
        ] {
            let addr: IpAddr = addr.parse().expect("an address");
            assert!(not_one_host(addr).starts_with(&format!("{addr} is {want}")), "{addr}");
        }
        assert!(not_one_station(MacAddr::BROADCAST).contains("the broadcast address"));
        assert!(not_one_station(MacAddr([1, 0, 0x5e, 0, 0, 1])).contains("a multicast address"));
        assert!(not_one_station(MacAddr::ZERO).contains("no address"));
    }
}
