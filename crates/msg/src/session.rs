// SPDX-License-Identifier: Apache-2.0
//! One connection's protocol: bytes in, bytes out. The socket is the caller's.

use crate::Hub;
use crate::answer::{Flow, PendingReply};
use crate::changes::Changes;
use crate::memclnt::{
    MessageTableEntry, SockclntCreate, SockclntCreateReply, SockclntDelete, SockclntDeleteReply,
};
use crate::message::{Head, Message};
use crate::out::{HEADER, SendBuffer};

use crate::wire::Reader;
use std::fmt;
use std::time::Duration;

/// Bytes of a message at most. The largest that clients send is a script for `cli_inband`.
const MESSAGE: usize = 1 << 20;
/// Bytes of a message before the greeting, which has 70, and bytes that are taken at once until
/// then.
const GREETING: usize = 512;
/// Bytes that wait for a client at most before its next request is looked at.
const WAITING: usize = 256 << 10;
/// Limit of messages before the greeting: a client that sends so many speaks another protocol.
const STRANGE: u32 = 16;

/// The reason why a connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A message longer than any may be, by its header.
    Oversize(u32),
    /// A message too short for its own number.
    Empty,
    /// Message after message before the greeting.
    Stranger,
    /// Events came faster than it read.
    Slow,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Oversize(n) => {
                write!(
                    f,
                    "announced a message of {n} bytes; {MESSAGE} are the most, {GREETING} before the greeting"
                )
            }
            Fault::Empty => f.write_str("sent a message without a number"),
            Fault::Stranger => f.write_str("doesn't speak this protocol"),
            Fault::Slow => f.write_str("reads its events too slowly"),
        }
    }
}

/// State of a session after a turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TurnResult {
    /// True if there is more to do at once.
    pub more: bool,
    /// True if there may be more to do once the waiting bytes are sent, which may be at once.
    pub full: bool,
    /// Time of the clock at which there is more to do.
    pub wake_at: Option<Duration>,
    /// True if it is to be closed once all is sent.
    pub close: bool,
}

enum State<W> {
    Idle,
    Stream(Box<dyn FnMut(&mut SendBuffer) -> bool>),
    Pending(Box<dyn PendingReply<W>>),
}

impl<W> From<Flow<W>> for State<W> {
    fn from(flow: Flow<W>) -> Self {
        match flow {
            Flow::Done => State::Idle,
            Flow::Stream(next) => State::Stream(next),
            Flow::Pending(reply) => State::Pending(reply),
        }
    }
}

/// One connection.
pub struct Session<W: 'static> {
    input: Vec<u8>,
    /// Number of bytes already taken.
    taken: usize,
    out: SendBuffer,
    state: State<W>,
    /// Index of the client, once it has greeted.
    client: Option<u32>,
    strange: u32,
    closing: bool,
    changes: Changes,
    /// The number of a request that changes something, while its answer is awaited.
    changing: Option<u16>,
}

impl<W: 'static> Default for Session<W> {
    fn default() -> Self {
        Session {
            input: Vec::new(),
            taken: 0,
            out: SendBuffer::default(),
            state: State::Idle,
            client: None,
            strange: 0,
            closing: false,
            changes: Changes::default(),
            changing: None,
        }
    }
}

