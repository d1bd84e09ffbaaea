// SPDX-License-Identifier: Apache-2.0
//! An interface as the model of interfaces sees it.

use crate::input::MemifRx;
use crate::io::{Layout, Role, SharedTx};
use crate::proto::{Link, RequestedParameters};
use cli::Error;
use driver::{RxQueues, TxQueues};
use graph::{Signal, SwIfIndex, World};
use net::{Device, Interfaces};
use std::sync::{Mutex, MutexGuard, OnceLock};

/// The first header of packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// An Ethernet header.
    Ethernet,
    /// An IP header.
    Ip,
}

impl Mode {
    /// Its number in messages.
    pub fn number(self) -> u8 {
        match self {
            Self::Ethernet => 0,
            Self::Ip => 1,
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ethernet => "ethernet",
            Self::Ip => "ip",
        }
    }
}

/// The parameters with which an interface was made.
#[derive(Clone, Debug)]
pub struct Config {
    /// Its number on the socket.
    pub id: u32,
    /// The socket.
    pub socket: u32,
    /// Client or server.
    pub role: Role,
    /// The first header of packets.
    pub mode: Mode,
    /// Queues that it receives by, if it is the client.
    pub rx_queues: u8,
    /// Queues that it sends by, if it is the client.
    pub tx_queues: u8,
    /// Two to this power descriptors make a ring of a client.
    pub log2: u8,
    /// Bytes of a client's buffers.
    pub buffer_size: u16,
    /// The secret; empty for none.
    pub secret: String,
    /// Zero copy wasn't asked for. Packets are copied anyway.
    pub no_zero_copy: bool,
}

impl Config {
    /// The secret as messages have it.
    pub fn secret_bytes(&self) -> [u8; crate::proto::SECRET] {
        let mut bytes = [0; crate::proto::SECRET];
        bytes.iter_mut().zip(self.secret.bytes()).for_each(|(to, from)| *to = from);
        bytes
    }

    /// The memory of a client.
    pub fn layout(&self) -> Layout {
        let (s2m, m2s) = (self.tx_queues.into(), self.rx_queues.into());
        Layout { s2m, m2s, log2: self.log2, buffer: self.buffer_size.into() }
    }
}

/// The connection of an interface.
#[derive(Default)]
pub struct State {
    /// Its admin state.
    pub up: bool,
    /// Its connection, from the handshake on.
    pub conn: Option<u64>,
    /// Memory and rings, once the handshake is complete.
    pub link: Option<Link>,
    /// When a client tries again.
    pub retry: u64,
    /// The peer's program.
    pub remote_name: String,
    /// Why this end closed the last connection.
    pub local_reason: String,
    /// Why the peer did.
    pub remote_reason: String,
    /// Connections that ended because the peer has taken memory away.
    pub memory_lost: u64,
    /// The rings that threads send by, while it is connected.
    rings: Vec<SharedTx>,
    /// The ring of each thread, if that was chosen.
    placed: Vec<Option<u16>>,
}

impl State {
    /// The ring of each thread, by its number.
    fn queues(&self, numbers: &[Option<u16>]) -> Vec<Option<SharedTx>> {
        let ring = |number: &Option<u16>| self.rings.get(usize::from((*number)?)).cloned();
        numbers.iter().map(ring).collect()
    }
}

pub struct MemifDevice {
    pub config: Config,
    pub rx: RxQueues<MemifRx>,
    pub tx: TxQueues<SharedTx>,
    pub sw_if: OnceLock<SwIfIndex>,
    /// Wakes the process that connects.
    signal: Signal,
    state: Mutex<State>,
}

