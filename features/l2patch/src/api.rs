// SPDX-License-Identifier: Apache-2.0
//! The message of the module `l2`.

use crate::control::Patches;
use cli::retval;
use graph::World;
use msg::{Messages, Module};
use net::api::InterfaceIndex;

/// The module, of which layer-2 switching has the other messages.
pub static API: Module<World> = Module::core("l2", messages);

fn messages(m: &mut Messages<World>) {
    m.call(|w, r: L2PatchAddDel| {
        let from = r.rx_sw_if_index.existing(w)?;
        let to =
            r.tx_sw_if_index.existing(w).map_err(|e| e.retval(retval::INVALID_SW_IF_INDEX_2))?;
        w.get::<Patches>().set(w, (from, to), r.is_add)
    });
}

msg::messages! {
    /// Sends all frames that a device receives by another one, or ends that.
    L2PatchAddDel,
}
