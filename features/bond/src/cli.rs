// SPDX-License-Identifier: Apache-2.0
//! The commands: parse, call, print.

use crate::model::{BondInfo, MemberInfo, NewBond, Stage};
use crate::state::Bonds;
use cli::{Command, Error, Matches, Output, Result, Table, Writer, retval};
use graph::{SwIfIndex, World};
use net::Interfaces;
use object::{Arguments, Choice};
use serde_json::json;
use std::fmt::Write as _;

pub const COMMANDS: &[Command<World>] = cli::commands! {
    /// Create a bond: an interface whose frames leave and come in by several members; load-balance:
    /// choose the member by MAC addresses (l2), MAC and IP addresses (l23), or addresses and ports
    /// (l34)
    "create bond", cli::join!("(", NewBond::USAGE, ")") => create;
    /// Delete a bond; its members are interfaces of their own again
    "delete bond", "{<interface:interface> | sw_if_index <index:u32>}" => delete;
    /// Make an interface a member of a bond; LACP: passive waits for the partner, long-timeout asks
    /// it for a data unit each 30 seconds
    "bond add", "<bond:interface> <member:interface> [passive] [long-timeout]" => add;
    /// Take a member out of its bond
    "bond del", "<member:interface>" => remove;
    /// Set the weight of a member: the active member of an active-backup bond with the highest one
    /// is used
    "set interface bond",
    "{<interface:interface> | sw_if_index <index:u32>} weight <weight:u32>" => weight;
    /// Bonds and their members
    "show bond", "[details]" => show;
};

fn interface(w: &World, m: &Matches, word: &str) -> Result<SwIfIndex> {
    match m.opt::<u32>("index")? {
        Some(index) if word == "interface" => Ok(SwIfIndex(index)),
        _ => net::args::interface(w, m, word),
    }
}

fn create(w: &World, m: &Matches) -> Result<Output> {
    let new = NewBond::read(w, m)?;
    if m.has("balance") && !new.mode.hashes() {
        return Err(Error::parse("load-balance is for the modes xor and lacp")
            .at(m.span("balance"))
            .retval(retval::INVALID_ARGUMENT));
    }
    let new = NewBond { id: new.id.filter(|id| *id != u32::MAX), ..new };
    let sw_if = w.get::<Bonds>().create(w, new)?;
    Ok(Output::text(format!("{}\n", w.get::<Interfaces>().name(sw_if))))
}

fn delete(w: &World, m: &Matches) -> Result<()> {
    w.get::<Bonds>().delete(w, interface(w, m, "interface")?)
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

fn remove(w: &World, m: &Matches) -> Result<()> {
    w.get::<Bonds>().detach(w, interface(w, m, "member")?)
}

fn weight(w: &World, m: &Matches) -> Result<()> {
    let sw_if = interface(w, m, "interface")?;
    w.get::<Interfaces>().check(sw_if)?;
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
