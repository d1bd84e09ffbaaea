// SPDX-License-Identifier: Apache-2.0
//! Selection logic (IEEE 802.1AX-2014 6.4.14): the members of a bond that belong to its
//! aggregation. A bond is one aggregator.

use crate::machine::{Port, Rx};
use crate::pdu::Lag;

/// The partner of a bond: the partner of its first selected member in state `CURRENT`; if there is
/// none, of its first member in that state; if there is none either, of its first selected member.
pub fn reference<'p>(ports: impl Iterator<Item = &'p Port> + Clone) -> Option<Lag> {
    let mut heard = ports.clone().filter(|port| port.rx == Rx::Current);
    let first = heard.clone().find(|port| port.selected).or_else(|| heard.next());
    first.or_else(|| ports.clone().find(|port| port.selected)).map(|port| port.partner.lag())
}

/// Selects the members that have the bond's partner, and no others.
pub fn select<'p>(ports: impl Iterator<Item = &'p mut Port>, reference: Option<Lag>) {
    for port in ports {
        let belongs = Some(port.partner.lag()) == reference;
        port.selected = belongs && (port.selected || port.rx == Rx::Current);
    }
}
