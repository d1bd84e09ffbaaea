// SPDX-License-Identifier: Apache-2.0
//! Super-packets (GSO): each is cut into segments, which then get headers in front.

use crate::inner::Inner;
use buffer::{Buffer, Flags, Owned};
use driver::Segmenter;
use graph::{Cx, Next};
use wire::gso::MAX_HEADERS;

/// Segments of one packet at most: 65,535 bytes in segments of 48 bytes, the smallest that Linux
/// makes. More would let one packet take most buffers.
pub const MOST: usize = 65_535 / 48 + 1;

/// Returns about how many segments a packet becomes.
pub fn count(b: &Buffer) -> usize {
    1 + b.packet_len() / usize::from(b.offload.gso_size).max(1)
}

/// Cuts a packet and sends each part where `send` says. `lead` bytes stand in front of its IP
/// header, or of its Ethernet header. Returns how many parts found no buffers.
///
/// # Errors
/// The packet, if it can't be cut.
pub fn cut<N: Next>(
    b: Owned,
    lead: usize,
    frames: bool,
    cx: &mut Cx<'_, false>,
    mut send: impl FnMut(&mut Buffer, &mut Cx<'_, false>) -> N,
) -> Result<u64, Owned> {
    let l3 = if frames { Inner::of_frame(&b).at } else { lead };
    let mut missing = 0;
    let done = {
        let Ok(mut cut) = Segmenter::new(&b, l3) else { return Err(b) };
        let mut headers = [0; MAX_HEADERS];
        while let Some((len, payload)) = cut.next(&mut headers) {
            let Some(mut part) = cx.alloc() else {
                missing += 1;
                continue;
            };
            let mut whole = part.set_data(&headers[..len]);
            for piece in payload {
                whole = whole && part.append_bytes(piece, cx.cache());
            }
            if !whole {
                missing += 1;
                cx.free(part);
                continue;
            }
            const KEPT: Flags = Flags::LOCAL
                .with(Flags::TRACED)
                .with(Flags::L2_BROADCAST)
                .with(Flags::L2_MULTICAST);
            part.flags.set(Flags(b.flags.0 & KEPT.0));
            (part.rx_if, part.tx_if) = (b.rx_if, b.tx_if);
            (part.trace, part.flow_hash) = (b.trace, b.flow_hash);
            let to = send(&mut part, cx);
            cx.emit(to, part);
        }
        missing
    };
    cx.free(b);
    Ok(done)
}
