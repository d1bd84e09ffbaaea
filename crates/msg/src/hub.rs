// SPDX-License-Identifier: Apache-2.0
//! The server's shared side: the message table, connected clients, event subscriptions, the API
//! trace.

use crate::changes::RequestHook;
use crate::json;
use crate::memclnt;
use crate::message::{Head, Message};
use crate::out::{HEADER, SendBuffer};
use crate::table::{Caller, Module, Table};
use std::any::Any;
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::time::SystemTime;

/// Bytes of events that may wait for a client. One that reads so slowly is disconnected.
const EVENTS: usize = 8 << 20;
/// Default number of requests that the trace keeps.
const TRACED: usize = 16_384;
/// Bytes that each direction's trace keeps at most.
const TRACED_BYTES: usize = 32 << 20;

/// The shared side of the API's server.
pub struct Hub<W: 'static> {
    table: Table<W>,
    /// Set once a client has asked for it.
    description: OnceLock<String>,
    clients: Mutex<Clients>,
    unknown: AtomicU64,
    /// True if events were published since the last [`Hub::take_news`].
    news: AtomicBool,
    tracing: AtomicBool,
    /// True if the trace keeps answers too.
    tracing_answers: AtomicBool,
    gone: Arc<Mutex<Vec<u32>>>,
    /// Called with a line about each change that a client makes.
    changes: OnceLock<RequestHook>,
    /// API traces: of requests, and of replies.
    trace: [Mutex<Trace>; 2],
    /// Requests that the trace keeps.
    traced: AtomicUsize,
}

#[derive(Default)]
struct Clients {
    next: u32,
    all: BTreeMap<u32, Client>,
    subscriptions: Vec<Subscription>,
}

struct Client {
    name: String,
    since: SystemTime,
    requests: u64,
    events: SendBuffer,
    /// True if more than [`EVENTS`] bytes of events waited.
    slow: bool,
}

type Filter = dyn Fn(&dyn Any) -> bool + Send;

struct Subscription {
    client: u32,
    pid: u32,
    event: &'static str,
    /// Distinguishes subscriptions of the same client and event.
    key: String,
    filter: Option<Box<Filter>>,
}

/// A client, for `show api clients`.
#[derive(Clone, Debug)]
pub struct ClientInfo {
    /// Its number.
    pub index: u32,
    /// The name that it gave.
    pub name: String,
    /// Time of its arrival.
    pub since: SystemTime,
    /// Requests that it made.
    pub requests: u64,
    /// Events that it asked for.
    pub events: Vec<&'static str>,
}

/// The trace of one direction.
#[derive(Default)]
struct Trace {
    all: VecDeque<Traced>,
    /// Length of all messages.
    bytes: usize,
}

/// A request that was traced, or a message to a client.
#[derive(Clone, Debug)]
pub struct Traced {
    /// Time at which it was received or sent.
    pub at: SystemTime,
    /// Index of the client.
    pub client: u32,
    /// True if it was sent to the client.
    pub sent: bool,
    /// The message from its id on.
    pub bytes: Vec<u8>,
}

