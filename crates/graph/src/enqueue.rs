// SPDX-License-Identifier: Apache-2.0
//! Distributes the packets of a frame along their edges to the frames of the next nodes.
//!
//! Every node has one open frame on each thread, whichever nodes send to it: frames merge, and a
//! flow keeps its order. If all packets take one edge, the frame itself changes hands. With few
//! edges, each edge's packets are selected at once; with many, they are distributed one by one into
//! the open frames.
//!
//! Work that is done once for a frame is in functions that aren't inlined. Inlined, every node
//! would have four copies of it, and these copies would be half of the daemon's code.

use crate::NodeIndex;
use crate::core::Core;
use crate::node::as_dynamic;
use crate::slot::{EdgeTarget, NodeRuntime};
use buffer::{FRAME_SIZE, Flags, Frame, Owned};
use simd::Isa;

/// Number of edges whose packets are selected at once, before the others' are distributed one by
/// one.
const SELECTED: usize = 4;

impl Core {
    /// Sends the frame's packets on; leaves it empty.
    #[inline(always)]
    pub fn enqueue<I: Isa>(
        &mut self,
        node: &NodeRuntime,
        frame: &mut Box<Frame>,
        codes: &[u32; FRAME_SIZE],
    ) {
        let n = frame.len();
        if simd::all_equal::<I>(codes, n) {
            self.send_all(node, codes[0], frame);
        } else {
            partition().of::<I>()(self, node, frame, codes);
        }
    }

    /// The same for fewer than eight packets: nothing to set up.
    #[inline(always)]
    pub fn enqueue_small(&mut self, node: &NodeRuntime, frame: &mut Box<Frame>, codes: &[u32; 8]) {
        let n = frame.len();
        if codes[1..n.max(1)].iter().all(|c| *c == codes[0]) {
            self.send_all(node, codes[0], frame);
        } else {
            self.distribute_all(node, frame, codes);
        }
    }

    /// Moves each packet to where its code leads.
    #[inline(never)]
    fn distribute_all(&mut self, node: &NodeRuntime, frame: &mut Box<Frame>, codes: &[u32; 8]) {
        for i in 0..frame.len() {
            self.distribute(node, codes[i & 7], frame, i);
        }
        // SAFETY: every packet was taken once.
        unsafe { frame.emptied() };
    }

    #[inline(always)]
    fn partition<I: Isa>(
        &mut self,
        node: &NodeRuntime,
        frame: &mut Box<Frame>,
        codes: &[u32; FRAME_SIZE],
    ) {
        let n = frame.len();
        let mut left: [u64; 4] = std::array::from_fn(|w| match n.saturating_sub(w * 64) {
            0 => 0,
            bits @ 1..=63 => (1 << bits) - 1,
            _ => u64::MAX,
        });
        for _ in 0..SELECTED {
            let Some(first) = first_bit(&left) else { break };
            let code = codes[first];
            let mask = simd::equal_mask::<I>(codes, n, code);
            let count = mask.iter().map(|w| w.count_ones() as usize).sum();
            let mut stage = self.stage.take().unwrap_or_else(|| Frame::new(self.pool));
            // SAFETY: `mask` selects the `count` packets of this code, and each code is handled
            // once.
            let (source, target, at) = unsafe { stage.take_selected(frame, count) };
            let end = simd::compress_u32::<I>(source, &mask, target, at);
            debug_assert_eq!(end, at + count);
            stage.traced = frame.traced;
            self.send_all(node, code, &mut stage);
            self.stage = Some(stage);
            for (left, mask) in left.iter_mut().zip(mask) {
                *left &= !mask;
            }
        }
        while let Some(i) = first_bit(&left) {
            self.distribute(node, codes[i], frame, i);
            left[i / 64] &= left[i / 64] - 1;
        }
        // SAFETY: every packet was taken once: by its code's selection, or one by one.
        unsafe { frame.emptied() };
    }

    /// Moves one packet of the frame to where its code leads.
    #[inline(always)]
    fn distribute(&mut self, node: &NodeRuntime, code: u32, frame: &Frame, i: usize) {
        let target = node.target(code);
        if let EdgeTarget::Node { node: to, error: 0 } = target
            && let Some(open) = self.open.get_mut(to.at())
            && let Some(waiting) = &mut open.frame
            && waiting.room() > 0
        {
            // SAFETY: the caller takes each packet once and then empties the frame.
            unsafe { waiting.take_one(frame, i) };
            waiting.traced |= frame.traced;
            if !open.queued {
                open.queued = true;
                self.pending.push_back(to);
            }
            return;
        }
        let mut stage = self.stage.take().unwrap_or_else(|| Frame::new(self.pool));
        // SAFETY: as above.
        unsafe { stage.take_one(frame, i) };
        stage.traced = frame.traced;
        self.send_all(node, code, &mut stage);
        self.stage = Some(stage);
    }

