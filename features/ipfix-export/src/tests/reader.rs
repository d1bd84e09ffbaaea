// SPDX-License-Identifier: Apache-2.0
//! A plain reader of messages (RFC 7011 3), for records of fixed length.

use std::collections::BTreeMap;

/// The state of a collector.
#[derive(Default)]
pub struct Reader {
    pub domain: u32,
    /// Records that were read, which is the next sequence number.
    pub sequence: u32,
    /// Lengths of records by template.
    templates: BTreeMap<u16, usize>,
    /// Records by template.
    pub records: BTreeMap<u16, Vec<Vec<u8>>>,
}

fn half(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from(half(bytes, at)) << 16 | u32::from(half(bytes, at + 2))
}

impl Reader {
    /// Reads a message.
    #[track_caller]
    pub fn read(&mut self, message: &[u8]) {
        assert_eq!((half(message, 0), usize::from(half(message, 2))), (10, message.len()));
        assert_eq!(word(message, 8), self.sequence, "no record was lost");
        self.domain = word(message, 12);
        let mut sets = &message[16..];
        while !sets.is_empty() {
            let (id, len) = (half(sets, 0), usize::from(half(sets, 2)));
            let (set, behind) = (&sets[4..len], &sets[len..]);
            match id {
                2 => self.template(set),
                id => self.data(id, set),
            }
            sets = behind;
        }
    }

    fn template(&mut self, set: &[u8]) {
        let (id, n) = (half(set, 0), half(set, 2));
        let (mut at, mut len) = (4, 0);
        for _ in 0..n {
            len += usize::from(half(set, at + 2));
            at += if half(set, at) >> 15 == 1 { 8 } else { 4 };
        }
        assert_eq!(at, set.len());
        self.templates.insert(id, len);
    }

    fn data(&mut self, id: u16, set: &[u8]) {
        let len = self.templates[&id];
        assert_eq!(set.len() % len, 0);
        let records = self.records.entry(id).or_default();
        records.extend(set.chunks(len).map(<[u8]>::to_vec));
        self.sequence += (set.len() / len) as u32;
    }
}
