// SPDX-License-Identifier: Apache-2.0
//! `ethernet-input`: checks the destination MAC address and selects the next node by Ethernet type.

use crate::types::{EtherTypeNode, TypeTable, Types};
use buffer::{Buffer, Flags};
use graph::{Build, Cx, Head, Next, Node, NodeIndex, Prefetch, ThreadIndex, Trace, Vector, World};
use net::{FrameTags, FurtherMacs, IfFlags, IfLanes, Interfaces, TAG, Tagged, Views, is_group};
use simd::Isa;
use std::fmt;
use std::sync::Arc;
use sync::Turn;
use wire::describe::{Layer, describe};
use wire::{EtherType, MacAddr};

/// Bytes of the header.
const HEADER: usize = 14;
/// Bytes of its last field: the type, or of 802.3 the length.
const LENGTH: usize = 2;

pub struct EthernetInput {
    interfaces: Arc<Interfaces>,
    types: Arc<Types>,
    further: Arc<FurtherMacs>,
    lanes: Arc<IfLanes>,
}

#[derive(Next, Clone, Copy)]
pub enum To {
    #[dynamic]
    Node(NodeIndex),
    /// no error.
    #[count]
    #[counter("no error")]
    #[allow(dead_code, reason = "monitoring systems read it, and it stays 0")]
    NoError,
    /// frame is shorter than an Ethernet header.
    #[drop]
    TooShort,
    /// interface is down.
    #[drop]
    #[counter("subinterface down")]
    Down,
    /// destination MAC address is another host's.
    #[drop]
    #[counter("l3 mac mismatch")]
    L3MacMismatch,
    /// no sub-interface takes this VLAN.
    #[drop]
    #[counter("unknown vlan")]
    UnknownVlan,
    /// no feature takes this Ethernet type.
    #[drop]
    #[counter("unknown ethernet type")]
    UnknownType,
    /// 802.3: a length in place of a type.
    #[next("llc-input")]
    Llc,
}

#[derive(Clone, Copy)]
pub struct EthernetTrace(Head);

impl Trace for EthernetTrace {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", describe(self.0.bytes(), Layer::Ethernet).layers(1))
    }
}

impl Build for EthernetInput {
    fn build(world: &World, thread: ThreadIndex) -> Self {
        Self {
            interfaces: world.get(),
            types: world.get(),
            further: world.get(),
            lanes: IfLanes::of(world, thread),
        }
    }
}

/// State looked up once for a run of frames from one interface.
struct RxState {
    rx_if: u32,
    /// The MAC address in the upper 48 bits, as the first 8 bytes of a frame for it would be read,
    /// big-endian.
    own: u64,
    up: bool,
    /// True if frames for the MAC address of any station are routed: it is a mirror.
    any: bool,
    /// The node that switches its frames. `up` is false then, so that routed frames are tested no
    /// more than without it.
    l2: Option<NodeIndex>,
}

/// The destination's 48 bits in the first 8 bytes of a frame, read big-endian.
const DESTINATION: u64 = !0xffff;

impl RxState {
    #[inline(always)]
    fn new(rx_if: u32, views: Views<'_>, types: &TypeTable) -> Self {
        let view = views.get(rx_if as usize).unwrap_or_default();
        let MacAddr([a, b, c, d, e, f]) = view.mac;
        let up = view.flags.contains(IfFlags::ADMIN);
        let l2 = types.l2.filter(|_| up && view.flags.contains(IfFlags::L2));
        Self {
            rx_if,
            own: u64::from_be_bytes([a, b, c, d, e, f, 0, 0]),
            up: up && l2.is_none(),
            any: view.flags.contains(IfFlags::MIRROR),
            l2,
        }
    }
}

