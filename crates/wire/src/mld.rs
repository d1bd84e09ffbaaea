// SPDX-License-Identifier: Apache-2.0
//! Multicast listener discovery for IPv6: version 1 (RFC 2710), version 2 (RFC 3810).

use core::net::Ipv6Addr;

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::{Header, Icmp6Type, U16};

/// Destination of version 2's reports: all routers that speak it.
pub const ALL_MLD2_ROUTERS: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 0x16);

/// Query of either version, and version 1's report and done: 24 bytes. A query of version 2 has 4
/// bytes more and sources (RFC 3810 §5.1).
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct MldMessage {
    /// Message type.
    pub kind: u8,
    /// Code, 0.
    pub code: u8,
    /// Checksum.
    pub checksum: U16,
    /// Query: within what time an answer is wanted, as a code.
    pub max_response: U16,
    /// Zero when sent, ignored when received.
    pub reserved: U16,
    /// The group in question; zero in a query for all.
    pub group: [u8; 16],
}

impl MldMessage {
    /// Bytes of the shortest query of version 2; one of exactly 24 is version 1's (RFC 3810 §8.1).
    pub const QUERY2_LEN: usize = 28;

    /// A report or done of version 1; the checksum is still zero.
    pub fn new(kind: Icmp6Type, group: Ipv6Addr) -> Self {
        Self {
            kind: kind.0,
            code: 0,
            checksum: U16::ZERO,
            max_response: U16::ZERO,
            reserved: U16::ZERO,
            group: group.octets(),
        }
    }

    /// The group in question.
    pub fn group(&self) -> Ipv6Addr {
        self.group.into()
    }

    /// Milliseconds within which an answer is wanted (RFC 3810 §5.1.3; below 32768 the same in
    /// version 1).
    pub fn max_response_ms(&self) -> u32 {
        match u32::from(self.max_response.get()) {
            code @ 0..0x8000 => code,
            code => (code & 0xfff | 0x1000) << ((code >> 12 & 7) + 3),
        }
    }
}

/// Version 2's report, 8 bytes; records follow (RFC 3810 §5.2).
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Mld2Report {
    /// Message type.
    pub kind: u8,
    /// Zero when sent, ignored when received.
    pub reserved: u8,
    /// Checksum.
    pub checksum: U16,
    /// Zero when sent, ignored when received.
    pub reserved2: U16,
    /// Number of records that follow.
    pub records: U16,
}

impl Mld2Report {
    /// A report of so many records; the checksum is still zero.
    pub fn new(records: u16) -> Self {
        Self {
            kind: Icmp6Type::MLD2_REPORT.0,
            reserved: 0,
            checksum: U16::ZERO,
            reserved2: U16::ZERO,
            records: U16::new(records),
        }
    }

    /// The records of a report, as far as they are whole.
    pub fn records(message: &[u8]) -> Records<'_> {
        match Self::split(message) {
            Some((report, rest)) => Records { left: report.records.get(), rest },
            None => Records { left: 0, rest: &[] },
        }
    }
}

/// A record of a report, 20 bytes; sources and auxiliary data follow (RFC 3810 §5.2.4).
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Mld2Record {
    /// [`Mld2Record::IS_EXCLUDE`] and the like.
    pub kind: u8,
    /// Words of auxiliary data, 0.
    pub aux_words: u8,
    /// Number of sources that follow.
    pub sources: U16,
    /// The group.
    pub group: [u8; 16],
}

impl Mld2Record {
    /// State: from all sources but these.
    pub const IS_EXCLUDE: u8 = 2;
    /// Change: from these sources only; from none: the group was left.
    pub const TO_INCLUDE: u8 = 3;
    /// Change: from all sources but these; but none: the group was joined.
    pub const TO_EXCLUDE: u8 = 4;

    /// A record without sources.
    pub fn new(kind: u8, group: Ipv6Addr) -> Self {
        Self { kind, aux_words: 0, sources: U16::ZERO, group: group.octets() }
    }
}

/// Iterator over the records of a report.
#[derive(Clone, Debug)]
pub struct Records<'a> {
    left: u16,
    rest: &'a [u8],
}

impl<'a> Iterator for Records<'a> {
    type Item = &'a Mld2Record;

    fn next(&mut self) -> Option<&'a Mld2Record> {
        self.left = self.left.checked_sub(1)?;
        let (record, rest) = Mld2Record::split(self.rest)?;
        let behind = usize::from(record.sources.get()) * 16 + usize::from(record.aux_words) * 4;
        self.rest = rest.get(behind..)?;
        Some(record)
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[suite::test]
    fn a_report_is_read_as_it_was_written() {
        let groups: [Ipv6Addr; 2] = ["ff02::2".parse().unwrap(), "ff02::1:ff00:1".parse().unwrap()];
        let mut bytes = Mld2Report::new(2).as_bytes().to_vec();
        let mut first = Mld2Record::new(Mld2Record::IS_EXCLUDE, groups[0]);
        first.sources = U16::new(1);
        bytes.extend(first.as_bytes().iter().chain(&[7; 16]));
        bytes.extend(Mld2Record::new(Mld2Record::TO_EXCLUDE, groups[1]).as_bytes());
        let seen: Vec<_> =
            Mld2Report::records(&bytes).map(|r| (r.kind, Ipv6Addr::from(r.group))).collect();
        assert_eq!(seen, [(2, groups[0]), (4, groups[1])]);
        assert_eq!(Mld2Report::records(&bytes[..63]).count(), 1);
        assert_eq!(MldMessage::LEN, 24);
    }

    #[suite::test]
    fn response_codes() {
        let mut query = MldMessage::new(Icmp6Type::MLD_QUERY, Ipv6Addr::UNSPECIFIED);
        for (code, want) in
            [(10_000, 10_000), (0x7fff, 0x7fff), (0x8000, 0x8000), (0xffff, 0x1fff << 10)]
        {
            query.max_response = U16::new(code);
            assert_eq!(query.max_response_ms(), want);
        }
    }

    proptest! {
        #[suite::test]
        fn any_bytes(bytes in proptest::collection::vec(prop_oneof![any::<u8>(), 0u8..3], 0..200)) {
            prop_assert!(Mld2Report::records(&bytes).count() * 20 <= bytes.len());
        }
    }
}
