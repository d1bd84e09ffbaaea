// SPDX-License-Identifier: Apache-2.0
//! The modules `ip` and `fib`, and of the module `interface` what is about IP.

pub mod address;
pub mod container;
pub mod flow;
pub mod interface;
pub mod path_mtu;
pub mod refused;
pub mod route;
pub mod source;
pub mod table;

use cli::Result;
use cli::retval::Retval;
use graph::World;
use msg::{Messages, Module};
use net::api::interface_module;

/// The modules.
pub static MODULES: &[Module<World>] = &[IP, FIB, INTERFACE];

const IP: Module<World> =
    Module { name: "ip", version: "3.2.0", crc: 0xc55a_ec44, core: true, messages: ip_messages };
const FIB: Module<World> = Module {
    name: "fib",
    version: "1.0.0",
    crc: 0x4ef4_abc1,
    core: true,
    messages: source::messages,
};
const INTERFACE: Module<World> = interface_module(interface::messages);

fn ip_messages(m: &mut Messages<World>) {
    table::messages(m);
    route::messages(m);
    address::messages(m);
    flow::messages(m);
    path_mtu::messages(m);
    container::messages(m);
    refused::messages(m);
}

/// Calls a function for the version that a request is about.
macro_rules! by_version {
    ($is_ip6:expr, $f:ident($($arg:expr),* $(,)?)) => {
        if $is_ip6 { $f::<wire::Ip6>($($arg),*) } else { $f::<wire::Ip4>($($arg),*) }
    };
}
use by_version;

/// Allows clients to add what exists and to remove what is gone: where VPP does, that is no error.
fn again<T>(done: Result<T>, usual: Retval, instead: T) -> Result<T> {
    match done {
        Err(e) if e.is(usual) => Ok(instead),
        done => done,
    }
}