impl EthernetInput {
    #[inline(always)]
    fn classify(
        &self,
        b: &mut Buffer,
        from: &RxState,
        run: &mut Run,
        types: &TypeTable,
        turn: &Turn<'_>,
    ) -> To {
        let Some(header) = b.bytes::<HEADER>(0) else { return To::TooShort };
        let &[d0, d1, d2, d3, d4, d5, d6, d7, .., t0, t1] = header;
        let destination = u64::from_be_bytes([d0, d1, d2, d3, d4, d5, d6, d7]) & DESTINATION;
        let ethertype = EtherType(u16::from_be_bytes([t0, t1]));
        if !from.up {
            return match from.l2 {
                Some(_) if ethertype.is_vlan() => {
                    self.tagged(b, (from, run), (destination, ethertype), types, turn)
                }
                Some(l2) => switch(b, l2),
                None => To::Down,
            };
        }
        if destination != from.own {
            if !is_unicast(destination) {
                mark_group(b, destination);
            } else if ethertype.is_vlan() {
                // A sub-interface may switch it.
                return self.tagged(b, (from, run), (destination, ethertype), types, turn);
            } else if !from.any && !self.is_further(b.rx_if, destination, turn) {
                return To::L3MacMismatch;
            }
        }
        match (ethertype, types.ip4) {
            (EtherType::IP4, Some(taker)) => route(b, taker, HEADER),
            (EtherType::VLAN, _) => {
                self.tagged(b, (from, run), (destination, ethertype), types, turn)
            }
            _ => match types.find(ethertype) {
                Some(taker) => route(b, taker, HEADER),
                None if ethertype.is_vlan() => {
                    self.tagged(b, (from, run), (destination, ethertype), types, turn)
                }
                None => untyped(b, ethertype, HEADER),
            },
        }
    }

    /// Returns true for a further MAC address of an interface, as that of a virtual router.
    #[inline(never)]
    fn is_further(&self, rx_if: u32, destination: u64, turn: &Turn<'_>) -> bool {
        self.further.has(rx_if, MacAddr::from_bits(destination >> 16), turn)
    }

    /// Finds the sub-interface of a tagged frame. If that routes, the packet starts behind the
    /// tags. A frame whose tag has only a priority belongs to the interface itself (IEEE 802.1Q
    /// 6.9.1).
    #[inline(always)]
    fn tagged(
        &self,
        b: &mut Buffer,
        (from, run): (&RxState, &mut Run),
        (destination, ethertype): (u64, EtherType),
        types: &TypeTable,
        turn: &Turn<'_>,
    ) -> To {
        let tagged = Tagged::behind(b, ethertype);
        let sub = tagged.as_ref().and_then(|tagged| {
            if !run.is_of(b.rx_if, tagged.tags) {
                run.settle(&self.lanes);
                *run = Run::new(&self.interfaces, b.rx_if, tagged.tags, turn);
            }
            run.sub
        });
        if let Some(sub) = sub {
            b.rx_if = sub;
            run.count(b, &self.lanes);
            if !run.flags.contains(IfFlags::ADMIN) {
                return To::Down;
            }
            if let Some(l2) = types.l2.filter(|_| run.flags.contains(IfFlags::L2)) {
                return switch(b, l2);
            }
        } else if let Some(l2) = from.l2 {
            return switch(b, l2);
        }
        if destination != from.own {
            if !is_unicast(destination) {
                mark_group(b, destination);
            } else if !from.any && !self.is_further(b.rx_if, destination, turn) {
                return To::L3MacMismatch;
            }
        }
        let Some(Tagged { tags, count, ethertype }) = tagged else { return To::UnknownVlan };
        if sub.is_none() && (tags.outer != 0 || tags.inner.is_some()) {
            return To::UnknownVlan;
        }
        let taker =
            types.ip4.filter(|_| ethertype == EtherType::IP4).or_else(|| types.find(ethertype));
        let Some(taker) = taker else {
            return untyped(b, ethertype, HEADER + TAG * count);
        };
        route(b, taker, HEADER + TAG * count)
    }
}

/// Lookup result and counts for a run of frames from one interface with the same VLANs.
struct Run {
    rx_if: u32,
    tags: Option<FrameTags>,
    sub: Option<u32>,
    /// Flags of the sub-interface.
    flags: IfFlags,
    /// Unicast frames, and their bytes, that aren't in the counters yet.
    packets: u64,
    bytes: u64,
}

