// SPDX-License-Identifier: Apache-2.0
//! Reading of messages.

use core::fmt;
use core::net::{Ipv4Addr, Ipv6Addr};

use super::{DnsHeader, HEADER, Name, Question, RecordType};
use crate::Header as _;

/// The reason why bytes aren't a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DnsError {
    /// The bytes end within the message.
    Short,
    /// A name is too long, or has a label that is neither text nor a pointer.
    Name,
    /// A pointer leads forward, or to itself.
    Pointer,
    /// The data of a record are not those of its type.
    Data,
    /// Bytes follow behind the last record.
    Rest,
}

impl fmt::Display for DnsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Short => "message is cut off",
            Self::Name => "wrong name",
            Self::Pointer => "name's pointer leads forward",
            Self::Data => "wrong data of a record",
            Self::Rest => "bytes behind the last record",
        })
    }
}

/// The start of a zone: the fields that resolvers use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Soa {
    /// Seconds for which an answer that a name or type doesn't exist is valid (RFC 2308 4).
    pub minimum: u32,
}

/// The data of a record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RecordData {
    /// An IPv4 address.
    A(Ipv4Addr),
    /// An IPv6 address.
    Aaaa(Ipv6Addr),
    /// The canonical name.
    Cname(Name),
    /// A name.
    Ptr(Name),
    /// Start of a zone.
    Soa(Soa),
    /// Data of another type: the number of their bytes.
    Other(u16),
}

/// A resource record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Record {
    /// The name that has it.
    pub name: Name,
    /// Its type.
    pub kind: RecordType,
    /// Its class.
    pub class: u16,
    /// Seconds for which it is valid.
    pub ttl: u32,
    /// Offset of the TTL in the message.
    pub ttl_at: usize,
    /// Its data.
    pub data: RecordData,
}

/// A message that is sound.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Message {
    /// The header.
    pub header: DnsHeader,
    /// The questions.
    pub questions: Vec<Question>,
    /// Offset of the end of the questions.
    pub questions_end: usize,
    /// The records of the answer section.
    pub answers: Vec<Record>,
    /// The records of the authority section.
    pub authority: Vec<Record>,
    /// The records of the additional section.
    pub additional: Vec<Record>,
}

/// Reads from the front of the rest of a message.
struct Reader<'a> {
    message: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], DnsError> {
        let bytes = self.message.get(self.at..).and_then(|rest| rest.first_chunk::<N>());
        self.at += N;
        bytes.copied().ok_or(DnsError::Short)
    }

    fn u16(&mut self) -> Result<u16, DnsError> {
        self.take().map(u16::from_be_bytes)
    }

    fn u32(&mut self) -> Result<u32, DnsError> {
        self.take().map(u32::from_be_bytes)
    }

    fn name(&mut self) -> Result<Name, DnsError> {
        let (name, end) = Name::read(self.message, self.at)?;
        self.at = end;
        Ok(name)
    }

    fn question(&mut self) -> Result<Question, DnsError> {
        Ok(Question { name: self.name()?, kind: RecordType(self.u16()?), class: self.u16()? })
    }

    fn record(&mut self) -> Result<Record, DnsError> {
        let (name, kind, class) = (self.name()?, RecordType(self.u16()?), self.u16()?);
        let ttl_at = self.at;
        // A TTL whose highest bit is set counts as 0 (RFC 2181 8).
        let ttl = Some(self.u32()?).filter(|ttl| *ttl >> 31 == 0).unwrap_or(0);
        let len = self.u16()?;
        let end = self.at + usize::from(len);
        if end > self.message.len() {
            return Err(DnsError::Short);
        }
        let data = match kind {
            RecordType::A => RecordData::A(self.take::<4>()?.into()),
            RecordType::AAAA => RecordData::Aaaa(self.take::<16>()?.into()),
            RecordType::CNAME => RecordData::Cname(self.name()?),
            RecordType::PTR => RecordData::Ptr(self.name()?),
            RecordType::SOA => {
                self.name()?;
                self.name()?;
                let [.., minimum] =
                    [self.u32()?, self.u32()?, self.u32()?, self.u32()?, self.u32()?];
                RecordData::Soa(Soa { minimum })
            }
            _ => {
                self.at = end;
                RecordData::Other(len)
            }
        };
        if self.at != end {
            return Err(DnsError::Data);
        }
        Ok(Record { name, kind, class, ttl, ttl_at, data })
    }

    fn records(&mut self, n: u16) -> Result<Vec<Record>, DnsError> {
        // Not with a capacity: the number is the sender's.
        (0..n).map(|_| self.record()).collect()
    }
}

impl Message {
    /// Reads a message.
    ///
    /// # Errors
    /// Bytes that are no message.
    pub fn parse(message: &[u8]) -> Result<Self, DnsError> {
        let header = *DnsHeader::view(message).ok_or(DnsError::Short)?;
        let mut r = Reader { message, at: HEADER };
        let questions = (0..header.questions.get()).map(|_| r.question());
        let questions = questions.collect::<Result<Vec<_>, _>>()?;
        let questions_end = r.at;
        let answers = r.records(header.answers.get())?;
        let authority = r.records(header.authority.get())?;
        let additional = r.records(header.additional.get())?;
        if r.at != message.len() {
            return Err(DnsError::Rest);
        }
        Ok(Self { header, questions, questions_end, answers, authority, additional })
    }

    /// The records of all sections.
    pub fn records(&self) -> impl Iterator<Item = &Record> {
        self.answers.iter().chain(&self.authority).chain(&self.additional)
    }

    /// The name to which the aliases of the answer section lead from `name`, with these aliases.
    /// `None` if they lead round in a circle.
    pub fn canonical<'m>(&'m self, name: &'m Name) -> Option<(&'m Name, Vec<&'m Record>)> {
        let (mut name, mut chain) = (name, Vec::new());
        while let Some((record, target)) =
            self.answers.iter().find_map(|record| match &record.data {
                RecordData::Cname(target) if record.name == *name => Some((record, target)),
                _ => None,
            })
        {
            if chain.len() == self.answers.len() {
                return None;
            }
            chain.push(record);
            name = target;
        }
        Some((name, chain))
    }
}