impl<W: 'static> Session<W> {
    /// Takes bytes of the client.
    ///
    /// # Errors
    /// Its bytes can't be the protocol.
    pub fn receive(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        if self.client.is_none() {
            self.input.reserve_exact(bytes.len());
        }
        self.input.extend_from_slice(bytes);
        self.next().map(drop)
    }

    /// There is room: nothing waits that must be done before more input makes sense.
    pub fn wants_input(&self) -> bool {
        !self.closing && !matches!(self.next(), Ok(Some(_)))
    }

    /// Bytes that [`Self::receive`] is to be given at once: few before the greeting, so that
    /// strangers cost little memory.
    pub fn takes(&self) -> usize {
        if self.client.is_some() { usize::MAX } else { GREETING }
    }

    /// Returns true while an answer is pending.
    pub fn is_busy(&self) -> bool {
        !matches!(self.state, State::Idle)
    }

    /// Index of the client, once it has given its name.
    pub fn client(&self) -> Option<u32> {
        self.client
    }

    /// Bytes that are to be sent.
    pub fn output(&self) -> &[u8] {
        self.out.waiting()
    }

    /// Notes that so many bytes of [`Self::output`] are sent.
    pub fn sent(&mut self, n: usize) {
        self.out.consume(n);
    }

    /// The length of the next message's payload, if it is all there.
    fn next(&self) -> Result<Option<usize>, Fault> {
        let rest = &self.input[self.taken..];
        let Some(header) = rest.first_chunk::<HEADER>() else { return Ok(None) };
        let [.., a, b, c, d, _, _, _, _] = *header;
        let n = u32::from_be_bytes([a, b, c, d]);
        let most = if self.client.is_some() { MESSAGE } else { GREETING };
        match n as usize {
            n if n > most => Err(Fault::Oversize(n as u32)),
            n if n < 2 => Err(Fault::Empty),
            n => Ok((rest.len() >= HEADER + n).then_some(n)),
        }
    }

    /// Does up to `budget` steps: a request, or a part of an answer.
    ///
    /// # Errors
    /// The reason why the connection has to end at once.
    pub fn run(
        &mut self,
        world: &W,
        hub: &Hub<W>,
        now: Duration,
        budget: usize,
    ) -> Result<TurnResult, Fault> {
        let before = self.out.waiting().len();
        let turn = self.steps(world, hub, now, budget);
        let client = self.client.unwrap_or(0);
        hub.trace_answers(client, &self.out.waiting()[before..]);
        if let Some(line) = self.changes.look(now) {
            hub.report_change(client, &line);
        }
        turn
    }

    /// Latest time to [`Self::run`] it so that a summary of its changes is reported, though nothing
    /// else is to be done.
    pub fn report_at(&self) -> Option<Duration> {
        self.changes.wake_at()
    }

    /// A request that changes something was answered, by what is in the output from `before` on.
    fn changed(&mut self, hub: &Hub<W>, now: Duration, id: u16, before: usize) {
        let Some(client) = self.client.filter(|_| hub.watches_changes()) else { return };
        // A malformed request has no answer and changed nothing.
        let answer =
            self.out.waiting()[before..].get(HEADER..).and_then(|a| a.split_first_chunk::<2>());
        let Some((reply, body)) = answer else { return };
        let retval = hub.table().retval(u16::from_be_bytes(*reply), body).unwrap_or(0);
        let Some(entry) = hub.table().get(id) else { return };
        if let Some(line) = self.changes.add(now, entry.name, retval) {
            hub.report_change(client, &line);
        }
    }

    fn steps(
        &mut self,
        world: &W,
        hub: &Hub<W>,
        now: Duration,
        budget: usize,
    ) -> Result<TurnResult, Fault> {
        if let Some(client) = self.client {
            hub.take_events(client, &mut self.out).map_err(|()| Fault::Slow)?;
        }
        for _ in 0..budget {
            if self.out.waiting().len() >= WAITING {
                return Ok(TurnResult { full: true, ..TurnResult::default() });
            }
            match &mut self.state {
                State::Stream(next) => {
                    if !next(&mut self.out) {
                        self.state = State::Idle;
                    }
                }
                State::Pending(reply) => {
                    let before = self.out.waiting().len();
                    match reply.poll(world, now, &mut self.out) {
                        Some(flow) => self.state = flow.into(),
                        None => {
                            return Ok(TurnResult {
                                wake_at: reply.wake_at(),
                                ..TurnResult::default()
                            });
                        }
                    }
                    if let Some(id) = self.changing.take() {
                        self.changed(hub, now, id, before);
                    }
                }
                State::Idle if self.closing => {
                    return Ok(TurnResult { close: true, ..TurnResult::default() });
                }
                State::Idle => {
                    let Some(length) = self.next()? else {
                        self.input.drain(..self.taken);
                        self.input.shrink_to(64 << 10);
                        self.taken = 0;
                        return Ok(TurnResult::default());
                    };
                    self.message(world, hub, now, length)?;
                }
            }
        }
        Ok(TurnResult { more: true, ..TurnResult::default() })
    }

    fn message(
        &mut self,
        world: &W,
        hub: &Hub<W>,
        now: Duration,
        length: usize,
    ) -> Result<(), Fault> {
        let start = self.taken + HEADER;
        self.taken = start + length;
        let bytes = &self.input[start..self.taken];
        let (id, body) = (u16::from_be_bytes([bytes[0], bytes[1]]), &bytes[2..]);
        hub.trace(self.client.unwrap_or(0), bytes);
        let entry = hub.table().get(id);
        let (name, changes) = (entry.map(|e| e.name), entry.is_some_and(|e| e.changes));
        match (name, self.client) {
            (Some(SockclntCreate::NAME), None) => {
                let body = body.to_vec();
                self.greet(hub, &body);
            }
            (Some(SockclntDelete::NAME), Some(_)) => {
                let body = body.to_vec();
                self.part(hub, &body);
            }
            (_, Some(client)) => {
                hub.count_request(client);
                let before = self.out.waiting().len();
                let flow = hub.table().answer(world, hub, client, id, body, &mut self.out);
                self.state = flow.into();
                match &self.state {
                    _ if !changes => {}
                    State::Pending(_) => self.changing = Some(id),
                    _ => self.changed(hub, now, id, before),
                }
            }
            (_, None) => {
                // Clients that want shared memory ask for it without a greeting, and get their
                // answer.
                self.strange += 1;
                let asks =
                    name.is_some_and(|n| n.starts_with("memclnt_create") || n == "sock_init_shm");
                if asks {
                    hub.table().answer(world, hub, 0, id, body, &mut self.out);
                } else {
                    hub.count_unknown();
                }
                if self.strange == STRANGE {
                    return Err(Fault::Stranger);
                }
            }
        }
        Ok(())
    }

    fn greet(&mut self, hub: &Hub<W>, body: &[u8]) {
        let mut r = Reader::new(body);
        let Ok(head) = Head::get(SockclntCreate::HEAD, &mut r) else { return hub.count_unknown() };
        let Ok(hello) = SockclntCreate::get(&mut r) else { return hub.count_unknown() };
        let index = hub.join(hello.name.0);
        self.client = Some(index);
        let message_table = hub
            .table()
            .entries()
            .map(|(id, entry)| MessageTableEntry { index: id, name: entry.name_crc().into() })
            .collect();
        let reply = SockclntCreateReply { response: 0, index, message_table };
        self.own(hub, &reply, &Head { client_index: index, ..head });
    }

    fn part(&mut self, hub: &Hub<W>, body: &[u8]) {
        let mut r = Reader::new(body);
        let Ok(head) = Head::get(SockclntDelete::HEAD, &mut r) else { return hub.count_unknown() };
        self.own(hub, &SockclntDeleteReply { response: 1 }, &head);
        self.closing = true;
    }

    fn own<M: Message>(&mut self, hub: &Hub<W>, reply: &M, head: &Head) {
        let id = hub.table().find(M::NAME).expect("a message of the protocol itself");
        self.out.message(id, M::HEAD, head, |bytes| reply.put(bytes));
    }

    /// The connection is gone.
    pub fn end(&mut self, hub: &Hub<W>) {
        if let State::Pending(reply) = &mut self.state {
            reply.cancel();
        }
        self.state = State::Idle;
        if let Some(client) = self.client.take() {
            if let Some(line) = self.changes.end() {
                hub.report_change(client, &line);
            }
            hub.leave(client);
        }
    }
}
