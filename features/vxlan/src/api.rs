// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `vxlan`.

use crate::model::Vxlan;
use cli::Result;
use graph::{SwIfIndex, World};
use msg::{Caller, Message, Messages, Module};
use net::api::{Address, InterfaceIndex};
use tunnel::{
    BypassInterfaces, HeaderMarking, Next, Tunnel, TunnelEndpoints, Tunnels, refuse_offload,
};
use wire::Vxlan as Header;

/// The module.
pub static API: Module<World> =
    Module { name: "vxlan", version: "2.1.0", crc: 0x9538_1587, core: false, messages };

fn messages(m: &mut Messages<World>) {
    m.call(|w: &World, _: &Caller<'_, World>, r: VxlanAddDelTunnel| {
        Ok(VxlanAddDelTunnelReply { sw_if_index: add_del(w, r.into())? })
    });
    m.call(|w: &World, _: &Caller<'_, World>, r: VxlanAddDelTunnelV2| {
        Ok(VxlanAddDelTunnelV2Reply { sw_if_index: add_del(w, r.into())? })
    });
    m.call(|w: &World, _: &Caller<'_, World>, r: VxlanAddDelTunnelV3| {
        Ok(VxlanAddDelTunnelV3Reply { sw_if_index: add_del(w, r)? })
    });
    m.dump(|w: &World, _: &Caller<'_, World>, r: VxlanTunnelDump| {
        Ok(dump(w, r.sw_if_index).into_iter().map(VxlanTunnelDetails::from).collect::<Vec<_>>())
    });
    m.dump(|w: &World, _: &Caller<'_, World>, r: VxlanTunnelV2Dump| Ok(dump(w, r.sw_if_index)));
    m.call(|w: &World, _: &Caller<'_, World>, r: SwInterfaceSetVxlanBypass| -> Result<()> {
        w.get::<BypassInterfaces<Vxlan>>().set(w, SwIfIndex(r.sw_if_index.0), r.is_ipv6, r.enable)
    });
    m.call(|w: &World, _: &Caller<'_, World>, r: VxlanOffloadRx| -> Result<()> {
        let (device, tunnel) = (SwIfIndex(r.hw_if_index.0), SwIfIndex(r.sw_if_index.0));
        Err(refuse_offload::<Vxlan>(w, device, tunnel))
    });
}

fn add_del(w: &World, r: VxlanAddDelTunnelV3) -> Result<InterfaceIndex> {
    let remote: std::net::IpAddr = r.dst_address.into();
    let port = |port| if port == 0 { Header::PORT } else { port };
    let spec = Vxlan {
        ends: TunnelEndpoints { local: r.src_address.into(), remote, table: r.encap_vrf_id },
        marks: HeaderMarking::default(),
        vni: tunnel::check_vni(r.vni)?,
        source_port: port(r.src_port),
        destination_port: port(r.dst_port),
        layer3: r.is_l3,
        group_interface: r.mcast_sw_if_index.given().filter(|_| remote.is_multicast()),
        next: Next::of_index(w, r.decap_next_index)?,
    };
    let instance = Some(r.instance).filter(|instance| *instance != u32::MAX);
    w.get::<Tunnels<Vxlan>>().add_del(w, r.is_add, instance, spec).map(Into::into)
}

fn dump(w: &World, only: InterfaceIndex) -> Vec<VxlanTunnelV2Details> {
    let all = w.get::<Tunnels<Vxlan>>().chosen(only.given());
    all.into_iter().map(|tunnel| VxlanTunnelV2Details::of(w, tunnel)).collect()
}

impl VxlanTunnelV2Details {
    fn of(w: &World, Tunnel { sw_if, instance, spec }: Tunnel<Vxlan>) -> Self {
        let Vxlan { ends, vni, source_port, destination_port, group_interface, next, .. } = spec;
        Self {
            sw_if_index: sw_if.into(),
            instance,
            src_address: ends.local.into(),
            dst_address: ends.remote.into(),
            src_port: source_port,
            dst_port: destination_port,
            mcast_sw_if_index: group_interface.map_or(InterfaceIndex::NONE, InterfaceIndex::from),
            encap_vrf_id: ends.table,
            decap_next_index: next.index(w),
            vni,
        }
    }
}

