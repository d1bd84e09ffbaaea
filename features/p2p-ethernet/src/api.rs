// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `p2p_ethernet`.

use crate::control::{Client, Clients};
use cli::Result;
use graph::World;
use msg::{Caller, Message, Messages, Module};
use net::api::{InterfaceIndex, MacAddress};

/// The module.
pub static API: Module<World> =
    Module { name: "p2p_ethernet", version: "1.0.0", crc: 0x3cfe_55da, core: true, messages };

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

/// Creates the sub-interface of a client.
#[derive(Message)]
#[msg(reply)]
pub struct P2pEthernetAdd {
    /// The port.
    pub parent_if_index: InterfaceIndex,
    /// The number behind the dot in the name.
    pub subif_id: u32,
    /// The client's MAC address.
    pub remote_mac: MacAddress,
}

/// The new sub-interface.
#[derive(Message, Debug, PartialEq, Eq)]
pub struct P2pEthernetAddReply {
    /// Its index.
    pub sw_if_index: InterfaceIndex,
}

/// Deletes the sub-interface of a client.
#[derive(Message)]
pub struct P2pEthernetDel {
    /// The port.
    pub parent_if_index: InterfaceIndex,
    /// The client's MAC address.
    pub remote_mac: MacAddress,
}
