// SPDX-License-Identifier: Apache-2.0
//! The path of a frame from one end to the other.

use buffer::{Buffer, Field, FieldValue, Flags};
use graph::{Build, Cx, Next, Node, NodeIndex, Shared, SwIfIndex, ThreadIndex, Trace, World};
use net::FrameInput;
use std::fmt;
use std::sync::Arc;
use sync::Slots;
use zerocopy::{Immutable, IntoBytes, TryFromBytes};

/// Number of pipes that a packet crosses at most. Copies of a flood that loops over several pipes
/// multiply with each one, and all are made before the thread does other work.
pub const MAX_CROSSINGS: u8 = 8;

/// Number of pipes that a packet has crossed.
#[derive(Clone, Copy, Default, Debug, TryFromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub struct Crossings(u8);

impl FieldValue for Crossings {}

/// The other end, by the index of an end.
pub struct Peers(Slots<u32>);

impl Shared for Peers {
    fn make(world: &World) -> Self {
        Self(Slots::new(world.qsbr.clone()))
    }
}

impl Peers {
    /// Lets each of two ends receive what the other one sends.
    pub fn connect(&self, [a, b]: [SwIfIndex; 2]) {
        self.0.set(a.0, b.0);
        self.0.set(b.0, a.0);
    }

    /// Ends the connection of two ends.
    pub fn disconnect(&self, ends: [SwIfIndex; 2]) {
        ends.iter().for_each(|end| _ = self.0.clear(end.0));
    }
}

/// `pipeN.M-tx`: frames that an end sends are the other end's.
pub struct PipeTx {
    sw_if: u32,
    peers: Arc<Peers>,
}

impl PipeTx {
    pub fn new(world: &World, sw_if: SwIfIndex) -> Self {
        Self { sw_if: sw_if.0, peers: world.get() }
    }
}

#[derive(Next, Clone, Copy)]
pub enum TxTo {
    #[next("pipe-rx")]
    Rx,
    /// the pipe is being deleted
    #[drop]
    Gone,
}

impl Node for PipeTx {
    const NAME: &'static str = "pipe-tx";
    const HOT: bool = true;
    type Next = TxTo;
    type Trace = ();

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> TxTo {
        let Some(peer) = self.peers.0.get(self.sw_if, cx.turn) else { return TxTo::Gone };
        b.tx_if = self.sw_if;
        b.rx_if = *peer;
        TxTo::Rx
    }
}

/// `pipe-rx`: receives frames at the end that they come out of.
pub struct PipeRx {
    input: FrameInput,
    crossings: Field<Crossings>,
}

#[derive(Next, Clone, Copy)]
pub enum RxTo {
    /// The first feature of the end, or `ethernet-input`.
    #[dynamic]
    Node(NodeIndex),
    /// packet has crossed too many pipes, perhaps in a loop
    #[drop]
    TooManyPipes,
}

#[derive(Clone, Copy)]
pub struct PipeTrace {
    tx_if: u32,
    rx_if: u32,
}

impl Trace for PipeTrace {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sw_if_index {} -> {}", self.tx_if, self.rx_if)
    }
}

impl Build for PipeRx {
    fn build(world: &World, thread: ThreadIndex) -> Self {
        Self { input: FrameInput::new(world, thread), crossings: world.field() }
    }
}

impl Node for PipeRx {
    const NAME: &'static str = "pipe-rx";
    const HOT: bool = true;
    type Next = RxTo;
    type Trace = PipeTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> RxTo {
        if TRACED {
            cx.trace(b, PipeTrace { tx_if: b.tx_if, rx_if: b.rx_if });
        }
        let crossed = b.find_field(self.crossings).map_or(0, |crossings| crossings.0);
        if crossed >= MAX_CROSSINGS {
            return RxTo::TooManyPipes;
        }
        b.set_field(self.crossings, Crossings(crossed + 1));
        // True of the packet where it was sent, not where it is received.
        const OF_SENDER: Flags = Flags::LOCAL
            .union(Flags::IP4_CSUM_OK)
            .union(Flags::VLAN)
            .union(Flags::L2_BROADCAST)
            .union(Flags::L2_MULTICAST)
            .union(Flags::TABLE);
        b.flags.remove(OF_SENDER);
        RxTo::Node(self.input.receive(b, cx))
    }
}
