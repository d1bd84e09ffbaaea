// SPDX-License-Identifier: Apache-2.0
//! A virtqueue of either format, and how packets lie in it.

use super::chain::{Desc, Found, Used};
use super::inflight::Part;
use super::packed::Packed;
use super::split::Split;
use super::{Event, Memory, Piece, Pieces};
use std::sync::Arc;

/// Bytes of the longest header of a packet, which counts merged buffers (Virtual I/O Device 1.3,
/// 5.1.6).
pub const MAX_HEADER: usize = 12;

/// Descriptors that are looked at in one turn. A vector of the longest packets has fewer.
const STEPS: u32 = 65_536;

/// The format of a ring.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Format {
    /// Descriptors, available and used parts.
    #[default]
    Split,
    /// One ring.
    Packed,
}

/// Addresses of a ring's parts in the front-end.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RingAddresses {
    /// Descriptors.
    pub desc: u64,
    /// The part that the guest writes.
    pub driver: u64,
    /// The part that this end writes.
    pub device: u64,
}

/// Format, addresses and features of a ring.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct QueueConfig {
    pub format: Format,
    /// Descriptors.
    pub size: u16,
    pub addresses: RingAddresses,
    /// Events are asked for by an index (VIRTIO_F_EVENT_IDX).
    pub event_idx: bool,
    /// Descriptors may be tables (VIRTIO_F_INDIRECT_DESC).
    pub indirect: bool,
    /// A packet may be in several chains (VIRTIO_NET_F_MRG_RXBUF).
    pub mergeable: bool,
    /// Bytes in front of a packet.
    pub header: usize,
    /// The headers of the guest's packets ask for checksums and segmentation.
    pub offloads: bool,
    /// Segments for the guest may have ECN (VIRTIO_NET_F_GUEST_ECN).
    pub ecn: bool,
}

/// Position of a ring: the next chain to take, and the next to give back. In a packed ring the
/// highest bits are the wrap counters.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Position {
    pub next: u16,
    pub done: u16,
}

/// Where a ring starts, the first of these that is known.
#[derive(Default)]
pub struct Start {
    /// Where it was until now, if it only moves.
    pub live: Option<Position>,
    /// Where the log says that it was, with chains that are in flight; the log goes on from there.
    pub log: Option<Part>,
    /// Where the front-end says. A split ring rather begins where its used index is.
    pub base: Option<Position>,
}

/// A place in a ring that [`Queue::rewind`] goes back to.
#[derive(Clone, Copy)]
pub struct Mark {
    /// The next chain of the ring.
    pub next: u16,
    /// Chains of the log that come first.
    pub again: u16,
}

/// The state of a ring, as commands show it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RingView {
    pub format: Format,
    pub size: u16,
    pub position: Position,
    /// Flags and index (split) or offset (packed) of the guest's part.
    pub driver: (u16, u16),
    /// Flags and index or offset of the device's part.
    pub device: (u16, u16),
}

// A ring is looked at in place: the larger one isn't much larger.
enum Ring {
    Split(Split),
    Packed(Packed),
}

/// Calls a function of the ring, of whatever format it is.
macro_rules! ring {
    ($of:expr, $ring:ident => $call:expr) => {
        match $of {
            Ring::Split($ring) => $call,
            Ring::Packed($ring) => $call,
        }
    };
}

/// A virtqueue that packets are read from or written to.
pub struct Queue {
    ring: Ring,
    pub(super) memory: Arc<Memory>,
    pub(super) config: QueueConfig,
    /// By which the guest wakes this end; none if it is always polled.
    pub(super) kick: Option<Arc<Event>>,
    /// By which this end wakes the guest; none if the guest polls.
    call: Option<Arc<Event>>,
    /// True if the guest is to kick.
    events: bool,
    /// The memory of the chain that was found last.
    pub(super) pieces: Pieces,
    /// The memory of a packet's header.
    pub(super) head: Vec<Piece>,
    /// Chains that go back to the guest next.
    pub(super) used: Vec<Used>,
    /// Their descriptors of the ring.
    taken: u32,
    /// Chains that no packet is in.
    pub(super) bad: u64,
    /// Packets that ask for a kind of segmentation that isn't known.
    pub(super) unknown_offload: u64,
}

impl Queue {
    /// The ring, if it lies inside of the guest's memory.
    ///
    /// # Errors
    /// Why it can't be used.
    pub fn new(memory: Arc<Memory>, config: QueueConfig, start: Start) -> Result<Self, String> {
        let ring = match config.format {
            Format::Split => Ring::Split(Split::new(memory.clone(), &config, start)?),
            Format::Packed => Ring::Packed(Packed::new(memory.clone(), &config, start)?),
        };
        let mut queue = Self {
            ring,
            memory,
            config,
            kick: None,
            call: None,
            events: true,
            pieces: Pieces::new(),
            head: Vec::with_capacity(MAX_HEADER),
            used: Vec::with_capacity(config.size.into()),
            taken: 0,
            bad: 0,
            unknown_offload: 0,
        };
        queue.set_events(false);
        Ok(queue)
    }