impl<W: 'static> Hub<W> {
    /// A hub with the messages of these modules; the protocol's own messages come before them.
    ///
    /// # Errors
    /// Two messages of one name.
    pub fn new<'m>(modules: impl IntoIterator<Item = &'m Module<W>>) -> Result<Hub<W>, String> {
        let own = std::iter::once(memclnt::module());
        Ok(Hub {
            table: Table::new(own.chain(modules.into_iter().copied()))?,
            description: OnceLock::new(),
            clients: Mutex::default(),
            unknown: AtomicU64::new(0),
            news: AtomicBool::new(false),
            tracing: AtomicBool::new(false),
            tracing_answers: AtomicBool::new(false),
            gone: Arc::default(),
            changes: OnceLock::new(),
            trace: Default::default(),
            traced: AtomicUsize::new(TRACED),
        })
    }

    /// The message table.
    pub fn table(&self) -> &Table<W> {
        &self.table
    }

    /// The descriptions of all modules, for clients that have no files.
    pub(crate) fn description(&self) -> &str {
        self.description.get_or_init(|| json::whole(&self.table).to_string())
    }

    fn clients(&self) -> MutexGuard<'_, Clients> {
        self.clients.lock().expect("no panic inside")
    }

    /// A client that gave its name; its number.
    pub(crate) fn join(&self, name: String) -> u32 {
        for gone in std::mem::take(&mut *self.gone.lock().expect("no panic inside")) {
            self.leave(gone);
        }
        let mut clients = self.clients();
        // Never 0, and with the bit that VPP sets for clients on sockets.
        let index = loop {
            clients.next = clients.next.wrapping_add(1) & 0x7fff_ffff;
            let index = clients.next | 0x8000_0000;
            if !clients.all.contains_key(&index) {
                break index;
            }
        };
        let client = Client {
            name,
            since: SystemTime::now(),
            requests: 0,
            events: SendBuffer::default(),
            slow: false,
        };
        clients.all.insert(index, client);
        index
    }

    /// Clients that can't be reported as gone at once: they are at the next one's arrival.
    pub(crate) fn gone(&self) -> Arc<Mutex<Vec<u32>>> {
        self.gone.clone()
    }

    /// A client that is gone.
    pub(crate) fn leave(&self, index: u32) {
        let mut clients = self.clients();
        clients.all.remove(&index);
        clients.subscriptions.retain(|w| w.client != index);
    }

    /// Calls `watch` with lines about the changes that clients make, as for a log; the first call
    /// counts.
    pub fn watch_changes(&self, watch: RequestHook) {
        let _ = self.changes.set(watch);
    }

    /// Returns true if [`Self::watch_changes`] was called.
    pub(crate) fn watches_changes(&self) -> bool {
        self.changes.get().is_some()
    }

    /// Reports a line about changes of a client.
    pub(crate) fn report_change(&self, index: u32, line: &str) {
        if let Some(watch) = self.changes.get() {
            let name = self.clients().all.get(&index).map_or_else(String::new, |c| c.name.clone());
            watch(&name, line);
        }
    }

    pub(crate) fn count_request(&self, index: u32) {
        if let Some(client) = self.clients().all.get_mut(&index) {
            client.requests += 1;
        }
    }

    pub(crate) fn count_unknown(&self) {
        self.unknown.fetch_add(1, Ordering::Relaxed);
    }

    /// Number of messages without a handler, and of malformed greetings.
    pub fn unknown(&self) -> u64 {
        self.unknown.load(Ordering::Relaxed)
    }

    /// Returns true if this client is still connected.
    pub fn is_connected(&self, index: u32) -> bool {
        self.clients().all.contains_key(&index)
    }

    /// Returns true if this client has subscribed to events.
    pub fn wants_events(&self, index: u32) -> bool {
        self.clients().subscriptions.iter().any(|w| w.client == index)
    }

    /// Returns the connected clients.
    pub fn list(&self) -> Vec<ClientInfo> {
        let clients = self.clients();
        let info = |(index, client): (&u32, &Client)| ClientInfo {
            index: *index,
            name: client.name.clone(),
            since: client.since,
            requests: client.requests,
            events: clients
                .subscriptions
                .iter()
                .filter(|w| w.client == *index)
                .map(|w| w.event)
                .collect(),
        };
        clients.all.iter().map(info).collect()
    }

    /// Subscribes a client to the events of this kind, or unsubscribes it. `pid` comes back with
    /// each.
    pub fn subscribe<E: Message>(&self, caller: &Caller<'_, W>, pid: u32, on: bool) {
        self.set_subscription(caller.client, pid, E::NAME, String::new(), on, None);
    }

    /// As [`Self::subscribe`], for the events that `filter` lets pass; `key` distinguishes
    /// subscriptions of one client.
    pub fn subscribe_where<E: Message>(
        &self,
        caller: &Caller<'_, W>,
        pid: u32,
        key: String,
        on: bool,
        filter: impl Fn(&E) -> bool + Send + 'static,
    ) {
        let filter = move |event: &dyn Any| event.downcast_ref::<E>().is_some_and(&filter);
        self.set_subscription(caller.client, pid, E::NAME, key, on, Some(Box::new(filter)));
    }

    fn set_subscription(
        &self,
        client: u32,
        pid: u32,
        event: &'static str,
        key: String,
        on: bool,
        filter: Option<Box<Filter>>,
    ) {
        let mut clients = self.clients();
        clients.subscriptions.retain(|w| !(w.client == client && w.event == event && w.key == key));
        if on {
            clients.subscriptions.push(Subscription { client, pid, event, key, filter });
        }
    }

    /// Subscriptions to events of this kind: key, the pid that the client gave, and the client's
    /// index.
    pub fn subscriptions<E: Message>(&self) -> Vec<(String, u32, u32)> {
        let clients = self.clients();
        let of = clients.subscriptions.iter().filter(|w| w.event == E::NAME);
        of.map(|w| (w.key.clone(), w.pid, w.client)).collect()
    }

    /// Returns true if a client has subscribed to events of this kind: otherwise none need be made.
    pub fn has_subscribers<E: Message>(&self) -> bool {
        self.clients().subscriptions.iter().any(|w| w.event == E::NAME)
    }

    /// Sends an event to every client that has subscribed to it.
    pub fn publish<E: Message>(&self, event: &E) {
        let Some(id) = self.table.find(E::NAME) else { return };
        let Clients { all, subscriptions, .. } = &mut *self.clients();
        for subscription in subscriptions.iter().filter(|w| w.event == E::NAME) {
            let Some(client) = all.get_mut(&subscription.client) else { continue };
            if client.slow || subscription.filter.as_ref().is_some_and(|f| !f(event)) {
                continue;
            }
            let head = Head {
                client_index: subscription.client,
                pid: subscription.pid,
                ..Head::default()
            };
            client.events.message(id, E::HEAD, &head, |bytes| event.put(bytes));
            self.news.store(true, Ordering::Relaxed);
            if client.events.waiting().len() > EVENTS {
                client.slow = true;
                client.events.clear();
            }
        }
    }

    /// Sends an event to one client.
    pub fn publish_to<E: Message>(&self, client: u32, pid: u32, event: &E) {
        let Some(id) = self.table.find(E::NAME) else { return };
        if let Some(to) = self.clients().all.get_mut(&client) {
            let head = Head { client_index: client, pid, ..Head::default() };
            to.events.message(id, E::HEAD, &head, |bytes| event.put(bytes));
            self.news.store(true, Ordering::Relaxed);
        }
    }

    /// Returns true if events were published since the last call.
    pub fn take_news(&self) -> bool {
        self.news.swap(false, Ordering::Relaxed)
    }

    /// Moves the events of a client to the output of its session.
    ///
    /// # Errors
    /// The client is too slow for its events.
    pub(crate) fn take_events(&self, index: u32, out: &mut SendBuffer) -> Result<(), ()> {
        match self.clients().all.get_mut(&index) {
            Some(client) if client.slow => Err(()),
            Some(client) => {
                if !client.events.waiting().is_empty() {
                    out.append(&mut client.events);
                }
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Starts or stops tracing requests.
    pub fn set_tracing(&self, on: bool) {
        self.tracing.store(on, Ordering::Relaxed);
    }

    /// Sets the number of requests that the trace keeps: the last ones.
    pub fn set_traced(&self, requests: usize) {
        self.traced.store(requests, Ordering::Relaxed);
    }

    /// Returns true if requests are traced.
    pub fn tracing(&self) -> bool {
        self.tracing.load(Ordering::Relaxed)
    }

    /// Starts or stops tracing messages to clients, independently of the tracing of requests.
    pub fn set_tracing_answers(&self, on: bool) {
        self.tracing_answers.store(on, Ordering::Relaxed);
    }

    /// Returns whether messages sent to clients are traced.
    pub fn tracing_answers(&self) -> bool {
        self.tracing_answers.load(Ordering::Relaxed)
    }

    pub(crate) fn trace(&self, client: u32, bytes: &[u8]) {
        if self.tracing() {
            self.keep(client, false, bytes);
        }
    }

    /// Traces what was framed for a client.
    pub(crate) fn trace_answers(&self, client: u32, mut frames: &[u8]) {
        if !self.tracing_answers() {
            return;
        }
        while let Some((header, rest)) = frames.split_first_chunk::<HEADER>() {
            let [.., a, b, c, d, _, _, _, _] = *header;
            let Some((bytes, rest)) =
                rest.split_at_checked(u32::from_be_bytes([a, b, c, d]) as usize)
            else {
                break;
            };
            self.keep(client, true, bytes);
            frames = rest;
        }
    }

    fn keep(&self, client: u32, sent: bool, bytes: &[u8]) {
        let most = self.traced.load(Ordering::Relaxed).max(1);
        let mut trace = self.trace_of(sent);
        trace.bytes += bytes.len();
        trace.all.push_back(Traced { at: SystemTime::now(), client, sent, bytes: bytes.to_vec() });
        while trace.all.len() > most || trace.bytes > TRACED_BYTES && trace.all.len() > 1 {
            trace.bytes -= trace.all.pop_front().map_or(0, |oldest| oldest.bytes.len());
        }
    }

    fn trace_of(&self, sent: bool) -> MutexGuard<'_, Trace> {
        self.trace[usize::from(sent)].lock().expect("no panic inside")
    }

    /// Returns the traced requests and answers, oldest first.
    pub fn traced(&self) -> Vec<Traced> {
        let mut all: Vec<_> = self.trace_of(false).all.iter().cloned().collect();
        all.extend(self.trace_of(true).all.iter().cloned());
        all.sort_by_key(|traced| traced.at);
        all
    }

    /// The requests that were traced, oldest first.
    pub fn traced_requests(&self) -> Vec<Traced> {
        self.trace_of(false).all.iter().cloned().collect()
    }

    /// Number of traced requests, and of traced messages to clients.
    pub fn traced_counts(&self) -> (usize, usize) {
        (self.trace_of(false).all.len(), self.trace_of(true).all.len())
    }

    /// Clears the trace.
    pub fn clear_trace(&self) {
        for sent in [false, true] {
            *self.trace_of(sent) = Trace::default();
        }
    }
}
