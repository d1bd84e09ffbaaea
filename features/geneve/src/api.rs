// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `geneve`.

use crate::model::Geneve;
use cli::Result;
use graph::{SwIfIndex, World};
use msg::{Caller, Message, Messages, Module};
use net::api::{Address, InterfaceIndex};
use std::net::IpAddr;
use tunnel::{BypassInterfaces, HeaderMarking, Next, Tunnel, TunnelEndpoints, Tunnels};

/// The module.
pub static API: Module<World> =
    Module { name: "geneve", version: "2.1.0", crc: 0xe3db_b8a3, core: false, messages };

fn messages(m: &mut Messages<World>) {
    m.call(|w: &World, _: &Caller<'_, World>, r: GeneveAddDelTunnel| {
        Ok(GeneveAddDelTunnelReply { sw_if_index: add_del(w, r.into())? })
    });
    m.call(|w: &World, _: &Caller<'_, World>, r: GeneveAddDelTunnel2| {
        Ok(GeneveAddDelTunnel2Reply { sw_if_index: add_del(w, r)? })
    });
    m.dump(|w: &World, _: &Caller<'_, World>, r: GeneveTunnelDump| {
        let all = w.get::<Tunnels<Geneve>>().chosen(r.sw_if_index.given());
        Ok(all.into_iter().map(|tunnel| GeneveTunnelDetails::of(w, tunnel)).collect::<Vec<_>>())
    });
    m.call(|w: &World, _: &Caller<'_, World>, r: SwInterfaceSetGeneveBypass| -> Result<()> {
        w.get::<BypassInterfaces<Geneve>>().set(w, SwIfIndex(r.sw_if_index.0), r.is_ipv6, r.enable)
    });
}

fn add_del(w: &World, r: GeneveAddDelTunnel2) -> Result<InterfaceIndex> {
    let remote: IpAddr = r.remote_address.into();
    let spec = Geneve {
        ends: TunnelEndpoints { local: r.local_address.into(), remote, table: r.encap_vrf_id },
        marks: HeaderMarking::default(),
        vni: tunnel::check_vni(r.vni)?,
        layer3: r.l3_mode,
        group_interface: r.mcast_sw_if_index.given().filter(|_| remote.is_multicast()),
        next: Next::of_index(w, r.decap_next_index)?,
    };
    w.get::<Tunnels<Geneve>>().add_del(w, r.is_add, None, spec).map(Into::into)
}

/// Makes or deletes a tunnel.
#[derive(Message)]
#[msg(reply)]
pub struct GeneveAddDelTunnel {
    /// Make, not delete.
    pub is_add: bool,
    /// The address here.
    pub local_address: Address,
    /// The address of the other end, or a group.
    pub remote_address: Address,
    /// The interface that datagrams to a group leave by.
    pub mcast_sw_if_index: InterfaceIndex,
    /// The table that datagrams are routed in.
    pub encap_vrf_id: u32,
    /// Where packets go that are taken out: 1 or all bits set to the interface, 0 nowhere.
    pub decap_next_index: u32,
    /// The network identifier.
    pub vni: u32,
}

/// The tunnel.
#[derive(Message)]
pub struct GeneveAddDelTunnelReply {
    /// Its interface.
    pub sw_if_index: InterfaceIndex,
}

/// Makes or deletes a tunnel.
#[derive(Message)]
#[msg(reply)]
pub struct GeneveAddDelTunnel2 {
    /// Make, not delete.
    pub is_add: bool,
    /// The address here.
    pub local_address: Address,
    /// The address of the other end, or a group.
    pub remote_address: Address,
    /// The interface that datagrams to a group leave by.
    pub mcast_sw_if_index: InterfaceIndex,
    /// The table that datagrams are routed in.
    pub encap_vrf_id: u32,
    /// Where packets go that are taken out: 1 or all bits set to the interface, 0 nowhere.
    pub decap_next_index: u32,
    /// The network identifier.
    pub vni: u32,
    /// The MAC address of its interface follows from its number.
    pub l3_mode: bool,
}

/// The tunnel.
#[derive(Message, Debug, PartialEq, Eq)]
pub struct GeneveAddDelTunnel2Reply {
    /// Its interface.
    pub sw_if_index: InterfaceIndex,
}

impl From<GeneveAddDelTunnel> for GeneveAddDelTunnel2 {
    fn from(old: GeneveAddDelTunnel) -> Self {
        Self {
            is_add: old.is_add,
            local_address: old.local_address,
            remote_address: old.remote_address,
            mcast_sw_if_index: old.mcast_sw_if_index,
            encap_vrf_id: old.encap_vrf_id,
            decap_next_index: old.decap_next_index,
            vni: old.vni,
            l3_mode: false,
        }
    }
}

/// Asks for one tunnel, or for all.
#[derive(Message)]
#[msg(details)]
pub struct GeneveTunnelDump {
    /// Its interface; all bits set: all.
    pub sw_if_index: InterfaceIndex,
}

/// A tunnel.
#[derive(Message, Debug, PartialEq, Eq)]
pub struct GeneveTunnelDetails {
    /// Its interface.
    pub sw_if_index: InterfaceIndex,
    /// The address here.
    pub src_address: Address,
    /// The address of the other end, or a group.
    pub dst_address: Address,
    /// The interface that datagrams to a group leave by.
    pub mcast_sw_if_index: InterfaceIndex,
    /// The table that datagrams are routed in.
    pub encap_vrf_id: u32,
    /// Where packets go that are taken out.
    pub decap_next_index: u32,
    /// The network identifier.
    pub vni: u32,
}

impl GeneveTunnelDetails {
    fn of(w: &World, Tunnel { sw_if, spec, .. }: Tunnel<Geneve>) -> Self {
        let Geneve { ends, vni, group_interface, next, .. } = spec;
        Self {
            sw_if_index: sw_if.into(),
            src_address: ends.local.into(),
            dst_address: ends.remote.into(),
            mcast_sw_if_index: group_interface.map_or(InterfaceIndex::NONE, InterfaceIndex::from),
            encap_vrf_id: ends.table,
            decap_next_index: next.index(w),
            vni,
        }
    }
}

/// Takes datagrams of tunnels out of what an interface receives before it is looked up.
#[derive(Message)]
pub struct SwInterfaceSetGeneveBypass {
    /// The interface.
    pub sw_if_index: InterfaceIndex,
    /// Of IPv6, not of IPv4.
    pub is_ipv6: bool,
    /// On, not off.
    pub enable: bool,
}
