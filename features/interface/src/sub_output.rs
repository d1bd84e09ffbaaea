// SPDX-License-Identifier: Apache-2.0
//! `PARENT.ID-output`: adds the tags of a sub-interface to routed frames.
//!
//! Nodes in front of it send untagged Ethernet frames, as they do by other interfaces. Switched
//! frames leave unchanged.

use crate::trace::OutputTrace;
use buffer::Buffer;
use graph::{ArcIndex, Cx, Next, Node, NodeIndex, SwIfIndex, ThreadIndex, Vector, World};
use net::{IfFlags, IfLanes, Interfaces, SubOf, TAG, is_group, retag};
use simd::Isa;
use std::sync::Arc;

pub struct SubOutput {
    sw_if: u32,
    parent: u32,
    /// Up to two tags.
    tags: [[u8; TAG]; 2],
    /// Number of tags; `None` if the tags of frames aren't known.
    count: Option<usize>,
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
        let all = of.tags.as_deref().unwrap_or_default();
        let mut tags = [[0; TAG]; 2];
        tags.iter_mut().zip(all).for_each(|(tag, bytes)| *tag = *bytes);
        Self {
            sw_if: sw_if.0,
            parent: of.parent.0,
            tags,
            count: of.tags.as_ref().map(|tags| tags.len().min(2)),
            tx,
            arc,
            lanes: IfLanes::of(world, thread),
            interfaces: world.get(),
        }
    }

    /// The flags, if the sub-interface and its parent are up.
    #[inline(always)]
    fn flags<const TRACED: bool>(&self, cx: &Cx<'_, TRACED>) -> Option<IfFlags> {
        let view = self.interfaces.views(cx.turn).get(self.sw_if as usize)?;
        view.is_up().then_some(view.flags)
    }

    /// Adds the tags to a frame, unless the sub-interface is in layer-2 mode.
    #[inline(always)]
    fn tag(&self, b: &mut Buffer, flags: IfFlags) -> Result<(), SubOutputTo> {
        if flags.contains(IfFlags::L2) {
            return Ok(());
        }
        match self.count.and_then(|count| self.tags.get(..count)) {
            None => Err(SubOutputTo::NotExact),
            Some([]) => Ok(()),
            Some(tags) if retag(b, 0, tags) => Ok(()),
            Some(_) => Err(SubOutputTo::NoRoom),
        }
    }
}

impl Node for SubOutput {
    const NAME: &'static str = "sub-interface-output";
    const HOT: bool = true;
    type Next = SubOutputTo;
    type Trace = OutputTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(
        &mut self,
        b: &mut Buffer,
        cx: &mut Cx<'_, TRACED>,
    ) -> SubOutputTo {
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

    /// Reads the interface state once, and adds all unicast frames to the counters at once.
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
