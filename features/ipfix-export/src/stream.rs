// SPDX-License-Identifier: Apache-2.0
//! A stream: messages of one observation domain from one source port (RFC 7011 3.1, 8). It holds
//! records back until a message is full or its time has come, and repeats its templates, since
//! datagrams get lost (RFC 7011 8.4).

use crate::template::Template;

/// Version of the protocol, in each message.
const VERSION: u16 = 10;
/// Set with templates.
const TEMPLATES: u16 = 2;
/// The first id of a template.
pub const FIRST_ID: u16 = 256;
/// Bytes of the header of a message, and of a set.
pub const HEADER: usize = 16;
pub const SET: usize = 4;
/// Nanoseconds that a record waits at most.
pub const WAIT: u64 = 10_000_000_000;

/// The name of a stream.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct StreamName {
    /// The observation domain.
    pub domain: u32,
    /// The source port of its datagrams.
    pub source_port: u16,
}

/// Limits of messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Bytes of a message at most.
    pub message: usize,
    /// Nanoseconds from one sending of templates to the next.
    pub templates: u64,
}

/// The points in time of a call: of the instance's clock in nanoseconds, and of the day in seconds
/// since 1970.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Now {
    pub clock: u64,
    pub day: u32,
}

/// A template of a stream, with its records that wait.
struct Kind {
    id: u16,
    template: Template,
    records: Vec<u8>,
    /// Number of these records.
    n: u32,
    /// When the oldest of them came.
    since: u64,
    /// True once the template was sent.
    is_known: bool,
    /// Number of features that use it.
    uses: usize,
}

/// The reason why a record is lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refused {
    /// No message may be so long.
    TooLong,
    /// It hasn't the length of its template.
    Malformed,
}

/// A stream.
pub struct Stream {
    name: StreamName,
    kinds: Vec<Kind>,
    next_id: u16,
    /// Records in messages that were made, modulo 2^32 (RFC 7011 3.1).
    sequence: u32,
    /// When templates are sent again; `None`: they never were.
    due: Option<u64>,
}

impl Stream {
    /// A stream without templates.
    pub fn new(name: StreamName) -> Self {
        Self { name, kinds: Vec::new(), next_id: FIRST_ID, sequence: 0, due: None }
    }

    /// Its name.
    pub fn name(&self) -> StreamName {
        self.name
    }

    /// Records in messages that were made, modulo 2^32.
    pub fn sequence(&self) -> u32 {
        self.sequence
    }

    /// The templates with their ids.
    pub fn templates(&self) -> Vec<(u16, Template)> {
        self.kinds.iter().map(|kind| (kind.id, kind.template)).collect()
    }

    /// Adds a template, or one more use of it, and returns its id.
    pub fn add(&mut self, template: Template) -> u16 {
        if let Some(kind) = self.kinds.iter_mut().find(|kind| kind.template == template) {
            kind.uses += 1;
            return kind.id;
        }
        let is_taken = |id: u16| self.kinds.iter().any(|kind| kind.id == id);
        let mut id = self.next_id;
        while is_taken(id) {
            id = id.checked_add(1).unwrap_or(FIRST_ID);
        }
        self.next_id = id.checked_add(1).unwrap_or(FIRST_ID);
        self.kinds.push(Kind {
            id,
            template,
            records: Vec::new(),
            n: 0,
            since: 0,
            is_known: false,
            uses: 1,
        });
        id
    }

    /// Takes one use of a template away; its records were sent before. Returns true if no template
    /// is left.
    pub fn remove(&mut self, id: u16) -> bool {
        if let Some(at) = self.kinds.iter().position(|kind| kind.id == id) {
            self.kinds[at].uses -= 1;
            if self.kinds[at].uses == 0 {
                self.kinds.remove(at);
            }
        }
        self.kinds.is_empty()
    }

    /// Has templates sent again after another time than the one that was set before.
    pub fn set_interval(&mut self, now: u64, templates: u64) {
        self.due = self.due.map(|due| due.min(now.saturating_add(templates)));
    }

    /// The same templates, for another collector: nothing was sent there. Records that wait are
    /// lost.
    pub fn restart(&mut self) {
        (self.sequence, self.due) = (0, None);
        for kind in &mut self.kinds {
            kind.is_known = false;
            kind.records.clear();
            kind.n = 0;
        }
    }

