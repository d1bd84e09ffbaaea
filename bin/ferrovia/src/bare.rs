// SPDX-License-Identifier: Apache-2.0
//! A world without packets: a clock and nothing else.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use cli::{Command, Output, Tree};

use crate::world::World;

/// Nothing but a clock, and further commands.
pub struct Bare {
    start: Instant,
    /// Nanoseconds that the clock was moved on.
    ahead: AtomicU64,
    waker: Arc<sync::Waker>,
    commands: &'static [Command<Bare>],
    api: msg::Hub<Bare>,
}

impl Bare {
    /// A world that starts now. The error is the system's.
    pub fn new(commands: &'static [Command<Bare>]) -> io::Result<Bare> {
        let waker = Arc::new(sync::Waker::new()?);
        let api = msg::Hub::new([]).expect("the protocol's own messages");
        Ok(Bare { start: Instant::now(), ahead: AtomicU64::new(0), waker, commands, api })
    }
}

impl cli::Live for Bare {
    fn candidates(&self, _kind: &str, _prefix: &str) -> Vec<String> {
        Vec::new()
    }
}

impl World for Bare {
    fn commands(&self) -> Vec<&'static Command<Bare>> {
        self.commands.iter().collect()
    }

    fn now(&self) -> Duration {
        self.start.elapsed() + Duration::from_nanos(self.ahead.load(Ordering::Relaxed))
    }

    fn advance(&self, by: Duration) -> Output {
        let by = u64::try_from(by.as_nanos()).unwrap_or(u64::MAX);
        // The closure always gives a value.
        let _ = self
            .ahead
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| Some(n.saturating_add(by)));
        Output::empty()
    }

    fn waker(&self) -> Arc<sync::Waker> {
        Arc::clone(&self.waker)
    }

    fn api(&self) -> &msg::Hub<Bare> {
        &self.api
    }

    fn adopt(&self, _: &Arc<Tree<Bare>>) {}

    fn poll(&self) -> Option<Duration> {
        None
    }

    fn running_config(&self) -> Vec<graph::ConfigLine> {
        Vec::new()
    }

    fn config_lines(&self) -> graph::ConfigLines {
        graph::ConfigLines::default()
    }

    fn config_step(&self, _: &mut graph::ConfigLines, _: &mut Vec<graph::ConfigLine>) -> bool {
        false
    }
}
