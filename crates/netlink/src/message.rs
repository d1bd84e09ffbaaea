// SPDX-License-Identifier: Apache-2.0
//! Messages that come by another transport than a netlink socket, such as FPM.

use std::io;

use netlink_packet_core::NetlinkBuffer;

use crate::changes::{Change, NEWNEXTHOP, nexthop_id, parse};
use crate::socket::{malformed, messages};

/// A message.
pub struct Message<'a> {
    buffer: NetlinkBuffer<&'a [u8]>,
    /// All of its bytes, the header included, without padding behind them.
    pub bytes: &'a [u8],
}

impl Message<'_> {
    /// Its type, one of `RTM_*`.
    pub fn kind(&self) -> u16 {
        self.buffer.message_type()
    }

    /// The family of what it is about, `AF_*`; 0 if it has none.
    pub fn family(&self) -> u8 {
        self.bytes.get(16).copied().unwrap_or_default()
    }

    /// The change in it; `None` for one about something else.
    ///
    /// # Errors
    /// Attributes that are cut off or of another length than theirs.
    pub fn change(&self) -> io::Result<Option<Change>> {
        parse(&self.buffer).map_err(malformed)
    }

    /// The id of the next-hop object that the message sets, also if its change can't be read.
    pub fn nexthop_set(&self) -> Option<u32> {
        let is_set = self.kind() == NEWNEXTHOP;
        is_set.then(|| nexthop_id(self.buffer.payload()).ok().flatten())?
    }
}

/// The messages that lie one behind the other in `bytes`, each at a multiple of 4 bytes.
///
/// # Errors
/// The last item is an error if a message is shorter than a header, or longer than what is left.
pub fn split(bytes: &[u8]) -> impl Iterator<Item = io::Result<Message<'_>>> {
    let mut rest = bytes;
    messages(bytes).map(move |message| {
        let buffer = message.map_err(malformed)?;
        let len = (buffer.length() as usize).min(rest.len());
        let (bytes, _) = rest.split_at(len);
        rest = rest.get(len.next_multiple_of(4)..).unwrap_or_default();
        Ok(Message { buffer, bytes })
    })
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    #[suite::test]
    fn messages_are_split_with_their_bytes() {
        let mut all = Vec::new();
        for (kind, len) in [(24u16, 17u32), (25, 16)] {
            all.extend(len.to_ne_bytes());
            all.extend(kind.to_ne_bytes());
            all.resize(all.len() + 10, 0);
            all.resize(all.len() + (len as usize - 16).next_multiple_of(4), 7);
        }
        let of = |bytes: &[u8]| -> Vec<_> {
            let one = |message: io::Result<Message<'_>>| {
                message.ok().map(|m| (m.kind(), m.bytes.len(), m.family()))
            };
            split(bytes).map(one).collect()
        };
        assert_eq!(of(&all), [Some((24, 17, 7)), Some((25, 16, 0))]);
        assert_eq!(of(&all[..35]), [Some((24, 17, 7)), None]);
        assert_eq!(of(&[0; 3]), [None]);
    }
}
