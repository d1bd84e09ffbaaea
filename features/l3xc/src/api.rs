// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `l3xc`.

use crate::control::CrossConnects;
use cli::{Error, Result};
use graph::World;
use ip::Ip;
use msg::{Messages, Module, retval};
use net::RouteTables;
use net::api::{FibPath, InterfaceIndex, path_of, path_to};
use wire::{Ip4, Ip6};

/// Messages of this feature, under the module name that clients ask for.
pub static API: Module<World> = Module::plugin("l3xc", messages);

fn messages(m: &mut Messages<World>) {
    m.call(|_, _: L3xcPluginGetVersion| Ok(L3xcPluginGetVersionReply { major: 1, minor: 0 }));
    m.call(|w, r: L3xcUpdate| net::by_version!(r.l3xc.is_ip6, F => update::<F>(w, r.l3xc)));
    m.call(|w, r: L3xcDel| {
        let sw_if = r.sw_if_index.existing(w)?;
        net::by_version!(r.is_ip6, F => w.get::<CrossConnects<F>>().delete(w, sw_if))
    });
    m.dump(dump);
}

msg::messages! {
    /// Asks for the version of this module.
    L3xcPluginGetVersion,
    /// The version.
    L3xcPluginGetVersionReply,
    /// A cross-connect.
    L3xc,
    /// Adds a cross-connect, or replaces the paths of one.
    L3xcUpdate,
    /// Deletes a cross-connect.
    L3xcDel,
    /// Asks for cross-connects.
    L3xcDump,
    /// A cross-connect.
    L3xcDetails,
}

fn update<F: Ip>(w: &World, l3xc: L3xc) -> Result<u32> {
    let sw_if = l3xc.sw_if_index.existing(w)?;
    if l3xc.paths.is_empty() {
        return Err(Error::parse("a cross-connect needs a path").retval(retval::INVALID_VALUE));
    }
    let paths = l3xc.paths.iter().map(|path| path_of(w, F::LINK, path)).collect::<Result<_>>()?;
    w.get::<CrossConnects<F>>().update(w, sw_if, paths)?;
    Ok(0)
}

fn all<F: Ip>(w: &World) -> Vec<L3xc> {
    let tables = w.get::<RouteTables>();
    let one = |(sw_if, paths): (graph::SwIfIndex, Vec<net::Path>)| L3xc {
        sw_if_index: sw_if.into(),
        is_ip6: F::IS_V6,
        paths: paths.iter().map(|path| path_to(&tables, F::LINK, path)).collect(),
    };
    w.get::<CrossConnects<F>>().list().into_iter().map(one).collect()
}

fn dump(w: &World, r: L3xcDump) -> Result<impl Iterator<Item = L3xcDetails> + use<>> {
    let only = r.sw_if_index.existing_or_all(w)?.map(InterfaceIndex::from);
    let all = all::<Ip4>(w).into_iter().chain(all::<Ip6>(w));
    let wanted = all.filter(move |l3xc| only.is_none_or(|only| only == l3xc.sw_if_index));
    Ok(wanted.map(|l3xc| L3xcDetails { l3xc }))
}
