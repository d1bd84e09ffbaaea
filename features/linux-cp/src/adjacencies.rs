// SPDX-License-Identifier: Apache-2.0
//! Adjacencies of mirrored interfaces by their layer-2 header: the host's packets begin with one.

use buffer::Buffer;
use graph::{Deleted, Shared, SwIfIndex, World};
use net::{Adj, AdjIndex, Adjacencies, Neighbor, NeighborEvent, Neighbors};
use std::collections::BTreeMap;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use sync::Turn;
use tables::{HashIndex, fold};
use wire::MacAddr;

/// A neighbour's adjacency, on which the table has a reference.
#[derive(Clone, Copy)]
struct Known {
    mac: MacAddr,
    adj: AdjIndex,
}

/// Adjacencies of the neighbours of mirrored interfaces.
pub struct HeaderTable {
    /// Adjacencies by the hash of interface, MAC address and protocol.
    index: HashIndex,
    adjacencies: Arc<Adjacencies>,
    /// Secret: stations can't choose addresses that collide.
    seed: u64,
    known: Mutex<BTreeMap<(SwIfIndex, IpAddr), Known>>,
}

impl Shared for HeaderTable {
    fn make(world: &World) -> Self {
        Self {
            index: HashIndex::new(&world.qsbr),
            adjacencies: world.get(),
            seed: RandomState::new().hash_one("linux-cp"),
            known: Mutex::default(),
        }
    }

    fn forget(&self, _: &World, deleted: &Deleted<'_>) {
        deleted.of::<SwIfIndex>().into_iter().for_each(|sw_if| self.unfollow(*sw_if));
    }
}

impl HeaderTable {
    #[inline(always)]
    fn hash(&self, sw_if: u32, mac: MacAddr, v6: bool) -> u32 {
        let MacAddr([a, b, c, d, e, f]) = mac;
        let mac = u64::from_le_bytes([a, b, c, d, e, f, 0, v6.into()]);
        let sw_if = u64::from(sw_if) << 1 | 1;
        fold(mac ^ self.seed, sw_if.wrapping_mul(0x9e37_79b9_7f4a_7c15)) as u32
    }

    /// The adjacency of an interface with the header that a packet begins with.
    #[inline(always)]
    pub fn find(&self, sw_if: u32, b: &Buffer, v6: bool, turn: &Turn<'_>) -> Option<AdjIndex> {
        let header = b.bytes::<14>(0)?;
        let mac = MacAddr(*header.first_chunk()?);
        let is_it = |adj: &Adj| adj.tx_if == sw_if && *adj.rewrite() == header[..];
        self.index.find(self.hash(sw_if, mac, v6), turn, |at| {
            self.adjacencies.get(AdjIndex(at), turn).filter(|adj| is_it(adj)).map(|_| AdjIndex(at))
        })
    }

    fn known(&self) -> MutexGuard<'_, BTreeMap<(SwIfIndex, IpAddr), Known>> {
        self.known.lock().expect("no panic inside")
    }

    /// Takes over the neighbours of an interface.
    pub fn follow(&self, world: &World, sw_if: SwIfIndex) {
        let neighbors = world.get::<Neighbors>();
        for v6 in [false, true] {
            neighbors.list(v6, Some(sw_if)).into_iter().for_each(|n| self.put(n));
        }
    }

    /// Forgets the neighbours of an interface.
    pub fn unfollow(&self, sw_if: SwIfIndex) {
        let of: Vec<_> = self.known().keys().filter(|key| key.0 == sw_if).copied().collect();
        of.into_iter().for_each(|key| self.remove(key));
    }

    /// Takes over a change of a neighbour of a mirrored interface.
    pub fn note(&self, event: &NeighborEvent) {
        match event {
            NeighborEvent::Set { new, .. } => self.put(*new),
            NeighborEvent::Gone { gone, .. } => self.remove((gone.sw_if, gone.ip)),
        }
    }

    fn put(&self, n: Neighbor) {
        self.remove((n.sw_if, n.ip));
        // A neighbour outside of the interface's networks has no adjacency of its own.
        let Some(adj) = self.adjacencies.find_neighbor(n.sw_if, n.ip) else { return };
        self.adjacencies.hold_again(adj);
        self.index.insert(self.hash(n.sw_if.0, n.mac, n.ip.is_ipv6()), adj.0);
        self.known().insert((n.sw_if, n.ip), Known { mac: n.mac, adj });
    }

    fn remove(&self, (sw_if, ip): (SwIfIndex, IpAddr)) {
        let Some(Known { mac, adj }) = self.known().remove(&(sw_if, ip)) else { return };
        self.index.remove(self.hash(sw_if.0, mac, ip.is_ipv6()), adj.0);
        self.adjacencies.release(adj);
    }

    /// All neighbours with their adjacencies, in order.
    pub fn list(&self) -> Vec<(SwIfIndex, IpAddr, MacAddr, AdjIndex)> {
        let known = self.known();
        known.iter().map(|((sw_if, ip), known)| (*sw_if, *ip, known.mac, known.adj)).collect()
    }
}
