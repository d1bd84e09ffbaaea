// SPDX-License-Identifier: Apache-2.0
//! The input node of a driver whose receive queues are polled: on each thread it has the queues
//! that are placed there.

use crate::burst::{Burst, Frames, refusal};
use crate::queues::QueueRequest;
use buffer::{Frame, Owned, Quota, Reservation, Share};
use graph::{ArcIndex, Build, Cx, Input, InputMode, Next, ThreadIndex, World};
use net::{IfLanes, is_group};
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use wire::offload::OffloadError;

/// Losses of a receive queue, in packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Losses {
    /// Lost by the device because they weren't read in time.
    pub missed: u64,
    /// Malformed.
    pub errors: u64,
    /// With segmentation of an unknown kind, or with a segment size of 0.
    pub unknown_offload: u64,
    /// Described by the peer in shared memory in a way that names no packet.
    pub bad_desc: u64,
    /// Lost by the device because it had no empty buffer.
    pub no_buffer: u64,
}

/// A device's receive queue.
pub trait RxQueue: Send + 'static {
    /// The driver's input node.
    const NODE: &'static str;

    /// Moves waiting packets into the burst, until that has no more room.
    fn receive(&mut self, burst: &mut Burst<'_>);

    /// Discards waiting packets.
    fn discard(&mut self);

    /// Returns the descriptor that is readable while packets wait; `None` for a queue that can only
    /// be polled.
    fn wake(&self) -> Option<BorrowedFd<'_>>;

    /// Called before it is polled for the first time after its interface came up.
    fn begin(&mut self) {}

    /// The mode in which it is polled from now on: whether its descriptor has to wake the thread.
    fn set_mode(&mut self, _mode: InputMode) {}

    /// Returns the losses since the last call; called about once a second.
    fn losses(&mut self) -> Losses {
        Losses::default()
    }

    /// Number of empty buffers that the device has ([`Burst::empty`]).
    fn lent(&self) -> usize {
        0
    }

    /// Called after many polls without a packet, and before the next one: clears conditions that
    /// would keep the descriptor readable.
    fn idle(&mut self) {}
}

/// A queue placed on a thread.
pub(crate) struct Slot<Q> {
    pub queue: Q,
    /// Its state that control requests.
    pub request: Arc<QueueRequest>,
    /// True if it is polled.
    pub up: bool,
    /// True if its descriptor wakes the thread.
    pub watched: bool,
    /// Number of empty buffers that its device has, in the thread's share.
    pub lent: Option<Quota>,
}

/// Polls the queues of a driver that this thread has.
pub struct PollInput<Q> {
    pub(crate) slots: Vec<Slot<Q>>,
    frames: Frames,
    spare: Vec<Owned>,
    /// Number of buffers in `spare`, as of the last second.
    held: Quota,
    /// Of empty buffers, on this thread.
    share: Arc<Share>,
    lanes: Arc<IfLanes>,
    device_input: Option<ArcIndex>,
    /// Polls since the last packet.
    idle: u32,
    /// Time at which losses were counted last.
    counted: u64,
}

/// The next nodes of received packets.
#[derive(Next, Clone, Copy)]
pub enum InputTo {
    /// A frame.
    #[next("ethernet-input")]
    Ethernet,
    /// A packet of an interface without link layer.
    #[next("ip4-input")]
    Ip4,
    /// As well.
    #[next("ip6-input")]
    Ip6,
    /// neither IPv4 nor IPv6.
    #[drop]
    NoIp,
    /// checksum to be completed isn't one of the upper layer.
    #[drop]
    BadChecksumOffset,
    /// headers contradict the kind of segmentation.
    #[drop]
    BadSegmentation,
    /// segments are smaller than hosts send them.
    #[drop]
    SegmentTooSmall,
    /// kind of segmentation isn't known.
    #[drop]
    UnknownSegmentation,
    /// bad descriptor of the peer.
    #[drop]
    BadDesc,
}

/// Number of polls without a packet after which [`RxQueue::idle`] is called.
const IDLE_POLLS: u32 = 256;
const SECOND: u64 = 1_000_000_000;

impl<Q: RxQueue> Build for PollInput<Q> {
    fn build(world: &World, thread: ThreadIndex) -> Self {
        let share = world.pool.share(Reservation::RECEIVE, thread.0, world.threads());
        Self {
            slots: Vec::new(),
            frames: std::array::from_fn(|_| Frame::new(world.pool)),
            spare: Vec::with_capacity(64),
            held: share.quota(),
            share,
            lanes: IfLanes::of(world, thread),
            device_input: world.arc("device-input"),
            idle: 0,
            counted: 0,
        }
    }
}

