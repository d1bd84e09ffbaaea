// SPDX-License-Identifier: Apache-2.0
//! `l2-learn`: learns the port of a frame's source (IEEE 802.1Q 8.7).

use crate::bridge::Bridge;
use crate::features::{Features, steps};
use crate::meta::L2Meta;
use crate::state::{FILTER, MOVED, NEW, STATIC, is_learned, stamp};
use crate::trace::{Addresses, FrameTrace};
use buffer::Buffer;
use graph::{Build, Cx, Node, ThreadIndex, Vector, World};
use simd::Isa;
use std::sync::Arc;
use tables::mac::{MacEntry, MacHit, MacKey, MacView, NotInserted};

pub struct L2Learn {
    bridge: Arc<Bridge>,
}

steps! {
    pub enum To {
        /// source has a static entry on another port
        #[drop]
        #[counter("L2 mac move violations")]
        MoveViolation,
        /// source has a filter entry
        #[drop]
        #[counter("L2 filter mac drops")]
        Filtered,
        /// frames whose source was looked up
        #[count]
        #[counter("L2 learn packets")]
        Packets,
        /// sources that were unknown
        #[count]
        #[counter("L2 learn misses")]
        Misses,
        /// sources that moved to another port
        #[count]
        #[counter("L2 mac moves")]
        Moves,
        /// sources that were not learned because a limit was reached
        #[count]
        #[counter("L2 not learned due to limit")]
        Limit,
        /// entries whose time of last use was updated
        #[count]
        #[counter("L2 learn hit updates")]
        Updates,
    }
}

impl Build for L2Learn {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self { bridge: world.get() }
    }
}

impl L2Learn {
    #[inline(always)]
    fn learn<const TRACED: bool>(
        &self,
        b: &mut Buffer,
        macs: MacView<'_>,
        now: u16,
        cx: &mut Cx<'_, TRACED>,
    ) -> To {
        let mut meta = b.scratch::<L2Meta>();
        let features = meta.features().behind(Features::LEARN);
        meta.features = features.bits();
        b.set_scratch(meta);
        let to = features.next().into();
        let Some(&[_, _, _, _, _, _, s0, s1, s2, s3, s4, s5]) = b.bytes::<12>(0) else { return to };
        let key = MacKey::new([s0, s1, s2, s3, s4, s5], meta.domain());
        let mine =
            MacEntry { port: b.rx_if, flags: 0, generation: meta.generation as u16, stamp: now };
        match macs.find(key) {
            Some(found) if found.entry == mine => to,
            Some(found) => self.update(found, macs, (mine, meta), cx).unwrap_or(to),
            // A group address or zero is no station's.
            None if s0 & 1 != 0 || key.is_zero() => to,
            None => {
                self.insert(key, macs, (mine, meta), cx);
                to
            }
        }
    }

    /// Updates an entry that differs from the one that the frame implies. Returns the reason if the
    /// frame is dropped.
    #[inline(never)]
    fn update<const TRACED: bool>(
        &self,
        found: MacHit<'_>,
        macs: MacView<'_>,
        (mine, meta): (MacEntry, L2Meta),
        cx: &mut Cx<'_, TRACED>,
    ) -> Option<To> {
        let old = found.entry;
        if old.flags & FILTER != 0 {
            return Some(To::Filtered);
        }
        let moves = old.port != mine.port;
        if moves && old.flags & STATIC != 0 {
            return Some(To::MoveViolation);
        }
        if !moves {
            let mine = MacEntry { flags: old.flags & (NEW | MOVED), ..mine };
            if is_learned(old) && old != mine && macs.replace(found, mine) {
                cx.count(To::Updates, 1);
            }
            return None;
        }
        let mine =
            MacEntry { flags: self.bridge.mac_events.marked(MOVED) | old.flags & NEW, ..mine };
        if is_learned(old) {
            if macs.replace(found, mine) {
                self.bridge.note_move(old.port, mine.port, cx.turn);
                cx.count(To::Moves, 1);
            }
            return None;
        }
        // An operator's entry that moves becomes a learned one.
        let domain = self.bridge.domains.get(meta.domain().into(), cx.turn)?;
        if !self.bridge.take(domain, mine.port, cx.turn) {
            cx.count(To::Limit, 1);
        } else if macs.replace(found, mine) {
            cx.count(To::Moves, 1);
        } else {
            self.bridge.give(domain, mine.port, cx.turn);
        }
        None
    }

    #[inline(never)]
    fn insert<const TRACED: bool>(
        &self,
        key: MacKey,
        macs: MacView<'_>,
        (mine, meta): (MacEntry, L2Meta),
        cx: &mut Cx<'_, TRACED>,
    ) {
        cx.count(To::Misses, 1);
        let Some(domain) = self.bridge.domains.get(meta.domain().into(), cx.turn) else { return };
        if !self.bridge.take(domain, mine.port, cx.turn) {
            return cx.count(To::Limit, 1);
        }
        let mine = MacEntry { flags: self.bridge.mac_events.marked(NEW), ..mine };
        if let Err(error) = macs.insert(key, mine) {
            self.bridge.give(domain, mine.port, cx.turn);
            if error == NotInserted::Full {
                self.bridge.ask_for_room();
                cx.count(To::Limit, 1);
            }
        }
    }
}

impl Node for L2Learn {
    const NAME: &'static str = "l2-learn";
    const HOT: bool = true;
    type Next = To;
    type Trace = FrameTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        if TRACED {
            let domain = b.scratch::<L2Meta>().domain();
            cx.trace(b, FrameTrace { sw_if: b.rx_if, addresses: Addresses::of(b), domain });
        }
        cx.count(To::Packets, 1);
        let (macs, now) = (self.bridge.view(cx.turn), stamp(cx.now()));
        self.learn(b, macs, now, cx)
    }

    #[inline(always)]
    fn stages<I: Isa>(&mut self, v: &mut Vector<'_, To>, cx: &mut Cx<'_, false>) {
        cx.count(To::Packets, v.len() as u64);
        let (macs, now) = (self.bridge.view(cx.turn), stamp(cx.now()));
        for (b, out) in v.packets() {
            out.go(self.learn(b, macs, now, cx));
        }
    }
}
