// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `vxlan_gpe`.

use crate::model::{Gpe, Protocol};
use crate::spec::decap_table;
use cli::{Error, Result, retval};
use graph::{SwIfIndex, World};
use msg::{Messages, Module};
use net::api::{Address, InterfaceIndex, IpProto};
use tunnel::{BypassInterfaces, HeaderMarking, Tunnel, TunnelEndpoints, Tunnels};

/// The module.
pub static API: Module<World> = Module::plugin("vxlan_gpe", messages);

fn messages(m: &mut Messages<World>) {
    m.call(|w, r: VxlanGpeAddDelTunnel| add_del(w, r.into()));
    m.call(add_del);
    m.dump(|w, r: VxlanGpeTunnelDump| Ok(dump(w, r.sw_if_index)));
    m.dump(|w, r: VxlanGpeTunnelV2Dump| Ok(dump(w, r.sw_if_index)));
    m.call(|w, r: SwInterfaceSetVxlanGpeBypass| {
        w.get::<BypassInterfaces<Gpe>>().set(w, SwIfIndex(r.sw_if_index.0), r.is_ipv6, r.enable)
    });
}

fn add_del(w: &World, r: VxlanGpeAddDelTunnelV2) -> Result<SwIfIndex> {
    let protocol = Protocol::of_number(r.protocol.0).ok_or_else(|| {
        let why = format!("a protocol is 1 (IPv4), 2 (IPv6), 3 or 4, not {}", r.protocol.0);
        Error::parse(why).retval(retval::INVALID_VALUE)
    })?;
    let (local, remote) = (r.local.into(), r.remote.into());
    let by = r.mcast_sw_if_index.given();
    let spec = Gpe {
        ends: TunnelEndpoints::new(local, remote, r.encap_vrf_id, by),
        marks: HeaderMarking::default(),
        vni: tunnel::check_vni(r.vni)?,
        protocol,
        decap_table: r.decap_vrf_id,
        local_port: tunnel::chosen_port::<Gpe>(r.local_port)?,
        remote_port: tunnel::chosen_port::<Gpe>(r.remote_port)?,
    };
    w.get::<Tunnels<Gpe>>().add_del(w, r.is_add, None, spec)
}

fn dump(w: &World, only: InterfaceIndex) -> Vec<VxlanGpeTunnelV2Details> {
    let all = w.get::<Tunnels<Gpe>>().chosen(only.given());
    all.into_iter().map(|tunnel| VxlanGpeTunnelV2Details::of(w, tunnel)).collect()
}

msg::messages! {
    /// Makes or deletes a tunnel.
    VxlanGpeAddDelTunnel,
    /// Makes or deletes a tunnel.
    #[from(VxlanGpeAddDelTunnel)]
    VxlanGpeAddDelTunnelV2,
    /// Asks for one tunnel, or for all.
    VxlanGpeTunnelDump,
    /// One tunnel: its ends and settings.
    #[from(VxlanGpeTunnelV2Details)]
    VxlanGpeTunnelDetails,
    /// Asks for one tunnel, or for all.
    VxlanGpeTunnelV2Dump,
    /// One tunnel: its ends and settings.
    VxlanGpeTunnelV2Details,
    /// Takes datagrams of tunnels out of what an interface receives before it is looked up.
    SwInterfaceSetVxlanGpeBypass,
}

impl VxlanGpeTunnelV2Details {
    fn of(w: &World, Tunnel { sw_if, spec, .. }: Tunnel<Gpe>) -> Self {
        let Gpe { ends, vni, protocol, local_port, remote_port, .. } = spec;
        Self {
            sw_if_index: sw_if.into(),
            local: ends.local.into(),
            remote: ends.remote.into(),
            local_port,
            remote_port,
            vni,
            protocol: IpProto(protocol.number()),
            mcast_sw_if_index: ends.group_interface.into(),
            encap_vrf_id: ends.table,
            decap_vrf_id: decap_table(w, sw_if, protocol),
            is_ipv6: ends.local.is_ipv6(),
        }
    }
}
