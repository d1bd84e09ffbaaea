// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `l3xc`.

use crate::control::CrossConnects;
use cli::{Error, Result};
use graph::World;
use ip::Ip;
use msg::{Caller, Message, Messages, Module, Wire, retval};
use net::RouteTables;
use net::api::{FibPath, InterfaceIndex, path_of, path_to};
use wire::{Ip4, Ip6};

/// The module.
pub static API: Module<World> =
    Module { name: "l3xc", version: "1.0.1", crc: 0x520b_fc6e, core: false, messages };

fn messages(m: &mut Messages<World>) {
    m.call(|_: &World, _: &Caller<'_, World>, _: L3xcPluginGetVersion| -> Result<_> {
        Ok(L3xcPluginGetVersionReply { major: 1, minor: 0 })
    });
    m.call(
        |w: &World, _: &Caller<'_, World>, r: L3xcUpdate| {
            if r.l3xc.is_ip6 { update::<Ip6>(w, r.l3xc) } else { update::<Ip4>(w, r.l3xc) }
        },
    );
    m.call(|w: &World, _: &Caller<'_, World>, r: L3xcDel| -> Result<()> {
        let sw_if = r.sw_if_index.existing(w)?;
        match r.is_ip6 {
            true => w.get::<CrossConnects<Ip6>>().delete(w, sw_if),
            false => w.get::<CrossConnects<Ip4>>().delete(w, sw_if),
        }
    });
    m.dump(dump);
}

/// Asks for the version of this module.
#[derive(Message)]
#[msg(reply)]
pub struct L3xcPluginGetVersion {}

/// The version.
#[derive(Message, Debug)]
#[msg(head(context))]
pub struct L3xcPluginGetVersionReply {
    /// Incremented when something changes that clients rely on.
    pub major: u32,
    /// Incremented by small changes.
    pub minor: u32,
}

/// A cross-connect.
#[derive(Wire, Clone, Debug, Default, PartialEq, Eq)]
pub struct L3xc {
    /// The interface that receives.
    pub sw_if_index: InterfaceIndex,
    /// Packets of IPv6, not IPv4.
    pub is_ip6: bool,
    /// The paths that its packets take.
    #[count(n_paths: u8)]
    pub paths: Vec<FibPath>,
}

/// Adds a cross-connect, or replaces the paths of one.
#[derive(Message)]
#[msg(reply)]
pub struct L3xcUpdate {
    /// The cross-connect.
    pub l3xc: L3xc,
}

/// It is in force.
#[derive(Message, Debug, PartialEq, Eq)]
pub struct L3xcUpdateReply {
    /// 0: there are no counters of its own.
    pub stats_index: u32,
}

fn update<F: Ip>(w: &World, l3xc: L3xc) -> Result<L3xcUpdateReply> {
    let sw_if = l3xc.sw_if_index.existing(w)?;
    if l3xc.paths.is_empty() {
        return Err(Error::parse("a cross-connect needs a path").retval(retval::INVALID_VALUE));
    }
    let paths = l3xc.paths.iter().map(|path| path_of(w, F::LINK, path)).collect::<Result<_>>()?;
    w.get::<CrossConnects<F>>().update(w, sw_if, paths)?;
    Ok(L3xcUpdateReply { stats_index: 0 })
}

/// Deletes a cross-connect.
#[derive(Message)]
pub struct L3xcDel {
    /// The interface that receives.
    pub sw_if_index: InterfaceIndex,
    /// Packets of IPv6, not IPv4.
    pub is_ip6: bool,
}

/// Asks for cross-connects.
#[derive(Message)]
#[msg(details)]
pub struct L3xcDump {
    /// Receiving interface; all bits set: cross-connects of all interfaces.
    pub sw_if_index: InterfaceIndex,
}

/// A cross-connect.
#[derive(Message, Debug)]
pub struct L3xcDetails {
    /// The cross-connect.
    pub l3xc: L3xc,
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

fn dump(
    w: &World,
    _: &Caller<'_, World>,
    r: L3xcDump,
) -> Result<impl Iterator<Item = L3xcDetails> + use<>> {
    let only = r.sw_if_index.existing_or_all(w)?.map(InterfaceIndex::from);
    let all = all::<Ip4>(w).into_iter().chain(all::<Ip6>(w));
    let wanted = all.filter(move |l3xc| only.is_none_or(|only| only == l3xc.sw_if_index));
    Ok(wanted.map(|l3xc| L3xcDetails { l3xc }))
}
