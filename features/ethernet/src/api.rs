// SPDX-License-Identifier: Apache-2.0
//! Loopback interfaces: a part of the module `interface`.

use crate::loopback;
use cli::Result;
use graph::World;
use msg::{Caller, Messages, Module};
use net::api::{InterfaceIndex, MacAddress};
use wire::MacAddr;

/// This feature's part of the module.
pub static API: Module<World> = Module::core("interface", messages);

fn messages(m: &mut Messages<World>) {
    m.call(|w: &World, _: &Caller<'_, World>, r: CreateLoopback| {
        let sw_if_index = loopback::create(w, given(r.mac_address), None)?.into();
        Ok(CreateLoopbackReply { sw_if_index })
    });
    m.call(|w: &World, _: &Caller<'_, World>, r: CreateLoopbackInstance| {
        let instance = r.is_specified.then_some(r.user_instance);
        let sw_if_index = loopback::create(w, given(r.mac_address), instance)?.into();
        Ok(CreateLoopbackInstanceReply { sw_if_index })
    });
    m.call(|w: &World, _: &Caller<'_, World>, r: DeleteLoopback| -> Result<()> {
        loopback::delete(w, r.sw_if_index.existing(w)?)
    });
}

/// Zero stands for none.
fn given(mac: MacAddress) -> Option<MacAddr> {
    Some(MacAddr::from(mac)).filter(|mac| !mac.is_zero())
}

msg::messages! {
    /// Makes a loopback interface with the first number that is free.
    CreateLoopback,
    /// The index of the new interface.
    CreateLoopbackReply,
    /// Makes a loopback interface.
    CreateLoopbackInstance,
    /// The index of the new interface.
    CreateLoopbackInstanceReply,
    /// Takes a loopback interface away.
    DeleteLoopback,
}
