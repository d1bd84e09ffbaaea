// SPDX-License-Identifier: Apache-2.0
//! `ip4-dvr-dpo`, `ip6-dvr-dpo`: puts the layer-2 header that a packet was received with in front
//! again, and sends the packet along the output features of the interface.

use buffer::{Buffer, Field, FieldValue, Flags};
use graph::{ArcIndex, Build, Cx, Next, Node, NodeIndex, ThreadIndex, Trace, World, filled};
use ip::Ip;
use net::{Adjacencies, IpMeta, TAG};
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use wire::EtherType;
use zerocopy::{Immutable, IntoBytes, TryFromBytes};

/// Bytes of an Ethernet header without tags.
const HEADER: usize = 14;
/// Tags that a routed frame has at most.
const MOST_TAGS: usize = 2;

/// Marks a packet that has taken a DVR route.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq, TryFromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub struct Steered {
    /// It is on its way along the output features: its layer-2 header is complete.
    pub on_arc: bool,
}

impl FieldValue for Steered {}

/// `ip4-dvr-dpo` or `ip6-dvr-dpo`.
pub struct Dpo<F> {
    adjacencies: Arc<Adjacencies>,
    output: ArcIndex,
    steered: Field<Steered>,
    version: PhantomData<F>,
}

#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
pub enum To {
    /// The first output feature of the interface.
    #[dynamic]
    Node(NodeIndex),
    /// {ip} adjacency is gone
    #[drop]
    NoAdjacency,
    /// {ip} interface has no feature for DVR routes: it was disabled, or there was no room for it
    #[drop]
    NoArc,
    /// {ip} packet has no layer-2 header that it was received with
    #[drop]
    NoHeader,
    /// {ip} packet has taken a DVR route before
    #[drop]
    Again,
}

/// Interfaces and layer-2 header of a packet.
#[derive(Clone, Copy)]
pub struct DvrTrace {
    rx_if: u32,
    tx_if: u32,
    header: usize,
}

impl Trace for DvrTrace {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rx_if, tx_if, header } = self;
        write!(f, "rx_sw_if_index {rx_if} tx_sw_if_index {tx_if} layer-2 header {header} bytes")
    }
}

impl<F: Ip> Build for Dpo<F> {
    fn build(world: &World, _: ThreadIndex) -> Self {
        let output = world.arc(&filled("{ip}-output", F::IS_V6)).unwrap_or_default();
        Self { adjacencies: world.get(), output, steered: world.field(), version: PhantomData }
    }
}

/// Puts the layer-2 header in front again if it still lies there: an Ethernet header with up to two
/// tags that ends with the type of the packet. What a tunnel left there is something else. Returns
/// false, and changes nothing, if there is none.
#[inline(always)]
fn restore<F: Ip>(b: &mut Buffer) -> bool {
    let header = b.l2_len();
    let tags = header.saturating_sub(HEADER) / TAG;
    if tags > MOST_TAGS
        || header != HEADER + TAG * tags
        || b.flags.contains(Flags::LOCAL)
        || !b.rewind(header)
    {
        return false;
    }
    let ethertype = |at: usize| b.bytes::<2>(at).map(|bytes| EtherType(u16::from_be_bytes(*bytes)));
    let own = if F::IS_V6 { EtherType::IP6 } else { EtherType::IP4 };
    let is_tag = |n: usize| ethertype(HEADER - 2 + TAG * n).is_some_and(EtherType::is_vlan);
    if (0..tags).all(is_tag) && ethertype(header - 2) == Some(own) {
        return true;
    }
    let pulled = b.pull(header);
    debug_assert!(pulled, "these bytes are there");
    false
}

impl<F: Ip> Node for Dpo<F> {
    const NAME: &'static str = "{ip}-dvr-dpo";
    const V6: Option<bool> = Some(F::IS_V6);
    const DROP: &'static str = "{ip}-drop";
    type Next = To;
    type Trace = DvrTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        let Some(adj) = self.adjacencies.get(b.scratch::<IpMeta>().adj(), cx.turn) else {
            return To::NoAdjacency;
        };
        let tx_if = adj.table;
        if TRACED {
            cx.trace(b, DvrTrace { rx_if: b.rx_if, tx_if, header: b.l2_len() });
        }
        // A loopback interface gives packets back. Nothing would end their circle, since the TTL
        // stays.
        if b.find_field(self.steered).is_some() {
            return To::Again;
        }
        if !cx.has_arc(self.output, tx_if) {
            return To::NoArc;
        }
        b.mark_l3();
        if !restore::<F>(b) {
            return To::NoHeader;
        }
        b.tx_if = tx_if;
        b.set_field(self.steered, Steered { on_arc: true });
        cx.start_arc(self.output, tx_if, b).map_or(To::NoArc, To::Node)
    }
}
