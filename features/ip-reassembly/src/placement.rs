// SPDX-License-Identifier: Apache-2.0
//! Placement of datagrams on threads: the thread's data that all nodes of this feature share.

use crate::fragment::{Fragment, Fragments};
use buffer::Buffer;
use graph::{ThreadIndex, World};
use net::{FlowOwners, Interfaces};
use std::sync::Arc;
use sync::Turn;
use tables::{Mixer, SessionKey};
use wire::{Address, Header, IpHeader};

/// The key that all fragments of one datagram share.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Key<A> {
    /// Source.
    pub src: A,
    /// Destination.
    pub dst: A,
    /// Identification.
    pub id: u32,
    /// FIB index of their receive interface: networks may overlap.
    pub fib: u32,
    /// IPv4's protocol; 0 for IPv6, whose key has none (RFC 8200 4.5).
    pub protocol: u8,
}

impl<A: Address> SessionKey for Key<A> {
    #[inline(always)]
    fn mix(&self, mixer: Mixer) -> Mixer {
        let rest = u64::from(self.id) << 32 | u64::from(self.fib) << 8 | u64::from(self.protocol);
        let addresses = [self.src.to_octets(), self.dst.to_octets()];
        addresses.iter().fold(mixer, |mixer, octets| mixer.add_bytes(octets.as_ref())).add(rest)
    }
}

/// Data of one node on one thread that decides which thread collects a datagram.
pub struct Placement {
    /// The thread.
    pub thread: ThreadIndex,
    owners: Arc<FlowOwners>,
    interfaces: Arc<Interfaces>,
}

impl Placement {
    /// Returns the data for a thread.
    pub fn new(world: &World, thread: ThreadIndex) -> Self {
        Self { thread, owners: world.get(), interfaces: world.get() }
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

    /// Returns the thread that owns a datagram, unless it is this: the same one for all between two
    /// hosts, so that they stay in order.
    pub fn elsewhere<A: Address>(&self, key: &Key<A>) -> Option<ThreadIndex> {
        let owner = self.owners.of_hosts(key.src, key.dst);
        (owner != self.thread).then_some(owner)
    }
}
