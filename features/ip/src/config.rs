// SPDX-License-Identifier: Apache-2.0
//! Settings of interfaces, as commands.

use crate::broadcast::DirectedBroadcast;
use cli::quote;
use graph::{Phase, RunningConfig, SwIfIndex, World};
use net::{Addresses, Fib, Interfaces, IpBinding, LinkLocals, Net, implied_table};
use wire::{Ip4, Ip6, Prefix};

/// Writes the configuration.
pub fn write_config(world: &World, config: &mut RunningConfig) {
    unnumbered(world, config, false);
    tables::<Ip4>(world, config);
    tables::<Ip6>(world, config);
    unnumbered(world, config, true);
    addresses::<Ip4>(world, config);
    addresses::<Ip6>(world, config);
    links(world, config);
}

/// True if an interface and its lender are in the same tables. A lender in another table is
/// refused, but both may be moved to different tables afterwards, as in VPP. So their line stands
/// before those that bind interfaces to tables, the lines of others behind these.
fn are_together(world: &World, sw_if: SwIfIndex, lender: SwIfIndex) -> bool {
    let tables = |sw_if| {
        let ip = IpBinding::of(world, sw_if);
        (ip.table::<Ip4>(), ip.table::<Ip6>())
    };
    tables(sw_if) == tables(lender)
}

/// The table in which the line that makes an interface puts it.
fn made_in<F: Net>(world: &World, sw_if: SwIfIndex) -> Option<u32> {
    let interface = world.get::<Interfaces>().get(sw_if).ok()?;
    Some(implied_table::<F>(world, interface.original.implied))
}

/// The table in which an interface meets its lender to borrow addresses, if both are made in
/// different tables and end in different ones.
fn met_in<F: Net>(world: &World, sw_if: SwIfIndex) -> Option<u32> {
    let lender = world.get::<Addresses<Ip4>>().unnumbered(sw_if)?;
    let table = made_in::<F>(world, lender).filter(|id| made_in::<F>(world, sw_if) != Some(*id));
    table.filter(|_| !are_together(world, sw_if, lender))
}

fn binding<F: Net>(world: &World, sw_if: SwIfIndex, from: u32, to: u32) -> (String, String) {
    let name = world.get::<Interfaces>().word(sw_if);
    let line =
        |id| format!("set interface {} table {name} {id}", if F::IS_V6 { "ip6" } else { "ip" });
    (line(to), line(from))
}

/// Unnumbered interfaces whose lenders are in their tables, or in others.
fn unnumbered(world: &World, config: &mut RunningConfig, together: bool) {
    let (interfaces, addresses) = (world.get::<Interfaces>(), world.get::<Addresses<Ip4>>());
    let is_wanted = |sw_if: &SwIfIndex| {
        let lender = addresses.unnumbered(*sw_if);
        lender.is_some_and(|lender| are_together(world, *sw_if, lender) == together)
    };
    let all: Vec<_> = interfaces.indices().filter(is_wanted).collect();
    config.list(Phase::BINDINGS, all, move |world, sw_if, lines| {
        fn meet<F: Net>(world: &World, sw_if: SwIfIndex) -> Option<(String, String)> {
            Some(binding::<F>(
                world,
                sw_if,
                made_in::<F>(world, sw_if)?,
                met_in::<F>(world, sw_if)?,
            ))
        }
        for (line, undo) in
            [meet::<Ip4>(world, sw_if), meet::<Ip6>(world, sw_if)].into_iter().flatten()
        {
            lines.push(line, undo);
        }
        // The command sets both versions.
        if let Some(lender) = addresses.unnumbered(sw_if) {
            let (name, lender) = (interfaces.word(sw_if), interfaces.word(lender));
            lines.push(
                format!("set interface unnumbered {name} use {lender}"),
                format!("set interface unnumbered del {name}"),
            );
        }
    });
}

/// Tables that interfaces are bound to.
fn tables<F: Net>(world: &World, config: &mut RunningConfig) {
    let (fib, interfaces) = (world.get::<Fib<F>>(), world.get::<Interfaces>());
    config.list(Phase::BINDINGS, interfaces.indices(), move |world, sw_if, lines| {
        let before = met_in::<F>(world, sw_if).or_else(|| made_in::<F>(world, sw_if));
        let Some(before) = before else { return };
        let table = IpBinding::of(world, sw_if).table::<F>();
        if let Some(id) = fib.table_id(table).filter(|id| *id != before) {
            let (line, undo) = binding::<F>(world, sw_if, before, id);
            lines.push(line, undo);
        }
    });
}

fn addresses<F: Net>(world: &World, config: &mut RunningConfig) {
    let (addresses, interfaces) = (world.get::<Addresses<F>>(), world.get::<Interfaces>());
    config.list(Phase::ADDRESSES, interfaces.indices(), move |_, sw_if, lines| {
        let Ok(interface) = interfaces.get(sw_if) else { return };
        let (name, enabled) = (quote(&interface.name), addresses.is_enabled(sw_if));
        if enabled != interface.original.implied.ip[usize::from(F::IS_V6)] {
            let line = |on| {
                format!("{} {} interface {name}", if on { "enable" } else { "disable" }, F::NAME)
            };
            lines.push(line(enabled), line(!enabled));
        }
        let set = |prefix: &Prefix<F::Addr>| !addresses.is_learned(sw_if, *prefix);
        for prefix in addresses.own(sw_if).into_iter().filter(set) {
            lines.push(
                format!("set interface ip address {name} {prefix}"),
                format!("set interface ip address del {name} {prefix}"),
            );
        }
    });
}

/// Link-local addresses that were set by hand, and directed broadcasts.
fn links(world: &World, config: &mut RunningConfig) {
    let indices = world.get::<Interfaces>().indices();
    config.list(Phase::FEATURES, indices, |world, sw_if, lines| {
        if world.get::<DirectedBroadcast>().is_on(sw_if) {
            let name = world.get::<Interfaces>().word(sw_if);
            let line = format!("set interface ip directed-broadcast {name}");
            lines.value(&line, "enable", "disable");
        }
    });
    let indices = world.get::<Interfaces>().indices();
    config.list(Phase::ADDRESSES, indices, |world, sw_if, lines| {
        if let Some(address) = world.get::<LinkLocals>().is_set(sw_if) {
            let name = world.get::<Interfaces>().word(sw_if);
            lines.until(format!("set ip6 link-local address {name} {address}"), "del");
        }
    });
}
