// SPDX-License-Identifier: Apache-2.0
//! The interface for authors of nodes.

use crate::config::{ConfigType, Configured};
use crate::dispatch::{self, ErasedNode};
use crate::input::{ErasedInput, InputBox};
use crate::registry::Kind;
use crate::words::{self, fill};
use crate::{Cx, Input, NodeIndex, ThreadIndex, Trace, World};
use buffer::{Buffer, FRAME_SIZE, Frame, Owned};
use simd::Isa;
use stats::Space;
use std::any::TypeId;
use std::marker::PhantomData;

/// An edge of a node, as the derive writes it.
#[derive(Clone, Copy, Debug)]
pub struct Edge {
    /// Short name, `snake_case`: the counter's name.
    pub reason: &'static str,
    /// The node that counts it, if that is another one.
    pub of: Option<&'static str>,
    /// The text that an operator reads.
    pub text: &'static str,
    /// Where the packet goes.
    pub target: Target,
    /// True if packets on this edge are counted.
    pub counted: bool,
}

/// The destination of an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// To the node of this name.
    Node(&'static str),
    /// To the node of this name, with the edge as the packet's reason: that node drops the packet
    /// when it has done its work, such as an answer to the sender.
    Reason(&'static str),
    /// To the next feature of the running arc.
    NextFeature,
    /// To the node's drop node.
    Drop,
    /// To the node's punt node.
    Punt,
    /// Freed: the packet has left.
    Free,
    /// Kept by the node: [`Node::keep`] gets it.
    Keep,
}

/// The edges by which packets leave a node. Derived: see `graph_derive`.
pub trait Next: Copy + 'static {
    /// The edges, in the order of their codes.
    const EDGES: &'static [Edge];
    /// True if some edge is the next feature.
    const FEATURE: bool;
    /// The edge's code: an index of [`Self::EDGES`], [`FEATURE_CODE`], or a node chosen at run
    /// time.
    fn code(self) -> u32;
}

/// The code of "the next feature of the running arc".
pub const FEATURE_CODE: u32 = 0xff;
/// The code of a packet whose edge wasn't set.
pub(crate) const UNSET: u32 = 0xfe;
/// Codes from here on are nodes that were chosen at run time; lower codes are edges of the
/// declaration.
const DYNAMIC: u32 = 0x100;
/// Maximum number of nodes of an instance: two for each interface, and the plugins' nodes.
pub const MAX_NODES: usize = Space::Node.capacity();

/// The code of a node that was chosen at run time.
#[doc(hidden)]
#[inline(always)]
pub const fn dynamic_code(node: NodeIndex) -> u32 {
    DYNAMIC.wrapping_add(node.0)
}

#[inline(always)]
pub(crate) const fn as_dynamic(code: u32) -> Option<NodeIndex> {
    if code >= DYNAMIC { Some(NodeIndex(code - DYNAMIC)) } else { None }
}

/// The part of a node's packets that the loop prefetches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Prefetch {
    /// Nothing: the node before has touched it all.
    None,
    /// The buffer's metadata.
    Meta,
    /// Metadata and the first cache line of the packet.
    Packet,
}

/// A node of the graph, made once for each thread.
///
/// The author writes what happens to one packet ([`Self::packet`]); the loop, prefetching, tracing,
/// counting and enqueueing are the framework's. A lookup whose loads should overlap over the vector
/// also writes [`Self::stages`]; small vectors, and the traced path, still take [`Self::packet`],
/// so both have to give the same.
///
/// The body of a node that sets [`Self::HOT`] is compiled once for each instruction set. Functions
/// that it calls have to be `#[inline(always)]`: what isn't inlined falls back to the lowest.
pub trait Node: Send + Sized + 'static {
    /// The node's name, kebab-case, as VPP's where it is the same.
    const NAME: &'static str;
    /// For a node that is written once for both IP versions: true if this is the one of IPv6. It
    /// fills in the placeholders of names and of the edges' nodes and texts ([`crate::fill`]).
    const V6: Option<bool> = None;
    /// Where `#[drop]` leads.
    const DROP: &'static str = "error-drop";
    /// Where `#[punt]` leads.
    const PUNT: &'static str = "error-punt";
    /// The part of each packet that the loop prefetches.
    const PREFETCH: Prefetch = Prefetch::None;
    /// [`Self::stages`] takes small vectors too: for a node that does one thing for the whole
    /// vector, such as a system call.
    const WHOLE: bool = false;
    /// Most forwarded packets pass this node, so its body is compiled for each instruction set.
    /// Other bodies are compiled once, for every processor: a second and third copy would cost
    /// more memory and time to build than they gain.
    const HOT: bool = false;
    /// The node's edges.
    type Next: Next;
    /// The record that a trace of this node shows beside its name; `()` for none.
    type Trace: Trace;

    /// Processes one packet; returns its edge.
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>)
    -> Self::Next;

    /// Processes a vector of at least eight packets, or of any number with [`Self::WHOLE`]. Every
    /// packet's edge has to be set.
    #[inline(always)]
    fn stages<I: Isa>(&mut self, vector: &mut Vector<'_, Self::Next>, cx: &mut Cx<'_, false>) {
        dispatch::each::<Self>(self, vector, cx);
    }

    /// Takes over a packet that left by a `#[keep]` edge.
    fn keep(&mut self, buffer: Owned, cx: &mut Cx<'_, false>) {
        cx.free(buffer);
    }

    /// Called behind the last packet of a frame that [`Self::keep`] got.
    fn keep_end(&mut self, _cx: &mut Cx<'_, false>) {}

    /// Called behind the last packet of a frame: a driver kicks its device.
    #[inline(always)]
    fn end<const TRACED: bool>(&mut self, _cx: &mut Cx<'_, TRACED>) {}

    /// Called once a second or so, on the node's own thread, between frames: time out what was
    /// kept.
    fn tick(&mut self, _cx: &mut Cx<'_, false>) {}
}

/// A node's name, its placeholders filled in.
pub fn name_of<N: Node>() -> &'static str {
    fill(N::NAME, N::V6)
}

/// Makes a node that has no parameters, from the instance's shared state.
pub trait Build: Sized {
    /// The node for this thread.
    fn build(world: &World, thread: ThreadIndex) -> Self;
}

/// A vector of packets in [`Node::stages`].
pub struct Vector<'a, N: Next> {
    pub(crate) frame: &'a mut Frame,
    pub(crate) codes: &'a mut [u32; FRAME_SIZE],
    pub(crate) next: PhantomData<N>,
}

