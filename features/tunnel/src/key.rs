// SPDX-License-Identifier: Apache-2.0
//! The key by which a received packet finds its tunnel.

use std::net::IpAddr;

use tables::fold;

/// Addresses as numbers; those of IPv4 are mapped (RFC 4291 2.5.5.2).
#[inline(always)]
pub const fn bits(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped().to_bits(),
        IpAddr::V6(address) => address.to_bits(),
    }
}

/// The key of a tunnel among those of its kind. A packet belongs to a tunnel if all fields are the
/// same.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Key {
    /// The address here: the destination of what is received.
    pub local: u128,
    /// The address of the other end; 0 for a tunnel whose packets may come from anywhere.
    pub remote: u128,
    /// Index of the table in which outer packets are routed.
    pub table: u32,
    /// The number of the tunnel between these addresses: a key, a network identifier, a session; 0
    /// for kinds without.
    pub id: u32,
    /// A further field by which the kind tells tunnels apart.
    pub other: u32,
}

impl Key {
    /// Of a packet for `local` from `remote` in a table, for kinds without a number.
    #[inline(always)]
    pub const fn of(local: IpAddr, remote: IpAddr, table: u32) -> Self {
        Self { local: bits(local), remote: bits(remote), table, id: 0, other: 0 }
    }

    /// A hash that depends on `seed`, so that a sender of packets can't choose keys that collide.
    #[inline(always)]
    pub const fn hash(&self, seed: u64) -> u32 {
        // Odd constants without structure: fractions of the square roots of 2 and 3.
        const A: u64 = 0x6a09_e667_f3bc_c909;
        const B: u64 = 0xbb67_ae85_84ca_a73b;
        let rest = (self.id as u64) << 32 | self.table as u64;
        let local = fold(self.local as u64 ^ A, (self.local >> 64) as u64 ^ seed);
        let remote =
            fold(self.remote as u64 ^ B, (self.remote >> 64) as u64 ^ seed.rotate_left(32));
        (fold(fold(local ^ rest, remote ^ A) ^ self.other as u64, B ^ seed) >> 32) as u32
    }
}
