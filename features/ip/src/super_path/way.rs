// SPDX-License-Identifier: Apache-2.0
//! What is done with packets over one adjacency.

use super::{ETHERNET, To};
use crate::family::{Ip, Words};
use crate::headers::Onward;
use buffer::Buffer;

/// What the two protocols do differently.
pub trait Protocol: Ip {
    /// What is judged of a frame's IP header, and the destination; `None` if the frame is too short.
    fn look(b: &Buffer) -> Option<(Words, Self::Key)>;

    /// The source address of a frame's packet; `first` are the first 16 bytes of its IP header.
    fn frame_source(first: [u32; 4], b: &Buffer) -> Self::Addr;

    /// Writes the changed word of the IP header and, if there are any, `ends` in place of the Ethernet header. `None` if the frame is
    /// too short.
    fn write(b: &mut Buffer, word: u32, ends: Option<&Ends>) -> Option<()>;
}

/// First and last bytes of a layer-2 header.
#[derive(Clone, Copy)]
pub struct Ends(pub [[u8; 8]; 2]);

impl Ends {
    /// Writes a header of Ethernet's length.
    #[inline(always)]
    pub fn write(&self, to: &mut [u8; ETHERNET]) {
        to[..8].copy_from_slice(&self.0[0]);
        to[ETHERNET - 8..].copy_from_slice(&self.0[1]);
    }
}

/// What is done with packets over one adjacency. By value: what is read through a reference has to be read again after every store
/// to a packet.
#[derive(Clone, Copy)]
pub struct Way {
    pub to: To,
    pub tx_if: u32,
    /// Bytes of an IP packet at most.
    pub mtu: u32,
    pub counter: u32,
    pub via: u32,
    pub ends: Ends,
    pub header_len: usize,
}

impl Way {
    /// Changes a packet that came in by `rx_if` for its way; `None`, and nothing changed, if the graph shall have it.
    #[inline(always)]
    pub fn take<F: Protocol>(&self, b: &mut Buffer, rx_if: u32, onward: Onward) -> Option<()> {
        if !self.takes(rx_if, onward) {
            return None;
        }
        self.send_on::<F>(b, onward)
    }

    /// Whether a packet that came in by `rx_if` isn't too long and doesn't go back to where it came from.
    #[inline(always)]
    pub fn takes(&self, rx_if: u32, onward: Onward) -> bool {
        rx_if != self.tx_if && onward.total <= self.mtu
    }

    /// As [`Self::take`], for a packet that [`Self::takes`] lets pass.
    #[inline(always)]
    pub fn send_on<F: Protocol>(&self, b: &mut Buffer, onward: Onward) -> Option<()> {
        if self.header_len == ETHERNET {
            return self.send_short::<F, true>(b, onward);
        }
        if b.headroom() + ETHERNET < self.header_len {
            return None;
        }
        F::write(b, onward.word, None)?;
        b.truncate(ETHERNET + onward.total as usize);
        b.tx_if = self.tx_if;
        let Ends([first, last]) = self.ends;
        let pulled = b.pull(ETHERNET);
        let pushed = b.push_ends(&first, &last, self.header_len);
        debug_assert!(pulled && pushed);
        Some(())
    }

    /// As [`Self::send_on`], for a header without tags; `PADDED` if something may lie behind the packet.
    #[inline(always)]
    pub fn send_short<F: Protocol, const PADDED: bool>(
        &self,
        b: &mut Buffer,
        Onward { word, total }: Onward,
    ) -> Option<()> {
        F::write(b, word, Some(&self.ends))?;
        if PADDED {
            // It was padding of the frame.
            b.truncate(ETHERNET + total as usize);
        }
        b.tx_if = self.tx_if;
        Some(())
    }
}
