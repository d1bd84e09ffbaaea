// SPDX-License-Identifier: Apache-2.0
//! The other ends of multipoint tunnels: the entries of `create teib`.

use graph::SwIfIndex;
use net::AdjIndex;
use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;

/// Numbers of ends that belong to no interface begin here.
const FIRST: u32 = 1 << 20;

/// The peers of all multipoint interfaces of a kind.
#[derive(Default)]
pub struct Peers {
    /// The number of the end and the adjacency, by overlay address.
    pub all: BTreeMap<(SwIfIndex, IpAddr), (u32, AdjIndex)>,
    /// Number of peers at each end.
    pub at: HashMap<u32, usize>,
    /// Numbers of ends below `used` that are free.
    pub free: Vec<u32>,
    used: u32,
}

impl Peers {
    /// A number for another end.
    pub fn new_end(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.used += 1;
            FIRST + self.used - 1
        })
    }
}
