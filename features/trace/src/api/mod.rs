// SPDX-License-Identifier: Apache-2.0
//! Messages of the modules `tracedump` and `interface`.

pub mod capture;
pub mod function;
pub mod nodes;

use crate::control::{self, NodeFilter};
use crate::show::Traces;
use cli::{Error, Result};
use graph::World;
use msg::{Caller, Message, Messages, Module, Pending, Wire, retval};

/// The module.
pub static API: Module<World> =
    Module { name: "tracedump", version: "0.2.0", crc: 0x56ab_f80a, core: false, messages };

fn messages(m: &mut Messages<World>) {
    m.call(set_filters);
    m.call_later(|w: &World, _: &Caller<'_, World>, r: TraceCapturePackets| {
        let node = nodes::by_number(w, r.node_index)?;
        let forgotten =
            control::start(w, &node.name, r.max_packets, r.use_filter, r.pre_capture_clear)?;
        Ok(forgotten.reply(|_| Ok(())))
    });
    m.call_later(|w: &World, _: &Caller<'_, World>, _: TraceClearCapture| {
        Ok(control::clear(w).reply(|_| Ok(())))
    });
    m.call(|_: &World, _: &Caller<'_, World>, _: TraceClearCache| Ok(()));
    m.stream_later(dump);
    m.dump_later(dump_v2);
    function::messages(m);
}

/// Which traces are shown.
#[derive(Wire, Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
#[wire(prefix = "TRACE_FF_")]
pub enum TraceFilterFlag {
    /// All.
    None = 0,
    /// Of packets that passed a node.
    IncludeNode = 1,
    /// Of packets that didn't.
    ExcludeNode = 2,
    /// Of packets that a classifier takes: refused.
    IncludeClassifier = 3,
    /// Of packets that it doesn't take: refused.
    ExcludeClassifier = 4,
}

/// Shows only some of the traces.
#[derive(Message)]
pub struct TraceSetFilters {
    /// Which.
    pub flag: TraceFilterFlag,
    /// So many at most.
    pub count: u32,
    /// The node.
    #[wire(default = "4294967295")]
    pub node_index: u32,
    /// The classifier's table.
    #[wire(default = "4294967295")]
    pub classifier_table_index: u32,
}

fn set_filters(w: &World, _: &Caller<'_, World>, r: TraceSetFilters) -> Result<()> {
    let include = match r.flag {
        TraceFilterFlag::None => return control::set_passed(w, None),
        TraceFilterFlag::IncludeNode => true,
        TraceFilterFlag::ExcludeNode => false,
        TraceFilterFlag::IncludeClassifier | TraceFilterFlag::ExcludeClassifier => {
            return Err(Error::unsupported(
                "traces that were made can't be chosen by a classifier",
            )
            .hint("`trace add … filter' lets the classifier decide which packets are traced")
            .retval(retval::UNIMPLEMENTED));
        }
    };
    let node = nodes::by_number(w, r.node_index)?.index;
    let passed = NodeFilter { include, node, count: r.count as usize };
    control::set_passed(w, Some(passed))
}

/// Traces the next packets that a node brings in or gets, on each thread.
#[derive(Message)]
pub struct TraceCapturePackets {
    /// The input.
    pub node_index: u32,
    /// So many.
    pub max_packets: u32,
    /// Only those that the classifier accepts, if no expression decides; other filters count in
    /// any case.
    pub use_filter: bool,
    /// Accepted: traces tell everything in any case.
    pub verbose: bool,
    /// Forget all traces before.
    pub pre_capture_clear: bool,
}

/// Forgets all traces, and those asked for.
#[derive(Message)]
pub struct TraceClearCapture {}

/// Forgets what is kept for this client: nothing is.
#[derive(Message)]
pub struct TraceClearCache {}

/// Asks for traces from a place on; all bits set in both for none. A trace keeps its place until
/// traces are forgotten.
#[derive(Message)]
#[msg(reply, details = TraceDetails)]
pub struct TraceDump {
    /// Accepted: nothing is kept for a client.
    pub clear_cache: u8,
    /// The thread.
    pub thread_id: u32,
    /// The place among its packets.
    pub position: u32,
    /// So many at most.
    pub max_records: u32,
}

/// A packet's trace.
#[derive(Message, Debug)]
#[msg(head(client_index, context))]
pub struct TraceDetails {
    /// The thread that it came in on.
    pub thread_id: u32,
    /// Its place among that thread's.
    pub position: u32,
    /// Of the last that was asked for: its thread has more.
    pub more_this_thread: u8,
    /// Of the last that was asked for: other threads have more.
    pub more_threads: u8,
    /// There are no more.
    pub done: u8,
    /// As `position`.
    pub packet_number: u32,
    /// Its way, for people.
    pub trace_data: String,
}

