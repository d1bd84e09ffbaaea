// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `pipe`.

use crate::control::{Pipe, Pipes};
use cli::Result;
use graph::World;
use msg::{Caller, Message, Messages, Module};
use net::api::InterfaceIndex;

/// The module.
pub static API: Module<World> =
    Module { name: "pipe", version: "1.0.1", crc: 0xc159_134a, core: true, messages };

fn messages(m: &mut Messages<World>) {
    m.call(|w: &World, _: &Caller<'_, World>, r: PipeCreate| -> Result<_> {
        let pipe = w.get::<Pipes>().create(w, r.is_specified.then_some(r.user_instance))?;
        let pipe_sw_if_index = pipe.ends.map(InterfaceIndex::from);
        Ok(PipeCreateReply { sw_if_index: pipe.parent.into(), pipe_sw_if_index })
    });
    m.call(|w: &World, _: &Caller<'_, World>, r: PipeDelete| -> Result<()> {
        w.get::<Pipes>().delete(w, r.sw_if_index.existing(w)?)
    });
    m.dump(|w: &World, _: &Caller<'_, World>, _: PipeDump| -> Result<Vec<PipeDetails>> {
        let details = |pipe: Pipe| PipeDetails {
            sw_if_index: pipe.parent.into(),
            pipe_sw_if_index: pipe.ends.map(InterfaceIndex::from),
            instance: pipe.instance,
        };
        Ok(w.get::<Pipes>().list().into_iter().map(details).collect())
    });
}

/// Creates a pipe.
#[derive(Message)]
#[msg(reply)]
pub struct PipeCreate {
    /// A number is given.
    pub is_specified: bool,
    /// The number.
    pub user_instance: u32,
}

/// The interfaces of the new pipe.
#[derive(Message, Debug, PartialEq, Eq)]
pub struct PipeCreateReply {
    /// The interface that stands for both ends.
    pub sw_if_index: InterfaceIndex,
    /// The ends.
    pub pipe_sw_if_index: [InterfaceIndex; 2],
}

/// Deletes a pipe with its ends.
#[derive(Message)]
pub struct PipeDelete {
    /// The interface that stands for both ends.
    pub sw_if_index: InterfaceIndex,
}

/// Asks for all pipes.
#[derive(Message)]
#[msg(details)]
pub struct PipeDump {}

/// A pipe.
#[derive(Message, Debug, PartialEq, Eq)]
pub struct PipeDetails {
    /// The interface that stands for both ends.
    pub sw_if_index: InterfaceIndex,
    /// The ends.
    pub pipe_sw_if_index: [InterfaceIndex; 2],
    /// The number.
    pub instance: u32,
}
