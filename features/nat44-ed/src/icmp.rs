// SPDX-License-Identifier: Apache-2.0
//! Errors of ICMP: the packet that they quote is one of a session (RFC 5508 4).

use crate::engine::{Outcome, Place, Reason, Work};
use crate::key::End;
use crate::packet::change;
use crate::session::{INWARD, translated};
use ::nat::quoted::{Quoted, is_intact};
use buffer::{Buffer, Flags};

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
        quoted.change(b, (p.at, p.upper), (new.1, new.0));
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

    fn error_without_session(&mut self, b: &Buffer) -> Outcome {
        if self.place == Place::Out2In {
            let passes = self.settings.forwarding || self.is_for_us(b);
            return if passes { Outcome::Passed } else { Outcome::Drop(Reason::NoTranslation) };
        }
        if self.passes(b) { Outcome::Passed } else { Outcome::Drop(Reason::Untranslatable) }
    }
}
