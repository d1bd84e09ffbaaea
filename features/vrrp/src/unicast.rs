// SPDX-License-Identifier: Apache-2.0
//! Packets of control's own that are looked up like received ones.

use crate::model::VrKey;
use buffer::Flags;
use graph::{ThreadIndex, World};
use net::TableIndex;

/// Sends packets of a virtual router, each with the table that its destination is looked up in. A
/// packet that finds no buffer is counted for the interface.
pub fn send(world: &World, key: VrKey, packets: Vec<(Vec<u8>, TableIndex)>) {
    let lookup = if key.v6 { "ip6-lookup" } else { "ip4-lookup" };
    let Some(lookup) = world.node(lookup) else { return };
    let main = ThreadIndex(0);
    let unsent = world.stats.simple("/net/vrrp/tx/no-buffers").lane(main.at());
    let sw_if = key.sw_if.0;
    world.on_thread(main, move |rt| {
        for (packet, table) in packets {
            let Some(mut b) = rt.cache().alloc_own() else {
                unsent.add(sw_if as usize, 1);
                continue;
            };
            if !b.append_bytes(&packet, rt.cache()) {
                unsent.add(sw_if as usize, 1);
                rt.cache().free(b);
                continue;
            }
            b.mark_l3();
            (b.rx_if, b.tx_if, b.flow_hash) = (0, table.0, 0);
            let checked = Flags::IP4_CSUM_OK.union(Flags::L4_CSUM_OK);
            b.flags.insert(Flags::LOCAL.union(Flags::TABLE).union(checked));
            rt.inject(lookup, b);
        }
    });
}
