// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `lacp`.

use crate::control::{Ports, Status};
use graph::World;
use msg::{Messages, Module};
use net::Interfaces;
use net::api::{InterfaceIndex, MacAddress};

/// The module.
pub static API: Module<World> = Module::plugin("lacp", messages);

fn messages(m: &mut Messages<World>) {
    m.dump(|w, _: SwInterfaceLacpDump| {
        let all = w.get::<Ports>().list();
        Ok(all.iter().map(|status| SwInterfaceLacpDetails::of(w, status)).collect::<Vec<_>>())
    });
}

msg::messages! {
    /// Asks for the members of bonds in mode `lacp`.
    SwInterfaceLacpDump,
    /// A member of a bond in mode `lacp`.
    SwInterfaceLacpDetails,
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
