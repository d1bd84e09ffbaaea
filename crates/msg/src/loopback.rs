// SPDX-License-Identifier: Apache-2.0
//! A client without a socket, for replays, tests and benches: requests go through a session as
//! bytes, and what comes back is read as a client would.

use crate::memclnt::{ControlPing, ControlPingReply, SockclntCreate};
use crate::message::{Call, Dump, Head, Message, Reply};
use crate::out::{HEADER, SendBuffer};
use crate::session::Fault;
use crate::table::service;
use crate::wire::Reader;
use crate::{Hub, Session, TurnResult};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// A connected client.
pub struct Loopback<'a, W: 'static> {
    world: &'a W,
    hub: &'a Hub<W>,
    session: Session<W>,
    start: Instant,
    context: u32,
    /// Frames that were received and not yet taken: id and the bytes behind it.
    frames: Vec<(u16, Vec<u8>)>,
}

/// The session of a [`Loopback`] between two turns of control.
pub struct Suspended<W: 'static> {
    session: Session<W>,
    start: Instant,
    /// Takes the client's number when this is dropped.
    gone: Arc<Mutex<Vec<u32>>>,
}

impl<W: 'static> Drop for Suspended<W> {
    fn drop(&mut self) {
        self.gone.lock().expect("no panic inside").extend(self.session.client());
    }
}

/// Sleeps for a moment while an answer is awaited.
fn rest() {
    std::thread::sleep(Duration::from_micros(100));
}

/// The longest time that an answer may take.
const PATIENCE: Duration = Duration::from_secs(20);