/// Where the traces ended.
#[derive(Message, Debug, PartialEq)]
pub struct TraceDumpReply {
    /// The thread of the last.
    pub last_thread_id: u32,
    /// Its place.
    pub last_position: u32,
    /// Its thread has more.
    pub more_this_thread: u8,
    /// Other threads have more.
    pub more_threads: u8,
    /// No traces were asked for.
    pub flush_only: u8,
    /// There are no more.
    pub done: u8,
}

type Stream<I, R> = Box<dyn Pending<World, (I, R)>>;
type AllDetails = Box<dyn Iterator<Item = TraceDetails>>;

fn dump(
    w: &World,
    _: &Caller<'_, World>,
    r: TraceDump,
) -> Result<Stream<AllDetails, TraceDumpReply>> {
    Ok(Traces::query(w, move |traces| {
        let counts = traces.counts();
        let none = (r.thread_id, r.position) == (u32::MAX, u32::MAX);
        // Behind the thread that was named, from the first packet on.
        let all =
            counts.iter().enumerate().skip(r.thread_id as usize).flat_map(|(thread, count)| {
                let first = if thread == r.thread_id as usize { r.position as usize } else { 0 };
                (first..*count).map(move |position| (thread, position))
            });
        let left: Vec<_> = all.collect();
        let shown = left.len().min(r.max_records as usize);
        let Some((thread, position)) = left[..shown].last().copied() else {
            let reply = TraceDumpReply {
                last_thread_id: u32::MAX,
                last_position: u32::MAX,
                more_this_thread: 0,
                more_threads: 0,
                flush_only: none.into(),
                done: none.into(),
            };
            let nothing = Error::not_found("there are no traces").retval(retval::NO_SUCH_ENTRY);
            return if none {
                Ok((Box::new(std::iter::empty()) as AllDetails, reply))
            } else {
                Err(nothing)
            };
        };
        let more = |here: bool| left[shown..].iter().any(|(t, _)| (*t == thread) == here).into();
        let reply = TraceDumpReply {
            last_thread_id: thread as u32,
            last_position: position as u32,
            more_this_thread: more(true),
            more_threads: more(false),
            flush_only: 0,
            done: u8::from(shown == left.len()),
        };
        let TraceDumpReply { more_this_thread, more_threads, done, .. } = reply;
        let details =
            left.into_iter().take(shown).enumerate().map(move |(i, (thread, position))| {
                let last = |flag: u8| if i + 1 == shown { flag } else { 0 };
                TraceDetails {
                    thread_id: thread as u32,
                    position: position as u32,
                    more_this_thread: last(more_this_thread),
                    more_threads: last(more_threads),
                    done: last(done),
                    packet_number: position as u32,
                    trace_data: traces.text(thread, position),
                }
            });
        Ok((Box::new(details) as AllDetails, reply))
    }))
}

/// Asks for traces of a thread, or of all.
#[derive(Message)]
#[msg(details = TraceV2Details)]
pub struct TraceV2Dump {
    /// The thread; all bits set for all.
    #[wire(default = "4294967295")]
    pub thread_id: u32,
    /// The first place among each thread's; all bits set for none.
    pub position: u32,
    /// So many of each thread at most.
    #[wire(default = "50")]
    pub max: u32,
    /// Accepted: nothing is kept for a client.
    pub clear_cache: bool,
}

/// A packet's trace.
#[derive(Message, Debug)]
pub struct TraceV2Details {
    /// The thread that it came in on.
    pub thread_id: u32,
    /// Its place among that thread's.
    pub position: u32,
    /// Its thread has more.
    pub more: bool,
    /// Its way, for people.
    pub trace_data: String,
}

type AllV2Details = Box<dyn Iterator<Item = TraceV2Details>>;

fn dump_v2(
    w: &World,
    _: &Caller<'_, World>,
    r: TraceV2Dump,
) -> Result<Box<dyn Pending<World, AllV2Details>>> {
    Ok(Traces::query(w, move |traces| {
        let threads = traces.counts().into_iter().enumerate();
        let wanted =
            threads.filter(move |(t, _)| r.thread_id == u32::MAX || *t == r.thread_id as usize);
        let places = wanted.flat_map(move |(thread, count)| {
            (0..count)
                .skip(r.position as usize)
                .take(r.max as usize)
                .map(move |p| (thread, p, p + 1 < count))
        });
        Ok(Box::new(places.map(move |(thread, position, more)| TraceV2Details {
            thread_id: thread as u32,
            position: position as u32,
            more,
            trace_data: traces.text(thread, position),
        })) as AllV2Details)
    }))
}
