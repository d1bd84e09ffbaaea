// SPDX-License-Identifier: Apache-2.0
//! The message table: every message of every module, with its number and its handler.

use crate::Hub;
use crate::answer::{Flow, Ids, Pending, ReplyTo, dumped, dumped_some, later, put_reply, streamed};
use crate::changes;
use crate::crc::crc;
use crate::message::{Call, Dump, End, Head, HeadField, Message, Reply, without_value};
use crate::out::SendBuffer;
use crate::wire::{Malformed, Reader};
use cli::Result;
use msg_table::{Field, Service, tables};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

/// The messages of one feature, or its part of a module that several features share.
pub struct Module<W: 'static> {
    /// Its name, as its `.api.json` file's.
    pub name: &'static str,
    /// Its file lies in `core/`, not in `plugins/`.
    pub core: bool,
    /// Adds the messages.
    pub messages: fn(&mut Messages<W>),
}

impl<W> Module<W> {
    /// A module of VPP's core.
    pub const fn core(name: &'static str, messages: fn(&mut Messages<W>)) -> Self {
        Module { name, core: true, messages }
    }

    /// A module of a plugin.
    pub const fn plugin(name: &'static str, messages: fn(&mut Messages<W>)) -> Self {
        Module { name, core: false, messages }
    }
}

impl<W> Copy for Module<W> {}
impl<W> Clone for Module<W> {
    fn clone(&self) -> Self {
        *self
    }
}

/// The origin of a request.
pub struct Caller<'a, W: 'static> {
    /// The server's shared side.
    pub hub: &'a Hub<W>,
    /// The connection.
    pub client: u32,
    /// The request's number.
    pub context: u32,
}

impl<W> Caller<'_, W> {
    /// The destination of replies to the request.
    fn reply_to(&self, ids: &Ids) -> ReplyTo {
        ReplyTo::new(self.client, self.context, ids)
    }
}

type Handler<W> = dyn Fn(&W, &Caller<'_, W>, &Ids, &mut Reader<'_>, &mut SendBuffer) -> Result<Flow<W>, Malformed>
    + Send
    + Sync;

/// The role of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A client's, answered here.
    Request,
    /// Ours.
    Answer,
    /// In the table for its number only.
    Unserved,
}

/// The counters of a message.
#[derive(Debug, Default)]
pub struct Counts {
    /// Number of requests of this kind.
    pub received: AtomicU64,
    /// Number of these with bytes that are no message.
    pub malformed: AtomicU64,
}

/// A message of the table.
pub struct Entry<W: 'static> {
    /// Its name.
    pub name: &'static str,
    /// One paragraph for people.
    pub doc: &'static str,
    /// The published CRC, or that of a message of our own.
    pub crc: u32,
    /// All fields behind the id.
    pub fields: Vec<Field>,
    /// Its role.
    pub kind: Kind,
    /// True if it is a request that changes something, not one that only reads.
    pub changes: bool,
    /// The index of its module.
    pub module: usize,
    /// Its counters.
    pub counts: Counts,
    head: &'static [HeadField],
    ids: Ids,
    handler: Option<Box<Handler<W>>>,
    reencode: Reencode,
}

/// Decodes a message's own fields and encodes them again.
type Reencode = fn(&mut Reader<'_>) -> Result<Vec<u8>, Malformed>;

impl<W: 'static> Entry<W> {
    /// Reads the bytes behind a message's number, and writes what was read: for tests of the codec.
    ///
    /// # Errors
    /// The bytes are no such message.
    pub fn read_and_write(&self, bytes: &[u8]) -> Result<Vec<u8>, Malformed> {
        let mut r = Reader::new(bytes);
        let mut out = Vec::new();
        Head::get(self.head, &mut r)?.put(self.head, &mut out);
        out.extend((self.reencode)(&mut r)?);
        Ok(out)
    }

    /// `name_crc`, which clients find a message by.
    pub fn name_crc(&self) -> String {
        format!("{}_{:08x}", self.name, self.crc)
    }
}

/// A module in the table.
#[derive(Clone, Debug)]
pub struct ModuleInfo {
    /// See [`Module::name`].
    pub name: &'static str,
    /// `major.minor.patch`, as published.
    pub version: &'static str,
    /// The published CRC of the whole; 0 for one of our own.
    pub crc: u32,
    /// See [`Module::core`].
    pub core: bool,
    /// The id of its first message.
    pub first: u16,
    /// Its services.
    pub services: Vec<Service>,
}

/// Every message, by number. Number 0 is none.
pub struct Table<W: 'static> {
    entries: Vec<Entry<W>>,
    modules: Vec<ModuleInfo>,
    names: HashMap<String, u16>,
}

