// SPDX-License-Identifier: Apache-2.0
//! The node that puts headers in front of packets.

use crate::end::End;
use crate::model::Spec;
use crate::run::Run;
use crate::segment::{self, Supers};
use crate::state::Tunnels;
use crate::wrapper::{Codec, EncapTrace, To, Wrapper};
use buffer::{Buffer, Flags as Marked, Owned};
use graph::{Build, Cx, Node, ThreadIndex, Vector, World};
use simd::Isa;
use std::sync::Arc;
use sync::Turn;

/// Tunnels are prefetched so many packets ahead.
const AHEAD: usize = 8;

/// Puts the headers of a kind of tunnels in front of packets.
pub struct Encap<C: Codec> {
    tunnels: Arc<Tunnels<C::Spec>>,
    wrapper: Wrapper,
    supers: Supers,
}

impl<C: Codec> Build for Encap<C> {
    fn build(world: &World, thread: ThreadIndex) -> Self {
        Self {
            tunnels: world.get(),
            wrapper: Wrapper::new(world, thread),
            supers: Supers::default(),
        }
    }
}

/// The end that a packet is sent to. Of an interface with several, the four bytes in front tell;
/// they are taken off.
#[inline(always)]
fn end_of<'t, S: Spec>(
    tunnels: &'t Tunnels<S>,
    b: &mut Buffer,
    turn: &'t Turn<'_>,
) -> Option<&'t End> {
    let end = tunnels.end(b.tx_if, turn)?;
    if end.route.is_some() {
        return Some(end);
    }
    let number = u32::from_be_bytes(*b.bytes::<4>(0)?);
    // A number may have been given to another interface's since.
    let end =
        tunnels.end(number, turn).filter(|end| end.sw_if == b.tx_if && end.route.is_some())?;
    b.pull(4).then_some(end)
}

impl<C: Codec> Encap<C> {
    /// Puts headers in front of a packet that isn't cut. Returns the next node, and the instance
    /// and the number of the tunnel if the packet is sent. Not inlined: all loops share it, and
    /// most packets are sent by a [`Run`].
    #[inline(never)]
    fn send(
        (tunnels, wrapper): (&Tunnels<C::Spec>, &mut Wrapper),
        b: &mut Buffer,
        cx: &mut Cx<'_, false>,
    ) -> (To, Option<(u32, u32)>) {
        let Some(end) = end_of(tunnels, b, cx.turn) else { return (To::Gone, None) };
        let Some(route) = end.route else { return (To::Gone, None) };
        let to = wrapper.wrap::<C>(b, end, route, cx);
        if !matches!(to, To::Node(_)) {
            return (to, None);
        }
        cx.count(To::Encapsulated, 1);
        (to, Some((end.instance, end.key.id)))
    }

    /// Handles any packet.
    #[inline(always)]
    fn one<const TRACED: bool>(
        (tunnels, wrapper, supers): (&Tunnels<C::Spec>, &mut Wrapper, &mut Supers),
        b: &mut Buffer,
        cx: &mut Cx<'_, TRACED>,
    ) -> To {
        if b.flags.contains(Marked::GSO) {
            // Of an interface with several ends, the end isn't known yet.
            let end = tunnels.end(b.tx_if, cx.turn);
            if !end.is_some_and(|end| wrapper.is_whole(b, end, cx.turn)) {
                return supers.plan(b);
            }
            b.flags.remove(Marked::GSO);
        }
        let (to, of) = Self::send((tunnels, wrapper), b, &mut cx.untraced());
        if TRACED && let Some(of) = of {
            cx.trace(b, EncapTrace::<C>::of(of, b));
        }
        to
    }
}

/// Counts the packets of a run.
#[inline(always)]
fn settle(run: Option<Run<'_>>, wrapper: &mut Wrapper, cx: &mut Cx<'_, false>) {
    if let Some(run) = run {
        let sent = run.settle(wrapper, cx);
        cx.count(To::Encapsulated, sent);
    }
}

impl<C: Codec> Node for Encap<C> {
    const NAME: &'static str = C::NAME;
    const HOT: bool = C::HOT;
    type Next = To;
    type Trace = EncapTrace<C>;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        let Self { tunnels, wrapper, supers } = self;
        Self::one((tunnels, wrapper, supers), b, cx)
    }

    #[inline(always)]
    fn stages<I: Isa>(&mut self, v: &mut Vector<'_, To>, cx: &mut Cx<'_, false>) {
        let Self { tunnels, wrapper, supers } = self;
        let (mut run, mut of): (Option<Run<'_>>, _) = (None, None);
        for i in 0..v.len() {
            v.prefetch(i + AHEAD);
            if i + AHEAD < v.len()
                && let ahead = v.get(i + AHEAD).tx_if
                && of != Some(ahead)
            {
                tunnels.prefetch_end(ahead, cx.turn);
            }
            let b = v.get_mut(i);
            if of != Some(b.tx_if) {
                settle(run.take(), wrapper, cx);
                of = Some(b.tx_if);
                run = tunnels.end(b.tx_if, cx.turn).and_then(|end| Run::of::<C>(end, wrapper, cx));
            }
            let sent = run.as_mut().and_then(|run| run.send::<C>(b, wrapper));
            let to = match sent {
                Some(node) => To::Node(node),
                None => Self::one((tunnels, wrapper, supers), b, cx),
            };
            v.set(i, to);
        }
        settle(run, wrapper, cx);
    }

    fn keep(&mut self, b: Owned, cx: &mut Cx<'_, false>) {
        let Some(b) = self.supers.take::<To>(b, cx) else { return };
        let end = self.tunnels.end(b.tx_if, cx.turn);
        let frames = end.is_some_and(|end| end.frames);
        // Of an interface with several ends: the number of the end.
        let lead = if end.is_some_and(|end| end.route.is_none()) { 4 } else { 0 };
        let Self { tunnels, wrapper, .. } = self;
        segment::cut(b, lead, frames, cx, |part, cx| Self::send((tunnels, wrapper), part, cx).0);
    }

    #[inline(always)]
    fn end<const TRACED: bool>(&mut self, cx: &mut Cx<'_, TRACED>) {
        self.supers.end();
        self.wrapper.end(cx.turn);
    }

    fn keep_end(&mut self, cx: &mut Cx<'_, false>) {
        self.wrapper.end(cx.turn);
    }
}
