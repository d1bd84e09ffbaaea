// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `gre`.

use crate::model::{Gre, Payload};
use cli::{Error, Result, retval};
use graph::World;
use msg::{Caller, Message, Messages, Module, Wire};
use net::api::{Address, InterfaceIndex};
use tunnel::api::{TunnelEncapDecapFlags, TunnelMode};
use tunnel::{HeaderMarking, Tunnel, TunnelEndpoints, Tunnels};

/// The module.
pub static API: Module<World> =
    Module { name: "gre", version: "2.2.0", crc: 0x01bf_eec2, core: false, messages };

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
        ends: TunnelEndpoints {
            local: r.src.into(),
            remote: r.dst.into(),
            table: r.outer_table_id,
        },
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

msg::flags! {
    /// The kind of payload of a tunnel.
    pub struct GreTunnelType: u8 = enum "gre_tunnel_type" {
        L3 = 0 => "GRE_API_TUNNEL_TYPE_L3",
        TEB = 1 => "GRE_API_TUNNEL_TYPE_TEB",
        ERSPAN = 2 => "GRE_API_TUNNEL_TYPE_ERSPAN",
    }
}

/// A tunnel without a key.
#[derive(Wire, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GreTunnel {
    /// The kind of its payload.
    pub r#type: GreTunnelType,
    /// One other end, or several.
    pub mode: TunnelMode,
    /// The fields copied between inner and outer headers.
    pub flags: TunnelEncapDecapFlags,
    /// The session of ERSPAN.
    pub session_id: u16,
    /// The number in its name; all bits set: the first that is free.
    pub instance: u32,
    /// The table that outer packets are routed in.
    pub outer_table_id: u32,
    /// Its interface, in answers.
    pub sw_if_index: InterfaceIndex,
    /// The address here.
    pub src: Address,
    /// The address of the other end.
    pub dst: Address,
}

/// A tunnel.
#[derive(Wire, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GreTunnelV2 {
    /// The kind of its payload.
    pub r#type: GreTunnelType,
    /// One other end, or several.
    pub mode: TunnelMode,
    /// The fields copied between inner and outer headers.
    pub flags: TunnelEncapDecapFlags,
    /// The session of ERSPAN.
    pub session_id: u16,
    /// The number in its name; all bits set: the first that is free.
    pub instance: u32,
    /// The table that outer packets are routed in.
    pub outer_table_id: u32,
    /// Its interface, in answers.
    pub sw_if_index: InterfaceIndex,
    /// The address here.
    pub src: Address,
    /// The address of the other end.
    pub dst: Address,
    /// The key in its headers; 0 for none.
    pub key: u32,
}

impl From<GreTunnel> for GreTunnelV2 {
    fn from(old: GreTunnel) -> Self {
        let GreTunnel {
            r#type,
            mode,
            flags,
            session_id,
            instance,
            outer_table_id,
            sw_if_index,
            src,
            dst,
        } = old;
        Self {
            r#type,
            mode,
            flags,
            session_id,
            instance,
            outer_table_id,
            sw_if_index,
            src,
            dst,
            key: 0,
        }
    }
}

impl From<GreTunnelV2> for GreTunnel {
    fn from(new: GreTunnelV2) -> Self {
        let GreTunnelV2 {
            r#type,
            mode,
            flags,
            session_id,
            instance,
            outer_table_id,
            sw_if_index,
            src,
            dst,
            ..
        } = new;
        Self { r#type, mode, flags, session_id, instance, outer_table_id, sw_if_index, src, dst }
    }
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

/// Makes or deletes a tunnel.
#[derive(Message)]
#[msg(reply)]
pub struct GreTunnelAddDel {
    /// Make, not delete.
    pub is_add: bool,
    /// The tunnel.
    pub tunnel: GreTunnel,
}

/// The tunnel.
#[derive(Message)]
pub struct GreTunnelAddDelReply {
    /// Its interface.
    pub sw_if_index: InterfaceIndex,
}

/// Makes or deletes a tunnel.
#[derive(Message)]
#[msg(reply)]
pub struct GreTunnelAddDelV2 {
    /// Make, not delete.
    pub is_add: bool,
    /// The tunnel.
    pub tunnel: GreTunnelV2,
}

/// The tunnel.
#[derive(Message, Debug, PartialEq, Eq)]
pub struct GreTunnelAddDelV2Reply {
    /// Its interface.
    pub sw_if_index: InterfaceIndex,
}

/// Asks for one tunnel, or for all.
#[derive(Message)]
#[msg(details)]
pub struct GreTunnelDump {
    /// Its interface; all bits set: all.
    pub sw_if_index: InterfaceIndex,
}

/// A tunnel.
#[derive(Message)]
pub struct GreTunnelDetails {
    /// The tunnel.
    pub tunnel: GreTunnel,
}

/// Asks for one tunnel, or for all.
#[derive(Message)]
#[msg(details)]
pub struct GreTunnelV2Dump {
    /// Its interface; all bits set: all.
    pub sw_if_index: InterfaceIndex,
}

/// A tunnel.
#[derive(Message, Debug, PartialEq, Eq)]
pub struct GreTunnelV2Details {
    /// The tunnel.
    pub tunnel: GreTunnelV2,
}
