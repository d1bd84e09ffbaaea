// SPDX-License-Identifier: Apache-2.0
//! The commands, and the lines that save what they set.

use crate::control::CrossConnects;
use cli::{Command, Matches, Output, Result, Table, Writer};
use fib::paths;
use graph::{Phase, RunningConfig, Script, SwIfIndex, World};
use ip::Ip;
use net::args::interface;
use net::{Interfaces, TableIndex};
use wire::{Ip4, Ip6};

pub const COMMANDS: &[Command<World>] = cli::commands! {
    /// Send all unicast packets that an interface receives by these paths, or let them be routed
    /// again
    "l3xc",
    concat!("[add|del] <source:interface> [ip4|ip6] [{", fib::path_usage!(), "}...]") => run;
    /// Layer-3 cross-connects
    "show l3xc" => show;
};

fn run(w: &World, m: &Matches) -> Result<()> {
    let sw_if = interface(w, m, "source")?;
    net::by_version!(paths::are_v6(m), F => set::<F>(w, m, sw_if))
}

fn set<F: Ip>(w: &World, m: &Matches, sw_if: SwIfIndex) -> Result<()> {
    let all = w.get::<CrossConnects<F>>();
    if m.flag("del") {
        return all.delete(w, sw_if);
    }
    let read = |path: Matches| paths::read::<F>(w, &path, TableIndex::DEFAULT);
    let paths = m.groups("via").map(read).collect::<Result<Vec<_>>>()?;
    net::notes::own_next_hops(w, m, &paths);
    all.update(w, sw_if, paths)
}

/// A row for each path, with its state.
fn rows<F: Ip>(w: &World, sw_if: SwIfIndex, out: &mut Writer) {
    let tracked = w.get::<CrossConnects<F>>().tracked(sw_if);
    let Some(info) = tracked.and_then(|tracked| tracked.paths(w)) else { return };
    let name = w.get::<Interfaces>().name(sw_if);
    for ((path, _), state) in info.paths.iter().zip(&info.states) {
        let text = paths::describe(w, F::LINK, path, *state);
        out.row([name.clone().into(), F::NAME.into(), text.into()]);
    }
}

fn show(w: &World, _: &Matches) -> Result<Output> {
    let table = Table::new().left("Interface").left("Protocol").left("Path");
    let ip4 = w.get::<CrossConnects<Ip4>>().list().into_iter().map(|(sw_if, _)| (sw_if, false));
    let ip6 = w.get::<CrossConnects<Ip6>>().list().into_iter().map(|(sw_if, _)| (sw_if, true));
    Ok(table.list(
        ip4.chain(ip6).collect::<Vec<_>>(),
        |w: &World, (sw_if, is_ip6), out: &mut Writer| {
            net::by_version!(is_ip6, F => rows::<F>(w, sw_if, out));
            Ok(())
        },
    ))
}

/// Commands that set what is kept here, for the tests that save and restore it.
pub const EXAMPLES: &[Script] = &[Script::here(
    "cross-connects of layer 3",
    "create loopback interface
     create loopback interface
     create loopback interface
     ip table add 7
     ip6 table add 7
     set interface state loop1 up
     set interface ip address loop1 10.0.1.1/24
     set interface ip address loop2 10.0.2.1/24
     l3xc add loop0 via 10.0.1.2 loop1
     l3xc add loop0 via 2001:db8::2 loop1 weight 3 via 2001:db8:1::2 loop2 preference 1
     l3xc add loop1 via 10.0.2.2
     l3xc loop1 via 10.0.2.2 next-hop-table 7 via loop2 via drop
     l3xc add loop1 ip6 via 10.0.2.2 loop2
     l3xc add loop2 ip6 via unreach
     l3xc add loop2 via 10.0.1.2 loop1
     l3xc del loop2",
)];

/// Writes a line for each cross-connect.
pub fn write_config(world: &World, config: &mut RunningConfig) {
    write::<Ip4>(world, config);
    write::<Ip6>(world, config);
}

fn write<F: Ip>(world: &World, config: &mut RunningConfig) {
    let (interfaces, ids) = (world.get::<Interfaces>(), paths::Ids::new(world));
    let all = world.get::<CrossConnects<F>>().list();
    config.list(Phase::ROUTES, all, move |_, (sw_if, crossed), lines| {
        let name = interfaces.word(sw_if);
        let words = crossed
            .iter()
            .map(|path| paths::words::<F>(&interfaces, &ids, TableIndex::DEFAULT, path));
        let words = words.collect::<Vec<_>>().join(" ");
        let of = format!("{name} {}", F::NAME);
        lines.push(format!("l3xc add {of} {words}"), format!("l3xc del {of}"));
    });
}
