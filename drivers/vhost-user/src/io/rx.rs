// SPDX-License-Identifier: Apache-2.0
//! Packets that a guest sends: copied out of its memory before anything looks at them.

use super::Queue;
use super::queue::MAX_HEADER;
use buffer::MAX_PACKET;
use wire::offload::{Offload, VNET_HDR_LEN};

/// The next packet of a queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NextPacket {
    /// A packet of this many bytes, to be copied by [`Queue::copy`].
    Packet {
        /// Its length in bytes.
        len: usize,
        /// The checksum and segmentation that the guest asks for.
        offload: Offload,
    },
    /// A chain that no packet is in.
    Bad,
    /// The guest has sent no more.
    Nothing,
}

impl Queue {
    /// Takes the next packet. Its chain goes back to the guest by [`Queue::give_back`].
    #[inline(always)]
    pub fn take(&mut self) -> NextPacket {
        let Some(is_good) = self.find(false) else { return NextPacket::Nothing };
        let len = self.pieces.len().saturating_sub(self.config.header);
        if !is_good || len == 0 || len > MAX_PACKET {
            self.bad += 1;
            return NextPacket::Bad;
        }
        let offload = if self.config.offloads { self.offload() } else { Some(Offload::NONE) };
        match offload {
            Some(offload) => NextPacket::Packet { len, offload },
            None => {
                self.unknown_offload += 1;
                NextPacket::Bad
            }
        }
    }

    /// As [`Self::take`]; if there is no packet, the guest's event is cleared, and packets are
    /// looked for again: one may have come in between.
    #[inline(always)]
    pub fn take_or_rearm(&mut self) -> NextPacket {
        match self.take() {
            NextPacket::Nothing if self.rearm() => self.take(),
            packet => packet,
        }
    }

    /// The header of the packet (Virtual I/O Device 1.3, 5.1.6.2).
    #[inline(always)]
    fn offload(&self) -> Option<Offload> {
        let mut header = [0; VNET_HDR_LEN];
        let is_read = self.pieces.copy_out(&self.memory, 0, [&mut header[..]].into_iter());
        debug_assert!(is_read);
        Offload::from_vnet(header)
    }

    /// Copies the packet that was taken last.
    #[inline(always)]
    pub fn copy<'d>(&self, to: impl Iterator<Item = &'d mut [u8]>) {
        let is_copied = self.pieces.copy_out(&self.memory, self.config.header.min(MAX_HEADER), to);
        // Its pieces were checked when they were found, and regions don't shrink.
        debug_assert!(is_copied);
    }

    /// Forgets packets that wait, at most those that a ring holds.
    pub fn discard(&mut self) {
        while self.take_or_rearm() != NextPacket::Nothing {}
        self.give_back();
    }
}
