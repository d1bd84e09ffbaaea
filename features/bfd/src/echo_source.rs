// SPDX-License-Identifier: Apache-2.0
//! The source address of echo packets. It belongs to nobody, so that the peer sends them to the
//! destination, which is ours, and no answer to the source ever comes (RFC 5881 4).

use graph::{SwIfIndex, World};
use net::{Addresses, Interfaces, Net};
use wire::Address;

/// The source address that an interface gives: its first address in a network of at least two, with
/// the last bit flipped. None while the interface is down.
pub fn usable<F: Net>(world: &World, sw_if: SwIfIndex) -> Option<F::Addr> {
    if !world.get::<Interfaces>().get(sw_if).is_ok_and(|interface| interface.admin_up) {
        return None;
    }
    let prefixes = world.get::<Addresses<F>>().list(sw_if);
    let prefix = prefixes
        .into_iter()
        .find(|prefix| prefix.len() < F::BITS && !(F::IS_V6 && prefix.addr().link_local()))?;
    // All bits but the last one, and the other value of that.
    let (addr, last) = (prefix.addr(), !F::Addr::mask(F::BITS - 1));
    Some(addr & !last | !addr & last)
}
