// SPDX-License-Identifier: Apache-2.0
//! Datagrams under way in one node on one thread: what both kinds of reassembly do alike.

use crate::fragment::Fragments;
use crate::place::Place;
use crate::state::{Kind, Knobs, Reassembly};
use crate::table::{Key, Table};
use buffer::{Holder, Owned, Part};
use graph::{Cx, Next, ThreadIndex, World};
use std::net::IpAddr;
use std::sync::Arc;

/// A fragment that waits.
pub trait Waiting {
    /// The packet.
    fn into_packet(self) -> Owned;
    /// The packet, to look at.
    fn packet(&self) -> &Owned;
    /// Its bytes, as `show` counts them.
    fn bytes(&self) -> usize;
}

/// A datagram of which fragments wait.
pub trait Datagram {
    type Part: Waiting;
    /// An empty one, with the memory of another.
    fn with(parts: Vec<Self::Part>) -> Self;
    fn parts(&self) -> &Vec<Self::Part>;
    fn parts_mut(&mut self) -> &mut Vec<Self::Part>;
    /// What still comes of it is dropped.
    fn give_up(&mut self);
}

/// Buffers that these fragments take.
pub fn buffers(parts: &[impl Waiting]) -> usize {
    parts.iter().map(|part| part.packet().segment_count()).sum()
}

/// What `show` tells of a datagram under way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnderWay {
    /// The thread that has it.
    pub thread: ThreadIndex,
    /// Source, destination, identification.
    pub key: (IpAddr, IpAddr, u32),
    /// Fragments that are there, and their bytes.
    pub fragments: (usize, usize),
    /// Milliseconds since the first one came.
    pub age_ms: u64,
}

/// All datagrams of a node.
pub struct Store<F: Fragments, D: Datagram> {
    pub place: Place,
    pub table: Table<F::Addr, D>,
    reassembly: Arc<Reassembly<F>>,
    kind: Kind,
    /// Kept for their memory.
    spare: Vec<Vec<D::Part>>,
    /// Buffers of fragments that are here: this node's part of what all reassembly on the thread may hold.
    pub kept: Part,
}

impl<F: Fragments, D: Datagram> Store<F, D> {
    pub fn new(world: &World, thread: ThreadIndex, kind: Kind) -> Self {
        let place = Place::new(world, thread);
        let table = Table::new(place.seed);
        let kept = world.pool.share(Holder::REASSEMBLY, thread.0, world.threads()).part();
        Self { place, table, reassembly: world.get(), kind, spare: Vec::new(), kept }
    }

    /// The limits.
    pub fn knobs(&self) -> &Knobs {
        self.reassembly.of(self.kind)
    }

    /// Lets go of all fragments of a datagram.
    pub fn release<N: Next>(&mut self, at: u32, why: N, cx: &mut Cx<'_, false>) {
        let Some(datagram) = self.table.get_mut(at) else { return };
        let parts = datagram.parts_mut();
        self.kept.give(buffers(parts));
        for part in parts.drain(..) {
            cx.emit(why, part.into_packet());
        }
    }

    /// Forgets a datagram that has no fragments here any more.
    pub fn forget(&mut self, at: u32) {
        if let Some(mut datagram) = self.table.remove(at) {
            self.knobs().end(self.place.thread);
            let parts = std::mem::take(datagram.parts_mut());
            debug_assert!(parts.is_empty());
            self.spare.push(parts);
        }
    }

    /// Forgets a datagram and lets go of its fragments.
    pub fn remove<N: Next>(&mut self, at: u32, why: N, cx: &mut Cx<'_, false>) {
        self.release(at, why, cx);
        self.forget(at);
    }

    /// What comes of this datagram from now on is dropped, until it would have timed out.
    pub fn give_up<N: Next>(&mut self, at: u32, why: N, cx: &mut Cx<'_, false>) {
        self.release(at, why, cx);
        if let Some(datagram) = self.table.get_mut(at) {
            datagram.give_up();
        }
    }

    /// One that has waited too long.
    pub fn expired(&self, now: u64) -> Option<u32> {
        let timeout = self.knobs().timeout();
        self.table.oldest().filter(|(_, since)| now >= since + timeout).map(|(at, _)| at)
    }

    /// The datagram of a key; a new one if there is none, for which the oldest may have to go.
    pub fn datagram<N: Next>(&mut self, key: Key<F::Addr>, full: N, cx: &mut Cx<'_, false>) -> u32 {
        if let Some(at) = self.table.find(&key) {
            return at;
        }
        while self.table.len() >= self.knobs().datagrams().max(1) {
            let Some((oldest, _)) = self.table.oldest() else { break };
            self.remove(oldest, full, cx);
        }
        self.knobs().begin(self.place.thread);
        let parts = self.spare.pop().unwrap_or_default();
        self.table.insert(key, cx.now(), D::with(parts))
    }

    /// Lets the oldest go until the rest has room, of which each fragment takes as many buffers as it has segments.
    pub fn make_room<N: Next>(&mut self, full: N, cx: &mut Cx<'_, false>) {
        while self.kept.is_over() {
            let Some((oldest, _)) = self.table.oldest() else { break };
            self.kept.refuse();
            self.remove(oldest, full, cx);
        }
        self.kept.settle();
    }

    /// What is under way here.
    pub fn list(&self, now: u64) -> Vec<UnderWay> {
        let under_way = |(key, since, datagram): (&Key<F::Addr>, u64, &D)| UnderWay {
            thread: self.place.thread,
            key: (key.src.into(), key.dst.into(), key.id),
            fragments: (datagram.parts().len(), datagram.parts().iter().map(Waiting::bytes).sum()),
            age_ms: now.saturating_sub(since) / 1_000_000,
        };
        self.table.iter().map(under_way).collect()
    }
}
