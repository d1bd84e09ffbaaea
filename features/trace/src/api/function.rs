// SPDX-License-Identifier: Apache-2.0
//! Trace filter functions: messages of the modules `tracedump` and `bpf_trace_filter`.

use crate::control::{self, Filters};
use crate::filter::Expression;
use crate::function::Function;
use cli::Result;
use graph::World;
use msg::{Messages, Module};

/// The module of expressions.
pub static BPF: Module<World> = Module::plugin("bpf_trace_filter", bpf);

/// Messages of `tracedump` that are about filter functions.
pub fn messages(m: &mut Messages<World>) {
    m.call(|w, r: TraceSetFilterFunction| {
        control::set_function(w, Function::find(&r.filter_function_name)?)
    });
    m.dump(|w, _: TraceFilterFunctionDump| {
        let chosen = w.get::<Filters>().get().function;
        Ok(Function::ALL
            .map(|f| TraceFilterFunctionDetails { selected: f == chosen, name: f.name().into() }))
    });
}

fn bpf(m: &mut Messages<World>) {
    m.call(|w, r: BpfTraceFilterSet| set(w, r.is_add, true, r.filter));
    m.call(|w, r: BpfTraceFilterSetV2| set(w, r.is_add, r.optimize, r.filter));
}

fn set(w: &World, is_add: bool, optimize: bool, text: String) -> Result<()> {
    control::set_expression(w, is_add.then_some(Expression { text, optimize }))
}

msg::messages! {
    /// Selects the trace filter function.
    TraceSetFilterFunction,
    /// Asks for the trace filter functions.
    TraceFilterFunctionDump,
    /// A trace filter function.
    TraceFilterFunctionDetails,
    /// Traces only packets that an expression describes, or forgets the expression.
    BpfTraceFilterSet,
    /// The same, with a choice.
    BpfTraceFilterSetV2,
}
