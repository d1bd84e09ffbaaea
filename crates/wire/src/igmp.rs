// SPDX-License-Identifier: Apache-2.0
//! Internet group management for IPv4, version 3 (RFC 3376), and the messages of older versions.

use core::net::Ipv4Addr;

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::checksum::Sum;
use crate::{Header, Ip4OptionKind, IpProtocol, Ipv4Header, U16};

/// Destination of general queries: all hosts of a link.
pub const ALL_HOSTS: Ipv4Addr = Ipv4Addr::new(224, 0, 0, 1);
/// Destination of version 2's leaves: all routers of a link.
pub const ALL_ROUTERS: Ipv4Addr = Ipv4Addr::new(224, 0, 0, 2);
/// Destination of version 3's reports: all routers that speak it (RFC 3376 §4.2.14).
pub const ALL_IGMP3_ROUTERS: Ipv4Addr = Ipv4Addr::new(224, 0, 0, 22);
/// Bytes of the IPv4 header in front of a message: it has the router alert option.
pub const IP_HEADER_LEN: usize = 24;

/// Type of a message.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct IgmpType(pub u8);

impl IgmpType {
    /// Query of any version.
    pub const QUERY: Self = Self(0x11);
    /// Report of version 1.
    pub const REPORT1: Self = Self(0x12);
    /// Report of version 2.
    pub const REPORT2: Self = Self(0x16);
    /// Leave of version 2.
    pub const LEAVE: Self = Self(0x17);
    /// Report of version 3.
    pub const REPORT3: Self = Self(0x22);
}

/// The IPv4 header in front of a message of `len` bytes: TTL 1, precedence of internetwork control,
/// and the router alert option (RFC 3376 §4).
pub fn ip_header(src: Ipv4Addr, dst: Ipv4Addr, len: u16) -> [u8; IP_HEADER_LEN] {
    const ALERT: [u8; 4] = [Ip4OptionKind::ROUTER_ALERT, 4, 0, 0];
    let mut ip = Ipv4Header::new(src, dst, IpProtocol::IGMP, len + ALERT.len() as u16);
    ip.version_ihl = 0x46;
    (ip.tos, ip.ttl) = (0xc0, 1);
    let mut bytes = [0; IP_HEADER_LEN];
    let (fixed, options) = bytes.split_at_mut(Ipv4Header::LEN);
    fixed.copy_from_slice(ip.as_bytes());
    options.copy_from_slice(&ALERT);
    Ipv4Header::set_checksum_at(&mut bytes);
    bytes
}

/// Writes the checksum of a message.
pub fn set_checksum(message: &mut [u8]) {
    if let Some(IgmpMessage { checksum, .. }) = IgmpMessage::view_mut(message) {
        *checksum = U16::ZERO;
    }
    let sum = Sum::of(message).finish();
    if let Some(IgmpMessage { checksum, .. }) = IgmpMessage::view_mut(message) {
        *checksum = U16::new(sum);
    }
}

/// Values that codes of one byte stand for (RFC 3376 §4.1.1, §4.1.7): an exponential range above
/// 127.
pub const fn of_code(code: u8) -> u32 {
    match code {
        0..128 => code as u32,
        _ => ((code & 15) as u32 | 16) << ((code >> 4 & 7) + 3),
    }
}

/// The code of the largest value that is no larger than this one.
pub const fn to_code(value: u32) -> u8 {
    if value < 128 {
        return value as u8;
    }
    let exponent = value.ilog2() - 4;
    if exponent > 10 {
        return 0xff;
    }
    0x80 | ((exponent - 3) << 4) as u8 | (value >> exponent) as u8 & 15
}

/// The fixed part of a query of any version, and version 1's and 2's messages: 8 bytes.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct IgmpMessage {
    /// Message type.
    pub kind: u8,
    /// Query: time within which hosts respond, as a code in tenths of a second; 0 in a query of
    /// version 1.
    pub max_response: u8,
    /// Checksum.
    pub checksum: U16,
    /// The group; zero in a general query.
    pub group: [u8; 4],
}

