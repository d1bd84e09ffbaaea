// SPDX-License-Identifier: Apache-2.0
//! `show ip local`.

use crate::protocols::Protocols;
use cli::{Error, Matches, Output, Table};
use graph::World;
use net::Net;

pub fn show<F: Net>(w: &World, _: &Matches) -> Result<Output, Error> {
    let mut table = Table::new().right("number").left("protocol").left("node");
    for (protocol, node) in w.get::<Protocols<F>>().list() {
        table.row([
            u32::from(protocol.0).into(),
            protocol.to_string().into(),
            w.node_name(node).to_string().into(),
        ]);
    }
    Ok(table.into())
}
