// SPDX-License-Identifier: Apache-2.0
//! `PARENT.ID-output`: puts a sub-interface's tags into frames.
//!
//! Whoever sends by a sub-interface sends an untagged Ethernet frame, as by any other interface. Frames that are switched leave as they
//! are.

use crate::output::OutputTrace;
use buffer::Buffer;
use graph::{ArcIndex, Cx, Next, Node, NodeIndex, SwIfIndex, ThreadIndex, Vector, World};
use net::{IfFlags, IfLanes, Interfaces, SubOf, is_group};
use simd::Isa;
use std::sync::Arc;

/// Bytes of both addresses, behind which the tags stand (IEEE 802.1Q 9.3).
const ADDRESSES: usize = 12;
/// Bytes of a tag.
const TAG: usize = 4;

pub struct SubOutput {
    sw_if: u32,
    parent: u32,
    /// Up to two tags.
    tags: [[u8; TAG]; 2],
    /// How many there are; none if frames can't be sent by it.
    count: usize,
    tx: NodeIndex,
    arc: ArcIndex,
    lanes: Arc<IfLanes>,
    interfaces: Arc<Interfaces>,
}

#[derive(Next, Clone, Copy)]
pub enum SubOutputTo {
    #[dynamic]
    Node(NodeIndex),
    /// interface is down.
    #[drop]
    #[counter("interface is down")]
    InterfaceDown,
    /// sub-interface doesn't say exactly which tags its frames have.
    #[drop]
    NotExact,
    /// frame is shorter than an Ethernet header, or has no room for tags.
    #[drop]
    NoRoom,
}

impl SubOutput {
    pub fn new(
        world: &World,
        thread: ThreadIndex,
        (sw_if, tx, arc): (SwIfIndex, NodeIndex, ArcIndex),
        of: &SubOf,
    ) -> Self {
        let (all, _) = of.tags.as_deref().unwrap_or_default().as_chunks::<TAG>();
        let mut tags = [[0; TAG]; 2];
        tags.iter_mut().zip(all).for_each(|(tag, bytes)| *tag = *bytes);
        Self {
            sw_if: sw_if.0,
            parent: of.parent.0,
            tags,
            count: all.len().min(2),
            tx,
            arc,
            lanes: IfLanes::of(world, thread),
            interfaces: world.get(),
        }
    }

    /// The flags of an interface that is up. Its link is up while the parent is.
    #[inline(always)]
    fn flags<const TRACED: bool>(&self, cx: &Cx<'_, TRACED>) -> Option<IfFlags> {
        let view = self.interfaces.views(cx.turn).get(self.sw_if as usize)?;
        view.is_up().then_some(view.flags)
    }

    /// Frames that are switched have the tags that they are to have.
    #[inline(always)]
    fn tag(&self, b: &mut Buffer, flags: IfFlags) -> Result<(), SubOutputTo> {
        if flags.has(IfFlags::L2) {
            return Ok(());
        }
        let [outer, inner] = self.tags;
        let done = match self.count {
            0 => return Err(SubOutputTo::NotExact),
            1 => insert::<{ ADDRESSES + TAG }>(b, &outer),
            _ => insert::<{ ADDRESSES + 2 * TAG }>(b, [outer, inner].as_flattened()),
        };
        if done { Ok(()) } else { Err(SubOutputTo::NoRoom) }
    }
}

/// Writes the addresses again, further in front, and tags between them and the type: `N` bytes in all. False if there is no room.
#[inline(always)]
fn insert<const N: usize>(b: &mut Buffer, tags: &[u8]) -> bool {
    let Some(&addresses) = b.bytes::<ADDRESSES>(0) else { return false };
    let Some(header) = (if b.pull(ADDRESSES) { b.push::<N>() } else { None }) else { return false };
    header[..ADDRESSES].copy_from_slice(&addresses);
    header[ADDRESSES..].copy_from_slice(tags);
    true
}

impl Node for SubOutput {
    const NAME: &'static str = "sub-interface-output";
    const HOT: bool = true;
    type Next = SubOutputTo;
    type Trace = OutputTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> SubOutputTo {
        b.tx_if = self.sw_if;
        let Some(flags) = self.flags(cx) else { return SubOutputTo::InterfaceDown };
        if let Err(why) = self.tag(b, flags) {
            return why;
        }
        if TRACED {
            cx.trace(b, OutputTrace::new(self.sw_if, b));
        }
        for sw_if in [self.sw_if, self.parent] {
            self.lanes.tx.frame(sw_if as usize, b);
        }
        SubOutputTo::Node(cx.start_arc(self.arc, self.sw_if, b).unwrap_or(self.tx))
    }

    /// One interface, so one look at its state, and one addition to the counters for all frames to one host.
    #[inline(always)]
    fn stages<I: Isa>(&mut self, v: &mut Vector<'_, SubOutputTo>, cx: &mut Cx<'_, false>) {
        let (flags, has_arc) = (self.flags(cx), cx.has_arc(self.arc, self.sw_if));
        let (mut packets, mut octets) = (0, 0);
        for (b, out) in v.packets() {
            b.tx_if = self.sw_if;
            let Some(flags) = flags else {
                out.go(SubOutputTo::InterfaceDown);
                continue;
            };
            if let Err(why) = self.tag(b, flags) {
                out.go(why);
                continue;
            }
            if is_group(b) {
                for sw_if in [self.sw_if, self.parent] {
                    self.lanes.tx.frame(sw_if as usize, b);
                }
            } else {
                packets += 1;
                octets += b.packet_len() as u64;
            }
            let feature = if has_arc { cx.start_arc(self.arc, self.sw_if, b) } else { None };
            out.go(SubOutputTo::Node(feature.unwrap_or(self.tx)));
        }
        for sw_if in [self.sw_if, self.parent] {
            self.lanes.tx.unicast(sw_if as usize, packets, octets);
        }
    }
}