impl<Q: RxQueue> PollInput<Q> {
    /// Input mode of the thread: the most demanding one among its queues that are polled.
    pub(crate) fn mode(&self) -> InputMode {
        let rank = |mode: &InputMode| match mode {
            InputMode::Disabled => 0,
            InputMode::Interrupt => 1,
            InputMode::Adaptive => 2,
            InputMode::Polling => 3,
        };
        let modes = self.slots.iter().filter(|slot| slot.up).map(|slot| slot.request.mode());
        modes.max_by_key(rank).unwrap_or_default()
    }

    #[inline(always)]
    fn poll_slot(&mut self, i: usize, cx: &mut Cx<'_, false>) -> usize {
        let slot = &mut self.slots[i];
        if !slot.up {
            return 0;
        }
        let QueueRequest { sw_if, ip, .. } = *slot.request;
        let lent = slot.lent.get_or_insert_with(|| self.share.quota());
        let now = cx.now();
        let mut burst = Burst {
            now,
            cache: cx.cache(),
            frames: &mut self.frames,
            spare: &mut self.spare,
            sw_if: sw_if.0,
            ip,
            packets: 0,
            bytes: 0,
            no_buffer: 0,
            refused: false,
            empties: lent.room(),
        };
        slot.queue.receive(&mut burst);
        let Burst { packets, bytes, no_buffer, refused, .. } = burst;
        if slot.queue.lent() != lent.held() {
            lent.set(slot.queue.lent());
        }
        if no_buffer > 0 {
            self.lanes.rx_no_buf.add(sw_if.at(), no_buffer);
        }
        if packets > 0 {
            let (at, total) = (sw_if.at(), (packets as u64, bytes));
            let all = || self.frames.iter().flat_map(|frame| frame.iter());
            if !ip && all().fold(false, |any, b| any | is_group(b)) {
                self.lanes.rx.groups(at, total, all());
            } else {
                self.lanes.rx.unicast(at, total.0, total.1);
            }
            if refused {
                self.refuse(cx);
            }
            let [first, six, other, ..] = &mut self.frames;
            if ip {
                cx.emit_frame(InputTo::Ip4, first);
                cx.emit_frame(InputTo::Ip6, six);
                cx.emit_frame(InputTo::NoIp, other);
            } else {
                match self.device_input {
                    Some(arc) => cx.emit_frame_on(arc, sw_if, InputTo::Ethernet, first),
                    None => cx.emit_frame(InputTo::Ethernet, first),
                }
            }
        }
        packets
    }

    /// Drops packets whose offload request is invalid.
    #[cold]
    fn refuse(&mut self, cx: &mut Cx<'_, false>) {
        for (error, to) in [
            (OffloadError::Checksum, InputTo::BadChecksumOffset),
            (OffloadError::Headers, InputTo::BadSegmentation),
            (OffloadError::Size, InputTo::SegmentTooSmall),
        ] {
            cx.emit_frame(to, &mut self.frames[refusal(error)]);
        }
    }

    #[cold]
    fn count_losses(&mut self, cx: &mut Cx<'_, false>) {
        self.held.set(self.spare.len());
        for slot in self.slots.iter_mut().filter(|slot| slot.up) {
            let Losses { missed, errors, unknown_offload, bad_desc, no_buffer } =
                slot.queue.losses();
            self.lanes.rx_no_buf.add(slot.request.sw_if.at(), no_buffer);
            self.lanes.rx_miss.add(slot.request.sw_if.at(), missed);
            self.lanes.rx_error.add(slot.request.sw_if.at(), errors + unknown_offload + bad_desc);
            cx.count(InputTo::UnknownSegmentation, unknown_offload);
            cx.count(InputTo::BadDesc, bad_desc);
        }
    }
}

impl<Q: RxQueue> Input for PollInput<Q> {
    const NAME: &'static str = Q::NODE;
    type Next = InputTo;

    fn poll(&mut self, cx: &mut Cx<'_, false>) -> usize {
        if self.idle == IDLE_POLLS {
            self.idle = 0;
            // In front of the poll: it finds what came before its event was cleared.
            self.slots.iter_mut().filter(|slot| slot.up).for_each(|slot| slot.queue.idle());
        }
        let packets = (0..self.slots.len()).map(|i| self.poll_slot(i, cx)).sum();
        self.idle = if packets > 0 { 0 } else { self.idle + 1 };
        if cx.now().wrapping_sub(self.counted) >= SECOND {
            self.counted = cx.now();
            self.count_losses(cx);
        }
        packets
    }
}
