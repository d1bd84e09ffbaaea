// SPDX-License-Identifier: Apache-2.0
//! An interface as the model of interfaces sees it.

use crate::input::VhostRx;
use crate::io::Vring;
use crate::proto::{Channel, Features, Session};
use crate::tx::VhostTx;
use cli::{Error, retval};
use driver::{RxQueues, TxOffloads, TxQueues};
use graph::{InputMode, SwIfIndex, World};
use net::{Device, Interfaces};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

/// The parameters with which an interface was made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    /// Path of the socket.
    pub socket: String,
    /// It listens there; otherwise it connects.
    pub is_server: bool,
    /// Features that may be offered.
    pub feature_mask: u64,
    /// Checksums and segmentation are left to the other end.
    pub gso: bool,
    /// Packed rings are offered.
    pub packed: bool,
    /// Events by index are offered.
    pub event_idx: bool,
}

impl Config {
    /// The features that are offered to a guest.
    pub fn offered(&self) -> Features {
        let when = |on: bool, features: Features| if on { features } else { Features::default() };
        let all = Features::BASE
            | when(self.gso, Features::GSO)
            | when(self.packed, Features::RING_PACKED)
            | when(self.event_idx, Features::EVENT_IDX);
        all & Features::from_bits_retain(self.feature_mask)
    }
}

/// A connection to a front-end.
pub struct Conn {
    pub channel: Channel,
    pub session: Session,
}

/// Rings that threads have.
#[derive(Clone, Default, PartialEq, Eq)]
struct Placed {
    /// Number of rings by which packets are received, used or not.
    rx: usize,
    /// Indices of the rings by which packets are sent.
    tx: Vec<usize>,
    link: bool,
    offloads: TxOffloads,
}

/// The socket and the connection of an interface.
#[derive(Default)]
pub struct State {
    /// Its admin state.
    pub up: bool,
    /// Listens, if it is a server.
    pub listener: Option<OwnedFd>,
    pub conn: Option<Conn>,
    /// When a client tries again.
    pub retry: u64,
    /// When a listener that failed is asked again.
    pub paused: Option<u64>,
    /// The system's error of the last attempt to connect.
    pub errno: i32,
    /// Why the last connection has ended.
    pub reason: String,
    /// Connections that ended because the front-end has taken memory away.
    pub memory_lost: u64,
    placed: Placed,
}

pub struct VhostDevice {
    /// Number in its name.
    pub instance: u32,
    config: Mutex<Arc<Config>>,
    pub rx: RxQueues<VhostRx>,
    pub tx: TxQueues<VhostTx>,
    pub sw_if: OnceLock<SwIfIndex>,
    state: Mutex<State>,
}

impl VhostDevice {
    pub fn new(instance: u32, config: Config) -> Self {
        let (rx, tx) = (RxQueues::default(), TxQueues::default());
        let config = Mutex::new(Arc::new(config));
        Self { instance, config, rx, tx, sw_if: OnceLock::new(), state: Mutex::default() }
    }

    pub fn config(&self) -> Arc<Config> {
        self.config.lock().expect("no panic inside").clone()
    }

