// SPDX-License-Identifier: Apache-2.0
//! Multicast routes that were set, as commands.

use cli::quote;
use graph::{Phase, RunningConfig, World};
use net::mfib::{EntryFlags, Group, Mpath, MpathKind, MrouteSource, NO_RPF_ID};
use net::{Fib, Interfaces, Mfib, Net, Source, TableIndex};
use wire::{Ip4, Ip6};

/// Says what was set.
pub fn write_config(world: &World, config: &mut RunningConfig) {
    routes::<Ip4>(world, config);
    routes::<Ip6>(world, config);
}

/// As commands name it.
fn name<F: Net>(group: &Group<F::Addr>) -> String {
    match group.source {
        Some(source) => format!("{source} {}", group.addr),
        None if group.len == F::BITS => group.addr.to_string(),
        None => format!("{}/{}", group.addr, group.len),
    }
}

fn via(interfaces: &Interfaces, path: &Mpath) -> String {
    match path.kind {
        MpathKind::Local => "via local".into(),
        MpathKind::Interface { sw_if, nexthop } => {
            let nexthop = nexthop.map(|nexthop| format!("{nexthop} ")).unwrap_or_default();
            format!("via {nexthop}{}", quote(&interfaces.name(sw_if)))
        }
    }
}

/// A path and its flags.
fn whole(interfaces: &Interfaces, path: &Mpath) -> String {
    [via(interfaces, path)]
        .into_iter()
        .chain(path.flags.words().into_iter().map(String::from))
        .collect::<Vec<_>>()
        .join(" ")
}

/// One line for each path, so that what is added doesn't disturb the others; one for all, if
/// something is said of the entry.
fn routes<F: Net>(world: &World, config: &mut RunningConfig) {
    let (fib, mfib, interfaces) =
        (world.get::<Fib<F>>(), world.get::<Mfib<F>>(), world.get::<Interfaces>());
    let routes = fib.list_tables().into_iter().flat_map(move |table| {
        let (mfib, index) = (mfib.clone(), table.index);
        let of = if index == TableIndex::DEFAULT {
            String::new()
        } else {
            format!(" table {}", table.id)
        };
        cli::pieces(move |after, n| mfib.list(index, after, n), |route| route.group)
            .map(move |route| (of.clone(), route))
    });
    config.list(Phase::ROUTES, routes, move |_, (of, route), lines| {
        let group = name::<F>(&route.group) + &of;
        let set = |s: &&MrouteSource| matches!(s.source, Source::Cli | Source::Api);
        for said in route.sources.iter().filter(set) {
            let undo = format!("ip mroute del {group}");
            if said.flags == EntryFlags::empty()
                && said.rpf_id == NO_RPF_ID
                && !said.paths.is_empty()
            {
                for path in &said.paths {
                    let line = format!("ip mroute add {group} {}", whole(&interfaces, path));
                    lines.push(line, format!("{undo} {}", via(&interfaces, path)));
                }
                continue;
            }
            let mut line = vec![format!("ip mroute add {group}")];
            if said.rpf_id != NO_RPF_ID {
                line.push(format!("rpf-id {}", said.rpf_id));
            }
            line.extend(said.flags.words().into_iter().map(String::from));
            line.extend(said.paths.iter().map(|path| whole(&interfaces, path)));
            lines.push(line.join(" "), undo);
        }
    });
}
