// SPDX-License-Identifier: Apache-2.0
//! The packet graph.
//!
//! Packets travel in vectors of up to 256 through a directed graph of small nodes. An [`Input`]
//! brings them in; each [`Node`] sets for every packet the edge it leaves by, with one enum
//! ([`Next`]) that also names the reasons of drops; the framework does the rest: the loop,
//! prefetching, tracing, counting, enqueueing, instruction sets.
//!
//! - [`World`] is an instance: the names, the shared state, the handles of its threads. Control
//!   verbs work on it.
//! - [`Runtime`] is one thread's graph: its own instance of every node, its frames, its free
//!   buffers.
//! - [`Plugin`] is what a feature brings: nodes, arcs, features, commands.
//! - [`Process`] is a cooperative task of the control thread.
//!
//! Control publishes, workers read: a node that was added, a feature that was enabled reaches the
//! workers by a message or a snapshot, never by stopping them.

extern crate self as graph;

mod arcs;
mod chains;
mod clock;
mod config;
mod copies;
mod core;
pub mod counters;
mod crash;
mod cx;
mod dispatch;
mod dot;
pub mod drive;
mod enqueue;
mod field;
mod handoff;
mod ids;
mod input;
mod listed;
mod live;
mod longest_call;
mod node;
mod observe;
mod order;
mod per_thread;
mod phase;
mod plugin;
mod process;
mod query;
pub mod rank;
mod registry;
mod running;
mod runtime;
mod shared;
mod slot;
mod stage;
#[cfg(feature = "tests")]
mod tests;
mod thread_handle;
mod threads;
mod trace;
mod watchdog;
mod words;
mod world;

pub use arcs::{ArcDef, Feature};
pub use clock::Clock;
pub use config::Configured;
pub use copies::{Copied, Copies, copy_to_each};
pub use crash::crash_context;
pub use cx::{ChainStep, Cx};
pub use dot::Picture;
pub use field::FieldDef;
pub use graph_derive::Next;
pub use ids::{ArcIndex, ErrorIndex, NodeIndex, SwIfIndex, ThreadIndex};
pub use input::{Input, InputMode};
pub use longest_call::LongestCall;
pub use node::{
    Build, Edge, FEATURE_CODE, MAX_NODES, Next, Node, NodeDef, Out, Prefetch, Target, Vector,
    dynamic_code, name_of,
};
pub use observe::Observer;
pub use order::check_order;
pub use per_thread::{PerThread, ThreadState};
pub use phase::Phase;
pub use plugin::{Exceptions, Needs, Plugin, Script};
pub use process::{Process, ProcessInfo, Processes, Signal, Sleep, Wake};
pub use query::Replies;
pub use registry::{NodeInfo, Reason};
pub use running::{ConfigLine, ConfigLines, RunningConfig, Section};
pub use runtime::Runtime;
pub use shared::{Deleted, Shared, StateDef};
pub use stage::StageDef;
pub use threads::{ThreadInfo, ThreadPlan, Threads, thread_name, usable_cores};
pub use trace::{DETAIL, Filter, Head, InputTrace, Label, Record, Trace, TraceLog};
pub use words::{fill, filled};
pub use world::{World, WorldConfig};
