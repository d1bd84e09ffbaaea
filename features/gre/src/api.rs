// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `gre`.

use crate::model::{Gre, Payload};
use cli::{Error, Result, retval};
use graph::{SwIfIndex, World};
use msg::{Messages, Module};
use net::api::{Address, InterfaceIndex, given};
use tunnel::api::{TunnelEncapDecapFlags, TunnelMode};
use tunnel::{HeaderMarking, Tunnel, TunnelEndpoints, Tunnels};

/// The module.
pub static API: Module<World> = Module::plugin("gre", messages);

fn messages(m: &mut Messages<World>) {
    m.call(|w, r: GreTunnelAddDel| add_del(w, r.is_add, r.tunnel.into()));
    m.call(|w, r: GreTunnelAddDelV2| add_del(w, r.is_add, r.tunnel));
    m.dump(|w, r: GreTunnelDump| Ok(list(w, r.sw_if_index).map(GreTunnel::from)));
    m.dump(|w, r: GreTunnelV2Dump| Ok(list(w, r.sw_if_index)));
}

fn list(w: &World, only: InterfaceIndex) -> impl Iterator<Item = GreTunnelV2> + use<> {
    w.get::<Tunnels<Gre>>().chosen(only.given()).into_iter().map(GreTunnelV2::from)
}

fn add_del(w: &World, is_add: bool, r: GreTunnelV2) -> Result<SwIfIndex> {
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
        return spec.create(w, given(r.instance));
    }
    let tunnels = w.get::<Tunnels<Gre>>();
    let sw_if = tunnels.find(w, &spec)?;
    tunnels.delete(w, sw_if)?;
    Ok(sw_if)
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
    /// Makes or deletes a tunnel.
    GreTunnelAddDelV2,
    /// Asks for one tunnel, or for all.
    GreTunnelDump,
    /// One tunnel: its ends and settings.
    GreTunnelDetails,
    /// Asks for one tunnel, or for all.
    GreTunnelV2Dump,
    /// One tunnel: its ends and settings.
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
