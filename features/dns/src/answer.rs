// SPDX-License-Identifier: Apache-2.0
//! Answers: a server's response as it is kept, and what a client gets of it.

use cli::{Error, retval};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use wire::U16;
use wire::dns::{
    self, DnsHeader, HEADER, MAX_UDP, Message, Name, Question, Rcode, Record, RecordData,
    RecordType, put_question, put_record,
};
use zerocopy::IntoBytes;

/// Seconds that an answer is kept at most.
pub const MAX_TTL: u32 = 86_400;
/// Seconds that it is kept at most that a name or a type doesn't exist.
const MAX_NEGATIVE_TTL: u32 = 300;
/// Seconds that it is kept that the servers fail (RFC 9520 3.2: at least 1, at most 300).
const FAILURE_TTL: u32 = 5;
/// The flags of a query that its response has as well: opcode, recursion (RFC 1035 4.1.1).
const ECHOED: u16 = 0x7800 | DnsHeader::RECURSION_DESIRED;
const SECOND: u64 = 1_000_000_000;

/// A client that waits for an answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Client {
    /// Its address and port.
    pub to: SocketAddr,
    /// The address of ours that it asked.
    pub own: IpAddr,
    /// The table of the interface by which it asked.
    pub table: net::TableIndex,
    /// The id of its query.
    pub id: u16,
    /// The flags of its query that its response has as well.
    pub echoed: u16,
    /// Its question, as it wrote it.
    pub question: Question,
}

impl Client {
    /// True if it wants us to ask others.
    pub fn recursion(&self) -> bool {
        self.echoed & DnsHeader::RECURSION_DESIRED != 0
    }

    fn flags(&self) -> u16 {
        DnsHeader::RESPONSE | DnsHeader::RECURSION_AVAILABLE | self.echoed
    }

    /// A response without records.
    pub fn refusal(&self, rcode: Rcode) -> Vec<u8> {
        let mut header = DnsHeader::of(self.id, self.flags() | u16::from(rcode.0));
        header.questions = U16::new(1);
        let mut message = header.as_bytes().to_vec();
        put_question(&mut message, &self.question);
        message
    }
}

/// An answer to a question.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answer {
    /// The message, with the question behind its header.
    message: Vec<u8>,
    /// Bytes of header and question.
    head: usize,
    /// Offsets of the TTLs, and their values.
    ttls: Vec<(usize, u32)>,
    /// When it came, in nanoseconds.
    pub came: u64,
    /// Seconds that it may be kept, 0 if not at all.
    pub ttl: u32,
}

impl Answer {
    /// A server's response, which has one question.
    pub fn new(message: Vec<u8>, parsed: &Message, now: u64) -> Self {
        let capped = |ttl: u32| ttl.min(MAX_TTL);
        let ttls = parsed.records().filter(|record| record.kind != RecordType::OPT);
        let ttls = ttls.map(|record| (record.ttl_at, capped(record.ttl))).collect();
        let ttl = if parsed.header.has(DnsHeader::TRUNCATED) { 0 } else { lifetime(parsed) };
        Self { message, head: parsed.questions_end, ttls, came: now, ttl }
    }

    /// An answer made of records of ours or of several responses.
    pub fn compose(
        question: &Question,
        rcode: Rcode,
        records: &[(Name, u32, RecordData)],
        ttl: Option<u32>,
        now: u64,
    ) -> Self {
        let mut header = DnsHeader::of(0, DnsHeader::RESPONSE | u16::from(rcode.0));
        (header.questions, header.answers) = (U16::new(1), U16::new(records.len() as u16));
        let mut message = header.as_bytes().to_vec();
        put_question(&mut message, question);
        let (head, mut ttls) = (message.len(), Vec::new());
        for (name, ttl, data) in records {
            ttls.push((message.len() + name.bytes().len() + 4, *ttl));
            let written = put_record(&mut message, name, *ttl, data);
            debug_assert!(written, "records of ours are addresses and names");
        }
        let least = records.iter().map(|(_, ttl, _)| *ttl).min().unwrap_or(0);
        Self { message, head, ttls, came: now, ttl: ttl.unwrap_or(least).min(MAX_TTL) }
    }

    /// The answer for a question for which all servers fail.
    pub fn failure(question: &Question, rcode: Rcode, now: u64) -> Self {
        Self::compose(question, rcode, &[], Some(FAILURE_TTL), now)
    }