impl<N: Next> Vector<'_, N> {
    /// Number of packets: 8 to 256, or from 1 with [`Node::WHOLE`].
    #[inline(always)]
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.frame.len()
    }
    /// Packet number `i`.
    #[inline(always)]
    pub fn get(&self, i: usize) -> &Buffer {
        self.frame.get(i)
    }
    /// Packet number `i`, to change.
    #[inline(always)]
    pub fn get_mut(&mut self, i: usize) -> &mut Buffer {
        self.frame.get_mut(i)
    }
    /// All packets in order, each with the slot for its edge. (No closure: what is written in a
    /// closure isn't always inlined, and then it is compiled for the lowest instruction set.)
    #[inline(always)]
    pub fn packets(&mut self) -> impl Iterator<Item = (&mut Buffer, Out<'_, N>)> {
        self.frame.iter_mut().zip(self.codes.iter_mut().map(|code| Out(code, PhantomData)))
    }
    /// The same, with metadata and first cache line of the packets prefetched.
    #[inline(always)]
    pub fn packets_ahead(&mut self) -> impl Iterator<Item = (&mut Buffer, Out<'_, N>)> {
        let codes = self.codes.iter_mut().map(|code| Out(code, PhantomData));
        self.frame.range_mut_ahead(0, FRAME_SIZE, dispatch::fetch::<true>).zip(codes)
    }
    /// The same, with the metadata only.
    #[inline(always)]
    pub(crate) fn packets_meta_ahead(&mut self) -> impl Iterator<Item = (&mut Buffer, Out<'_, N>)> {
        let codes = self.codes.iter_mut().map(|code| Out(code, PhantomData));
        self.frame.range_mut_ahead(0, FRAME_SIZE, dispatch::fetch::<false>).zip(codes)
    }
    /// All packets in order.
    #[inline(always)]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Buffer> {
        self.frame.iter()
    }
    /// All packets in order, to change.
    #[inline(always)]
    pub fn iter_mut(&mut self) -> impl ExactSizeIterator<Item = &mut Buffer> {
        self.frame.iter_mut()
    }
    /// Packets `from .. to` in order, to change (fewer, if there are fewer).
    #[inline(always)]
    pub fn range_mut(
        &mut self,
        from: usize,
        to: usize,
    ) -> impl ExactSizeIterator<Item = &mut Buffer> {
        self.frame.range_mut(from, to)
    }
    /// The same, each with the slot for its edge.
    #[inline(always)]
    pub fn range_packets(
        &mut self,
        from: usize,
        to: usize,
    ) -> impl Iterator<Item = (&mut Buffer, Out<'_, N>)> {
        let codes =
            self.codes[from.min(FRAME_SIZE)..].iter_mut().map(|code| Out(code, PhantomData));
        self.frame.range_mut(from, to).zip(codes)
    }
    /// Sets the edge of packet `i`.
    #[inline(always)]
    pub fn set(&mut self, i: usize, next: N) {
        self.codes[i] = next.code();
    }
    /// Packets `from .. to` in order, to change, with metadata and first cache line prefetched.
    #[inline(always)]
    pub fn range_mut_ahead(&mut self, from: usize, to: usize) -> impl Iterator<Item = &mut Buffer> {
        self.frame.range_mut_ahead(from, to, dispatch::fetch::<true>)
    }
    /// Returns true if `next` is set as the edge of packet `i`.
    #[inline(always)]
    pub fn is(&self, i: usize, next: N) -> bool {
        self.codes[i] == next.code()
    }
    /// Sets the edge of all packets.
    #[inline(always)]
    pub fn set_all(&mut self, next: N) {
        self.codes.fill(next.code());
    }
    /// Prefetches the metadata and first cache line of packet `i`.
    #[inline(always)]
    pub fn prefetch(&self, i: usize) {
        dispatch::prefetch::<true>(self.frame, i);
    }
}

