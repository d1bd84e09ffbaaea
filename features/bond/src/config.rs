// SPDX-License-Identifier: Apache-2.0
//! The saved configuration.

use crate::create::{name, random_mac};
use crate::model::{Balance, BondInfo, NewBond};
use crate::state::Bonds;
use cli::quote;
use graph::{Phase, RunningConfig, Script, World};
use net::Interfaces;
use object::Arguments;

/// Members of bonds: after the settings that devices have of their own.
pub const MEMBERS: Phase =
    Phase { name: "members of bonds", after: &["devices"], before: &["bindings"] };

/// Commands that set what is kept here, for the tests that save and restore it.
pub const EXAMPLES: &[Script] = &[
    Script::here(
        "bonds",
        "create packet-generator interface pg0
         create packet-generator interface pg1
         create packet-generator interface pg2
         create packet-generator interface pg3
         create packet-generator interface pg4
         create bond mode active-backup hw-addr 02:00:00:00:00:99 id 7
         create bond mode xor load-balance l34 numa-only gso
         create bond mode round-robin hw-addr 02:00:00:00:00:98
         create bond mode broadcast hw-addr 02:00:00:00:00:97
         create bond mode xor hw-addr 02:00:00:00:00:96 id 9
         delete bond BondEthernet9
         set interface mac address pg0 02:00:00:00:00:55
         set interface mtu 1400 pg2
         bond add BondEthernet7 pg0
         bond add BondEthernet7 pg1
         bond add BondEthernet0 pg2
         bond add BondEthernet0 pg3
         bond add BondEthernet1 pg4
         bond del pg4
         set interface bond pg1 weight 9
         set interface mtu 1300 BondEthernet7
         create sub-interfaces BondEthernet0 10
         set interface ip address BondEthernet0.10 10.0.0.1/24
         set interface state pg0 up
         set interface state pg2 up
         set interface state BondEthernet0 up
         set interface state BondEthernet0.10 up
         set interface l2 bridge BondEthernet7 1",
    ),
    Script::here(
        "a bond that keeps the address of a member that has left",
        "create packet-generator interface pg0
         create packet-generator interface pg1
         create bond mode xor load-balance l23
         bond add BondEthernet0 pg0
         bond add BondEthernet0 pg1
         bond del pg0
         set interface name BondEthernet0 uplink
         set interface name pg1 port",
    ),
];

/// The command that makes a bond.
fn create(world: &World, bond: &BondInfo) -> String {
    let mac = bond.made.mac.or_else(|| kept_mac(world, bond));
    // A message may name a hash that has no effect, a command may not.
    let balance = if bond.made.mode.hashes() { bond.made.balance } else { Balance::L2 };
    let made = NewBond { mac, id: Some(bond.id), balance, ..bond.made };
    format!("create bond{}", made.words(world))
}

/// The address of a member that has left, if the bond still has it.
fn kept_mac(world: &World, bond: &BondInfo) -> Option<wire::MacAddr> {
    let interfaces = world.get::<Interfaces>();
    let mac = interfaces.get(bond.sw_if).ok()?.original.mac;
    let usual = match bond.members.first() {
        Some(member) => interfaces.get(member.sw_if).ok()?.own_mac(),
        None => random_mac(bond.id),
    };
    (usual != mac).then_some(mac)
}

/// Writes the bonds, and their members.
pub fn write_config(world: &World, config: &mut RunningConfig) {
    let bonds = world.get::<Bonds>().indices();
    config.interfaces(bonds.clone(), |world, sw_if, lines| {
        if let Some(bond) = world.get::<Bonds>().get(sw_if) {
            lines.push(create(world, &bond), format!("delete bond {}", name(bond.id)));
        }
    });
    config.list(MEMBERS, bonds, |world, sw_if, lines| {
        let Some(bond) = world.get::<Bonds>().get(sw_if) else { return };
        let interfaces = world.get::<Interfaces>();
        let name = |sw_if| quote(&interfaces.name(sw_if));
        for member in &bond.members {
            let passive = if member.passive { " passive" } else { "" };
            let long = if member.long_timeout { " long-timeout" } else { "" };
            let line = format!("bond add {} {}{passive}{long}", name(sw_if), name(member.sw_if));
            lines.push(line, format!("bond del {}", name(member.sw_if)));
            if member.weight != 0 {
                let line = format!("set interface bond {} weight", name(member.sw_if));
                lines.push(format!("{line} {}", member.weight), format!("{line} 0"));
            }
        }
    });
}
