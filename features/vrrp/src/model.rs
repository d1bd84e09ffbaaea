// SPDX-License-Identifier: Apache-2.0
//! Virtual routers, as they are configured and shown.

use crate::machine::State;
use graph::SwIfIndex;
use object::Arguments;
use std::collections::BTreeMap;
use std::net::IpAddr;
use wire::MacAddr;

/// The name of a virtual router: one is unique on its link.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct VrKey {
    /// Its interface.
    pub sw_if: SwIfIndex,
    /// True for IPv6: the virtual routers of both versions are independent.
    pub v6: bool,
    /// Its number on the link, from 1.
    pub id: u8,
}

impl VrKey {
    /// Its IP version, 4 or 6.
    pub const fn version(self) -> u8 {
        if self.v6 { 6 } else { 4 }
    }

    /// The virtual MAC address (RFC 9568 7.3).
    pub const fn mac(self) -> MacAddr {
        MacAddr([0, 0, 0x5e, 0, if self.v6 { 2 } else { 1 }, self.id])
    }
}

/// The settings of a virtual router beside its addresses.
#[derive(Arguments, Clone, Copy, PartialEq, Eq, Debug)]
pub struct VrSettings {
    /// The router with the highest one is the master; 255 is for the owner of the addresses.
    #[words("[priority <priority:1-255>]", default = 100, always)]
    pub priority: u8,
    /// Centiseconds between two advertisements.
    #[words("[interval <interval:1-4095>]", default = 100, always)]
    pub interval: u16,
    /// False if it takes over from a master of lower priority.
    #[words("[no_preempt]")]
    pub no_preempt: bool,
    /// As master, it answers for the addresses as for its own.
    #[words("[accept_mode]")]
    pub accept_mode: bool,
    /// Advertisements are sent to its peers, from the interface's own MAC address.
    #[words("[unicast]")]
    pub unicast: bool,
}

/// The configuration of a virtual router.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VrConfig {
    /// Its name.
    pub key: VrKey,
    /// Its settings.
    pub settings: VrSettings,
    /// The addresses of the virtual router, of its IP version.
    pub addresses: Vec<IpAddr>,
}

impl VrConfig {
    /// Returns true if the virtual router has no MAC address of its own and sends to its peers.
    pub fn is_unicast(&self) -> bool {
        self.settings.unicast
    }
}

/// A virtual router, for commands and messages.
#[derive(Clone, Debug)]
pub struct VrInfo {
    /// Its number among all of this daemon.
    pub index: u32,
    /// Its configuration.
    pub config: VrConfig,
    /// Other routers, to which it sends if it is unicast.
    pub peers: Vec<IpAddr>,
    /// The interfaces that it tracks, each with the amount by which its priority falls while the
    /// interface is down.
    pub tracked: BTreeMap<SwIfIndex, u8>,
    /// Its state.
    pub state: State,
    /// True if it was started.
    pub started: bool,
    /// The priority in force.
    pub priority: u8,
    /// The sum by which tracked interfaces lower the priority.
    pub lowered: u32,
    /// The master's interval, in centiseconds.
    pub master_interval: u16,
    /// The skew time, in centiseconds.
    pub skew: u16,
    /// The time until a silent master is taken for gone, in centiseconds.
    pub down_interval: u16,
    /// The MAC address of its addresses.
    pub mac: MacAddr,
}
