// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `vxlan`.

use crate::model::Vxlan;
use cli::Result;
use graph::{SwIfIndex, World};
use msg::{Messages, Module};
use net::api::{Address, InterfaceIndex, given};
use tunnel::{
    BypassInterfaces, HeaderMarking, Next, Tunnel, TunnelEndpoints, Tunnels, refuse_offload,
};

/// The module.
pub static API: Module<World> = Module::plugin("vxlan", messages);

fn messages(m: &mut Messages<World>) {
    m.call(|w, r: VxlanAddDelTunnel| add_del(w, r.into()));
    m.call(|w, r: VxlanAddDelTunnelV2| add_del(w, r.into()));
    m.call(add_del);
    m.dump(|w, r: VxlanTunnelDump| Ok(dump(w, r.sw_if_index)));
    m.dump(|w, r: VxlanTunnelV2Dump| Ok(dump(w, r.sw_if_index)));
    m.call(|w, r: SwInterfaceSetVxlanBypass| {
        w.get::<BypassInterfaces<Vxlan>>().set(w, SwIfIndex(r.sw_if_index.0), r.is_ipv6, r.enable)
    });
    m.call(|w, r: VxlanOffloadRx| -> Result<()> {
        let (device, tunnel) = (SwIfIndex(r.hw_if_index.0), SwIfIndex(r.sw_if_index.0));
        Err(refuse_offload::<Vxlan>(w, device, tunnel))
    });
}

fn add_del(w: &World, r: VxlanAddDelTunnelV3) -> Result<SwIfIndex> {
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
    let instance = given(r.instance);
    w.get::<Tunnels<Vxlan>>().add_del(w, r.is_add, instance, spec)
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
    /// Makes or deletes a tunnel.
    VxlanAddDelTunnelV2,
    /// Makes or deletes a tunnel.
    #[from(VxlanAddDelTunnel)]
    #[from(VxlanAddDelTunnelV2)]
    VxlanAddDelTunnelV3,
    /// Asks for one tunnel, or for all.
    VxlanTunnelDump,
    /// One tunnel: its ends and settings.
    #[from(VxlanTunnelV2Details)]
    VxlanTunnelDetails,
    /// Asks for one tunnel, or for all.
    VxlanTunnelV2Dump,
    /// One tunnel: its ends and settings.
    VxlanTunnelV2Details,
    /// Takes datagrams of tunnels out of what an interface receives before it is looked up.
    SwInterfaceSetVxlanBypass,
    /// Lets a device find the tunnel of received datagrams.
    VxlanOffloadRx,
}
