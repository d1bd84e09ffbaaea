// SPDX-License-Identifier: Apache-2.0
//! Counts of packets that came back, by their signatures.

use measure::{Counts, Direction, Latency};
use wire::checksum::Sum;
use wire::{EtherType, Ethernet, Header, IpHeader, IpProtocol, Ipv4Header, Ipv6Header};

use crate::traffic::sessions::Tuple;
use crate::traffic::signature::{self, FILLER, LONGEST, Signature};
use crate::traffic::template::EXPERIMENTAL;

/// Nanoseconds of a delay that isn't known.
const UNKNOWN: u64 = u64::MAX;

/// Recognises the packets of one stream. Nothing is allocated per packet.
#[derive(Debug)]
pub struct Checker {
    stream: u16,
    /// One bit per packet of the trial.
    seen: Vec<u64>,
    total: u64,
    /// Number behind the highest that was received.
    next: u64,
    /// Packets with a longer delay count as lost, and late.
    late_after: u64,
    received: u64,
    duplicated: u64,
    reordered: u64,
    late: u64,
    changed: u64,
    stray: u64,
    latency: Latency,
    /// Delay of each packet, if it is kept.
    delays: Vec<u64>,
    /// Addresses and ports as they arrive, if they are kept.
    tuples: Option<Vec<Tuple>>,
    filler: Fillers,
    last: Option<u64>,
    gap: (u64, u64),
}

/// Sums of the fillers of all lengths, so that a received packet's filler is compared, not summed.
struct Fillers(Vec<Sum>);

impl std::fmt::Debug for Fillers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Fillers")
    }
}

impl Fillers {
    fn new() -> Self {
        Self((0..=LONGEST).map(|len| Sum::of(&FILLER[LONGEST - len..])).collect())
    }
}

/// A packet that carries a signature.
struct Parsed<'a> {
    signature: &'a Signature,
    intact: bool,
}

impl Checker {
    /// Expects `total` packets of a stream. `keep_delays` keeps the delay of each packet.
    pub fn new(stream: u16, total: u64, late_after: u64, keep_delays: bool) -> Self {
        // Memory that was not written yet costs a page fault at the first packet of each page.
        let mut seen = vec![1; (total as usize).div_ceil(64)];
        seen.fill(0);
        let delays = if keep_delays { vec![UNKNOWN; total as usize] } else { Vec::new() };
        Self {
            stream,
            seen,
            total,
            next: 0,
            late_after,
            received: 0,
            duplicated: 0,
            reordered: 0,
            late: 0,
            changed: 0,
            stray: 0,
            latency: Latency::new(),
            delays,
            tuples: None,
            filler: Fillers::new(),
            last: None,
            gap: (0, 0),
        }
    }

    /// Keeps addresses and ports of the packets.
    pub fn keep_tuples(mut self) -> Self {
        self.tuples = Some(Vec::with_capacity(self.total as usize));
        self
    }

    /// Addresses and ports of the packets in the order of arrival, if they were kept.
    pub fn tuples(&self) -> &[Tuple] {
        self.tuples.as_deref().unwrap_or_default()
    }

    /// Counts a frame that arrived at `now`; false if it is no test packet.
    #[inline(always)]
    pub fn check(&mut self, now: u64, frame: &[u8]) -> bool {
        let Some(Parsed { signature, intact }) = self.parse(frame) else { return false };
        let sequence = u64::from(signature.sequence.get());
        if signature.stream.get() != self.stream || sequence >= self.total {
            self.stray += 1;
            return true;
        }
        let (word, bit) = ((sequence / 64) as usize, 1 << (sequence % 64));
        let Some(word) = self.seen.get_mut(word) else { return true };
        if *word & bit != 0 {
            self.duplicated += 1;
            return true;
        }
        let delay = now.saturating_sub(signature.sent.get());
        if delay > self.late_after {
            // Counts as lost: the bit stays clear.
            self.late += 1;
            return true;
        }
        *word |= bit;
        self.received += 1;
        self.changed += u64::from(!intact);
        // RFC 4737 §3.3: a packet is reordered if one with a higher number came before it.
        if sequence < self.next {
            self.reordered += 1;
        } else {
            self.next = sequence + 1;
        }
        self.latency.record(delay);
        if let Some(tuples) = &mut self.tuples {
            // As many as there is room for.
            tuples.extend(Tuple::of(frame));
        }
        if let Some(kept) = self.delays.get_mut(sequence as usize) {
            *kept = delay;
        }
        if let Some(last) = self.last
            && now.saturating_sub(last) > self.gap.1
        {
            self.gap = (last, now - last);
        }
        self.last = Some(now);
        true
    }

