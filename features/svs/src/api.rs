// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `svs`.

use crate::control::Svs;
use cli::Result;
use graph::World;
use msg::{Messages, Module};
use net::Net;
use net::api::{AddressFamily, InterfaceIndex, Prefix};
use wire::{Ip4, Ip6};

/// The module.
pub static API: Module<World> = Module::plugin("svs", messages);

fn messages(m: &mut Messages<World>) {
    m.call(|_, _: SvsPluginGetVersion| Ok(SvsPluginGetVersionReply { major: 1, minor: 0 }));
    m.call(|w, r: SvsTableAddDel| {
        net::by_version!(r.af.is_ip6(), F => {
            let svs = w.get::<Svs<F>>();
            if r.is_add { svs.add_table(w, r.table_id) } else { svs.delete_table(w, r.table_id) }
        })
    });
    m.call(|w, r: SvsRouteAddDel| match r.prefix.of::<Ip4>()? {
        Some(prefix) => route::<Ip4>(w, &r, prefix),
        None => match r.prefix.of::<Ip6>()? {
            Some(prefix) => route::<Ip6>(w, &r, prefix),
            None => Ok(()),
        },
    });
    m.call(|w, r: SvsEnableDisable| {
        let sw_if = r.sw_if_index.existing(w)?;
        net::by_version!(r.af.is_ip6(), F => match r.is_enable {
            true => w.get::<Svs<F>>().enable(w, sw_if, r.table_id),
            false => w.get::<Svs<F>>().disable(w, sw_if, r.table_id),
        })
    });
    m.dump(|w, _: SvsDump| {
        let mut all = details::<Ip4>(w, AddressFamily::Ip4);
        all.extend(details::<Ip6>(w, AddressFamily::Ip6));
        Ok(all)
    });
}

msg::messages! {
    /// Asks for the version of this module.
    SvsPluginGetVersion,
    /// The version.
    SvsPluginGetVersionReply,
    /// Creates or deletes a table of sources.
    SvsTableAddDel,
    /// Lets sources lead to a table, or no longer.
    SvsRouteAddDel,
    /// Selects the tables of an interface's packets by their sources, or no longer.
    SvsEnableDisable,
    /// Asks for the interfaces whose packets are selected.
    SvsDump,
    /// An interface whose packets are selected.
    SvsDetails,
}

fn route<F: Net>(w: &World, r: &SvsRouteAddDel, prefix: wire::Prefix<F::Addr>) -> Result<()> {
    let svs = w.get::<Svs<F>>();
    match r.is_add {
        true => svs.add_route(w, r.table_id, prefix, r.source_table_id),
        false => svs.delete_route(w, r.table_id, prefix),
    }
}

fn details<F: Net>(w: &World, af: AddressFamily) -> Vec<SvsDetails> {
    let of = |(sw_if, table_id): (graph::SwIfIndex, u32)| SvsDetails {
        table_id,
        sw_if_index: sw_if.into(),
        af,
    };
    w.get::<Svs<F>>().interfaces().into_iter().map(of).collect()
}
