// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `p2p_ethernet`.

use crate::control::{Client, Clients};
use cli::Result;
use graph::{SwIfIndex, World};
use msg::{Messages, Module};
use net::api::{InterfaceIndex, MacAddress};

/// The module.
pub static API: Module<World> = Module::core("p2p_ethernet", messages);

fn messages(m: &mut Messages<World>) {
    m.call(|w, r: P2pEthernetAdd| {
        let client = client(w, r.parent_if_index, r.remote_mac)?;
        w.get::<Clients>().add(w, client, r.subif_id)
    });
    m.call(|w, r: P2pEthernetDel| {
        w.get::<Clients>().delete(w, client(w, r.parent_if_index, r.remote_mac)?)
    });
}

fn client(w: &World, port: InterfaceIndex, mac: MacAddress) -> Result<Client> {
    Ok(Client { port: port.existing(w)?, mac: mac.into() })
}

msg::messages! {
    /// Creates the sub-interface of a client.
    P2pEthernetAdd,
    /// Deletes the sub-interface of a client.
    P2pEthernetDel,
}
