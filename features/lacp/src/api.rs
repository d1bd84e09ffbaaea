// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `lacp`.

use crate::control::{Ports, Status};
use graph::World;
use msg::{Caller, Message, Messages, Module, Str};
use net::Interfaces;
use net::api::{InterfaceIndex, MacAddress};

/// The module.
pub static API: Module<World> =
    Module { name: "lacp", version: "2.0.0", crc: 0xe160_9dab, core: false, messages };

fn messages(m: &mut Messages<World>) {
    m.dump(|w: &World, _: &Caller<'_, World>, _: SwInterfaceLacpDump| {
        let all = w.get::<Ports>().list();
        Ok(all.iter().map(|status| SwInterfaceLacpDetails::of(w, status)).collect::<Vec<_>>())
    });
}

/// Asks for the members of bonds in mode `lacp`.
#[derive(Message)]
#[msg(details)]
pub struct SwInterfaceLacpDump {}

/// A member of a bond in mode `lacp`.
#[derive(Message, Debug, PartialEq, Eq)]
pub struct SwInterfaceLacpDetails {
    /// The member.
    pub sw_if_index: InterfaceIndex,
    /// Its name.
    pub interface_name: Str<64>,
    /// Receive machine: 0 initialize, 1 disabled, 2 expired, 3 LACP disabled, 4 defaulted, 5
    /// current.
    pub rx_state: u32,
    /// Transmit machine: 0 transmit.
    pub tx_state: u32,
    /// Mux machine: 0 detached, 1 waiting, 2 attached, 3 collecting and distributing.
    pub mux_state: u32,
    /// Periodic transmission machine: 0 none, 1 fast, 2 slow, 3 transmit.
    pub ptx_state: u32,
    /// The name of its bond.
    pub bond_interface_name: Str<64>,
    /// Priority of this system.
    pub actor_system_priority: u16,
    /// This system.
    pub actor_system: MacAddress,
    /// The key of this end: the bond's number.
    pub actor_key: u16,
    /// Priority of this port.
    pub actor_port_priority: u16,
    /// This port, counted in the bond.
    pub actor_port_number: u16,
    /// State of this end: bits as in a data unit.
    pub actor_state: u8,
    /// Priority of the partner's system.
    pub partner_system_priority: u16,
    /// The partner's system.
    pub partner_system: MacAddress,
    /// The partner's key.
    pub partner_key: u16,
    /// Priority of the partner's port.
    pub partner_port_priority: u16,
    /// The partner's port.
    pub partner_port_number: u16,
    /// State of the partner: bits as in a data unit.
    pub partner_state: u8,
}

impl SwInterfaceLacpDetails {
    fn of(w: &World, status: &Status) -> Self {
        let interfaces = w.get::<Interfaces>();
        let port = &status.port;
        let (actor, partner) = (&port.actor, &port.partner);
        Self {
            sw_if_index: status.sw_if.into(),
            interface_name: interfaces.name(status.sw_if).into(),
            rx_state: port.rx as u32,
            tx_state: 0,
            mux_state: port.mux as u32,
            ptx_state: port.periodic as u32,
            bond_interface_name: interfaces.name(status.bond).into(),
            actor_system_priority: actor.system_priority,
            actor_system: actor.system.into(),
            actor_key: actor.key,
            actor_port_priority: actor.port_priority,
            actor_port_number: actor.port,
            actor_state: actor.state.bits(),
            partner_system_priority: partner.system_priority,
            partner_system: partner.system.into(),
            partner_key: partner.key,
            partner_port_priority: partner.port_priority,
            partner_port_number: partner.port,
            partner_state: partner.state.bits(),
        }
    }
}