impl MemifDevice {
    pub fn new(config: Config, signal: Signal) -> Self {
        let (rx, tx) = (RxQueues::default(), TxQueues::default());
        Self { config, rx, tx, sw_if: OnceLock::new(), signal, state: Mutex::default() }
    }

    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no panic inside")
    }

    /// The parameters that a client asks a server for.
    pub fn wanted(&self, world: &World) -> RequestedParameters {
        let interface = self
            .sw_if
            .get()
            .map_or_else(String::new, |sw_if| world.get::<Interfaces>().name(*sw_if));
        let c = &self.config;
        RequestedParameters {
            id: c.id,
            mode: c.mode.number(),
            secret: c.secret_bytes(),
            layout: c.layout(),
            interface,
        }
    }

    /// The handshake is complete: packets pass.
    ///
    /// # Errors
    /// The driver's input node is missing.
    pub fn connected(&self, world: &World, link: Link) -> Result<(), Error> {
        let Some(&sw_if) = self.sw_if.get() else { return Ok(()) };
        let (rx, tx) = match self.config.role {
            Role::Client => link.client_rings(),
            Role::Server => link.server_rings(),
        };
        let up = {
            let mut state = self.state();
            state.link = Some(link);
            (state.local_reason, state.remote_reason) = (String::new(), String::new());
            state.up
        };
        let ip = self.config.mode == Mode::Ip;
        self.rx.open(
            world,
            sw_if,
            ip,
            rx.into_iter().map(|ring| MemifRx::new(ring, up)).collect(),
        )?;
        self.rx.set_up(world, up)?;
        let placed = {
            let mut state = self.state();
            state.rings = tx.into_iter().map(SharedTx::new).collect();
            let rings = state.rings.len();
            // Threads share rings if there are fewer of these. A peer may offer fewer than before.
            let number = |thread: usize| match state.placed.get(thread) {
                Some(None) => None,
                Some(Some(ring)) if usize::from(*ring) < rings => Some(*ring),
                _ => Some((thread % rings.max(1)) as u16),
            };
            let numbers: Vec<_> = (0..world.threads()).map(number).collect();
            state.queues(&numbers)
        };
        self.tx.place(world, placed);
        // It is there: its index was set when it was made, and this is the control thread.
        world.get::<Interfaces>().set_link(world, sw_if, true)
    }

    /// The connection, and the index of the region of which the peer has taken memory away, if it
    /// has.
    pub fn lost_memory(&self) -> Option<(u64, usize)> {
        let state = self.state();
        let region = state.link.as_ref()?.regions.iter().position(|region| region.is_broken())?;
        Some((state.conn?, region))
    }

    /// The connection has ended.
    pub fn disconnected(&self, world: &World) {
        let was_connected = {
            let mut state = self.state();
            state.conn = None;
            state.rings.clear();
            state.link.take().is_some()
        };
        if was_connected {
            self.rx.close(world);
            self.tx.close(world);
            if let Some(&sw_if) = self.sw_if.get() {
                // It may be on its way out.
                let _ = world.get::<Interfaces>().set_link(world, sw_if, false);
            }
        }
    }
}

impl Device for MemifDevice {
    fn driver(&self) -> &'static str {
        "memif"
    }

    fn input_node(&self) -> &'static str {
        <MemifRx as driver::RxQueue>::NODE
    }

    /// A client that comes up connects at once. One that goes down stays connected.
    fn set_admin(&self, world: &World, _: SwIfIndex, up: bool) -> Result<(), Error> {
        {
            let mut state = self.state();
            (state.up, state.retry) = (up, 0);
        }
        self.signal.raise();
        self.rx.set_up(world, up)
    }

    fn rx_queues(&self) -> Vec<net::RxQueue> {
        self.rx.list()
    }

    fn tx_queues(&self) -> u16 {
        let state = self.state();
        let rings = state.link.as_ref().map(|link| match self.config.role {
            Role::Client => link.s2m.len(),
            Role::Server => link.m2s.len(),
        });
        rings.unwrap_or(self.config.tx_queues.into()) as u16
    }

    fn place(&self, world: &World, queue: net::RxQueue) -> Result<(), Error> {
        self.rx.place(world, queue)
    }

    /// Threads that send by the same ring share it: each takes the lock once for a vector.
    fn place_tx(&self, world: &World, queues: &[Option<u16>]) -> Result<(), Error> {
        let mut state = self.state();
        if !state.rings.is_empty() {
            self.tx.place(world, state.queues(queues));
        }
        state.placed = queues.to_vec();
        Ok(())
    }

    fn details(&self) -> Vec<String> {
        let (c, state) = (&self.config, self.state());
        let role = match c.role {
            Role::Client => "client",
            Role::Server => "server",
        };
        let link = match (&state.link, state.conn) {
            (Some(link), _) => {
                format!("connected to {} of {}", link.peer_interface, state.remote_name)
            }
            (None, Some(_)) => "connecting".to_string(),
            (None, None) => "not connected".to_string(),
        };
        vec![format!("{role}, socket {}, id {}, mode {}, {link}", c.socket, c.id, c.mode.name())]
    }

    fn delete(&self, world: &World) {
        self.rx.close(world);
        self.tx.close(world);
        self.state().rings.clear();
    }
}
