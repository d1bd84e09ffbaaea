// SPDX-License-Identifier: Apache-2.0
//! The TCP tracker against a plain model of RFC 9293: two ends that send, receive, acknowledge,
//! close and reset, over a network that loses, doubles and reorders on both sides of the router.
//!
//! A segment of an end must pass, whatever the network did before, as long as its receiver could
//! still use it. A forged one must not pass if the receiver would drop it as out of its window, and
//! must never end the connection.

use crate::tcp::{Connection, Invalid, Outcome, Phase, Segment};
use testkit::Rng;
use wire::TcpFlags;

/// Bytes of a segment at most.
const MSS: u32 = 1000;

/// One end, as RFC 9293 3.3.1 has its variables.
#[derive(Clone, Debug)]
struct End {
    iss: u32,
    una: u32,
    nxt: u32,
    /// Bytes that the peer takes behind `una`.
    snd_wnd: u32,
    shift: Option<u8>,
    peer_shift: u8,
    rcv_nxt: u32,
    rcv_wnd: u32,
    /// It knows the peer's first number.
    has_peer: bool,
    open: bool,
    fin: Option<u32>,
    peer_fin: bool,
}

fn after(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) > 0
}

impl End {
    fn new(rng: &mut Rng) -> Self {
        let iss = rng.next() as u32;
        let shift = (!rng.one_in(3)).then(|| rng.below(15) as u8);
        let most = 65_535_usize << shift.unwrap_or(0).min(6);
        Self {
            iss,
            una: iss,
            nxt: iss.wrapping_add(1),
            snd_wnd: 0,
            shift,
            peer_shift: 0,
            rcv_nxt: 0,
            rcv_wnd: 1 + rng.below(most) as u32,
            has_peer: false,
            open: false,
            fin: None,
            peer_fin: false,
        }
    }

    fn window(&self, syn: bool) -> u16 {
        let shift = if syn { 0 } else { self.shift.unwrap_or(0) };
        u16::try_from(self.rcv_wnd >> shift).unwrap_or(u16::MAX)
    }

    fn segment(&self, seq: u32, flags: TcpFlags, len: u32) -> Segment {
        let syn = flags.contains(TcpFlags::SYN);
        Segment {
            seq,
            ack: if flags.contains(TcpFlags::ACK) { self.rcv_nxt } else { 0 },
            window: self.window(syn),
            flags,
            len,
            shift: self.shift.filter(|_| syn),
            cut: false,
        }
    }

    /// The SYN, alone or with an acknowledgment.
    fn syn(&self) -> Segment {
        let flags = if self.has_peer { TcpFlags::SYN | TcpFlags::ACK } else { TcpFlags::SYN };
        self.segment(self.iss, flags, 0)
    }

    /// The next segment that it sends: new data, old data again, its FIN, or an acknowledgment.
    fn send(&mut self, rng: &mut Rng) -> Segment {
        if !self.open {
            return self.syn();
        }
        let allowed = self.una.wrapping_add(self.snd_wnd);
        let room = if after(allowed, self.nxt) { allowed.wrapping_sub(self.nxt) } else { 0 };
        match rng.below(6) {
            0 | 1 if room > 0 && self.fin.is_none() => {
                let len = 1 + rng.below(room.min(MSS) as usize) as u32;
                let seq = self.nxt;
                self.nxt = self.nxt.wrapping_add(len);
                self.segment(seq, TcpFlags::ACK | TcpFlags::PSH, len)
            }
            2 if self.nxt != self.una => {
                // Once more, from the first byte that isn't acknowledged.
                let (last, fin) = match self.fin {
                    Some(fin) => (fin, self.nxt == fin.wrapping_add(1)),
                    None => (self.nxt, false),
                };
                let len = last.wrapping_sub(self.una).min(MSS);
                let is_last = self.una.wrapping_add(len) == last;
                let flags = if fin && is_last { TcpFlags::FIN } else { TcpFlags::empty() };
                self.segment(self.una, flags | TcpFlags::ACK, len)
            }
            // RFC 9293 3.8.4: keep-alive, a byte before.
            3 if self.nxt == self.una && self.fin.is_none() => {
                self.segment(self.nxt.wrapping_sub(1), TcpFlags::ACK, rng.below(2) as u32)
            }
            4 if self.fin.is_none() && rng.one_in(20) => {
                self.fin = Some(self.nxt);
                let seq = self.nxt;
                self.nxt = self.nxt.wrapping_add(1);
                self.segment(seq, TcpFlags::FIN | TcpFlags::ACK, 0)
            }
            _ => self.segment(self.nxt, TcpFlags::ACK, 0),
        }
    }