/// The slot for a packet's edge.
pub struct Out<'a, N>(&'a mut u32, PhantomData<N>);

impl<N: Next> Out<'_, N> {
    /// Sets it.
    #[inline(always)]
    pub fn go(self, next: N) {
        *self.0 = next.code();
    }
}

type MakeNode = Box<dyn Fn(&World, ThreadIndex) -> ErasedNode + Send + Sync>;
type MakeInput = Box<dyn Fn(&World, ThreadIndex) -> InputBox + Send + Sync>;

pub(crate) enum Factory {
    Node(MakeNode),
    Input(MakeInput),
}

impl Factory {
    pub fn kind(&self) -> Kind {
        match self {
            Self::Node(_) => Kind::Node,
            Self::Input(_) => Kind::Input,
        }
    }
}

/// The type of a node: its edges, and the enum that they are variants of.
pub(crate) struct NodeType {
    pub edges: Vec<Edge>,
    /// The type of the node; `()` for one that is only named so far.
    pub node: TypeId,
    pub of: TypeId,
    pub drop: &'static str,
    pub punt: &'static str,
    /// Type of its configuration as a feature; `()` for none.
    pub config: ConfigType,
    /// True if there is a body for each instruction set ([`Node::HOT`]).
    pub hot: bool,
}

impl NodeType {
    pub fn of<N: Node>() -> Self {
        let node = TypeId::of::<N>();
        let (drop, punt) = (fill(N::DROP, N::V6), fill(N::PUNT, N::V6));
        Self { node, drop, punt, hot: N::HOT, ..Self::new::<N::Next>(N::V6) }
    }

    pub fn configured<N: Configured>() -> Self {
        Self { config: ConfigType::of::<N::Config>(), ..Self::of::<N>() }
    }

    pub fn of_input<N: Input>() -> Self {
        Self { node: TypeId::of::<N>(), ..Self::new::<N::Next>(None) }
    }

    /// No edges: for a node that is only named so far.
    pub fn none() -> Self {
        let none = TypeId::of::<()>();
        let config = ConfigType::of::<()>();
        Self {
            edges: Vec::new(),
            node: none,
            of: none,
            drop: "error-drop",
            punt: "error-punt",
            config,
            hot: false,
        }
    }

    fn new<N: Next>(v6: Option<bool>) -> Self {
        const { assert!(N::EDGES.len() <= UNSET as usize, "more edges than there are codes for") };
        Self { edges: words::edges(N::EDGES, v6), of: TypeId::of::<N>(), ..Self::none() }
    }
}

/// A node as the graph keeps it.
pub struct NodeDef {
    pub(crate) name: &'static str,
    pub(crate) v6: Option<bool>,
    pub(crate) node_type: fn() -> NodeType,
    pub(crate) make: fn() -> Factory,
}

impl NodeDef {
    /// A node, for a plugin's list.
    pub const fn of<N: Node + Build>() -> Self {
        Self {
            name: N::NAME,
            v6: N::V6,
            node_type: NodeType::of::<N>,
            make: || {
                Factory::Node(Box::new(|world, thread| ErasedNode::new(N::build(world, thread))))
            },
        }
    }

    /// The node of a feature that has a configuration on each interface, for a plugin's list.
    pub const fn configured<N: Configured + Build>() -> Self {
        Self { node_type: NodeType::configured::<N>, ..Self::of::<N>() }
    }

    /// The same node under a name of its own, for another arc: it tells by [`Cx::node`] which of
    /// them it is.
    pub const fn named(self, name: &'static str) -> Self {
        Self { name, ..self }
    }

    /// The node's name.
    pub fn name(&self) -> &'static str {
        fill(self.name, self.v6)
    }

    /// The node's edges, for documentation.
    pub fn edges(&self) -> Vec<Edge> {
        (self.node_type)().edges
    }

    /// An input node, for a plugin's list.
    pub const fn input<N: Input + Build>() -> Self {
        Self {
            name: N::NAME,
            v6: None,
            node_type: NodeType::of_input::<N>,
            make: || {
                Factory::Input(Box::new(|world, thread| {
                    <dyn ErasedInput>::boxed(N::build(world, thread))
                }))
            },
        }
    }
}
