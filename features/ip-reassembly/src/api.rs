// SPDX-License-Identifier: Apache-2.0
//! The part of the module `ip` that is about reassembly.

use crate::control;
use crate::state::{Kind, Settings};
use cli::Result;
use graph::World;
use msg::{Caller, Message, Messages, Module, Wire};
use net::api::{InterfaceIndex, ip_module};

/// This feature's part of the module.
pub static API: Module<World> = ip_module(messages);

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

/// The kind of reassembly.
#[derive(Wire, Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
#[wire(prefix = "IP_REASS_TYPE_")]
pub enum IpReassType {
    /// Datagrams are reassembled.
    Full = 0,
    /// Fragments are forwarded with the ports of the first one.
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
    /// Maximum number of datagrams under way on a thread; 0: full reassembly passes no fragment,
    /// shallow reassembly has no such limit.
    pub max_reassemblies: u32,
    /// Maximum number of fragments of a datagram.
    pub max_reassembly_length: u32,
    /// Interval in milliseconds between two checks for timeouts; more than 1000 counts as 1000.
    pub expire_walk_interval_ms: u32,
    /// True for IPv6.
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

/// Requests the limits of reassembly.
#[derive(Message)]
#[msg(reply)]
pub struct IpReassemblyGet {
    /// True for IPv6.
    pub is_ip6: bool,
    /// The kind.
    pub r#type: IpReassType,
}

/// The limits of reassembly.
#[derive(Message)]
pub struct IpReassemblyGetReply {
    /// Milliseconds until a datagram is given up.
    pub timeout_ms: u32,
    /// Maximum number of datagrams under way on a thread.
    pub max_reassemblies: u32,
    /// Maximum number of fragments of a datagram.
    pub max_reassembly_length: u32,
    /// Interval in milliseconds between two checks for timeouts.
    pub expire_walk_interval_ms: u32,
    /// True for IPv6.
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

/// Enables or disables reassembly of the packets received on an interface.
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

/// Enables or disables reassembly of datagrams that are for us.
#[derive(Message)]
pub struct IpLocalReassEnableDisable {
    /// IPv4.
    pub enable_ip4: bool,
    /// IPv6.
    pub enable_ip6: bool,
}

/// Requests the state of reassembly of datagrams that are for us.
#[derive(Message)]
#[msg(reply)]
pub struct IpLocalReassGet {}

/// State of reassembly of datagrams that are for us.
#[derive(Message)]
pub struct IpLocalReassGetReply {
    /// IPv4.
    pub ip4_is_enabled: bool,
    /// IPv6.
    pub ip6_is_enabled: bool,
}
