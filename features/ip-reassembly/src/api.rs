// SPDX-License-Identifier: Apache-2.0
//! The part of the module `ip` that is about reassembly.

use crate::control;
use crate::state::{Kind, Settings};
use cli::Result;
use graph::World;
use msg::{Caller, Message, Messages, Module, Wire};
use net::api::InterfaceIndex;

/// This feature's part of the module.
pub static API: Module<World> =
    Module { name: "ip", version: "3.2.0", crc: 0xc55a_ec44, core: true, messages };

fn messages(m: &mut Messages<World>) {
    m.call(set);
    m.call(get);
    m.call(enable);
    m.call(|w: &World, _: &Caller<'_, World>, r: IpLocalReassEnableDisable| {
        control::set_local(w, false, r.enable_ip4)?;
        control::set_local(w, true, r.enable_ip6)
    });
    m.call(|w: &World, _: &Caller<'_, World>, _: IpLocalReassGet| {
        let [ip4_is_enabled, ip6_is_enabled] = [false, true].map(|v6| control::is_local(w, v6));
        Ok(IpLocalReassGetReply { ip4_is_enabled, ip6_is_enabled })
    });
}

/// Which kind of reassembly.
#[derive(Wire, Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
#[wire(prefix = "IP_REASS_TYPE_")]
pub enum IpReassType {
    /// Datagrams are put together.
    Full = 0,
    /// Ports of fragments are known.
    ShallowVirtual = 1,
}

impl From<IpReassType> for Kind {
    fn from(kind: IpReassType) -> Self {
        match kind {
            IpReassType::Full => Self::Full,
            IpReassType::ShallowVirtual => Self::Shallow,
        }
    }
}

/// Sets the limits of reassembly.
#[derive(Message)]
pub struct IpReassemblySet {
    /// Milliseconds until a datagram is given up.
    pub timeout_ms: u32,
    /// Datagrams that may be under way on a thread; 0: full reassembly lets no fragment pass, shallow reassembly has no such limit.
    pub max_reassemblies: u32,
    /// Fragments of a datagram.
    pub max_reassembly_length: u32,
    /// Milliseconds between two looks for what is late; more than 1000 counts as 1000.
    pub expire_walk_interval_ms: u32,
    /// Of IPv6.
    pub is_ip6: bool,
    /// The kind.
    pub r#type: IpReassType,
}

fn set(w: &World, _: &Caller<'_, World>, r: IpReassemblySet) -> Result<()> {
    let new = Settings {
        timeout_ms: r.timeout_ms,
        max_reassemblies: r.max_reassemblies,
        max_reassembly_length: r.max_reassembly_length,
        expire_walk_interval_ms: r.expire_walk_interval_ms,
    };
    control::configure(w, r.r#type.into(), r.is_ip6, new);
    Ok(())
}

/// Asks for the limits of reassembly.
#[derive(Message)]
#[msg(reply)]
pub struct IpReassemblyGet {
    /// Of IPv6.
    pub is_ip6: bool,
    /// The kind.
    pub r#type: IpReassType,
}

/// The limits of reassembly.
#[derive(Message)]
pub struct IpReassemblyGetReply {
    /// Milliseconds until a datagram is given up.
    pub timeout_ms: u32,
    /// Datagrams that may be under way on a thread.
    pub max_reassemblies: u32,
    /// Fragments of a datagram.
    pub max_reassembly_length: u32,
    /// Milliseconds between two looks for what is late.
    pub expire_walk_interval_ms: u32,
    /// Of IPv6.
    pub is_ip6: bool,
}

fn get(w: &World, _: &Caller<'_, World>, r: IpReassemblyGet) -> Result<IpReassemblyGetReply> {
    let s = control::settings(w, r.r#type.into(), r.is_ip6);
    Ok(IpReassemblyGetReply {
        timeout_ms: s.timeout_ms,
        max_reassemblies: s.max_reassemblies,
        max_reassembly_length: s.max_reassembly_length,
        expire_walk_interval_ms: s.expire_walk_interval_ms,
        is_ip6: r.is_ip6,
    })
}

/// Says whether what comes in by an interface is reassembled.
#[derive(Message)]
pub struct IpReassemblyEnableDisable {
    /// The interface.
    pub sw_if_index: InterfaceIndex,
    /// IPv4.
    pub enable_ip4: bool,
    /// IPv6.
    pub enable_ip6: bool,
    /// The kind.
    pub r#type: IpReassType,
}

fn enable(w: &World, _: &Caller<'_, World>, r: IpReassemblyEnableDisable) -> Result<()> {
    let (sw_if, kind) = (r.sw_if_index.existing(w)?, r.r#type.into());
    control::enable(w, sw_if, kind, false, r.enable_ip4)?;
    control::enable(w, sw_if, kind, true, r.enable_ip6)
}

/// Says whether datagrams that are for us are put together.
#[derive(Message)]
pub struct IpLocalReassEnableDisable {
    /// IPv4.
    pub enable_ip4: bool,
    /// IPv6.
    pub enable_ip6: bool,
}

/// Asks whether datagrams that are for us are put together.
#[derive(Message)]
#[msg(reply)]
pub struct IpLocalReassGet {}

/// Whether datagrams that are for us are put together.
#[derive(Message)]
pub struct IpLocalReassGetReply {
    /// IPv4.
    pub ip4_is_enabled: bool,
    /// IPv6.
    pub ip6_is_enabled: bool,
}