impl IgmpMessage {
    /// The type.
    pub fn kind(&self) -> IgmpType {
        IgmpType(self.kind)
    }

    /// The group.
    pub fn group(&self) -> Ipv4Addr {
        self.group.into()
    }
}

/// Fields of version 3's query behind [`IgmpMessage`], 4 bytes; sources follow (RFC 3376 §4.1).
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Igmp3QueryTail {
    /// The flag "suppress router-side processing" (8), and the querier's robustness in 3 bits.
    pub flags: u8,
    /// The querier's interval, as a code in seconds.
    pub interval: u8,
    /// Number of sources that follow.
    pub sources: U16,
}

/// A query of any version.
#[derive(Clone, Copy, Debug)]
pub struct IgmpQuery<'a> {
    /// The fixed part.
    pub message: &'a IgmpMessage,
    /// The part of version 3.
    pub tail: Option<&'a Igmp3QueryTail>,
    /// The sources that the query is about; none for all.
    pub sources: &'a [[u8; 4]],
}

impl<'a> IgmpQuery<'a> {
    /// Reads a query; bytes behind it are ignored. `None` if it is shorter than its fields tell.
    pub fn read(message: &'a [u8]) -> Option<Self> {
        let (fixed, rest) = IgmpMessage::split(message)?;
        if rest.is_empty() {
            return Some(Self { message: fixed, tail: None, sources: &[] });
        }
        let (tail, rest) = Igmp3QueryTail::split(rest)?;
        let sources = addresses(rest, tail.sources.get())?;
        Some(Self { message: fixed, tail: Some(tail), sources })
    }
}

/// The first `n` addresses of these bytes, if all are there.
fn addresses(bytes: &[u8], n: u16) -> Option<&[[u8; 4]]> {
    let (all, _) = bytes.as_chunks::<4>();
    all.get(..n.into())
}

/// Version 3's report, 8 bytes; records follow (RFC 3376 §4.2).
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Igmp3Report {
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

impl Igmp3Report {
    /// A report of so many records; the checksum is still zero.
    pub fn new(records: u16) -> Self {
        Self {
            kind: IgmpType::REPORT3.0,
            reserved: 0,
            checksum: U16::ZERO,
            reserved2: U16::ZERO,
            records: U16::new(records),
        }
    }

    /// The records of a report; `None` if one of them isn't whole. Bytes behind them are ignored.
    pub fn records(message: &[u8]) -> Option<Igmp3Records<'_>> {
        let (report, rest) = Self::split(message)?;
        let records = Igmp3Records { left: report.records.get(), rest };
        (records.clone().count() == usize::from(report.records.get())).then_some(records)
    }
}

/// A record of a report, 8 bytes; sources and auxiliary data follow (RFC 3376 §4.2.4).
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Igmp3Record {
    /// [`Igmp3Record::IS_INCLUDE`] and the like.
    pub kind: u8,
    /// Words of auxiliary data, 0.
    pub aux_words: u8,
    /// Number of sources that follow.
    pub sources: U16,
    /// The group.
    pub group: [u8; 4],
}

impl Igmp3Record {
    /// State: from these sources only.
    pub const IS_INCLUDE: u8 = 1;
    /// State: from all sources but these.
    pub const IS_EXCLUDE: u8 = 2;
    /// Change: from these sources only; from none: the group was left.
    pub const TO_INCLUDE: u8 = 3;
    /// Change: from all sources but these; but none: the group was joined.
    pub const TO_EXCLUDE: u8 = 4;
    /// Change: from these sources, too.
    pub const ALLOW: u8 = 5;
    /// Change: no more from these sources.
    pub const BLOCK: u8 = 6;

