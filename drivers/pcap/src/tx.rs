// SPDX-License-Identifier: Apache-2.0
//! `INTERFACE-tx`: buffers go to the writer of the capture, or are freed.

use crate::capture::Sender;
use buffer::{Cache, Owned};
use driver::{Handed, Loss};
use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::time::{SystemTime, UNIX_EPOCH};

/// The transmit queue of a thread.
pub enum PcapTx {
    /// To the writer.
    Capture(Sender),
    /// Without a file: packets are freed.
    Free,
}

/// Segments of a packet at most: more than the longest packet has.
const SEGMENTS: usize = 64;
const _: () = assert!(buffer::MAX_PACKET <= SEGMENTS * buffer::DATA_SIZE);

impl driver::TxQueue for PcapTx {
    const NODE: &'static str = "pcap-tx";
    const OWNS: bool = true;

    fn most_segments(&self) -> usize {
        SEGMENTS
    }

    #[inline]
    fn hand_over(&mut self, packets: &mut VecDeque<Owned>, cache: &mut Cache) -> Handed {
        let Self::Capture(Sender { ring, capture, waiting }) = self else {
            packets.drain(..).for_each(|packet| cache.free(packet));
            return Handed { lent: 0, again: false, loss: Loss::Full };
        };
        let loss = if capture.has_failed.load(Ordering::Relaxed) {
            Loss::Refused
        } else {
            // The clock of the machine is read without a system call.
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            let now = u64::try_from(now.as_nanos()).unwrap_or(u64::MAX);
            while let Some(packet) = packets.pop_front() {
                let segments = packet.segment_count();
                waiting.fetch_add(segments, Ordering::Relaxed);
                if let Err((_, packet)) = ring.push((now, packet)) {
                    waiting.fetch_sub(segments, Ordering::Relaxed);
                    packets.push_front(packet);
                    break;
                }
            }
            Loss::Full
        };
        Handed { lent: waiting.load(Ordering::Relaxed), again: false, loss }
    }
}
