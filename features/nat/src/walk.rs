// SPDX-License-Identifier: Apache-2.0
//! Walks of control over the sessions of all threads: in parts, between the packets.

use cli::{Error, Output};
use graph::{PerThread, Replies, ThreadState, World};
use msg::Pending;

/// Entries of a table that are looked at in one turn of a thread.
const PART: usize = 2048;

/// Finds the next entry of a thread's state from a place on, as [`tables::Sessions::walk`] does.
pub type Next<T> = fn(&T, &mut u32, &mut usize) -> Option<u32>;

/// The results of a walk, by thread.
pub struct Walk<R>(Replies<(u32, R)>);

/// Walks over the state of all threads: `each` is called for each entry, on its thread, with the
/// thread's result. The walk goes to its end, whether or not anybody waits for the results.
pub fn walk<T: ThreadState, R: Default + Send + 'static>(
    world: &World,
    next: Next<T>,
    each: impl Fn(&mut T, u32, &mut R) + Send + Sync + 'static,
) -> Walk<R> {
    in_parts(world, move |state: &mut T, place, result| {
        let mut budget = PART;
        while let Some(at) = next(state, place, &mut budget) {
            each(state, at, result);
        }
    })
}

/// Works on the state of all threads, a part in each turn: `part` gets its place, which is 0 at
/// first, and sets it to `u32::MAX` at the end.
pub fn in_parts<T: ThreadState, R: Default + Send + 'static>(
    world: &World,
    part: impl Fn(&mut T, &mut u32, &mut R) + Send + Sync + 'static,
) -> Walk<R> {
    let all = world.get::<PerThread<T>>();
    Walk(world.query_in_parts(move |rt, (place, result): &mut (u32, R)| {
        let (thread, turn) = (rt.thread(), rt.reading());
        let Some(mut state) = all.of(thread, &turn) else { return false };
        part(&mut state, place, result);
        *place != u32::MAX
    }))
}

/// The results without the places. A thread that hasn't answered has none.
fn results<R>(answers: Vec<Option<(u32, R)>>) -> Vec<R> {
    answers.into_iter().flatten().map(|(_, result)| result).collect()
}

impl<R: Send + 'static> Walk<R> {
    /// The output of a command that needs the results.
    pub fn then(self, f: impl FnOnce(Vec<R>) -> Result<Output, Error> + 'static) -> Output {
        self.0.then(|answers| f(results(answers)))
    }

    /// The answer to a message that needs the results.
    pub fn reply<A: 'static>(
        self,
        f: impl FnOnce(Vec<R>) -> Result<A, Error> + 'static,
    ) -> Box<dyn Pending<World, A>> {
        self.0.reply(|answers| f(results(answers)))
    }
}
