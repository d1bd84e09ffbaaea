// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `geneve`.

use crate::spec::Geneve;
use cli::Result;
use graph::{SwIfIndex, World};
use msg::{Messages, Module};
use net::api::{Address, InterfaceIndex};
use tunnel::{BypassInterfaces, HeaderMarking, Next, Tunnel, TunnelEndpoints, Tunnels};

/// The module.
pub static API: Module<World> = Module::plugin("geneve", messages);

fn messages(m: &mut Messages<World>) {
    m.call(|w, r: GeneveAddDelTunnel| add_del(w, r.into()));
    m.call(add_del);
    m.dump(|w, r: GeneveTunnelDump| {
        let all = w.get::<Tunnels<Geneve>>().chosen(r.sw_if_index.given());
        Ok(all.into_iter().map(|tunnel| GeneveTunnelDetails::of(w, tunnel)).collect::<Vec<_>>())
    });
    m.call(|w, r: SwInterfaceSetGeneveBypass| {
        w.get::<BypassInterfaces<Geneve>>().set(w, SwIfIndex(r.sw_if_index.0), r.is_ipv6, r.enable)
    });
}

fn add_del(w: &World, r: GeneveAddDelTunnel2) -> Result<SwIfIndex> {
    let (local, remote) = (r.local_address.into(), r.remote_address.into());
    let by = r.mcast_sw_if_index.given();
    let spec = Geneve {
        ends: TunnelEndpoints::new(local, remote, r.encap_vrf_id, by),
        marks: HeaderMarking::default(),
        vni: tunnel::check_vni(r.vni)?,
        layer3: r.l3_mode,
        next: Next::of_index(w, r.decap_next_index)?,
    };
    w.get::<Tunnels<Geneve>>().add_del(w, r.is_add, None, spec)
}

msg::messages! {
    /// Makes or deletes a tunnel.
    GeneveAddDelTunnel,
    /// Makes or deletes a tunnel.
    #[from(GeneveAddDelTunnel)]
    GeneveAddDelTunnel2,
    /// Asks for one tunnel, or for all.
    GeneveTunnelDump,
    /// One tunnel: its ends and settings.
    GeneveTunnelDetails,
    /// Takes datagrams of tunnels out of what an interface receives before it is looked up.
    SwInterfaceSetGeneveBypass,
}

impl GeneveTunnelDetails {
    fn of(w: &World, Tunnel { sw_if, spec, .. }: Tunnel<Geneve>) -> Self {
        let Geneve { ends, vni, next, .. } = spec;
        Self {
            sw_if_index: sw_if.into(),
            src_address: ends.local.into(),
            dst_address: ends.remote.into(),
            mcast_sw_if_index: ends.group_interface.into(),
            encap_vrf_id: ends.table,
            decap_next_index: next.index(w),
            vni,
        }
    }
}
