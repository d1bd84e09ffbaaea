// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `vxlan_gpe`.

use crate::model::{Gpe, Protocol};
use crate::spec::decap_table;
use cli::{Error, Result, retval};
use graph::{SwIfIndex, World};
use msg::{Caller, Message, Messages, Module};
use net::api::{Address, InterfaceIndex, IpProto};
use std::net::IpAddr;
use tunnel::{BypassInterfaces, HeaderMarking, Tunnel, TunnelEndpoints, Tunnels};
use wire::VxlanGpe as Header;

/// The module.
pub static API: Module<World> =
    Module { name: "vxlan_gpe", version: "2.1.0", crc: 0x3bc0_6278, core: false, messages };

fn messages(m: &mut Messages<World>) {
    m.call(|w: &World, _: &Caller<'_, World>, r: VxlanGpeAddDelTunnel| {
        Ok(VxlanGpeAddDelTunnelReply { sw_if_index: add_del(w, r.into())? })
    });
    m.call(|w: &World, _: &Caller<'_, World>, r: VxlanGpeAddDelTunnelV2| {
        Ok(VxlanGpeAddDelTunnelV2Reply { sw_if_index: add_del(w, r)? })
    });
    m.dump(|w: &World, _: &Caller<'_, World>, r: VxlanGpeTunnelDump| {
        Ok(dump(w, r.sw_if_index).into_iter().map(VxlanGpeTunnelDetails::from).collect::<Vec<_>>())
    });
    m.dump(|w: &World, _: &Caller<'_, World>, r: VxlanGpeTunnelV2Dump| Ok(dump(w, r.sw_if_index)));
    m.call(|w: &World, _: &Caller<'_, World>, r: SwInterfaceSetVxlanGpeBypass| -> Result<()> {
        w.get::<BypassInterfaces<Gpe>>().set(w, SwIfIndex(r.sw_if_index.0), r.is_ipv6, r.enable)
    });
}

fn add_del(w: &World, r: VxlanGpeAddDelTunnelV2) -> Result<InterfaceIndex> {
    let remote: IpAddr = r.remote.into();
    let protocol = Protocol::of_number(r.protocol.0).ok_or_else(|| {
        let why = format!("a protocol is 1 (IPv4), 2 (IPv6), 3 or 4, not {}", r.protocol.0);
        Error::parse(why).retval(retval::INVALID_VALUE)
    })?;
    let port = |port| if port == 0 { Header::PORT } else { port };
    let spec = Gpe {
        ends: TunnelEndpoints { local: r.local.into(), remote, table: r.encap_vrf_id },
        marks: HeaderMarking::default(),
        vni: tunnel::check_vni(r.vni)?,
        protocol,
        decap_table: r.decap_vrf_id,
        local_port: port(r.local_port),
        remote_port: port(r.remote_port),
        group_interface: r.mcast_sw_if_index.given().filter(|_| remote.is_multicast()),
    };
    w.get::<Tunnels<Gpe>>().add_del(w, r.is_add, None, spec).map(Into::into)
}

fn dump(w: &World, only: InterfaceIndex) -> Vec<VxlanGpeTunnelV2Details> {
    let all = w.get::<Tunnels<Gpe>>().chosen(only.given());
    all.into_iter().map(|tunnel| VxlanGpeTunnelV2Details::of(w, tunnel)).collect()
}

/// Makes or deletes a tunnel.
#[derive(Message)]
#[msg(reply)]
pub struct VxlanGpeAddDelTunnel {
    /// The address here.
    pub local: Address,
    /// The address of the other end, or a group.
    pub remote: Address,
    /// The interface that datagrams to a group leave by.
    pub mcast_sw_if_index: InterfaceIndex,
    /// The table that datagrams are routed in.
    pub encap_vrf_id: u32,
    /// The table that packets which are taken out are routed in.
    pub decap_vrf_id: u32,
    /// The payload: 1 IPv4, 2 IPv6, 3 Ethernet, 4 NSH.
    pub protocol: IpProto,
    /// The network identifier.
    pub vni: u32,
    /// Make, not delete.
    #[wire(default = "true")]
    pub is_add: bool,
}

/// The tunnel.
#[derive(Message)]
pub struct VxlanGpeAddDelTunnelReply {
    /// Its interface.
    pub sw_if_index: InterfaceIndex,
}

/// Makes or deletes a tunnel.
#[derive(Message)]
#[msg(reply)]
pub struct VxlanGpeAddDelTunnelV2 {
    /// The address here.
    pub local: Address,
    /// The address of the other end, or a group.
    pub remote: Address,
    /// The port that datagrams come to; 0 is 4790.
    pub local_port: u16,
    /// The port that they are sent to; 0 is 4790.
    pub remote_port: u16,
    /// The interface that datagrams to a group leave by.
    pub mcast_sw_if_index: InterfaceIndex,
    /// The table that datagrams are routed in.
    pub encap_vrf_id: u32,
    /// The table that packets which are taken out are routed in.
    pub decap_vrf_id: u32,
    /// The payload: 1 IPv4, 2 IPv6, 3 Ethernet, 4 NSH.
    pub protocol: IpProto,
    /// The network identifier.
    pub vni: u32,
    /// Make, not delete.
    #[wire(default = "true")]
    pub is_add: bool,
}

