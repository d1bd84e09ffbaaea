// SPDX-License-Identifier: Apache-2.0
//! Placement of datagrams on threads: the thread's data that all nodes of this feature share.

use crate::fragment::{Fragment, Fragments};
use crate::table::Key;
use buffer::Buffer;
use graph::{ThreadIndex, World};
use net::Interfaces;
use std::sync::Arc;
use sync::Turn;
use wire::{Header, IpHeader};

/// Data of one node on one thread that decides which thread collects a datagram.
pub struct Placement {
    /// The thread.
    pub thread: ThreadIndex,
    threads: usize,
    /// Hash seed of the node's table.
    pub seed: u64,
    interfaces: Arc<Interfaces>,
}

impl Placement {
    /// Returns the data for a thread.
    pub fn new(world: &World, thread: ThreadIndex) -> Self {
        let threads = world.threads();
        let seed = std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), thread);
        Self { thread, threads, seed, interfaces: world.get() }
    }

    /// Returns the key that all fragments of a packet's datagram share. `head` begins with the IP
    /// header.
    pub fn key<F: Fragments>(
        &self,
        head: &[u8],
        fragment: &Fragment,
        fib: u32,
    ) -> Option<Key<F::Addr>> {
        let ip = F::Header::view(head)?;
        let protocol = if F::IS_V6 { 0 } else { fragment.protocol.0 };
        Some(Key { src: ip.src(), dst: ip.dst(), id: fragment.id, fib, protocol })
    }

    /// Returns the FIB index of the packet's receive interface.
    pub fn fib<F: Fragments>(&self, b: &Buffer, turn: &Turn<'_>) -> u32 {
        let view = self.interfaces.views(turn).get(b.rx_if as usize);
        view.map_or(0, |view| F::table_of(&view).0)
    }

    /// Returns the thread that owns a datagram, unless it is this: a worker, if there are any, the
    /// same one for all of two hosts.
    pub fn elsewhere<A: wire::Address>(&self, key: &Key<A>) -> Option<ThreadIndex> {
        let owner = match self.threads {
            1 => 0,
            n => 1 + key.owner(n - 1),
        };
        (owner != self.thread.at()).then_some(ThreadIndex(owner as u16))
    }
}
