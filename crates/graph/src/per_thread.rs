// SPDX-License-Identifier: Apache-2.0
//! State that each thread has of its own.

use crate::{Shared, ThreadIndex, World};
use sync::{PerThreadGuard, Turn};

/// State of a type that each thread has of its own.
pub trait ThreadState: Send + 'static {
    /// Makes the state of a thread.
    fn make(world: &World, thread: ThreadIndex) -> Self;
}

/// Made for each thread, and used by the nodes and stages of that thread alone, without a lock.
#[derive(Debug)]
pub struct PerThread<T>(sync::PerThread<T>);

impl<T: ThreadState> Shared for PerThread<T> {
    fn make(world: &World) -> Self {
        let of = |thread| T::make(world, ThreadIndex(thread as u16));
        Self(sync::PerThread::new((0..world.threads()).map(of)))
    }
}

impl<T> PerThread<T> {
    /// The state of the calling thread, whose turn this is; `None` for a caller that has it
    /// already.
    #[inline(always)]
    pub fn of<'a>(
        &'a self,
        thread: ThreadIndex,
        turn: &'a Turn<'_>,
    ) -> Option<PerThreadGuard<'a, T>> {
        self.0.get(thread.at(), turn)
    }
}
