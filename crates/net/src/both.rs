// SPDX-License-Identifier: Apache-2.0
//! State that a thread has once for each IP version, as tables of sessions.

use graph::{ThreadIndex, ThreadState, World};
use std::net::{Ipv4Addr, Ipv6Addr};
use wire::Address;

/// A type for each IP version, by its addresses.
pub trait ByVersion: 'static {
    /// The type.
    type Of<A: Address>: Send;

    /// The state of a thread at the start.
    fn make<A: Address>(world: &World, thread: ThreadIndex) -> Self::Of<A>;
}

/// One of each.
pub struct Both<T: ByVersion> {
    /// For IPv4.
    pub ip4: T::Of<Ipv4Addr>,
    /// For IPv6.
    pub ip6: T::Of<Ipv6Addr>,
}

impl<T: ByVersion> ThreadState for Both<T> {
    fn make(world: &World, thread: ThreadIndex) -> Self {
        Self { ip4: T::make(world, thread), ip6: T::make(world, thread) }
    }
}
