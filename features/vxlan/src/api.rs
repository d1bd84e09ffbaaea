// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `vxlan`.

use crate::model::Vxlan;
use cli::Result;
use graph::{SwIfIndex, World};
use msg::{Caller, Messages, Module};
use net::api::{Address, InterfaceIndex};
use tunnel::{
    BypassInterfaces, HeaderMarking, Next, Tunnel, TunnelEndpoints, Tunnels, refuse_offload,
};

/// The module.
pub static API: Module<World> = Module::plugin("vxlan", messages);

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
    let (local, remote) = (r.src_address.into(), r.dst_address.into());
    let by = r.mcast_sw_if_index.given();
    let spec = Vxlan {
        ends: TunnelEndpoints::new(local, remote, r.encap_vrf_id, by),
        marks: HeaderMarking::default(),
        vni: tunnel::check_vni(r.vni)?,
        source_port: tunnel::chosen_port::<Vxlan>(r.src_port)?,
        destination_port: tunnel::chosen_port::<Vxlan>(r.dst_port)?,
        layer3: r.is_l3,
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
        let Vxlan { ends, vni, source_port, destination_port, next, .. } = spec;
        Self {
            sw_if_index: sw_if.into(),
            instance,
            src_address: ends.local.into(),
            dst_address: ends.remote.into(),
            src_port: source_port,
            dst_port: destination_port,
            mcast_sw_if_index: ends.group_interface.into(),
            encap_vrf_id: ends.table,
            decap_next_index: next.index(w),
            vni,
        }
    }
}

msg::messages! {
    /// Makes or deletes a tunnel.
    VxlanAddDelTunnel,
    /// The index of the tunnel's interface.
    VxlanAddDelTunnelReply,
    /// Makes or deletes a tunnel.
    VxlanAddDelTunnelV2,
    /// The index of the tunnel's interface.
    VxlanAddDelTunnelV2Reply,
    /// Makes or deletes a tunnel.
    #[from(VxlanAddDelTunnel)]
    #[from(VxlanAddDelTunnelV2)]
    VxlanAddDelTunnelV3,
    /// The index of the tunnel's interface.
    #[derive(Debug, PartialEq, Eq)]
    VxlanAddDelTunnelV3Reply,
    /// Asks for one tunnel, or for all.
    VxlanTunnelDump,
    /// One tunnel: its ends and settings.
    #[from(VxlanTunnelV2Details)]
    VxlanTunnelDetails,
    /// Asks for one tunnel, or for all.
    VxlanTunnelV2Dump,
    /// One tunnel: its ends and settings.
    #[derive(Debug, PartialEq, Eq)]
    VxlanTunnelV2Details,
    /// Takes datagrams of tunnels out of what an interface receives before it is looked up.
    SwInterfaceSetVxlanBypass,
    /// Lets a device find the tunnel of received datagrams.
    VxlanOffloadRx,
}
