// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `teib`.

use crate::control::{Endpoint, Teib};
use cli::Result;
use graph::World;
use msg::{Caller, Message, Messages, Module, Wire};
use net::api::{Address, InterfaceIndex};

/// The module.
pub static API: Module<World> =
    Module { name: "teib", version: "1.0.0", crc: 0x14de_d985, core: true, messages };

fn messages(m: &mut Messages<World>) {
    m.call(add_del);
    m.dump(dump);
}

/// Where a peer is.
#[derive(Wire, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TeibEntry {
    /// The interface.
    pub sw_if_index: InterfaceIndex,
    /// The peer, in the overlay.
    pub peer: Address,
    /// Its address in the underlay.
    pub nh: Address,
    /// The table that packets to it are routed in.
    pub nh_table_id: u32,
}

/// Says where a peer is, or forgets it.
#[derive(Message)]
pub struct TeibEntryAddDel {
    /// Add, not remove.
    pub is_add: u8,
    /// The peer; only interface and peer are looked at when it is removed.
    pub entry: TeibEntry,
}

fn add_del(w: &World, _: &Caller<'_, World>, r: TeibEntryAddDel) -> Result<()> {
    let TeibEntry { sw_if_index, peer, nh, nh_table_id } = r.entry;
    let (teib, sw_if) = (w.get::<Teib>(), sw_if_index.existing(w)?);
    if r.is_add == 0 {
        return teib.remove(w, sw_if, peer.into());
    }
    teib.add(w, sw_if, peer.into(), Endpoint { nexthop: nh.into(), table: nh_table_id })
}

/// Asks where peers are.
#[derive(Message)]
#[msg(details)]
pub struct TeibDump {}

/// Where a peer is.
#[derive(Message)]
pub struct TeibDetails {
    /// The peer.
    pub entry: TeibEntry,
}

fn dump(w: &World, _: &Caller<'_, World>, _: TeibDump) -> Result<Vec<TeibDetails>> {
    let entry = |(sw_if, peer, to): (_, std::net::IpAddr, Endpoint)| TeibEntry {
        sw_if_index: InterfaceIndex::from(sw_if),
        peer: peer.into(),
        nh: to.nexthop.into(),
        nh_table_id: to.table,
    };
    Ok(w.get::<Teib>().list().into_iter().map(|one| TeibDetails { entry: entry(one) }).collect())
}