    /// Finds the signature at the end of the network packet, since frames may be padded, and
    /// compares everything that the device must not change: checksums and filler.
    #[inline(always)]
    fn parse<'a>(&self, frame: &'a [u8]) -> Option<Parsed<'a>> {
        let (l3, ethertype) = Ethernet::l3_at(frame)?;
        let (end, l4, pseudo, ip_ok) = match ethertype {
            EtherType::IP4 => {
                let ip = Ipv4Header::view_at(frame, l3)?;
                let l4 = l3 + ip.header_len();
                let len = ip.packet_len().checked_sub(ip.header_len())?;
                let pseudo = ip.pseudo_sum(IpProtocol::UDP, len as u32);
                (l3 + ip.packet_len(), l4, pseudo, ip.checksum_ok())
            }
            EtherType::IP6 => {
                let ip = Ipv6Header::view_at(frame, l3)?;
                let pseudo = ip.pseudo_sum(IpProtocol::UDP, ip.payload_len.get().into());
                (l3 + ip.packet_len(), l3 + 40, pseudo, true)
            }
            EXPERIMENTAL => (frame.len(), l3, Sum::ZERO, true),
            _ => return None,
        };
        let datagram = frame.get(l4..end)?;
        let signature = Signature::find(datagram)?;
        let header = if ethertype == EXPERIMENTAL { 0 } else { 8 };
        let filler = datagram.get(header..datagram.len() - signature::LEN)?;
        let expected = FILLER.get(LONGEST.checked_sub(filler.len())?..)?;
        let mut intact = ip_ok && filler == expected;
        if header > 0 {
            let sum = pseudo.with(&datagram[..header])
                + self.filler.0[filler.len()]
                + Sum::of(&datagram[header + filler.len()..]).at(filler.len());
            let absent = datagram[6..8] == [0, 0];
            intact &= sum.is_valid() || absent && ethertype == EtherType::IP4;
        }
        Some(Parsed { signature, intact })
    }

    /// True if all packets have arrived.
    pub fn is_complete(&self) -> bool {
        self.received == self.total
    }

    /// Counts of a direction in which `sent` packets were sent in `seconds`.
    pub fn counts(&self, direction: Direction, sent: u64, seconds: f64) -> Counts {
        let received = self.received.min(sent);
        Counts {
            direction,
            sent,
            received,
            lost: sent - received,
            duplicated: self.duplicated,
            reordered: self.reordered.min(received),
            late: self.late.min(sent - received),
            changed: self.changed.min(received),
            sending_time: seconds,
        }
    }

    /// Packets with a signature of another trial or direction.
    pub fn stray(&self) -> u64 {
        self.stray
    }

    /// Latency of all packets.
    pub fn latency(&self) -> &Latency {
        &self.latency
    }

    /// Delays of packets in the order in which they were sent, without those that were lost.
    pub fn delays(&self) -> Vec<u64> {
        self.delays.iter().copied().filter(|&delay| delay != UNKNOWN).collect()
    }

    /// Number of the last of `sent` packets that was lost.
    pub fn last_lost(&self, sent: u64) -> Option<u64> {
        (0..sent)
            .rev()
            .find(|&n| self.seen.get((n / 64) as usize).is_none_or(|w| w >> (n % 64) & 1 == 0))
    }

    /// Longest time without an arrival between two: when it began, and how long it was.
    pub fn gap(&self) -> (u64, u64) {
        self.gap
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use crate::traffic::template::tests::flow;
    use crate::traffic::{Generator, Kind};
    use measure::Size;

    fn frames(kind: Kind, size: u32, count: u32) -> Vec<Vec<u8>> {
        let mut generator = Generator::new(&flow(kind, Size::Bytes(size)), 9).unwrap();
        (0..count)
            .map(|n| {
                generator.make(0, n, 1000 * u64::from(n));
                generator.frame(0).to_vec()
            })
            .collect()
    }

    #[suite::test]
    fn tells_what_happened_to_each_packet() {
        let frames = frames(Kind::Ip4, 128, 10);
        let mut checker = Checker::new(9, 10, 1_000_000, true);
        let at = |n: u64| 1000 * n + 50;
        for n in [0, 1, 3, 2, 2, 4] {
            assert!(checker.check(at(n as u64), &frames[n]));
        }
        let mut changed = frames[5].clone();
        changed[50] ^= 4;
        checker.check(at(5), &changed);
        checker.check(at(6) + 2_000_000, &frames[6]);
        checker.check(at(9), &frames[9]);
        assert!(!checker.check(0, &[0; 60]));
        let counts = checker.counts(Direction::Forward, 10, 1.0);
        let expected = Counts {
            sent: 10,
            received: 7,
            lost: 3,
            duplicated: 1,
            reordered: 1,
            late: 1,
            changed: 1,
            sending_time: 1.0,
            ..Counts::new(Direction::Forward)
        };
        assert_eq!(counts, expected);
        assert_eq!((checker.last_lost(10), checker.is_complete()), (Some(8), false));
        assert_eq!(checker.delays(), [50; 7]);
        let mut other = Checker::new(8, 10, 1000, false);
        assert!(other.check(0, &frames[0]) && other.stray() == 1);
    }

    #[suite::test]
    fn every_changed_byte_is_seen() {
        for (kind, size) in [(Kind::Ip4, 64), (Kind::Ip6, 85), (Kind::Ip4, 889)] {
            let frames = frames(kind, size, 1);
            let frame = &frames[0];
            let mut checker = Checker::new(9, 1, u64::MAX, false);
            checker.check(0, frame);
            assert_eq!(checker.counts(Direction::Forward, 1, 1.0).changed, 0, "{kind} {size}");
            let l4 = if kind == Kind::Ip4 { 34 } else { 54 };
            for at in l4..frame.len() {
                let mut bytes = frame.clone();
                bytes[at] ^= 0x10;
                let mut checker = Checker::new(9, 1, u64::MAX, false);
                let known = checker.check(0, &bytes);
                let counts = checker.counts(Direction::Forward, 1, 1.0);
                let noticed = counts.changed == 1 || counts.received == 0;
                assert!(noticed, "{kind} {size} byte {at} known {known}");
            }
        }
    }

    #[suite::test]
    fn what_a_router_does_is_no_change() {
        let mut frame = frames(Kind::Ip4, 64, 1).remove(0);
        frame[..12].fill(7);
        let ip = Ipv4Header::view_at_mut(&mut frame, 14).unwrap();
        ip.decrement_ttl();
        ip.set_checksum();
        frame.extend([0; 8]);
        let mut checker = Checker::new(9, 1, u64::MAX, false);
        checker.check(0, &frame);
        let counts = checker.counts(Direction::Forward, 1, 1.0);
        assert_eq!((counts.received, counts.changed), (1, 0));
    }

    #[suite::test]
    fn cut_frames_are_no_test_packets() {
        for kind in [Kind::Ip4, Kind::Ip6, Kind::Ethernet] {
            let frame = frames(kind, 100, 1).remove(0);
            for len in 0..frame.len() {
                let mut checker = Checker::new(9, 1, u64::MAX, false);
                let _ = checker.check(0, &frame[..len]);
                assert_eq!(checker.counts(Direction::Forward, 1, 1.0).received, 0);
            }
        }
    }
}
