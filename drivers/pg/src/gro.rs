// SPDX-License-Identifier: Apache-2.0
//! Coalescing: TCP segments that follow each other become one packet.
//!
//! Segments of a flow are put together while each continues the one before it, has the same
//! payload, headers that differ in nothing but numbers and checksums, and a checksum that is right.
//! The packet leaves once it is full, once a segment doesn't continue it, when a stream is enabled,
//! or a second after its first segment.

use crate::offload::l3_of;
use std::ops::Range;
use wire::{Header, IpProtocol, Ipv4Header, TcpFlags, TcpHeader, UpperLayer, l4};

/// Flows that are put together at a time.
const FLOWS: usize = 16;
/// Hold time of a coalesced packet, in nanoseconds.
const PATIENCE: u64 = 1_000_000_000;
/// The longest IP packet.
const LONGEST: usize = 65_535;

/// Coalescing state of one interface.
#[derive(Debug, Default)]
pub struct Gro {
    flows: Vec<Flow>,
}

#[derive(Debug)]
struct Flow {
    frame: Vec<u8>,
    at: Layout,
    /// Payload of a segment.
    size: usize,
    segments: usize,
    since: u64,
}

/// The offsets of the parts of a TCP packet in its frame.
#[derive(Clone, Debug)]
struct Layout {
    l3: usize,
    l4: usize,
    payload: Range<usize>,
}

impl Layout {
    /// Of a packet without options of IP.
    fn of(frame: &[u8], ip: bool) -> Option<Self> {
        let l3 = l3_of(frame, ip)?;
        let packet = frame.get(l3..)?;
        let upper = UpperLayer::find(packet).ok()?;
        let plain = if packet[0] >> 4 == 4 { 20 } else { 40 };
        if upper.protocol != IpProtocol::TCP || upper.is_fragment() || upper.offset != plain {
            return None;
        }
        let l4 = l3 + upper.offset;
        let header = TcpHeader::view_at(frame, l4)?.header_len();
        let payload = l4 + header..l3 + upper.end;
        (header >= TcpHeader::LEN && payload.start <= payload.end && payload.end <= frame.len())
            .then_some(Self { l3, l4, payload })
    }

    fn tcp<'a>(&self, frame: &'a [u8]) -> &'a TcpHeader {
        TcpHeader::view_at(frame, self.l4).expect("seen by `of`")
    }

    /// Header bytes that segments of a flow have in common: all but lengths, checksums, the IPv4
    /// identification and TCP's sequence, acknowledgement and window.
    fn common<'a>(&self, frame: &'a [u8]) -> [&'a [u8]; 5] {
        let (l3, l4) = (self.l3, self.l4);
        if frame[l3] >> 4 == 4 {
            [
                &frame[..l3 + 2],
                &frame[l3 + 6..l3 + 10],
                &frame[l3 + 12..l4],
                &frame[l4..l4 + 4],
                &[],
            ]
        } else {
            [&frame[..l3 + 4], &frame[l3 + 6..l4], &frame[l4..l4 + 4], &[], &[]]
        }
    }

    /// TCP's options.
    fn options<'a>(&self, frame: &'a [u8]) -> &'a [u8] {
        &frame[self.l4 + TcpHeader::LEN..self.payload.start]
    }
}

impl Flow {
    /// Puts a segment behind the others, if it continues them.
    fn append(&mut self, frame: &[u8], at: &Layout) -> bool {
        let (mine, next) = (self.at.tcp(&self.frame), at.tcp(frame));
        let due = mine.seq.get().wrapping_add(self.at.payload.len() as u32);
        let (len, flags) = (at.payload.len(), next.flags);
        let fits = len > 0
            && len <= self.size
            && self.frame.len() - self.at.l3 + len <= LONGEST
            && next.seq.get() == due
            && flags.difference(TcpFlags::PSH) == TcpFlags::ACK
            && at.options(frame) == self.at.options(&self.frame)
            && is_valid(frame, at);
        if fits {
            // The acknowledgement and the window are the last one's; a push was asked for by any.
            self.frame[self.at.l4 + 8..self.at.l4 + 12]
                .copy_from_slice(&frame[at.l4 + 8..at.l4 + 12]);
            self.frame[self.at.l4 + 14..self.at.l4 + 16]
                .copy_from_slice(&frame[at.l4 + 14..at.l4 + 16]);
            self.frame[self.at.l4 + 13] |= flags.0;
            self.frame.extend_from_slice(&frame[at.payload.clone()]);
            self.at.payload.end += len;
            self.segments += 1;
        }
        fits
    }

