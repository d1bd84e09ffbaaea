// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! Super-paths: ordinary packets and frames go from the node that received them to a transmit node
//! with one node in between. The graph is complete, and always right; these nodes give the same
//! results, sooner, and leave it all other packets untouched and uncounted. Traced packets take the
//! graph, so a trace shows every step.
//!
//! `l2-super-path` switches frames (`l2`). `super-path` routes packets: Ethernet, validation,
//! lookup, rewrite and output. It stands last on the arc of received frames of Ethernet interfaces
//! that carry IP: of devices, and of tunnels whose packets are frames. An ordinary packet is one
//! that was received in one piece for our MAC address, and whose headers are usual. It goes
//! straight to the transmit node of a driver or a tunnel, if its route leads to a resolved
//! neighbour, or into a link without layer-2 header, that takes it; or to the node that takes
//! packets for us; or to the node of a feature. Any other packet goes on to `ethernet-input`.
//!
//! - **Doors.** The same code stands on other arcs under names of their own: on `tunnel-input-ip4`
//!   and `-ip6` for packets out of tunnels, and last on `ip4-unicast` and `ip6-unicast` for packets
//!   that have passed features of their interface. These packets begin with their IP header, and
//!   get room for an Ethernet header in front, as tags of other packets are skipped (`front`): all
//!   that follows is the same.
//! - **Stages.** A feature of received packets can have a stage (`net::Stage`), which is run for a
//!   block of packets in place of the feature's node. At a feature without a stage, packets go to
//!   its node and come back by a door, in front of the next feature with a stage or behind the last
//!   feature: control puts a step for the door's node there into the chains of interfaces
//!   (`World::return_by`). A packet that has passed stages and can't be sent goes to the lookup, so
//!   that nothing is done twice. docs/add-a-stage.md shows how. `show super-path` names the stages
//!   and the features that are visited. A feature on one of these arcs that would come after the
//!   super-path is an error at start.
//! - **Features of packets that leave.** Stages of the first ones are run in front of the new
//!   layer-2 header; packets that pass all features go straight to the transmit node. Others get
//!   their header here, and go where `ip4-rewrite` would send them: to the feature that has to
//!   handle them, or to the output node of an interface with features. Features that only copy
//!   frames (`net::Mirror`) do so when the packets of a vector have been sent, on their way to the
//!   transmit node: routed ones, and switched ones.
//! - **Packets for us** go to the node of their protocol, or of their UDP port, if `ip4-local`
//!   finds nothing to object (`ip::Local::taker`): so those for a tunnel reach its input node at
//!   once.
//! - **Tunnels.** Frames out of tunnels start an arc of their own, `tunnel-input-ethernet`
//!   (`Device::input_arc`), on which the super-paths of routed and of switched frames stand as on
//!   `device-input`. Packets that are routed into a tunnel of IP lose their Ethernet header and go
//!   to the tunnel's node at once. There `tunnel::Run` keeps what is the same for all packets of a
//!   tunnel in a frame, and `ip::Departure` gives an ordinary packet the layer-2 header of its
//!   outer packet: it goes straight to the transmit node. The input nodes compare outer headers
//!   with those of the packet before (`tunnel::Last`), and decide only once about equal ones.
//! - **Blocks.** The node processes a block of 64 packets of one interface at a time. While it
//!   sends one block, it prefetches the data for the lookups of the next block
//!   (`tables::SplitLookup`), so that lookups in large tables stall less. If packets of one
//!   protocol follow each other, as most do, the node uses loops specialised for this protocol. Of
//!   several paths a packet takes one by its flow, as in the graph.
//! - **Tagged frames** for a sub-interface are processed by the node on the parent interface, in
//!   blocks of up to 64 frames with the same tags. In vectors of eight or more packets, a run of
//!   fewer than eight frames with the same tags takes the graph, which is cheaper for so few.
//!   Packets that leave by a sub-interface get its tags in the super-path too
//!   (`Interfaces::sent_by`).
//! - **Packets by themselves** (`single`): those of vectors below eight, and those of a block that
//!   aren't like the others, take the same function.
//! - **Between bridge domains and routes.** A frame to the address of a BVI goes from
//!   `l2-super-path` to the first feature of frames that this interface receives, mostly
//!   `super-path`. A packet that is routed to a BVI takes the address table of the domain in
//!   `super-path` (`Forwarder::bridged_hop`), once for all packets of a block to the same
//!   neighbour, and goes straight to the port's transmit node.
//! - **Switched frames** have a node of their own in the same crate, `l2-super-path`, in front of
//!   `super-path`. It takes unicast frames whose source and destination are known, or that are
//!   cross-connected, and whose two ports have no feature, rewriting or filter. `features/l2`
//!   decides which these are (`l2::Origin`, `l2::Target`), and counts for the nodes that they don't
//!   visit (`Bridge::count_switched`).
//! - **Equivalence.** Tests compare the super-path with the graph. `set super-path off` makes all
//!   packets take the graph, switched frames too (`net::SuperPaths`). Plugins report changes that
//!   decide about its use on an interface by `SuperPaths::follow`.
//!
//! Both nodes keep the interfaces by which packets of a vector leave, with the packets that aren't
//! counted yet, in [`net::Exits`].
//!
//! Tests: a million good and broken frames through two routers, as many for sub-interfaces in
//! random configurations, 200,000 with tunnels, thousands of vectors through two switches whose
//! settings change: with and without the super-path, the same bytes and the same counters.