    /// Sends one packet along an edge.
    pub fn send_one(&mut self, node: &NodeRuntime, code: u32, buffer: Owned) {
        let mut stage = self.stage.take().unwrap_or_else(|| Frame::new(self.pool));
        if stage.push(buffer).is_ok() {
            self.send_all(node, code, &mut stage);
        }
        self.stage = Some(stage);
    }

    /// Sends all packets of the frame along one edge; leaves it empty.
    #[inline(never)]
    pub fn send_all(&mut self, node: &NodeRuntime, code: u32, frame: &mut Box<Frame>) {
        if frame.is_empty() {
            return;
        }
        if let Some(to) = as_dynamic(code) {
            return self.send_frame(to, frame);
        }
        match node.target(code) {
            EdgeTarget::Node { node: to, error } => {
                if error != 0 {
                    self.errors.add(error as usize, frame.len() as u64);
                }
                self.send_frame(to, frame);
            }
            EdgeTarget::Free => self.cache.free_frame(frame),
            EdgeTarget::Keep => self.kept.append(frame),
            EdgeTarget::Reason { node: to, error } => self.send_for_reason(to, error, frame),
            EdgeTarget::Unset => {
                debug_assert!(false, "node {} said no way out for a packet", node.name);
                self.send_for_reason(node.drop, 0, frame);
            }
        }
    }

    #[cold]
    fn send_for_reason(&mut self, to: NodeIndex, error: u32, frame: &mut Box<Frame>) {
        self.errors.add(error as usize, frame.len() as u64);
        for b in frame.iter_mut() {
            b.set_error(error);
        }
        self.send_frame(to, frame);
    }

    /// Appends the packets to what waits for `to`; leaves the frame empty.
    #[inline(always)]
    pub fn send_frame(&mut self, to: NodeIndex, frame: &mut Box<Frame>) {
        let Some(open) = self.open.get_mut(to.at()) else { return self.orphan(to, frame) };
        match &mut open.frame {
            None => {
                let spare = self.spare.pop().unwrap_or_else(|| Frame::new(self.pool));
                open.frame = Some(std::mem::replace(frame, spare));
            }
            Some(waiting) if frame.len() <= waiting.room() => waiting.append(frame),
            Some(_) => return self.send_over(to, frame),
        }
        if !open.queued {
            open.queued = true;
            self.pending.push_back(to);
        }
    }

    /// The open frame fills up, and a new one is begun.
    #[cold]
    fn send_over(&mut self, to: NodeIndex, frame: &mut Box<Frame>) {
        let mut next = self.spare();
        let open = &mut self.open[to.at()];
        if let Some(mut full) = open.frame.take() {
            let room = full.room();
            full.append_first(frame, room);
            open.full.push_back(full);
        }
        next.append(frame);
        open.frame = Some(next);
    }

    /// Keeps packets until the thread has installed their node: control has sent it already, or has
    /// taken it away.
    #[cold]
    pub(crate) fn orphan(&mut self, to: NodeIndex, frame: &mut Box<Frame>) {
        self.orphans.extend(frame.drain().map(|b| (to, b)));
    }

    /// Brings packets for any node in, from outside of the graph.
    pub fn inject(&mut self, to: NodeIndex, buffer: Owned) {
        let mut frame = self.spare();
        let traced = buffer.flags.contains(Flags::TRACED);
        if frame.push(buffer).is_ok() {
            frame.traced = traced;
            self.send_frame(to, &mut frame);
        }
        self.give_spare(frame);
    }
}

simd::variants! {
    /// [`Core::partition`], once for all nodes: inlined, it would be most of the code of a small
    /// node.
    fn partition<I: Isa>(
        core: &mut Core,
        node: &NodeRuntime,
        frame: &mut Box<Frame>,
        codes: &[u32; FRAME_SIZE],
    ) = Core::partition::<I>;
}

#[inline(always)]
fn first_bit(mask: &[u64; 4]) -> Option<usize> {
    mask.iter().position(|w| *w != 0).map(|w| w * 64 + mask[w].trailing_zeros() as usize)
}
