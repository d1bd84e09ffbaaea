// SPDX-License-Identifier: Apache-2.0
//! Threads that own the state of flows: sessions, and datagrams under reassembly.

use graph::{Shared, ThreadIndex, World};
use std::hash::{BuildHasher, RandomState};
use tables::Mixer;
use wire::Address;

/// The threads that own the state of flows: the workers, or the main thread if there are none.
#[derive(Debug)]
pub struct FlowOwners {
    /// With a secret, so that no sender can give all its flows one owner.
    mixer: Mixer,
    first: u16,
    threads: u64,
}

impl Shared for FlowOwners {
    fn make(world: &World) -> Self {
        Self::new(RandomState::new().hash_one(world.threads()), world.threads())
    }
}

impl FlowOwners {
    fn new(seed: u64, threads: usize) -> Self {
        let first = u16::from(threads > 1);
        Self { mixer: Mixer::new(seed), first, threads: threads as u64 - u64::from(first) }
    }

    /// Returns the thread that owns a flow between two addresses with their ports, or with 0 where
    /// there are none: the same for both directions. `protocol` is the upper layer's, `fib` the
    /// index of the route table, since networks may overlap.
    #[inline(always)]
    pub fn of<A: Address>(&self, ends: [(A, u16); 2], protocol: u8, fib: u32) -> ThreadIndex {
        let [a, b] = ends.map(|(addr, port)| {
            self.mixer.add_bytes(addr.to_octets().as_ref()).add(port.into()).hash()
        });
        // A sum doesn't depend on the order.
        let rest = u64::from(fib) << 8 | u64::from(protocol);
        let hash = self.mixer.add(a.wrapping_add(b)).add(rest).hash();
        ThreadIndex(self.first + (((hash >> 32) * self.threads) >> 32) as u16)
    }

    /// Returns the thread that owns what is one for all flows between two hosts.
    #[inline(always)]
    pub fn of_hosts<A: Address>(&self, a: A, b: A) -> ThreadIndex {
        self.of([(a, 0), (b, 0)], 0, 0)
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::net::{Ipv4Addr, Ipv6Addr};

    proptest! {
        #[suite::test]
        fn both_directions_have_one_owner(
            seed: u64, a: (u128, u16), b: (u128, u16), protocol: u8, fib: u32, n in 1usize..9,
        ) {
            let owners = FlowOwners::new(seed, n);
            let [a, b] = [a, b].map(|(addr, port)| (Ipv6Addr::from(addr), port));
            let owner = owners.of([a, b], protocol, fib);
            prop_assert_eq!(owner, owners.of([b, a], protocol, fib));
            prop_assert!(owner.at() < n && (n == 1 || owner.at() > 0));
            prop_assert_eq!(owners.of_hosts(a.0, b.0), owners.of_hosts(b.0, a.0));
        }
    }

    /// Flows that differ in one part only have different owners.
    #[suite::test]
    fn owners_are_spread() {
        let owners = FlowOwners::new(3, 5);
        let (a, b) = (Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2));
        for part in 0..5 {
            let mut counts = [0; 5];
            for n in 0..4000_u16 {
                let other = Ipv4Addr::from(u32::from(n));
                let owner = match part {
                    0 => owners.of_hosts(other, b),
                    1 => owners.of([(a, n), (b, 80)], 6, 0),
                    2 => owners.of([(a, n), (a, n)], 6, 0),
                    3 => owners.of([(a, 1), (b, 2)], n as u8, u32::from(n) >> 8),
                    _ => owners.of([(a, 1), (b, 2)], 6, n.into()),
                };
                counts[owner.at()] += 1;
            }
            assert_eq!(counts[0], 0, "the main thread");
            assert!(counts[1..].iter().all(|n| (850..1150).contains(n)), "{part}: {counts:?}");
        }
    }
}
