// SPDX-License-Identifier: Apache-2.0
//! Sending of packets over one adjacency.

use crate::{ETHERNET, To};
use buffer::Buffer;
use ip::headers::Onward;
use ip::{Ip, Words};
use net::{SentTags, TAG};

/// The differences of the two protocols.
pub trait Protocol: Ip {
    /// The words by which a frame's IP header is judged, and the destination; `None` if the frame
    /// is too short.
    fn look(b: &Buffer) -> Option<(Words, Self::Key)>;

    /// The source address of a frame's packet.
    fn frame_source(b: &Buffer) -> Self::Addr;

    /// The same, if it is in the first 16 bytes of the IP header.
    fn early_source(first: [u32; 4]) -> Option<Self::Addr>;

    /// Writes the changed word of the IP header and, if there are any, `ends` in place of the
    /// Ethernet header. `None` if the frame is too short.
    fn write(b: &mut Buffer, word: u32, ends: Option<&Ends>) -> Option<()>;
}

/// First and last bytes of a layer-2 header, as little-endian numbers: arrays may be taken apart
/// into bytes by the compiler, which are stored one by one then.
#[derive(Clone, Copy)]
pub struct Ends([u64; 2]);

impl Ends {
    #[inline(always)]
    pub fn of([first, last]: [[u8; 8]; 2]) -> Self {
        Self([u64::from_le_bytes(first), u64::from_le_bytes(last)])
    }

    #[inline(always)]
    fn bytes(self) -> [[u8; 8]; 2] {
        let [first, last] = self.0;
        [first.to_le_bytes(), last.to_le_bytes()]
    }

    /// Writes a header of Ethernet's length.
    #[inline(always)]
    pub fn write(&self, to: &mut [u8; ETHERNET]) {
        let [first, last] = self.bytes();
        to[..8].copy_from_slice(&first);
        to[ETHERNET - 8..].copy_from_slice(&last);
    }
}

/// Sends packets over one adjacency. By value: fields behind a reference are read again after every
/// store to a packet.
#[derive(Clone, Copy)]
pub struct NextHop {
    pub to: To,
    pub tx_if: u32,
    /// Bytes of an IP packet at most.
    pub mtu: u32,
    pub counter: u32,
    pub via: u32,
    pub ends: Ends,
    /// Bytes of the layer-2 header, with tags.
    pub header_len: usize,
    /// Tags that stand between the addresses and the type of `ends`.
    pub tags: SentTags,
    /// See [`net::Outlet::parent`].
    pub parent: u32,
}

impl NextHop {
    /// Rewrites a packet that came in by `rx_if` for sending; `None`, and nothing changed, if the
    /// graph has to handle it.
    #[inline(always)]
    pub fn take<F: Protocol>(&self, b: &mut Buffer, rx_if: u32, onward: Onward) -> Option<()> {
        if !self.takes(rx_if, onward) {
            return None;
        }
        self.send_on::<F>(b, onward)
    }

    /// Returns true if a packet that came in by `rx_if` isn't too long and doesn't go back to where
    /// it came from.
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
        if self.header_len == 0 {
            return self.send_bare::<F>(b, onward);
        }
        self.send_long::<F>(b, onward)
    }

    /// The same, for a link without layer-2 header.
    #[inline(always)]
    fn send_bare<F: Protocol>(&self, b: &mut Buffer, onward: Onward) -> Option<()> {
        F::write(b, onward.word, None)?;
        b.truncate(ETHERNET + onward.total as usize);
        b.tx_if = self.tx_if;
        b.pull(ETHERNET).then_some(())
    }

    /// The same, for headers of other lengths. By value, as the type says: loops keep the next hop
    /// in registers.
    #[inline(never)]
    fn send_long<F: Protocol>(self, b: &mut Buffer, onward: Onward) -> Option<()> {
        match self.tags.count() {
            0 => {}
            1 => return self.send_tagged::<F, TAG, { ETHERNET + TAG }>(b, onward, &self.head()),
            _ => {
                return self.send_tagged::<F, { 2 * TAG }, { ETHERNET + 2 * TAG }>(
                    b,
                    onward,
                    &self.head(),
                );
            }
        }
        if b.headroom() + ETHERNET < self.header_len {
            return None;
        }
        F::write(b, onward.word, None)?;
        b.truncate(ETHERNET + onward.total as usize);
        b.tx_if = self.tx_if;
        let [first, last] = self.ends.bytes();
        let pulled = b.pull(ETHERNET);
        let pushed = b.push_ends(&first, &last, self.header_len);
        debug_assert!(pulled && pushed);
        Some(())
    }

    /// The Ethernet header with tags.
    #[inline(always)]
    pub fn head<const HEAD: usize>(&self) -> [u8; HEAD] {
        let [first, last] = self.ends.bytes();
        let [outer, inner] = self.tags.bytes();
        let mut head = [0; HEAD];
        head[..8].copy_from_slice(&first);
        head[6..12].copy_from_slice(&last[..6]);
        head[12..16].copy_from_slice(&outer);
        if HEAD > ETHERNET + TAG {
            head[16..20].copy_from_slice(&inner);
        }
        head[HEAD - 2..].copy_from_slice(&last[6..]);
        head
    }

    /// As [`Self::send_on`], with a header that is longer by `TAGS` bytes.
    #[inline(always)]
    pub fn send_tagged<F: Protocol, const TAGS: usize, const HEAD: usize>(
        &self,
        b: &mut Buffer,
        onward: Onward,
        head: &[u8; HEAD],
    ) -> Option<()> {
        const { assert!(HEAD == ETHERNET + TAGS) };
        if b.headroom() < TAGS {
            return None;
        }
        F::write(b, onward.word, None)?;
        b.truncate(ETHERNET + onward.total as usize);
        b.tx_if = self.tx_if;
        b.push::<TAGS>()?;
        *b.bytes_mut(0)? = *head;
        Some(())
    }

    /// As [`Self::send_on`], for a header without tags; `PADDED` if something may lie behind the
    /// packet.
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