    /// Takes a record; `out` gets the messages that are to be sent.
    ///
    /// # Errors
    /// A record that is lost.
    pub fn record(
        &mut self,
        (id, bytes): (u16, &[u8]),
        (now, limits): (Now, Limits),
        out: &mut Vec<Vec<u8>>,
    ) -> Result<(), Refused> {
        let at = self.kinds.iter().position(|kind| kind.id == id).ok_or(Refused::Malformed)?;
        let kind = &mut self.kinds[at];
        if bytes.len() != kind.template.record_len() || bytes.is_empty() {
            return Err(Refused::Malformed);
        }
        let room = limits.message.saturating_sub(HEADER + SET);
        if bytes.len() > room {
            return Err(Refused::TooLong);
        }
        if kind.records.len() + bytes.len() > room {
            self.send(at, now, limits, out);
        }
        let kind = &mut self.kinds[at];
        if kind.n == 0 {
            kind.since = now.clock;
        }
        kind.records.extend_from_slice(bytes);
        kind.n += 1;
        if kind.records.len() + bytes.len() > room {
            self.send(at, now, limits, out);
        }
        Ok(())
    }

    /// Sends what is due: templates, and records that have waited long enough.
    pub fn run(&mut self, now: Now, limits: Limits, out: &mut Vec<Vec<u8>>) {
        if self.due.is_some_and(|due| due <= now.clock) {
            self.send_templates(now, limits, out);
        }
        for at in 0..self.kinds.len() {
            let kind = &self.kinds[at];
            if kind.n > 0 && kind.since + WAIT <= now.clock {
                self.send(at, now, limits, out);
            }
        }
    }

    /// Sends all that waits, and templates that were never sent or are due.
    pub fn flush(&mut self, now: Now, limits: Limits, out: &mut Vec<Vec<u8>>) {
        let is_known = self.kinds.iter().all(|kind| kind.is_known);
        if !is_known || self.due.is_none_or(|due| due <= now.clock) {
            self.send_templates(now, limits, out);
        }
        (0..self.kinds.len()).for_each(|at| self.send(at, now, limits, out));
    }

    /// When [`Self::run`] has something to do.
    pub fn next(&self) -> Option<u64> {
        let waiting = self.kinds.iter().filter(|kind| kind.n > 0);
        waiting.map(|kind| kind.since + WAIT).chain(self.due).min()
    }

    /// Records that wait.
    pub fn waiting(&self) -> u32 {
        self.kinds.iter().map(|kind| kind.n).sum()
    }

    /// Sends the records of a kind that wait. The collector knows its template before (RFC 7011 8).
    fn send(&mut self, at: usize, now: Now, limits: Limits, out: &mut Vec<Vec<u8>>) {
        if self.kinds[at].n == 0 {
            return;
        }
        if !self.kinds[at].is_known {
            self.send_templates(now, limits, out);
        }
        let records = std::mem::take(&mut self.kinds[at].records);
        let n = std::mem::take(&mut self.kinds[at].n);
        out.push(self.message(now, self.kinds[at].id, &records));
        self.sequence = self.sequence.wrapping_add(n);
    }

    /// Sends each template in a message of its own, as VPP does.
    fn send_templates(&mut self, now: Now, limits: Limits, out: &mut Vec<Vec<u8>>) {
        for at in 0..self.kinds.len() {
            let kind = &self.kinds[at];
            let mut record = Vec::new();
            kind.template.encode(kind.id, &mut record);
            // Without its template, no record could be read: a longer one is cut up on the path.
            out.push(self.message(now, TEMPLATES, &record));
            self.kinds[at].is_known = true;
        }
        self.due = Some(now.clock.saturating_add(limits.templates));
    }

    /// A message with one set (RFC 7011 3.1, 3.3.2).
    fn message(&self, now: Now, set: u16, content: &[u8]) -> Vec<u8> {
        let len = (HEADER + SET + content.len()) as u16;
        let mut message = Vec::with_capacity(len.into());
        message.extend(VERSION.to_be_bytes());
        message.extend(len.to_be_bytes());
        message.extend(now.day.to_be_bytes());
        message.extend(self.sequence.to_be_bytes());
        message.extend(self.name.domain.to_be_bytes());
        message.extend(set.to_be_bytes());
        message.extend((len - HEADER as u16).to_be_bytes());
        message.extend_from_slice(content);
        message
    }
}
