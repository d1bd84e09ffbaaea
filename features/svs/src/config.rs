// SPDX-License-Identifier: Apache-2.0
//! The saved configuration.

use crate::control::Svs;
use cli::quote;
use graph::{Phase, RunningConfig, Script, World};
use net::{Interfaces, Net};
use wire::{Ip4, Ip6};

/// Tables of sources and their routes, which lead to tables only.
pub const TABLES: Phase =
    Phase { name: "tables of sources", after: &["tables"], before: &["interfaces"] };

/// Commands that set what is kept here, for the tests that save and restore it.
pub const EXAMPLES: &[Script] = &[Script::here(
    "tables by source",
    "create loopback interface
     create loopback interface
     ip table add 7
     ip6 table add 7
     svs table add ip4 table-id 70
     svs table add ip6 table-id 70
     svs table add ip4 table-id 71
     svs table add ip4 table-id 72
     svs table delete ip4 table-id 72
     svs route add 10.0.0.0/8 table-id 70 src-table-id 7
     svs route add 10.1.0.0/16 table-id 70 src-table-id 0
     svs route add 10.2.0.0/16 table-id 70 src-table-id 7
     svs route delete 10.2.0.0/16 table-id 70
     svs route add 2001:db8::/32 table-id 70 src-table-id 7
     svs enable ip4 table-id 70 loop0
     svs enable ip6 table-id 70 loop0
     svs enable ip4 table-id 71 loop1
     svs enable disable ip4 table-id 71 loop1",
)];

/// Writes tables, routes and interfaces.
pub fn write_config(world: &World, config: &mut RunningConfig) {
    write::<Ip4>(world, config);
    write::<Ip6>(world, config);
}

fn write<F: Net>(world: &World, config: &mut RunningConfig) {
    let svs = world.get::<Svs<F>>();
    config.list(TABLES, svs.tables(), |_, id, lines| {
        let line = |verb| format!("svs table {verb} {} table-id {id}", F::NAME);
        lines.push(line("add"), line("delete"));
    });
    config.list(TABLES, svs.routes(), |_, (id, prefix, to), lines| {
        let line = |verb| format!("svs route {verb} {prefix} table-id {id}");
        lines.push(format!("{} src-table-id {to}", line("add")), line("delete"));
    });
    config.list(Phase::FEATURES, svs.interfaces(), |world, (sw_if, id), lines| {
        let name = quote(&world.get::<Interfaces>().name(sw_if));
        let line = |verb| format!("svs enable {verb} {} table-id {id} {name}", F::NAME);
        lines.push(line("enable"), line("disable"));
    });
}