impl<'a, W: 'static> Loopback<'a, W> {
    /// Connects.
    pub fn new(world: &'a W, hub: &'a Hub<W>) -> Self {
        let session = Session::default();
        let mut this =
            Self { world, hub, session, start: Instant::now(), context: 1, frames: Vec::new() };
        this.send(&SockclntCreate { name: "loopback".into() });
        this.turn();
        assert!(this.session.client().is_some(), "it has greeted");
        this.frames.clear();
        this
    }

    /// Goes on with a session.
    pub fn resume(world: &'a W, hub: &'a Hub<W>, mut suspended: Suspended<W>) -> Self {
        let (session, start) = (std::mem::take(&mut suspended.session), suspended.start);
        Self { world, hub, session, start, context: 1, frames: Vec::new() }
    }

    /// Keeps the session for [`Self::resume`].
    pub fn suspend(mut self) -> Suspended<W> {
        Suspended {
            session: std::mem::take(&mut self.session),
            start: self.start,
            gone: self.hub.gone(),
        }
    }

    fn send<M: Message>(&mut self, message: &M) {
        let id =
            self.hub.table().find(M::NAME).unwrap_or_else(|| panic!("no module has {}", M::NAME));
        let head = Head { client_index: 1, context: self.context, ..Head::default() };
        let framed = self.frame(id, |bytes| {
            head.put(M::HEAD, bytes);
            message.put(bytes);
        });
        framed.expect("a frame");
    }

    fn frame(&mut self, id: u16, body: impl FnOnce(&mut Vec<u8>)) -> Result<(), Fault> {
        let mut out = SendBuffer::default();
        out.message(id, &[], &Head::default(), body);
        self.session.receive(out.waiting())
    }

    fn turn(&mut self) -> TurnResult {
        self.try_turn().expect("a session that goes on")
    }

    fn try_turn(&mut self) -> Result<TurnResult, Fault> {
        let turn = self.session.run(self.world, self.hub, self.start.elapsed(), 1000)?;
        let mut bytes = self.session.output();
        while let Some((header, rest)) = bytes.split_first_chunk::<HEADER>() {
            let [.., a, b, c, d, _, _, _, _] = *header;
            let (payload, rest) = rest.split_at(u32::from_be_bytes([a, b, c, d]) as usize);
            self.frames.push((u16::from_be_bytes([payload[0], payload[1]]), payload[2..].to_vec()));
            bytes = rest;
        }
        let n = self.session.output().len();
        self.session.sent(n);
        Ok(turn)
    }

    /// Sends a message as bytes behind its number.
    ///
    /// # Errors
    /// A message longer than any may be.
    pub fn begin(&mut self, id: u16, body: &[u8]) -> Result<(), Fault> {
        self.frame(id, |bytes| bytes.extend_from_slice(body))
    }

    /// Does a turn's part of what [`Self::begin`] began. Once that is done, gives the return value,
    /// if there is one.
    ///
    /// # Errors
    /// The session has ended.
    pub fn poll(&mut self) -> Result<Option<Option<i32>>, Fault> {
        let turn = self.try_turn()?;
        if turn.more
            || turn.wake_at.is_some()
            || !self.session.wants_input()
            || self.session.is_busy()
        {
            return Ok(None);
        }
        let table = self.hub.table();
        let retval = |(id, bytes): (u16, Vec<u8>)| table.retval(id, &bytes);
        Ok(Some(std::mem::take(&mut self.frames).into_iter().find_map(retval)))
    }

    /// Takes the frames of a message.
    fn take<M: Message>(&mut self) -> Vec<(Head, M)> {
        let id = self.hub.table().find(M::NAME);
        let taken: Vec<_> = self.frames.extract_if(.., |(i, _)| Some(*i) == id).collect();
        let read = |(_, bytes): (u16, Vec<u8>)| {
            let mut r = Reader::new(&bytes);
            let head = Head::get(M::HEAD, &mut r).expect("a head");
            let message = M::get(&mut r).expect("what the message says");
            assert!(r.rest().is_empty(), "{} has {} bytes too many", M::NAME, r.rest().len());
            (head, message)
        };
        taken.into_iter().map(read).collect()
    }

    /// Asks, and waits for the reply; a return value below zero is the error.
    ///
    /// # Errors
    /// The return value.
    ///
    /// # Panics
    /// Without a reply.
    pub fn call<R: Call>(&mut self, request: R) -> Result<R::Reply, i32> {
        self.call_while(request, rest)
    }

    /// As [`Self::call`]; `meanwhile` is done again and again until the reply is there: turns of
    /// the graph, for a request that needs them.
    ///
    /// # Errors
    /// The return value.
    ///
    /// # Panics
    /// Without a reply.
    pub fn call_while<R: Call>(
        &mut self,
        request: R,
        mut meanwhile: impl FnMut(),
    ) -> Result<R::Reply, i32> {
        self.context += 1;
        self.send(&request);
        let name = service::<R>().reply;
        let id = self.hub.table().find(name).expect("a reply in the table");
        while self.start.elapsed() < PATIENCE {
            self.turn();
            if let Some(at) = self.frames.iter().position(|(i, _)| *i == id) {
                let (_, bytes) = self.frames.remove(at);
                let mut r = Reader::new(&bytes);
                let head = Head::get(R::Reply::HEAD, &mut r).expect("a head");
                assert_eq!(head.context, self.context, "{name} of another request");
                let reply = R::Reply::read(&mut r).expect("what the reply says");
                assert!(r.rest().is_empty(), "{name} has {} bytes too many", r.rest().len());
                return if head.retval == 0 { Ok(reply) } else { Err(head.retval) };
            }
            meanwhile();
        }
        panic!("no {name}");
    }

    /// Asks for everything.
    pub fn dump<R: Dump>(&mut self, request: R) -> Vec<R::Details> {
        self.dump_while(request, rest)
    }

    /// As [`Self::dump`]; `meanwhile` is done again and again until all is there.
    pub fn dump_while<R: Dump>(
        &mut self,
        request: R,
        mut meanwhile: impl FnMut(),
    ) -> Vec<R::Details> {
        self.context += 1;
        self.send(&request);
        self.send(&ControlPing {});
        while self.start.elapsed() < PATIENCE {
            self.turn();
            if !self.take::<ControlPingReply>().is_empty() {
                return self.details::<R>();
            }
            meanwhile();
        }
        panic!("no end of {}", R::NAME);
    }

    /// The details that came: what a stream's [`Self::call_while`] leaves.
    pub fn details<R: Dump>(&mut self) -> Vec<R::Details> {
        self.take().into_iter().map(|(_, details)| details).collect()
    }

    /// The events that came, each with the process id that it was asked for with.
    pub fn events<E: Message>(&mut self) -> Vec<(u32, E)> {
        self.turn();
        self.take().into_iter().map(|(head, event)| (head.pid, event)).collect()
    }
}

impl<W: 'static> Drop for Loopback<'_, W> {
    fn drop(&mut self) {
        self.session.end(self.hub);
    }
}
