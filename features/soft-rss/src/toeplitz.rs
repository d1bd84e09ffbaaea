// SPDX-License-Identifier: Apache-2.0
//! The Toeplitz hash of receive-side scaling: each bit of the input that is set adds (exclusive or)
//! the 32 bits of the key that begin at the bit's position.

/// Bytes of a key.
pub const KEY: usize = 40;
/// Bytes of the longest input: two IPv6 addresses and two ports.
pub const INPUT: usize = 36;

/// A key.
pub type Key = [u8; KEY];

/// The key with which the specification of RSS verifies implementations; many network cards start
/// with it.
pub const DEFAULT_KEY: Key = [
    0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3, 0x8f, 0xb0,
    0xd0, 0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3, 0x80, 0x30, 0xf2, 0x0c,
    0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa,
];

/// The hash with a key, as a table: for each half byte of the input its contribution.
#[derive(Debug)]
pub struct Toeplitz([[[u32; 16]; 2]; INPUT]);

impl Toeplitz {
    /// Computes the table of a key.
    pub fn new(key: &Key) -> Self {
        let mut table = [[[0; 16]; 2]; INPUT];
        for (at, halves) in table.iter_mut().enumerate() {
            for (half, values) in halves.iter_mut().enumerate() {
                for (value, sum) in values.iter_mut().enumerate() {
                    for bit in (0..4).filter(|bit| value >> (3 - bit) & 1 == 1) {
                        *sum ^= window(key, at * 8 + half * 4 + bit);
                    }
                }
            }
        }
        Self(table)
    }

    /// The hash of at most [`INPUT`] bytes.
    #[inline(always)]
    pub fn hash(&self, input: &[u8]) -> u32 {
        self.0.iter().zip(input).fold(0, |hash, ([high, low], byte)| {
            hash ^ high[usize::from(byte >> 4)] ^ low[usize::from(byte & 15)]
        })
    }
}

/// The 32 bits of a key from bit `at` on.
fn window(key: &Key, at: usize) -> u32 {
    let byte = |i: usize| u64::from(key.get(i).copied().unwrap_or(0));
    let five = (0..5).fold(0, |five, i| five << 8 | byte(at / 8 + i));
    (five >> (8 - at % 8)) as u32
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

    fn input(from: &str, to: &str, ports: Option<(u16, u16)>) -> Vec<u8> {
        let mut all = Vec::new();
        for addr in [from, to] {
            match addr.parse().expect("an address") {
                IpAddr::V4(addr) => all.extend(Ipv4Addr::octets(&addr)),
                IpAddr::V6(addr) => all.extend(Ipv6Addr::octets(&addr)),
            }
        }
        let (from, to) = ports.unwrap_or_default();
        all.extend(
            ports.map(|_| [from.to_be_bytes(), to.to_be_bytes()]).into_iter().flatten().flatten(),
        );
        all
    }

    /// The verification suite of the RSS specification.
    #[suite::test]
    fn published_hashes() {
        let hash = Toeplitz::new(&DEFAULT_KEY);
        for (from, to, ports, plain, with_ports) in [
            ("66.9.149.187", "161.142.100.80", (2794, 1766), 0x323e_8fc2, 0x51cc_c178),
            ("199.92.111.2", "65.69.140.83", (14230, 4739), 0xd718_262a, 0xc626_b0ea),
            ("24.19.198.95", "12.22.207.184", (12898, 38024), 0xd2d0_a5de, 0x5c2b_394a),
            ("3ffe:2501:200:1fff::7", "3ffe:2501:200:3::1", (2794, 1766), 0x2cc1_8cd5, 0x4020_7d3d),
            ("3ffe:501:8::260:97ff:fe40:efab", "ff02::1", (14230, 4739), 0x0f0c_461c, 0xdde5_1bbf),
        ] {
            assert_eq!(hash.hash(&input(from, to, None)), plain, "{from}");
            assert_eq!(hash.hash(&input(from, to, Some(ports))), with_ports, "{from}");
        }
    }

    proptest! {
        /// The table against the definition, bit by bit.
        #[suite::test]
        fn the_table_is_the_definition(
            key in proptest::collection::vec(any::<u8>(), KEY),
            bytes in proptest::collection::vec(any::<u8>(), 0..=INPUT),
        ) {
            let key = Key::try_from(key).expect("as long");
            let mut hash = 0;
            for bit in (0..bytes.len() * 8).filter(|bit| bytes[bit / 8] >> (7 - bit % 8) & 1 == 1) {
                for i in 0..32 {
                    let at = bit + i;
                    let set = u32::from(key[at / 8] >> (7 - at % 8) & 1);
                    hash ^= set << (31 - i);
                }
            }
            prop_assert_eq!(Toeplitz::new(&key).hash(&bytes), hash);
        }
    }
}
