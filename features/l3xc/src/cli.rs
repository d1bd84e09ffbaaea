// SPDX-License-Identifier: Apache-2.0
//! The commands: parse, call, print.

use crate::control::CrossConnects;
use cli::{Command, Matches, Output, Result, Table, Writer};
use fib::paths;
use graph::{SwIfIndex, World};
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
    let is_ip6 = paths::are_v6(m);
    if is_ip6 { set::<Ip6>(w, m, sw_if) } else { set::<Ip4>(w, m, sw_if) }
}

fn set<F: Ip>(w: &World, m: &Matches, sw_if: SwIfIndex) -> Result<()> {
    let all = w.get::<CrossConnects<F>>();
    if m.flag("del") {
        return all.delete(w, sw_if);
    }
    let read = |path: Matches| paths::read::<F>(w, &path, TableIndex::DEFAULT);
    all.update(w, sw_if, m.groups("via").map(read).collect::<Result<_>>()?)
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
            if is_ip6 {
                rows::<Ip6>(w, sw_if, out)
            } else {
                rows::<Ip4>(w, sw_if, out)
            }
            Ok(())
        },
    ))
}
