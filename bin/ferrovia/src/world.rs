// SPDX-License-Identifier: Apache-2.0
//! The packet world as the control thread sees it.

use cli::{Command, Output, Tree};
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::Duration;

/// The packet world that the daemon is built around, as far as the control thread has to know it.
pub trait World: cli::Live + 'static {
    /// The commands of the world and its plugins.
    fn commands(&self) -> Vec<&'static Command<Self>>
    where
        Self: Sized;

    /// The clock that every timer follows.
    fn now(&self) -> Duration;

    /// Moves [`World::now`]'s clock forward. The output completes when all due timers have run, on
    /// the threads as well.
    fn advance(&self, by: Duration) -> Output;

    /// The waker that ends the control thread's sleep.
    fn waker(&self) -> Arc<sync::Waker>;

    /// The binary API's shared side.
    fn api(&self) -> &msg::Hub<Self>
    where
        Self: Sized;

    /// Gives messages that carry commands the tree to run them with.
    fn adopt(&self, tree: &Arc<Tree<Self>>)
    where
        Self: Sized;

    /// The segment that readers of statistics map; `None` without statistics.
    fn stats(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    /// Runs the processes that are due, and returns the time until the next one is.
    fn poll(&self) -> Option<Duration>;

    /// The configuration in force.
    fn running_config(&self) -> Vec<graph::ConfigLine>;

    /// The configuration in force, to be read line by line by [`World::config_step`].
    fn config_lines(&self) -> graph::ConfigLines;

    /// Reads the next lines; returns false if there is nothing more.
    fn config_step(
        &self,
        from: &mut graph::ConfigLines,
        lines: &mut Vec<graph::ConfigLine>,
    ) -> bool;

    /// The configuration of the start was loaded.
    fn loaded(&self) {}

    /// Number of changes so far to objects that configuration lines refer to.
    fn config_changes(&self) -> u64 {
        0
    }

    /// Runs a line of a saved configuration: it waits for missing objects of the host that it
    /// needs, where that is possible.
    fn restore<T>(&self, line: impl FnOnce() -> T) -> T
    where
        Self: Sized,
    {
        line()
    }
}

/// A started world.
pub struct Instance<W> {
    /// The world that commands act on.
    pub world: Arc<W>,
    /// Ends its threads and releases its resources outside of the process. Called once, at a clean
    /// end.
    pub stop: Box<dyn FnOnce()>,
}
