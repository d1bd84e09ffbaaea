// SPDX-License-Identifier: Apache-2.0
//! Trace filter functions: messages of the modules `tracedump` and `bpf_trace_filter`.

use crate::control::{self, Filters};
use crate::filter::Expression;
use crate::function::Function;
use cli::Result;
use graph::World;
use msg::{Caller, Message, Messages, Module};

/// The module of expressions.
pub static BPF: Module<World> = Module {
    name: "bpf_trace_filter",
    version: "0.1.0",
    crc: 0xb682_a79a,
    core: false,
    messages: bpf,
};

/// Messages of `tracedump` that are about filter functions.
pub fn messages(m: &mut Messages<World>) {
    m.call(|w: &World, _: &Caller<'_, World>, r: TraceSetFilterFunction| {
        control::set_function(w, Function::find(&r.filter_function_name)?)
    });
    m.dump(|w: &World, _: &Caller<'_, World>, _: TraceFilterFunctionDump| {
        let chosen = w.get::<Filters>().get().function;
        Ok(Function::ALL
            .map(|f| TraceFilterFunctionDetails { selected: f == chosen, name: f.name().into() }))
    });
}

fn bpf(m: &mut Messages<World>) {
    m.call(|w: &World, _: &Caller<'_, World>, r: BpfTraceFilterSet| {
        set(w, r.is_add, true, r.filter)
    });
    m.call(|w: &World, _: &Caller<'_, World>, r: BpfTraceFilterSetV2| {
        set(w, r.is_add, r.optimize, r.filter)
    });
}

fn set(w: &World, is_add: bool, optimize: bool, text: String) -> Result<()> {
    control::set_expression(w, is_add.then_some(Expression { text, optimize }))
}

/// Selects the trace filter function.
#[derive(Message)]
pub struct TraceSetFilterFunction {
    /// Its name.
    pub filter_function_name: String,
}

/// Asks for the trace filter functions.
#[derive(Message)]
#[msg(details)]
pub struct TraceFilterFunctionDump {}

/// A trace filter function.
#[derive(Message)]
pub struct TraceFilterFunctionDetails {
    /// It is in force.
    pub selected: bool,
    /// Its name.
    pub name: String,
}

/// Traces only packets that an expression describes, or forgets the expression.
#[derive(Message)]
pub struct BpfTraceFilterSet {
    /// Set, not forget.
    #[wire(default = "true")]
    pub is_add: bool,
    /// The expression, of pcap-filter(7).
    pub filter: String,
}

/// The same, with a choice.
#[derive(Message)]
pub struct BpfTraceFilterSetV2 {
    /// Set, not forget.
    #[wire(default = "true")]
    pub is_add: bool,
    /// Let libpcap optimise the program.
    #[wire(default = "true")]
    pub optimize: bool,
    /// The expression, of pcap-filter(7).
    pub filter: String,
}
