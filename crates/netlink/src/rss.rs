// SPDX-License-Identifier: Apache-2.0
//! The table by which a link spreads received packets over its queues (receive-side scaling), by
//! ethtool's messages: reading since Linux 6.3, setting since Linux 6.17.

use std::io;

use netlink_packet_core::{DecodeError, DefaultNla};

use crate::ethtool::{Ask, Ethtool, attribute, device};
use crate::{Link, socket::malformed};

/// `ETHTOOL_MSG_RSS_GET`, `ETHTOOL_MSG_RSS_SET`, their header, and the table.
const RSS_GET: u8 = 38;
const RSS_SET: u8 = 48;
const RSS_HEADER: u16 = 1;
const RSS_TABLE: u16 = 4;

impl Ask {
    fn rss_table(index: u32) -> Self {
        Self { command: RSS_GET, attributes: vec![device(RSS_HEADER, index)] }
    }

    fn set_rss_table(index: u32, table: &[u32]) -> Self {
        let bytes = table.iter().flat_map(|queue| queue.to_ne_bytes()).collect();
        let table = DefaultNla::new(RSS_TABLE, bytes);
        Self { command: RSS_SET, attributes: vec![device(RSS_HEADER, index), table] }
    }
}

impl Ethtool {
    /// The queue of each hash value, modulo the table's length.
    ///
    /// # Errors
    /// The kernel's: `EOPNOTSUPP` if the link has no table.
    pub fn rss_table(&mut self, link: &Link) -> io::Result<Vec<u32>> {
        let mut table = Vec::new();
        self.talk(Ask::rss_table(link.index), |answer| {
            table = table_in(answer).map_err(malformed)?;
            Ok(())
        })?;
        Ok(table)
    }

    /// Sets the table, whose length is fixed; an empty one stands for the driver's own. Needs
    /// CAP_NET_ADMIN.
    ///
    /// # Errors
    /// The kernel's: `EOPNOTSUPP` if it or the link can't.
    pub fn set_rss_table(&mut self, link: &Link, table: &[u32]) -> io::Result<()> {
        self.talk(Ask::set_rss_table(link.index, table), |_| Ok(()))
    }
}

fn table_in(answer: &[u8]) -> Result<Vec<u32>, DecodeError> {
    let words = |bytes: &[u8]| {
        let (words, rest) = bytes.as_chunks::<4>();
        match rest {
            [] => Ok(words.iter().map(|word| u32::from_ne_bytes(*word)).collect()),
            _ => Err("a table that isn't whole".into()),
        }
    };
    Ok(attribute(answer, RSS_TABLE, words)?.unwrap_or_default())
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use netlink_packet_core::Emitable;

    #[suite::test]
    fn requests_are_as_ethtool_has_them() {
        let bytes = |ask: Ask| {
            let mut bytes = vec![0; ask.buffer_len()];
            ask.emit(&mut bytes);
            bytes
        };
        // A header, nested, with the index; then the table, a word for each entry.
        let header = [[12, 0x8001, 8, 1].map(u16::to_ne_bytes).concat(), 9u32.to_ne_bytes().into()];
        assert_eq!(bytes(Ask::rss_table(9)), header.concat());
        let table = [12u16, RSS_TABLE].map(u16::to_ne_bytes).concat();
        let queues = [0u32, 3].map(u32::to_ne_bytes).concat();
        assert_eq!(
            bytes(Ask::set_rss_table(9, &[0, 3])),
            [header.concat(), table, queues].concat()
        );
        let none = [4u16, RSS_TABLE].map(u16::to_ne_bytes).concat();
        assert_eq!(bytes(Ask::set_rss_table(9, &[])), [header.concat(), none].concat());
    }

    #[suite::test]
    fn a_table_is_read_from_its_attribute() {
        let answer = |value: &[u8]| {
            let mut bytes = vec![RSS_GET, 1, 0, 0];
            bytes.extend([(4 + value.len()) as u16, RSS_TABLE].map(u16::to_ne_bytes).concat());
            bytes.extend(value);
            bytes.resize(bytes.len().next_multiple_of(4), 0);
            bytes
        };
        let queues = [2u32, 0, 1].map(u32::to_ne_bytes).concat();
        assert_eq!(table_in(&answer(&queues)).ok(), Some(vec![2, 0, 1]));
        assert_eq!(table_in(&answer(&[])).ok(), Some(vec![]));
        assert_eq!(table_in(&[RSS_GET, 1, 0, 0]).ok(), Some(vec![]));
        assert!(table_in(&answer(&queues[..10])).is_err());
    }

    #[suite::test]
    fn a_link_without_a_table_says_so() {
        let Some(mut ethtool) = testkit::or_skip("ask for tables of links", Ethtool::new()) else {
            return;
        };
        let lo = crate::Rtnl::new().unwrap().link("lo").unwrap();
        for error in [ethtool.rss_table(&lo).err(), ethtool.set_rss_table(&lo, &[]).err()] {
            assert_eq!(error.and_then(|e| e.raw_os_error()), Some(libc::EOPNOTSUPP));
        }
    }
}
