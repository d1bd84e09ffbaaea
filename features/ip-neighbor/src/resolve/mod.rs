// SPDX-License-Identifier: Apache-2.0
//! Neighbour resolution: the parts that ARP and IPv6 neighbour discovery share.
//!
//! Packets to an unknown neighbour wait on their receiving thread: 32 for each neighbour, 1,024 in
//! all. A request is sent once a second, and a few more for packets that arrive meanwhile; after
//! three unanswered ones the sender gets a host unreachable error. Workers post notes to the main
//! thread in bounded queues; it keeps the table ([`net::Neighbors`]), completes adjacencies, and
//! makes every thread release the waiting packets.
//!
//! Anyone can send packets to unused addresses (RFC 6583). So an interface sends at most 4,096
//! requests a second, part of them for hosts that are tried again; the oldest waiting packets make
//! room for the youngest; no interface takes the room of others; and next hops of routes have
//! limits of their own.
//!
//! A protocol implements [`Protocol`], lists [`Unresolved`] and [`Glean`] among its nodes, and
//! calls [`start`].

mod control;
mod counters;
mod full_table;
mod glean;
mod rate_limit;
mod reports;
mod resolver;
mod target;
mod throttle;
mod unresolved;
mod waiting;

pub use control::{FIELD, start, state, transmit};
pub use counters::{Lanes, counters};
pub use glean::Glean;
pub use reports::{DetectedNeighbor, RecentReports, Report, Reports};
pub use resolver::{ResolveTrace, To};
pub use target::Target;
pub use unresolved::Unresolved;

use graph::{Build, World};
use net::{Evidence, IfView, Net, Prober};
use sync::Turn;
use wire::{Address, Family, MacAddr, Prefix};

/// A protocol that resolves neighbours.
pub trait Protocol: Send + Sync + Sized + 'static {
    /// IP version of the neighbours.
    type Net: Net;
    /// Builder of its requests.
    type Requests: RequestBuilder<Self::Net>;
    /// Name of the process that reads the workers' notes.
    const PROCESS: &'static str;
    /// Prefix of its counters: `/net/arp`.
    const COUNTERS: &'static str;
    /// Probes neighbours for reachability.
    const PROBE: Prober;
    /// True if requests are sent from the source address that the route gives, not from one of the
    /// link's.
    const SOURCE_OF_ROUTE: bool;

    /// Returns the evidence that counts of a detected neighbour; `None` to ignore it.
    fn weigh(
        world: &World,
        seen: &DetectedNeighbor<<Self::Net as Family>::Addr>,
    ) -> Option<Evidence>;
    /// Reports that another station uses an address of ours. Called at most once a second for each
    /// thread.
    fn conflict(world: &World, who: Target<<Self::Net as Family>::Addr>, mac: MacAddr);
}

/// Builds the requests for neighbours on one thread.
pub trait RequestBuilder<F: Net>: Build + Send + 'static {
    /// The request as it is sent, from its Ethernet header on.
    type Frame: AsRef<[u8]>;

    /// Builds a request to all stations for `target`; `source` is our address to send from, if
    /// known. `None` if there is none.
    fn request(
        &self,
        view: &IfView,
        target: Target<F::Addr>,
        source: Option<F::Addr>,
        turn: &Turn<'_>,
    ) -> Option<Self::Frame>;
}

/// Returns true if the address is one of our own.
#[inline(always)]
pub fn is_own<A: Address>(own: &[Prefix<A>], ip: A) -> bool {
    own.iter().any(|p| p.addr() == ip)
}

/// Returns our source address for requests for a neighbour: the one in its network, else the first.
#[inline(always)]
pub fn source_for<A: Address>(own: &[Prefix<A>], ip: A) -> Option<A> {
    own.iter().find(|p| p.contains(ip)).or(own.first()).map(|p| p.addr())
}