mod choice;
mod deferred;
mod deliver;
mod features;
mod forwarder;
mod front;
mod gate;
mod l2;
mod next_hop;
mod node;
mod output;
mod plan;
mod protocol;
mod rx;
mod send;
mod single;
mod switch;
mod tags;

pub use node::SuperPath;

use ::l2::Bridge;
use buffer::{Buffer, Flags, Owned};
use cli::Command;
use graph::{Cx, Feature, Next, Node, NodeDef, NodeIndex, Plugin, Script, StateDef, World, rank};
use ip::headers::BLOCK;
use l2::L2SuperPath;
use net::Interfaces;
use rx::Door;
use std::sync::Arc;

/// The super-paths of IPv4, IPv6 and switched frames.
pub static PLUGIN: Plugin = Plugin {
    name: "super-path",
    about: "Ordinary packets, from Ethernet to Ethernet in one node",
    area: "speed",
    does: &[
        "One node for ordinary packets from Ethernet to Ethernet: IPv4 and IPv6 routed, unicast \
         frames switched, between both through BVIs, into tunnels and out of them, to us, and \
         through features that have a stage",
        "On by default (`set super-path`); `show super-path` names the stages that are run and the \
         features that are visited instead",
    ],
    limits: &[
        "Routed packets in one buffer",
        "Nodes of features are visited, except features with a stage: of received packets uRPF, \
         MSS clamp, port ranges, ACLs, layer-3 cross-connects, bypasses of tunnels; of sent ones \
         uRPF, MSS clamp and ACLs; of frames SPAN, except of received ones at the device, with up \
         to four destinations",
        "Frames to groups and switched frames with tags take the graph",
    ],
    // Layer-2 switching may be missing.
    state: &[StateDef::of::<switch::OpenSubs>(), StateDef::of::<Bridge>()],
    nodes: &[
        NodeDef::of::<SuperPath>(),
        NodeDef::of::<L2SuperPath>(),
        DOORS[0].node(),
        DOORS[1].node(),
        DOORS[2].node(),
        DOORS[3].node(),
    ],
    features: &[
        routes_on(FRAMES[0]),
        routes_on(FRAMES[1]),
        switches_on(FRAMES[0], &["bond-input", "l2-patch", "pcap-capture", "span-input"]),
        switches_on(FRAMES[1], &["pcap-capture"]),
        DOORS[0].feature(),
        DOORS[1].feature(),
        DOORS[2].feature(),
        DOORS[3].feature(),
    ],
    cli: COMMANDS,
    config: switch::write_config,
    examples: &[Script::here("super-path", "set super-path off")],
    start,
    ..Plugin::EMPTY
};

/// The arcs of received frames: each interface starts one of them ([`net::Device::input_arc`]).
const FRAMES: [&str; 2] = ["device-input", "tunnel-input-ethernet"];

