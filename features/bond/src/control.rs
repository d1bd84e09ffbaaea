// SPDX-License-Identifier: Apache-2.0
//! Events of interfaces: state, link and MTU of bonds and members.

use crate::announce::BondProcess;
use crate::owned::OWNER;
use crate::state::Bonds;
use graph::{SwIfIndex, World};
use net::{IfEvent, Interface, Interfaces, MtuKind};
use std::sync::Arc;

/// Called once, when all nodes are there.
pub fn start(world: &Arc<World>) -> Result<(), String> {
    let bonds: Arc<Bonds> = world.get();
    world.processes.spawn(Box::new(BondProcess(bonds.clone())), &bonds.signal);
    let interfaces = world.get::<Interfaces>();
    interfaces.register_owner(OWNER);
    interfaces.subscribe(move |world, event| follow(&bonds, world, event));
    Ok(())
}

fn follow(bonds: &Bonds, world: &World, event: IfEvent) {
    match event {
        IfEvent::Admin(sw_if, _) => {
            bonds.settle(world, sw_if);
            bonds.settle_bond_of(world, sw_if);
        }
        IfEvent::Link(sw_if, _) => bonds.settle_bond_of(world, sw_if),
        IfEvent::Mtu(sw_if) => {
            let bond = bonds.bond_of(sw_if);
            let is_set = |interface: Interface| {
                interface.mtu.configured == Some(interface.mtu_of(MtuKind::Link))
            };
            let done = match bond {
                // An operator has set the MTU of a member. One that is set for the bond comes
                // first.
                Some(bond) if world.get::<Interfaces>().get(sw_if).is_ok_and(is_set) => {
                    bonds.follow_mtu(world, bond).and_then(|()| bonds.lead_mtus(world, bond))
                }
                Some(bond) => bonds.follow_mtu(world, bond),
                None => bonds.lead_mtus(world, sw_if),
            };
            if let Err(error) = done {
                log::warn!("{}: {error}", world.get::<Interfaces>().name(sw_if));
            }
        }
        _ => {}
    }
}

impl Bonds {
    /// As [`Self::settle`], for the bond of a member; nothing for another interface.
    fn settle_bond_of(&self, world: &World, sw_if: SwIfIndex) {
        let bond = self.bond_of(sw_if);
        bond.into_iter().for_each(|bond| self.settle(world, bond));
    }
}
