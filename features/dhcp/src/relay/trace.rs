// SPDX-License-Identifier: Apache-2.0
//! Records of relayed messages.

use graph::Trace;
use std::fmt;
use std::net::IpAddr;

/// A message that passes the relay.
#[derive(Clone, Copy)]
pub struct RelayTrace {
    /// True on the way to a client.
    pub to_client: bool,
    /// The message's kind, by its number; 0 for none.
    pub kind: u8,
    /// The server, if one was selected.
    pub server: Option<IpAddr>,
    /// The client's interface.
    pub sw_if: Option<u32>,
}

impl Trace for RelayTrace {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { to_client, kind, server, sw_if } = self;
        write!(f, "DHCP proxy: sent to {}", if *to_client { "client" } else { "server" })?;
        if let (Some(server), false) = (server, to_client) {
            write!(f, " {server}")?;
        }
        write!(f, "\n  message type {kind}")?;
        sw_if.map_or(Ok(()), |sw_if| write!(f, ", client on sw_if_index {sw_if}"))
    }
}
