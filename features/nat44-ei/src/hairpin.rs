// SPDX-License-Identifier: Apache-2.0
//! Packets between users by the addresses that the world knows (RFC 4787 6). The sender's session
//! and that of the other user may be on different threads: then the packet goes on to the second
//! one with its new source, to `nat44-ei-in2out-hairpinning-finish-ip4-lookup`.

use crate::engine::{Outcome, Work};
use crate::session::OUTWARD;
use ::nat::key::{End, has_ports};
use buffer::Buffer;
use wire::{Icmp4Type, IpProtocol};

/// The user that a packet goes to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Behind {
    /// This end, in the table of an index; true if a session tells it.
    User(End, u32, bool),
    /// This thread may know.
    Elsewhere(u16),
    /// None.
    Nobody,
}

impl Work<'_, '_> {
    /// The user behind the packet's destination.
    pub fn behind(&self) -> Behind {
        let p = &self.p;
        let behind = self.behind_of(p.to, p.protocol);
        // Users aren't pinged by the ports of their sessions: the router itself answers.
        let is_ping = p.protocol == IpProtocol::ICMP && p.kind == Icmp4Type::ECHO_REQUEST.0;
        let by_session = !matches!(behind, Behind::User(.., false));
        if is_ping && by_session { Behind::Nobody } else { behind }
    }

    /// The user behind an end.
    pub fn behind_of(&self, to: End, protocol: IpProtocol) -> Behind {
        let mappings = &self.engine.nat.mappings;
        let mapping = mappings.by_external(to, protocol, self.turn);
        if let Some((_, mapping)) = mapping.filter(|(_, mapping)| !mapping.identity)
            && let Some(local) = mapping.local_of(to.port)
        {
            return Behind::User(local.end, local.fib, false);
        }
        if !self.settings.is_pool(to.addr) || !has_ports(protocol) {
            return Behind::Nobody;
        }
        let thread = self.settings.workers.owner_of(to.port);
        if let Some(thread) = thread.filter(|thread| *thread != self.engine.thread.0) {
            return Behind::Elsewhere(thread);
        }
        let session = self.live_outside(to, protocol).and_then(|at| self.flows.get(at));
        session.map_or(Behind::Nobody, |(keys, _)| {
            Behind::User(keys[OUTWARD].from(), keys[OUTWARD].fib(), true)
        })
    }

    /// Gives a user's packet its new source, and the user that it goes to.
    #[inline(never)]
    pub fn hairpin(&mut self, b: &mut Buffer, outside: End, done: Outcome) -> Outcome {
        match self.behind() {
            Behind::User(to, fib, by_session) => {
                self.engine.lanes.count_hairpin(b.rx_if);
                self.put_both(b, outside, (to, fib, by_session));
                done
            }
            Behind::Elsewhere(thread) => {
                self.put(b, (outside, self.p.to));
                Outcome::Elsewhere(thread)
            }
            Behind::Nobody => {
                self.put(b, (outside, self.p.to));
                done
            }
        }
    }

    fn put_both(&mut self, b: &mut Buffer, from: End, (to, fib, by_session): (End, u32, bool)) {
        let mut from = from;
        if self.p.protocol == IpProtocol::ICMP && by_session {
            // A reply has the identifier that the other user has chosen.
            from.port = to.port;
        }
        self.put(b, (from, to));
        self.look_up_in(b, fib);
    }

    /// Gives a packet whose source was translated the user that it goes to. `Passed` if there is
    /// none, or if it is the destination already: it would never end.
    pub fn finish_hairpin(&mut self, b: &mut Buffer) -> Outcome {
        let p = self.p;
        match self.behind() {
            Behind::User(to, ..) if to == p.to => Outcome::Passed,
            Behind::User(to, fib, by_session) => {
                self.engine.lanes.count_hairpin(b.rx_if);
                self.put_both(b, p.from, (to, fib, by_session));
                Outcome::Mapped
            }
            Behind::Elsewhere(thread) => Outcome::Elsewhere(thread),
            Behind::Nobody => Outcome::Passed,
        }
    }
}