impl<W: 'static> Table<W> {
    /// The table of these modules, the first message of the first of which has number 1. Modules of
    /// one name are parts of one: several features may share it.
    ///
    /// # Errors
    /// A name that two messages have, an answer that isn't declared, a message of another module,
    /// a module that no table has.
    pub fn new(modules: impl IntoIterator<Item = Module<W>>) -> Result<Table<W>, String> {
        let mut parts: Vec<(Module<W>, Messages<W>)> = Vec::new();
        for module in modules {
            let at = parts
                .iter()
                .position(|(other, _)| other.name == module.name)
                .unwrap_or(parts.len());
            if at == parts.len() {
                parts.push((module, Messages { entries: Vec::new(), services: Vec::new() }));
            }
            let (other, messages) = &mut parts[at];
            if other.core != module.core {
                return Err(format!("two features differ on what module {} is", module.name));
            }
            (module.messages)(messages);
        }
        let mut table = Table { entries: Vec::new(), modules: Vec::new(), names: HashMap::new() };
        for (Module { name, core, .. }, Messages { entries, services }) in parts {
            let first = table.entries.len() as u16 + 1;
            let facts = tables().module(name).ok_or_else(|| format!("no table has {name}"))?;
            let (version, crc) = (facts.version, facts.crc);
            table.modules.push(ModuleInfo { name, version, crc, core, first, services });
            for (home, mut entry) in entries {
                if home != name {
                    return Err(format!("{} is a message of {home}, not of {name}", entry.name));
                }
                entry.module = table.modules.len() - 1;
                let id = table.entries.len() as u16 + 1;
                if table.names.insert(entry.name.to_string(), id).is_some() {
                    return Err(format!("two messages are named {}", entry.name));
                }
                table.names.insert(entry.name_crc(), id);
                table.entries.push(entry);
            }
        }
        table.resolve()?;
        Ok(table)
    }

    /// Gives every request the numbers of its answers.
    fn resolve(&mut self) -> Result<(), String> {
        for service in self.modules.iter().flat_map(|m| &m.services) {
            let find = |name: &str| {
                self.names
                    .get(name)
                    .copied()
                    .ok_or_else(|| format!("{}: there is no {name}", service.request))
            };
            let reply = find(service.reply)?;
            let details = service.stream_msg.map_or(Ok(reply), find)?;
            service.events.iter().try_for_each(|event| find(event).map(drop))?;
            let at = find(service.request)?;
            let entry = &mut self.entries[at as usize - 1];
            entry.ids = Ids { reply, details };
            // Module 0 is the protocol itself.
            let asks = entry.kind == Kind::Request && !service.stream && entry.module != 0;
            entry.changes = asks && changes::is_change(entry.name);
        }
        Ok(())
    }

    /// The message of a number.
    pub fn get(&self, id: u16) -> Option<&Entry<W>> {
        self.entries.get(usize::from(id).checked_sub(1)?)
    }

    /// The number of a message, by name or by `name_crc`.
    pub fn find(&self, name: &str) -> Option<u16> {
        self.names.get(name).copied()
    }

    /// All messages with their numbers.
    pub fn entries(&self) -> impl Iterator<Item = (u16, &Entry<W>)> {
        (1..).zip(&self.entries)
    }

    /// All modules.
    pub fn modules(&self) -> &[ModuleInfo] {
        &self.modules
    }

    /// Returns the return value of an answer; `bytes` are the bytes behind its id.
    pub(crate) fn retval(&self, id: u16, bytes: &[u8]) -> Option<i32> {
        let entry = self.get(id).filter(|e| e.head.contains(&HeadField::Retval))?;
        Head::get(entry.head, &mut Reader::new(bytes)).ok().map(|h| h.retval)
    }

    /// Answers a request; `bytes` are the bytes behind its id.
    pub(crate) fn answer(
        &self,
        world: &W,
        hub: &Hub<W>,
        client: u32,
        id: u16,
        bytes: &[u8],
        out: &mut SendBuffer,
    ) -> Flow<W> {
        let Some((entry, answer)) = self.get(id).and_then(|e| Some((e, e.handler.as_ref()?)))
        else {
            hub.count_unknown();
            log::debug!(target: "api", "client {client:#x} sent message {id}, which nobody answers");
            return Flow::Done;
        };
        entry.counts.received.fetch_add(1, Ordering::Relaxed);
        let mut r = Reader::new(bytes);
        let head = Head::get(entry.head, &mut r);
        let context = head.map_or(0, |h| h.context);
        let caller = Caller { hub, client, context };
        match head.and_then(|_| answer(world, &caller, &entry.ids, &mut r, out)) {
            Ok(flow) => flow,
            Err(fault) => {
                entry.counts.malformed.fetch_add(1, Ordering::Relaxed);
                log::debug!(target: "api", "client {client:#x} sent a bad {}: {fault}", entry.name);
                // A complete request gets an answer, if its reply has a return value.
                if fault == Malformed::Value
                    && let Some(reply) = self.get(entry.ids.reply)
                    && reply.head.contains(&HeadField::Retval)
                {
                    let fields = reply.fields.iter().skip(reply.head.len());
                    let head = Head {
                        context,
                        client_index: client,
                        retval: crate::retval::INVALID_VALUE.code(),
                        pid: 0,
                    };
                    out.message(entry.ids.reply, reply.head, &head, |bytes| {
                        fields.for_each(|field| without_value(field, bytes))
                    });
                }
                Flow::Done
            }
        }
    }
}

