// SPDX-License-Identifier: Apache-2.0
//! The state of a TCP connection, as a router between its ends sees it (RFC 9293).
//!
//! For each end it is known up to which sequence number it has sent, and up to which its peer lets
//! it send. A segment belongs to the connection only if a receiver might take it: the bounds are
//! those of van Rooij, "Real Stateful TCP Packet Filtering in IP Filter" (2001). What is checked
//! here is never stricter than an end itself, since segments may be reordered or lost on either
//! side of the router.

use std::fmt;
use wire::TcpFlags;

/// The least number of bytes that an acknowledgment may lag behind: segments that were on their way
/// for long are still acknowledged.
const OLDEST_ACK: u32 = 66_000;
/// The largest shift of a window (RFC 7323 2.3).
const MOST_SHIFT: u8 = 14;
/// Flags that decide about the state.
const DECIDING: TcpFlags =
    TcpFlags::SYN.union(TcpFlags::ACK).union(TcpFlags::FIN).union(TcpFlags::RST);

/// A segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Segment {
    /// Sequence number of its first byte.
    pub seq: u32,
    /// Acknowledgment number.
    pub ack: u32,
    /// The window field, as it is in the header.
    pub window: u16,
    /// Flags.
    pub flags: TcpFlags,
    /// Bytes of data.
    pub len: u32,
    /// The shift that a SYN offers for windows.
    pub shift: Option<u8>,
    /// The first fragment of a segment whose end isn't known.
    pub cut: bool,
}

impl Segment {
    fn has(&self, flags: TcpFlags) -> bool {
        self.flags.contains(flags)
    }

    /// The sequence number behind it. SYN and FIN have one each (RFC 9293 3.4).
    fn end(&self) -> u32 {
        let counted = u32::from(self.has(TcpFlags::SYN)) + u32::from(self.has(TcpFlags::FIN));
        self.seq.wrapping_add(self.len).wrapping_add(counted)
    }

    /// True for a request of a connection.
    pub fn is_request(&self) -> bool {
        self.flags & DECIDING == TcpFlags::SYN
    }

    /// True if no end sends such flags together.
    pub fn is_nonsense(&self) -> bool {
        let deciding = self.flags & DECIDING;
        let usual = [
            TcpFlags::SYN,
            TcpFlags::SYN | TcpFlags::ACK,
            TcpFlags::ACK,
            TcpFlags::FIN | TcpFlags::ACK,
            TcpFlags::RST,
            TcpFlags::RST | TcpFlags::ACK,
        ];
        !usual.contains(&deciding)
    }
}

/// True if a sequence number comes behind another (RFC 9293 3.4).
fn after(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) > 0
}

/// The reason why a segment doesn't belong to its connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Invalid {
    /// Flags that no end sends together.
    Flags,
    /// It lies outside of the window.
    Window,
    /// It acknowledges what was never sent, or was acknowledged long ago.
    Acknowledgment,
    /// A reset outside of the window.
    Reset,
    /// It belongs to a connection whose request wasn't answered yet.
    Handshake,
}

/// The outcome for a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// The segment passes.
    Pass,
    /// The segment is dropped as invalid.
    Drop(Invalid),
    /// It asks for another connection between the same ports: this one is over.
    Again,
}

/// The phase of a connection.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
#[repr(u8)]
pub enum Phase {
    /// A request was sent.
    #[default]
    SynSent,
    /// The request was answered.
    SynReceived,
    /// Both ends have acknowledged the other's request.
    Established,
    /// One end has sent its last byte, which isn't acknowledged yet.
    FinWait,
    /// That byte is acknowledged: the other end may go on.
    CloseWait,
    /// Both ends have sent their last byte.
    LastAck,
    /// Both last bytes are acknowledged.
    TimeWait,
    /// It was reset.
    Closed,
}

impl Phase {
    /// Its word for people.
    pub const fn name(self) -> &'static str {
        [
            "syn-sent",
            "syn-received",
            "established",
            "fin-wait",
            "close-wait",
            "last-ack",
            "time-wait",
            "closed",
        ][self as usize]
    }

    /// True if nothing but stray segments may follow.
    pub fn is_over(self) -> bool {
        self >= Self::TimeWait
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// One end of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct End {
    /// The sequence number behind the last byte that it has sent.
    end: u32,
    /// The sequence number up to which its peer lets it send.
    most: u32,
    /// The largest window that it has offered.
    window: u32,
    /// The highest acknowledgment of its bytes.
    acked: u32,
    /// The sequence number behind its FIN.
    fin: u32,
    /// The shift of its windows.
    shift: u8,
    marks: u8,
}

/// It has sent a segment.
const KNOWN: u8 = 1;
/// Its SYN had an option for the shift of windows.
const OFFERS_SHIFT: u8 = 2;
/// Its SYN is acknowledged.
const SYN_ACKED: u8 = 4;
/// It has sent a FIN.
const FIN: u8 = 8;
/// Its FIN is acknowledged.
const FIN_ACKED: u8 = 16;
/// `fin` has the acknowledgment number of a challenge (RFC 5961 4), to which it may send a reset.
const CHALLENGED: u8 = 32;

