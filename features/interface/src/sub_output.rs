// SPDX-License-Identifier: Apache-2.0
//! `PARENT.ID-output`: puts a sub-interface's tags into frames.
//!
//! Whoever sends by a sub-interface sends an untagged Ethernet frame, as by any other interface. Frames that are switched leave as they
//! are.

use crate::output::OutputTrace;
use buffer::Buffer;
use graph::{ArcIndex, Cx, Next, Node, NodeIndex, SwIfIndex, ThreadIndex, World};
use net::{IfFlags, IfLanes, Interfaces, SubOf};
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

    #[inline(always)]
    fn tag(&self, b: &mut Buffer) -> Result<(), SubOutputTo> {
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
        // Its link is up while the parent is.
        let view = self.interfaces.views(cx.turn).get(self.sw_if as usize).unwrap_or_default();
        if !view.is_up() {
            return SubOutputTo::InterfaceDown;
        }
        // Frames that are switched have the tags that they are to have.
        if !view.flags.has(IfFlags::L2)
            && let Err(why) = self.tag(b)
        {
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
}
