// SPDX-License-Identifier: Apache-2.0
//! Ports that frames of a vector are sent to directly.

use crate::state::Port;
use graph::NodeIndex;
use net::Outlet;

/// The ports of a vector.
pub type Targets = net::Exits<Target>;

/// A port that frames are sent by.
#[derive(Clone, Copy, Default, Debug)]
pub struct Target {
    /// Its transmit node.
    pub tx: NodeIndex,
    is_open: bool,
    domain: u16,
    shg: u8,
    /// See [`Port::generation`].
    pub generation: u8,
}

impl Outlet for Target {}

impl Target {
    /// Returns a port with its transmit node; a closed one if frames to it need the graph.
    pub fn new(tx: NodeIndex, port: Option<&Port>) -> Self {
        let Some(&Port { domain, shg, generation, .. }) = port else { return Self::default() };
        Self { tx, is_open: true, domain, shg, generation }
    }

    /// Returns true if frames may be sent directly.
    #[inline(always)]
    pub fn is_open(&self) -> bool {
        self.is_open
    }

    /// Returns true if frames of a domain and a split-horizon group may be sent directly.
    #[inline(always)]
    pub fn takes(&self, domain: u16, shg: u8) -> bool {
        self.is_open && self.domain == domain && (shg == 0 || shg != self.shg)
    }
}
