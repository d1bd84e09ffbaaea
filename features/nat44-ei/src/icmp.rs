// SPDX-License-Identifier: Apache-2.0
//! Errors of ICMP: the packet that they quote is one of a session or a mapping (RFC 5508 4).

use crate::engine::{Outcome, Place, Reason, Work};
use crate::hairpin::Behind;
use crate::session::{INWARD, OUTWARD, inside_key};
use crate::settings::Mode;
use ::nat::key::{End, has_ports};
use ::nat::packet::change;
use ::nat::quoted::{Quoted, is_intact};
use buffer::{Buffer, Flags};
use wire::IpProtocol;

impl Work<'_, '_> {
    /// Translates an error, and the packet that it quotes.
    pub fn icmp_error(&mut self, b: &mut Buffer) -> Outcome {
        let p = self.p;
        if p.later {
            return self.error_without_session(b);
        }
        if !b.flags.contains(Flags::LOCAL) && !is_intact(b, (p.at, p.upper)) {
            return Outcome::Drop(Reason::NoTranslation);
        }
        let Some(quoted) = Quoted::read(b, p.upper) else { return self.error_without_session(b) };
        match self.place {
            Place::Out2In => self.error_inward(b, &quoted),
            Place::In2Out | Place::Output => self.error_outward(b, &quoted),
        }
    }

    /// A session, or else a mapping without sessions, of a user's end: the index and the end that
    /// the world sees.
    fn outside_of(&self, end: End, protocol: IpProtocol) -> Option<(Outcome, End)> {
        let live = self.flows.live(&inside_key(end, self.fib, protocol), self.now);
        if let Some((at, OUTWARD)) = live {
            return Some((Outcome::Translated(at), self.flows.get(at)?.0[INWARD].to()));
        }
        if has_ports(protocol) && self.settings.mode != Mode::Static {
            return None;
        }
        let mappings = &self.engine.nat.mappings;
        let (_, mapping) = mappings.by_local(end, protocol, [self.fib; 3], self.turn)?;
        (!mapping.identity).then(|| (Outcome::Mapped, mapping.external_of(end.port)))
    }

    /// The same of an end that the world sees: the user's end and its table.
    fn inside_of(&self, end: End, protocol: IpProtocol) -> Option<(Outcome, End, u32)> {
        let key = crate::session::outside_key(end, self.fib, protocol);
        if let Some((at, INWARD)) = self.flows.live(&key, self.now) {
            let key = self.flows.get(at)?.0[OUTWARD];
            return Some((Outcome::Translated(at), key.from(), key.fib()));
        }
        if has_ports(protocol) && self.settings.mode != Mode::Static {
            return None;
        }
        let mappings = &self.engine.nat.mappings;
        let (_, mapping) = mappings.by_external(end, protocol, self.turn)?;
        let local = mapping.local_of(end.port).filter(|_| !mapping.identity)?;
        Some((Outcome::Mapped, local.end, local.fib))
    }

    /// An error of the world about a packet of a user. A router on the way keeps its address.
    fn error_inward(&mut self, b: &mut Buffer, quoted: &Quoted) -> Outcome {
        let p = self.p;
        let Some((done, inside, fib)) = self.inside_of(quoted.from, quoted.protocol) else {
            return self.error_without_session(b);
        };
        quoted.change(b, (p.at, p.upper), (inside, far(quoted.to, inside, quoted.protocol)));
        self.put_addresses(b, (p.from, inside));
        self.look_up_in(b, fib);
        done
    }

    /// An error of a user, or of a router inside, about a packet of the world: the world knows the
    /// user's address alone.
    fn error_outward(&mut self, b: &mut Buffer, quoted: &Quoted) -> Outcome {
        let p = self.p;
        let Some((done, outside)) = self.outside_of(quoted.to, quoted.protocol) else {
            return self.error_without_session(b);
        };
        let mut from = far(quoted.from, outside, quoted.protocol);
        let mut to = p.to;
        // The packet may have been one of another user.
        if self.place != Place::Output
            && let Behind::User(end, fib, _) = self.behind_of(quoted.from, quoted.protocol)
        {
            (from, to) = (end, end);
            self.engine.lanes.count_hairpin(b.rx_if);
            self.look_up_in(b, fib);
        }
        // A query has its identifier in the place of both ports: the sender's.
        let outside = far(outside, from, quoted.protocol);
        quoted.change(b, (p.at, p.upper), (from, outside));
        self.put_addresses(b, (outside, to));
        done
    }

    fn put_addresses(&self, b: &mut Buffer, (from, to): (End, End)) {
        let ends = (End::new(from.addr, 0), End::new(to.addr, 0));
        let p = &self.p;
        if let Some(bytes) = b.data_mut().get_mut(p.at..) {
            change(bytes, (None, false), p.protocol, ((p.from, p.to), ends));
        }
    }

    fn error_without_session(&mut self, b: &Buffer) -> Outcome {
        if self.place == Place::Out2In {
            let passes = self.settings.forwarding || self.is_for_us(b);
            return if passes { Outcome::Passed } else { Outcome::Drop(Reason::NoTranslation) };
        }
        if self.passes(b) { Outcome::Passed } else { Outcome::Drop(Reason::NoTranslation) }
    }
}

/// The other end of a quoted packet: a query of ICMP has the identifier of its translated end.
fn far(end: End, translated: End, protocol: IpProtocol) -> End {
    match protocol {
        IpProtocol::ICMP => End::new(end.addr, translated.port),
        _ => end,
    }
}
