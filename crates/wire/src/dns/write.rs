// SPDX-License-Identifier: Apache-2.0
//! Writing of messages, without compression.

use super::{CLASS_IN, Name, Question, RecordData, RecordType};

/// Appends a question.
pub fn put_question(message: &mut Vec<u8>, question: &Question) {
    message.extend_from_slice(question.name.bytes());
    message.extend(question.kind.0.to_be_bytes());
    message.extend(question.class.to_be_bytes());
}

/// Appends a record of the class Internet. False for data that are no address or name, which can't
/// be written.
#[must_use]
pub fn put_record(message: &mut Vec<u8>, name: &Name, ttl: u32, data: &RecordData) -> bool {
    let (kind, data): (_, &[u8]) = match data {
        RecordData::A(ip) => (RecordType::A, &ip.octets()),
        RecordData::Aaaa(ip) => (RecordType::AAAA, &ip.octets()),
        RecordData::Cname(name) => (RecordType::CNAME, name.bytes()),
        RecordData::Ptr(name) => (RecordType::PTR, name.bytes()),
        RecordData::Soa(_) | RecordData::Other(_) => return false,
    };
    message.extend_from_slice(name.bytes());
    message.extend(kind.0.to_be_bytes());
    message.extend(CLASS_IN.to_be_bytes());
    message.extend(ttl.to_be_bytes());
    message.extend((data.len() as u16).to_be_bytes());
    message.extend_from_slice(data);
    true
}
