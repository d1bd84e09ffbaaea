// SPDX-License-Identifier: Apache-2.0
//! `ethernet-input`: whom the frame is for, and what it carries.

use crate::types::{Taker, TypeTable, Types};
use buffer::{Buffer, Flags};
use graph::{Build, Cx, Head, Next, Node, NodeIndex, Prefetch, ThreadIndex, Trace, Vector, World};
use net::{FrameTags, IfFlags, IfLanes, Interfaces, Views};
use simd::Isa;
use std::fmt;
use std::sync::Arc;
use sync::Turn;
use wire::describe::{Layer, describe};
use wire::{EtherType, MacAddr};

/// Bytes of the header.
const HEADER: usize = 14;
/// Bytes of both addresses.
const ADDRESSES: usize = 12;
/// Bytes of a tag.
const TAG: usize = 4;

pub struct EthernetInput {
    interfaces: Arc<Interfaces>,
    types: Arc<Types>,
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
    /// no feature takes 802.3 frames with LLC.
    #[drop]
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
        Self { interfaces: world.get(), types: world.get(), lanes: IfLanes::of(world, thread) }
    }
}

/// What is looked up once for a run of frames from one interface.
struct From {
    rx_if: u32,
    /// The MAC address in the upper 48 bits, as the first 8 bytes of a frame for it would be read, big-endian.
    own: u64,
    up: bool,
}

/// The destination's 48 bits in the first 8 bytes of a frame, read big-endian.
const DESTINATION: u64 = !0xffff;

impl From {
    #[inline(always)]
    fn new(rx_if: u32, views: Views<'_>) -> Self {
        let view = views.get(rx_if as usize).unwrap_or_default();
        let MacAddr([a, b, c, d, e, f]) = view.mac;
        Self { rx_if, own: u64::from_be_bytes([a, b, c, d, e, f, 0, 0]), up: view.flags.has(IfFlags::ADMIN) }
    }
}

impl EthernetInput {
    #[inline(always)]
    fn classify(&self, b: &mut Buffer, from: &From, types: &TypeTable, turn: &Turn<'_>) -> To {
        let Some(header) = b.bytes::<HEADER>(0) else { return To::TooShort };
        let &[d0, d1, d2, d3, d4, d5, d6, d7, .., t0, t1] = header;
        let destination = u64::from_be_bytes([d0, d1, d2, d3, d4, d5, d6, d7]) & DESTINATION;
        let ethertype = EtherType(u16::from_be_bytes([t0, t1]));
        if !from.up {
            return To::Down;
        }
        if destination != from.own {
            // The group bit is the lowest of the first byte (IEEE 802, 8.2.2).
            if destination & (1 << 56) == 0 {
                return To::L3MacMismatch;
            }
            let all = destination == DESTINATION;
            b.flags.set(if all { Flags::L2_BROADCAST } else { Flags::L2_MULTICAST });
        }
        let taker = match (ethertype, types.ip4) {
            (EtherType::IP4, Some(taker)) => taker,
            _ => match types.find(ethertype) {
                Some(taker) => taker,
                None if ethertype.is_vlan() => match self.behind_tags(b, ethertype, types, turn) {
                    Ok(taker) => taker,
                    Err(why) => return why,
                },
                None => return refuse(ethertype),
            },
        };
        b.mark_l2();
        let pulled = b.pull(HEADER);
        debug_assert!(pulled);
        let Taker { node, verified } = taker;
        To::Node(if b.flags.has(Flags::IP4_CSUM_OK) { verified } else { node })
    }
}

/// What stands behind the addresses of a tagged frame.
struct Tagged {
    tags: FrameTags,
    /// How many tags were looked at.
    count: usize,
    /// The type behind them.
    ethertype: EtherType,
}

impl Tagged {
    /// Looks at up to two tags; the inner one is a customer tag (IEEE 802.1Q 9.5). `None` if the frame ends within them.
    #[inline(always)]
    fn of(b: &Buffer, outer: EtherType) -> Option<Self> {
        let &[i0, i1, t0, t1] = b.bytes::<TAG>(HEADER)?;
        let vlan = |high: u8, low: u8| u16::from_be_bytes([high & 0xf, low]);
        let (id, dot1ad) = (vlan(i0, i1), outer == EtherType::QINQ);
        let mut ethertype = EtherType(u16::from_be_bytes([t0, t1]));
        let mut tags = FrameTags { dot1ad, outer: id, inner: None, more: false };
        let mut count = 1;
        if ethertype == EtherType::VLAN {
            let &[i0, i1, t0, t1] = b.bytes::<TAG>(HEADER + TAG)?;
            ethertype = EtherType(u16::from_be_bytes([t0, t1]));
            (tags.inner, tags.more) = (Some(vlan(i0, i1)), ethertype.is_vlan());
            count = 2;
        }
        Some(Self { tags, count, ethertype })
    }
}

impl EthernetInput {
    /// Finds the sub-interface of a tagged frame and takes the tags off, so that what comes next sees an untagged frame of that
    /// interface. A tag that says a priority and no VLAN doesn't lead away from the interface itself (IEEE 802.1Q 6.9.1).
    #[inline(always)]
    fn behind_tags(
        &self,
        b: &mut Buffer,
        ethertype: EtherType,
        types: &TypeTable,
        turn: &Turn<'_>,
    ) -> Result<Taker, To> {
        let Some(Tagged { tags, count, ethertype }) = Tagged::of(b, ethertype) else {
            return Err(To::UnknownVlan);
        };
        match self.interfaces.sub_of(b.rx_if, tags, turn) {
            Some(sub) => {
                b.rx_if = sub;
                self.lanes.rx.frame(sub as usize, b);
                let view = self.interfaces.views(turn).get(sub as usize).unwrap_or_default();
                if !view.flags.has(IfFlags::ADMIN) {
                    return Err(To::Down);
                }
            }
            None if tags.outer == 0 && tags.inner.is_none() => (),
            None => return Err(To::UnknownVlan),
        }
        let taker = types.find(ethertype).ok_or_else(|| refuse(ethertype))?;
        let off = count * TAG;
        b.data_mut().copy_within(..ADDRESSES, off);
        let pulled = b.pull(off);
        debug_assert!(pulled);
        Ok(taker)
    }
}

#[cold]
fn refuse(ethertype: EtherType) -> To {
    if ethertype.is_vlan() {
        To::UnknownVlan
    } else if ethertype.is_length() {
        To::Llc
    } else {
        To::UnknownType
    }
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
        let from = From::new(b.rx_if, self.interfaces.views(cx.turn));
        self.classify(b, &from, self.types.get(cx.turn), cx.turn)
    }

    #[inline(always)]
    fn stages<I: Isa>(&mut self, v: &mut Vector<'_, To>, cx: &mut Cx<'_, false>) {
        let (views, types) = (self.interfaces.views(cx.turn), self.types.get(cx.turn));
        let mut from = From::new(v.get(0).rx_if, views);
        for (b, out) in v.packets_ahead() {
            if b.rx_if != from.rx_if {
                from = From::new(b.rx_if, views);
            }
            out.go(self.classify(b, &from, types, cx.turn));
        }
    }
}
