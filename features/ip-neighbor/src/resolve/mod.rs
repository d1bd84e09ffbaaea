// SPDX-License-Identifier: Apache-2.0
//! Finding neighbours: what ARP and IPv6 neighbour discovery have in common.
//!
//! Packets to an unknown neighbour wait on the thread that they came in on: 32 for each neighbour, 1,024 in all; a question
//! goes out once a second, and a few more for packets that come meanwhile; after three without an answer the sender is told that
//! the host is unreachable. What workers see goes to control by bounded queues; control keeps the table ([`net::Neighbors`]), completes adjacencies, and tells every
//! thread to let go what waited.
//!
//! Anybody may send to addresses that nobody has (RFC 6583). So an interface sends 4,096 questions a second at most, part of
//! them for hosts that are tried again; the oldest that waits makes room for the youngest; no interface takes the room of
//! others; and next hops of routes have all of this for themselves.
//!
//! A protocol says by [`Protocol`] what is its own, lists [`Unresolved`] and [`Glean`] among its nodes, and calls [`start`].

mod control;
mod counters;
mod crowd;
mod glean;
mod notes;
mod pace;
mod resolver;
mod target;
mod unresolved;
mod waiting;

pub use control::{FIELD, start, state, transmit};
pub use counters::{Lanes, counters};
pub use glean::Glean;
pub use notes::{Lately, Note, Notes, Seen};
pub use resolver::{ResolveTrace, To};
pub use target::Target;
pub use unresolved::Unresolved;

use graph::{Build, World};
use net::{Evidence, IfView, Net, Prober};
use sync::Turn;
use wire::{Address, Family, MacAddr, Prefix};

/// A protocol that finds neighbours.
pub trait Protocol: Send + Sync + Sized + 'static {
    /// Whose neighbours.
    type Net: Net;
    /// How it asks.
    type Ask: Ask<Self::Net>;
    /// The process that reads what workers tell.
    const PROCESS: &'static str;
    /// Where its counters are: `/net/arp`.
    const COUNTERS: &'static str;
    /// Asks neighbours whether they are still there.
    const PROBE: Prober;
    /// Questions are sent from the address that the route gives, not from one of the link's.
    const SOURCE_OF_ROUTE: bool;

    /// What is made of what a neighbour told; `None` for nothing.
    fn weigh(world: &World, seen: &Seen<<Self::Net as Family>::Addr>) -> Option<Evidence>;
    /// Another station uses an address of ours. Not told more often than once a second for each thread.
    fn conflict(world: &World, who: Target<<Self::Net as Family>::Addr>, mac: MacAddr);
}

/// How one thread asks for a neighbour.
pub trait Ask<F: Net>: Build + Send + 'static {
    /// The question as it is sent, from its Ethernet header on.
    type Frame: AsRef<[u8]>;

    /// Asks all who `target` is; `source` is our address to ask with, if that is known. `None` if there is none to ask with.
    fn question(
        &self,
        view: &IfView,
        target: Target<F::Addr>,
        source: Option<F::Addr>,
        turn: &Turn<'_>,
    ) -> Option<Self::Frame>;
}

/// Whether an address is one of these.
#[inline(always)]
pub fn is_own<A: Address>(own: &[Prefix<A>], ip: A) -> bool {
    own.iter().any(|p| p.addr() == ip)
}

/// Our address to ask for a neighbour with: the one in its network, else the first.
#[inline(always)]
pub fn source_for<A: Address>(own: &[Prefix<A>], ip: A) -> Option<A> {
    own.iter().find(|p| p.contains(ip)).or(own.first()).map(|p| p.addr())
}