    /// Adds the start of the zone in which the last name of aliases, or its records, don't exist:
    /// it tells clients how long that is valid (RFC 2308 3). `last` is the answer that has it.
    #[must_use]
    pub fn with_zone(mut self, last: &Self, parsed: &Message) -> Self {
        let zone = parsed.authority.iter().find(|record| record.kind == RecordType::SOA);
        let Some(Record { name, ttl, ttl_at, .. }) = zone else { return self };
        // Behind the TTL and a length: two names, of which pointers wouldn't fit here, and numbers.
        let Ok((primary, at)) = Name::read(&last.message, ttl_at + 6) else { return self };
        let Ok((mailbox, at)) = Name::read(&last.message, at) else { return self };
        let Some(numbers) = last.message.get(at..at + 20) else { return self };
        let data = [primary.bytes(), mailbox.bytes(), numbers].concat();
        let ttl = (*ttl).min(MAX_TTL);
        self.ttls.push((self.message.len() + name.bytes().len() + 4, ttl));
        self.message.extend_from_slice(name.bytes());
        self.message.extend(RecordType::SOA.0.to_be_bytes());
        self.message.extend(dns::CLASS_IN.to_be_bytes());
        self.message.extend(ttl.to_be_bytes());
        self.message.extend((data.len() as u16).to_be_bytes());
        self.message.extend(data);
        self.message.get_mut(8..10).iter_mut().for_each(|n| n.copy_from_slice(&[0, 1]));
        self
    }

    /// Marks an answer that has lost records on its way; such an answer isn't kept.
    #[must_use]
    pub fn truncated(mut self) -> Self {
        let [high, _] = DnsHeader::TRUNCATED.to_be_bytes();
        self.message.get_mut(2).into_iter().for_each(|flags| *flags |= high);
        self.ttl = 0;
        self
    }

    /// When it ends, in nanoseconds.
    pub fn expires(&self) -> u64 {
        self.came + u64::from(self.ttl) * SECOND
    }

    /// Its response code.
    pub fn rcode(&self) -> Rcode {
        Rcode(self.message.get(3).copied().unwrap_or(0) & 15)
    }

    /// The message, as records.
    pub fn records(&self) -> Vec<Record> {
        Message::parse(&self.message).map(|message| message.answers).unwrap_or_default()
    }

    /// The response for a client: with its id and its question as it wrote it, since the case of
    /// letters may be a secret of its; TTLs without the time that has passed. A message that is
    /// longer than UDP allows is cut off behind the question (RFC 2181 9).
    pub fn response(&self, client: &Client, now: u64) -> Vec<u8> {
        let kept = DnsHeader::TRUNCATED | 15;
        let old = self.message.get(2..4).and_then(|f| f.first_chunk::<2>());
        let mut flags = client.flags() | old.map_or(0, |flags| u16::from_be_bytes(*flags)) & kept;
        let mut message = self.message.clone();
        let age = (now.saturating_sub(self.came) / SECOND) as u32;
        for (at, ttl) in &self.ttls {
            if let Some(slot) = message.get_mut(*at..*at + 4) {
                slot.copy_from_slice(&ttl.saturating_sub(age).to_be_bytes());
            }
        }
        let mut question = Vec::new();
        put_question(&mut question, &client.question);
        if let Some(slot) = message.get_mut(HEADER..self.head)
            && slot.len() == question.len()
        {
            slot.copy_from_slice(&question);
        }
        if message.len() > MAX_UDP {
            message.truncate(self.head);
            message.get_mut(6..HEADER).iter_mut().for_each(|counts| counts.fill(0));
            flags |= DnsHeader::TRUNCATED;
        }
        message.get_mut(..2).iter_mut().for_each(|id| id.copy_from_slice(&client.id.to_be_bytes()));
        message.get_mut(2..4).iter_mut().for_each(|f| f.copy_from_slice(&flags.to_be_bytes()));
        message
    }

    /// The addresses that the question's name has, behind its aliases.
    pub fn addresses(&self) -> (Option<Ipv4Addr>, Option<Ipv6Addr>) {
        let (mut ip4, mut ip6) = (None, None);
        self.each(|data| match data {
            RecordData::A(ip) => _ = ip4.get_or_insert(*ip),
            RecordData::Aaaa(ip) => _ = ip6.get_or_insert(*ip),
            _ => {}
        });
        (ip4, ip6)
    }

