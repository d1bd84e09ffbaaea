// SPDX-License-Identifier: Apache-2.0
//! The commands, and the lines that save what they set.

use crate::create::{name, random_mac};
use crate::model::{Balance, BondInfo, MemberInfo, NewBond, Stage};
use crate::state::Bonds;
use cli::{Command, Error, Matches, Output, Result, Table, Writer, retval};
use graph::{Phase, RunningConfig, Script, SwIfIndex, World};
use net::Interfaces;
use net::args::{interface, made};
use object::{Arguments, Choice};
use serde_json::json;
use std::fmt::Write as _;

pub const COMMANDS: &[Command<World>] = cli::commands! {
    /// Create a bond: an interface whose frames leave and come in by several members; load-balance:
    /// choose the member by MAC addresses (l2), MAC and IP addresses (l23), or addresses and ports
    /// (l34)
    "create bond", cli::join!("(", NewBond::USAGE, ")") => create;
    /// Delete a bond; its members are interfaces of their own again
    "delete bond", "{<interface:interface> | sw_if_index <index:u32>}"
        => |w, m| w.get::<Bonds>().delete(w, w.get::<Interfaces>().named_or_numbered(m)?);
    /// Make an interface a member of a bond; LACP: passive waits for the partner, long-timeout asks
    /// it for a data unit each 30 seconds
    "bond add", "<bond:interface> <member:interface> [passive] [long-timeout]" => add;
    /// Take a member out of its bond
    "bond del", "<member:interface>"
        => |w, m| w.get::<Bonds>().detach(w, interface(w, m, "member")?);
    /// Set the weight of a member: the active member of an active-backup bond with the highest one
    /// is used
    "set interface bond",
    "{<interface:interface> | sw_if_index <index:u32>} weight <weight:u32>" => weight;
    /// Bonds and their members
    "show bond", "[details]" => show;
};

fn create(w: &World, m: &Matches) -> Result<Output> {
    let new = NewBond::read(w, m)?;
    if m.has("balance") && !new.mode.hashes() {
        return Err(Error::parse("load-balance is for the modes xor and lacp")
            .at(m.span("balance"))
            .retval(retval::INVALID_ARGUMENT));
    }
    let new = NewBond { id: new.id.filter(|id| *id != u32::MAX), ..new };
    let sw_if = w.get::<Bonds>().create(w, new)?;
    Ok(made(w, sw_if))
}

fn add(w: &World, m: &Matches) -> Result<()> {
    let member = MemberInfo {
        sw_if: interface(w, m, "member")?,
        bond: interface(w, m, "bond")?,
        passive: m.flag("passive"),
        long_timeout: m.flag("long-timeout"),
        weight: 0,
        stage: Stage::Idle,
    };
    w.get::<Bonds>().add_member(w, member)
}

fn weight(w: &World, m: &Matches) -> Result<()> {
    let interfaces = w.get::<Interfaces>();
    let sw_if = interfaces.named_or_numbered(m)?;
    interfaces.check(sw_if)?;
    w.get::<Bonds>().set_weight(w, sw_if, m.req("weight")?)
}

fn show(w: &World, m: &Matches) -> Result<Output> {
    let bonds = w.get::<Bonds>().indices();
    if m.flag("details") {
        return Ok(Output::list(bonds, |w: &World, sw_if, out: &mut Writer| {
            if let Some(bond) = w.get::<Bonds>().get(sw_if) {
                details(w, &bond, out);
            }
            Ok(())
        }));
    }
    let table =
        Table::new().left("interface name").left("sw_if_index").left("mode").left("load balance");
    let table = table.left("active members").left("members");
    Ok(table.list(bonds, |w: &World, sw_if, out: &mut Writer| {
        let Some(bond) = w.get::<Bonds>().get(sw_if) else { return Ok(()) };
        out.text_row(|| {
            [
                w.get::<Interfaces>().name(sw_if).into(),
                sw_if.0.into(),
                bond.made.mode.word().into(),
                bond.balance.word().into(),
                bond.active.len().into(),
                bond.members.len().into(),
            ]
        });
        out.value(|| value(w, &bond));
        Ok(())
    }))
}

fn value(w: &World, bond: &BondInfo) -> serde_json::Value {
    let interfaces = w.get::<Interfaces>();
    let name = |sw_if: SwIfIndex| interfaces.name(sw_if);
    let member = |member: &MemberInfo| {
        json!({
            "interface": name(member.sw_if),
            "sw_if_index": member.sw_if.0,
            "active": bond.active.contains(&member.sw_if),
            "passive": member.passive,
            "long_timeout": member.long_timeout,
            "weight": member.weight,
        })
    };
    json!({
        "name": name(bond.sw_if),
        "sw_if_index": bond.sw_if.0,
        "id": bond.id,
        "mode": bond.made.mode.word(),
        "load_balance": bond.balance.word(),
        "numa_only": bond.made.numa_only,
        "gso": bond.made.gso,
        "active_members": bond.active.iter().map(|sw_if| name(*sw_if)).collect::<Vec<_>>(),
        "members": bond.members.iter().map(member).collect::<Vec<_>>(),
    })
}

fn details(w: &World, bond: &BondInfo, out: &mut Writer) {
    let interfaces = w.get::<Interfaces>();
    let name = |sw_if: SwIfIndex| interfaces.name(sw_if);
    out.text(|text| {
        writeln!(text, "{}", name(bond.sw_if))?;
        writeln!(text, "  mode: {}", bond.made.mode.word())?;
        writeln!(text, "  load balance: {}", bond.balance.word())?;
        if bond.made.gso {
            writeln!(text, "  gso enable")?;
        }
        if bond.made.numa_only {
            writeln!(text, "  numa-only")?;
        }
        writeln!(text, "  number of active members: {}", bond.active.len())?;
        bond.active.iter().try_for_each(|sw_if| writeln!(text, "    {}", name(*sw_if)))?;
        writeln!(text, "  number of members: {}", bond.members.len())?;
        for member in &bond.members {
            let passive = if member.passive { " passive" } else { "" };
            let long = if member.long_timeout { " long-timeout" } else { "" };
            let weight = if member.weight == 0 {
                String::new()
            } else {
                format!(" weight {}", member.weight)
            };
            writeln!(text, "    {}{passive}{long}{weight}", name(member.sw_if))?;
        }
        writeln!(text, "  interface id: {}", bond.id)?;
        writeln!(text, "  sw_if_index: {}", bond.sw_if.0)
    });
    out.value(|| value(w, bond));
}

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
fn create_line(world: &World, bond: &BondInfo) -> String {
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
            lines.push(create_line(world, &bond), format!("delete bond {}", name(bond.id)));
        }
    });
    config.list(MEMBERS, bonds, |world, sw_if, lines| {
        let Some(bond) = world.get::<Bonds>().get(sw_if) else { return };
        let interfaces = world.get::<Interfaces>();
        let name = |sw_if| interfaces.word(sw_if);
        for member in &bond.members {
            let passive = if member.passive { " passive" } else { "" };
            let long = if member.long_timeout { " long-timeout" } else { "" };
            let (bond, member_name) = (name(sw_if), name(member.sw_if));
            lines.push(
                format!("bond add {bond} {member_name}{passive}{long}"),
                format!("bond del {member_name}"),
            );
            if member.weight != 0 {
                let line = format!("set interface bond {member_name} weight");
                lines.value(&line, member.weight, 0);
            }
        }
    });
}
