// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `classify`.

pub mod attach;
pub mod filter;
pub mod table;

use cli::{Error, Result};
use graph::World;
use msg::{Messages, Module, retval};
use net::api::InterfaceIndex;

/// Messages of this feature, under the module name that clients ask for.
pub static API: Module<World> = Module::core("classify", messages);

fn messages(m: &mut Messages<World>) {
    table::messages(m);
    attach::messages(m);
    filter::messages(m);
    m.call(|_, _: PolicerClassifySetInterface| unbuilt::<()>("policers"));
    m.dump(|_, _: PolicerClassifyDump| {
        unbuilt::<std::iter::Empty<PolicerClassifyDetails>>("policers")
    });
    m.call(|_, _: FlowClassifySetInterface| unbuilt::<()>("flow classification"));
    m.dump(|_, _: FlowClassifyDump| {
        unbuilt::<std::iter::Empty<FlowClassifyDetails>>("flow classification")
    });
}

fn unbuilt<T>(what: &str) -> Result<T> {
    Err(Error::unsupported(format!("{what}: not built yet")).retval(retval::UNIMPLEMENTED))
}

msg::messages! {
    /// Protocols of policer classification.
    PolicerClassifyTable,
    /// Protocols of flow classification.
    FlowClassifyTable,
    /// Refused: policers aren't built yet.
    PolicerClassifySetInterface,
    /// Refused: policers aren't built yet.
    PolicerClassifyDump,
    /// Never sent.
    PolicerClassifyDetails,
    /// Refused: flow classification isn't built yet.
    FlowClassifySetInterface,
    /// Refused: flow classification isn't built yet.
    FlowClassifyDump,
    /// Never sent.
    FlowClassifyDetails,
}