impl End {
    fn of_syn(segment: &Segment) -> Self {
        let end = segment.end();
        Self {
            end,
            most: end,
            window: u32::from(segment.window).max(1),
            acked: segment.seq,
            fin: 0,
            shift: segment.shift.unwrap_or(0).min(MOST_SHIFT),
            marks: KNOWN | if segment.shift.is_some() { OFFERS_SHIFT } else { 0 },
        }
    }

    fn has(&self, mark: u8) -> bool {
        self.marks & mark != 0
    }
}

/// A connection. Its ends have the numbers 0 and 1.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Connection {
    ends: [End; 2],
    phase: Phase,
    /// Segments aren't held against windows: the begin of the connection wasn't seen.
    lenient: bool,
}

impl Connection {
    /// The connection that a request of this end begins.
    pub fn begin(from: usize, request: &Segment) -> Self {
        let mut this = Self::default();
        this.ends[from & 1] = End::of_syn(request);
        this
    }

    /// A connection of which a later segment is the first that was seen. Its windows have shifts
    /// that nobody knows.
    pub fn pick_up(from: usize, segment: &Segment) -> Self {
        let mut this = Self { lenient: true, phase: Phase::Established, ..Self::default() };
        let (end, window) = (segment.end(), u32::from(segment.window) << MOST_SHIFT);
        let known = KNOWN | SYN_ACKED;
        let this_end =
            End { end, most: end, window, acked: segment.seq, marks: known, ..End::default() };
        let ack = segment.ack;
        let other = End {
            end: ack,
            most: ack.wrapping_add(window),
            window: 1,
            acked: ack,
            marks: SYN_ACKED,
            ..End::default()
        };
        this.ends[from & 1] = this_end;
        this.ends[1 - (from & 1)] = other;
        this.note_fin(from & 1, segment);
        if segment.has(TcpFlags::RST) {
            this.phase = Phase::Closed;
        }
        this
    }

    /// Its phase.
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// True if a sequence number is one of those that an end has sent and that may be on their way,
    /// as ICMP errors quote them (RFC 5927 4.1).
    pub fn may_quote(&self, from: usize, seq: u32) -> bool {
        let (sender, receiver) = (&self.ends[from & 1], &self.ends[1 - (from & 1)]);
        let oldest = sender.end.wrapping_sub(receiver.window.max(OLDEST_ACK));
        self.lenient || !sender.has(KNOWN) || !after(seq, sender.end) && !after(oldest, seq)
    }

    /// Judges a segment from an end, and notes it. With `loose`, a connection of which only one
    /// direction is seen goes on.
    pub fn segment(&mut self, from: usize, segment: &Segment, loose: bool) -> Outcome {
        let from = from & 1;
        if segment.is_nonsense() {
            return Outcome::Drop(Invalid::Flags);
        }
        if segment.is_request() && self.phase.is_over() {
            return Outcome::Again;
        }
        if self.phase == Phase::SynSent {
            return self.opening(from, segment, loose);
        }
        if segment.is_request() {
            // RFC 5961 4.2: the receiver answers with a challenge, whatever the number is.
            return Outcome::Pass;
        }
        if segment.has(TcpFlags::RST) {
            return self.reset(from, segment);
        }
        self.established(from, segment)
    }

    /// Before the answer to the request.
    fn opening(&mut self, from: usize, segment: &Segment, loose: bool) -> Outcome {
        let [here, there] = [from, 1 - from];
        if self.ends[here].has(KNOWN) {
            // From the end that asks.
            let end = &self.ends[here];
            if segment.is_request() {
                let challenged = end.marks & CHALLENGED;
                let fin = end.fin;
                self.ends[here] = End::of_syn(segment);
                self.ends[here].marks |= challenged;
                self.ends[here].fin = fin;
                return Outcome::Pass;
            }
            if segment.has(TcpFlags::RST) {
                if segment.seq == end.end {
                    self.phase = Phase::Closed;
                    return Outcome::Pass;
                }
                // The answer to a challenge ends a connection that the other end still has from
                // before (RFC 9293 3.5.1): the request will be sent again.
                let challenged = end.has(CHALLENGED) && segment.seq == end.fin;
                return if challenged { Outcome::Pass } else { Outcome::Drop(Invalid::Reset) };
            }
            if !loose {
                return Outcome::Drop(Invalid::Handshake);
            }
            *self = Self::pick_up(from, segment);
            return Outcome::Pass;
        }
        let asking = self.ends[there];
        let acknowledges = after(segment.ack, asking.acked) && !after(segment.ack, asking.end);
        if segment.has(TcpFlags::RST) {
            // RFC 9293 3.10.7.3: only with an acknowledgment of the request.
            if segment.has(TcpFlags::ACK) && acknowledges {
                self.phase = Phase::Closed;
                return Outcome::Pass;
            }
            return Outcome::Drop(Invalid::Reset);
        }
        if segment.is_request() {
            // Both ends ask at the same time (RFC 9293 3.5, figure 8).
            self.ends[here] = End::of_syn(segment);
            self.agree_on_shifts();
            self.phase = Phase::SynReceived;
            return Outcome::Pass;
        }
        if !segment.has(TcpFlags::SYN) {
            // A challenge: the end that is asked still has an older connection (RFC 9293 3.5.1).
            self.ends[there].marks |= CHALLENGED;
            self.ends[there].fin = segment.ack;
            return Outcome::Pass;
        }
        if !acknowledges {
            return Outcome::Drop(Invalid::Acknowledgment);
        }
        self.ends[here] = End::of_syn(segment);
        self.agree_on_shifts();
        self.phase = Phase::SynReceived;
        self.note_ack(from, segment, segment.window.into());
        Outcome::Pass
    }

