// SPDX-License-Identifier: Apache-2.0
//! `pnat-input` and `pnat-output`, and their stages.

use crate::binding::{Match, Rewrite, length};
use crate::table::{Attachments, Place};
use buffer::{Buffer, Field, Flags};
use graph::{Build, ChainStep, Configured, Cx, ErrorIndex, Next, Node, ThreadIndex, Trace, World};
use nat::packet::Packet;
use net::{IP_IN_STAGE, L4, PacketColumns, Stage};
use std::fmt;
use std::sync::Arc;
use sync::Turn;
use wire::Ip4;

/// With `OUT`, on the arc of packets that leave.
pub struct Pnat<const OUT: bool> {
    attachments: Arc<Attachments>,
    l4: Field<L4>,
}

/// The stage of a node, which gets fragments, and packets whose checksum is left to the device.
pub struct Fast<const OUT: bool> {
    node: Pnat<OUT>,
    /// Counters of the node.
    none: ErrorIndex,
    rewrite: ErrorIndex,
}

#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
pub enum To {
    #[next_feature]
    Next,
    /// no binding matches: the packet goes on as it is
    #[count]
    #[counter("none")]
    None,
    /// rewritten
    #[count]
    #[counter("rewrite")]
    Rewrite,
    /// a byte to copy or to clear is behind the packet's end
    #[drop]
    #[counter("tooshort")]
    TooShort,
}

/// The record of a packet.
#[derive(Clone, Copy)]
pub struct PnatTrace {
    packet: Option<Packet>,
    binding: Option<u32>,
    fits: bool,
}

impl Trace for PnatTrace {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.binding, self.fits) {
            (None, _) => f.write_str("pnat: no match"),
            (Some(at), true) => write!(f, "pnat: binding {at}"),
            (Some(at), false) => write!(f, "pnat: binding {at}, too short"),
        }?;
        let Some(p) = self.packet else { return Ok(()) };
        write!(f, "\n{} -> {} protocol {}", p.from, p.to, p.protocol.0)
    }
}

impl<const OUT: bool> Build for Pnat<OUT> {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self { attachments: world.get(), l4: world.field() }
    }
}

impl<const OUT: bool> Build for Fast<OUT> {
    fn build(world: &World, thread: ThreadIndex) -> Self {
        let name = <Pnat<OUT> as Node>::NAME;
        let of = |reason| world.reason_index(name, reason).expect("a counter of the node");
        Self { node: Pnat::build(world, thread), none: of("none"), rewrite: of("rewrite") }
    }
}

/// The mask of all bindings of the interface.
impl<const OUT: bool> Configured for Pnat<OUT> {
    type Config = u32;
}

/// A binding that matches a packet.
struct Hit {
    number: u32,
    rewrite: Rewrite,
    /// The packet has all bytes that are copied and cleared.
    fits: bool,
}

impl<const OUT: bool> Pnat<OUT> {
    /// The binding of a packet at an interface.
    #[inline(always)]
    fn find(
        &self,
        (bytes, p): (&[u8], &Packet),
        (sw_if, mask): (u32, u32),
        turn: &Turn<'_>,
    ) -> Option<Hit> {
        let what = Match::of(p, mask);
        let found = self.attachments.find(Place { sw_if, output: OUT }, &what, turn)?;
        let rewrite = found.binding.rewrite;
        Some(Hit { number: found.number, rewrite, fits: rewrite.fits(length(bytes)) })
    }
}

impl<const OUT: bool> Node for Pnat<OUT> {
    const NAME: &'static str = if OUT { "pnat-output" } else { "pnat-input" };
    type Next = To;
    type Trace = PnatTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        let (at, sw_if) = if OUT { (b.l3_at(), b.tx_if) } else { (0, b.rx_if) };
        let mask = cx.feature_config::<Self>(b);
        let packet = Packet::read(b, at, b.find_field(self.l4));
        let bytes = b.data().get(at..).unwrap_or_default();
        let hit = packet.and_then(|p| self.find((bytes, &p), (sw_if, mask), cx.turn));
        if TRACED {
            let binding = hit.as_ref().map(|hit| hit.number);
            let fits = hit.as_ref().is_some_and(|hit| hit.fits);
            cx.trace(b, PnatTrace { packet, binding, fits });
        }
        let (Some(p), Some(hit)) = (packet, hit) else {
            cx.count(To::None, 1);
            return To::Next;
        };
        if !hit.fits {
            return To::TooShort;
        }
        let partial =
            b.flags.contains(Flags::CSUM_PARTIAL) && usize::from(b.offload.csum_start) == p.upper;
        if let Some(bytes) = b.data_mut().get_mut(at..) {
            hit.rewrite.apply(bytes, &p, partial);
        }
        if let Some(mut l4) = b.find_field(self.l4) {
            let (from, to) = hit.rewrite.ends(&p);
            (l4.src_port, l4.dst_port) = (from.port, to.port);
            b.set_field(self.l4, l4);
        }
        cx.count(To::Rewrite, 1);
        To::Next
    }
}

impl<const OUT: bool> Stage<Ip4> for Fast<OUT> {
    fn pass(
        &mut self,
        packets: &mut PacketColumns<'_, Ip4>,
        step: ChainStep<'_>,
        cx: &Cx<'_, false>,
    ) -> u64 {
        let (mask, sw_if) = (step.config::<Pnat<OUT>>(), packets.sw_if);
        let mut n = [0; 2];
        let passed = packets.mask(|packets, i| {
            let b = packets.buffer(i);
            let is_plain = !b.flags.contains(Flags::CSUM_PARTIAL);
            if !is_plain || b.find_field(self.node.l4).is_some() {
                return false;
            }
            let Some(p) = Packet::read(b, IP_IN_STAGE, None) else { return false };
            let bytes = b.data().get(IP_IN_STAGE..).unwrap_or_default();
            let Some(hit) = self.node.find((bytes, &p), (sw_if, mask), cx.turn) else {
                n[0] += 1;
                return true;
            };
            if !hit.fits {
                return false;
            }
            hit.rewrite.apply(packets.packet_mut(i), &p, false);
            n[1] += 1;
            true
        });
        cx.count_for(self.none, n[0]);
        cx.count_for(self.rewrite, n[1]);
        passed
    }
}
