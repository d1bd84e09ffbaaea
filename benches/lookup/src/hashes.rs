// SPDX-License-Identifier: Apache-2.0
//! A hash table that is asked for each prefix length there is, longest first.

#[derive(Clone, Copy, Default)]
struct Slot {
    network: u128,
    /// Length plus one; 0: free.
    len: u32,
    hop: u32,
}

pub struct Hashes {
    /// A power of two, at most half of them used.
    slots: Vec<Slot>,
    /// Lengths in use, longest first.
    lens: Vec<u32>,
}

#[inline(always)]
fn network(key: u128, len: u32) -> u128 {
    key & !u128::MAX.checked_shr(len).unwrap_or(0)
}

#[inline(always)]
fn hash(network: u128, len: u32) -> usize {
    let (high, low) = ((network >> 64) as u64 ^ u64::from(len), network as u64);
    let mixed = u128::from(high ^ 0x9e37_79b9_7f4a_7c15)
        * u128::from(low.rotate_left(32) ^ 0xd6e8_feb8_6659_fd93);
    ((mixed >> 64) ^ mixed) as usize
}

impl Hashes {
    /// Routes are network, length and hop.
    pub fn new(routes: &[(u128, u8, u32)]) -> Self {
        let mut lens: Vec<u32> = routes.iter().map(|(_, len, _)| u32::from(*len)).collect();
        lens.sort_unstable_by(|a, b| b.cmp(a));
        lens.dedup();
        let mut this =
            Self { slots: vec![Slot::default(); (routes.len() * 2).next_power_of_two()], lens };
        for (net, len, hop) in routes {
            let len = u32::from(*len);
            let mut at = hash(*net, len) & (this.slots.len() - 1);
            while this.slots[at].len != 0 {
                at = (at + 1) & (this.slots.len() - 1);
            }
            this.slots[at] = Slot { network: *net, len: len + 1, hop: *hop };
        }
        this
    }

    pub fn memory(&self) -> usize {
        self.slots.len() * size_of::<Slot>()
    }

    #[inline(always)]
    pub fn hops(&self, keys: &[u128], hops: &mut [u32]) {
        for (hop, key) in hops.iter_mut().zip(keys) {
            *hop =
                self.lens.iter().find_map(|len| self.get(network(*key, *len), *len)).unwrap_or(0);
        }
    }

    #[inline(always)]
    fn get(&self, network: u128, len: u32) -> Option<u32> {
        let mut at = hash(network, len) & (self.slots.len() - 1);
        loop {
            let slot = &self.slots[at];
            if slot.len == len + 1 && slot.network == network {
                return Some(slot.hop);
            }
            if slot.len == 0 {
                return None;
            }
            at = (at + 1) & (self.slots.len() - 1);
        }
    }
}
