// SPDX-License-Identifier: Apache-2.0
//! Events of the module `igmp`.

use graph::{SwIfIndex, World};
use net::api::{InterfaceIndex, Ip4Address};
use std::net::Ipv4Addr;

msg::messages! {
    /// The mode of a filter.
    FilterMode,
    /// The hosts of an interface listen to a source of a group (INCLUDE), or no longer (EXCLUDE).
    IgmpEvent,
}

/// Tells clients that the hosts of an interface listen to a source of a group, or no longer.
pub fn publish(w: &World, sw_if: SwIfIndex, group: Ipv4Addr, source: Ipv4Addr, joined: bool) {
    w.api.publish(&IgmpEvent {
        sw_if_index: InterfaceIndex::from(sw_if),
        filter: if joined { FilterMode::Include } else { FilterMode::Exclude },
        saddr: Ip4Address(source.octets()),
        gaddr: Ip4Address(group.octets()),
    });
}
