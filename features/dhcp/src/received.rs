// SPDX-License-Identifier: Apache-2.0
//! Messages that workers receive for clients, on their way to control.

/// A copy of a message of at most `MOST` bytes.
#[derive(Clone, Copy)]
pub struct Received<const MOST: usize> {
    len: u16,
    bytes: [u8; MOST],
}

impl<const MOST: usize> Received<MOST> {
    /// Takes a copy; `None` if the message is too long.
    #[inline(always)]
    pub fn new(message: &[u8]) -> Option<Self> {
        let mut bytes = [0; MOST];
        bytes.get_mut(..message.len())?.copy_from_slice(message);
        Some(Self { len: message.len() as u16, bytes })
    }

    /// The message.
    pub fn message(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}
