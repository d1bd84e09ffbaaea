// SPDX-License-Identifier: Apache-2.0
//! What decides which packets a capture with a bare `filter` takes.

use super::Captures;
use crate::control::Filters;
use crate::filter::Expression;
use crate::function::Function;
use cli::Error;
use graph::World;
use msg::retval;

/// The function that was chosen.
pub fn function(world: &World) -> Function {
    world.get::<Captures>().inner().function
}

/// Chooses it, from the next capture on.
pub fn set_function(world: &World, function: Function) {
    world.get::<Captures>().inner().function = function;
}

/// The expression of such a capture: that of traces, if it decides; without one, all packets are taken.
///
/// # Errors
/// What would have a classifier decide (−9).
pub fn chosen_filter(world: &World) -> Result<Option<Expression>, Error> {
    match function(world) {
        Function::Bpf => Ok(world.get::<Filters>().get().expression),
        Function::Traced => Err(Error::unsupported("captures by a classifier aren't built yet")
            .hint("`set pcap filter function bpf_trace_filter', or an expression behind `filter'")
            .retval(retval::UNIMPLEMENTED)),
    }
}
