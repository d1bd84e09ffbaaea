// SPDX-License-Identifier: Apache-2.0
//! Received messages, which wait for control.

use std::net::Ipv4Addr;

/// Bytes of the longest message that is read: a packet of 1500 bytes has no more.
const LONGEST: usize = 1480;

/// A received message, and its sender.
pub struct Message {
    /// The sender; unspecified for a host without an address.
    pub from: Ipv4Addr,
    len: u16,
    bytes: [u8; LONGEST],
}

impl Message {
    /// A copy; `None` of one that is too long.
    pub fn new(from: Ipv4Addr, message: &[u8]) -> Option<Self> {
        let mut bytes = [0; LONGEST];
        bytes.get_mut(..message.len())?.copy_from_slice(message);
        Some(Self { from, len: message.len() as u16, bytes })
    }

    /// The message, from its type on.
    pub fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.len.into()).unwrap_or_default()
    }
}
