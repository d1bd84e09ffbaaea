// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `svs`.

use crate::control::Svs;
use cli::Result;
use graph::World;
use msg::{Caller, Message, Messages, Module};
use net::Net;
use net::api::{AddressFamily, InterfaceIndex, Prefix};
use wire::{Ip4, Ip6};

/// The module.
pub static API: Module<World> =
    Module { name: "svs", version: "1.0.0", crc: 0x816c_f275, core: false, messages };

fn messages(m: &mut Messages<World>) {
    m.call(|_: &World, _: &Caller<'_, World>, _: SvsPluginGetVersion| -> Result<_> {
        Ok(SvsPluginGetVersionReply { major: 1, minor: 0 })
    });
    m.call(
        |w: &World, _: &Caller<'_, World>, r: SvsTableAddDel| {
            if r.af.is_ip6() { table::<Ip6>(w, &r) } else { table::<Ip4>(w, &r) }
        },
    );
    m.call(|w: &World, _: &Caller<'_, World>, r: SvsRouteAddDel| -> Result<()> {
        match r.prefix.of::<Ip4>()? {
            Some(prefix) => route::<Ip4>(w, &r, prefix),
            None => match r.prefix.of::<Ip6>()? {
                Some(prefix) => route::<Ip6>(w, &r, prefix),
                None => Ok(()),
            },
        }
    });
    m.call(
        |w: &World, _: &Caller<'_, World>, r: SvsEnableDisable| {
            if r.af.is_ip6() { enable::<Ip6>(w, &r) } else { enable::<Ip4>(w, &r) }
        },
    );
    m.dump(|w: &World, _: &Caller<'_, World>, _: SvsDump| -> Result<Vec<SvsDetails>> {
        let mut all = details::<Ip4>(w, AddressFamily::Ip4);
        all.extend(details::<Ip6>(w, AddressFamily::Ip6));
        Ok(all)
    });
}

/// Asks for the version of this module.
#[derive(Message)]
#[msg(reply)]
pub struct SvsPluginGetVersion {}

/// The version.
#[derive(Message, Debug)]
#[msg(head(context))]
pub struct SvsPluginGetVersionReply {
    /// Incremented when something changes that clients rely on.
    pub major: u32,
    /// Incremented by small changes.
    pub minor: u32,
}

/// Creates or deletes a table of sources.
#[derive(Message)]
pub struct SvsTableAddDel {
    /// Create, not delete.
    pub is_add: bool,
    /// The protocol.
    pub af: AddressFamily,
    /// The table.
    pub table_id: u32,
}

fn table<F: Net>(w: &World, r: &SvsTableAddDel) -> Result<()> {
    let svs = w.get::<Svs<F>>();
    if r.is_add { svs.add_table(w, r.table_id) } else { svs.delete_table(w, r.table_id) }
}

/// Lets sources lead to a table, or no longer.
#[derive(Message)]
pub struct SvsRouteAddDel {
    /// Add, not delete.
    pub is_add: bool,
    /// The sources.
    pub prefix: Prefix,
    /// The table of sources.
    pub table_id: u32,
    /// The table that they lead to.
    pub source_table_id: u32,
}

fn route<F: Net>(w: &World, r: &SvsRouteAddDel, prefix: wire::Prefix<F::Addr>) -> Result<()> {
    let svs = w.get::<Svs<F>>();
    match r.is_add {
        true => svs.add_route(w, r.table_id, prefix, r.source_table_id),
        false => svs.delete_route(w, r.table_id, prefix),
    }
}

/// Selects the tables of an interface's packets by their sources, or no longer.
#[derive(Message)]
pub struct SvsEnableDisable {
    /// Enable, not disable.
    pub is_enable: bool,
    /// The protocol.
    pub af: AddressFamily,
    /// The table of sources.
    pub table_id: u32,
    /// The interface.
    pub sw_if_index: InterfaceIndex,
}

fn enable<F: Net>(w: &World, r: &SvsEnableDisable) -> Result<()> {
    let (svs, sw_if) = (w.get::<Svs<F>>(), r.sw_if_index.existing(w)?);
    match r.is_enable {
        true => svs.enable(w, sw_if, r.table_id),
        false => svs.disable(w, sw_if, r.table_id),
    }
}

/// Asks for the interfaces whose packets are selected.
#[derive(Message)]
#[msg(details)]
pub struct SvsDump {}

/// An interface whose packets are selected.
#[derive(Message, Debug, PartialEq, Eq)]
pub struct SvsDetails {
    /// The table of sources.
    pub table_id: u32,
    /// The interface.
    pub sw_if_index: InterfaceIndex,
    /// The protocol.
    pub af: AddressFamily,
}

fn details<F: Net>(w: &World, af: AddressFamily) -> Vec<SvsDetails> {
    let of = |(sw_if, table_id): (graph::SwIfIndex, u32)| SvsDetails {
        table_id,
        sw_if_index: sw_if.into(),
        af,
    };
    w.get::<Svs<F>>().interfaces().into_iter().map(of).collect()
}