    /// A record with so many sources behind it.
    pub fn new(kind: u8, group: Ipv4Addr, sources: u16) -> Self {
        Self { kind, aux_words: 0, sources: U16::new(sources), group: group.octets() }
    }

    /// The group.
    pub fn group(&self) -> Ipv4Addr {
        self.group.into()
    }
}

/// Iterator over the records of a report, each with its sources.
#[derive(Clone, Debug)]
pub struct Igmp3Records<'a> {
    left: u16,
    rest: &'a [u8],
}

impl<'a> Iterator for Igmp3Records<'a> {
    type Item = (&'a Igmp3Record, &'a [[u8; 4]]);

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let (record, rest) = Igmp3Record::split(self.rest)?;
        let sources = addresses(rest, record.sources.get())?;
        let behind = 4 * (sources.len() + usize::from(record.aux_words));
        self.rest = rest.get(behind..)?;
        Some((record, sources))
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[suite::test]
    fn bytes_of_a_report() {
        let group = Ipv4Addr::new(239, 1, 1, 1);
        let mut bytes = Igmp3Report::new(2).as_bytes().to_vec();
        bytes.extend(Igmp3Record::new(Igmp3Record::ALLOW, group, 1).as_bytes());
        bytes.extend([10, 0, 0, 1]);
        bytes.extend(Igmp3Record::new(Igmp3Record::TO_EXCLUDE, group, 0).as_bytes());
        set_checksum(&mut bytes);
        #[rustfmt::skip]
        let expected = [
            0x22, 0, 0xea, 0xf5, 0, 0, 0, 2,
            5, 0, 0, 1, 239, 1, 1, 1, 10, 0, 0, 1,
            4, 0, 0, 0, 239, 1, 1, 1,
        ];
        assert_eq!(bytes, expected);
        assert!(Sum::of(&bytes).is_valid());
        let read: Vec<_> =
            Igmp3Report::records(&bytes).unwrap().map(|(r, s)| (r.kind, r.group(), s)).collect();
        assert_eq!(read, [(5, group, &[[10, 0, 0, 1]][..]), (4, group, &[])]);
        assert!(Igmp3Report::records(&bytes[..27]).is_none(), "a byte is missing");
        bytes.push(0);
        assert!(Igmp3Report::records(&bytes).is_some(), "padding");
    }

    #[suite::test]
    fn the_header_has_the_router_alert_option() {
        let bytes = ip_header(Ipv4Addr::new(10, 0, 0, 1), ALL_IGMP3_ROUTERS, 8);
        #[rustfmt::skip]
        let expected = [
            0x46, 0xc0, 0, 32, 0, 0, 0, 0, 1, 2, 0x3a, 0x01, 10, 0, 0, 1, 224, 0, 0, 22, 0x94, 4, 0, 0,
        ];
        assert_eq!(bytes, expected);
        assert!(Ipv4Header::checksum_ok_at(&bytes));
    }

    #[suite::test]
    fn codes() {
        for (code, value) in [(0, 0), (127, 127), (0x80, 128), (0x8f, 248), (0xff, 31744)] {
            assert_eq!((of_code(code), to_code(value)), (value, code));
        }
        assert_eq!((to_code(129), to_code(u32::MAX)), (0x80, 0xff));
        assert!((0..40_000).all(|value| of_code(to_code(value)) <= value));
    }

    proptest! {
        #[suite::test]
        fn any_bytes(bytes in proptest::collection::vec(prop_oneof![any::<u8>(), 0u8..3], 0..200)) {
            if let Some(records) = Igmp3Report::records(&bytes) {
                let len: usize = records.map(|(r, s)| 8 + 4 * (s.len() + usize::from(r.aux_words))).sum();
                prop_assert!(8 + len <= bytes.len());
            }
            if let Some(query) = IgmpQuery::read(&bytes) {
                prop_assert!(8 + 4 * query.sources.len() <= bytes.len());
            }
        }
    }
}
