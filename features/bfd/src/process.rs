// SPDX-License-Identifier: Apache-2.0
//! `bfd-process`: sends the packets of sessions and detects the silence of their peers, on the
//! thread of the sessions; and control's process, which takes the reports of that thread.

use crate::control::Bfd;
use crate::home::{Home, NODE, THREAD};
use crate::send::Sender;
use crate::session::Sending;
use buffer::Buffer;
use graph::{Build, Cx, Next, Node, NodeIndex, Process, Sleep, ThreadIndex, Wake, World};
use std::sync::Arc;

/// Sessions that are served in one turn; the others follow in the next one, so that received
/// packets are processed in between.
const SESSIONS: usize = 512;

/// Next nodes.
#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
pub enum To {
    /// The next node of the peer's adjacency, or the lookup.
    #[dynamic]
    Onward(NodeIndex),
    /// A packet of another node; none sends packets here.
    #[free]
    Unexpected,
}

impl From<NodeIndex> for To {
    fn from(node: NodeIndex) -> Self {
        Self::Onward(node)
    }
}

/// See the head of this file.
pub struct BfdProcess(Sender);

impl Build for BfdProcess {
    fn build(world: &World, thread: ThreadIndex) -> Self {
        Self(Sender::new(world, thread))
    }
}

impl Node for BfdProcess {
    const NAME: &'static str = NODE;
    type Next = To;
    type Trace = ();

    fn packet<const TRACED: bool>(&mut self, _: &mut Buffer, _: &mut Cx<'_, TRACED>) -> To {
        To::Unexpected
    }

    fn tick(&mut self, cx: &mut Cx<'_, false>) {
        if cx.thread() != THREAD {
            return;
        }
        let Some(mut engine) = self.0.engines.of(cx.thread(), cx.turn) else { return };
        let now = cx.now();
        engine.retry(now);
        for _ in 0..SESSIONS {
            let Some((index, sending)) = engine.step(now, || cx.random()) else { break };
            match sending {
                Some(Sending::Control) => {
                    self.0.control::<To, false>(&mut engine, index, false, cx);
                }
                Some(Sending::Echo(expires)) => {
                    self.0.echo::<To, false>(&engine, index, expires, cx);
                }
                None => {}
            }
        }
        self.0.arm(&engine, cx);
    }
}

/// Starts control's process.
pub fn start(world: &World) {
    let home: Arc<Home> = world.get();
    world.processes.spawn(Box::new(Reports(home.clone())), &home.signal);
}

/// Control's process.
struct Reports(Arc<Home>);

impl Process for Reports {
    fn name(&self) -> &'static str {
        "bfd-reports"
    }

    fn run(&mut self, world: &World, _: Wake) -> Sleep {
        // A report that comes meanwhile raises the signal again.
        let waiting = self.0.reports.len();
        let reports: Vec<_> = (0..waiting).map_while(|_| self.0.reports.pop()).collect();
        if !reports.is_empty() {
            world.get::<Bfd>().take(world, &reports);
        }
        Sleep::Event
    }
}
