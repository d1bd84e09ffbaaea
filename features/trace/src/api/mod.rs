// SPDX-License-Identifier: Apache-2.0
//! Messages of the modules `tracedump` and `interface`.

pub mod capture;
pub mod function;
pub mod nodes;

use crate::control::{self, NodeFilter};
use crate::show::Traces;
use cli::{Error, Result};
use graph::World;
use msg::{Messages, Module, Pending, retval};

/// The module.
pub static API: Module<World> = Module::plugin("tracedump", messages);

fn messages(m: &mut Messages<World>) {
    m.call(set_filters);
    m.call_later(|w, r: TraceCapturePackets| {
        let node = nodes::by_number(w, r.node_index)?;
        let forgotten =
            control::start(w, &node.name, r.max_packets, r.use_filter, r.pre_capture_clear)?;
        Ok(forgotten.reply(|_| Ok(())))
    });
    m.call_later(|w, _: TraceClearCapture| Ok(control::clear(w).reply(|_| Ok(()))));
    m.call(|_, _: TraceClearCache| Ok(()));
    m.stream_later(dump);
    m.dump_later(dump_v2);
    function::messages(m);
}

msg::messages! {
    /// Which traces are shown.
    TraceFilterFlag,
    /// Shows only some of the traces.
    TraceSetFilters,
    /// Traces the next packets that a node brings in or gets, on each thread.
    TraceCapturePackets,
    /// Forgets all traces, and those asked for.
    TraceClearCapture,
    /// Forgets what is kept for this client: nothing is.
    TraceClearCache,
    /// Asks for traces from a place on; all bits set in both for none. A trace keeps its place
    /// until traces are forgotten.
    TraceDump,
    /// A packet's trace.
    TraceDetails,
    /// Where the traces ended.
    TraceDumpReply,
    /// Asks for traces of a thread, or of all.
    TraceV2Dump,
    /// A packet's trace.
    TraceV2Details,
}

fn set_filters(w: &World, r: TraceSetFilters) -> Result<()> {
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

type Stream<I, R> = Box<dyn Pending<World, (I, R)>>;
type AllDetails = Box<dyn Iterator<Item = TraceDetails>>;

fn dump(w: &World, r: TraceDump) -> Result<Stream<AllDetails, TraceDumpReply>> {
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

type AllV2Details = Box<dyn Iterator<Item = TraceV2Details>>;

fn dump_v2(w: &World, r: TraceV2Dump) -> Result<Box<dyn Pending<World, AllV2Details>>> {
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
