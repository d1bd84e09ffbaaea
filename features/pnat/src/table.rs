// SPDX-License-Identifier: Apache-2.0
//! Attachments of bindings to interfaces, as workers read them.

use crate::binding::{Binding, Match};
use graph::{Shared, World};
use std::hash::{BuildHasher, RandomState};
use sync::{Slots, Turn};
use tables::{HashIndex, Mixer};

/// A direction of an interface.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Place {
    /// The interface.
    pub sw_if: u32,
    /// True for packets that leave.
    pub output: bool,
}

/// A binding at a place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Attachment {
    /// See [`Place`].
    pub place: Place,
    /// The binding's number.
    pub number: u32,
    /// The binding.
    pub binding: Binding,
}

/// All attachments.
pub struct Attachments {
    all: Slots<Attachment>,
    index: HashIndex,
    mixer: Mixer,
}

impl Shared for Attachments {
    fn make(world: &World) -> Self {
        Self {
            all: Slots::new(world.qsbr.clone()),
            index: HashIndex::new(&world.qsbr),
            mixer: Mixer::new(RandomState::new().hash_one(0)),
        }
    }
}

impl Attachments {
    #[inline(always)]
    fn hash(&self, place: Place, what: &Match) -> u32 {
        let place = u64::from(place.sw_if) << 1 | u64::from(place.output);
        let addresses =
            u64::from(what.from.addr.to_bits()) << 32 | u64::from(what.to.addr.to_bits());
        let ports = u64::from(what.from.port) << 16 | u64::from(what.to.port);
        let rest = ports << 8 | u64::from(what.protocol.0);
        self.mixer.add(addresses).add(rest).add(place).hash() as u32
    }

    /// The attachment of packets at a place, whose fields are those of its mask.
    #[inline(always)]
    pub fn find<'t>(
        &'t self,
        place: Place,
        what: &Match,
        turn: &'t Turn<'_>,
    ) -> Option<&'t Attachment> {
        self.index.find(self.hash(place, what), turn, |at| {
            let found = self.all.get(at, turn)?;
            (found.place == place && found.binding.what == *what).then_some(found)
        })
    }

    /// Control: puts an attachment at a number that has none.
    pub fn insert(&self, at: u32, attachment: Attachment) {
        let hash = self.hash(attachment.place, &attachment.binding.what);
        self.all.set(at, attachment);
        self.index.insert(hash, at);
    }

    /// Control: removes the attachment of a number.
    pub fn remove(&self, at: u32) {
        let Some(old) = self.all.read(at, |of| of.copied()) else { return };
        self.index.remove(self.hash(old.place, &old.binding.what), at);
        self.all.clear(at);
    }
}
