// SPDX-License-Identifier: Apache-2.0
//! An interface as the model of interfaces sees it.

use crate::capture::Capture;
use crate::format::Link;
use crate::input::PcapRx;
use crate::replay::{self, Pace, Plan, Progress};
use crate::tx::PcapTx;
use cli::{Error, retval};
use driver::{RxQueues, TxQueues};
use graph::{InputMode, Signal, SwIfIndex, ThreadIndex, World};
use net::{Device, Interfaces};
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

/// The parameters with which an interface was made.
#[derive(Clone, Debug)]
pub struct Config {
    /// The number in its name.
    pub id: u32,
    /// The file that is replayed.
    pub rx: Option<PathBuf>,
    /// The file that transmitted packets are written to.
    pub tx: Option<PathBuf>,
    /// Speed of the replay.
    pub pace: Pace,
    /// Passes of the replay; `None` without end.
    pub times: Option<u64>,
    /// The header that packets begin with: Ethernet or IP.
    pub link: Link,
}

/// The replay of an interface.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    /// It has no file.
    None,
    /// The interface is down.
    Stopped,
    /// Packets come.
    Running,
    /// All packets have come.
    Ended,
    /// The file couldn't be read to its end.
    Failed,
}

impl Phase {
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Stopped => "stopped",
            Self::Running => "running",
            Self::Ended => "ended",
            Self::Failed => "failed",
        }
    }
}

#[derive(Default)]
struct State {
    up: bool,
    /// The replay that runs or has run last.
    progress: Option<Arc<Progress>>,
    /// Control has taken note of its end.
    ended: bool,
}

pub struct PcapDevice {
    pub config: Config,
    pub rx: RxQueues<PcapRx>,
    pub tx: TxQueues<PcapTx>,
    pub capture: Option<Arc<Capture>>,
    pub sw_if: OnceLock<SwIfIndex>,
    /// Wakes the process that notes the ends of replays.
    signal: Signal,
    state: Mutex<State>,
}

impl PcapDevice {
    pub fn new(config: Config, capture: Option<Arc<Capture>>, signal: Signal) -> Self {
        let (rx, tx) = (RxQueues::default(), TxQueues::default());
        Self { config, rx, tx, capture, sw_if: OnceLock::new(), signal, state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no panic inside")
    }

    /// The replay, and its counts.
    pub fn replay(&self) -> (Phase, Option<Arc<Progress>>) {
        let state = self.state();
        let phase = match &state.progress {
            _ if self.config.rx.is_none() => Phase::None,
            Some(progress) if state.ended && progress.failed().is_some() => Phase::Failed,
            Some(_) if state.ended => Phase::Ended,
            Some(_) if state.up => Phase::Running,
            _ => Phase::Stopped,
        };
        (phase, state.progress.clone())
    }

    fn begin(&self, world: &World, sw_if: SwIfIndex, path: &std::path::Path) -> Result<(), Error> {
        let Config { pace, times, link, .. } = self.config;
        let plan = Plan { path: path.to_path_buf(), pace, times, link };
        let failed = |error: std::io::Error| {
            Error::failed(format!("replay of {}: {error}", path.display()))
                .retval(retval::SYSCALL_ERROR_1)
        };
        let (progress, ends) = replay::start(plan, self.signal.clone()).map_err(failed)?;
        let queue = PcapRx::new(ends, progress.clone());
        {
            let mut state = self.state();
            (state.progress, state.ended) = (Some(progress), false);
        }
        let place = self.rx.list().first().copied();
        self.rx.open(world, sw_if, link == Link::Ip, vec![queue])?;
        let thread = place.map(|place| place.thread);
        self.poll(world, thread)?;
        self.rx.set_up(world, true)
    }

    /// Polls the queue, on a thread or where it is.
    pub fn poll(&self, world: &World, thread: Option<ThreadIndex>) -> Result<(), Error> {
        let Some(now) = self.rx.list().first().copied() else { return Ok(()) };
        let thread = thread.unwrap_or(now.thread);
        self.rx.place(world, net::RxQueue { thread, mode: InputMode::Polling, ..now })
    }

    fn stop(&self, world: &World) {
        let state = self.state();
        state.progress.iter().for_each(|progress| progress.stop.store(true, Ordering::Relaxed));
        self.rx.close(world);
    }

    /// Takes note of the end of the replay: the link goes down.
    pub fn note_end(&self, world: &World) {
        let Some(&sw_if) = self.sw_if.get() else { return };
        let failed = {
            let mut state = self.state();
            let done = state.progress.as_ref().filter(|p| p.done.load(Ordering::Acquire)).cloned();
            let Some(progress) = done.filter(|_| state.up && !state.ended) else { return };
            state.ended = true;
            progress.failed()
        };
        let name = world.get::<Interfaces>().name(sw_if);
        match failed {
            Some(error) => log::error!(target: "pcap", "{name}: the replay ends: {error}"),
            None => log::info!(target: "pcap", "{name}: the replay has ended"),
        }
        self.rx.close(world);
        // It may be on its way out.
        let _ = world.get::<Interfaces>().set_link(world, sw_if, false);
    }
}

impl Device for PcapDevice {
    fn driver(&self) -> &'static str {
        "pcap"
    }

    fn input_node(&self) -> &'static str {
        <PcapRx as driver::RxQueue>::NODE
    }

    /// The replay starts when the interface comes up, each time from the beginning.
    fn set_admin(&self, world: &World, sw_if: SwIfIndex, up: bool) -> Result<(), Error> {
        if std::mem::replace(&mut self.state().up, up) == up {
            return Ok(());
        }
        let Some(path) = &self.config.rx else { return Ok(()) };
        if !up {
            self.stop(world);
            return Ok(());
        }
        if let Err(error) = self.begin(world, sw_if, path) {
            self.state().up = false;
            return Err(error);
        }
        world.get::<Interfaces>().set_link(world, sw_if, true)
    }

    fn rx_queues(&self) -> Vec<net::RxQueue> {
        self.rx.list()
    }

    fn tx_queues(&self) -> u16 {
        1
    }

    fn place(&self, world: &World, queue: net::RxQueue) -> Result<(), Error> {
        if queue.mode != InputMode::Polling {
            return Err(Error::unsupported("a replay is polled: `polling' is its only mode")
                .retval(retval::UNIMPLEMENTED));
        }
        self.rx.place(world, queue)
    }

    fn details(&self) -> Vec<String> {
        let (phase, _) = self.replay();
        let rx = self.config.rx.as_ref().map(|path| {
            format!("replay of {}, {}: {}", path.display(), self.config.pace_words(), phase.name())
        });
        let tx = self.config.tx.as_ref().map(|path| format!("capture to {}", path.display()));
        rx.into_iter().chain(tx).collect()
    }

    fn delete(&self, world: &World) {
        self.stop(world);
        self.tx.close(world);
        // The next interface may continue its file.
        self.capture.iter().for_each(|capture| capture.complete());
    }
}
