// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `classify`.

pub mod attach;
pub mod filter;
pub mod table;

use cli::{Error, Result};
use graph::World;
use msg::{Caller, Message, Messages, Module, Wire, retval};
use net::api::InterfaceIndex;

/// The module.
pub static API: Module<World> =
    Module { name: "classify", version: "3.1.0", crc: 0x92a4_f2c8, core: true, messages };

fn messages(m: &mut Messages<World>) {
    table::messages(m);
    attach::messages(m);
    filter::messages(m);
    m.call(|_: &World, _: &Caller<'_, World>, _: PolicerClassifySetInterface| unbuilt("policers"));
    m.dump(|_: &World, _: &Caller<'_, World>, _: PolicerClassifyDump| {
        unbuilt::<std::iter::Empty<PolicerClassifyDetails>>("policers")
    });
    m.call(|_: &World, _: &Caller<'_, World>, _: FlowClassifySetInterface| {
        unbuilt("flow classification")
    });
    m.dump(|_: &World, _: &Caller<'_, World>, _: FlowClassifyDump| {
        unbuilt::<std::iter::Empty<FlowClassifyDetails>>("flow classification")
    });
}

/// All bits set: none.
pub fn given(index: u32) -> Option<u32> {
    (index != u32::MAX).then_some(index)
}

fn unbuilt<T>(what: &str) -> Result<T> {
    Err(Error::unsupported(format!("{what}: not built yet")).retval(retval::UNIMPLEMENTED))
}

/// Protocols of policer classification.
#[derive(Wire, Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
#[wire(prefix = "POLICER_CLASSIFY_API_TABLE_")]
pub enum PolicerClassifyTable {
    /// IPv4.
    Ip4 = 0,
    /// IPv6.
    Ip6 = 1,
    /// Switched frames.
    L2 = 2,
}

/// Protocols of flow classification.
#[derive(Wire, Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
#[wire(prefix = "FLOW_CLASSIFY_API_TABLE_")]
pub enum FlowClassifyTable {
    /// IPv4.
    Ip4 = 0,
    /// IPv6.
    Ip6 = 1,
}

/// Refused: policers aren't built yet.
#[derive(Message)]
pub struct PolicerClassifySetInterface {
    /// The interface.
    pub sw_if_index: InterfaceIndex,
    /// The table for IPv4.
    pub ip4_table_index: u32,
    /// The table for IPv6.
    pub ip6_table_index: u32,
    /// The table for switched frames.
    pub l2_table_index: u32,
    /// Attach, not detach.
    pub is_add: bool,
}

/// Refused: policers aren't built yet.
#[derive(Message)]
#[msg(details)]
pub struct PolicerClassifyDump {
    /// The protocol.
    #[wire(name = "type")]
    pub kind: PolicerClassifyTable,
    /// The interface, or all.
    pub sw_if_index: InterfaceIndex,
}

/// Never sent.
#[derive(Message, Debug)]
pub struct PolicerClassifyDetails {
    /// The interface.
    pub sw_if_index: InterfaceIndex,
    /// Its table.
    pub table_index: u32,
}

/// Refused: flow classification isn't built yet.
#[derive(Message)]
pub struct FlowClassifySetInterface {
    /// The interface.
    pub sw_if_index: InterfaceIndex,
    /// The table for IPv4.
    pub ip4_table_index: u32,
    /// The table for IPv6.
    pub ip6_table_index: u32,
    /// Attach, not detach.
    pub is_add: bool,
}

/// Refused: flow classification isn't built yet.
#[derive(Message)]
#[msg(details)]
pub struct FlowClassifyDump {
    /// The protocol.
    #[wire(name = "type")]
    pub kind: FlowClassifyTable,
    /// The interface, or all.
    pub sw_if_index: InterfaceIndex,
}

/// Never sent.
#[derive(Message, Debug)]
pub struct FlowClassifyDetails {
    /// The interface.
    pub sw_if_index: InterfaceIndex,
    /// Its table.
    pub table_index: u32,
}