/// The messages of a module, which its function adds.
pub struct Messages<W: 'static> {
    /// Each with the module that the tables have it in.
    entries: Vec<(&'static str, Entry<W>)>,
    services: Vec<Service>,
}

impl<W: 'static> Messages<W> {
    /// A request that one reply answers. The handler returns the reply, or what becomes one: a
    /// reply with one field is made of its value.
    pub fn call<R: Call, A: Into<R::Reply>>(
        &mut self,
        f: impl Fn(&W, R) -> Result<A> + Send + Sync + 'static,
    ) {
        self.call_by(move |world, _, request| f(world, request));
    }

    /// As [`Self::call`], for a request that is always done.
    pub fn order<R: Call<Reply: From<()>>>(&mut self, f: impl Fn(&W, R) + Send + Sync + 'static) {
        self.call(move |world, request| {
            f(world, request);
            Ok(())
        });
    }

    /// As [`Self::call`], for a handler that has to know the client.
    pub fn call_by<R: Call, A: Into<R::Reply>>(
        &mut self,
        f: impl Fn(&W, &Caller<'_, W>, R) -> Result<A> + Send + Sync + 'static,
    ) {
        self.request::<R>(Box::new(move |world, caller, ids, r, out| {
            let reply = f(world, caller, R::get(r)?).map(Into::into);
            put_reply::<R>(reply, &caller.reply_to(ids), out);
            Ok(Flow::Done)
        }));
        self.called::<R>();
    }

    /// A request whose reply may take a while; the connection's later requests wait for it.
    pub fn call_later<R: Call, P: Pending<W, R::Reply> + 'static>(
        &mut self,
        f: impl Fn(&W, R) -> Result<P> + Send + Sync + 'static,
    ) {
        self.request::<R>(Box::new(move |world, caller, ids, r, out| {
            let to = caller.reply_to(ids);
            Ok(later(f(world, R::get(r)?), out, move |reply, out| {
                put_reply::<R>(reply, &to, out);
                Flow::Done
            }))
        }));
        self.called::<R>();
    }

    /// A request that any number of messages answer, without an end: clients send a `control_ping`
    /// behind it. The answers, or what becomes one, are taken one by one, as the client reads them.
    pub fn dump<R: Dump, I>(&mut self, f: impl Fn(&W, R) -> Result<I> + Send + Sync + 'static)
    where
        I: IntoIterator<Item: Into<R::Details> + 'static, IntoIter: 'static>,
    {
        self.request::<R>(Box::new(move |world, caller, ids, r, _| {
            let answers = f(world, R::get(r)?).map(|all| all.into_iter().map(Into::into));
            Ok(dumped::<R, W, _>(answers, caller.reply_to(ids)))
        }));
        self.dumps::<R>();
    }

    /// A dump that looks for some among many: `None` is a step without an answer, so that control
    /// does other work in between.
    pub fn dump_some<R: Dump, I>(&mut self, f: impl Fn(&W, R) -> Result<I> + Send + Sync + 'static)
    where
        I: IntoIterator<Item = Option<R::Details>, IntoIter: 'static>,
    {
        self.request::<R>(Box::new(move |world, caller, ids, r, _| {
            Ok(dumped_some::<R, W, I>(f(world, R::get(r)?), caller.reply_to(ids)))
        }));
        self.dumps::<R>();
    }

    /// A dump whose first answer may take a while.
    pub fn dump_later<R: Dump, I>(
        &mut self,
        f: impl Fn(&W, R) -> Result<Box<dyn Pending<W, I>>> + Send + Sync + 'static,
    ) where
        I: IntoIterator<Item = R::Details, IntoIter: 'static> + 'static,
    {
        self.request::<R>(Box::new(move |world, caller, ids, r, out| {
            let to = caller.reply_to(ids);
            Ok(later(f(world, R::get(r)?), out, move |answers, _| dumped::<R, W, I>(answers, to)))
        }));
        self.dumps::<R>();
    }

    /// A request that any number of messages answer, and then a reply. It never has to be called
    /// again with a cursor: the stream goes on as the client reads, and its end says so.
    pub fn stream<R: Dump + Call<Reply: End>, I>(
        &mut self,
        f: impl Fn(&W, R) -> Result<I> + Send + Sync + 'static,
    ) where
        I: IntoIterator<Item: Into<R::Details> + 'static, IntoIter: 'static>,
    {
        self.request::<R>(Box::new(move |world, caller, ids, r, out| {
            let answers = f(world, R::get(r)?);
            let answers = answers.map(|all| (all.into_iter().map(Into::into), R::Reply::end()));
            Ok(streamed::<R, W, _>(answers, caller.reply_to(ids), out))
        }));
        self.streams::<R>();
    }

    /// A stream whose first answer may take a while, with a reply of its own.
    pub fn stream_later<R: Dump + Call, I>(
        &mut self,
        f: impl Fn(&W, R) -> Result<Box<dyn Pending<W, (I, R::Reply)>>> + Send + Sync + 'static,
    ) where
        I: IntoIterator<Item = R::Details, IntoIter: 'static> + 'static,
    {
        self.request::<R>(Box::new(move |world, caller, ids, r, out| {
            let to = caller.reply_to(ids);
            let answers = f(world, R::get(r)?);
            Ok(later(answers, out, move |answers, out| streamed::<R, W, I>(answers, to, out)))
        }));
        self.streams::<R>();
    }

    fn called<R: Call>(&mut self) {
        let service = service::<R>();
        self.reply::<R::Reply>(service.reply);
        self.services.push(service);
    }

    fn dumps<R: Dump>(&mut self) {
        self.answer::<R::Details>();
        self.services.push(service::<R>());
    }

    fn streams<R: Dump + Call>(&mut self) {
        self.reply::<R::Reply>(service::<R>().reply);
        self.dumps::<R>();
    }

    /// An event, or details or a reply that another request declares as its own too; more than once
    /// is once.
    pub fn answer<M: Message>(&mut self) {
        self.reply::<M>(M::NAME);
    }

    /// A message that is there for its number only.
    pub fn unserved<M: Message>(&mut self) {
        self.add(M::NAME, M::DOC, M::HEAD, Role::Unserved, reencode::<M>);
    }

    /// A request that the session itself answers, and its answer.
    pub(crate) fn session<R: Call>(&mut self) {
        self.unserved::<R>();
        self.called::<R>();
    }

    fn reply<R: Reply>(&mut self, name: &'static str) {
        if self.entries.iter().all(|(_, e)| e.name != name) {
            self.add(name, R::DOC, R::HEAD, Role::Answer, reencode::<R>);
        }
    }

    fn request<R: Message>(&mut self, handler: Box<Handler<W>>) {
        self.add(R::NAME, R::DOC, R::HEAD, Role::Request(handler), reencode::<R>);
    }

    fn add(
        &mut self,
        name: &'static str,
        doc: &'static str,
        head: &'static [HeadField],
        role: Role<W>,
        reencode: Reencode,
    ) {
        let (kind, handler) = match role {
            Role::Request(handler) => (Kind::Request, Some(handler)),
            Role::Answer => (Kind::Answer, None),
            Role::Unserved => (Kind::Unserved, None),
        };
        let message = tables().message(name).expect("made of the tables");
        let entry = Entry {
            name,
            doc,
            crc: message.crc.unwrap_or_else(|| crc(&message.fields)),
            fields: message.fields,
            kind,
            changes: false,
            module: 0,
            counts: Counts::default(),
            head,
            ids: Ids::default(),
            handler,
            reencode,
        };
        self.entries.push((message.module, entry));
    }
}

/// A message's [`Kind`], with what answers a request.
enum Role<W: 'static> {
    Request(Box<Handler<W>>),
    Answer,
    Unserved,
}

fn reencode<R: Reply>(r: &mut Reader<'_>) -> Result<Vec<u8>, Malformed> {
    let (mut out, reply) = (Vec::new(), R::read(r)?);
    R::write(Some(&reply), &mut out);
    Ok(out)
}

/// The answers to a request.
pub(crate) fn service<R: Message>() -> Service {
    tables().service(R::NAME).expect("a request has answers")
}
