// SPDX-License-Identifier: Apache-2.0
//! Messages queued for a client.

use crate::message::{Head, HeadField};

/// Bytes of the header before each message on the socket: u64 ignored, u32 length, u32 ignored.
pub const HEADER: usize = 16;

/// Framed messages, one behind the other.
#[derive(Debug, Default)]
pub struct SendBuffer {
    bytes: Vec<u8>,
    /// Number of bytes already sent.
    sent: usize,
}

impl SendBuffer {
    /// Adds a message: id, head, and what `body` appends.
    pub fn message(
        &mut self,
        id: u16,
        fields: &[HeadField],
        head: &Head,
        body: impl FnOnce(&mut Vec<u8>),
    ) {
        let start = self.bytes.len();
        self.bytes.resize(start + HEADER, 0);
        self.bytes.extend_from_slice(&id.to_be_bytes());
        head.put(fields, &mut self.bytes);
        body(&mut self.bytes);
        let length =
            u32::try_from(self.bytes.len() - start - HEADER).expect("a message is below 4 GiB");
        self.bytes[start + 8..start + 12].copy_from_slice(&length.to_be_bytes());
    }

    /// Appends the waiting bytes of another one, and empties that.
    pub fn append(&mut self, other: &mut SendBuffer) {
        self.bytes.extend_from_slice(other.waiting());
        other.clear();
    }

    /// Bytes that are still to be sent.
    pub fn waiting(&self) -> &[u8] {
        &self.bytes[self.sent..]
    }

    /// Notes that so many bytes of [`Self::waiting`] are sent.
    pub fn consume(&mut self, n: usize) {
        self.sent += n;
        if self.sent == self.bytes.len() {
            self.clear();
        } else if self.sent > self.bytes.len() / 2 {
            self.bytes.drain(..self.sent);
            self.sent = 0;
        }
    }

    /// Removes all bytes, and frees memory beyond 64 KiB.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.bytes.shrink_to(64 << 10);
        self.sent = 0;
    }
}
