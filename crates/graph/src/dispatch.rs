// SPDX-License-Identifier: Apache-2.0
//! The loop around a node's body, compiled for each instruction set if the node is a hot one, or
//! once.
//!
//! Wrapper outside, always-inline body inside: a function with `#[target_feature]` calls the
//! generic body, and everything in it is compiled for that feature set. What isn't inlined falls
//! back to the lowest.

use crate::arcs::ArcTable;
use crate::core::Core;
use crate::node::{Node, Target, Vector};
use crate::slot::NodeRuntime;
use crate::{Cx, FEATURE_CODE, Next, Prefetch};
use buffer::{Buffer, FRAME_SIZE, Flags, Frame};
use simd::{Isa, Level, V1, Variants};
use std::any::TypeId;
use std::marker::PhantomData;
use sync::Turn;

/// Vectors below this go without prologue.
const SMALL: usize = 8;

/// A boxed node of the type that the function beside it was made for.
#[derive(Clone, Copy)]
pub(crate) struct NodePtr(*mut ());

pub(crate) type Run = fn(NodePtr, &NodeRuntime, &mut Core, &Turn<'_>, &ArcTable, &mut Box<Frame>);
type Tick = unsafe fn(*mut (), &NodeRuntime, &mut Core, &Turn<'_>, &ArcTable);

/// A node of whatever type, with its loop for each instruction set.
pub(crate) struct ErasedNode {
    data: *mut (),
    kind: TypeId,
    variants: Variants<Run>,
    tick: Tick,
    free: unsafe fn(*mut ()),
}

// SAFETY: `data` is a boxed `Node`, which is `Send`.
unsafe impl Send for ErasedNode {}

impl ErasedNode {
    pub fn new<N: Node>(node: N) -> Self {
        Self {
            data: Box::into_raw(Box::new(node)).cast(),
            kind: TypeId::of::<N>(),
            variants: const { if N::HOT { variants::<N>() } else { Variants::one(run_raw::<V1, N>) } },
            tick: tick::<N>,
            free: free::<N>,
        }
    }

    /// The loop for a level, if the processor has it.
    pub fn variant(&self, level: Level) -> Option<Run> {
        self.variants.get(level)
    }

    /// Runs the node over the frame, and leaves the frame empty.
    ///
    /// # Safety
    /// `run` is one of this node's variants.
    #[inline(always)]
    pub unsafe fn run(
        &mut self,
        run: Run,
        node: &NodeRuntime,
        core: &mut Core,
        turn: &Turn<'_>,
        arcs: &ArcTable,
        frame: &mut Box<Frame>,
    ) {
        run(NodePtr(self.data), node, core, turn, arcs, frame);
    }

    pub fn tick(&mut self, node: &NodeRuntime, core: &mut Core, turn: &Turn<'_>, arcs: &ArcTable) {
        // SAFETY: `data` is of the type that `tick` was made for.
        unsafe { (self.tick)(self.data, node, core, turn, arcs) }
    }

    pub fn get_mut<N: Node>(&mut self) -> Option<&mut N> {
        // SAFETY: the type was compared, and the node is borrowed exclusively.
        (self.kind == TypeId::of::<N>()).then(|| unsafe { &mut *self.data.cast::<N>() })
    }
}

impl Drop for ErasedNode {
    fn drop(&mut self) {
        // SAFETY: `data` came from a box of the type that `free` was made for.
        unsafe { (self.free)(self.data) }
    }
}

unsafe fn free<N: Node>(data: *mut ()) {
    // SAFETY: as the caller says.
    drop(unsafe { Box::from_raw(data.cast::<N>()) });
}

unsafe fn tick<N: Node>(
    data: *mut (),
    node: &NodeRuntime,
    core: &mut Core,
    turn: &Turn<'_>,
    arcs: &ArcTable,
) {
    // SAFETY: as the caller says.
    let this = unsafe { &mut *data.cast::<N>() };
    this.tick(&mut Cx::new(core, node, arcs, turn));
}

macro_rules! loops {
    ($($without:tt)*) => {
        simd::variants! {
            fn variants<I: Isa, N: Node>(
                data: NodePtr,
                node: &NodeRuntime,
                core: &mut Core,
                turn: &Turn<'_>,
                arcs: &ArcTable,
                frame: &mut Box<Frame>,
            ) = run_raw::<I, N> $($without)*;
        }
    };
}

#[cfg(not(feature = "two-levels"))]
loops!();
#[cfg(feature = "two-levels")]
loops!(, without v4);

#[inline(always)]
fn run_raw<I: Isa, N: Node>(
    data: NodePtr,
    node: &NodeRuntime,
    core: &mut Core,
    turn: &Turn<'_>,
    arcs: &ArcTable,
    frame: &mut Box<Frame>,
) {
    // SAFETY: only `ErasedNode::run` makes a `NodePtr`: of the type that this variant was made for,
    // borrowed exclusively.
    run::<N, I>(unsafe { &mut *data.0.cast::<N>() }, node, core, turn, arcs, frame);
}

struct Keeps<N>(PhantomData<N>);

impl<N: Next> Keeps<N> {
    /// True if some edge keeps the packet.
    const ANY: bool = {
        let (mut i, mut found) = (0, false);
        while i < N::EDGES.len() {
            found |= matches!(N::EDGES[i].target, Target::Keep);
            i += 1;
        }
        found
    };
}

#[inline(always)]
fn run<N: Node, I: Isa>(
    this: &mut N,
    node: &NodeRuntime,
    core: &mut Core,
    turn: &Turn<'_>,
    arcs: &ArcTable,
    frame: &mut Box<Frame>,
) {
    if frame.traced || core.trace.marking(node.index) {
        traced(this, node, core, turn, arcs, frame);
    } else if frame.len() < SMALL && !N::WHOLE {
        let mut codes = [0; SMALL];
        let mut cx = Cx::<false>::new(core, node, arcs, turn);
        for i in 0..frame.len() {
            codes[i & (SMALL - 1)] = one(this, frame.get_mut(i), &mut cx);
        }
        this.end(&mut cx);
        core.enqueue_small(node, frame, &codes);
    } else {
        let mut codes = [crate::node::UNSET; FRAME_SIZE];
        let mut cx = Cx::<false>::new(core, node, arcs, turn);
        let mut vector = Vector { frame, codes: &mut codes, next: PhantomData };
        this.stages::<I>(&mut vector, &mut cx);
        if N::Next::FEATURE {
            let on = simd::equal_mask::<I>(&codes, frame.len(), FEATURE_CODE);
            for (word, mut set) in on.into_iter().enumerate() {
                while set != 0 {
                    let i = word * 64 + set.trailing_zeros() as usize;
                    codes[i] = arcs.advance(frame.get_mut(i));
                    set &= set - 1;
                }
            }
        }
        this.end(&mut cx);
        core.enqueue::<I>(node, frame, &codes);
    }
    if Keeps::<N::Next>::ANY && !core.kept.is_empty() {
        keep(this, node, core, turn, arcs);
    }
}

/// The node's work on one packet. Most nodes are rarely used: the loops for small and for large
/// vectors of such a node call the same copy of it.
#[inline(always)]
fn packet<N: Node, const TRACED: bool>(
    this: &mut N,
    b: &mut Buffer,
    cx: &mut Cx<'_, TRACED>,
) -> N::Next {
    if const { N::HOT } { this.packet::<TRACED>(b, cx) } else { apart::<N, TRACED>(this, b, cx) }
}

#[inline(never)]
fn apart<N: Node, const TRACED: bool>(
    this: &mut N,
    b: &mut Buffer,
    cx: &mut Cx<'_, TRACED>,
) -> N::Next {
    this.packet::<TRACED>(b, cx)
}

/// The loop of a node that is written for one packet.
#[inline(always)]
pub(crate) fn each<N: Node>(
    this: &mut N,
    vector: &mut Vector<'_, N::Next>,
    cx: &mut Cx<'_, false>,
) {
    match N::PREFETCH {
        Prefetch::None => {
            for (b, out) in vector.packets() {
                out.go(packet::<N, false>(this, b, cx));
            }
        }
        Prefetch::Meta => {
            for (b, out) in vector.packets_meta_ahead() {
                out.go(packet::<N, false>(this, b, cx));
            }
        }
        Prefetch::Packet => {
            for (b, out) in vector.packets_ahead() {
                out.go(packet::<N, false>(this, b, cx));
            }
        }
    }
}

#[inline(always)]
fn one<N: Node, const TRACED: bool>(this: &mut N, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> u32 {
    let code = packet::<N, TRACED>(this, b, cx).code();
    if N::Next::FEATURE && code == FEATURE_CODE { cx.next_step(b) } else { code }
}

#[inline(always)]
pub(crate) fn prefetch<const PACKET: bool>(frame: &Frame, i: usize) {
    fetch::<PACKET>(frame.prefetch_address(i));
}

/// Fetches a packet by the address of its metadata.
#[inline(always)]
pub(crate) fn fetch<const PACKET: bool>(meta: *const u8) {
    simd::prefetch_ptr(meta);
    if PACKET {
        // Headers start at the headroom's end or, behind a decapsulation, close to it.
        simd::prefetch_ptr(meta.wrapping_add(buffer::PACKET_OFFSET));
    }
}

/// A frame with traced packets, or whose packets are to be traced from here on: every node writes a
/// record, and the body is the same one, for one packet at a time.
#[cold]
#[inline(never)]
fn traced<N: Node>(
    this: &mut N,
    node: &NodeRuntime,
    core: &mut Core,
    turn: &Turn<'_>,
    arcs: &ArcTable,
    frame: &mut Box<Frame>,
) {
    let mut codes = [crate::node::UNSET; FRAME_SIZE];
    let mut cx = Cx::<true>::new(core, node, arcs, turn);
    each_traced(frame, &mut codes, &mut cx, &mut |b, cx| one::<N, true>(this, b, cx));
    this.end(&mut cx);
    core.enqueue::<V1>(node, frame, &codes);
}

/// The loop of a traced frame, which is the same for all nodes.
#[inline(never)]
fn each_traced(
    frame: &mut Frame,
    codes: &mut [u32; FRAME_SIZE],
    cx: &mut Cx<'_, true>,
    packet: &mut dyn FnMut(&mut Buffer, &mut Cx<'_, true>) -> u32,
) {
    let node = cx.node.index;
    let mut any = false;
    for (i, code) in codes.iter_mut().enumerate().take(frame.len()) {
        let b = frame.get_mut(i);
        if cx.core.trace.marking(node) {
            let now = cx.core.clock.now();
            cx.core.trace.mark_inside(node, b, now, cx.turn);
        }
        if b.flags.contains(Flags::TRACED) {
            any = true;
            cx.core.trace.begin(b.trace, node);
        }
        *code = packet(b, cx);
    }
    frame.traced = any;
}

#[cold]
#[inline(never)]
fn keep<N: Node>(
    this: &mut N,
    node: &NodeRuntime,
    core: &mut Core,
    turn: &Turn<'_>,
    arcs: &ArcTable,
) {
    let empty = core.spare();
    let mut kept = std::mem::replace(&mut core.kept, empty);
    for buffer in kept.drain() {
        this.keep(buffer, &mut Cx::new(core, node, arcs, turn));
    }
    this.keep_end(&mut Cx::new(core, node, arcs, turn));
    core.give_spare(kept);
}
