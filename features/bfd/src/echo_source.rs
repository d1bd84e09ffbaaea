// SPDX-License-Identifier: Apache-2.0
//! The source address of echo packets. It belongs to nobody, so that the peer sends them to the
//! destination, which is ours, and no answer to the source ever comes (RFC 5881 4).

use graph::{SwIfIndex, World};
use net::{Addresses, Interfaces, Net};
use wire::{Address, Prefix};

/// The source address that an interface gives: its first address in a network of at least two, with
/// the last bit flipped, unless that is an address of this router too: packets from the echo source
/// aren't refused as spoofed. None while the interface is down.
pub fn usable<F: Net>(world: &World, sw_if: SwIfIndex) -> Option<F::Addr> {
    if !world.get::<Interfaces>().get(sw_if).is_ok_and(|interface| interface.admin_up) {
        return None;
    }
    let addresses = world.get::<Addresses<F>>();
    let table = addresses.table_of(sw_if).ok()?;
    let last_bit = !F::Addr::mask(F::BITS - 1);
    let source = |prefix: Prefix<F::Addr>| {
        let addr = prefix.addr();
        let flipped = addr & !last_bit | !addr & last_bit;
        let is_routed = prefix.len() < F::BITS && !(F::IS_V6 && addr.link_local());
        (is_routed && addresses.owner(table, flipped).is_none()).then_some(flipped)
    };
    addresses.list(sw_if).into_iter().find_map(source)
}
