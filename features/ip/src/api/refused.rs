// SPDX-License-Identifier: Apache-2.0
//! Messages of features that aren't implemented: they are refused.

use cli::{Error, Result};
use graph::World;
use msg::{Caller, Message, Messages, retval};

pub(super) fn messages(m: &mut Messages<World>) {
    m.call(|_: &World, _: &Caller<'_, World>, _: IoamEnable| refuse("in-situ OAM"));
    m.call(|_: &World, _: &Caller<'_, World>, _: IoamDisable| refuse("in-situ OAM"));
}

fn refuse(what: &str) -> Result<()> {
    Err(Error::unsupported(format!("{what}: not built")).retval(retval::UNIMPLEMENTED))
}

/// Writes in-situ OAM data into packets: refused, it isn't implemented.
#[derive(Message)]
pub struct IoamEnable {
    /// Of no meaning.
    pub id: u16,
    /// With sequence numbers.
    pub seqno: bool,
    /// Look at them at the end.
    pub analyse: bool,
    /// With a proof of transit.
    pub pot_enable: bool,
    /// With a trace.
    pub trace_enable: bool,
    /// The number of this router.
    pub node_id: u32,
}

/// Stops writing in-situ OAM data into packets: refused, it isn't implemented.
#[derive(Message)]
pub struct IoamDisable {
    /// Of no meaning.
    pub id: u16,
}
