// SPDX-License-Identifier: Apache-2.0
//! Paths of outer packets that something follows: a feature that registers itself.

use crate::identifier::Identifier;
use cli::{Error, Result, retval};
use graph::{Shared, SwIfIndex, World};
use net::{AdjIndex, TableIndex};
use std::net::IpAddr;
use std::sync::{Arc, OnceLock};
use wire::IpProtocol;

/// The outer packets of a tunnel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OuterPath {
    /// The adjacency that they leave by.
    pub adj: AdjIndex,
    /// The table that they are routed in.
    pub table: TableIndex,
    /// Their source.
    pub local: IpAddr,
    /// Their destination.
    pub remote: IpAddr,
    /// Their protocol. Of IPv4, it may be IPv6 as well: the inner packet decides.
    pub protocol: IpProtocol,
    /// Their destination port, if they are UDP datagrams; otherwise 0.
    pub port: u16,
    /// The identifier of the tunnel in them.
    pub identifier: Identifier,
    /// Bytes in front of the inner IP packet.
    pub overhead: u16,
}

/// A feature that sets the MTUs of tunnels by the paths of their outer packets. It is called on the
/// control thread.
pub trait PathFollower: Send + Sync {
    /// Follows the path of a tunnel's outer packets, until its interface is deleted.
    fn add(&self, world: &World, sw_if: SwIfIndex, outer: OuterPath);
    /// The headers that a tunnel sends have changed, if its path is followed.
    fn set_identifier(&self, sw_if: SwIfIndex, identifier: Identifier);
}

/// The feature that follows paths, if there is one.
#[derive(Default)]
pub struct OuterPaths(OnceLock<Arc<dyn PathFollower>>);

impl Shared for OuterPaths {
    fn make(_: &World) -> Self {
        Self::default()
    }
}

impl OuterPaths {
    /// Registers the feature, once, when it starts.
    pub fn register(&self, follower: Arc<dyn PathFollower>) {
        let is_first = self.0.set(follower).is_ok();
        debug_assert!(is_first, "one feature follows paths");
    }

    /// Returns the feature.
    ///
    /// # Errors
    /// The plugin is off (−30).
    pub(crate) fn follower(&self) -> Result<&dyn PathFollower> {
        let why = "track-mtu: the plugin of this name is off; startup.conf can enable it";
        let off = || Error::unsupported(why).retval(retval::FEATURE_DISABLED);
        self.0.get().map(|follower| &**follower).ok_or_else(off)
    }
}
