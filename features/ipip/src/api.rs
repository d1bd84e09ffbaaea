// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `ipip`.

use crate::model::IpIp;
use crate::sixrd::SixRds;
use cli::{Error, Result, retval};
use graph::World;
use msg::{Caller, Message, Messages, Module, Wire};
use net::api::{Address, InterfaceIndex};
use tunnel::api::{IpDscp, TunnelEncapDecapFlags, TunnelMode};
use tunnel::{HeaderMarking, Tunnel, TunnelEndpoints, Tunnels};

/// The module.
pub static API: Module<World> =
    Module { name: "ipip", version: "2.0.2", crc: 0x4609_caba, core: true, messages };

fn messages(m: &mut Messages<World>) {
    m.call(add);
    m.call(delete);
    m.dump(dump);
    crate::sixrd::messages(m);
}

/// A tunnel.
#[derive(Wire, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IpipTunnel {
    /// The number in its name; all bits set: the first that is free.
    pub instance: u32,
    /// The address here.
    pub src: Address,
    /// The address of the other end.
    pub dst: Address,
    /// Its interface, in answers.
    pub sw_if_index: InterfaceIndex,
    /// The table that outer packets are routed in.
    pub table_id: u32,
    /// The fields copied between inner and outer headers.
    pub flags: TunnelEncapDecapFlags,
    /// One other end, or several.
    pub mode: TunnelMode,
    /// The DSCP of outer headers.
    pub dscp: IpDscp,
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

/// Makes a tunnel.
#[derive(Message)]
#[msg(reply)]
pub struct IpipAddTunnel {
    /// The tunnel.
    pub tunnel: IpipTunnel,
}

/// The new tunnel.
#[derive(Message, Debug, PartialEq, Eq)]
pub struct IpipAddTunnelReply {
    /// Its interface.
    pub sw_if_index: InterfaceIndex,
}

fn add(w: &World, _: &Caller<'_, World>, r: IpipAddTunnel) -> Result<IpipAddTunnelReply> {
    let IpipTunnel { instance, src, dst, table_id, flags, mode, dscp, .. } = r.tunnel;
    let ends = TunnelEndpoints { local: src.into(), remote: dst.into(), table: table_id };
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
    let made = spec.create(w, Some(instance).filter(|instance| *instance != u32::MAX))?;
    Ok(IpipAddTunnelReply { sw_if_index: made.into() })
}

/// Deletes a tunnel.
#[derive(Message)]
pub struct IpipDelTunnel {
    /// Its interface.
    pub sw_if_index: InterfaceIndex,
}

fn delete(w: &World, _: &Caller<'_, World>, r: IpipDelTunnel) -> Result<()> {
    w.get::<Tunnels<IpIp>>().delete(w, graph::SwIfIndex(r.sw_if_index.0))
}

/// Asks for one tunnel, or for all.
#[derive(Message)]
#[msg(details)]
pub struct IpipTunnelDump {
    /// Its interface; all bits set: all.
    pub sw_if_index: InterfaceIndex,
}

/// A tunnel.
#[derive(Message)]
pub struct IpipTunnelDetails {
    /// The tunnel.
    pub tunnel: IpipTunnel,
}

fn dump(w: &World, _: &Caller<'_, World>, r: IpipTunnelDump) -> Result<Vec<IpipTunnelDetails>> {
    let only = r.sw_if_index.given();
    let all = w.get::<Tunnels<IpIp>>().chosen(only);
    let sixrds = w.get::<SixRds>().list().into_iter().map(IpipTunnel::from);
    let sixrds = sixrds.filter(|t| only.is_none_or(|only| t.sw_if_index == only.into()));
    let all = all.into_iter().map(IpipTunnel::from).chain(sixrds);
    Ok(all.map(|tunnel| IpipTunnelDetails { tunnel }).collect())
}