/// Makes or deletes a tunnel.
#[derive(Message)]
#[msg(reply)]
pub struct VxlanAddDelTunnel {
    /// Make, not delete.
    #[wire(default = "true")]
    pub is_add: bool,
    /// The number in its name; all bits set: the first that is free.
    pub instance: u32,
    /// The address here.
    pub src_address: Address,
    /// The address of the other end, or a group.
    pub dst_address: Address,
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
pub struct VxlanAddDelTunnelReply {
    /// Its interface.
    pub sw_if_index: InterfaceIndex,
}

/// Makes or deletes a tunnel.
#[derive(Message)]
#[msg(reply)]
pub struct VxlanAddDelTunnelV2 {
    /// Make, not delete.
    #[wire(default = "true")]
    pub is_add: bool,
    /// The number in its name; all bits set: the first that is free.
    #[wire(default = "4294967295")]
    pub instance: u32,
    /// The address here.
    pub src_address: Address,
    /// The address of the other end, or a group.
    pub dst_address: Address,
    /// The port that datagrams come to; 0 is 4789.
    pub src_port: u16,
    /// The port that they are sent to; 0 is 4789.
    pub dst_port: u16,
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
pub struct VxlanAddDelTunnelV2Reply {
    /// Its interface.
    pub sw_if_index: InterfaceIndex,
}

/// Makes or deletes a tunnel.
#[derive(Message)]
#[msg(reply)]
pub struct VxlanAddDelTunnelV3 {
    /// Make, not delete.
    #[wire(default = "true")]
    pub is_add: bool,
    /// The number in its name; all bits set: the first that is free.
    #[wire(default = "4294967295")]
    pub instance: u32,
    /// The address here.
    pub src_address: Address,
    /// The address of the other end, or a group.
    pub dst_address: Address,
    /// The port that datagrams come to; 0 is 4789.
    pub src_port: u16,
    /// The port that they are sent to; 0 is 4789.
    pub dst_port: u16,
    /// The interface that datagrams to a group leave by.
    pub mcast_sw_if_index: InterfaceIndex,
    /// The table that datagrams are routed in.
    pub encap_vrf_id: u32,
    /// Where packets go that are taken out: 1 or all bits set to the interface, 0 nowhere.
    pub decap_next_index: u32,
    /// The network identifier.
    pub vni: u32,
    /// IP packets instead of frames.
    #[wire(default = "false")]
    pub is_l3: bool,
}

/// The tunnel.
#[derive(Message, Debug, PartialEq, Eq)]
pub struct VxlanAddDelTunnelV3Reply {
    /// Its interface.
    pub sw_if_index: InterfaceIndex,
}

impl From<VxlanAddDelTunnel> for VxlanAddDelTunnelV3 {
    fn from(old: VxlanAddDelTunnel) -> Self {
        Self {
            is_add: old.is_add,
            instance: old.instance,
            src_address: old.src_address,
            dst_address: old.dst_address,
            src_port: 0,
            dst_port: 0,
            mcast_sw_if_index: old.mcast_sw_if_index,
            encap_vrf_id: old.encap_vrf_id,
            decap_next_index: old.decap_next_index,
            vni: old.vni,
            is_l3: false,
        }
    }
}

impl From<VxlanAddDelTunnelV2> for VxlanAddDelTunnelV3 {
    fn from(old: VxlanAddDelTunnelV2) -> Self {
        Self {
            is_add: old.is_add,
            instance: old.instance,
            src_address: old.src_address,
            dst_address: old.dst_address,
            src_port: old.src_port,
            dst_port: old.dst_port,
            mcast_sw_if_index: old.mcast_sw_if_index,
            encap_vrf_id: old.encap_vrf_id,
            decap_next_index: old.decap_next_index,
            vni: old.vni,
            is_l3: false,
        }
    }
}

/// Asks for one tunnel, or for all.
#[derive(Message)]
#[msg(details)]
pub struct VxlanTunnelDump {
    /// Its interface; all bits set: all.
    pub sw_if_index: InterfaceIndex,
}

/// A tunnel.
#[derive(Message)]
pub struct VxlanTunnelDetails {
    /// Its interface.
    pub sw_if_index: InterfaceIndex,
    /// The number in its name.
    pub instance: u32,
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

impl From<VxlanTunnelV2Details> for VxlanTunnelDetails {
    fn from(new: VxlanTunnelV2Details) -> Self {
        Self {
            sw_if_index: new.sw_if_index,
            instance: new.instance,
            src_address: new.src_address,
            dst_address: new.dst_address,
            mcast_sw_if_index: new.mcast_sw_if_index,
            encap_vrf_id: new.encap_vrf_id,
            decap_next_index: new.decap_next_index,
            vni: new.vni,
        }
    }
}

/// Asks for one tunnel, or for all.
#[derive(Message)]
#[msg(details)]
pub struct VxlanTunnelV2Dump {
    /// Its interface; all bits set: all.
    pub sw_if_index: InterfaceIndex,
}

/// A tunnel.
#[derive(Message, Debug, PartialEq, Eq)]
pub struct VxlanTunnelV2Details {
    /// Its interface.
    pub sw_if_index: InterfaceIndex,
    /// The number in its name.
    pub instance: u32,
    /// The address here.
    pub src_address: Address,
    /// The address of the other end, or a group.
    pub dst_address: Address,
    /// The port that datagrams come to.
    pub src_port: u16,
    /// The port that they are sent to.
    pub dst_port: u16,
    /// The interface that datagrams to a group leave by.
    pub mcast_sw_if_index: InterfaceIndex,
    /// The table that datagrams are routed in.
    pub encap_vrf_id: u32,
    /// Where packets go that are taken out.
    pub decap_next_index: u32,
    /// The network identifier.
    pub vni: u32,
}

/// Takes datagrams of tunnels out of what an interface receives before it is looked up.
#[derive(Message)]
pub struct SwInterfaceSetVxlanBypass {
    /// The interface.
    pub sw_if_index: InterfaceIndex,
    /// Of IPv6, not of IPv4.
    pub is_ipv6: bool,
    /// On, not off.
    #[wire(default = "true")]
    pub enable: bool,
}

/// Lets a device find the tunnel of received datagrams.
#[derive(Message)]
pub struct VxlanOffloadRx {
    /// The device.
    pub hw_if_index: InterfaceIndex,
    /// The tunnel.
    pub sw_if_index: InterfaceIndex,
    /// On, not off.
    #[wire(default = "true")]
    pub enable: bool,
}