/// The tunnel.
#[derive(Message, Debug, PartialEq, Eq)]
pub struct VxlanGpeAddDelTunnelV2Reply {
    /// Its interface.
    pub sw_if_index: InterfaceIndex,
}

impl From<VxlanGpeAddDelTunnel> for VxlanGpeAddDelTunnelV2 {
    fn from(old: VxlanGpeAddDelTunnel) -> Self {
        Self {
            local: old.local,
            remote: old.remote,
            local_port: 0,
            remote_port: 0,
            mcast_sw_if_index: old.mcast_sw_if_index,
            encap_vrf_id: old.encap_vrf_id,
            decap_vrf_id: old.decap_vrf_id,
            protocol: old.protocol,
            vni: old.vni,
            is_add: old.is_add,
        }
    }
}

/// Asks for one tunnel, or for all.
#[derive(Message)]
#[msg(details)]
pub struct VxlanGpeTunnelDump {
    /// Its interface; all bits set: all.
    pub sw_if_index: InterfaceIndex,
}

/// A tunnel.
#[derive(Message)]
pub struct VxlanGpeTunnelDetails {
    /// Its interface.
    pub sw_if_index: InterfaceIndex,
    /// The address here.
    pub local: Address,
    /// The address of the other end, or a group.
    pub remote: Address,
    /// The network identifier.
    pub vni: u32,
    /// The payload.
    pub protocol: IpProto,
    /// The interface that datagrams to a group leave by.
    pub mcast_sw_if_index: InterfaceIndex,
    /// The table that datagrams are routed in.
    pub encap_vrf_id: u32,
    /// The table that packets which are taken out are routed in.
    pub decap_vrf_id: u32,
    /// Datagrams of IPv6.
    pub is_ipv6: bool,
}

impl From<VxlanGpeTunnelV2Details> for VxlanGpeTunnelDetails {
    fn from(new: VxlanGpeTunnelV2Details) -> Self {
        Self {
            sw_if_index: new.sw_if_index,
            local: new.local,
            remote: new.remote,
            vni: new.vni,
            protocol: new.protocol,
            mcast_sw_if_index: new.mcast_sw_if_index,
            encap_vrf_id: new.encap_vrf_id,
            decap_vrf_id: new.decap_vrf_id,
            is_ipv6: new.is_ipv6,
        }
    }
}

/// Asks for one tunnel, or for all.
#[derive(Message)]
#[msg(details)]
pub struct VxlanGpeTunnelV2Dump {
    /// Its interface; all bits set: all.
    pub sw_if_index: InterfaceIndex,
}

/// A tunnel.
#[derive(Message, Debug, PartialEq, Eq)]
pub struct VxlanGpeTunnelV2Details {
    /// Its interface.
    pub sw_if_index: InterfaceIndex,
    /// The address here.
    pub local: Address,
    /// The address of the other end, or a group.
    pub remote: Address,
    /// The port that datagrams come to.
    pub local_port: u16,
    /// The port that they are sent to.
    pub remote_port: u16,
    /// The network identifier.
    pub vni: u32,
    /// The payload.
    pub protocol: IpProto,
    /// The interface that datagrams to a group leave by.
    pub mcast_sw_if_index: InterfaceIndex,
    /// The table that datagrams are routed in.
    pub encap_vrf_id: u32,
    /// The table that packets which are taken out are routed in.
    pub decap_vrf_id: u32,
    /// Datagrams of IPv6.
    pub is_ipv6: bool,
}

impl VxlanGpeTunnelV2Details {
    fn of(w: &World, Tunnel { sw_if, spec, .. }: Tunnel<Gpe>) -> Self {
        let Gpe { ends, vni, protocol, local_port, remote_port, group_interface, .. } = spec;
        Self {
            sw_if_index: sw_if.into(),
            local: ends.local.into(),
            remote: ends.remote.into(),
            local_port,
            remote_port,
            vni,
            protocol: IpProto(protocol.number()),
            mcast_sw_if_index: group_interface.map_or(InterfaceIndex::NONE, InterfaceIndex::from),
            encap_vrf_id: ends.table,
            decap_vrf_id: decap_table(w, sw_if, protocol),
            is_ipv6: ends.local.is_ipv6(),
        }
    }
}

/// Takes datagrams of tunnels out of what an interface receives before it is looked up.
#[derive(Message)]
pub struct SwInterfaceSetVxlanGpeBypass {
    /// The interface.
    pub sw_if_index: InterfaceIndex,
    /// Of IPv6, not of IPv4.
    pub is_ipv6: bool,
    /// On, not off.
    #[wire(default = "true")]
    pub enable: bool,
}