    /// Sets the events by which both ends wake each other.
    pub fn set_kick(&mut self, kick: Option<Arc<Event>>) {
        self.kick = kick;
    }

    /// As [`Self::set_kick`], of the guest's.
    pub fn set_call(&mut self, call: Option<Arc<Event>>) {
        self.call = call;
    }

    /// Returns true if the guest can wake this end.
    pub fn has_kick(&self) -> bool {
        self.kick.is_some()
    }

    /// Asks the guest for events, or for none.
    pub fn set_events(&mut self, wanted: bool) {
        self.events = wanted;
        ring!(&mut self.ring, ring => ring.set_events(wanted));
    }

    /// Clears the guest's event, and asks for the next one. True if chains may have come since they
    /// were looked for.
    #[inline(always)]
    pub(super) fn rearm(&mut self) -> bool {
        if !self.events {
            return false;
        }
        if let Some(kick) = &self.kick {
            kick.clear();
        }
        if self.config.event_idx {
            ring!(&mut self.ring, ring => ring.set_events(true));
        }
        true
    }

    /// Takes the next chain into `used`; returns whether it is valid. `None` if there is none, or
    /// if the guest makes more available than it can have, or longer ones than packets need: such a
    /// guest waits for the next turn.
    #[inline(always)]
    pub(super) fn find(&mut self, writes: bool) -> Option<bool> {
        if self.taken >= self.config.size.into() || self.pieces.steps() >= STEPS {
            return None;
        }
        let found = ring!(&mut self.ring, ring => ring.find(writes, &mut self.pieces));
        let (is_good, used) = match found {
            Found::Nothing => return None,
            Found::Chain(used) => (true, used),
            Found::Bad(used) => (false, used),
        };
        self.taken += u32::from(used.slots);
        self.used.push(used);
        Some(is_good)
    }

    #[inline(always)]
    pub(super) fn next(&self) -> Mark {
        ring!(&self.ring, ring => ring.next())
    }

    /// Makes chains that were taken, those of `used` from this one on, the next ones again.
    #[inline(always)]
    pub(super) fn rewind(&mut self, next: Mark, first: usize) {
        self.taken -= self.used.drain(first..).map(|used| u32::from(used.slots)).sum::<u32>();
        ring!(&mut self.ring, ring => ring.rewind(next));
    }

    /// Gives the chains in `used` back to the guest, and wakes it if it wants that.
    #[inline(always)]
    pub fn give_back(&mut self) {
        self.taken = 0;
        self.pieces.restart();
        if self.used.is_empty() {
            return;
        }
        let wanted = ring!(&mut self.ring, ring => ring.give_back(&self.used));
        self.used.clear();
        if wanted && let Some(call) = &self.call {
            call.raise();
        }
    }

    /// Gives chains of the log back that weren't carried out, empty, and closes it: the front-end
    /// asks where the ring is, and may take it elsewhere without the log.
    pub fn finish(&mut self) {
        while self.next().again > 0 {
            while self.next().again > 0 && self.find(false).is_some() {}
            self.give_back();
        }
        ring!(&self.ring, ring => ring.close_log());
    }

    /// Chains that no packet is in, since the last call.
    pub fn take_bad(&mut self) -> u64 {
        let ring = match &mut self.ring {
            Ring::Split(ring) => ring.take_bad(),
            Ring::Packed(_) => 0,
        };
        ring + std::mem::take(&mut self.bad)
    }

    /// Packets that ask for a kind of segmentation that isn't known, since the last call.
    pub fn take_unknown_offload(&mut self) -> u64 {
        std::mem::take(&mut self.unknown_offload)
    }

    /// Counts the losses of a queue that this one takes the place of.
    pub(super) fn take_losses(&mut self, before: &mut Self) {
        self.bad += before.take_bad();
        self.unknown_offload += before.take_unknown_offload();
    }

    /// Where the ring is. Everything that was taken has been given back.
    pub fn position(&self) -> Position {
        ring!(&self.ring, ring => ring.position())
    }

    /// The state of the ring, as commands show it.
    pub fn view(&self) -> RingView {
        ring!(&self.ring, ring => ring.view())
    }

    /// The number of each event's descriptor, and how often it was used: kick and call.
    pub fn events(&self) -> [Option<(i32, u64)>; 2] {
        [&self.kick, &self.call]
            .map(|event| event.as_ref().map(|event| (event.number(), event.raised())))
    }

    /// The descriptors, as commands show them.
    pub fn descriptors(&self) -> Vec<Desc> {
        ring!(&self.ring, ring => ring.descriptors())
    }
}
