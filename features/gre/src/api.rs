// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `gre`.

use crate::model::{Gre, Payload};
use cli::{Error, Result, retval};
use graph::World;
use msg::{Caller, Messages, Module};
use net::api::{Address, InterfaceIndex};
use tunnel::api::{TunnelEncapDecapFlags, TunnelMode};
use tunnel::{HeaderMarking, Tunnel, TunnelEndpoints, Tunnels};

/// The module.
pub static API: Module<World> = Module::plugin("gre", messages);

fn messages(m: &mut Messages<World>) {
    m.call(|w: &World, _: &Caller<'_, World>, r: GreTunnelAddDel| {
        Ok(GreTunnelAddDelReply { sw_if_index: add_del(w, r.is_add, r.tunnel.into())? })
    });
    m.call(|w: &World, _: &Caller<'_, World>, r: GreTunnelAddDelV2| {
        Ok(GreTunnelAddDelV2Reply { sw_if_index: add_del(w, r.is_add, r.tunnel)? })
    });
    m.dump(|w: &World, _: &Caller<'_, World>, r: GreTunnelDump| {
        let details =
            |tunnel: Tunnel<Gre>| GreTunnelDetails { tunnel: GreTunnelV2::from(tunnel).into() };
        Ok(w.get::<Tunnels<Gre>>()
            .chosen(r.sw_if_index.given())
            .into_iter()
            .map(details)
            .collect::<Vec<_>>())
    });
    m.dump(|w: &World, _: &Caller<'_, World>, r: GreTunnelV2Dump| {
        let details = |tunnel: Tunnel<Gre>| GreTunnelV2Details { tunnel: tunnel.into() };
        Ok(w.get::<Tunnels<Gre>>()
            .chosen(r.sw_if_index.given())
            .into_iter()
            .map(details)
            .collect::<Vec<_>>())
    });
}

fn add_del(w: &World, is_add: bool, r: GreTunnelV2) -> Result<InterfaceIndex> {
    let payload = match r.r#type {
        GreTunnelType::L3 => Payload::Ip,
        GreTunnelType::TEB => Payload::Ethernet,
        GreTunnelType::ERSPAN => Payload::Erspan { session: r.session_id },
        other => {
            let why = format!("there is no type {} of GRE tunnels", other.0);
            return Err(Error::parse(why).retval(retval::INVALID_VALUE));
        }
    };
    if r.mode.0 > TunnelMode::MP.0 {
        return Err(
            Error::parse(format!("there is no mode {}", r.mode.0)).retval(retval::INVALID_VALUE_2)
        );
    }
    let spec = Gre {
        ends: TunnelEndpoints::new(r.src.into(), r.dst.into(), r.outer_table_id, None),
        marks: HeaderMarking { flags: r.flags.into(), ..HeaderMarking::default() },
        payload,
        key: r.key,
        multipoint: r.mode == TunnelMode::MP,
    };
    if is_add {
        return spec
            .create(w, Some(r.instance).filter(|instance| *instance != u32::MAX))
            .map(Into::into);
    }
    let tunnels = w.get::<Tunnels<Gre>>();
    let sw_if = tunnels.find(w, &spec)?;
    tunnels.delete(w, sw_if)?;
    Ok(sw_if.into())
}

msg::messages! {
    /// The kind of payload of a tunnel.
    flags GreTunnelType,
    /// A tunnel without a key.
    #[from(GreTunnelV2)]
    GreTunnel,
    /// A GRE tunnel: its ends and settings.
    #[from(GreTunnel)]
    GreTunnelV2,
    /// Makes or deletes a tunnel.
    GreTunnelAddDel,
    /// The index of the tunnel's interface.
    GreTunnelAddDelReply,
    /// Makes or deletes a tunnel.
    GreTunnelAddDelV2,
    /// The index of the tunnel's interface.
    #[derive(Debug, PartialEq, Eq)]
    GreTunnelAddDelV2Reply,
    /// Asks for one tunnel, or for all.
    GreTunnelDump,
    /// One tunnel: its ends and settings.
    GreTunnelDetails,
    /// Asks for one tunnel, or for all.
    GreTunnelV2Dump,
    /// One tunnel: its ends and settings.
    #[derive(Debug, PartialEq, Eq)]
    GreTunnelV2Details,
}

impl From<Tunnel<Gre>> for GreTunnelV2 {
    fn from(tunnel: Tunnel<Gre>) -> Self {
        let Gre { ends, marks, payload, key, multipoint } = tunnel.spec;
        let (kind, session_id) = match payload {
            Payload::Ip => (GreTunnelType::L3, 0),
            Payload::Ethernet => (GreTunnelType::TEB, 0),
            Payload::Erspan { session } => (GreTunnelType::ERSPAN, session),
        };
        Self {
            r#type: kind,
            mode: TunnelMode(multipoint.into()),
            flags: marks.flags.into(),
            session_id,
            instance: tunnel.instance,
            outer_table_id: ends.table,
            sw_if_index: tunnel.sw_if.into(),
            src: ends.local.into(),
            dst: ends.remote.into(),
            key,
        }
    }
}