    /// Returns true if no segment may be appended any more.
    fn is_full(&self) -> bool {
        let ends = self.at.payload.len() < self.size * self.segments;
        let pushed = self.at.tcp(&self.frame).flags.contains(TcpFlags::PSH);
        ends || pushed || self.frame.len() - self.at.l3 + self.size > LONGEST
    }

    /// The packet, its lengths and checksums as they have to be.
    fn finish(mut self) -> Vec<u8> {
        if self.segments > 1 {
            let l3 = self.at.l3;
            let len = self.frame.len() - l3;
            let packet = &mut self.frame[l3..];
            if packet[0] >> 4 == 4 {
                packet[2..4].copy_from_slice(&(len as u16).to_be_bytes());
                Ipv4Header::set_checksum_at(packet);
            } else {
                packet[4..6].copy_from_slice(&((len - 40) as u16).to_be_bytes());
            }
            // Its headers were there, so there is a field.
            let _ = l4::finish(packet);
        }
        self.frame
    }
}

fn is_valid(frame: &[u8], at: &Layout) -> bool {
    l4::verify(&frame[at.l3..]) == Ok(l4::Verdict::Valid)
}

impl Gro {
    /// Takes a frame that is sent; what leaves now goes to `out`.
    pub fn push(&mut self, mut frame: Vec<u8>, ip: bool, now: u64, out: &mut Vec<Vec<u8>>) {
        let Some(at) = Layout::of(&frame, ip) else { return out.push(frame) };
        let same = |f: &Flow| f.at.common(&f.frame) == at.common(&frame);
        if let Some(i) = self.flows.iter().position(same) {
            let goes_on = self.flows[i].append(&frame, &at);
            if !goes_on || self.flows[i].is_full() {
                out.push(self.flows.remove(i).finish());
            }
            if goes_on {
                return;
            }
        }
        if at.tcp(&frame).flags != TcpFlags::ACK || at.payload.is_empty() || !is_valid(&frame, &at)
        {
            return out.push(frame);
        }
        if self.flows.len() == FLOWS {
            out.push(self.flows.remove(0).finish());
        }
        // Bytes after the packet are link padding.
        frame.truncate(at.payload.end);
        self.flows.push(Flow { size: at.payload.len(), frame, at, segments: 1, since: now });
    }

