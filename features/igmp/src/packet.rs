// SPDX-License-Identifier: Apache-2.0
//! Packets that are sent, as frames.

use crate::host::Record;
use crate::router::Query;
use std::net::Ipv4Addr;
use wire::igmp::{
    self, ALL_HOSTS, ALL_IGMP3_ROUTERS, IP_HEADER_LEN, Igmp3QueryTail, Igmp3Record, Igmp3Report,
    IgmpMessage, IgmpType,
};
use wire::{EtherType, Ethernet, MacAddr, U16};
use zerocopy::IntoBytes;

/// Bytes of a report, with its IP header, without records.
const REPORT: usize = IP_HEADER_LEN + size_of::<Igmp3Report>();
/// Bytes of a record without sources, and of a source.
const RECORD: usize = size_of::<Igmp3Record>();
const SOURCE: usize = 4;
/// The robustness variable (RFC 3376 8.1).
pub const ROBUSTNESS: u8 = 2;

/// The two ends of a link: a MAC address and an IP address to send from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct From {
    pub mac: MacAddr,
    pub ip: Ipv4Addr,
}

fn frame(from: From, dst: Ipv4Addr, mut message: Vec<u8>) -> Vec<u8> {
    igmp::set_checksum(&mut message);
    let ethernet = Ethernet::new(from.mac, MacAddr::ip4_multicast(dst), EtherType::IP4);
    let header = igmp::ip_header(from.ip, dst, message.len() as u16);
    [ethernet.as_bytes(), &header, &message].concat()
}

/// Reports of these records, each no longer than the MTU (RFC 3376 4.2.16). A record with too many
/// sources for a packet is split into several, unless it excludes its sources: that can't be split,
/// and loses the sources without room.
pub fn reports(from: From, mtu: u16, records: &[Record]) -> Vec<Vec<u8>> {
    let room = usize::from(mtu).saturating_sub(REPORT).max(RECORD + SOURCE);
    let most = (room - RECORD) / SOURCE;
    let mut packets: Vec<(u16, Vec<u8>)> = Vec::new();
    for record in records {
        let sources: Vec<_> = record.sources.iter().copied().collect();
        let excludes = matches!(record.kind, Igmp3Record::IS_EXCLUDE | Igmp3Record::TO_EXCLUDE);
        let mut parts: Vec<&[Ipv4Addr]> = sources.chunks(most).collect();
        parts.truncate(if excludes { 1 } else { usize::MAX });
        if parts.is_empty() {
            parts.push(&[]);
        }
        for part in parts {
            let head = Igmp3Record::new(record.kind, record.group, part.len() as u16);
            let mut bytes = head.as_bytes().to_vec();
            part.iter().for_each(|source| bytes.extend(source.octets()));
            match packets.last_mut() {
                Some((n, body)) if body.len() + bytes.len() <= room => {
                    *n += 1;
                    body.extend(bytes);
                }
                _ => packets.push((1, bytes)),
            }
        }
    }
    let report = |(n, body): (u16, Vec<u8>)| {
        let message = [Igmp3Report::new(n).as_bytes(), &body].concat();
        frame(from, ALL_IGMP3_ROUTERS, message)
    };
    packets.into_iter().map(report).collect()
}

/// The numbers of a router's queries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Numbers {
    /// Tenths of a second within which hosts answer.
    pub response: u32,
    /// Seconds between two general queries.
    pub interval: u32,
}

/// Queries for a group or for sources of it, each no longer than the MTU; without a group, the
/// general query.
pub fn queries(from: From, mtu: u16, numbers: Numbers, query: Option<&Query>) -> Vec<Vec<u8>> {
    let fixed = IP_HEADER_LEN + size_of::<IgmpMessage>() + size_of::<Igmp3QueryTail>();
    let most = (usize::from(mtu).saturating_sub(fixed) / SOURCE).max(1);
    let sources: Vec<_> = query.iter().flat_map(|q| q.sources.iter().copied()).collect();
    let mut parts: Vec<&[Ipv4Addr]> = sources.chunks(most).collect();
    if parts.is_empty() {
        parts.push(&[]);
    }
    let one = |part: &[Ipv4Addr]| {
        let group = query.map_or(Ipv4Addr::UNSPECIFIED, |query| query.group);
        let head = IgmpMessage {
            kind: IgmpType::QUERY.0,
            max_response: igmp::to_code(numbers.response),
            checksum: U16::ZERO,
            group: group.octets(),
        };
        let tail = Igmp3QueryTail {
            flags: ROBUSTNESS,
            interval: igmp::to_code(numbers.interval),
            sources: U16::new(part.len() as u16),
        };
        let mut message = [head.as_bytes(), tail.as_bytes()].concat();
        part.iter().for_each(|source| message.extend(source.octets()));
        frame(from, query.map_or(ALL_HOSTS, |query| query.group), message)
    };
    parts.into_iter().map(one).collect()
}
