// SPDX-License-Identifier: Apache-2.0
//! Lowers the MSS of a segment in place.

use wire::checksum::{Sum, update};
use wire::{Header, IpProtocol, TcpFlags, TcpHeader, TcpOptionKind, UpperLayer};

/// Bytes of a TCP header without options.
const FIXED: usize = 20;

/// Offset of the control bits in a TCP header.
pub const FLAGS: usize = 13;

/// Offset of the value of MSS option `n` of those in front of the first malformed option, counted
/// from the TCP header.
fn value(segment: &[u8], n: usize) -> Option<usize> {
    let readable = TcpHeader::options(segment).map_while(Result::ok);
    let mut mss = readable.filter(|o| o.kind == TcpOptionKind::MSS && o.data.len() == 2);
    mss.nth(n).map(|o| FIXED + o.offset + 2)
}

/// Lowers the MSS of the TCP segment at `segment[0]` to `max`; returns the highest value replaced,
/// if there was a higher one. With `partial`, the checksum field doesn't cover the header yet, and
/// stays as it is.
pub fn lower(segment: &mut [u8], max: u16, partial: bool) -> Option<u16> {
    let mut replaced = None;
    let mut n = 0;
    while let Some(at) = value(segment, n) {
        n += 1;
        let Some(field) = segment.get_mut(at..).and_then(|rest| rest.first_chunk_mut::<2>()) else {
            break;
        };
        let old = u16::from_be_bytes(*field);
        if old <= max {
            continue;
        }
        *field = max.to_be_bytes();
        replaced = replaced.max(Some(old));
        let sum = |value: u16| Sum::of(&value.to_be_bytes()).at(at);
        if !partial && let Some(tcp) = TcpHeader::view_mut(segment) {
            tcp.checksum.set(update(tcp.checksum.get(), sum(old), sum(max)));
        }
    }
    replaced
}

/// Offset of the TCP header of a SYN or SYN-ACK in the IP packet at `packet[0]`, wherever its IP
/// header puts it, and the end of the bytes that belong to it.
#[cold]
#[inline(never)]
pub fn find_syn(packet: &[u8]) -> Option<(usize, usize)> {
    let upper = UpperLayer::find(packet).ok()?;
    let end = upper.end.min(packet.len());
    let flags = TcpFlags(*packet.get(..end)?.get(upper.offset + FLAGS)?);
    let is_syn = flags.contains(TcpFlags::SYN) && !flags.contains(TcpFlags::RST);
    let is_tcp = upper.protocol == IpProtocol::TCP && upper.fragment_offset == 0;
    (is_tcp && is_syn).then_some((upper.offset, end))
}