impl Run {
    const NONE: Self =
        Self { rx_if: 0, tags: None, sub: None, flags: IfFlags::empty(), packets: 0, bytes: 0 };

    fn new(interfaces: &Interfaces, rx_if: u32, tags: FrameTags, turn: &Turn<'_>) -> Self {
        let sub = interfaces.sub_of(rx_if, tags, turn);
        let view = sub.and_then(|sub| interfaces.views(turn).get(sub as usize));
        Self { rx_if, tags: Some(tags), sub, flags: view.unwrap_or_default().flags, ..Self::NONE }
    }

    #[inline(always)]
    fn is_of(&self, rx_if: u32, tags: FrameTags) -> bool {
        self.rx_if == rx_if && self.tags == Some(tags)
    }

    /// Counts a frame for its sub-interface.
    #[inline(always)]
    fn count(&mut self, b: &Buffer, lanes: &IfLanes) {
        if is_group(b) {
            lanes.rx.frame(b.rx_if as usize, b);
        } else {
            self.packets += 1;
            self.bytes += b.packet_len() as u64;
        }
    }

    /// Adds the counts of this run to the counters.
    #[inline(always)]
    fn settle(&self, lanes: &IfLanes) {
        if let Some(sub) = self.sub.filter(|_| self.packets > 0) {
            lanes.rx.unicast(sub as usize, self.packets, self.bytes);
        }
    }
}

/// The group bit is the lowest of the first byte (IEEE 802, 8.2.2).
#[inline(always)]
fn is_unicast(destination: u64) -> bool {
    destination & (1 << 56) == 0
}

#[inline(always)]
fn mark_group(b: &mut Buffer, destination: u64) {
    let all = destination == DESTINATION;
    b.flags.insert(if all { Flags::L2_BROADCAST } else { Flags::L2_MULTICAST });
}

/// Sends a packet to the node of its type, starting behind the Ethernet header and its tags.
#[inline(always)]
fn route(b: &mut Buffer, EtherTypeNode { node, verified }: EtherTypeNode, header: usize) -> To {
    b.mark_l2();
    let pulled = b.pull(header);
    debug_assert!(pulled);
    To::Node(if b.flags.contains(Flags::IP4_CSUM_OK) { verified } else { node })
}

/// Sends a frame to layer-2 switching.
#[inline(always)]
fn switch(b: &mut Buffer, l2: NodeIndex) -> To {
    b.mark_l2();
    To::Node(l2)
}

/// The next node of a frame whose type no node takes. One of 802.3 starts at its length, the last
/// field of the header.
#[cold]
fn untyped(b: &mut Buffer, ethertype: EtherType, header: usize) -> To {
    if ethertype.is_vlan() {
        return To::UnknownVlan;
    }
    if !ethertype.is_length() {
        return To::UnknownType;
    }
    b.mark_l2();
    let pulled = b.pull(header - LENGTH);
    debug_assert!(pulled);
    To::Llc
}

impl Node for EthernetInput {
    const NAME: &'static str = "ethernet-input";
    const PREFETCH: Prefetch = Prefetch::Packet;
    const HOT: bool = true;
    type Next = To;
    type Trace = EthernetTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        if TRACED {
            cx.trace(b, EthernetTrace(Head::of(b)));
        }
        let types = self.types.get(cx.turn);
        let from = RxState::new(b.rx_if, self.interfaces.views(cx.turn), types);
        let mut run = Run::NONE;
        let to = self.classify(b, &from, &mut run, types, cx.turn);
        run.settle(&self.lanes);
        to
    }

    #[inline(always)]
    fn stages<I: Isa>(&mut self, v: &mut Vector<'_, To>, cx: &mut Cx<'_, false>) {
        let (views, types) = (self.interfaces.views(cx.turn), self.types.get(cx.turn));
        let (mut from, mut run) = (RxState::new(v.get(0).rx_if, views, types), Run::NONE);
        for (b, out) in v.packets_ahead() {
            if b.rx_if != from.rx_if {
                from = RxState::new(b.rx_if, views, types);
            }
            out.go(self.classify(b, &from, &mut run, types, cx.turn));
        }
        run.settle(&self.lanes);
    }
}
