// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `p2p_ethernet`.

use crate::control::{Client, Clients};
use cli::Result;
use graph::World;
use msg::{Caller, Messages, Module};
use net::api::{InterfaceIndex, MacAddress};

/// The module.
pub static API: Module<World> = Module::core("p2p_ethernet", messages);

fn messages(m: &mut Messages<World>) {
    m.call(|w: &World, _: &Caller<'_, World>, r: P2pEthernetAdd| -> Result<_> {
        let client = client(w, r.parent_if_index, r.remote_mac)?;
        let sub = w.get::<Clients>().add(w, client, r.subif_id)?;
        Ok(P2pEthernetAddReply { sw_if_index: sub.into() })
    });
    m.call(|w: &World, _: &Caller<'_, World>, r: P2pEthernetDel| -> Result<()> {
        w.get::<Clients>().delete(w, client(w, r.parent_if_index, r.remote_mac)?)
    });
}

fn client(w: &World, port: InterfaceIndex, mac: MacAddress) -> Result<Client> {
    Ok(Client { port: port.existing(w)?, mac: mac.into() })
}

msg::messages! {
    /// Creates the sub-interface of a client.
    P2pEthernetAdd,
    /// The new sub-interface.
    #[derive(Debug, PartialEq, Eq)]
    P2pEthernetAddReply,
    /// Deletes the sub-interface of a client.
    P2pEthernetDel,
}
