// SPDX-License-Identifier: Apache-2.0
//! Addresses of our own for interfaces of the host.

use wire::MacAddr;

/// A locally administered address for our side of the host's interface `name` whose own address is
/// `host`. The same ones give the same address: after a restart the neighbours needn't learn a new
/// one.
pub fn own_mac(name: &str, host: Option<MacAddr>) -> MacAddr {
    let bytes = host.unwrap_or_default().octets();
    // FNV-1a
    let seed = name.bytes().chain(bytes).fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    MacAddr::local(seed)
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    #[suite::test]
    fn addresses_are_stable_and_differ() {
        let host = MacAddr([2, 0, 0, 0, 0, 1]);
        assert_eq!(own_mac("eth0", Some(host)), own_mac("eth0", Some(host)));
        assert_ne!(own_mac("eth0", Some(host)), own_mac("eth1", Some(host)));
        assert_ne!(own_mac("eth0", Some(host)), own_mac("eth0", Some(MacAddr([2, 0, 0, 0, 0, 2]))));
        let mac = own_mac("", None);
        assert!(mac.is_local() && mac.is_unicast() && mac != host);
    }
}
