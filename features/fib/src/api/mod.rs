// SPDX-License-Identifier: Apache-2.0
//! The module `fib`, and of the module `ip` the messages about tables and routes.

pub mod flow;
pub mod route;
pub mod source;
pub mod table;

use cli::Result;
use cli::retval::Retval;
use graph::World;
use msg::{Messages, Module};

/// The modules.
pub static MODULES: &[Module<World>] = &[Module::core("ip", ip_messages), FIB];

const FIB: Module<World> = Module::core("fib", source::messages);

fn ip_messages(m: &mut Messages<World>) {
    table::messages(m);
    route::messages(m);
    flow::messages(m);
}

/// Allows clients to add what exists and to remove what is gone: where VPP does, that is no error.
fn again<T>(done: Result<T>, usual: Retval, instead: T) -> Result<T> {
    match done {
        Err(e) if e.is(usual) => Ok(instead),
        done => done,
    }
}
