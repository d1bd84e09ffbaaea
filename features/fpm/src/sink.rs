// SPDX-License-Identifier: Apache-2.0
//! Results of changes: numbers, the objects that routes name, answers.

use crate::frame;
use crate::objects::Objects;
use crate::refused::Refused;
use net::fib::RouteIndex;
use netlink::{OFFLOAD, ROUTE_FLAGS};
use std::collections::BTreeMap;

/// Number of messages by kind, and of those that weren't taken over by reason.
#[derive(Clone, Default, Debug)]
pub struct Counts {
    /// Routes that were set.
    pub routes: u64,
    /// Routes that were withdrawn.
    pub withdrawn: u64,
    /// Next-hop objects that were set or removed.
    pub objects: u64,
    pub refused: BTreeMap<Refused, u64>,
    /// Answers that a route is in force.
    pub answers: u64,
}

impl Counts {
    pub fn refuse(&mut self, why: Refused) {
        *self.refused.entry(why).or_default() += 1;
    }

    /// Number of messages.
    pub fn messages(&self) -> u64 {
        self.routes + self.withdrawn + self.objects + self.refused.values().sum::<u64>()
    }
}

/// Data that goes with a change until the table has it.
#[derive(Clone, Copy, Default)]
pub struct With {
    /// The object that the route names, or 0.
    pub object: u32,
    /// Offset and length of the message in [`Sink`]'s originals; a length of 0: no answer.
    pub answer: (u32, u32),
}

/// Takes the results of changes, once the tables have them.
pub struct Sink<'a> {
    pub objects: &'a mut Objects,
    pub counts: &'a mut Counts,
    pub named: &'a mut Vec<u32>,
    pub originals: &'a [u8],
    pub out: &'a mut Vec<u8>,
}

impl Sink<'_> {
    /// A table has a route with its new paths.
    pub fn set(&mut self, index: RouteIndex, with: With) {
        self.name(index.at(), with.object);
    }

    /// Answers that a route is in force.
    pub fn answer(&mut self, with: With) {
        let (at, len) = (with.answer.0 as usize, with.answer.1 as usize);
        let Some(original) = self.originals.get(at..at + len).filter(|of| !of.is_empty()) else {
            return;
        };
        self.counts.answers += 1;
        let from = self.out.len() + frame::HEADER + ROUTE_FLAGS;
        frame::write(self.out, original);
        // In the machine's order of bytes, as all of netlink.
        if let Some(flags) = self.out.get_mut(from..from + 4)
            && let Ok(of) = <[u8; 4]>::try_from(&*flags)
        {
            flags.copy_from_slice(&(u32::from_ne_bytes(of) | OFFLOAD).to_ne_bytes());
        }
    }

    /// The source has no paths to the prefix of a route any more.
    pub fn removed(&mut self, index: RouteIndex) {
        self.name(index.at(), 0);
    }

    /// A table doesn't take a change.
    pub fn refuse(&mut self, why: Refused) {
        self.counts.refuse(why);
    }

    /// Notes the object that a route names; 0 is none.
    fn name(&mut self, index: usize, object: u32) {
        if index >= self.named.len() {
            if object == 0 {
                return;
            }
            self.named.resize(index + 1, 0);
        }
        let old = std::mem::replace(&mut self.named[index], object);
        self.objects.moved(old, object);
    }
}
