// SPDX-License-Identifier: Apache-2.0
//! Messages of features that aren't implemented: they are refused.

use cli::{Error, Result};
use graph::World;
use msg::{Messages, retval};

pub(super) fn messages(m: &mut Messages<World>) {
    m.call(|_, _: IoamEnable| refuse("in-situ OAM"));
    m.call(|_, _: IoamDisable| refuse("in-situ OAM"));
}

fn refuse(what: &str) -> Result<()> {
    Err(Error::unsupported(format!("{what}: not built")).retval(retval::UNIMPLEMENTED))
}

msg::messages! {
    /// Writes in-situ OAM data into packets: refused, it isn't implemented.
    IoamEnable,
    /// Stops writing in-situ OAM data into packets: refused, it isn't implemented.
    IoamDisable,
}
