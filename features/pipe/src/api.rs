// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `pipe`.

use crate::control::{Pipe, Pipes};
use graph::World;
use msg::{Messages, Module};
use net::api::InterfaceIndex;

/// The module.
pub static API: Module<World> = Module::core("pipe", messages);

fn messages(m: &mut Messages<World>) {
    m.call(|w, r: PipeCreate| {
        let pipe = w.get::<Pipes>().create(w, r.is_specified.then_some(r.user_instance))?;
        let pipe_sw_if_index = pipe.ends.map(InterfaceIndex::from);
        Ok(PipeCreateReply { sw_if_index: pipe.parent.into(), pipe_sw_if_index })
    });
    m.call(|w, r: PipeDelete| w.get::<Pipes>().delete(w, r.sw_if_index.existing(w)?));
    m.dump(|w, _: PipeDump| {
        let details = |pipe: Pipe| PipeDetails {
            sw_if_index: pipe.parent.into(),
            pipe_sw_if_index: pipe.ends.map(InterfaceIndex::from),
            instance: pipe.instance,
        };
        Ok(w.get::<Pipes>().list().into_iter().map(details))
    });
}

msg::messages! {
    /// Creates a pipe.
    PipeCreate,
    /// The interfaces of the new pipe.
    PipeCreateReply,
    /// Deletes a pipe with its ends.
    PipeDelete,
    /// Asks for all pipes.
    PipeDump,
    /// A pipe.
    PipeDetails,
}
