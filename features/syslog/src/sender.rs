// SPDX-License-Identifier: Apache-2.0
//! The sender: messages go to a collector through the graph, as packets of the router.

use crate::message::{Message, Severity};
use cli::{Error, Result};
use graph::{Deleted, Shared, World};
use msg::retval;
use net::{DeletedTable, Fib, TableIndex};
use stats::Simple;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use udp::origin::{self, Counts, Ends};
use wire::Ip4;

/// The port of syslog (RFC 5426 3.3).
pub const PORT: u16 = 514;
/// Bytes of the longest message that every receiver takes (RFC 5426 3.2), the default.
pub const SIZE: u32 = 480;
/// Folder of the counters, each of which has one cell.
const COUNTERS: &str = "/syslog";
/// Bytes of the longest payload of a datagram of IPv4.
const MOST: u32 = 65_535 - 28;

/// The settings of the sender.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sender {
    /// The receiver of messages.
    pub collector: Ipv4Addr,
    /// Its port.
    pub port: u16,
    /// The source of datagrams.
    pub source: Ipv4Addr,
    /// Id of the table of the collector; `None`: none was named, it is the default one.
    pub vrf: Option<u32>,
    /// Bytes of a message at most.
    pub size: u32,
}

struct State {
    sender: Option<(Sender, TableIndex)>,
    filter: Severity,
}

/// Syslog.
pub struct Syslog {
    state: Mutex<State>,
    /// Number of severities that are sent, from the most urgent one on: 0 without a collector.
    sent: AtomicU8,
    /// Counters of datagrams.
    pub counts: Counts,
    cut: Arc<Simple>,
    filtered: Arc<Simple>,
}

impl Shared for Syslog {
    fn make(world: &World) -> Self {
        let counter = |name| {
            let counter = world.stats.simple(&format!("{COUNTERS}/{name}"));
            counter.start(0);
            counter
        };
        Self {
            state: Mutex::new(State { sender: None, filter: Severity::Informational }),
            sent: AtomicU8::new(0),
            counts: Counts::new(world, COUNTERS, 0),
            cut: counter("cut"),
            filtered: counter("filtered"),
        }
    }

    fn forget(&self, _: &World, deleted: &Deleted<'_>) {
        let Some(table) = deleted.of::<DeletedTable<Ip4>>() else { return };
        let mut state = self.state();
        if let Some((sender, _)) = state.sender.filter(|(_, index)| *index == table.index) {
            log::warn!("no syslog to {}: its table is deleted", sender.collector);
            state.sender = None;
            self.mirror(&state);
        }
    }
}

impl Syslog {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no panic inside")
    }

    fn mirror(&self, state: &State) {
        let sent = state.sender.map_or(0, |_| state.filter as u8 + 1);
        self.sent.store(sent, Ordering::Relaxed);
    }

    /// True if messages of a severity are sent. Any thread may ask.
    #[inline(always)]
    pub fn is_sent(&self, severity: Severity) -> bool {
        (severity as u8) < self.sent.load(Ordering::Relaxed)
    }

    /// Number of messages of which a part was left out.
    pub fn cut(&self) -> u64 {
        self.cut.sum(0)
    }

    /// Number of messages that were less urgent than the filter wants.
    pub fn filtered(&self) -> u64 {
        self.filtered.sum(0)
    }

    /// The settings of the sender, if there is one.
    pub fn sender(&self) -> Option<Sender> {
        self.state().sender.map(|(sender, _)| sender)
    }

    /// The least urgent severity that is sent.
    pub fn filter(&self) -> Severity {
        self.state().filter
    }

    /// Sends messages to a collector, or to none.
    ///
    /// # Errors
    /// An address or a port of zero, or a size that is out of range (−7); no such table (−3).
    pub fn set_sender(&self, world: &World, sender: Option<Sender>) -> Result<()> {
        let checked = sender.map(|sender| check(world, sender)).transpose()?;
        let mut state = self.state();
        state.sender = checked;
        self.mirror(&state);
        world.note_config_change();
        Ok(())
    }

    /// Sends only messages at least as urgent as this.
    pub fn set_filter(&self, world: &World, filter: Severity) {
        let mut state = self.state();
        state.filter = filter;
        self.mirror(&state);
        world.note_config_change();
    }

    /// Sends a message to the collector, if there is one and the filter lets it pass. On the
    /// control thread.
    pub fn send(&self, world: &World, message: &Message) {
        self.send_all(world, std::slice::from_ref(message));
    }

    /// The same for several messages, each in a datagram of its own.
    pub fn send_all(&self, world: &World, messages: &[Message]) {
        let (to, filter) = {
            let state = self.state();
            (state.sender, state.filter)
        };
        let Some((sender, table)) = to else { return };
        let host = sender.source.to_string();
        let mut lines = Vec::with_capacity(messages.len());
        for message in messages {
            if message.severity() > filter {
                self.filtered.control().add(0, 1);
                continue;
            }
            let encoded = message.encode(&host, sender.size as usize);
            self.cut.control().add(0, encoded.is_cut.into());
            lines.push(encoded.line.into_bytes());
        }
        if lines.is_empty() {
            return;
        }
        let ends = Ends {
            from: SocketAddr::new(sender.source.into(), PORT),
            to: SocketAddr::new(sender.collector.into(), sender.port),
            table,
            checksum: true,
        };
        origin::send(world, &ends, lines, &self.counts);
    }
}

fn check(world: &World, sender: Sender) -> Result<(Sender, TableIndex)> {
    let refuse = |why: String| Err(Error::parse(why).retval(retval::INVALID_VALUE));
    for (what, addr) in [("collector", sender.collector), ("source", sender.source)] {
        if addr.is_unspecified() {
            return refuse(format!("expected the address of the {what}, not {addr}"));
        }
    }
    if sender.port == 0 {
        return refuse("expected a port of the collector from 1 to 65535, not 0".into());
    }
    if !(SIZE..=MOST).contains(&sender.size) {
        return refuse(format!("expected {SIZE} to {MOST} bytes at most, not {}", sender.size));
    }
    let table = world.get::<Fib<Ip4>>().find_table(sender.vrf.unwrap_or(0))?;
    Ok((sender, table))
}
