// SPDX-License-Identifier: Apache-2.0
//! `l2-fwd`: looks up the port of a frame's destination.

use crate::bridge::Bridge;
use crate::bvi::ToBvi;
use crate::features::{Features, Step, steps};
use crate::meta::L2Meta;
use crate::state::{FILTER, Role, generation, is_learned};
use crate::trace::{Addresses, FrameTrace};
use buffer::Buffer;
use graph::{Build, Cx, Node, NodeIndex, ThreadIndex, Vector, World};
use simd::Isa;
use std::sync::Arc;
use tables::mac::{MacKey, MacView};

pub struct L2Fwd {
    bridge: Arc<Bridge>,
    bvi: ToBvi,
}

steps! {
    pub enum To {
        /// The BVI receives it.
        #[dynamic]
        Bvi(NodeIndex),
        /// destination is unknown, and the domain does not flood such frames
        #[drop]
        #[counter("L2 forward misses")]
        Miss,
        /// destination is at the port that the frame came from
        #[drop]
        #[counter("Reflection Drop")]
        Reflection,
        /// destination has a filter entry
        #[drop]
        #[counter("Filter Mac Drop")]
        Filtered,
        /// destination has the entry of a BVI that has another address
        #[drop]
        #[counter("BVI L3 MAC mismatch")]
        BviMismatch,
        /// frames whose destination was looked up
        #[count]
        #[counter("L2 forward packets")]
        Packets,
        /// frames whose destination is known
        #[count]
        #[counter("L2 forward hits")]
        Hits,
    }
}

impl Build for L2Fwd {
    fn build(world: &World, thread: ThreadIndex) -> Self {
        Self { bridge: world.get(), bvi: ToBvi::new(world, thread) }
    }
}

impl L2Fwd {
    /// A frame whose destination is unknown.
    #[inline(always)]
    fn miss(b: &mut Buffer, mut meta: L2Meta) -> To {
        let features = meta.features().behind(Features::FWD);
        meta.features = features.bits();
        b.set_scratch(meta);
        match (features & Features::UNICAST).next() {
            Step::Drop => To::Miss,
            step => step.into(),
        }
    }

    #[inline(always)]
    fn forward<const TRACED: bool>(
        &self,
        b: &mut Buffer,
        macs: MacView<'_>,
        hits: &mut u64,
        cx: &Cx<'_, TRACED>,
    ) -> To {
        let turn = cx.turn;
        let meta = b.scratch::<L2Meta>();
        let Some(&destination) = b.bytes::<6>(0) else { return To::Miss };
        let Some(found) = macs.find(MacKey::new(destination, meta.domain())) else {
            return Self::miss(b, meta);
        };
        let entry = found.entry;
        if entry.flags & FILTER != 0 {
            return To::Filtered;
        }
        let port = self.bridge.ports.get(entry.port, turn);
        if is_learned(entry) {
            // The receiving port may be another one, but the domain is the same.
            let of_domain = (meta.generation >> 8) as u8;
            let is_current = port.is_some_and(|port| {
                port.domain == meta.domain()
                    && entry.generation == generation(of_domain, port.generation)
            });
            if !is_current {
                return Self::miss(b, meta);
            }
        }
        *hits += 1;
        if entry.port == b.rx_if {
            return To::Reflection;
        }
        if let Some(port) = port
            && port.role == Role::Bvi
            && port.domain == meta.domain()
        {
            if !self.bvi.takes(destination, entry.port, turn) {
                return To::BviMismatch;
            }
            return To::Bvi(self.bvi.receive(b, entry.port, cx));
        }
        b.tx_if = entry.port;
        To::Output
    }
}

impl Node for L2Fwd {
    const NAME: &'static str = "l2-fwd";
    const HOT: bool = true;
    type Next = To;
    type Trace = FrameTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        if TRACED {
            let domain = b.scratch::<L2Meta>().domain();
            cx.trace(b, FrameTrace { sw_if: b.rx_if, addresses: Addresses::of(b), domain });
        }
        let mut hits = 0;
        let to = self.forward(b, self.bridge.view(cx.turn), &mut hits, cx);
        cx.count(To::Packets, 1);
        cx.count(To::Hits, hits);
        to
    }

    #[inline(always)]
    fn stages<I: Isa>(&mut self, v: &mut Vector<'_, To>, cx: &mut Cx<'_, false>) {
        let (macs, mut hits) = (self.bridge.view(cx.turn), 0);
        cx.count(To::Packets, v.len() as u64);
        for (b, out) in v.packets() {
            out.go(self.forward(b, macs, &mut hits, cx));
        }
        cx.count(To::Hits, hits);
    }
}
