// SPDX-License-Identifier: Apache-2.0
//! Flow hash: the packet fields that select among the equal-cost paths of a table's routes.

use cli::Result;
use graph::World;
use msg::Messages;
use net::api::AddressFamily;
use net::{Fib, FlowHash, FlowRouterId};

pub(super) fn messages(m: &mut Messages<World>) {
    m.call(set_fields);
    m.call(|w, r: SetIpFlowHashV2| set(w, r.table_id, r.af.is_ip6(), r.flow_hash_config.0));
    m.call(|w, r: SetIpFlowHashV3| set(w, r.table_id, r.af.is_ip6(), r.flow_hash_config.0));
    m.order(|w, r: SetIpFlowHashRouterId| w.get::<FlowRouterId>().set(r.router_id));
}

msg::messages! {
    /// Packet fields of the flow hash.
    IpFlowHashConfig,
    /// Packet fields of the flow hash.
    IpFlowHashConfigV2,
    /// Sets the packet fields that select among the equal-cost paths of a table's routes.
    SetIpFlowHash,
    /// Sets the packet fields that select among the equal-cost paths of a table's routes.
    SetIpFlowHashV2,
    /// Sets the packet fields that select among the equal-cost paths of a table's routes.
    SetIpFlowHashV3,
    /// Sets the router id, which makes routers in a row select different paths for a flow.
    SetIpFlowHashRouterId,
}

fn set_fields(w: &World, r: SetIpFlowHash) -> Result<()> {
    let fields = [r.src, r.dst, r.sport, r.dport, r.proto, r.reverse, r.symmetric];
    let chosen = FlowHash::NAMES.iter().zip(fields).filter(|(_, on)| *on);
    set(w, r.vrf_id, r.is_ipv6, chosen.fold(0, |bits, ((bit, _), _)| bits | bit.bits()))
}

fn set(w: &World, table_id: u32, is_ip6: bool, bits: u32) -> Result<()> {
    net::by_version!(is_ip6, F => {
        let fib = w.get::<Fib<F>>();
        fib.set_flow_hash(fib.find_table(table_id)?, FlowHash::from_api(bits)?)
    })
}
