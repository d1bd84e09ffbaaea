// SPDX-License-Identifier: Apache-2.0
//! Flow hash: the packet fields that select among the equal-cost paths of a table's routes.

use cli::Result;
use graph::World;
use msg::{Caller, Message, Messages};
use net::api::AddressFamily;
use net::{Fib, FlowHash, FlowRouterId, Net};

pub(super) fn messages(m: &mut Messages<World>) {
    m.call(set_fields);
    m.call(|w: &World, _: &Caller<'_, World>, r: SetIpFlowHashV2| {
        set(w, r.table_id, r.af.is_ip6(), r.flow_hash_config.0)
    });
    m.call(|w: &World, _: &Caller<'_, World>, r: SetIpFlowHashV3| {
        set(w, r.table_id, r.af.is_ip6(), r.flow_hash_config.0)
    });
    m.call(|w: &World, _: &Caller<'_, World>, r: SetIpFlowHashRouterId| -> Result<()> {
        w.get::<FlowRouterId>().set(r.router_id);
        Ok(())
    });
}

msg::flags! {
    /// Packet fields of the flow hash.
    pub struct IpFlowHashConfig: u32 = "ip_flow_hash_config" {
        SRC_IP = 1 => "IP_API_FLOW_HASH_SRC_IP",
        DST_IP = 2 => "IP_API_FLOW_HASH_DST_IP",
        SRC_PORT = 4 => "IP_API_FLOW_HASH_SRC_PORT",
        DST_PORT = 8 => "IP_API_FLOW_HASH_DST_PORT",
        PROTO = 16 => "IP_API_FLOW_HASH_PROTO",
        REVERSE = 32 => "IP_API_FLOW_HASH_REVERSE",
        SYMETRIC = 64 => "IP_API_FLOW_HASH_SYMETRIC",
        FLOW_LABEL = 128 => "IP_API_FLOW_HASH_FLOW_LABEL",
    }
}

msg::flags! {
    /// Packet fields of the flow hash.
    pub struct IpFlowHashConfigV2: u32 = "ip_flow_hash_config_v2" {
        SRC_IP = 1 => "IP_API_V2_FLOW_HASH_SRC_IP",
        DST_IP = 2 => "IP_API_V2_FLOW_HASH_DST_IP",
        SRC_PORT = 4 => "IP_API_V2_FLOW_HASH_SRC_PORT",
        DST_PORT = 8 => "IP_API_V2_FLOW_HASH_DST_PORT",
        PROTO = 16 => "IP_API_V2_FLOW_HASH_PROTO",
        REVERSE = 32 => "IP_API_V2_FLOW_HASH_REVERSE",
        SYMETRIC = 64 => "IP_API_V2_FLOW_HASH_SYMETRIC",
        FLOW_LABEL = 128 => "IP_API_V2_FLOW_HASH_FLOW_LABEL",
        GTPV1_TEID = 256 => "IP_API_V2_FLOW_HASH_GTPV1_TEID",
    }
}

/// Sets the packet fields that select among the equal-cost paths of a table's routes.
#[derive(Message)]
pub struct SetIpFlowHash {
    /// The table.
    pub vrf_id: u32,
    /// True for IPv6.
    pub is_ipv6: bool,
    /// The source address.
    pub src: bool,
    /// The destination address.
    pub dst: bool,
    /// The source port.
    pub sport: bool,
    /// The destination port.
    pub dport: bool,
    /// The protocol.
    pub proto: bool,
    /// Source and destination are swapped.
    pub reverse: bool,
    /// Both directions of a flow have the same hash.
    pub symmetric: bool,
}

/// Sets the packet fields that select among the equal-cost paths of a table's routes.
#[derive(Message)]
pub struct SetIpFlowHashV2 {
    /// The table.
    pub table_id: u32,
    /// The family.
    pub af: AddressFamily,
    /// The fields.
    pub flow_hash_config: IpFlowHashConfig,
}

/// Sets the packet fields that select among the equal-cost paths of a table's routes.
#[derive(Message)]
pub struct SetIpFlowHashV3 {
    /// The table.
    pub table_id: u32,
    /// The family.
    pub af: AddressFamily,
    /// The fields.
    pub flow_hash_config: IpFlowHashConfigV2,
}

/// Sets the router id, which makes routers in a row select different paths for a flow.
#[derive(Message)]
pub struct SetIpFlowHashRouterId {
    /// The router id.
    pub router_id: u32,
}

fn set_fields(w: &World, _: &Caller<'_, World>, r: SetIpFlowHash) -> Result<()> {
    let fields = [r.src, r.dst, r.sport, r.dport, r.proto, r.reverse, r.symmetric];
    let chosen = FlowHash::NAMES.iter().zip(fields).filter(|(_, on)| *on);
    set(w, r.vrf_id, r.is_ipv6, chosen.fold(0, |bits, ((bit, _), _)| bits | bit.bits()))
}

fn set(w: &World, table_id: u32, is_ip6: bool, bits: u32) -> Result<()> {
    net::by_version!(is_ip6, set_of(w, table_id, bits))
}

fn set_of<F: Net>(w: &World, table_id: u32, bits: u32) -> Result<()> {
    let fib = w.get::<Fib<F>>();
    fib.set_flow_hash(fib.find_table(table_id)?, FlowHash::from_api(bits)?)
}
