// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `ipip`.

use crate::model::IpIp;
use crate::sixrd::SixRds;
use cli::{Error, Result, retval};
use graph::{SwIfIndex, World};
use msg::{Messages, Module};
use net::api::{Address, InterfaceIndex, given};
use tunnel::api::{IpDscp, TunnelEncapDecapFlags, TunnelMode};
use tunnel::{HeaderMarking, Tunnel, TunnelEndpoints, Tunnels};

/// The module.
pub static API: Module<World> = Module::core("ipip", messages);

fn messages(m: &mut Messages<World>) {
    m.call(add);
    m.call(|w, r: IpipDelTunnel| {
        w.get::<Tunnels<IpIp>>().delete(w, graph::SwIfIndex(r.sw_if_index.0))
    });
    m.dump(dump);
    crate::sixrd::messages(m);
}

msg::messages! {
    /// An IPIP tunnel: its ends and settings.
    IpipTunnel,
    /// Makes a tunnel.
    IpipAddTunnel,
    /// Deletes a tunnel.
    IpipDelTunnel,
    /// Asks for one tunnel, or for all.
    IpipTunnelDump,
    /// One tunnel: its ends and settings.
    IpipTunnelDetails,
}

impl From<Tunnel<IpIp>> for IpipTunnel {
    fn from(tunnel: Tunnel<IpIp>) -> Self {
        let IpIp { ends, marks, multipoint } = tunnel.spec;
        Self {
            instance: tunnel.instance,
            src: ends.local.into(),
            dst: ends.remote.into(),
            sw_if_index: tunnel.sw_if.into(),
            table_id: ends.table,
            flags: marks.flags.into(),
            mode: TunnelMode(multipoint.into()),
            dscp: IpDscp(marks.dscp),
        }
    }
}

fn add(w: &World, r: IpipAddTunnel) -> Result<SwIfIndex> {
    let IpipTunnel { instance, src, dst, table_id, flags, mode, dscp, .. } = r.tunnel;
    let ends = TunnelEndpoints::new(src.into(), dst.into(), table_id, None);
    if mode.0 > TunnelMode::MP.0 {
        return Err(
            Error::parse(format!("there is no mode {}", mode.0)).retval(retval::INVALID_VALUE_2)
        );
    }
    if dscp.0 > 63 {
        return Err(Error::parse(format!("a DSCP is at most 63, not {}", dscp.0))
            .retval(retval::INVALID_VALUE));
    }
    let marks = HeaderMarking { flags: flags.into(), dscp: dscp.0, ..HeaderMarking::default() };
    let spec = IpIp { ends, marks, multipoint: mode == TunnelMode::MP };
    spec.create(w, given(instance))
}

fn dump(w: &World, r: IpipTunnelDump) -> Result<Vec<IpipTunnelDetails>> {
    let only = r.sw_if_index.given();
    let all = w.get::<Tunnels<IpIp>>().chosen(only);
    let sixrds = w.get::<SixRds>().list().into_iter().map(IpipTunnel::from);
    let sixrds = sixrds.filter(|t| only.is_none_or(|only| t.sw_if_index == only.into()));
    let all = all.into_iter().map(IpipTunnel::from).chain(sixrds);
    Ok(all.map(|tunnel| IpipTunnelDetails { tunnel }).collect())
}
