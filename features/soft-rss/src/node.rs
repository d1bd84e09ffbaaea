// SPDX-License-Identifier: Apache-2.0
//! `soft-rss`, `soft-rss-tunnel-…` and `soft-rss-handoff`.

use crate::control::SoftRss;
use crate::flow::Content;
use buffer::{Buffer, Owned};
use graph::{Build, Cx, Next, Node, NodeIndex, ThreadIndex, Trace, World};
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

/// Chooses the thread of a packet.
pub struct Spread<C> {
    soft_rss: Arc<SoftRss>,
    /// `soft-rss-handoff`.
    arrived: NodeIndex,
    content: PhantomData<fn() -> C>,
}

/// The next nodes of [`Spread`].
#[derive(Next, Clone, Copy)]
pub enum To {
    /// Along the arc, on this thread.
    #[next_feature]
    Here,
    /// To another thread.
    #[keep]
    There,
    /// soft-rss not enabled
    #[count]
    #[counter("soft-rss not enabled")]
    NotEnabled,
}

/// The choice for a packet.
#[derive(Clone, Copy)]
pub struct SpreadTrace {
    sw_if: u32,
    hash: u32,
    thread: u16,
}

impl Trace for SpreadTrace {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { sw_if, hash, thread } = self;
        write!(f, "soft-rss: sw_if_index {sw_if} hash 0x{hash:08x} thread {thread}")
    }
}

impl<C: Content> Build for Spread<C> {
    fn build(world: &World, _: ThreadIndex) -> Self {
        let arrived = world.node(Arrived::NAME).expect("a node of this plugin");
        Self { soft_rss: world.get(), arrived, content: PhantomData }
    }
}

impl<C: Content> Node for Spread<C> {
    const NAME: &'static str = C::NODE;
    const HOT: bool = true;
    type Next = To;
    type Trace = SpreadTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        let Some(plan) = self.soft_rss.plan(b.rx_if, cx.turn) else {
            // Only an operator's `set interface feature` brings packets here.
            cx.count(To::NotEnabled, 1);
            return To::Here;
        };
        let (thread, hash) = plan.thread::<C>(b.data());
        if TRACED {
            cx.trace(b, SpreadTrace { sw_if: b.rx_if, hash, thread: thread.0 });
        }
        if thread == cx.thread() { To::Here } else { To::There }
    }

    fn keep(&mut self, b: Owned, cx: &mut Cx<'_, false>) {
        match self.soft_rss.plan(b.rx_if, cx.turn) {
            Some(plan) => cx.handoff(plan.thread::<C>(b.data()).0, self.arrived, b),
            None => cx.emit(To::Here, b),
        }
    }
}

/// Takes packets from other threads back to their arc.
pub struct Arrived;

/// The next node of [`Arrived`].
#[derive(Next, Clone, Copy)]
pub enum ArrivedTo {
    /// Along the arc.
    #[next_feature]
    Next,
}

impl Build for Arrived {
    fn build(_: &World, _: ThreadIndex) -> Self {
        Self
    }
}

impl Node for Arrived {
    const NAME: &'static str = "soft-rss-handoff";
    type Next = ArrivedTo;
    type Trace = ();

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, _: &mut Buffer, _: &mut Cx<'_, TRACED>) -> ArrivedTo {
        ArrivedTo::Next
    }
}