    /// The name that the question's name, that of an address, stands for.
    pub fn pointer(&self) -> Option<Name> {
        let mut name = None;
        self.each(|data| {
            if let RecordData::Ptr(target) = data {
                name.get_or_insert(target.clone());
            }
        });
        name
    }

    fn each(&self, mut f: impl FnMut(&RecordData)) {
        let Ok(message) = Message::parse(&self.message) else { return };
        let Some(question) = message.questions.first() else { return };
        let Some((name, _)) = message.canonical(&question.name) else { return };
        message.answers.iter().filter(|record| record.name == *name).for_each(|r| f(&r.data));
    }

    /// The error for a caller that wanted records which this answer lacks: no such name (−138), no
    /// such records (−139), a server that failed (−140).
    pub fn lack(&self, name: &Name) -> Error {
        lack(self.rcode(), name)
    }
}

/// The error of a response code.
pub fn lack(rcode: Rcode, name: &Name) -> Error {
    match rcode {
        Rcode::NO_ERROR => Error::not_found(format!("{name} has no such records"))
            .retval(retval::NAME_SERVER_NO_ADDRESSES),
        Rcode::NAME_ERROR => Error::not_found(format!("there is no name {name}"))
            .retval(retval::NAME_SERVER_NO_SUCH_NAME),
        Rcode::FORMAT_ERROR => {
            Error::failed(format!("no name server understands the question for {name}"))
                .retval(retval::NAME_SERVER_FORMAT_ERROR)
        }
        _ => Error::failed(format!("no name server answers for {name}"))
            .retval(retval::NAME_SERVER_NEXT_SERVER),
    }
}

/// Seconds that a response may be kept: the least TTL of its answers; without an answer, as the
/// zone's start in the authority section says (RFC 2308 5), and without one not at all. Aliases
/// that lead to nothing end with their own TTLs, too.
fn lifetime(message: &Message) -> u32 {
    let question = message.questions.first();
    let has_answer = question.is_some_and(|question| answers(message, question));
    let least = message.answers.iter().map(|record| record.ttl).min();
    if message.header.rcode() == Rcode::NO_ERROR && has_answer {
        return least.unwrap_or(0).min(MAX_TTL);
    }
    let soa = message.authority.iter().find_map(|record| match record.data {
        RecordData::Soa(soa) => Some(record.ttl.min(soa.minimum)),
        _ => None,
    });
    soa.unwrap_or(0).min(least.unwrap_or(MAX_NEGATIVE_TTL)).min(MAX_NEGATIVE_TTL)
}

/// True if the answer section has a record that was asked for.
pub fn answers(message: &Message, question: &Question) -> bool {
    let Some((name, _)) = message.canonical(&question.name) else { return false };
    let wanted = |record: &Record| {
        let fits = record.kind == question.kind || question.kind == RecordType::ANY;
        fits && (record.name == *name || record.name == question.name)
    };
    message.answers.iter().any(wanted)
}

/// Reads a client's query.
///
/// # Errors
/// The response that says what is wrong with it; `None` for a query that gets no response.
pub fn read(query: &crate::received::Query) -> Result<Client, Option<Vec<u8>>> {
    let bytes = query.bytes.message();
    let header = <DnsHeader as wire::Header>::view(bytes).ok_or(None)?;
    let echoed = header.flags.get() & ECHOED;
    let id = header.id.get();
    let parsed = Message::parse(bytes).ok();
    let question = parsed.as_ref().and_then(|message| message.questions.first().cloned());
    // The question's bytes are put into the response: they must be a name without pointers.
    let written = |q: &Question| HEADER + q.name.bytes().len() + 4;
    let sound = question.filter(|q| parsed.as_ref().is_some_and(|m| m.questions_end == written(q)));
    let Some(question) = sound else {
        let flags = DnsHeader::RESPONSE | echoed | u16::from(Rcode::FORMAT_ERROR.0);
        return Err(Some(DnsHeader::of(id, flags).as_bytes().to_vec()));
    };
    let client =
        Client { to: query.client, own: query.own, table: query.table, id, echoed, question };
    let Question { kind, class, .. } = client.question;
    let unknown = matches!(kind, RecordType::OPT | RecordType::AXFR | RecordType::IXFR);
    if header.opcode() != 0 || class != dns::CLASS_IN || unknown {
        return Err(Some(client.refusal(Rcode::NOT_IMPLEMENTED)));
    }
    Ok(client)
}
