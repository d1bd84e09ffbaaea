// SPDX-License-Identifier: Apache-2.0
//! Loopback interfaces: a part of the module `interface`.

use crate::loopback;
use graph::{SwIfIndex, World};
use msg::{Messages, Module};
use net::api::{InterfaceIndex, MacAddress};
use wire::MacAddr;

/// This feature's part of the module.
pub static API: Module<World> = Module::core("interface", messages);

fn messages(m: &mut Messages<World>) {
    m.call(|w, r: CreateLoopback| loopback::create(w, given(r.mac_address), None));
    m.call(|w, r: CreateLoopbackInstance| {
        let instance = r.is_specified.then_some(r.user_instance);
        loopback::create(w, given(r.mac_address), instance)
    });
    m.call(|w, r: DeleteLoopback| loopback::delete(w, r.sw_if_index.existing(w)?));
}

/// Zero stands for none.
fn given(mac: MacAddress) -> Option<MacAddr> {
    Some(MacAddr::from(mac)).filter(|mac| !mac.is_zero())
}

msg::messages! {
    /// Makes a loopback interface with the first number that is free.
    CreateLoopback,
    /// Makes a loopback interface.
    CreateLoopbackInstance,
    /// Takes a loopback interface away.
    DeleteLoopback,
}