    /// Releases packets whose hold time is over; all of them if `now` is `None`.
    pub fn flush(&mut self, now: Option<u64>, out: &mut Vec<Vec<u8>>) {
        let due = |f: &mut Flow| now.is_none_or(|now| now.saturating_sub(f.since) >= PATIENCE);
        out.extend(self.flows.extract_if(.., due).map(Flow::finish));
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use testkit::pkt::ether;

    fn segment(seq: u32, ack: u32, flags: u8, payload: &[u8], v6: bool) -> Vec<u8> {
        let frame = ether("02:00:00:00:00:01", "02:00:00:00:00:02");
        let mut bytes = if v6 {
            frame.ip6("2001:db8::1", "2001:db8::2").tcp(7, 8).payload(payload).build()
        } else {
            frame.ip4("10.0.0.1", "10.0.0.2").tcp(7, 8).payload(payload).build()
        };
        let l4 = if v6 { 54 } else { 34 };
        bytes[l4 + 4..l4 + 8].copy_from_slice(&seq.to_be_bytes());
        bytes[l4 + 8..l4 + 12].copy_from_slice(&ack.to_be_bytes());
        bytes[l4 + 13] = flags;
        l4::finish(&mut bytes[14..]).expect("TCP");
        bytes
    }

    const ACK: u8 = 0x10;

    /// Sends segments of these sequence numbers, flags and payloads.
    fn send(gro: &mut Gro, v6: bool, segments: &[(u32, u8, &[u8])]) -> Vec<Vec<u8>> {
        let mut out = Vec::new();
        for (i, (seq, flags, payload)) in segments.iter().enumerate() {
            gro.push(segment(*seq, 100 + i as u32, *flags, payload, v6), false, 5, &mut out);
        }
        out
    }

    #[suite::test]
    fn segments_that_follow_each_other_become_one_packet() {
        for v6 in [false, true] {
            let mut gro = Gro::default();
            let start = u32::MAX - 1;
            let out =
                send(&mut gro, v6, &[(start, ACK, b"abcd"), (2, ACK, b"efgh"), (6, ACK, b"ij")]);
            // The last is shorter, so it is the last.
            assert_eq!(out, [segment(start, 102, ACK, b"abcdefghij", v6)], "v6: {v6}");
            assert!(gro.flows.is_empty());
        }
    }

    #[suite::test]
    fn what_does_not_continue_lets_the_flow_leave_first() {
        let (a, fin) = (b"abcd", 0x11);
        for (second, flags) in [(9, ACK), (4, fin), (4, 0x30), (4, 0x12)] {
            let mut gro = Gro::default();
            let mut out = send(&mut gro, false, &[(0, ACK, a), (second, flags, b"efgh")]);
            gro.flush(None, &mut out);
            let want =
                [segment(0, 100, ACK, a, false), segment(second, 101, flags, b"efgh", false)];
            assert_eq!(out, want, "{second} {flags}");
        }
        // A push ends the packet, and is in it.
        let mut gro = Gro::default();
        let out = send(&mut gro, false, &[(0, ACK, a), (4, 0x18, b"efgh"), (8, ACK, b"ijkl")]);
        assert_eq!(out, [segment(0, 101, 0x18, b"abcdefgh", false)]);
        assert_eq!(gro.flows.len(), 1);
    }

    #[suite::test]
    fn a_wrong_checksum_is_left_to_the_receiver() {
        let mut gro = Gro::default();
        let mut out = Vec::new();
        let mut wrong = segment(0, 1, ACK, b"abcd", false);
        wrong[60 - 4] ^= 1;
        gro.push(wrong.clone(), false, 0, &mut out);
        assert_eq!(out, [wrong]);
        assert!(gro.flows.is_empty());
    }

    #[suite::test]
    fn a_packet_is_full_before_its_length_overflows() {
        let mut gro = Gro::default();
        let payload = [7; 1460];
        let all: Vec<_> = (0..124).map(|i| (i * 1460, ACK, &payload[..])).collect();
        let mut out = send(&mut gro, false, &all);
        assert_eq!(out.iter().map(|f| f.len() - 14).collect::<Vec<_>>(), [64_280, 64_280]);
        assert!(out.iter().all(|f| l4::verify(&f[14..]) == Ok(l4::Verdict::Valid)));
        gro.flush(Some(5 + PATIENCE - 1), &mut out);
        assert_eq!(out.len(), 2);
        gro.flush(Some(5 + PATIENCE), &mut out);
        assert_eq!(out[2].len() - 14, 36 * 1460 + 40);
    }

    #[suite::test]
    fn flows_that_never_end_are_bounded() {
        let mut gro = Gro::default();
        let mut out = Vec::new();
        for port in 0..100u16 {
            let mut frame = segment(0, 0, ACK, b"abcd", false);
            frame[34..36].copy_from_slice(&port.to_be_bytes());
            l4::finish(&mut frame[14..]).expect("TCP");
            gro.push(frame, false, 0, &mut out);
        }
        assert_eq!((gro.flows.len(), out.len()), (FLOWS, 100 - FLOWS));
    }
}
