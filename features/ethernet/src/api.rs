// SPDX-License-Identifier: Apache-2.0
//! Loopback interfaces: a part of the module `interface`.

use crate::loopback;
use cli::Result;
use graph::World;
use msg::{Caller, Message, Messages, Module};
use net::api::{InterfaceIndex, MacAddress};
use wire::MacAddr;

/// This feature's part of the module.
pub static API: Module<World> = net::api::interface_module(messages);

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

/// Makes a loopback interface with the first number that is free.
#[derive(Message)]
#[msg(reply)]
pub struct CreateLoopback {
    /// Its address; zero for one made of its number.
    pub mac_address: MacAddress,
}

/// The new interface.
#[derive(Message)]
pub struct CreateLoopbackReply {
    /// Its number.
    pub sw_if_index: InterfaceIndex,
}

/// Makes a loopback interface.
#[derive(Message)]
#[msg(reply)]
pub struct CreateLoopbackInstance {
    /// Its address; zero for one made of its number.
    pub mac_address: MacAddress,
    /// The number in its name is given.
    pub is_specified: bool,
    /// The number in its name.
    pub user_instance: u32,
}

/// The new interface.
#[derive(Message)]
pub struct CreateLoopbackInstanceReply {
    /// Its number.
    pub sw_if_index: InterfaceIndex,
}

/// Takes a loopback interface away.
#[derive(Message)]
pub struct DeleteLoopback {
    /// The interface.
    pub sw_if_index: InterfaceIndex,
}