    pub fn set_config(&self, config: Config) {
        *self.config.lock().expect("no panic inside") = Arc::new(config);
    }

    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no panic inside")
    }

    /// Memory that the front-end has taken away, if it has.
    pub fn lost_memory(&self) -> Option<String> {
        self.state().conn.as_ref()?.session.lost_memory()
    }

    /// Gives the threads the rings that the front-end has started, after it has changed some.
    ///
    /// # Errors
    /// The driver's input node is missing.
    pub fn update(&self, world: &World) -> Result<(), Error> {
        let Some(&sw_if) = self.sw_if.get() else { return Ok(()) };
        let (rings, now, up, before) = {
            let mut state = self.state();
            let session = state.conn.as_ref().map(|conn| &conn.session);
            let rings = session.map_or_else(Vec::new, Session::vrings);
            let features = session.map_or_else(Features::default, Session::features);
            let pairs = rings.chunks_exact(2);
            let tx = rings.iter().enumerate().step_by(2).filter(|(_, ring)| ring.is_running());
            let tx: Vec<_> = tx.map(|(index, _)| index).collect();
            let sends = rings.iter().skip(1).step_by(2).any(|ring| ring.is_running());
            let now = Placed {
                rx: pairs.len(),
                link: sends && !tx.is_empty(),
                tx,
                offloads: features.tx_offloads(),
            };
            let up = state.up;
            let before = std::mem::replace(&mut state.placed, now.clone());
            (rings, now, up, before)
        };
        if now.rx != before.rx {
            self.rx.close(world);
        }
        // Without a connection, the places of the queues are kept.
        if now.rx != before.rx && now.rx > 0 {
            let queues = rings.iter().skip(1).step_by(2).take(now.rx);
            let queues = queues.map(|ring| VhostRx::new(ring.clone(), up)).collect();
            self.rx.open(world, sw_if, false, queues)?;
            self.rx.set_up(world, up)?;
        }
        for queue in self.rx.list() {
            let ring = rings.get(2 * usize::from(queue.queue) + 1);
            // Nothing would wake the thread.
            if queue.mode != InputMode::Polling && ring.is_some_and(|ring| ring.is_silent()) {
                self.rx.place(world, net::RxQueue { mode: InputMode::Polling, ..queue })?;
            }
        }
        if now.offloads != before.offloads {
            self.tx.set_tx_offloads(world, now.offloads);
        }
        if now.tx != before.tx {
            self.place_tx(world, &rings, &now.tx);
        }
        if now.link != before.link {
            // It may be on its way out.
            let _ = world.get::<Interfaces>().set_link(world, sw_if, now.link);
        }
        Ok(())
    }

    /// Threads share rings if there are fewer of these.
    fn place_tx(&self, world: &World, rings: &[Arc<Vring>], tx: &[usize]) {
        if tx.is_empty() {
            return self.tx.close(world);
        }
        let ring = |thread: usize| tx.get(thread % tx.len()).and_then(|index| rings.get(*index));
        let queues = (0..world.threads()).filter_map(|thread| ring(thread).cloned().map(VhostTx));
        self.tx.open(world, queues.collect());
    }

    /// The connection has ended, for this reason.
    pub fn disconnect(&self, world: &World, reason: &str) {
        {
            let mut state = self.state();
            let Some(mut conn) = state.conn.take() else { return };
            conn.session.close();
            state.reason = reason.to_string();
        }
        // Without the node there are no queues, and so none to place.
        let _ = self.update(world);
    }
}

impl Device for VhostDevice {
    fn driver(&self) -> &'static str {
        "vhost-user"
    }

    fn input_node(&self) -> &'static str {
        <VhostRx as driver::RxQueue>::NODE
    }

    /// One that goes down stays connected.
    fn set_admin(&self, world: &World, _: SwIfIndex, up: bool) -> Result<(), Error> {
        self.state().up = up;
        self.rx.set_up(world, up)
    }

    /// Nothing to do: all frames of the guest are received.
    fn set_mac(&self, _: &World, _: wire::MacAddr) -> Result<(), Error> {
        Ok(())
    }

    fn rx_queues(&self) -> Vec<net::RxQueue> {
        self.rx.list()
    }

    fn tx_queues(&self) -> u16 {
        // At most 128.
        self.state().placed.tx.len() as u16
    }

    fn place(&self, world: &World, queue: net::RxQueue) -> Result<(), Error> {
        let silent = {
            let state = self.state();
            let rings = state.conn.as_ref().map_or_else(Vec::new, |conn| conn.session.vrings());
            rings.get(2 * usize::from(queue.queue) + 1).is_some_and(|ring| ring.is_silent())
        };
        if silent && queue.mode != InputMode::Polling {
            let text = "the guest gave no event for this queue: it can be polled only";
            return Err(Error::unsupported(text).retval(retval::UNIMPLEMENTED));
        }
        self.rx.place(world, queue)
    }

    fn details(&self) -> Vec<String> {
        let (c, state) = (self.config(), self.state());
        let role = if c.is_server { "server" } else { "client" };
        let link = match &state.conn {
            Some(conn) => format!(
                "connected, features {}, {} memory regions",
                conn.session.features(),
                conn.session.memory().map_or(0, |memory| memory.regions().len())
            ),
            None => "not connected".to_string(),
        };
        vec![format!("{role}, socket {}, {link}", c.socket)]
    }

    fn delete(&self, world: &World) {
        self.disconnect(world, "interface deleted");
        self.rx.close(world);
        self.tx.close(world);
    }
}