/// A node for packets that begin with their IP header, and its arc.
#[derive(Clone, Copy)]
struct Packets {
    node: &'static str,
    arc: &'static str,
    door: Door,
    /// Features that it stands behind.
    after: &'static [&'static str],
}

const DOORS: [Packets; 4] = [
    Packets {
        node: "super-path-ip4",
        arc: "tunnel-input-ip4",
        door: Door::Packets { v6: false },
        after: &["pcap-capture"],
    },
    Packets {
        node: "super-path-ip6",
        arc: "tunnel-input-ip6",
        door: Door::Packets { v6: true },
        after: &["pcap-capture"],
    },
    Packets {
        node: "super-path-ip4-passed",
        arc: "ip4-unicast",
        door: Door::Passed { v6: false },
        after: &[rank::BYPASS],
    },
    Packets {
        node: "super-path-ip6-passed",
        arc: "ip6-unicast",
        door: Door::Passed { v6: true },
        after: &[rank::BYPASS],
    },
];

impl Packets {
    const fn node(&self) -> NodeDef {
        NodeDef::of::<SuperPath>().named(self.node)
    }

    const fn feature(&self) -> Feature {
        Feature { arc: self.arc, node: self.node, before: &[], after: self.after }
    }
}

/// The last feature of an arc of frames.
const fn routes_on(arc: &'static str) -> Feature {
    Feature { arc, node: SuperPath::NAME, before: &[], after: &["pcap-capture"] }
}

/// The feature in front of it, for frames that are switched.
const fn switches_on(arc: &'static str, after: &'static [&'static str]) -> Feature {
    Feature { arc, node: L2SuperPath::NAME, before: &[SuperPath::NAME], after }
}

const COMMANDS: &[Command<World>] = &[
    Command {
        path: "set super-path",
        usage: "{on|off}",
        help: "Take ordinary packets from Ethernet to Ethernet in one node (the default), or every packet through the graph",
        run: switch::set,
    },
    Command {
        path: "show super-path",
        usage: "",
        help: "Interfaces whose ordinary packets take one node, the stages of features that are run there, and the features whose nodes are visited",
        run: switch::show,
    },
];

fn start(world: &Arc<World>) -> Result<(), String> {
    switch::check_last(world)?;
    for packets in DOORS.iter().filter(|packets| matches!(packets.door, Door::Passed { .. })) {
        world.return_by(packets.arc, packets.node)?;
    }
    switch::start(world);
    Ok(())
}

/// Bytes of the Ethernet header.
const ETHERNET: usize = 14;
/// Packets are prefetched so far ahead.
const AHEAD: usize = 8;

/// Packets that take the graph whatever their bytes are.
const ASIDE: Flags = Flags::TRACED
    .union(Flags::LOCAL)
    .union(Flags::GSO)
    .union(Flags::TABLE)
    .union(Flags::L2_BROADCAST)
    .union(Flags::L2_MULTICAST);

/// The next nodes of a packet.
#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
pub enum To {
    /// To a driver's transmit node, the first feature, or the node that takes packets for us.
    #[dynamic]
    Node(NodeIndex),
    /// Along the arc: a packet that the graph handles.
    #[next_feature]
    Aside,
}

/// The transmit node of the interface that a packet leaves by, if it leaves.
fn tx_of(b: &Buffer, interfaces: &Interfaces, cx: &Cx<'_, false>) -> NodeIndex {
    interfaces.views(cx.turn).get(b.tx_if as usize).unwrap_or_default().tx
}

/// Sends the copy of a frame to a node.
fn emit_copy(cx: &mut Cx<'_, false>, node: NodeIndex, copy: Owned) {
    cx.emit(To::Node(node), copy);
}

/// The numbers of the bits that are set, from the lowest.
struct Bits(u64);

impl Iterator for Bits {
    type Item = usize;

    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        if self.0 == 0 {
            return None;
        }
        let bit = first(self.0);
        self.0 &= self.0 - 1;
        Some(bit)
    }
}

/// Number of the lowest set bit; 0 if none is set.
#[inline(always)]
fn first(bits: u64) -> usize {
    bits.trailing_zeros() as usize % BLOCK
}
