// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `vlib`: commands, threads, nodes.

use std::time::Duration;

use ::cli::{Error, OutputPiece, Result, Runner};
use graph::{NodeIndex, World};
use msg::{Messages, Module, Pending, retval};

use super::Commands;

/// The module.
pub const API: Module<World> = Module::core("vlib", messages);

fn messages(m: &mut Messages<World>) {
    m.call(|_, _: Cli| Err::<CliReply, _>(no_shared_memory("cli_inband")));
    m.call_later(cli_inband);
    m.call(|w, r: GetNodeIndex| Ok(node(w, r.node_name.as_str())?.0));
    m.call(add_node_next);
    m.call(show_threads);
    m.call(|_, _: GetNodeGraph| {
        Err::<GetNodeGraphReply, _>(no_shared_memory("the command `show vlib graph`"))
    });
    m.call(next_index);
    m.call(|_, r: GetF64EndianValue| {
        Ok(GetF64EndianValueReply { retval: u32::from(r.f64_one != 1.0), f64_one_result: 1.0 })
    });
    m.call(|_, r: GetF64IncrementByOne| {
        Ok(GetF64IncrementByOneReply { retval: 0, f64_value: r.f64_value + 1.0 })
    });
}

fn no_shared_memory(instead: &str) -> Error {
    Error::unsupported(format!("there is no shared memory for the answer: use {instead}"))
        .retval(retval::UNIMPLEMENTED)
}

msg::messages! {
    /// A command in shared memory: not served.
    Cli,
    /// Runs a command, or several, a line each.
    CliInband,
    /// Their output. After an error the return value isn't 0, and the text ends in the error.
    retval CliInbandReply,
    /// Asks for the index of a node.
    GetNodeIndex,
    /// Asks that packets may go from one node to another.
    AddNodeNext,
    /// Asks by which number a node chooses another.
    GetNextIndex,
    /// A thread that runs the graph.
    ThreadData,
    /// Asks for the threads.
    ShowThreads,
    /// The threads.
    ShowThreadsReply,
    /// The graph in shared memory: not served.
    GetNodeGraph,
    /// Asks whether both sides mean the same by the bytes of 1.0.
    GetF64EndianValue,
    /// Ours.
    GetF64EndianValueReply,
    /// Asks for a number plus one.
    GetF64IncrementByOne,
    /// The sum.
    GetF64IncrementByOneReply,
}

fn cli_inband(_: &World, r: CliInband) -> Result<Box<dyn Pending<World, CliInbandReply>>> {
    let text = crate::macros::expand(&r.cmd)
        .map_err(|(line, why)| Error::parse(format!("line {line}: {why}")));
    let mut text = text?.into_owned();
    ::cli::close_blocks(&mut text);
    let mut request = Inband::default();
    // The error of a single line doesn't name its place in a script: clients compare it with VPP's.
    if text.trim().lines().count() == 1 {
        request.line = Some(text);
    } else {
        request.runner.script("cli_inband", text, false);
    }
    Ok(Box::new(request))
}

/// Bytes of an answer: it is one message, which is held as a whole.
const LONGEST: usize = 64 << 20;

#[derive(Default)]
struct Inband {
    runner: Runner,
    /// The only line of the request, until it runs.
    line: Option<String>,
    said: Vec<OutputPiece>,
    text: String,
    wake: Option<Duration>,
}

impl Pending<World, CliInbandReply> for Inband {
    fn poll(&mut self, world: &World, _: Duration) -> Option<Result<CliInbandReply>> {
        let commands = world.get::<Commands>();
        let Some(tree) = commands.get() else {
            return Some(Err(Error::failed("there are no commands yet")));
        };
        let now = Duration::from_nanos(world.clock.now());
        if let Some(line) = self.line.take() {
            self.runner.line(tree, world, line.trim(), false, &mut self.said);
        }
        let done = self.runner.poll(tree, world, now, &mut self.said);
        for OutputPiece::Answer(text) | OutputPiece::Chunk(text) in self.said.drain(..) {
            self.text += &text;
        }
        if self.text.len() > LONGEST {
            let error = format!(
                "the answer is longer than {LONGEST} bytes: ask for less, or use the CLI's socket"
            );
            return Some(Err(Error::limit(error)));
        }
        self.wake = self.runner.wake_at(now);
        let result = done?;
        let mut reply = CliInbandReply { retval: 0, reply: std::mem::take(&mut self.text) };
        if let Err(error) = result {
            reply.retval = error.code();
            reply.reply += &error.brief();
        }
        Some(Ok(reply))
    }

    fn wake_at(&self) -> Option<Duration> {
        self.wake
    }

    fn cancel(&mut self) {
        self.runner.cancel();
    }
}

fn node(world: &World, name: &str) -> Result<NodeIndex> {
    let none = || {
        let names = world.nodes().into_iter().map(|n| n.name.to_string()).collect::<Vec<_>>();
        Error::not_found(format!("no node is named {name}"))
            .near(name, names)
            .retval(retval::NO_SUCH_NODE)
    };
    world.node(name).ok_or_else(none)
}

fn link(w: &World, from: &str, to: &str) -> Result<u32> {
    node(w, from)?;
    let to = node(w, to).map_err(|e| e.retval(retval::NO_SUCH_NODE2))?;
    Ok(to.0)
}

fn add_node_next(w: &World, r: AddNodeNext) -> Result<u32> {
    let (from, to) = (r.node_name.as_str(), r.next_name.as_str());
    let next_index = link(w, from, to)?;
    w.link(from, to).map_err(Error::failed)?;
    Ok(next_index)
}

fn next_index(w: &World, r: GetNextIndex) -> Result<u32> {
    let (from, to) = (r.node_name.as_str(), r.next_name.as_str());
    let next_index = link(w, from, to)?;
    let nodes = w.nodes();
    let leads = nodes.iter().any(|n| &*n.name == from && n.next.iter().any(|next| &**next == to));
    if !leads {
        let none = format!("no packet goes from {from} to {to}");
        return Err(Error::not_found(none).retval(retval::NO_SUCH_ENTRY));
    }
    Ok(next_index)
}

fn show_threads(w: &World, _: ShowThreads) -> Result<ShowThreadsReply> {
    let data = |place: system::ThreadPlacement| ThreadData {
        id: place.id as u32,
        name: place.name.into(),
        r#type: place.kind.into(),
        pid: place.tid.cast_unsigned(),
        cpu_id: place.lcore.map_or(u32::MAX, |n| n as u32),
        core: place.core.unwrap_or(u32::MAX),
        cpu_socket: place.socket.unwrap_or(u32::MAX),
    };
    Ok(ShowThreadsReply { thread_data: system::thread_places(w).into_iter().map(data).collect() })
}