    /// Windows have shifts only if both ends offer them (RFC 7323 2.2).
    fn agree_on_shifts(&mut self) {
        if !self.ends.iter().all(|end| end.has(OFFERS_SHIFT)) {
            self.ends.iter_mut().for_each(|end| end.shift = 0);
        }
        self.ends.iter_mut().for_each(|end| (end.marks, end.fin) = (end.marks & !CHALLENGED, 0));
    }

    /// A reset of a connection that was answered.
    fn reset(&mut self, from: usize, segment: &Segment) -> Outcome {
        let sender = &self.ends[from];
        if !self.lenient && sender.has(KNOWN) {
            // RFC 9293 3.10.7.4: inside the window of the receiver.
            if after(sender.acked, segment.seq) || after(segment.seq, sender.most) {
                return Outcome::Drop(Invalid::Reset);
            }
            // RFC 5961 3.2: the receiver takes it only with the very next number; any other is
            // answered by a challenge, and the connection goes on.
            if segment.seq != sender.acked && segment.seq != sender.end {
                return Outcome::Pass;
            }
        }
        self.phase = Phase::Closed;
        Outcome::Pass
    }

    fn established(&mut self, from: usize, segment: &Segment) -> Outcome {
        let (sender, receiver) = (self.ends[from], self.ends[1 - from]);
        let (end, ack) = (segment.end(), segment.ack);
        if !sender.has(KNOWN) {
            // The first segment of the other direction of a connection that was picked up.
            let known = End {
                end,
                most: end.wrapping_add(receiver.window),
                acked: segment.seq,
                marks: sender.marks | KNOWN,
                ..sender
            };
            self.ends[from] = known;
        } else if !self.lenient {
            // Data behind what the receiver takes, or before all that it may have to take again.
            let oldest = sender.end.wrapping_sub(receiver.window).wrapping_sub(1);
            if after(segment.seq, sender.most) || after(oldest, end) {
                return Outcome::Drop(Invalid::Window);
            }
            let oldest = receiver.end.wrapping_sub(sender.window.max(OLDEST_ACK));
            if after(ack, receiver.end) || after(oldest, ack) {
                return Outcome::Drop(Invalid::Acknowledgment);
            }
        }
        let sender = &mut self.ends[from];
        let shift = if segment.has(TcpFlags::SYN) { 0 } else { sender.shift };
        let window = u32::from(segment.window) << if self.lenient { MOST_SHIFT } else { shift };
        sender.window = sender.window.max(window);
        let end = if segment.cut && after(sender.most, end) { sender.most } else { end };
        if after(end, sender.end) {
            sender.end = end;
        }
        self.note_ack(from, segment, window);
        self.note_fin(from, segment);
        Outcome::Pass
    }

    /// Notes which bytes of its peer an end acknowledges, and how many it takes.
    fn note_ack(&mut self, from: usize, segment: &Segment, window: u32) {
        let peer = &mut self.ends[1 - from];
        if after(segment.ack, peer.acked) {
            peer.acked = segment.ack;
            peer.marks |= SYN_ACKED;
        }
        // A window of zero is probed with one byte (RFC 9293 3.8.6.1).
        let most = segment.ack.wrapping_add(window.max(1));
        if after(most, peer.most) {
            peer.most = most;
        }
        if peer.has(FIN) && !after(peer.fin, segment.ack) {
            peer.marks |= FIN_ACKED;
        }
        if self.phase == Phase::SynReceived && self.ends.iter().all(|end| end.has(SYN_ACKED)) {
            self.phase = Phase::Established;
        }
        self.close();
    }

    fn note_fin(&mut self, from: usize, segment: &Segment) {
        if segment.has(TcpFlags::FIN) && !self.ends[from].has(FIN) {
            self.ends[from].marks |= FIN;
            self.ends[from].fin = segment.end();
            self.close();
        }
    }

    /// The phase that follows from the FINs.
    fn close(&mut self) {
        if self.phase == Phase::Closed {
            return;
        }
        let count = |mark| self.ends.iter().filter(|end| end.has(mark)).count();
        match (count(FIN), count(FIN_ACKED)) {
            (0, _) => {}
            (1, 0) => self.phase = Phase::FinWait,
            (1, _) => self.phase = Phase::CloseWait,
            (_, 2) => self.phase = Phase::TimeWait,
            _ => self.phase = Phase::LastAck,
        }
    }
}