    /// RFC 9293 3.10.7.4, first check: true if some of a segment is in the window.
    fn takes(&self, segment: &Segment) -> bool {
        let len = segment.len
            + u32::from(segment.flags.contains(TcpFlags::SYN))
            + u32::from(segment.flags.contains(TcpFlags::FIN));
        let window = |seq: u32| seq.wrapping_sub(self.rcv_nxt) < self.rcv_wnd.max(1);
        if len == 0 {
            return window(segment.seq);
        }
        window(segment.seq) || window(segment.seq.wrapping_add(len - 1))
    }

    fn receive(&mut self, segment: &Segment, rng: &mut Rng) {
        if segment.flags.contains(TcpFlags::SYN) {
            if !self.has_peer {
                self.has_peer = true;
                self.rcv_nxt = segment.seq.wrapping_add(1);
                self.peer_shift = match (self.shift, segment.shift) {
                    (Some(_), Some(shift)) => shift.min(14),
                    _ => {
                        self.shift = None;
                        0
                    }
                };
                self.snd_wnd = segment.window.into();
            }
        } else if !self.has_peer || !self.takes(segment) {
            return;
        }
        if segment.flags.contains(TcpFlags::ACK) && !after(segment.ack, self.nxt) {
            if after(segment.ack, self.una) {
                self.una = segment.ack;
                self.open = true;
            }
            let shift = if segment.flags.contains(TcpFlags::SYN) { 0 } else { self.peer_shift };
            if segment.ack == self.una {
                self.snd_wnd = u32::from(segment.window) << shift;
            }
        }
        let begin = segment.seq.wrapping_add(segment.flags.contains(TcpFlags::SYN).into());
        let end = begin.wrapping_add(segment.len);
        if !after(begin, self.rcv_nxt) && after(end, self.rcv_nxt) {
            let more = end.wrapping_sub(self.rcv_nxt).min(self.rcv_wnd);
            self.rcv_nxt = self.rcv_nxt.wrapping_add(more);
            // Its user reads later, and the window never moves back (RFC 9293 3.8.6).
            self.rcv_wnd -= more;
        }
        if segment.flags.contains(TcpFlags::FIN) && end == self.rcv_nxt && !self.peer_fin {
            self.peer_fin = true;
            self.rcv_nxt = self.rcv_nxt.wrapping_add(1);
        }
        if rng.one_in(3) {
            let most = 65_535_usize << self.shift.unwrap_or(0).min(6);
            self.rcv_wnd = self.rcv_wnd.max(rng.below(most) as u32);
        }
    }
}

/// Segments under way to the router and from it, with the number of their sender.
struct Wires {
    before: Vec<(usize, Segment)>,
    behind: Vec<(usize, Segment)>,
}

/// Takes some segment, mostly an old one, and leaves a copy now and then.
fn draw(rng: &mut Rng, from: &mut Vec<(usize, Segment)>) -> Option<(usize, Segment)> {
    if from.is_empty() {
        return None;
    }
    let at = if rng.one_in(4) { rng.below(from.len()) } else { 0 };
    let drawn = from[at];
    if !rng.one_in(8) {
        from.remove(at);
    }
    Some(drawn).filter(|_| !rng.one_in(10))
}

/// A segment that somebody forges who knows the ports.
fn forged(rng: &mut Rng, ends: &[End; 2], from: usize) -> Segment {
    let near = |rng: &mut Rng, number: u32| match rng.below(4) {
        0 => rng.next() as u32,
        1 => number.wrapping_add(rng.below(200_000) as u32),
        2 => number.wrapping_sub(rng.below(200_000) as u32),
        _ => number.wrapping_add(1 << 30).wrapping_add(rng.below(1 << 20) as u32),
    };
    let kinds = [
        TcpFlags::RST,
        TcpFlags::RST | TcpFlags::ACK,
        TcpFlags::ACK,
        TcpFlags::FIN | TcpFlags::ACK,
    ];
    Segment {
        seq: near(rng, ends[from].nxt),
        ack: near(rng, ends[1 - from].nxt),
        window: rng.next() as u16,
        flags: *rng.pick(&kinds),
        len: rng.below(MSS as usize) as u32,
        shift: None,
        cut: false,
    }
}

