// SPDX-License-Identifier: Apache-2.0
//! Errors of ICMP: the packet that they quote is one of a session (RFC 5508 4).

use crate::engine::{Outcome, Place, Reason, Work};
use crate::key::{End, Key, has_ports};
use crate::packet::{change, ports_of};
use crate::session::{INWARD, translated};
use buffer::{Buffer, Flags};
use wire::checksum::{Sum, update};
use wire::{Header, IpHeader, IpProtocol, Ipv4Header};

/// Bytes of an ICMP header.
const HEADER: usize = 8;
/// Offset of its checksum.
const CHECKSUM: usize = 2;
/// Bytes of a quoted packet that may change: an IP header with options, and that of TCP.
const QUOTED: usize = 60 + 20;

/// A quoted packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Quoted {
    /// Its ends.
    pub from: End,
    /// See there.
    pub to: End,
    /// The upper layer's protocol.
    pub protocol: IpProtocol,
    /// Offset of the upper layer in the quoted packet.
    upper: usize,
}

impl Quoted {
    /// Reads the packet that an error quotes, whose ICMP header is at `upper` in the buffer. `None`
    /// if it is a later fragment, or has no ports where its protocol needs them.
    pub fn read(b: &Buffer, upper: usize) -> Option<Self> {
        let bytes = b.data().get(upper + HEADER..)?;
        let ip = Ipv4Header::view(bytes)?;
        if ip.version_ihl >> 4 != 4 {
            return None;
        }
        let l4 = ports_of(bytes)?;
        let protocol = IpProtocol(l4.protocol);
        let (mut from, mut to) = (End::new(ip.src(), l4.src_port), End::new(ip.dst(), l4.dst_port));
        if !has_ports(protocol) {
            (from.port, to.port) = (0, 0);
        }
        Some(Self { from, to, protocol, upper: l4.offset.into() })
    }

    /// The key of the packets that this one answers.
    pub fn reversed(&self, fib: u32) -> Key {
        Key::new(self.to, self.from, fib, self.protocol)
    }
}

/// True if the checksum of the ICMP message that begins at `upper` is right. Bytes behind the
/// packet's end aren't part of it.
fn is_intact(b: &Buffer, (at, upper): (usize, usize)) -> bool {
    let Some(ip) = b.data().get(at..).and_then(Ipv4Header::view) else { return false };
    let end = at + ip.packet_len();
    if end > b.packet_len() || upper + HEADER > end {
        return false;
    }
    let mut start = 0;
    let parts = b.segments().map(|segment| {
        let (from, to) = (upper.max(start), end.min(start + segment.len()));
        let part = segment.get(
            from.saturating_sub(start)..to.saturating_sub(start).max(from.saturating_sub(start)),
        );
        start += segment.len();
        part.unwrap_or_default()
    });
    Sum::of_parts(parts).is_valid()
}

impl Work<'_, '_> {
    /// Translates an error, and the packet that it quotes.
    pub fn icmp_error(&mut self, b: &mut Buffer) -> Outcome {
        let p = self.p;
        if p.later {
            return self.error_without_session(b);
        }
        if !b.flags.contains(Flags::LOCAL) && !is_intact(b, (p.at, p.upper)) {
            return Outcome::Drop(Reason::Untranslatable);
        }
        let Some(quoted) = Quoted::read(b, p.upper) else { return self.error_without_session(b) };
        let key = quoted.reversed(self.fib);
        let Some((at, direction)) = self.flows.live(&key, self.now) else {
            return self.error_without_session(b);
        };
        let Some((keys, session)) = self.flows.get(at) else { return Outcome::Passed };
        if session.is_bypass() {
            return Outcome::Translated(at);
        }
        let new = translated(keys, direction);
        let fib = keys[1 - direction].fib();
        self.change_quoted(b, &quoted, (new.1, new.0));
        // A router on the way keeps its address, unless only users know it.
        let kept = direction == INWARD && p.from.addr != key.from().addr;
        let from = if kept { p.from.addr } else { new.0.addr };
        let ends = (End::new(from, 0), End::new(new.1.addr, 0));
        if let Some(bytes) = b.data_mut().get_mut(p.at..) {
            change(bytes, (None, false), p.protocol, ((p.from, p.to), ends));
        }
        self.look_up_in(b, fib);
        Outcome::Translated(at)
    }

    /// Gives the quoted packet other ends, and mends the error's checksum.
    fn change_quoted(&self, b: &mut Buffer, quoted: &Quoted, new: (End, End)) {
        let at = self.p.upper;
        let Some(icmp) = b.data_mut().get_mut(at..) else { return };
        let Some((header, inner)) = icmp.split_at_mut_checked(HEADER) else { return };
        let len = inner.len().min(QUOTED);
        let before = Sum::of(&inner[..len]);
        let old = (quoted.from, quoted.to);
        change(inner, (Some(quoted.upper), false), quoted.protocol, (old, new));
        let after = Sum::of(&inner[..len]);
        let checksum = u16::from_be_bytes([header[CHECKSUM], header[CHECKSUM + 1]]);
        let mended = update(checksum, before, after).to_be_bytes();
        header[CHECKSUM..CHECKSUM + 2].copy_from_slice(&mended);
    }

    fn error_without_session(&mut self, b: &Buffer) -> Outcome {
        if self.place == Place::Out2In {
            let passes = self.settings.forwarding || self.is_for_us(b);
            return if passes { Outcome::Passed } else { Outcome::Drop(Reason::NoTranslation) };
        }
        if self.passes(b) { Outcome::Passed } else { Outcome::Drop(Reason::Untranslatable) }
    }
}
