// SPDX-License-Identifier: Apache-2.0
//! The nodes in which packets end that are not sent: dropped, or punted without a receiver.

use buffer::Buffer;
use graph::{ArcIndex, Build, Cx, Label, Next, Node, NodeIndex, ThreadIndex, Trace, World};
use net::IfCounters;
use stats::Lane;
use std::fmt;
use std::marker::PhantomData;

/// Drop or punt: the same but for names and counter.
pub trait Disposition: Send + 'static {
    const FIRST: &'static str;
    const LAST: &'static str;
    fn lane(counters: &IfCounters, thread: ThreadIndex) -> Lane;
}

pub struct Dropped;
impl Disposition for Dropped {
    const FIRST: &'static str = "error-drop";
    const LAST: &'static str = "drop";
    fn lane(counters: &IfCounters, thread: ThreadIndex) -> Lane {
        counters.drops.lane(thread.at())
    }
}

pub struct Punted;
impl Disposition for Punted {
    const FIRST: &'static str = "error-punt";
    const LAST: &'static str = "punt";
    fn lane(counters: &IfCounters, thread: ThreadIndex) -> Lane {
        counters.punt.lane(thread.at())
    }
}

pub type ErrorDrop = Counted<Dropped>;
pub type Drop = End<Dropped>;
pub type ErrorPunt = Counted<Punted>;
pub type Punt = End<Punted>;

/// Counts for the interface that the packet came in by.
pub struct Counted<E> {
    lane: Lane,
    arc: Option<ArcIndex>,
    last: NodeIndex,
    ending: PhantomData<E>,
}

#[derive(Next, Clone, Copy)]
pub enum CountedTo {
    #[dynamic]
    Node(NodeIndex),
}

#[derive(Clone, Copy)]
pub struct CountedTrace {
    rx_if: u32,
}

impl Trace for CountedTrace {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rx: sw_if_index {}", self.rx_if)
    }
}

impl<E: Disposition> Build for Counted<E> {
    fn build(world: &World, thread: ThreadIndex) -> Self {
        let arc = world.arc(E::FIRST);
        let link = || world.link(E::FIRST, E::LAST).expect("this plugin brings it");
        Self {
            lane: E::lane(&world.get::<IfCounters>(), thread),
            arc,
            // An arc's end takes what no feature does.
            last: arc.map_or_else(link, |arc| world.arc_end(arc)),
            ending: PhantomData,
        }
    }
}

impl<E: Disposition> Node for Counted<E> {
    const NAME: &'static str = E::FIRST;
    type Next = CountedTo;
    type Trace = CountedTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> CountedTo {
        self.lane.add(b.rx_if as usize, 1);
        cx.trace(b, CountedTrace { rx_if: b.rx_if });
        let feature = self.arc.and_then(|arc| cx.start_arc(arc, b.rx_if, b));
        CountedTo::Node(feature.unwrap_or(self.last))
    }
}

/// Frees; a trace says why.
pub struct End<E>(PhantomData<E>);

#[derive(Next, Clone, Copy)]
pub enum EndTo {
    #[free]
    Gone,
}

#[derive(Clone, Copy)]
pub struct EndTrace(Option<(Label, &'static str)>);

impl Trace for EndTrace {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some((node, text)) => write!(f, "{node}: {text}"),
            None => f.write_str("no reason"),
        }
    }
}

impl<E: Disposition> Build for End<E> {
    fn build(_: &World, _: ThreadIndex) -> Self {
        Self(PhantomData)
    }
}

impl<E: Disposition> Node for End<E> {
    const NAME: &'static str = E::LAST;
    type Next = EndTo;
    type Trace = EndTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> EndTo {
        if TRACED {
            let reason = cx.reason(b.error()).map(|reason| (Label::new(&reason.node), reason.text));
            cx.trace(b, EndTrace(reason));
        }
        EndTo::Gone
    }
}
