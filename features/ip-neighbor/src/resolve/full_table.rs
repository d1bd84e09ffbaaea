// SPDX-License-Identifier: Apache-2.0
//! Reports a full neighbour table to operators: a counter for each interface, and at most one line
//! in the log a minute.

use super::Protocol;
use graph::{Shared, SwIfIndex, World};
use net::{Interfaces, Neighbors};
use std::marker::PhantomData;
use std::sync::Mutex;
use wire::Family;

/// Minimum interval between two lines of the log, in nanoseconds.
const PAUSE: u64 = 60_000_000_000;

#[derive(Default)]
struct Unlogged {
    /// Time of the last line.
    line: Option<u64>,
    refused: u64,
    displaced: u64,
}

/// Number of refused and displaced neighbours in a full table since the last line of the log.
pub(super) struct FullTableLog<P>(Mutex<Unlogged>, PhantomData<P>);

impl<P: Protocol> Shared for FullTableLog<P> {
    fn make(_: &World) -> Self {
        Self(Mutex::default(), PhantomData)
    }
}

impl<P: Protocol> FullTableLog<P> {
    /// Counts a detected neighbour that found no room.
    pub fn refused(&self, world: &World) {
        self.note(world, |since| since.refused += 1);
    }

    /// Counts an entry on an interface that was displaced by another.
    pub fn displaced(&self, world: &World, sw_if: SwIfIndex) {
        world.stats.simple(&format!("{}/displaced", P::COUNTERS)).control().add(sw_if.at(), 1);
        self.note(world, |since| since.displaced += 1);
    }

    fn note(&self, world: &World, count: impl FnOnce(&mut Unlogged)) {
        let (now, neighbors) = (world.clock.now(), world.get::<Neighbors>());
        let mut since = self.0.lock().expect("no panic inside");
        count(&mut since);
        if since.line.is_some_and(|line| now < line + PAUSE) {
            return;
        }
        let Unlogged { refused, displaced, .. } =
            std::mem::replace(&mut *since, Unlogged { line: Some(now), ..Unlogged::default() });
        let family = if P::Net::IS_V6 { "ip6" } else { "ip4" };
        let limit = neighbors.config(P::Net::IS_V6).limit;
        let most = neighbors.fullest(P::Net::IS_V6).map_or_else(String::new, |(sw_if, held)| {
            format!(", {held} of them on {}", world.get::<Interfaces>().name(sw_if))
        });
        log::warn!(
            "the table of {family} neighbours is full with {limit}{most}: {refused} refused, {displaced} displaced since the \
             last such line (`show ip neighbor-stats`, `set ip neighbor-config {family} limit`)"
        );
    }
}
