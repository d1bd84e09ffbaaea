// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `teib`.

use crate::control::{Endpoint, Teib};
use cli::Result;
use graph::World;
use msg::{Messages, Module};
use net::api::{Address, InterfaceIndex};

/// The module.
pub static API: Module<World> = Module::core("teib", messages);

fn messages(m: &mut Messages<World>) {
    m.call(add_del);
    m.dump(dump);
}

msg::messages! {
    /// Where a peer is.
    TeibEntry,
    /// Says where a peer is, or forgets it.
    TeibEntryAddDel,
    /// Asks where peers are.
    TeibDump,
    /// Where a peer is.
    TeibDetails,
}

fn add_del(w: &World, r: TeibEntryAddDel) -> Result<()> {
    let TeibEntry { sw_if_index, peer, nh, nh_table_id } = r.entry;
    let (teib, sw_if) = (w.get::<Teib>(), sw_if_index.existing(w)?);
    if r.is_add == 0 {
        return teib.remove(w, sw_if, peer.into());
    }
    teib.add(w, sw_if, peer.into(), Endpoint { nexthop: nh.into(), table: nh_table_id })
}

fn dump(w: &World, _: TeibDump) -> Result<Vec<TeibDetails>> {
    let entry = |(sw_if, peer, to): (_, std::net::IpAddr, Endpoint)| TeibEntry {
        sw_if_index: InterfaceIndex::from(sw_if),
        peer: peer.into(),
        nh: to.nexthop.into(),
        nh_table_id: to.table,
    };
    Ok(w.get::<Teib>().list().into_iter().map(|one| TeibDetails { entry: entry(one) }).collect())
}