#[derive(Default, Debug)]
struct Seen {
    passed: u64,
    stale: u64,
    forged_dropped: u64,
    closed: u64,
}

/// One connection, with `forgeries` or without.
fn run(seed: u64, forgeries: bool, seen: &mut Seen) {
    let mut rng = Rng::new(seed);
    let mut ends = [End::new(&mut rng), End::new(&mut rng)];
    let mut wires = Wires { before: Vec::new(), behind: Vec::new() };
    let first = ends[0].syn();
    let mut tracked = Connection::begin(0, &first);
    wires.behind.push((0, first));
    for _ in 0..400 {
        let from = rng.below(2);
        if from == 0 || ends[1].has_peer {
            let segment = ends[from].send(&mut rng);
            wires.before.push((from, segment));
        }
        if let Some((from, segment)) = draw(&mut rng, &mut wires.before) {
            match tracked.segment(from, &segment, false) {
                Outcome::Pass => {
                    seen.passed += 1;
                    wires.behind.push((from, segment));
                }
                // An older segment that came late: only if its receiver needs it no more.
                Outcome::Drop(why) => {
                    let receiver = &ends[1 - from];
                    let is_useless = receiver.has_peer && !receiver.takes(&segment)
                        || why == Invalid::Acknowledgment && after(ends[from].rcv_nxt, segment.ack)
                        || why == Invalid::Handshake;
                    assert!(
                        is_useless,
                        "seed {seed}: {segment:?} from {from}: {why:?}\n{ends:?}\n{tracked:?}"
                    );
                    seen.stale += 1;
                }
                Outcome::Again => panic!("seed {seed}: no other connection begins"),
            }
        }
        if forgeries && ends.iter().all(|end| end.open) && rng.one_in(3) {
            let from = rng.below(2);
            let segment = forged(&mut rng, &ends, from);
            let (before, mut after_it) = (tracked, tracked);
            let outcome = after_it.segment(from, &segment, false);
            let receiver = &ends[1 - from];
            let exact = [receiver.rcv_nxt, ends[from].nxt, ends[from].una].contains(&segment.seq);
            if segment.flags.contains(TcpFlags::RST) && !exact {
                assert_eq!(after_it.phase(), before.phase(), "seed {seed}: {segment:?}");
            }
            // Far outside of all that both ends have in their windows.
            let distance = segment.seq.wrapping_sub(receiver.rcv_nxt) as i32;
            if distance.unsigned_abs() > (65_535 << 6) * 2 + 200_000 {
                assert!(
                    matches!(outcome, Outcome::Drop(_)),
                    "seed {seed}: {segment:?} {tracked:?}"
                );
                assert_eq!(after_it, before, "seed {seed}: what is dropped changes nothing");
                seen.forged_dropped += 1;
            }
        }
        if let Some((from, segment)) = draw(&mut rng, &mut wires.behind) {
            ends[1 - from].receive(&segment, &mut rng);
        }
    }
    let all_said = ends.iter().all(|end| end.fin.is_some_and(|fin| end.una == fin.wrapping_add(1)));
    if all_said {
        assert_eq!(tracked.phase(), Phase::TimeWait, "seed {seed}");
        seen.closed += 1;
    }
    let opened = ends.iter().all(|end| end.open);
    assert!(!opened || tracked.phase() >= Phase::Established, "seed {seed}: {:?}", tracked.phase());
}

#[suite::test]
fn what_ends_send_passes_and_what_is_forged_ends_nothing() {
    let mut seen = Seen::default();
    for seed in 0..4000 {
        run(seed, seed % 2 == 0, &mut seen);
    }
    assert!(seen.passed > 500_000 && seen.forged_dropped > 10_000 && seen.closed > 20, "{seen:?}");
    assert!(seen.stale * 50 < seen.passed, "{seen:?}");
}
