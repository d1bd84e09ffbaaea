// SPDX-License-Identifier: Apache-2.0
//! Messages of the domain name system (RFC 1035): header, names, questions, resource records.
//!
//! Messages are parsed on the control side, into vectors. A message that isn't sound as a whole is
//! refused as a whole.

mod name;
mod parse;
mod write;

pub use name::{Name, NameError};
pub use parse::{DnsError, Message, Record, RecordData, Soa};
pub use write::{put_question, put_record};

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::U16;

/// The port of servers.
pub const PORT: u16 = 53;
/// Bytes of the longest message by UDP without EDNS (RFC 1035 4.2.1).
pub const MAX_UDP: usize = 512;
/// Offset of the first question: bytes of a header.
pub const HEADER: usize = 12;
/// The class of the Internet.
pub const CLASS_IN: u16 = 1;

/// The header of a message, 12 bytes.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct DnsHeader {
    /// Number of the query, the same in its response.
    pub id: U16,
    /// Flags, operation code and response code.
    pub flags: U16,
    /// Number of questions.
    pub questions: U16,
    /// Number of records in the answer section.
    pub answers: U16,
    /// Number of records in the authority section.
    pub authority: U16,
    /// Number of records in the additional section.
    pub additional: U16,
}

impl DnsHeader {
    /// The message is a response.
    pub const RESPONSE: u16 = 0x8000;
    /// The response was cut off to fit.
    pub const TRUNCATED: u16 = 0x0200;
    /// The sender wants the server to ask others.
    pub const RECURSION_DESIRED: u16 = 0x0100;
    /// The server asks others.
    pub const RECURSION_AVAILABLE: u16 = 0x0080;
    /// The answer was authenticated by the server (RFC 4035 3.2.3).
    pub const AUTHENTIC: u16 = 0x0020;
    /// The answer is the server's own data.
    pub const AUTHORITATIVE: u16 = 0x0400;

    /// A header without questions and records.
    pub fn of(id: u16, flags: u16) -> Self {
        let [questions, answers, authority, additional] = [U16::ZERO; 4];
        Self { id: U16::new(id), flags: U16::new(flags), questions, answers, authority, additional }
    }

    /// Operation code: 0 for a query.
    #[inline(always)]
    pub fn opcode(&self) -> u8 {
        (self.flags.get() >> 11 & 15) as u8
    }

    /// Response code.
    #[inline(always)]
    pub fn rcode(&self) -> Rcode {
        Rcode((self.flags.get() & 15) as u8)
    }

    /// Returns true if one of these flags is set.
    #[inline(always)]
    pub fn has(&self, flags: u16) -> bool {
        self.flags.get() & flags != 0
    }
}

/// Response code (RFC 1035 4.1.1).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Rcode(pub u8);

impl Rcode {
    /// No error.
    pub const NO_ERROR: Self = Self(0);
    /// The server couldn't read the query.
    pub const FORMAT_ERROR: Self = Self(1);
    /// The server couldn't process the query.
    pub const SERVER_FAILURE: Self = Self(2);
    /// The name doesn't exist.
    pub const NAME_ERROR: Self = Self(3);
    /// The server doesn't have this kind of query.
    pub const NOT_IMPLEMENTED: Self = Self(4);
    /// The server doesn't want to answer.
    pub const REFUSED: Self = Self(5);
}

/// Type of a record, or of records that are asked for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RecordType(pub u16);

impl RecordType {
    /// An IPv4 address.
    pub const A: Self = Self(1);
    /// The server of a zone.
    pub const NS: Self = Self(2);
    /// The canonical name of an alias.
    pub const CNAME: Self = Self(5);
    /// Start of a zone.
    pub const SOA: Self = Self(6);
    /// A name, often that of an address.
    pub const PTR: Self = Self(12);
    /// A host that takes mail.
    pub const MX: Self = Self(15);
    /// Text.
    pub const TXT: Self = Self(16);
    /// An IPv6 address (RFC 3596).
    pub const AAAA: Self = Self(28);
    /// A host that has a service (RFC 2782).
    pub const SRV: Self = Self(33);
    /// Properties of the sender, no record (RFC 6891).
    pub const OPT: Self = Self(41);
    /// Incremental transfer of a zone (RFC 1995).
    pub const IXFR: Self = Self(251);
    /// Transfer of a zone.
    pub const AXFR: Self = Self(252);
    /// All records.
    pub const ANY: Self = Self(255);
}

impl core::fmt::Display for RecordType {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match *self {
            Self::A => f.pad("A"),
            Self::NS => f.pad("NS"),
            Self::CNAME => f.pad("CNAME"),
            Self::SOA => f.pad("SOA"),
            Self::PTR => f.pad("PTR"),
            Self::MX => f.pad("MX"),
            Self::TXT => f.pad("TXT"),
            Self::AAAA => f.pad("AAAA"),
            Self::SRV => f.pad("SRV"),
            Self::ANY => f.pad("ANY"),
            // The form of RFC 3597 5.
            Self(kind) => write!(f, "TYPE{kind}"),
        }
    }
}

/// A question: for the records of a type that a name has.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Question {
    /// The name.
    pub name: Name,
    /// The type of the records.
    pub kind: RecordType,
    /// Their class.
    pub class: u16,
}

#[cfg(feature = "tests")]
mod tests;
